//! `sync`: several clones, one server.

mod cut;
pub mod documents;
mod many;
pub mod struck;

use crate::support::Ran;
use crate::support::World;
use std::path::PathBuf;

/// A bare server in `server.git`, with what the world has; the world is its first clone.
pub fn served() -> World {
    let world = World::in_memory();
    world.git(["init", "-q", "--bare", "-b", "main", &server(&world)]);
    world.git(["remote", "add", "origin", &server(&world)]);
    world.git(["push", "-q", "origin", "main"]);
    world
}

pub fn server(world: &World) -> String {
    world.root().join("server.git").display().to_string()
}

/// A further clone of the server, as git makes it.
pub fn cloned(world: &World, name: &str) -> PathBuf {
    let to = world.root().join(name);
    world.git(["clone", "-q", &server(world), &to.display().to_string()]);
    world.git(["-C", &to.display().to_string(), "config", "user.name", name]);
    world.git(["-C", &to.display().to_string(), "config", "user.email", "x@example.invalid"]);
    to
}

impl World {
    /// The same in another clone.
    pub fn skein_in(&self, clone: &str, args: &[&str]) -> Ran {
        let to = self.root().join(clone).display().to_string();
        self.skein(&[&["-C", &to], args].concat())
    }

    pub fn git_in(&self, clone: &str, args: &[&str]) -> String {
        let to = self.root().join(clone).display().to_string();
        self.git([&["-C", &to], args].concat())
    }

    /// A worker of another clone that made one commit, frozen.
    pub fn worker_in(&self, clone: &str, name: &str) {
        let script = format!("echo {name} >{name}; git add {name}; git commit -qm {name}");
        let args = ["dispatch", "--wait", "--name", name, name, "--", "sh", "-c", &script];
        self.skein_in(clone, &args).ok();
        self.skein_in(clone, &["import", name]).ok();
    }
}

/// Everything shared, as name and object, of a clone.
fn shared(world: &World, clone: &str) -> String {
    let format = "--format=%(refname) %(objectname)";
    world.git_in(clone, &["for-each-ref", format, "refs/skein", "refs/notes/skein"])
}

