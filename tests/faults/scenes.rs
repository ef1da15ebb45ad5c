//! The verbs and the repositories they are struck on.

use crate::faults::children;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Act;
use crate::faults::sweep::Scene;
use crate::support::MOMENT;
use crate::support::World;
use crate::support::acts::until;
use std::fs;
use std::path::Path;

pub const WORK: &str = "sed -i s/1/one/ a.txt && echo new > new.txt && git add -A && git commit -qm fixed";

/// A small repository whose time stands still.
pub fn still() -> World {
    let date = "@1767225000 +0000";
    let world = World::new()
        .env("SKEIN_CLOCK", &MOMENT.to_string())
        .env("SKEIN_SEED", "1")
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_DATE", date);
    world.write("kept.txt", "kept\n");
    world.write("staged.txt", "kept\n");
    world.commit("more");
    world
}

/// With a worker `fix` that is ready; `main` is checked out nowhere.
pub fn ready() -> World {
    let world = still();
    world.worker("fix", WORK);
    assert_eq!(world.field("fix", "outcome"), "ready");
    world.git(["switch", "--quiet", "--create", "side"]);
    world
}

pub fn with(world: World, steps: &[&[&str]]) -> World {
    for step in steps {
        world.skein(step).ok();
    }
    world
}

/// `main` is checked out, with changes of the person's beside what lands.
pub fn checked_out() -> World {
    let world = ready();
    world.git(["switch", "--quiet", "main"]);
    dirty(&world);
    world
}

/// The index cannot prove that `a.txt` is as it was, so git is asked: for git a new ctime is then no change,
/// and the index keeps the old one.
pub fn in_doubt(world: &World) {
    world.git(["config", "core.trustctime", "false"]);
    let file = std::fs::File::open(world.repo.join("a.txt")).unwrap();
    file.set_modified(file.metadata().unwrap().modified().unwrap()).unwrap();
}

pub fn dirty(world: &World) {
    world.write("kept.txt", "dirty\n");
    world.write("staged.txt", "staged\n");
    world.git(["add", "staged.txt"]);
    world.write("untracked.txt", "mine\n");
    world.write("x.ign", "ignored\n");
}

/// A bare repository with a worker that is ready.
fn bare() -> World {
    let mut world = still();
    world.git(["clone", "--quiet", "--bare", ".", "../bare.git"]);
    world.repo = world.root().join("bare.git");
    world.cwd = world.repo.clone();
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world.worker("fix", WORK);
    world
}

pub fn landed(world: &World) {
    world.skein(&["landed", "fix"]).ok();
}

fn sweep_landing(name: &'static str, world: World, args: &[&'static str]) {
    sweep::run(&Scene { after: landed, ..Scene::new(name, world, args) });
}

