//! Files that are not what they say.

use crate::bundle::cloned;
use crate::bundle::exported;
use crate::bundle::file;
use crate::support::World;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Shows and imports the file, which must both be refused with one of `tokens`, and change nothing.
#[track_caller]
fn refused(world: &World, path: &Path, tokens: &[&str], what: &str) {
    let all = || {
        let loose = world.git(["count-objects", "-v"]);
        (world.git(["for-each-ref"]), loose, world.git(["config", "--list", "--local"]), world.picture(&[]))
    };
    let before = all();
    for verb in ["show", "import"] {
        let ran = world.skein(&["bundle", verb, path.to_str().unwrap()]);
        let known = tokens.iter().any(|token| ran.err.contains(&format!("refused: {token}: ")));
        assert!(ran.code == 1 && known && ran.err.contains("next:"), "{what}: {verb}: {ran:?}");
        assert!(!ran.err.contains('\x1b') && ran.out.is_empty(), "{what}: {ran:?}");
    }
    assert_eq!(all(), before, "{what}");
}

const NO: &[&str] = &["bundle-changed", "bad-bundle"];

#[test]
fn a_file_with_another_bit_is_refused_wherever_it_is() {
    let (world, _) = exported();
    let other = cloned(&world);
    other.skein(&["init"]).ok();
    let good = fs::read(file(&world)).unwrap();
    let bad = other.root().join("bad");
    let header = good.windows(2).position(|two| two == b"\n\n").unwrap();
    let places = (0..header + 30).step_by(7).chain((header + 30..good.len()).step_by(97));
    let mut struck = 0;
    for at in places.chain([good.len() - 1]) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&bad, bytes).unwrap();
        // What it builds on may then be another commit, which is not here.
        let tokens: &[&str] =
            if at < header { &["bundle-changed", "bad-bundle", "bundle-unfit"] } else { NO };
        let ran = other.skein(&["bundle", "import", bad.to_str().unwrap()]);
        let known = tokens.iter().any(|token| ran.err.contains(&format!("refused: {token}: ")));
        assert!(ran.code == 1 && known, "byte {at}: {ran:?}");
        let ran = other.skein(&["bundle", "show", bad.to_str().unwrap()]);
        assert!(ran.code == 1 && NO.iter().any(|token| ran.err.contains(token)), "byte {at}: {ran:?}");
        struck += 1;
    }
    assert!(struck > 40, "{struck}");
    assert_eq!(other.git(["for-each-ref", "refs/skein/bundle"]), "");
    for most in [0, 5, header, header + 2, header + 40, good.len() - 1] {
        fs::write(&bad, &good[..most]).unwrap();
        refused(&other, &bad, NO, &format!("the first {most} bytes"));
    }
    fs::write(&bad, [&good[..], b"more"].concat()).unwrap();
    refused(&other, &bad, &["bundle-changed"], "something behind it");
    fs::write(&bad, [&good[..], &[0; 1 << 20]].concat()).unwrap();
    refused(&other, &bad, &["bundle-changed"], "much behind it");
    other.skein(&["bundle", "import", file(&world).to_str().unwrap()]).ok();
    other.check();
}

#[test]
fn what_is_no_bundle_is_refused() {
    let (world, _) = exported();
    let other = cloned(&world);
    other.skein(&["init"]).ok();
    let (root, good) = (other.root(), file(&world));
    let place = |name: &str| root.join(name);
    fs::write(place("text"), "hello\n\x1b[31m\n").unwrap();
    std::os::unix::fs::symlink(&good, place("link")).unwrap();
    fs::create_dir(place("folder")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place("fifo")).status().unwrap().success());
    let huge = fs::File::create(place("huge")).unwrap();
    huge.set_len(600 << 20).unwrap();
    for name in ["text", "link", "folder", "fifo", "huge", "missing/file"] {
        refused(&other, &place(name), &["bad-bundle"], name);
    }
    // Bundles of git that are none of ours.
    let git = |name: &str, args: &[&str]| {
        let to = place(name);
        world.git([&["bundle", "create", "--quiet", to.to_str().unwrap()], args].concat());
    };
    git("branch", &["main"]);
    git("two", &["main", "--glob=refs/skein/bundle/*"]);
    git("lane", &["--glob=refs/skein/lane/*"]);
    for name in ["branch", "two", "lane"] {
        refused(&other, &place(name), &["bundle-changed"], name);
    }
    // git itself would lean on what the other side has.
    git("thin", &["--glob=refs/skein/bundle/*", "^main"]);
    let ran = other.skein(&["bundle", "show", place("thin").to_str().unwrap()]);
    assert!(ran.code == 0 || ran.err.contains("refused: bad-bundle"), "{ran:?}");
}

