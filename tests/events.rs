//! What is known of a run while it goes on and after it: the events of one worker.

use crate::agents::agent;
use crate::agents::recorded;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use serde_json::Value;
use std::fs;

impl World {
    fn told(&self, worker: &str) -> String {
        self.skein(&["show", "--events", worker]).ok().out
    }

    /// The events in the record of a worker, as git has them.
    fn recorded_events(&self, worker: &str) -> Vec<Value> {
        let name = format!("refs/skein/worker/{}:events.jsonl", self.ulid(worker));
        let text = self.git(["cat-file", "blob", &name]);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn all_agents_have_the_same_events() {
    for name in ["claude", "codex", "pi", "opencode", "gemini"] {
        let script = format!("echo 1 > n; git add n; git commit -qm n; {}", recorded(name));
        let world = agent(World::new(), name, &script);
        world.skein(&["dispatch", "--wait", "--agent", name, "--name", "w", "Greet the world"]).ok();
        let events = world.recorded_events("w");
        let kinds: Vec<&str> = events.iter().map(|e| e["kind"].as_str().unwrap()).collect();
        for kind in ["turn", "tool", "text", "usage", "done"] {
            assert!(kinds.contains(&kind), "{name}: no {kind} in {kinds:?}");
        }
        let tool = events.iter().find(|e| e["kind"] == "tool").unwrap();
        assert!(tool["text"].as_str().unwrap().contains("greeting.txt"), "{tool}");
        // A card says how long ago the worker was born: it is looked at twice at the same moment.
        let show =
            || ran(world.command(&["show", "w"]).env("SKEIN_CLOCK", "4102444800000").output().unwrap()).ok();
        let card = show().out;
        // The folder of the run is disposable: the record says the same.
        fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
        assert_eq!(show().out, card, "{name}");
        assert!(world.told("w").contains("text: The greeting is for the world now.\n"), "{name}");
        world.check();
    }
}

#[test]
fn events_are_read_while_a_worker_runs_and_nothing_in_them_reaches_the_terminal() {
    let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Look: \u001b[2J sk-abcdefghijklmnopqrstuvwx"}}"#;
    let script =
        format!("echo '{said}'; printf '\\000\\r\\n{{\"type\":\\n'; until [ -e go ]; do sleep 0.02; done");
    let world = agent(World::new(), "codex", &script);
    world.skein(&["dispatch", "--agent", "codex", "--name", "w", "Look"]).ok();
    until("the event is there", || world.told("w").contains("text: Look: "));
    let told = world.told("w");
    assert!(told.contains("***") && !told.contains("sk-abc") && !told.contains("\x1b[2J"), "{told}");
    let none =
        world.try_git(["cat-file", "-e", &format!("refs/skein/worker/{}:events.jsonl", world.ulid("w"))]);
    assert!(!none.status.success(), "the record gets them at the end");
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]);
    assert_eq!(world.recorded_events("w")[0]["text"], "Look: \u{1b}[2J ***");
}

#[test]
fn a_flood_of_events_is_capped_and_its_cost_is_known() {
    let event = format!(
        r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{}"}}}}"#,
        "x".repeat(3000)
    );
    let usage = r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}"#;
    // The event that ends its work comes with each turn here, so another line has to end it.
    let script = format!(
        "i=0; while [ $i -lt 2000 ]; do echo '{event}'; echo '{usage}'; i=$((i+1)); done
        echo 1 > n; git add n; git commit -qm n; echo over"
    );
    let world = agent(World::new(), "codex", &script);
    let call = ["--done-pattern", "^over$", "--name", "w", "Flood", "--", "codex"];
    world.skein(&[&["dispatch", "--wait"], &call[..]].concat()).ok();
    let kept = fs::metadata(world.path(".git/skein/run").join(world.ulid("w")).join("events.jsonl")).unwrap();
    assert!(kept.len() <= 4 << 20, "{}", kept.len());
    let said = world.field("w", "said");
    assert_eq!((&said["tokens_in"], &said["tokens_out"]), (&10_000.into(), &2000.into()), "{said}");
    let blob = world.git(["cat-file", "-s", &format!("refs/skein/worker/{}:events.jsonl", world.ulid("w"))]);
    assert!(blob.parse::<usize>().unwrap() <= (1 << 20) + 300, "{blob}");
    fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
    assert_eq!(world.field("w", "said")["tokens_in"], said["tokens_in"]);
    assert!(world.told("w").contains(" left-out: "));
}