fn exchanged(ran: &Ran, list: &str) -> Vec<String> {
    let all = ran.json()["result"][list].as_array().unwrap().clone();
    all.iter().map(|one| one["what"].as_str().unwrap().split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn two_clones_see_the_same_workers_and_landings() {
    let world = served();
    cloned(&world, "other");
    world.worker_in("repo", "one");
    let first = world.skein(&["sync", "--json"]).ok();
    assert_eq!(exchanged(&first, "gave"), ["sentinel", "worker"]);
    let again = world.skein(&["sync"]).ok();
    assert_eq!(again.out, "in step with origin\n");

    let told = world.skein_in("other", &["sync"]).ok();
    assert!(told.err.contains("git skein sync"), "{}", told.err);
    assert_eq!(told.out, "took worker one\n");
    assert!(!world.skein_in("other", &["sync"]).ok().err.contains("init:"), "said twice");
    world.skein_in("other", &["land", "one"]).ok();
    assert_eq!(world.skein_in("other", &["sync"]).ok().out.matches("gave ").count(), 2);

    world.skein(&["sync"]).ok();
    // The lane says that it landed; the branch has not come here.
    assert!(world.field("one", "landed").is_null());
    world.skein(&["landed", "one"]).code(1);
    world.git_in("other", &["push", "-q", "origin", "main"]);
    world.git(["pull", "-q", "--ff-only", "origin", "main"]);
    assert_eq!(world.field("one", "landed"), world.rev("main"));
    world.skein(&["landed", "one"]).ok();
    assert_eq!(shared(&world, "repo"), shared(&world, "other"));
    world.skein(&["fsck"]).ok();
    world.skein_in("other", &["fsck"]).ok();
}

#[test]
fn no_branch_and_no_tag_moves_and_nothing_is_forced() {
    let world = served();
    cloned(&world, "other");
    world.git(["tag", "mine"]);
    world.worker_in("repo", "one");
    let refs =
        |clone: &str| world.git_in(clone, &["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    let before = [refs("repo"), refs("other"), refs("server.git")];
    world.write(".git/hooks/pre-push", "#!/bin/sh\ntouch ran\nexit 1\n");
    std::fs::set_permissions(
        world.path(".git/hooks/pre-push"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    world.skein(&["sync"]).ok();
    world.skein_in("other", &["sync"]).ok();
    assert_eq!([refs("repo"), refs("other"), refs("server.git")], before);
    assert!(!world.path("ran").exists() && !world.path(".git/FETCH_HEAD").exists());
}

#[test]
fn a_closed_worker_goes_everywhere_and_the_archive_has_it() {
    let world = served();
    cloned(&world, "other");
    world.worker_in("repo", "one");
    world.skein(&["sync"]).ok();
    world.skein_in("other", &["sync"]).ok();
    world.skein(&["land", "one"]).ok();
    world.skein(&["reap", "one", "--yes"]).ok();
    let done = world.skein(&["sync", "--json"]).ok();
    assert_eq!(exchanged(&done, "let_go"), ["worker"]);
    assert!(exchanged(&done, "gave").contains(&"archive".to_owned()), "{done:?}");
    assert_eq!(world.git_in("server.git", &["for-each-ref", "refs/skein/worker"]), "");
    let done = world.skein_in("other", &["sync", "--json"]).ok();
    assert_eq!(exchanged(&done, "let_go"), ["worker"]);
    let closed = world.skein_in("other", &["status", "--archived"]).ok();
    assert!(closed.out.contains("one"), "{}", closed.out);
    // Opened again, it comes back.
    world.skein(&["restore", "one"]).ok();
    world.skein(&["sync"]).ok();
    world.skein_in("other", &["sync"]).ok();
    world.skein(&["reap", "one", "--yes"]).ok();
    world.skein(&["sync"]).ok();
    world.skein_in("other", &["sync"]).ok();
    assert_eq!(shared(&world, "repo"), shared(&world, "other"));
    assert_eq!(world.skein(&["sync"]).ok().out, "in step with origin\n");
}

#[test]
fn a_clone_from_a_backup_takes_its_own_back() {
    let mut world = served();
    world.worker_in("repo", "one");
    let backup = world.root().join("backup");
    let copy = |from: &PathBuf, to: &PathBuf| {
        assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copy(&world.repo, &backup);
    world.skein(&["land", "one"]).ok();
    world.skein(&["sync"]).ok();
    let lane = world.git(["for-each-ref", "refs/skein/lane"]);
    std::fs::remove_dir_all(&world.repo).unwrap();
    std::fs::rename(&backup, &world.repo).unwrap();
    // The folder is another one: what was moved back by `mv` keeps its id only where it is noted.
    let id = world.git(["config", "skein.clone"]);
    std::fs::remove_file(world.path(".git/skein/home")).unwrap();
    world.skein(&["sync"]).ok();
    assert_eq!(
        (world.git(["config", "skein.clone"]), world.git(["for-each-ref", "refs/skein/lane"])),
        (id, lane)
    );
    world.cwd = world.repo.clone();
    world.skein(&["fsck"]).ok();
}

#[test]
fn two_folders_that_write_as_one_clone_are_told() {
    let world = served();
    world.worker_in("repo", "one");
    world.worker_in("repo", "two");
    let copy = world.root().join("copy");
    assert!(
        std::process::Command::new("cp").arg("-a").arg(&world.repo).arg(&copy).status().unwrap().success()
    );
    // Somebody has removed what tells a copy from its first.
    std::fs::remove_file(copy.join(".git/skein/home")).unwrap();
    world.skein(&["land", "one"]).ok();
    world.skein_in("copy", &["land", "two"]).ok();
    world.skein(&["sync"]).ok();
    let before = shared(&world, "server.git");
    let told = world.skein_in("copy", &["sync"]).code(3);
    assert!(told.out.starts_with("forked: lane ") || told.out.contains("\nforked: lane "), "{}", told.out);
    let told = world.skein_in("copy", &["sync", "--json"]).code(3);
    assert_eq!(exchanged(&told, "forked"), ["lane"]);
    let lane = |text: &str| text.lines().find(|l| l.contains("/lane/")).unwrap().to_owned();
    assert_eq!(lane(&shared(&world, "server.git")), lane(&before));
}

#[test]
fn what_the_server_does_not_take_is_told_with_its_words() {
    let world = served();
    world.worker_in("repo", "one");
    let hook = world.root().join("server.git/hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in refs/skein/worker/*) echo not here >&2; exit 1;; esac\n")
        .unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let told = world.skein(&["sync"]).code(1);
    assert!(told.out.contains("push-refused: origin did not take 1 ref\n"), "{}", told.out);
    assert!(told.out.contains("not here") && told.out.contains("gave sentinel"), "{}", told.out);
    std::fs::remove_file(&hook).unwrap();
    assert_eq!(world.skein(&["sync"]).ok().out, "gave worker one\n");
}

#[test]
fn what_is_nothing_of_ours_on_a_server_is_left_alone() {
    let world = served();
    cloned(&world, "other");
    world.worker_in("repo", "one");
    world.skein(&["sync"]).ok();
    let before = shared(&world, "repo");
    let (blob, tip) = (world.rev("main:a.txt"), world.rev("main"));
    let names = [
        "lane/01m8kad2zf1v540vz1kdjb5krm",
        "worker/01m8kad2zf1v540vz1kdjb5krn",
        "bundle/01m8kad2zf1v540vz1kdjb5kro",
    ];
    for name in names {
        world.git_in("server.git", &["update-ref", &format!("refs/skein/{name}"), &blob]);
    }
    let document = "refs/skein/doc/01m8kad2zf1v540vz1kdjb5krp";
    world.git_in("server.git", &["update-ref", document, &tip]);
    let told = world.skein(&["sync", "--json"]).ok();
    assert_eq!(told.json()["result"]["strange"].as_array().unwrap().len(), 4, "{told:?}");
    assert_eq!(shared(&world, "repo"), before);
    world.skein_in("other", &["sync"]).ok();
    assert_eq!(shared(&world, "other"), before);
    world.skein_in("other", &["status"]).ok();
    world.skein(&["fsck"]).ok();
}

#[test]
fn what_a_server_takes_and_does_not_show_is_told() {
    let world = served();
    world.worker_in("repo", "one");
    world.git_in("server.git", &["config", "uploadpack.hideRefs", "refs/skein/worker"]);
    let told = world.skein(&["sync"]).code(1);
    assert!(told.out.contains("push-refused: origin did not take 1 ref"), "{}", told.out);
}

/// More than one push takes.
#[test]
fn many_refs_are_given_in_batches() {
    let world = served();
    world.worker_in("repo", "one");
    world.skein(&["sync"]).ok();
    let at = world.git(["for-each-ref", "--format=%(objectname)", "refs/skein/worker"]);
    let made: String =
        (0..450).map(|n| format!("create refs/skein/worker/01kdvdna00000000000000{n:04} {at}\n")).collect();
    let mut child = std::process::Command::new("git")
        .args(["update-ref", "--stdin"])
        .current_dir(&world.repo)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), made.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let done = world.skein(&["sync", "--json"]).ok();
    assert_eq!(exchanged(&done, "gave").len(), 450);
    assert_eq!(shared(&world, "server.git"), shared(&world, "repo"));
}

#[test]
fn a_remote_that_is_not_there_is_refused_by_name() {
    let world = World::in_memory();
    world.skein(&["sync"]).refused("no-remote", 1);
    world.git(["remote", "add", "gone", "/nowhere/at/all"]);
    world.skein(&["sync"]).refused("remote-unreachable", 75);
    world.skein(&["sync", "else"]).refused("no-remote", 1);
    world.git(["remote", "add", "more", "/nowhere/either"]);
    world.skein(&["sync"]).refused("no-remote", 1);
    world.git(["config", "skein.remote", "more"]);
    world.skein(&["sync"]).refused("remote-unreachable", 75);
    // A name with a slash in it has a place of its own.
    world.git(["init", "-q", "--bare", &server(&world)]);
    world.git(["remote", "add", "team/up", &server(&world)]);
    world.skein(&["sync", "team/up"]).ok();
    assert_eq!(world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein-remote"]).len(), 1);
}