/// A commit of ours made anew, with `change` done to the files of the true one, in a file of its own.
fn forge(
    world: &World,
    name: &str,
    change: impl Fn(&Path),
    parents: &[&str],
    author: &str,
) -> std::path::PathBuf {
    let at = world.lines(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/skein/bundle"]);
    let (commit, of) = at[0].split_once(' ').unwrap();
    let folder = world.root().join(format!("forge-{name}"));
    fs::create_dir(&folder).unwrap();
    let index = world.root().join(format!("index-{name}"));
    let git = |args: &[&str]| {
        let mut all = vec!["--work-tree", folder.to_str().unwrap()];
        all.extend(args);
        let mut command = std::process::Command::new("git");
        command.args(["--git-dir", world.path(".git").to_str().unwrap()]).args(&all);
        command.env("GIT_INDEX_FILE", &index).current_dir(&folder);
        command.env("GIT_AUTHOR_NAME", author).env("GIT_AUTHOR_EMAIL", "skein@git-skein.invalid");
        command.env("GIT_COMMITTER_NAME", author).env("GIT_COMMITTER_EMAIL", "skein@git-skein.invalid");
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["read-tree", commit]);
    git(&["checkout-index", "--all"]);
    change(&folder);
    git(&["add", "--all", "--force"]);
    let tree = git(&["write-tree"]);
    let tip = format!("{commit}^");
    let parents = if parents.is_empty() { vec![tip.as_str()] } else { parents.to_vec() };
    let mut args = vec!["commit-tree", "-m", "bundle: fix delta 1"];
    parents.iter().for_each(|parent| args.extend(["-p", parent]));
    args.push(&tree);
    let made = git(&args);
    let to = world.root().join(format!("{name}.bundle"));
    // The form that export writes, and no thin pack.
    let base = world.rev("main");
    let script = format!(
        "{{ printf '# v2 git bundle\\n-{base}\\n{made} {of}\\n\\n'; printf '%s\\n' {made} ^{base} | \
         git pack-objects -q --revs --stdout; }} > {}",
        to.display()
    );
    let mut shell = std::process::Command::new("sh");
    assert!(shell.args(["-c", &script]).current_dir(&world.repo).status().unwrap().success());
    to
}

fn edit(folder: &Path, change: impl Fn(&str) -> String) {
    let path = folder.join("bundle.json");
    let text = fs::read_to_string(&path).unwrap();
    let new = change(&text);
    assert_ne!(text, new, "the change does nothing");
    fs::write(path, new).unwrap();
}

#[test]
fn a_file_that_was_made_anew_is_held_to_what_it_says() {
    let (world, _) = exported();
    let other = cloned(&world);
    other.skein(&["init"]).ok();
    let us = "git-skein";
    let nothing = |_: &Path| {};
    type Change = Box<dyn Fn(&Path)>;
    let text = |path: &'static str, text: &'static str| -> Change {
        Box::new(move |folder: &Path| fs::write(folder.join(path), text).unwrap())
    };
    let json = |from: &'static str, to: &'static str| -> Change {
        Box::new(move |folder: &Path| edit(folder, |text| text.replacen(from, to, 1)))
    };
    let verdict: Change = Box::new(|folder| {
        let of = fs::read_dir(folder.join("verdicts")).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&of).unwrap().replace("accept", "reject");
        fs::write(of, text).unwrap();
    });
    let link: Change = Box::new(|folder| {
        fs::remove_file(folder.join("brief/brief.md")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("brief/brief.md")).unwrap();
    });
    let changes: Vec<(&str, Change)> = vec![
        ("brief", text("brief/brief.md", "another")),
        ("extra", text("extra", "x")),
        (
            "deep",
            Box::new(|folder| {
                fs::create_dir_all(folder.join("brief/a/b")).unwrap();
                fs::write(folder.join("brief/a/b/c"), "x").unwrap();
            }),
        ),
        ("verdict", verdict),
        ("link", link),
        ("gone", Box::new(|folder| fs::remove_file(folder.join("delta/delta.diff")).unwrap())),
        ("number", json("\"n\": 1", "\"n\": 2")),
        ("path", json("\"path\": \"brief/brief.md\"", "\"path\": \"../brief.md\"")),
        ("length", json("\"bytes\": 18", "\"bytes\": 19")),
        ("form", json("{\n", "{ \n")),
        ("part", json("    \"evidence\",\n", "")),
        ("record", text("bundle.json", "{}")),
    ];
    for (name, change) in changes {
        let path = forge(&world, name, change, &[], us);
        refused(&other, &path, &["bundle-changed"], name);
    }
    let main = world.rev("main");
    refused(&other, &forge(&world, "parent", nothing, &[&main], us), &["bundle-changed"], "another parent");
    refused(&other, &forge(&world, "author", nothing, &[], "somebody"), &["bundle-changed"], "not ours");
    let later = forge(&world, "later", json("\"v\": 1", "\"v\": 2"), &[], us);
    refused(&other, &later, &["unknown-record"], "of a later version");
    let renamed = forge(&world, "renamed", json("\"bundle\": \"01", "\"bundle\": \"02"), &[], us);
    refused(&other, &renamed, &["bundle-changed"], "of another id");
}