/// A stream that is followed, and what it has said so far.
struct Follower {
    child: std::process::Child,
    out: std::path::PathBuf,
}

impl Follower {
    fn start(world: &World, args: &[&str]) -> Follower {
        let out = world.root().join(format!("stream-{}", args.len()));
        let mut command = world.command(&[&["events", "--follow"], args].concat());
        command.stdout(fs::File::create(&out).unwrap());
        Follower { child: command.spawn().unwrap(), out }
    }

    fn lines(&self) -> Vec<Value> {
        lines(&fs::read_to_string(&self.out).unwrap())
    }

    fn has(&self, kind: &str, handle: &str) -> bool {
        self.lines().iter().any(|line| line["kind"] == kind && line["handle"] == handle)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn kinds(lines: &[Value], handle: &str) -> Vec<String> {
    let of_it = lines.iter().filter(|line| line["handle"] == handle);
    of_it.map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

fn cursor(lines: &[Value]) -> String {
    let last = lines.last().unwrap();
    assert_eq!(last["kind"], "cursor", "{last}");
    last["cursor"].as_str().unwrap().to_owned()
}

/// The documented keys of each kind.
fn documented() -> std::collections::BTreeMap<String, Vec<String>> {
    let doc = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md")).unwrap();
    let table =
        doc.split("| kind | happened |").nth(1).unwrap().lines().skip(2).take_while(|l| l.starts_with('|'));
    let words =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut found = std::collections::BTreeMap::new();
    for row in table {
        let cells: Vec<&str> = row.split('|').collect();
        words(cells[1]).into_iter().for_each(|kind| drop(found.insert(kind, words(cells[3]))));
    }
    found
}

#[test]
fn a_stream_tells_the_life_of_workers_and_goes_on_from_its_cursor() {
    let world = agent(
        World::new(),
        "codex",
        &format!("echo 1 > n; git add n; git commit -qm n; {}", recorded("codex")),
    );
    let follower = Follower::start(&world, &[]);
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "one", "Greet"]).ok();
    until("the end of one is told", || follower.has("outcome", "one"));
    let script = "echo 2 >m; git add m; git commit -qm m; git skein worker note 'half way'
        git skein worker wait --question 'Go on?' --option yes";
    world.skein(&["dispatch", "--wait", "--name", "two", "two", "--", "sh", "-c", script]).code(3);
    until("the question of two is told", || follower.has("outcome", "two"));
    let halfway = lines(&world.skein(&["events"]).ok().out);
    world.skein(&["land", "one", "--gate", "test -f n"]).ok();
    world.skein(&["tell", "two", "yes"]).ok();
    world.skein(&["reap", "one", "--yes"]).ok();
    until("the end of it is told", || follower.has("reaped", "one") && follower.has("message", "two"));
    let all = follower.lines();

    let one = kinds(&all, "one");
    assert_eq!((one[0].as_str(), one.last().unwrap().as_str()), ("born", "reaped"), "{one:?}");
    for kind in ["turn", "tool", "text", "usage", "done", "outcome", "landed"] {
        assert!(one.iter().any(|k| k == kind), "no {kind} in {one:?}");
    }
    let place = |kind: &str| one.iter().position(|k| k == kind).unwrap();
    assert!(place("done") < place("outcome") && place("outcome") < place("landed"), "{one:?}");
    let two = kinds(&all, "two");
    for kind in ["born", "note", "question", "outcome", "message"] {
        assert_eq!(two.iter().filter(|k| *k == kind).count(), 1, "{kind} in {two:?}");
    }
    assert!(all.iter().any(|line| line["kind"] == "gate" && line["exit"] == 0), "{all:?}");
    let mut ids: Vec<&str> = all.iter().filter_map(|line| line["id"].as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "each is told once");

    let rest = lines(&world.skein(&["events", "--since", &cursor(&halfway)]).ok().out);
    let told = |lines: &[Value]| -> std::collections::BTreeSet<String> {
        lines.iter().filter_map(|line| Some(line["id"].as_str()?.to_owned())).collect()
    };
    let (before, after) = (told(&halfway), told(&rest));
    assert!(before.is_disjoint(&after), "nothing is told twice");
    assert_eq!(before.union(&after).cloned().collect::<std::collections::BTreeSet<_>>(), told(&all));
    assert!(told(&lines(&world.skein(&["events", "--since", "now"]).ok().out)).is_empty());
    let only = lines(&world.skein(&["events", "two"]).ok().out);
    assert!(only.iter().all(|line| line["kind"] == "cursor" || line["handle"] == "two"), "{only:?}");

    let documented = documented();
    for line in &all {
        let kind = line["kind"].as_str().unwrap();
        let known = documented.get(kind).unwrap_or_else(|| panic!("{kind} is not documented"));
        for key in line.as_object().unwrap().keys() {
            let always = ["v", "id", "at", "kind", "worker", "handle"].contains(&key.as_str());
            assert!(always || known.contains(key), "{key} of {kind} is not documented");
        }
    }
    world.skein(&["events", "--since", "1,w:x"]).code(129);
    world.skein(&["events", "nobody"]).refused("no-such-worker", 1);
}

#[test]
fn a_reader_that_stops_reading_holds_up_nobody_and_one_that_leaves_ends_the_stream() {
    let world = World::new();
    let mut command = world.command(&["events", "--follow"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    // More than a pipe holds, and nobody reads it.
    let note = "x".repeat(4000);
    let script = format!(
        "i=0; while [ $i -lt 60 ]; do git skein worker note {note}; i=$((i+1)); done
        echo 1 >n; git add n; git commit -qm n"
    );
    world.worker("w", &script);
    assert_eq!(world.field("w", "outcome"), "ready");
    assert!(child.try_wait().unwrap().is_none(), "it waits for its reader");
    drop(child.stdout.take());
    until("the stream ends", || child.try_wait().unwrap().is_some());
    assert!(child.wait().unwrap().success());
}

/// Lines that a supervisor is just writing, and what a crash left of one.
#[test]
fn a_line_is_complete_or_absent() {
    let world = World::new();
    world.worker("w", "git skein worker note one; echo 1 >n; git add n; git commit -qm n");
    let file = world.path(".git/skein/run").join(world.ulid("w")).join("events.jsonl");
    let before = lines(&world.skein(&["events"]).ok().out);
    let half = r#"{"at":1767225600,"kind":"note","text":"tw"#;
    fs::write(&file, fs::read_to_string(&file).unwrap() + half).unwrap();
    let with_half = lines(&world.skein(&["events"]).ok().out);
    assert_eq!(before, with_half);
    fs::write(&file, fs::read_to_string(&file).unwrap() + "o\"}\n").unwrap();
    let rest = lines(&world.skein(&["events", "--since", &cursor(&with_half)]).ok().out);
    assert_eq!((rest.len(), &rest[0]["text"]), (2, &"two".into()), "{rest:?}");
}

/// A worker is in the archive a moment before it stops being an open one.
#[test]
fn a_worker_that_is_just_being_closed_is_told_once_it_is() {
    let world = World::new();
    world.worker("w", "echo 1 >n; git add n; git commit -qm n");
    world.skein(&["land", "w"]).ok();
    let before = lines(&world.skein(&["events"]).ok().out);
    let mut command = world.command(&["reap", "w", "--yes"]);
    assert!(!command.env("SKEIN_FAULT", "reap: kept and archived:1:kill").output().unwrap().status.success());
    let between = lines(&world.skein(&["events", "--since", &cursor(&before)]).ok().out);
    assert!(!kinds(&between, "w").contains(&"reaped".to_owned()), "{between:?}");
    world.skein(&["reap", "w", "--yes"]).ok();
    let after = lines(&world.skein(&["events", "--since", &cursor(&between)]).ok().out);
    assert_eq!(kinds(&after, "w"), ["reaped"]);
    let end = lines(&world.skein(&["events", "--since", &cursor(&after)]).ok().out);
    assert_eq!(end.len(), 1, "{end:?}");
}