/// A branch that parted beyond the border of the clone.
#[test]
fn land_in_a_clone_that_is_cut_off() {
    let world = still();
    for n in 0..4 {
        world.commit(&format!("later {n}"));
    }
    world.git(["switch", "--quiet", "--create", "topic", "HEAD~2"]);
    world.write("t.txt", "t\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    let world = crate::shapes::stores::cloned(world, &["--depth", "1"]);
    world.git(["fetch", "--quiet", "--depth=1", "origin", "topic:topic"]);
    world.git(["switch", "--quiet", "--create", "side"]);
    let after: Act = |world| drop(world.skein(&["landed", "topic"]).ok());
    let scene = Scene::new("land, cut off", world, &["land", "topic"]);
    sweep::run(&Scene { after, plans: &sweep::PLANS[..5], ..scene });
}

#[test]
fn init() {
    let scene = Scene::new("init", still(), &["init"]);
    sweep::run(&scene);
}

#[test]
fn import() {
    sweep::run(&Scene::new("import", ready(), &["import", "fix"]));
}

#[test]
fn import_of_what_git_stores_otherwise() {
    let world = still();
    world.write(".gitattributes", "* text=auto eol=crlf\n");
    world.commit("attributes");
    world.worker("fix", "sed -i s/1/one/ a.txt && printf 'new\\r\\n' >new.txt");
    world.git(["switch", "--quiet", "--create", "side"]);
    let after = |world: &World| {
        let said = world.skein(&["import", "fix", "--json"]).ok().json();
        let tip = said["result"]["delta"]["tip"].as_str().unwrap().to_owned();
        assert_eq!(world.git(["diff", "--numstat", "main", &tip]), "1\t1\ta.txt\n1\t0\tnew.txt");
    };
    sweep::run(&Scene { after, ..Scene::new("import, converted", world, &["import", "fix"]) });
}

#[test]
fn import_into_a_branch() {
    sweep::run(&Scene::new("import --into", ready(), &["import", "fix", "--into", "coord"]));
}

#[test]
fn candidate_create() {
    sweep::run(&Scene::new("candidate create", ready(), &["candidate", "create", "fix"]));
}

#[test]
fn candidate_admit() {
    let world = with(ready(), &[&["candidate", "create", "fix"]]);
    let args = ["candidate", "admit", "fix", "--gate", "grep -q one a.txt"];
    sweep::run(&Scene::new("candidate admit", world, &args));
}

#[test]
fn candidate_integrate() {
    let admit = ["candidate", "admit", "fix", "--gate", "true"];
    let world = with(ready(), &[&["candidate", "create", "fix"], &admit]);
    sweep_landing("candidate integrate", world, &["candidate", "integrate", "fix"]);
}

#[test]
fn land_without_a_gate() {
    sweep_landing("land", ready(), &["land", "fix"]);
}

#[test]
fn land_with_a_gate() {
    sweep_landing("land --gate", ready(), &["land", "fix", "--gate", "grep -q one a.txt"]);
}

#[test]
fn land_on_a_trunk_that_is_checked_out() {
    sweep_landing("land, trunk checked out", checked_out(), &["land", "fix"]);
}

/// After the checkout was looked at somebody moves the branch: all goes back, and forth on the new tip.
#[test]
fn land_while_the_branch_moves() {
    let world = checked_out();
    let other = world.git(["commit-tree", "-p", "main", "-m", "other", "main^{tree}"]);
    world.git(["update-ref", "refs/heads/other", &other]);
    let bin = world.root().join("bin");
    // Once for each copy, at our own look at it; the checkout is where git is called.
    let once = "[ -e ../moved ] || { touch ../moved; git update-ref refs/heads/main refs/heads/other; }";
    children::git_in(&bin, "-z -uno", once);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.env("PATH", &path);
    let scene = Scene::new("land, branch moves meanwhile", world, &["land", "fix"]);
    let after: Act = |world| {
        assert!(world.root().join("moved").exists(), "nobody moved the branch");
        landed(world);
    };
    sweep::run(&Scene { before: in_doubt, after, plans: &sweep::PLANS[..4], ..scene });
}

/// A worktree whose worker no ref knows any more, and the lock of a landing that is over.
#[test]
fn doctor_mends() {
    let world = ready();
    let id = world.ulid("fix");
    let place = world.worktree("fix").display().to_string();
    world.git(["worktree", "unlock", &place]);
    for name in ["refs/skein/worker", "refs/skein-local/head"] {
        world.git(["update-ref", "-d", &format!("{name}/{id}")]);
    }
    std::fs::remove_dir_all(world.path(&format!(".git/skein/run/{id}"))).unwrap();
    world.write(".git/index.lock", &format!("git-skein landing {id}\n"));
    sweep::run(&Scene::new("doctor --fix", world, &["doctor", "--fix"]));
}

/// The second run is struck as well, after a first that died in the worst places.
#[test]
fn land_again_after_a_kill() {
    fn die_at(world: &World, point: &str) {
        let mut land = world.command(&["land", "fix"]);
        let ended = land.env("SKEIN_FAULT", format!("{point}:1:kill")).output().unwrap();
        assert_eq!(ended.status.code(), None, "{point}");
    }
    let deaths: [(&str, Act); 3] = [
        ("land, died: files moved", |w| die_at(w, "index: files moved")),
        ("land, died: checkout moved", |w| die_at(w, "landing: checkout moved")),
        ("land, died: branch moved", |w| die_at(w, "landing: branch moved")),
    ];
    let world = checked_out();
    for (name, before) in deaths {
        let scene = Scene::new(name, world.copy(), &["land", "fix"]);
        sweep::run(&Scene { before, after: landed, plans: &sweep::PLANS[..2], ..scene });
    }
}

/// The landing of `fix` is taken back, by its name: the same command twice is the same undo.
pub fn undoing(name: &'static str, world: World) -> Scene {
    let land = world.skein(&["land", "fix", "--json"]).ok().json();
    let op: &'static str = land["result"]["op"].as_str().unwrap().to_owned().leak();
    let after: Act = |world| drop(world.skein(&["landed", "fix"]).code(1));
    Scene { after, ..Scene::new(name, world, &["undo", op]) }
}

#[test]
fn undo() {
    sweep::run(&undoing("undo", ready()));
}

#[test]
fn undo_on_a_trunk_that_is_checked_out() {
    sweep::run(&undoing("undo, trunk checked out", checked_out()));
}

/// Notes and a keep-ref are gone, and a cache is there that nothing needs.
#[test]
fn fsck_rebuild() {
    let world = with(ready(), &[&["land", "fix"]]);
    world.git(["update-ref", "-d", "refs/notes/skein/landed"]);
    world.git(["update-ref", "-d", &format!("refs/skein-local/head/{}", world.ulid("fix"))]);
    fs::create_dir_all(world.common().join("skein/cache/x")).unwrap();
    sweep::run(&Scene::new("fsck --rebuild", world, &["fsck", "--rebuild"]));
}

#[test]
fn land_in_a_bare_repository() {
    sweep_landing("land, bare", bare(), &["land", "fix"]);
}

#[test]
fn land_a_branch_of_the_person() {
    let world = still();
    world.git(["switch", "--quiet", "--create", "topic"]);
    world.write("topic.txt", "topic\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    world.write("main.txt", "main\n");
    world.commit("main goes on");
    sweep::run(&Scene::new("land of a branch", world, &["land", "topic"]));
}

/// What a dispatch promises: one worker, its base, its work, its worktree. Its id is drawn anew each time.
fn dispatched(world: &World) -> State {
    let mut state = state::person(world);
    let status = world.skein(&["status", "--json"]).ok().json();
    for row in status["result"]["workers"].as_array().unwrap() {
        let handle = row["handle"].as_str().unwrap();
        for key in ["outcome", "liveness", "base", "onto", "commits", "files", "task"] {
            state.insert(format!("worker {handle} {key}"), row[key].to_string());
        }
        let tree = world.rev(&format!("{}^{{tree}}", row["head"].as_str().unwrap()));
        state.insert(format!("worker {handle} tree"), tree);
    }
    for folder in world.below("repo.skein") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        state.insert(format!("folder {name}"), fs::read_to_string(folder.join("a.txt")).unwrap());
    }
    let worktrees = world.git(["worktree", "list", "--porcelain"]);
    state.insert("worktrees".into(), worktrees.matches("worktree ").count().to_string());
    let local = world.git(["for-each-ref", "--format=%(refname)", "refs/skein-local"]);
    state.insert("local refs".into(), local.lines().count().to_string());
    state
}

/// Whether the strike came before the supervisor had taken over. If it had, the worker does its work.
pub fn not_taken_over(world: &World) -> bool {
    all_ended(world);
    let status = world.skein(&["status", "--json"]).ok().json();
    let worker = status["result"]["workers"].as_array().unwrap().first().cloned();
    worker.is_none_or(|worker| worker["outcome"] == "active")
}

/// Waits for who is on its way still: what a supervisor will do is known when its process is gone. All worlds
/// have the same ids, so it is known by its place.
pub fn all_ended(world: &World) -> bool {
    until("the end of supervisor and agent", || !works_in(&world.root()));
    true
}

/// Whether any process has its working directory there.
fn works_in(folder: &Path) -> bool {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|p| fs::read_link(p.path().join("cwd")).ok()).any(|cwd| cwd.starts_with(folder))
}