/// Nothing tells a bundle that was made anew with all that belongs to it, but its id: as it was told, or as it is saved.
#[test]
fn one_that_is_sound_in_itself_is_told_by_its_id() {
    let (world, commit) = exported();
    let other = cloned(&world);
    let forged = forge(
        &world,
        "sound",
        |folder| edit(folder, |text| text.replacen("the first", "\u{9b}1m\\u001b[31m", 1)),
        &[],
        "git-skein",
    );
    let name = forged.to_str().unwrap();
    // What could steer a terminal does not; another form than the schema's is refused anyway.
    let ran = other.skein(&["bundle", "show", name]);
    assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b') && !ran.out.contains('\u{9b}'), "{ran:?}");
    other.skein(&["bundle", "show", name, "--expect", &commit]).code(1);
    other.skein(&["bundle", "import", file(&world).to_str().unwrap()]).ok();
    let plain = forge(
        &world,
        "plain",
        |folder| edit(folder, |text| text.replacen("the first", "the last", 1)),
        &[],
        "git-skein",
    );
    let name = plain.to_str().unwrap();
    other.skein(&["bundle", "show", name]).ok();
    let ran = other.skein(&["bundle", "show", name, "--expect", &commit]).refused("bundle-changed", 1);
    assert!(ran.err.contains(&format!("expected: {commit}")), "{}", ran.err);
    for args in [&["bundle", "import", name][..], &["bundle", "import", name, "--expect", &commit]] {
        other.skein(args).refused("bundle-changed", 1);
    }
    assert_eq!(other.lines(&["for-each-ref", "--format=%(objectname)", "refs/skein/bundle"]), [commit]);
    other.check();
}

#[test]
fn what_a_worker_wrote_does_not_steer_a_terminal() {
    let world = World::new();
    let script = "printf 'x\\033[31m\\n' > a.txt; git commit -qam \"$(printf 'a\\033[31mb')\"; \
                  git skein worker done --outcome complete --summary \"$(printf 'red \\033[31m text of what was changed')\" \
                  --evidence 'cat a.txt: it shows x'";
    world.skein(&["dispatch", "--wait", "--name", "w", "a task\x1b[2J", "--", "sh", "-c", script]);
    world.skein(&["bundle", "save", "w"]).ok();
    world.skein(&["bundle", "export", "w", "../w.bundle"]).ok();
    for args in [
        &["bundle", "show", "w"][..],
        &["bundle", "show", "../w.bundle"],
        &["bundle", "show", "w", "delta/delta.diff"],
        &["bundle", "show", "w", "brief/brief.md"],
        &["bundle", "list"],
        &["bundle", "show", "w", "--json"],
    ] {
        let ran = world.skein(args).ok();
        assert!(!ran.out.contains('\x1b') && ran.out.contains("\\u"), "{args:?}: {}", ran.out);
    }
}

