//! What a delta is does not depend on anybody's settings: every setting that changes how git shows or
//! applies differences is set in turn, and import gives the same identities.

use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use std::process::Command;

/// Keys of the configuration, and variables of the environment.
type Setting = (&'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

const SETTINGS: &[Setting] = &[
    (&[("diff.noprefix", "true")], &[]),
    (&[("diff.mnemonicPrefix", "true")], &[]),
    (&[("diff.srcPrefix", "x/"), ("diff.dstPrefix", "y/")], &[]),
    (&[("diff.external", "echo poison")], &[]),
    (&[("diff.loud.command", "echo poison")], &[]),
    (&[("diff.loud.textconv", "echo poison; true")], &[]),
    (&[("diff.loud.binary", "true")], &[]),
    (&[("diff.loud.xfuncname", "^line.*$")], &[]),
    (&[("diff.loud.wordRegex", ".")], &[]),
    (&[("diff.loud.algorithm", "patience")], &[]),
    (&[("diff.algorithm", "histogram")], &[]),
    (&[("diff.algorithm", "patience")], &[]),
    (&[("diff.algorithm", "minimal")], &[]),
    (&[("diff.indentHeuristic", "false")], &[]),
    (&[("diff.renames", "copies")], &[]),
    (&[("diff.renames", "false")], &[]),
    (&[("diff.renameLimit", "1"), ("merge.renames", "false"), ("merge.directoryRenames", "true")], &[]),
    (&[("diff.context", "0")], &[]),
    (&[("diff.context", "20")], &[]),
    (&[("diff.interHunkContext", "30")], &[]),
    (&[("diff.suppressBlankEmpty", "true")], &[]),
    (&[("diff.wsErrorHighlight", "all"), ("core.whitespace", "tab-in-indent,cr-at-eol")], &[]),
    (&[("diff.colorMoved", "zebra"), ("color.ui", "always"), ("color.diff", "always")], &[]),
    (&[("diff.submodule", "log")], &[]),
    (&[("diff.ignoreSubmodules", "all"), ("submodule.sub.ignore", "all")], &[]),
    (&[("diff.orderFile", "order")], &[]),
    (&[("diff.relative", "true"), ("diff.dirstat", "lines"), ("diff.statNameWidth", "1")], &[]),
    (&[("diff.autoRefreshIndex", "false"), ("diff.trustExitCode", "true")], &[]),
    (&[("patchid.stable", "false"), ("patchid.verbatim", "true")], &[]),
    (&[("apply.whitespace", "fix"), ("apply.ignoreWhitespace", "change")], &[]),
    (&[("merge.conflictStyle", "zdiff3"), ("merge.renormalize", "true"), ("merge.default", "loud")], &[]),
    (&[("merge.loud.driver", "true")], &[]),
    (&[("core.quotePath", "true")], &[]),
    (&[("core.quotePath", "false"), ("core.precomposeUnicode", "false")], &[]),
    (&[("core.abbrev", "40")], &[]),
    (&[("core.abbrev", "4")], &[]),
    (&[("core.autocrlf", "true")], &[]),
    (&[("core.autocrlf", "input"), ("core.safecrlf", "true")], &[]),
    (&[("core.eol", "crlf")], &[]),
    (&[("core.fileMode", "false"), ("core.symlinks", "false"), ("core.ignoreCase", "true")], &[]),
    (&[("core.bigFileThreshold", "1")], &[]),
    (&[("core.attributesFile", "../attributes")], &[]),
    (&[("core.pager", "false"), ("pager.diff", "true"), ("core.compression", "0")], &[]),
    (&[("alias.diff", "status"), ("log.showSignature", "true"), ("format.noprefix", "true")], &[]),
    (&[("i18n.logOutputEncoding", "latin1"), ("i18n.commitEncoding", "latin1")], &[]),
    (&[], &[("GIT_EXTERNAL_DIFF", "echo poison")]),
    (&[], &[("GIT_DIFF_OPTS", "-u0")]),
    (
        &[],
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "diff.noprefix"), ("GIT_CONFIG_VALUE_0", "true")],
    ),
    (&[], &[("GIT_CONFIG_PARAMETERS", "'diff.context'='0'")]),
    (&[], &[("GIT_ATTR_SOURCE", "HEAD"), ("GIT_LITERAL_PATHSPECS", "1"), ("GIT_DEFAULT_HASH", "sha256")]),
    (&[], &[("LANG", "de_DE.UTF-8"), ("LC_ALL", "de_DE.UTF-8"), ("LANGUAGE", "de")]),
];

