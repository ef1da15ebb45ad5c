//! What a pipeline is told: groups, annotations, the summary, test results, events; and that no text of a worker, and
//! no secret, gets where it should not.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const SECRET: &str = "hunter2-is-no-password";

/// A world with a worker that is ready and changes `a.txt`, on GitHub's runner from now on.
fn runner() -> World {
    let world = World::new();
    world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
    let summary = world.root().join("summary.md").display().to_string();
    world
        .env("CI", "true")
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .env("GITHUB_ENV", "/nowhere/env")
        .env("DEPLOY_TOKEN", SECRET)
}

fn summary(world: &World) -> String {
    std::fs::read_to_string(world.root().join("summary.md")).unwrap_or_default()
}

/// The lines that the runner would act on: outside of what it was told not to listen to.
fn commands(text: &str) -> Vec<String> {
    let (mut found, mut deaf): (Vec<String>, Option<String>) = (Vec::new(), None);
    for line in text.lines().map(str::trim) {
        match &deaf {
            Some(word) if line == format!("::{word}::") => deaf = None,
            Some(_) => {}
            None if line.starts_with("::stop-commands::") => {
                deaf = line.strip_prefix("::stop-commands::").map(str::to_owned);
            }
            None if line.starts_with("::") || line.contains("##[") => found.push(line.to_owned()),
            None => {}
        }
    }
    assert!(deaf.is_none(), "it never listens again: {text}");
    found
}

const EVIL: &str = "echo '::error::evil'; echo '  ::add-mask::x'; echo '##[error]evil'; echo '::stop-commands::x'; \
                    printf 'a.txt:3:2: bad, 100%% of \\033[31mred\\r\\n'; echo \"key $DEPLOY_TOKEN\"; exit 1";

fn failing(world: &World) -> Ran {
    world.skein(&["land", "w", "--gate", EVIL, "--junit", "results.xml"]).code(5)
}

#[test]
fn a_gate_that_fails_is_a_group_and_an_annotation() {
    let world = runner();
    let failed = failing(&world);
    assert_eq!(failed.out, "");
    let told = commands(&failed.err);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].starts_with("::group::gate: echo '::error::evil'") && told[1] == "::endgroup::",
        "{told:?}"
    );
    assert!(told[2].starts_with("::error file=a.txt,line=3,col=2,title=gate echo '%3A%3Aerror"), "{told:?}");
    assert!(told[2].ends_with("::bad, 100%25 of \\u{1b}[31mred"), "{told:?}");
    // Nothing of the result is in it, and nothing of it in the result.
    let json = world.skein(&["land", "w", "--gate", "exit 1", "--json"]).code(5);
    assert_eq!(json.json()["error"]["token"], "gate-failed");
    assert_eq!(commands(&json.out), Vec::<String>::new());
    let quiet = world.skein(&["land", "w", "-q", "--gate", "exit 2"]).code(5);
    let told = commands(&quiet.err);
    assert!(told.len() == 1 && told[0].starts_with("::error title=gate exit 2%3A failed::"), "{quiet:?}");
}

#[test]
fn no_secret_of_the_environment_is_told() {
    let world = runner();
    let failed = failing(&world);
    let (_, after) = failed.err.split_once("::group::").unwrap();
    let (group, rest) = after.split_once("::endgroup::").unwrap();
    assert!(group.contains("key ***") && !group.contains(SECRET), "{group}");
    let annotations: String = commands(rest).concat();
    let xml = world.read("results.xml");
    for text in [&annotations, &xml, &summary(&world)] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(xml.contains("key ***") && summary(&world).contains("key ***"), "{xml}");
}