/// The record in `folder` again, with its papers as they are now.
fn sealed(world: &World, folder: &Path, change: impl Fn(&mut Value)) {
    let path = folder.join("bundle.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut record);
    for paper in record["papers"].as_array_mut().unwrap() {
        let at = folder.join(paper["path"].as_str().unwrap());
        paper["oid"] = world.git(["hash-object", "--no-filters", at.to_str().unwrap()]).into();
        paper["bytes"] = fs::metadata(at).unwrap().len().into();
        paper["of"] = paper["bytes"].clone();
    }
    fs::write(path, serde_json::to_string_pretty(&record).unwrap() + "\n").unwrap();
}

fn json(path: &Path, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
}

#[test]
fn what_is_sealed_anew_must_still_hold_together() {
    let (world, _) = exported();
    let other = cloned(&world);
    other.skein(&["init"]).ok();
    let verdict = |folder: &Path| {
        let of = fs::read_dir(folder.join("verdicts")).unwrap().next().unwrap().unwrap().path();
        json(&of, |v| v["raw"] = "00".into());
        sealed(&world, folder, |_| {});
    };
    let path = forge(&world, "verdict", verdict, &[], "git-skein");
    refused(&other, &path, &["bundle-changed"], "a verdict on another delta");
    let digest = |folder: &Path| {
        json(&folder.join("delta/delta.json"), |d| d["net"]["raw"] = "00".repeat(32).into());
        fs::remove_dir_all(folder.join("verdicts")).unwrap();
        sealed(&world, folder, |record| {
            record["delta"]["raw"] = "00".repeat(32).into();
            let papers = record["papers"].as_array_mut().unwrap();
            papers.retain(|paper| !paper["path"].as_str().unwrap().starts_with("verdicts/"));
        });
    };
    let path = forge(&world, "digest", digest, &[], "git-skein");
    refused(&other, &path, &["bundle-changed"], "a delta that makes another change");
}

/// Few trees that stand for more files than there is room for anywhere.
#[test]
fn a_delta_of_endless_folders_is_refused_at_once() {
    let (world, _) = exported();
    let other = cloned(&world);
    other.skein(&["init"]).ok();
    let made = |script: &str| {
        let ran =
            std::process::Command::new("sh").args(["-c", script]).current_dir(&world.repo).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    let mut tree = world.rev("main^{tree}");
    for _ in 0..20 {
        tree = made(&format!(
            "for n in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree {tree}\\t%s\\n' $n; done | git mktree"
        ));
    }
    let tip = world.git(["commit-tree", "-p", "main", "-m", "bomb", &tree]);
    let bomb = |folder: &Path| {
        json(&folder.join("delta/delta.json"), |d| {
            let mut one = d["commits"][0].clone();
            one["oid"] = tip.clone().into();
            (d["tip"], d["tree"], d["commits"]) = (tip.clone().into(), tree.clone().into(), vec![one].into());
        });
        sealed(&world, folder, |record| {
            record["delta"]["tip"] = tip.clone().into();
            record["delta"]["tree"] = tree.clone().into();
            record["delta"]["commits"] = 1.into();
        });
    };
    let path = forge(&world, "bomb", bomb, &[&tip], "git-skein");
    refused(&other, &path, &["bundle-changed"], "a bomb");
    let said = other.skein(&["bundle", "show", path.to_str().unwrap()]).refused("bundle-changed", 1).err;
    assert!(said.contains("too many files"), "{said}");
    let alone = World::empty();
    alone.skein(&["bundle", "show", path.to_str().unwrap()]).ok();
}