#[test]
fn dispatch() {
    sweep::run(&dispatching());
}

pub fn dispatching() -> Scene {
    let args = ["dispatch", "--wait", "--name", "fix", "fix it", "--", "sh", "-c", WORK];
    let scene = Scene::new("dispatch --wait", still(), &args);
    Scene { state: dispatched, again: not_taken_over, ..scene }
}

/// A worker in the middle of its work: it has committed once, and has more in its tree.
pub fn running(world: &World) {
    let script = format!("{WORK}; echo more > more.txt; while [ -e .git ]; do sleep 0.1; done");
    world.skein(&["dispatch", "--name", "fix", "fix it", "--", "sh", "-c", &script]).ok();
    let more = world.root().join("repo.skein/fix/more.txt");
    for _ in 0..1000 {
        if more.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the worker does not work");
}

fn stopped(world: &World) -> State {
    let mut state = dispatched(world);
    let snapshot = world.field("fix", "snapshot");
    let more = world.git(["show", &format!("{}:more.txt", snapshot.as_str().unwrap())]);
    state.insert("snapshot".into(), more);
    state
}

#[test]
fn stop() {
    let scene = Scene::new("stop", still(), &["stop", "fix"]);
    sweep::run(&Scene { before: running, state: stopped, plans: sweep::WITHOUT_GIT, ..scene });
}

/// The base of uncommitted changes is made, and ignored files are copied; both leave the person's checkout alone.
#[test]
fn dispatch_with_uncommitted_changes() {
    let world = still();
    world.write(".worktreeinclude", "*.ign\n");
    dirty(&world);
    let script = "cat kept.txt untracked.txt x.ign > new.txt && git add new.txt && git commit -qm fixed";
    let args = ["dispatch", "--with-dirty", "--wait", "--name", "fix", "fix it", "--", "sh", "-c", script];
    let after: Act = |world| {
        let seen = world.git(["show", &format!("{}:new.txt", world.field("fix", "head").as_str().unwrap())]);
        assert_eq!(seen, "dirty\nmine\nignored");
        assert_eq!(fs::read_to_string(world.root().join("repo.skein/fix/x.ign")).unwrap(), "ignored\n");
    };
    let scene = Scene::new("dispatch --with-dirty", world, &args);
    let plans = &sweep::PLANS[..2];
    sweep::run(&Scene { state: with_person, again: not_taken_over, after, plans, ..scene });
}

pub fn with_person(world: &World) -> State {
    let mut state = dispatched(world);
    state.extend(state::person(world));
    // Whether a snapshot was taken on the way is up to the scheduler.
    state.remove("local refs");
    state
}

#[test]
fn land_all() {
    let world = still();
    for name in ["fix", "more"] {
        world.worker(name, &format!("echo {name} > {name}.txt && git add -A && git commit -qm {name}"));
    }
    world.git(["switch", "--quiet", "--create", "side"]);
    // Where the trunk may be in between: the clock stands, so the first landing is known beforehand.
    let first = world.copy();
    first.skein(&["land", "fix"]).ok();
    world.git(["fetch", "--quiet", first.repo.to_str().unwrap(), "main:other"]);
    let after: Act = |world| {
        for name in ["fix", "more"] {
            world.skein(&["landed", name]).ok();
        }
    };
    let plans = &sweep::PLANS[..4];
    sweep::run(&Scene { after, plans, ..Scene::new("land --all", world, &["land", "--all"]) });
}

/// The scheduler is struck, and the same command goes on: each task is started once, in its order.
#[test]
fn dispatch_from_a_file() {
    let world = still();
    let task = |name: &str, after: &str| {
        let text = format!("run: echo x >> {name} && git add {name} && git commit -qm {name}");
        format!(
            "{}\n",
            serde_json::json!({ "task": text, "name": name, "after": after.split_terminator(' ').collect::<Vec<_>>() })
        )
    };
    fs::write(world.root().join("tasks.jsonl"), task("fix", "") + &task("more", "fix")).unwrap();
    let after: Act = |world| {
        for name in ["fix", "more"] {
            let head = world.field(name, "head");
            assert_eq!(world.git(["show", &format!("{}:{name}", head.as_str().unwrap())]), "x");
        }
    };
    let args = ["dispatch", "--from", "../tasks.jsonl", "--wait", "-j", "2"];
    let plans = &sweep::PLANS[..1];
    let scene = Scene::new("dispatch --from", world, &args);
    sweep::run(&Scene { state: on_each_other, again: all_ended, after, plans, ..scene });
}

/// `more` was forked from the work of `fix`, whose commits are in its name and so never the same.
fn on_each_other(world: &World) -> State {
    let mut state = with_person(world);
    let base = world.field("more", "base");
    assert_eq!(base, world.field("fix", "head"));
    let tree = world.rev(&format!("{}^{{tree}}", base.as_str().unwrap()));
    state.insert("worker more base".into(), tree);
    state
}
