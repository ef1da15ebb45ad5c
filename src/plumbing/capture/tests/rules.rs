//! Ignore rules: ours against git's own, over patterns that are easy to get wrong.

use super::*;

/// Files that the patterns below pick from.
const FILES: &[&str] = &[
    "a",
    "b",
    "a.o",
    "A.O",
    "dir/a",
    "dir/a.o",
    "dir/sub/a",
    "dir/sub/b",
    "dir/sub/deep/a.o",
    "foo",
    "foo/..x",
    "x/foo",
    "x/y/foo",
    "x/y/z",
    "foo bar",
    "foo ",
    "foo\\",
    "#hash",
    "!bang",
    "[a]",
    "a]",
    "a*b",
    "a?b",
    "aXb",
    "a/b",
    "ab",
    "x\t",
    "build/out",
    "build/keep",
    "src/build/out",
    "äö",
    ".hidden",
    ".x/.y",
    "trail\\ ",
    "$cost",
    "cost",
    "foo\r",
    "doc/frotz/a",
    "frotz/a",
    "\t/b",
    "a-b",
    "a_b",
    "z1",
    "z2",
    "zz",
];

const PATTERNS: &[&str] = &[
    "",
    "\n\n# only a comment\n",
    "a\n",
    "/a\n",
    "*.o\n",
    "*.o\n!dir/a.o\n",
    "*.o\n!/a.o\n",
    "dir\n!dir/a\n",
    "dir/\n!dir/sub/\n",
    "dir/*\n!dir/sub\n",
    "dir/*\n!dir/sub/\ndir/sub/*\n!dir/sub/b\n",
    "dir/**\n!dir/**/\n!dir/**/a\n",
    "foo\n",
    "foo/\n",
    "/foo\n",
    "foo/*\n",
    "**/foo\n",
    "**/foo/\n",
    "x/**\n",
    "x/**/foo\n",
    "x/**foo\n",
    "**\n",
    "**/\n",
    "*/\n",
    "/*/\n!/dir/\n",
    "*\n!*/\n!*.o\n",
    "/*\n!/x\n/x/*\n!/x/y\n",
    "foo \n",
    "foo\\ \n",
    "foo  \\ \n",
    "foo\\\n",
    "foo\\\\\n",
    "\\#hash\n",
    "#hash\n",
    "\\!bang\n",
    "!bang\n",
    "!!bang\n",
    "\\a\n",
    "[a]\n",
    "\\[a\\]\n",
    "[[]a]\n",
    "[a\n",
    "[]a]\n",
    "a[]]\n",
    "a[*]b\n",
    "a\\*b\n",
    "a\\?b\n",
    "a?b\n",
    "a[!X]b\n",
    "a[^X]b\n",
    "[[:alpha:]]b\n",
    "[a-c]\n",
    "a[-_]b\n",
    "z[0-9]\n",
    "z[[:digit:]z]\n",
    "a\r\nb\r\n",
    "a\r",
    "foo\\\r\n",
    "a",
    "\u{feff}a\n",
    "a\n\u{feff}b\n",
    " a\n",
    "a\tb\n",
    "x\t\n",
    "\t\n",
    "   \n",
    "/\n",
    "//\n",
    "a//\n",
    "/a/\n",
    "//a\n",
    "./a\n",
    "../a\n",
    "dir//a\n",
    "dir/sub/../a\n",
    "build/\n!src/build/\n",
    "src/build\n",
    "/build/*\n!/build/keep\n",
    "ä*\n",
    "?ö\n",
    "??ö\n",
    ".*\n",
    ".x/\n",
    "$cost\n",
    "\\$cost\n",
    "!$cost\n",
    "*\n!$cost\n",
    "doc/frotz/\n",
    "frotz/\n",
    "doc/frotz\n",
    "*/a\n",
    "/*/a\n",
    "**/a\n",
    "a/**\n",
    "a/**/\n",
    "dir/**/a\n",
    "dir/**/**/a\n",
    "**/sub/**\n",
    "***\n",
    "dir/***/a\n",
    "{a,b}\n",
    "a\n!a\n",
    "!a\na\n",
    "*.[oa]\n",
    "*.o\n!*.o\n*.o\n",
    "*a\n",
    "/*a\n",
    "*a*\n",
    "*/sub/*\n",
    "trail\\\\\\ \n",
    "\t \n",
    "d**/a\n",
    "d**/s*\n",
    "x**/foo\n",
    "d***/sub/\n",
    "b\0c\n",
    "\0b\n",
    "b\nx/\0\n",
];

fn plant(root: &Path) {
    for file in FILES {
        // Names that are a folder in another line give way to it.
        if !FILES.iter().any(|other| other.starts_with(&format!("{file}/"))) {
            put(root, file, *file);
        }
    }
}

/// What git calls untracked and not ignored.
fn others(fixture: &Fixture) -> Vec<BString> {
    let excludes = format!("core.excludesFile={}", fixture.dir.path().join("excludes").display());
    let args = ["-c", &excludes, "ls-files", "-z", "-o", "--exclude-standard"];
    let out = fixture.git(&args);
    let mut names: Vec<BString> = out.split('\0').filter(|n| !n.is_empty()).map(BString::from).collect();
    names.sort_unstable();
    names
}

fn captured(fixture: &Fixture) -> Vec<BString> {
    let captured = fixture.capture(fixture.birth()).tree(fixture.head()).unwrap();
    captured.changes.into_iter().filter(|c| c.old.is_none()).map(|c| c.path).collect()
}

