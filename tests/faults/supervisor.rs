//! The supervisor, struck at every place of a run with snapshots. Whatever verb comes next closes the worker,
//! and nothing that was committed or seen is lost.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::sweep;
use crate::faults::sweep::Crossed;
use crate::faults::sweep::Plan;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::is_free;
use crate::support::acts::is_over;
use crate::support::acts::runs;
use crate::support::acts::until;
use crate::support::ran;
use git2::Oid;
use git2::Repository;
use std::fs;
use std::path::Path;

/// It commits, is quiet for as long as a snapshot takes, and goes on.
const AGENT: &str = "echo $$ > $OUT/agent; sed -i s/1/one/ a.txt && git commit -qam first; \
                     echo more > more.txt; sleep 0.5; git add -A; git commit -qm second; \
                     echo last > last.txt; sleep 0.5";

const PLANS: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 2, lasting: false },
    Plan { site: "git", action: "EIO", stride: 2, lasting: false },
    Plan { site: "file", action: "EIO", stride: 4, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 9, lasting: true },
];

/// The verbs that a person may give next.
const NEXT: [&[&str]; 3] = [&["stop", "fix"], &["land", "fix"], &["import", "fix"]];

#[test]
fn supervisor() {
    let world = scenes::still();
    world.skein(&["init"]).ok();
    // Mostly the agent sleeps, so more of them than there are processors.
    let crossed = crossed(&world, "none");
    sweep::table("supervisor", PLANS, 6, &crossed, |plan, k| case(&world, plan, k, "none"));
}

/// What a jailed worker has committed is not yet in the repository when its supervisor dies.
#[test]
fn supervisor_of_a_jailed_worker() {
    if !crate::jail::possible() {
        return;
    }
    let world = scenes::still();
    world.skein(&["init"]).ok();
    let plans = PLANS.iter().map(|plan| Plan { stride: plan.stride * 2, ..*plan });
    let plans: Vec<Plan> = plans.collect();
    let crossed = crossed(&world, "bwrap");
    sweep::table("supervisor of a jail", &plans, 6, &crossed, |plan, k| case(&world, plan, k, "bwrap"));
}

/// The files in `run` may be gone after a power cut, and the worktree with a hasty hand: the refs still tell.
#[test]
fn a_worker_known_only_by_its_refs_keeps_what_they_hold() {
    let world = scenes::still();
    let agent = "git commit -q --allow-empty -m first; echo more > more.txt; \
                 until git rev-parse -q --verify refs/skein-local/wip/$SKEIN_WORKER; do sleep 0.05; done; sleep 60";
    world.skein(&["dispatch", "--name", "fix", "fix it", "--", "sh", "-c", agent]).ok();
    let id = world.ulid("fix");
    let wip = format!("refs/skein-local/wip/{id}");
    until("a snapshot", || world.try_git(["rev-parse", "-q", "--verify", &wip]).status.success());
    let run = world.path(&format!(".git/skein/run/{id}"));
    let supervisor = fs::read_to_string(run.join("pid")).unwrap();
    std::process::Command::new("kill").args(["-KILL", supervisor.trim()]).output().unwrap();
    until("the supervisor to end", || !runs(supervisor.trim()) && is_free(&run));
    let (snapshot, head) = (world.rev(&wip), world.rev(&format!("refs/skein-local/head/{id}")));
    fs::remove_file(run.join("pid")).unwrap();
    fs::remove_dir_all(world.root().join("repo.skein/fix")).unwrap();
    world.skein(&["stop", "fix"]).ok();
    sweep::clean(&world, 3);
    assert_eq!(world.field("fix", "outcome"), "failed");
    assert_eq!(world.git(["show", &format!("{snapshot}:more.txt")]), "more");
    assert!(world.reachable(&head));
    world.skein(&["land", "fix", "--any-outcome", "--uncommitted"]).ok();
    assert_eq!(world.git(["show", "main:more.txt"]), "more");
    world.check();
}

