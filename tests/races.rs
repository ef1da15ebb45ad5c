//! Many writers at once: nothing is lost, and nothing is said to have happened that did not.

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use crate::support::tally::full;
use crate::support::tally::tally;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::process::Command;
use std::process::Stdio;

/// `count` workers, each with one file of its own, dispatched at once.
fn fork(world: &World, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|i| format!("w{i:02}")).collect();
    let scripts: Vec<String> = names
        .iter()
        .map(|n| format!("echo {n} > {n}.txt && git add {n}.txt && git commit -qm {n}"))
        .collect();
    let commands: Vec<Vec<&str>> = names
        .iter()
        .zip(&scripts)
        .map(|(name, script)| vec!["dispatch", "--wait", "--name", name, name, "--", "sh", "-c", script])
        .collect();
    for ran in world.at_once(&commands) {
        ran.ok();
    }
    names
}

/// One landing that was acknowledged.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
pub struct Ack {
    pub old: String,
    pub new: String,
    commits: u64,
}

pub fn ack(ran: Ran) -> Ack {
    let said = ran.ok().json();
    let field = |key: &str| said["result"][key].as_str().unwrap().to_owned();
    assert_eq!(said["result"]["already"], false);
    Ack { old: field("old"), new: field("new"), commits: said["result"]["commits"].as_u64().unwrap() }
}

/// From `base` to the tip of `branch` there is one line, and it is made of the acknowledged landings and of
/// nothing else.
pub fn assert_line(world: &World, base: &str, branch: &str, acks: &[Ack]) {
    let next: BTreeMap<&str, &Ack> = acks.iter().map(|a| (a.old.as_str(), a)).collect();
    assert_eq!(next.len(), acks.len(), "two landings began at the same tip");
    let (mut at, mut count) = (base, 0);
    while let Some(ack) = next.get(at) {
        at = &ack.new;
        count += 1;
    }
    assert_eq!((at, count), (world.rev(branch).as_str(), acks.len()), "the line is broken");
    let line = world.lines(&["rev-list", "--first-parent", &format!("{base}..{branch}")]);
    assert_eq!(line.len() as u64, acks.iter().map(|a| a.commits).sum::<u64>());
    let news: BTreeSet<&str> = acks.iter().map(|a| a.new.as_str()).collect();
    assert!(news.iter().all(|n| line.iter().any(|l| l == n)));
}

#[test]
fn twenty_forks_with_files_of_their_own_land_one_by_one_and_all_at_once() {
    let world = World::new();
    let base = world.head();
    let names = fork(&world, 20);
    let acks: Vec<Ack> = names.iter().map(|n| ack(world.skein(&["land", n, "--json"]))).collect();
    assert_line(&world, &base, "main", &acks);
    assert_eq!(world.lines(&["log", "--format=%s", "--reverse", &format!("{base}..main")]), names);
    assert_eq!(world.git(["status", "--porcelain"]), "");

    world.git(["branch", "again", &base]);
    let commands: Vec<Vec<&str>> =
        names.iter().map(|n| vec!["land", n, "--onto", "again", "--json"]).collect();
    let acks: Vec<Ack> = world.at_once(&commands).into_iter().map(ack).collect();
    tally("racing landing", acks.len() as u64);
    assert_line(&world, &base, "again", &acks);
    assert_eq!(world.rev("again^{tree}"), world.rev("main^{tree}"));
    world.check();
}