#[test]
fn the_summary_is_a_table_in_which_nothing_is_markdown() {
    let world = runner();
    failing(&world);
    world.skein(&["land", "w", "--gate", "test -f w.txt | cat # `<b>`"]).ok();
    let text = summary(&world);
    assert_eq!(text.matches("### git skein land\n").count(), 2, "{text}");
    assert!(text.contains("| gate | test -f w.txt \\| cat \\# \\`&lt;b\\>\\` | passed |"), "{text}");
    assert!(text.contains("| landing | w | passed: landed on main as "), "{text}");
    assert!(text.contains("<details><summary>gate echo '::error::evil'"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    // One that cannot be written is told, and spoils nothing.
    let world = world.env("GITHUB_STEP_SUMMARY", "/proc/nobody/summary");
    let done = world.skein(&["landed", "w"]).ok();
    assert!(done.err.is_empty() || done.err.contains("fault:"), "{done:?}");
    assert!(world.skein(&["land", "w"]).ok().err.contains("/proc/nobody/summary"));
}

#[test]
fn what_an_agent_prints_is_no_command() {
    let world = runner();
    let agent = "echo '::error::evil'; echo ' ::set-env name=PATH::x'; env | grep ^GITHUB_; exit 3";
    let done =
        world.skein(&["dispatch", "--wait", "--name", "f", "::error::t", "--", "sh", "-c", agent]).code(1);
    let told = commands(&done.err);
    assert!(told[0].starts_with("::group::worker: f (failed"), "{done:?}");
    assert_eq!((told.len(), &told[1][..]), (3, "::endgroup::"), "{done:?}");
    assert!(told[2].starts_with("::error title=worker f%3A failed::failed: exit code 3%0A"), "{told:?}");
    // The files by which a step steers the next ones are not the agent's.
    assert!(done.err.contains("  GITHUB_ACTIONS=true\n") && !done.err.contains("/nowhere/env"), "{done:?}");
    assert!(!done.err.contains("GITHUB_STEP_SUMMARY="), "{done:?}");
    // A refusal quotes names of others.
    let refused = world.skein(&["show", "::error::x"]).refused("no-such-worker", 1);
    assert!(
        commands(&refused.err).iter().all(|c| c.starts_with("::error title=verb show%3A no-such-worker::"))
    );
}

/// Whichever page it is on.
#[test]
fn what_a_gate_prints_is_no_command_on_any_page() {
    let world = runner();
    let evil = "echo ' ::error::evil'; echo '##[error]evil'; exit 1";
    let own = |text: &str| {
        commands(text)
            .iter()
            .all(|c| c.starts_with("::group::") || c == "::endgroup::" || c.starts_with("::error title="))
    };
    let ran = world.skein(&["check", "w", "--check", evil]).code(5);
    assert!(ran.out.contains("evil") && commands(&ran.out).is_empty() && own(&ran.err), "{ran:?}");
    for words in [&["land", "--all"][..], &["land", "w", "main"], &["overlap"], &["verdict", "w"], &["inbox"]]
    {
        let gate: &[&str] = if words[0] == "land" { &["--gate", evil] } else { &[] };
        let ran = world.skein(&[words, gate].concat());
        assert!(own(&ran.err) && commands(&ran.out).is_empty(), "{ran:?}");
    }
    // A patch on its way to a file is as it is.
    world.worker("x", "echo '::error::x' > '::x'; git add .; git commit -qm '::x'");
    assert!(world.skein(&["show", "x", "--diff"]).ok().out.contains("\n+::error::x\n"));
}

#[test]
fn a_conflict_is_told_where_it_is() {
    let world = runner();
    for name in ["x", "y"] {
        world.worker(name, &format!("echo {name} > b.txt; git commit -qam {name}"));
    }
    world.skein(&["land", "x"]).ok();
    let told = commands(&world.skein(&["land", "y"]).code(3).err);
    assert!(
        told.len() == 1 && told[0].starts_with("::error file=b.txt,line=1,title=verb land%3A conflict::"),
        "{told:?}"
    );
    let told = commands(&world.skein(&["land", "--all"]).code(3).err);
    assert!(
        told.iter().any(|c| c.starts_with("::error file=b.txt,line=1,title=landing y%3A conflict::")),
        "{told:?}"
    );
}

/// Parses the file as XML and gives each case: class, name, and what is inside.
fn cases(file: PathBuf) -> Vec<Value> {
    const READ: &str = "
import json, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == 'testsuites' and [s.tag for s in root] == ['testsuite']
suite = root[0]
assert int(suite.get('tests')) == len(suite)
for kind in ['failure', 'error']:
    assert int(suite.get(kind + 's')) == sum(len(c.findall(kind)) for c in suite), kind
print(json.dumps([[c.get('classname'), c.get('name'), [[x.tag, x.get('type'), x.text or ''] for x in c]] for c in suite]))
";
    let read = ran(Command::new("python3").args(["-c", READ]).arg(&file).output().unwrap()).ok();
    read.json().as_array().unwrap().clone()
}

#[test]
fn test_results_are_xml_of_what_ran() {
    if !Command::new("python3").arg("-V").output().is_ok_and(|said| said.status.success()) {
        return crate::matrix::not_here("test results", "no python3 reads XML here");
    }
    let world = World::new().env("CI", "true");
    world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
    let at = |name: &str| world.path(name);
    let odd = "printf '\\001\\033[31m]]> <&\"\\n\\357\\277\\276'; exit 1 # <\"'&>";
    world.skein(&["check", "w", "--check", "true", "--check", odd, "--junit", "check.xml"]).code(5);
    let found = cases(at("check.xml"));
    assert_eq!((found.len(), &found[0][0], &found[0][1]), (2, &"gate".into(), &"true".into()), "{found:?}");
    assert_eq!(found[1][1], odd, "{found:?}");
    assert_eq!((&found[1][2][0][0], &found[1][2][0][1]), (&"failure".into(), &"failed".into()));
    assert_eq!(found[1][2][0][2], "\\u{1}\\u{1b}[31m]]> <&\"\n\\u{fffe}", "{found:?}");
    world.skein(&["candidate", "create", "w"]).ok();
    world.skein(&["candidate", "admit", "w", "--gate", "test -f w.txt", "--junit", "admit.xml"]).ok();
    assert_eq!(cases(at("admit.xml"))[0][1], "test -f w.txt");
    world.skein(&["land", "w", "--gate", "test -f w.txt", "--gate", "cat w.txt", "--junit", "land.xml"]).ok();
    let found = cases(at("land.xml"));
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0][2][0][2], "passed before on the same tree");
    assert_eq!((&found[1][2][0][0], &found[1][2][0][2]), (&"system-out".into(), &"w\n".into()));
    assert_eq!((&found[2][0], &found[2][1]), (&"landing".into(), &"w".into()));
    world.skein(&["verify", "main", "--junit", "verify.xml"]).ok();
    assert_eq!(
        cases(at("verify.xml")).len(),
        4,
        "two gates of the landing, the check, and the one that fails"
    );
    // A refusal is in it too, and a file that cannot be written is no silence.
    world.skein(&["land", "nope", "--junit", "no.xml"]).code(1);
    assert_eq!(cases(at("no.xml"))[0][2][0][1], "no-such-worker");
    let done = world.skein(&["land", "w", "--junit", "none/x.xml"]).code(128);
    assert!(done.out.contains("already landed") && done.err.contains("fault:"), "{done:?}");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["kind"].as_str().unwrap()).filter(|kind| *kind != "cursor").collect()
}