/// A repository with attributes that name drivers, and a worker `w` with a change of every kind.
fn world() -> World {
    let world = World::new();
    world.write(".gitattributes", "*.txt diff=loud\n*.dat diff=loud merge=loud\n");
    let function = |n: u32| format!("fn f{n}() {{\n    one();\n\n    two();\n}}\n\n");
    world.write("code.txt", &(0..8).map(function).collect::<String>());
    world.write("crlf.txt", &(1..=9).map(|n| format!("line {n}\r\n")).collect::<String>());
    world.write("old.txt", &(1..=30).map(|n| format!("old {n}\n")).collect::<String>());
    world.write("data.dat", "1\0\n");
    world.write("ü \"x\".txt", "odd\n");
    std::os::unix::fs::symlink("a.txt", world.path("link")).unwrap();
    world.write("order", "o*\nc*\n");
    std::fs::create_dir(world.path("sub")).unwrap();
    let base = world.commit("more");
    world.git(["update-index", "--add", "--cacheinfo", &format!("160000,{base},sub")]);
    world.git(["commit", "--quiet", "-m", "a submodule"]);
    world.git(["config", "skein.allowGitlinks", "true"]);
    std::fs::create_dir_all(world.path(".git/info")).unwrap();
    std::fs::write(world.path(".git/info/attributes"), "code.txt -diff\nb.txt diff=loud text\n").unwrap();
    std::fs::write(world.root().join("attributes"), "* binary\n").unwrap();
    world.worker(
        "w",
        &format!(
            r#"
            sed -i 's/^line 5$/  line  5/' a.txt && git commit -qam space &&
            sed -i '0,/one/s//three/' code.txt && printf 'fn f8() {{\n\n}}\n' >> code.txt && git commit -qam code &&
            sed -i 's/line 3/LINE 3/' crlf.txt && git commit -qam 'line ends' &&
            git mv old.txt new.txt && sed -i s/7/sieben/ new.txt && git commit -qam rename &&
            chmod +x b.txt && printf '2\0\n' > data.dat && printf 'no end' > 'ü "x".txt' && git commit -qam more &&
            ln -sfn b.txt link && git rm -q .gitignore && git commit -qam 'a link, a deletion' &&
            git update-index --cacheinfo 160000,{},sub && git commit -qm pointer
            "#,
            world.head()
        ),
    );
    world
}

/// The identities that import would give the delta of `w`: of each commit, and of the whole.
fn identities(world: &World, env: &[(&str, &str)]) -> Value {
    let mut import = world.command(&["import", "w", "--dry-run", "--json"]);
    let delta =
        ran(import.envs(env.iter().copied()).output().unwrap()).ok().json()["result"]["delta"].clone();
    let commits = delta["commits"].as_array().unwrap();
    let each: Vec<&Value> = commits.iter().map(|c| &c["identity"]).collect();
    serde_json::json!({ "net": delta["net"], "commits": each, "tree": delta["tree"] })
}

/// What a script gets that reads the same from git's own diff. The worst that a setting does.
fn by_porcelain(world: &World, base: &str, tip: &str, env: &[(&str, &str)]) -> Vec<u8> {
    let script = format!("git diff {base} {tip} | git patch-id --stable");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(&world.repo).env_clear();
    let home = world.root().join("home");
    shell.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home).envs(env.iter().copied());
    shell.output().unwrap().stdout
}

#[test]
fn no_setting_changes_what_a_delta_is() {
    let world = world();
    let first = identities(&world, &[]);
    for part in ["raw", "patch_verbatim", "patch_stable"] {
        assert!(first["net"][part].as_str().unwrap().len() >= 40, "{first}");
    }
    assert_eq!(first["commits"].as_array().unwrap().len(), 7, "{first}");
    let (base, tip) = (world.field("w", "base"), world.field("w", "head"));
    let [base, tip] = [base.as_str().unwrap(), tip.as_str().unwrap()];
    let plain = by_porcelain(&world, base, tip, &[]);
    let mut poisonous = 0;
    for (config, env) in SETTINGS {
        for (key, value) in *config {
            world.git(["config", key, value]);
        }
        poisonous += usize::from(by_porcelain(&world, base, tip, env) != plain);
        assert_eq!(identities(&world, env), first, "{config:?} {env:?}");
        for (key, _) in *config {
            world.git(["config", "--unset", key]);
        }
    }
    assert!(poisonous >= 12, "only {poisonous} settings change what git's own diff gives");
    // Stored under the worst of them, and computed again by git's plumbing.
    world.git(["config", "diff.external", "echo poison"]);
    world.git(["config", "diff.noprefix", "true"]);
    let stored = world.skein(&["import", "w", "--json"]).ok().json()["result"]["delta"].clone();
    assert_eq!(stored["net"], first["net"]);
    let script = format!(
        "git diff-tree -p --no-renames --no-indent-heuristic --full-index -U3 --no-ext-diff --no-textconv {base} {tip} \
         | git patch-id --stable"
    );
    std::fs::remove_file(world.path(".git/info/attributes")).unwrap();
    world.git(["config", "--unset", "diff.noprefix"]);
    let ids = Command::new("sh").args(["-c", &script]).current_dir(&world.repo).output().unwrap().stdout;
    let id = String::from_utf8(ids).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(first["net"]["patch_stable"], id);
}

/// The same where the worker committed nothing: its files are read, and only line ends are a matter of settings.
#[test]
fn no_setting_changes_what_uncommitted_work_is() {
    let world = World::new();
    world.worker("w", "sed -i s/5/five/ a.txt; printf '1\\0' > bin; chmod +x b.txt; ln -s a.txt link; false");
    let take = |env: &[(&str, &str)]| {
        let mut import =
            world.command(&["import", "w", "--uncommitted", "--any-outcome", "--dry-run", "--json"]);
        let said = ran(import.envs(env.iter().copied()).output().unwrap()).ok();
        said.json()["result"]["delta"]["net"].clone()
    };
    let first = take(&[]);
    for (config, env) in SETTINGS.iter().filter(|s| s.0.iter().all(|(key, _)| !key.starts_with("core."))) {
        for (key, value) in *config {
            world.git(["config", key, value]);
        }
        assert_eq!(take(env), first, "{config:?} {env:?}");
        for (key, _) in *config {
            world.git(["config", "--unset", key]);
        }
    }
}
