#![expect(clippy::disallowed_methods, reason = "configuration is written as a person would")]

use super::*;
use crate::plumbing::oracle::git as run;
use crate::plumbing::repo::Repo;
use std::ffi::OsString;

/// The environment that the oracle runs in, with `home` as its home.
fn git(home: &Path, more: &[(&str, &str)]) -> Git {
    let path = std::env::var_os("PATH").unwrap();
    let mut vars: Vec<(OsString, OsString)> = vec![("PATH".into(), path), ("HOME".into(), home.into())];
    vars.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
    Git::new(vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
}

const NOSYSTEM: (&str, &str) = ("GIT_CONFIG_NOSYSTEM", "1");

fn nowhere(common: &Path) -> PathBuf {
    common.join("note")
}

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap().join("a repository");
    std::fs::create_dir(&top).unwrap();
    run(&top, &["init", "--quiet", "--initial-branch=main"], b"");
    (dir, top)
}

/// Both ways from `cwd`: ours, if it dares to say anything, and git's.
fn both(cwd: &Path, git: &Git) -> (Option<(Dirs, Config)>, (Dirs, Config)) {
    let quick = plainly(cwd, git, &nowhere);
    let (repo, config) = Repo::asked_for(cwd, git.clone()).unwrap();
    (quick, (repo.dirs, config))
}

fn same(cwd: &Path, git: &Git) {
    let (quick, (dirs, config)) = both(cwd, git);
    let (our_dirs, our_config) = quick.unwrap_or_else(|| panic!("{} is plain", cwd.display()));
    let text = |dirs: &Dirs| format!("{dirs:?}");
    assert_eq!(text(&our_dirs), text(&dirs));
    let list =
        |config: &Config| config.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert_eq!(list(&our_config), list(&config));
}

#[test]
fn a_plain_repository_is_found_as_git_finds_it() {
    let (dir, top) = fresh();
    let git = git(dir.path(), &[NOSYSTEM]);
    let below = top.join("one/two");
    std::fs::create_dir_all(&below).unwrap();
    std::os::unix::fs::symlink(&below, dir.path().join("link")).unwrap();
    std::fs::write(
        dir.path().join(".gitconfig"),
        "[user]\n\tname = Ada \"L.\" # hers\n[alias]\n\tx = a\\\n b\n",
    )
    .unwrap();
    std::fs::create_dir_all(dir.path().join(".config/git")).unwrap();
    std::fs::write(dir.path().join(".config/git/config"), "[User]\nNAME=first; second\n").unwrap();
    for cwd in [&top, &below, &dir.path().join("link")] {
        same(cwd, &git);
    }
    let tree = run(&top, &["mktree"], b"");
    let tree = std::str::from_utf8(&tree).unwrap().trim().to_owned();
    let who = ["-c", "user.name=a", "-c", "user.email=b"];
    let args = [who.as_slice(), &["commit-tree", "-m", "x", &tree]].concat();
    let tip = run(&top, &args, b"");
    let tip = std::str::from_utf8(&tip).unwrap().trim().to_owned();
    run(&top, &["worktree", "add", "--quiet", "--detach", "../linked", &tip], b"");
    same(&dir.path().join("linked"), &git);
    run(&top, &["config", "remote.Up.Stream.url", "a b\\c\"d"], b"");
    run(&top, &["config", "branch.x.description", "two\nlines\tand a tab"], b"");
    run(&top, &["config", "--add", "remote.Up.Stream.url", "; # no comment"], b"");
    same(&top, &git);
}

#[test]
fn what_is_not_plain_is_left_to_git() {
    let (dir, top) = fresh();
    let plain = git(dir.path(), &[NOSYSTEM]);
    let at = |cwd: &Path, git: &Git| plainly(cwd, git, &nowhere).is_some();
    assert!(at(&top, &plain));
    assert!(!at(&top.join(".git"), &plain), "a git folder");
    assert!(!at(&top.join(".git/refs"), &plain), "below a git folder");
    assert!(!at(Path::new("/"), &plain), "no repository");
    for binding in BINDING {
        assert!(!at(&top, &git(dir.path(), &[NOSYSTEM, (*binding, ".")])), "{binding}");
    }
    assert!(!at(&top, &git(dir.path(), &[("GIT_CONFIG_NOSYSTEM", "yes")])), "not our reading of yes");
    assert!(!at(&top, &git(dir.path(), &[])), "who knows what the system says");
    for (key, value) in [
        ("include.path", "more"),
        ("includeIf.gitdir:/x.path", "more"),
        ("core.worktree", ".."),
        ("core.bare", "true"),
        ("extensions.worktreeConfig", "true"),
        ("core.repositoryFormatVersion", "1"),
        ("credential.helper", ""),
    ] {
        let file = top.join(".git/config");
        let before = std::fs::read(&file).unwrap();
        run(&top, &["config", "--file", ".git/config", key, value], b"");
        assert!(!at(&top, &plain), "{key}");
        std::fs::write(&file, before).unwrap();
    }
    for text in ["[core]\n\tbare\n", "[a.b]\n\tc = d\n", "[core]\r\n\tx = y\r\n", "[core\n"] {
        std::fs::write(dir.path().join(".gitconfig"), text).unwrap();
        assert!(!at(&top, &plain), "{text:?}");
    }
    std::fs::remove_file(dir.path().join(".gitconfig")).unwrap();
    run(&top, &["init", "--quiet", "--object-format=sha256", "../other"], b"");
    assert!(!at(&dir.path().join("other"), &plain), "sha256");
    std::os::unix::fs::lchown(top.join(".git"), Some(65534), None).ok();
    if rustix::process::geteuid().is_root() {
        assert!(!at(&top, &plain), "somebody else's");
    }
}

#[test]
fn the_systems_file_is_known_from_a_note() {
    let (dir, top) = fresh();
    let system = dir.path().join("system");
    std::fs::write(&system, "[skein]\n\ttrunk = s\n").unwrap();
    let named = git(dir.path(), &[("GIT_CONFIG_SYSTEM", system.to_str().unwrap())]);
    same(&top, &named);
    let note = dir.path().join("note");
    let plain = git(dir.path(), &[]);
    let text = SystemNote::renewed(&note, &plain).unwrap();
    std::fs::write(&note, &text).unwrap();
    assert_eq!(SystemNote::renewed(&note, &plain), None, "it holds");
    assert_eq!(SystemNote::renewed(&dir.path().join("no"), &named), None, "a person said it");
    let quick = plainly(&top, &plain, &|_| note.clone());
    let told = plain.system_file().is_some_and(|file| !file.is_empty());
    assert_eq!(quick.is_some(), told, "an older git does not tell");
    std::fs::write(&note, [b"another git\n".as_slice(), &text].concat()).unwrap();
    assert!(plainly(&top, &plain, &|_| note.clone()).is_none());
}

/// Values of all sorts, written by git and read both ways.
#[test]
fn values_are_read_as_git_reads_them() {
    let (dir, top) = fresh();
    let git = git(dir.path(), &[NOSYSTEM]);
    let parts = ["a", " ", "\"", "\\", "#", ";", "\t", "=", "é", "[x]", "\n", "  ", "$", "'"];
    let mut seed = 7_u64;
    let mut pick = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for _ in 0..40 {
        let value: String = (0..=pick(6)).map(|_| parts[pick(parts.len())]).collect();
        let name = ["s.k", "S.Two.k", "s.two.K", "s.a \"b\".k", "s.a\\b.k"][pick(5)];
        run(&top, &["config", "--add", name, &value], b"");
        same(&top, &git);
    }
}