/// What it said is on the record before it is answered, and its delta is frozen before its outcome is told.
#[test]
fn what_a_worker_said_outlives_its_supervisor() {
    let done = "echo 1 > n; git add n; git commit -qm n; git skein worker done --outcome complete \
                --summary 'The file n is new' --evidence 'cat n: 1'";
    let ask = "git skein worker wait --question 'Which one?'";
    for (point, agent, claimed, deltas) in [
        ("desk: claim recorded", done, true, 0),
        ("supervise: last snapshot", done, true, 0),
        ("supervise: delta frozen", done, true, 1),
        ("desk: question recorded", ask, false, 0),
    ] {
        let world = scenes::still();
        let mark = world.root().join("mark");
        let mut command = world.command(&["dispatch", "--name", "fix", "fix it", "--", "sh", "-c", agent]);
        command.env("SKEIN_SUPERVISOR_FAULT", format!("{point}:1:kill")).env("SKEIN_FAULT_MARK", &mark);
        ran(command.output().unwrap()).ok();
        world.skein(&["wait", "--timeout", "60s", "fix"]);
        assert!(mark.exists(), "{point}: it did not strike");
        sweep::clean(&world, 1);
        world.skein(&["stop", "fix"]).ok();
        let card = world.skein(&["show", "fix", "--json"]).ok().json()["result"].clone();
        assert_eq!(card["outcome"], "failed", "{point}: {card}");
        assert!(card["flags"].to_string().contains("supervisor-lost"), "{point}: {card}");
        assert_eq!(card["claim"]["summary"] == "The file n is new", claimed, "{point}: {card}");
        assert_eq!(card["deltas"], deltas, "{point}: {card}");
        if claimed {
            world.skein(&["land", "fix", "--any-outcome"]).ok();
            assert_eq!(world.field("fix", "deltas"), 1, "{point}: it is the same work");
            assert_eq!(world.git(["show", "main:n"]), "1");
        } else {
            let record = world.git(["show", &format!("refs/skein/worker/{}:record.json", world.ulid("fix"))]);
            assert!(record.contains("Which one?"), "{point}: {record}");
        }
        world.check();
    }
}

/// Where an undisturbed supervisor can be struck.
fn crossed(prepared: &World, jail: &str) -> Crossed {
    let world = prepared.copy();
    let (dispatched, mark) = dispatch(&world, sweep::COUNT, 1, jail);
    dispatched.ok();
    assert_eq!(world.field("fix", "outcome"), "ready");
    Crossed::read(&mark.unwrap())
}

fn case(prepared: &World, plan: Plan, k: u64, jail: &str) -> bool {
    let world = prepared.copy();
    let (dispatched, mark) = dispatch(&world, plan, k, jail);
    let Some(mark) = mark else {
        assert_eq!(dispatched.code, 0, "{dispatched:?}");
        assert_eq!(world.field("fix", "outcome"), "ready");
        return false;
    };
    let at = format!("at {mark:?}");
    let common = world.common();
    let log = |id: &str| {
        fs::read_to_string(common.join(format!("skein/run/{id}/supervisor.log"))).unwrap_or_default()
    };
    for run in fs::read_dir(common.join("skein/run")).unwrap().flatten() {
        let words = log(&run.file_name().to_string_lossy());
        assert!(!words.contains("panicked"), "{at}: {words}");
    }
    let agent = fs::read_to_string(world.root().join("agent")).unwrap_or_default();
    until("the agent to end", || agent.trim().is_empty() || !runs(agent.trim()));
    // In a jail its number is another one, and it ends with the jail.
    let private = world.path(".git/skein/private").display().to_string();
    until("the jail to end", || jail == "none" || is_over(&private));
    let runs = || fs::read_dir(common.join("skein/run")).unwrap().flatten();
    until("all that held a lock to end", || runs().all(|run| is_free(&run.path())));
    let left = Left::look(&world);
    let before = world.skein(&["status", "--json"]).ok().json();
    assert_ne!(before["result"]["workers"][0]["liveness"], "live", "{at}");

    sweep::clean(&world, k);
    let next = world.skein(NEXT[k as usize % NEXT.len()]);
    assert!(!next.err.contains("panicked"), "{at}: {}", next.err);
    sweep::clean(&world, k + 1);
    closed(&world, &dispatched, &left, plan, &at);
    world.check();
    true
}

