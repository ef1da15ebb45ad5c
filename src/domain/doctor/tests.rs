//! Facts and what is made of them.

use super::*;

fn level(config: &[(&str, &str)], change: impl Fn(&mut Facts), check: &str) -> Level {
    let mut facts = Facts {
        git: "2.47.3".into(),
        free_bytes: 1 << 40,
        identity: true,
        core_worktree_there: true,
        ours: Ours { namespaces: &["refs/ours", "refs/ours-local"], hidden: &["refs/ours*"], any: true },
        trunk: Some("main".into()),
        ..Facts::default()
    };
    facts.config = config.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    change(&mut facts);
    let found = examine(&facts);
    for (name, _) in CHECKS {
        assert!(found.iter().any(|f| f.check == *name), "{name} says nothing");
    }
    for f in found.iter().filter(|f| f.level > Level::Note) {
        assert!(!f.show.is_empty() && !f.next.is_empty(), "{f:?}");
    }
    found.iter().filter(|f| f.check == check).map(|f| f.level).max().unwrap_or(Level::Ok)
}

#[test]
fn a_plain_repository_is_well() {
    for (name, _) in CHECKS {
        assert!(level(&[], |_| {}, name) <= Level::Note, "{name}");
    }
}

#[test]
fn configuration_is_judged() {
    for (check, key, value, want) in [
        ("hooks", "core.hookspath", ".husky/_", Level::Warning),
        ("hooks", "core.hookspath", "/opt/hooks", Level::Ok),
        ("hooks", "core.hookspath", "~/hooks", Level::Ok),
        ("refspecs", "remote.o.fetch", "+refs/heads/*:refs/remotes/o/*", Level::Ok),
        ("refspecs", "remote.o.fetch", "+refs/*:refs/*", Level::Problem),
        ("refspecs", "remote.o.fetch", "refs/ours/*:refs/ours/*", Level::Problem),
        ("refspecs", "remote.o.fetch", "refs/x:refs/ours/lane/x", Level::Problem),
        ("refspecs", "remote.o.fetch", "refs/ours/*:refs/ours-remote/o/*", Level::Ok),
        ("refspecs", "remote.o.fetch", "+refs/heads/*:refs/heads/*", Level::Warning),
        ("refspecs", "remote.o.fetch", "refs/heads/*:refs/heads/*", Level::Note),
        ("refspecs", "remote.o.fetch", "^refs/heads/x", Level::Ok),
        ("refspecs", "remote.o.fetch", "main", Level::Ok),
        ("refspecs", "remote.o.push", "refs/heads/*:refs/heads/*", Level::Ok),
        ("refspecs", "remote.o.push", "refs/*:refs/*", Level::Warning),
        ("refspecs", "remote.o.mirror", "true", Level::Warning),
        ("log", "log.initialdecorationset", "all", Level::Note),
        ("signing", "commit.gpgsign", "true", Level::Note),
        ("filters", "filter.lfs.clean", "git-lfs clean -- %f", Level::Note),
        ("merge-drivers", "merge.x.driver", "x %A", Level::Note),
        ("sparse", "core.sparsecheckout", "true", Level::Note),
        ("safe-directory", "safe.directory", "*", Level::Note),
        ("partial-clone", "remote.o.promisor", "true", Level::Note),
    ] {
        assert_eq!(level(&[(key, value)], |_| {}, check), want, "{key}={value}");
    }
    let tracked = |f: &mut Facts| f.hooks_tracked = true;
    assert_eq!(level(&[("core.hookspath", ".githooks")], tracked, "hooks"), Level::Ok);
    let gone = |f: &mut Facts| f.core_worktree_there = false;
    assert_eq!(level(&[("core.worktree", "/gone")], gone, "core-worktree"), Level::Problem);
    let free = |f: &mut Facts| f.no_jail = Some("bwrap is not there".into());
    assert_eq!(level(&[], free, "jail"), Level::Note);
    assert_eq!(level(&[("skein.jail", "bwrap")], free, "jail"), Level::Problem);
    assert_eq!(level(&[("skein.jail", "none")], free, "jail"), Level::Ok);
    let hidden = [("log.initialdecorationset", "all"), ("log.excludedecoration", "refs/ours*")];
    assert_eq!(level(&hidden, |_| {}, "log"), Level::Ok);
    assert_eq!(level(&[], |f| f.ours.any = true, "log"), Level::Ok);
}

#[test]
fn versions_of_git() {
    for (text, want) in [
        ("2.38.9", Level::Problem),
        ("1.9", Level::Problem),
        ("2.39.5 (Apple Git-154)", Level::Ok),
        ("2.47.0.windows.1", Level::Ok),
        ("2.54.rc1", Level::Ok),
        ("3.0.0", Level::Ok),
        ("nonsense", Level::Problem),
    ] {
        assert_eq!(level(&[], |f| f.git = text.into(), "git"), want, "{text}");
    }
}

#[test]
fn the_machine_is_judged() {
    let fs = |name: &'static str| level(&[], |f| f.file_system = Some(name), "file-system");
    assert_eq!([fs("ext4"), fs("tmpfs"), fs("nfs")], [Level::Ok, Level::Note, Level::Warning]);
    let folds = |f: &mut Facts| f.folds_case = Some(true);
    assert_eq!(level(&[("core.ignorecase", "true")], folds, "file-system"), Level::Note);
    assert_eq!(level(&[], folds, "file-system"), Level::Warning);
    let space = |bytes| level(&[], |f| f.free_bytes = bytes, "space");
    assert_eq!(
        [space(1 << 20), space(100 << 20), space(9 << 30)],
        [Level::Problem, Level::Warning, Level::Ok]
    );
    assert_eq!(level(&[], |f| f.free_inodes = Some(10), "space"), Level::Problem);
    assert_eq!(level(&[], |f| (f.bare, f.has_tree) = (true, true), "core-bare"), Level::Problem);
    assert_eq!(level(&[], |f| f.bare = true, "core-bare"), Level::Ok);
}

#[test]
fn a_file_of_an_object_is_not_empty() {
    let found = |files: &[&str]| {
        level(&[], |f| f.empty = files.iter().map(ToString::to_string).collect(), "empty-objects")
    };
    assert_eq!([found(&[]), found(&["objects/ab/cd"])], [Level::Ok, Level::Problem]);
}

#[test]
fn locks_are_judged_by_who_holds_them() {
    let lock = |op: Option<&str>, holders: Option<Vec<String>>, alive| {
        let lock =
            LockFile { path: "index.lock".into(), op: op.map(str::to_owned), holders, owner_lives: alive };
        level(&[], |f| f.locks = vec![lock.clone()], "locks")
    };
    assert_eq!(lock(None, Some(vec!["7 git".into()]), false), Level::Note);
    assert_eq!(lock(None, Some(Vec::new()), false), Level::Warning);
    assert_eq!(lock(None, None, false), Level::Note, "nobody can tell");
    assert_eq!(lock(Some("01"), Some(Vec::new()), true), Level::Note);
    assert_eq!(lock(Some("01"), Some(Vec::new()), false), Level::Warning);
}