#[test]
fn a_verb_at_work_tells_its_events() {
    let world = World::new();
    let agent = "echo w > w.txt; git add w.txt; git commit -qm w";
    let ran =
        world.skein(&["dispatch", "--wait", "--events", "--name", "w", "t", "--", "sh", "-c", agent]).ok();
    let told = lines(&ran.out);
    let (first, last) = (kinds(&told)[0], told.last().unwrap());
    assert_eq!(
        (first, &last["kind"], &last["verb"]),
        ("born", &"result".into(), &"dispatch".into()),
        "{ran:?}"
    );
    assert_eq!((&last["exit"], &last["result"]["workers"][0]["handle"]), (&0.into(), &"w".into()));
    assert!(kinds(&told).contains(&"outcome") && kinds(&told).contains(&"frozen"), "{ran:?}");
    world.skein(&["dispatch", "--name", "slow", "t", "--", "sh", "-c", "sleep 1; exit 1"]).ok();
    let told = lines(&world.skein(&["wait", "slow", "--events"]).code(1).out);
    assert!(kinds(&told).contains(&"outcome"), "{told:?}");
    assert!(told.iter().all(|line| line.get("handle").is_none_or(|handle| handle == "slow")), "{told:?}");
    assert_eq!(told.last().unwrap()["exit"], 1);
    let told = lines(&world.skein(&["land", "w", "--gate", "true", "--events"]).ok().out);
    assert_eq!(kinds(&told), ["gate", "landed", "result"], "{told:?}");
    assert!(told.iter().all(|line| line["v"] == 1), "{told:?}");
    // What went wrong is a line too.
    let told = lines(&world.skein(&["land", "nope", "--events"]).code(1).out);
    assert_eq!((&told[0]["kind"], &told[0]["error"]["token"]), (&"result".into(), &"no-such-worker".into()));
    world.skein(&["land", "w", "--events", "--json"]).code(129);
    world.skein(&["dispatch", "--events", "t", "--", "true"]).code(129);
}

/// `CI` alone says nothing of who reads.
#[test]
fn a_pipeline_of_unknown_kind_is_told_no_commands() {
    let world = World::new().env("CI", "true").env("GITHUB_STEP_SUMMARY", "/nowhere/summary");
    world.worker("w", "echo '::error::x'; echo w > w.txt; git add w.txt; git commit -qm w");
    let failed = world.skein(&["land", "w", "--gate", "echo a.txt:1: x; exit 1"]).code(5);
    assert_eq!(commands(&failed.err), Vec::<String>::new());
    let landed = world.skein(&["land", "w"]).ok();
    assert!(!landed.err.contains("summary") && !landed.out.contains('\x1b'), "{landed:?}");
}