fn dispatch(world: &World, plan: Plan, k: u64, jail: &str) -> (Ran, Option<String>) {
    let mark = world.root().join("mark");
    let args = ["dispatch", "--jail", jail, "--name", "fix", "fix it", "--", "sh", "-c", AGENT];
    let mut command = world.command(&args);
    let lasting = if plan.lasting { "+" } else { "" };
    command.env("SKEIN_SUPERVISOR_FAULT", format!("{}:{k}{lasting}:{}", plan.site, plan.action));
    command.env("SKEIN_FAULT_MARK", &mark).env("OUT", world.root());
    let dispatched = ran(command.output().unwrap());
    let waited = world.skein(&["wait", "--timeout", "60s", "fix"]);
    assert!(!waited.err.contains("timed-out"), "it neither ends nor is it known to be gone: {waited:?}");
    (dispatched, fs::read_to_string(mark).ok())
}

/// What there was when the supervisor had died.
struct Left {
    refs: Vec<Oid>,
    head: Option<String>,
    /// Files of the worktree with their content.
    files: Vec<(String, String)>,
}

impl Left {
    fn look(world: &World) -> Left {
        let repo = Repository::open(&world.repo).unwrap();
        let refs = state::refs(&repo);
        let refs = refs.into_iter().filter(|(name, _)| name.starts_with("refs/skein"));
        let tree = world.root().join("repo.skein/fix");
        let stands = tree.join(".git").exists();
        let head = || world.git(["-C", tree.to_str().unwrap(), "rev-parse", "HEAD"]);
        let private = fs::read_dir(world.path(".git/skein/private")).into_iter().flatten().flatten();
        let private = private.filter_map(|e| fs::read_to_string(e.path().join("worktrees/fix/HEAD")).ok());
        let private = private.map(|head| head.trim().to_owned()).next();
        let read = |name: &str| Some((name.to_owned(), fs::read_to_string(tree.join(name)).ok()?));
        let files = ["a.txt", "more.txt", "last.txt"].into_iter().filter_map(read).collect();
        Left { refs: refs.map(|(_, oid)| oid).collect(), head: private.or_else(|| stands.then(head)), files }
    }
}

/// The worker is over, and all that it left can be reached; or it never ran, and is gone.
fn closed(world: &World, dispatched: &Ran, left: &Left, plan: Plan, at: &str) {
    let status = world.skein(&["status", "--json"]).ok().json();
    let Some(row) = status["result"]["workers"].as_array().unwrap().first().cloned() else {
        assert_ne!(dispatched.code, 0, "{at}: the worker was told, and is gone");
        assert!(world.below("repo.skein").is_empty(), "{at}");
        assert_eq!(world.git(["for-each-ref", "refs/skein-local"]), "", "{at}");
        return;
    };
    let outcome = row["outcome"].as_str().unwrap();
    let lost = outcome == "failed" && row["flags"].to_string().contains("supervisor-lost");
    // An error may also be got over, or may have kept the agent from being started.
    let fine = lost || outcome == "ready" || (plan.action != "kill" && outcome == "failed");
    assert!(fine, "{at}: {row}");
    let repo = Repository::open(&world.repo).unwrap();
    let tips: Vec<Oid> = state::refs(&repo).into_values().collect();
    let head = left.head.as_ref().map(|head| Oid::from_str(head).unwrap());
    for oid in left.refs.iter().chain(&head) {
        let held = tips.iter().any(|tip| tip == oid || repo.graph_descendant_of(*tip, *oid).unwrap());
        assert!(held, "{at}: {oid} is lost");
    }
    let snapshot = row["snapshot"].as_str().or(row["head"].as_str()).unwrap();
    let tree = repo.find_commit(Oid::from_str(snapshot).unwrap()).unwrap().tree().unwrap();
    for (name, text) in &left.files {
        let entry = tree.get_path(Path::new(name)).unwrap_or_else(|_| panic!("{at}: {name} is lost"));
        assert_eq!(repo.find_blob(entry.id()).unwrap().content(), text.as_bytes(), "{at}: {name}");
    }
    if row["commits"] != 0 {
        world.skein(&["land", "fix", "--any-outcome"]).ok();
        world.skein(&["landed", "fix"]).ok();
    }
}