#[test]
fn every_pattern_means_what_it_means_to_git() {
    let fixture = Fixture::new("sha1", |_| {});
    plant(&fixture.root());
    let mut wrong = Vec::new();
    for place in ["tree/.gitignore", "tree/dir/.gitignore", "excludes", "main/.git/info/exclude"] {
        for pattern in PATTERNS {
            put(fixture.dir.path(), place, pattern);
            let (theirs, ours) = (others(&fixture), captured(&fixture));
            if theirs != ours {
                let only = |a: &[BString], b: &[BString]| -> Vec<BString> {
                    a.iter().filter(|n| !b.contains(n)).cloned().collect()
                };
                wrong.push(format!(
                    "{place} {pattern:?}: only git {:?}, only we {:?}",
                    only(&theirs, &ours),
                    only(&ours, &theirs)
                ));
            }
        }
        remove(fixture.dir.path(), place);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rounds of random rules; a failure names its seed.
const ROUNDS: u64 = 150;

#[test]
fn random_rules_mean_what_they_mean_to_git() {
    let fixture = Fixture::new("sha1", |_| {});
    let root = fixture.root();
    for seed in 1..=ROUNDS {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut rules = |lines: usize| -> String {
            const BITS: &[&str] = &[
                "a", "a", "b", "b", "ab", "/", "/", "*", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[a",
                "\\", "!", " ", ".", "#", "]", "-", "\t",
            ];
            let mut text = String::new();
            for _ in 0..1 + below(lines) {
                (0..1 + below(6)).for_each(|_| text.push_str(BITS[below(BITS.len())]));
                text.push('\n');
            }
            text
        };
        put(&root, ".gitignore", rules(4));
        put(&root, "a/.gitignore", rules(3));
        put(fixture.dir.path(), "excludes", rules(2));
        if seed == 1 {
            for one in ["a", "b", "ab", "a b", ".a", "-"] {
                for two in ["a", "b", "ba", "a.b", "#", "!a", "a\\", "a ", "]", "[a", "\t", "a\tb"] {
                    for three in ["a", "b/a", "b/ab", "ab"] {
                        put(&root, &format!("{one}/{two}/{three}"), "");
                    }
                    put(&root, &format!("{one}/.{two}"), "");
                    put(&root, &format!(".{two}.{one}"), "");
                }
            }
        }
        let text = |path: &str| std::fs::read_to_string(fixture.dir.path().join(path)).unwrap();
        assert_eq!(
            others(&fixture),
            captured(&fixture),
            "seed {seed}: {:?}",
            ["tree/.gitignore", "tree/a/.gitignore", "excludes"].map(text)
        );
    }
}

#[test]
fn rules_of_many_places_together() {
    let fixture = Fixture::new("sha1", |root| put(root, "out/tracked", "t"));
    let root = fixture.root();
    plant(&root);
    let agree = |what: &str| assert_eq!(others(&fixture), captured(&fixture), "{what}");
    put(fixture.dir.path(), "excludes", "*.o\nfoo\n");
    put(fixture.dir.path(), "main/.git/info/exclude", "!foo\n");
    agree("info/exclude is stronger than excludesFile");
    put(&root, ".gitignore", "!*.o\nout/\na\n");
    put(&root, "out/new", "n");
    agree(".gitignore is stronger than both; a tracked file opens no ignored folder");
    put(&root, "dir/.gitignore", "!a\n/sub/b\n");
    put(&root, "dir/sub/.gitignore", "a\n!b\n");
    agree("the nearest rule wins");
    put(&root, "x/.gitignore", "*\n");
    put(&root, "x/y/.gitignore", "!foo\n");
    agree("no rule reaches into an ignored folder");
    put(&root, ".ignore", "b\n");
    put(&root, ".rgignore", "b\n");
    agree("files of other tools do not count");
    remove(&root, "dir/.gitignore");
    std::fs::create_dir(root.join("dir/.gitignore")).unwrap();
    put(&root, "dir/.gitignore/a", "a folder may be called so");
    agree("a folder is no rule file");
    link(&root, "out.link", "out");
    put(&root, ".gitignore", "out.link/\n");
    agree("a link is no folder");
}

#[test]
fn what_the_worker_hid_is_named() {
    let fixture = Fixture::new("sha1", |root| {
        put(root, ".gitignore", "*.log\nold/\n");
        put(root, "dir/.gitignore", "x\n");
        put(root, "dir/kept", "k");
    });
    let root = fixture.root();
    for path in ["a.log", "old/x", "dir/x", "dir/y", "new/one", "new/two/three", "b.tmp"] {
        put(&root, path, path);
    }
    let head = fixture.head();
    let hidden = |birth: Birth| fixture.capture(birth).tree(head).unwrap().ignored_new;
    assert_eq!(hidden(fixture.birth()), Vec::<BString>::new());
    put(&root, ".gitignore", "*.log\nold/\nnew/\n*.tmp\ndir\n");
    assert_eq!(hidden(fixture.birth()), ["b.tmp", "dir/", "new/"]);
    assert_eq!(
        hidden(Birth::none()),
        ["b.tmp", "dir/", "new/"],
        "without a birth the commit's rules are asked"
    );
    put(&root, ".gitignore", "*.log\nold/\n");
    put(&root, "dir/.gitignore", "x\ny\n");
    assert_eq!(hidden(fixture.birth()), ["dir/y"]);
    // Committed by the worker: hidden from git status, not from this.
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-q", "-m", "hide"]);
    assert_eq!(fixture.capture(fixture.birth()).tree(fixture.head()).unwrap().ignored_new, ["dir/y"]);
    assert_eq!(
        fixture.capture(Birth::none()).tree(fixture.head()).unwrap().ignored_new,
        Vec::<BString>::new()
    );
}