/// Runs `work` for 0 to `count`, each on a thread of its own, and collects what they give.
pub fn together<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..count).map(|i| scope.spawn(move || work(i))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

/// Branches `b<process>-<nnn>` of one commit each, made in one git process.
pub fn branches(world: &World, processes: usize, each: usize) {
    let base = world.head();
    let mut stream = String::new();
    for process in 0..processes {
        for i in 0..each {
            let name = format!("b{process}-{i:03}");
            let data = |text: &str| format!("data {}\n{text}\n", text.len());
            stream.push_str(&format!(
                "commit refs/heads/{name}\ncommitter Bo <bo@example.invalid> {} +0000\n{}from {base}\n\
                 M 100644 inline {name}.txt\n{}",
                1_767_000_000 + i,
                data(&name),
                data(&name)
            ));
        }
    }
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(&world.repo).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    std::io::Write::write_all(&mut import.stdin.take().unwrap(), stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
}

/// Eight processes with forty branches each; of a release, sixteen with 125.
#[test]
fn many_processes_merge_many_branches_each() {
    let (processes, each) = if full() { (16, 125) } else { (8, 40) };
    let world = World::in_memory();
    let base = world.head();
    branches(&world, processes, each);
    let acks = together(processes, |process| {
        let land =
            |i| ack(world.skein(&["land", &format!("b{process}-{i:03}"), "--retries", "20", "--json"]));
        (0..each).map(land).collect::<Vec<Ack>>()
    });
    let acks = acks.concat();
    assert_eq!(acks.len(), processes * each);
    assert_line(&world, &base, "main", &acks);
    for i in [0, each - 1] {
        world.git(["merge-base", "--is-ancestor", &format!("b7-{i:03}"), "main"]);
    }
    let files = world.lines(&["ls-tree", "--name-only", "main"]);
    assert_eq!(files.iter().filter(|f| f.starts_with('b') && f.contains('-')).count(), acks.len());
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
    tally("racing landing", acks.len() as u64);
}

#[test]
fn eight_workers_land_forty_deltas_each_at_once() {
    let world = World::in_memory();
    let base = world.head();
    let names = fork(&world, 8);
    let trees: Vec<_> = names.iter().map(|n| (n.clone(), world.ulid(n), world.worktree(n))).collect();
    let acks = together(8, |process| {
        let (name, ulid, path) = &trees[process];
        let mut acks = Vec::new();
        for i in 0..40 {
            // The worker goes on in its worktree; what it has then is a new delta.
            if i > 0 {
                std::fs::write(path.join(format!("{name}-{i}.txt")), "more\n").unwrap();
                let path = path.to_str().unwrap();
                world.git(["-C", path, "add", "--all"]);
                let mail = format!("user.email={ulid}@worker.skein.invalid");
                world.git(["-C", path, "-c", &mail, "commit", "--quiet", "-m", &format!("{name} {i}")]);
            }
            acks.push(ack(world.skein(&["land", name, "--json"])));
        }
        acks
    });
    let acks = acks.concat();
    assert_eq!(acks.len(), 320);
    assert_line(&world, &base, "main", &acks);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    // Every landed commit has the one note of its own landing, and no other commit has one.
    let noted: BTreeSet<String> = world
        .lines(&["notes", "--ref=skein/landed", "list"])
        .iter()
        .map(|l| l.split(' ').nth(1).unwrap().to_owned())
        .collect();
    let landed: BTreeSet<String> = acks.iter().map(|a| a.new.clone()).collect();
    assert_eq!(noted, landed);
    let said =
        world.git(["log", "--notes=skein/landed", "--format=%(trailers:key=Skein-Op,valueonly)%x00%N%x01"]);
    for commit in said.split('\u{1}').filter(|c| c.contains("\"op\"")) {
        let (op, note) = commit.trim().split_once('\0').unwrap();
        assert!(note.contains(op.trim()) && note.trim().lines().count() == 1, "{commit}");
    }
    for (name, ..) in &trees {
        world.skein(&["landed", name]).ok();
    }
    world.check();
    tally("racing landing", acks.len() as u64);
}

/// Eight writers of notes and of the lane, with twenty landings each; of a release, with 200.
#[test]
fn eight_processes_with_many_landings_each_leave_all_notes() {
    let each = if full() { 200 } else { 20 };
    let world = World::in_memory();
    let names = fork(&world, 8);
    let targets: Vec<String> = (0..each).map(|i| format!("t{i:03}")).collect();
    for target in &targets {
        world.git(["branch", target]);
    }
    let acks = together(8, |process| {
        let land = |t: &String| ack(world.skein(&["land", &names[process], "--onto", t, "--json"]));
        targets.iter().map(land).collect::<Vec<Ack>>()
    });
    let landed: BTreeSet<String> = acks.concat().into_iter().map(|a| a.new).collect();
    assert_eq!(landed.len(), 8 * each);
    let noted: BTreeSet<String> = world
        .lines(&["notes", "--ref=skein/landed", "list"])
        .iter()
        .map(|l| l.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(noted, landed);
    assert_eq!(receipts(&world), landed);
    world.check();
    tally("note written beside others", noted.len() as u64);
}

/// What the lanes say has landed, read by libgit2.
fn receipts(world: &World) -> BTreeSet<String> {
    let repo = git2::Repository::open(&world.repo).unwrap();
    let mut landed = BTreeSet::new();
    for lane in repo.references_glob("refs/skein/lane/*").unwrap() {
        let mut next = lane.unwrap().peel_to_commit().ok();
        while let Some(commit) = next {
            let Some(entry) = commit.tree().unwrap().get_name("record.json").map(|e| e.id()) else { break };
            let record: serde_json::Value =
                serde_json::from_slice(repo.find_blob(entry).unwrap().content()).unwrap();
            if record["kind"] == "landing" {
                landed.insert(record["new"].as_str().unwrap().to_owned());
            }
            next = commit.parent(0).ok();
        }
    }
    landed
}

#[test]
fn sixteen_dispatches_at_once_all_stand() {
    let world = World::new();
    let argv = ["dispatch", "--json", "--name", "same", "the same task", "--", "sh", "-c", "echo w > w.txt"];
    for round in 1..=3 {
        let dispatched: Vec<serde_json::Value> =
            world.at_once(&vec![argv.to_vec(); 16]).into_iter().map(|r| r.ok().json()).collect();
        let different = |key: &str| -> usize {
            let all = dispatched.iter().map(|d| d["result"][key].as_str().unwrap());
            all.collect::<BTreeSet<_>>().len()
        };
        assert_eq!((different("worker"), different("worktree"), different("handle")), (16, 16, 16));
        world.skein(&["wait"]);
        let status = world.skein(&["status", "--json"]).ok().json();
        let workers = status["result"]["workers"].as_array().unwrap();
        assert_eq!(workers.len(), round * 16);
        for worker in workers {
            assert_eq!(worker["outcome"], "needs-input", "{worker}");
            assert_eq!(worker["files"], 1, "{worker}");
        }
        assert_eq!(world.lines(&["worktree", "list"]).len(), round * 16 + 1);
    }
    world.check();
}

/// Landings come one after another as they were asked for; one that is killed while it waits is passed over.
#[test]
fn landings_are_served_in_the_order_of_asking() {
    let world = World::new();
    let base = world.head();
    let names = fork(&world, 5);
    let run = world.path(".git/skein/run");
    let lock = std::fs::File::options().write(true).open(run.join("land.lock"));
    let lock = lock.or_else(|_| std::fs::File::create(run.join("land.lock"))).unwrap();
    lock.lock().unwrap();
    let waiting = || std::fs::read_dir(run.join("land.queue")).into_iter().flatten().count();
    let mut children = Vec::new();
    for name in names.iter().rev() {
        let mut land = world.command(&["land", name, "--json"]);
        children.push(land.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        until("it waits", || waiting() == children.len());
    }
    let mut killed = children.remove(2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Its ticket stays until one that waits behind it looks.
    assert!(waiting() >= 4);
    drop(lock);
    let acks: Vec<Ack> = children.into_iter().map(|c| ack(ran(c.wait_with_output().unwrap()))).collect();
    assert_line(&world, &base, "main", &acks);
    let landed = world.lines(&["log", "--format=%s", "--reverse", &format!("{base}..main")]);
    assert_eq!(landed, ["w04", "w03", "w01", "w00"]);
    assert_eq!(waiting(), 0);
    world.skein(&["land", "w02"]).ok();
    world.check();
}

/// Both have frozen the same work before either holds the lock; the second finds it done.
#[test]
fn the_same_landing_twice_at_once_is_one_landing() {
    let world = World::new();
    let base = world.head();
    fork(&world, 1);
    let run = world.path(".git/skein/run");
    let lock = std::fs::File::options().create(true).truncate(false).write(true).open(run.join("land.lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    let waiting = || std::fs::read_dir(run.join("land.queue")).into_iter().flatten().count();
    let mut children = Vec::new();
    for _ in 0..2 {
        let mut land = world.command(&["land", "w00", "--json"]);
        children.push(land.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        until("it waits", || waiting() == children.len());
    }
    drop(lock);
    let mut said: Vec<serde_json::Value> =
        children.into_iter().map(|c| ran(c.wait_with_output().unwrap()).ok().json()).collect();
    said.sort_by_key(|s| s["result"]["already"] == true);
    assert_eq!((&said[0]["result"]["already"], &said[1]["result"]["already"]), (&false.into(), &true.into()));
    assert_eq!(said[0]["result"]["new"], said[1]["result"]["new"]);
    assert_eq!(world.lines(&["rev-list", &format!("{base}..main")]).len(), 1);
    world.check();
}

/// Only to be sure that the helper above reads what git wrote.
#[test]
fn a_refusal_is_no_acknowledgement() {
    let world = World::new();
    let output = world.command(&["land", "nobody", "--json"]).output().unwrap();
    assert!(std::panic::catch_unwind(|| ack(ran(output))).is_err());
}
