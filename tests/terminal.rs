//! Whatever a worker wrote, it steers no terminal and forges no line: each verb that prints for people, after workers
//! that put control characters into everything that they can say.

use crate::agents::agent;
use crate::support::Ran;
use crate::support::World;
use serde_json::Value;
use std::fs;

/// ESC, CSI, OSC, BEL, a carriage return, a C1 control, what turns the direction of text, and a line of its own.
const EVIL: &str =
    "E\u{1b}[2J\u{1b}]0;t\u{7}\r\u{9b}31m\u{202e}\u{2066}\u{200f}\u{2028}\nforged: all of it\nT";

/// The same for a shell, in `$E`.
const SET: &str = "E=$(printf 'E\\033[2J\\033]0;t\\007\\r\\302\\23331m\\342\\200\\256\\342\\201\\246\\342\\200\\217\\342\\200\\250\\nforged: all of it\\nT'); ";

/// The same in quotes, for YAML, TOML and JSON.
fn quoted() -> String {
    let one = |c: char| match c {
        ' '..='~' => c.to_string(),
        _ => format!("\\u{:04x}", u32::from(c)),
    };
    format!("\"{}\"", EVIL.chars().map(one).collect::<String>())
}

/// Verbs that show a text of many lines as it stands; what steers is made visible there too, but a line is a line.
const WHOLE: &[&str] = &["--log", "--brief", "--diff"];

fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

/// What it printed is safe, and says something of it unless `silent`.
fn looked(world: &World, args: &[&str]) -> Ran {
    let ran = world.skein(args);
    for text in [&ran.out, &ran.err] {
        assert!(!text.chars().any(steers), "{args:?}: {text:?}");
        let whole = args.iter().any(|arg| WHOLE.contains(arg))
            || args.first() == Some(&"artifacts") && args.len() > 2;
        assert!(whole || !text.lines().any(|line| line.starts_with("forged")), "{args:?}: {text}");
    }
    assert!(ran.code < 126, "{args:?}: {ran:?}");
    ran
}

/// An agent whose events are as bad as its words.
fn world() -> World {
    let text = quoted();
    let lines = [
        format!(r#"{{"type":"session","version":3,"id":{text}}}"#),
        r#"{"type":"turn_start"}"#.to_owned(),
        format!(
            r#"{{"type":"tool_execution_start","toolCallId":"1","toolName":{text},"args":{{"command":{text}}}}}"#
        ),
        format!(
            r#"{{"type":"turn_end","message":{{"role":"assistant","content":[{{"type":"text","text":{text}}}],"stopReason":"stop"}}}}"#
        ),
    ];
    let events: String = lines.iter().map(|line| format!("printf '%s\\n' '{line}'\n")).collect();
    let end = r#"printf '%s\n' '{"type":"agent_end","messages":[]}'"#;
    let world = World::new();
    agent(
        world,
        "pi",
        &format!("{SET}\n{events}echo pi >p; git add p; git commit -qm \"$E\"; printf '%s' \"$E\"\n{end}"),
    )
}

fn dispatch(world: &World, name: &str, options: &[&str], script: &str) {
    let given = ["dispatch", "--wait", "--name", name];
    let script = format!("{SET}{script}");
    let ran = world.skein(&[&given[..], options, &[EVIL, "--", "sh", "-c", &script]].concat());
    assert!(ran.code < 126 && !ran.err.chars().any(steers) && !ran.out.chars().any(steers), "{ran:?}");
}

/// Kinds and a policy with such words in them.
fn bad_files(world: &World) {
    let kinds = world.root().join("home/config/git-skein/kinds");
    fs::create_dir_all(&kinds).unwrap();
    let text = quoted();
    fs::write(kinds.join("odd.md"), format!("---\ndescription: {text}\nchecks: [{text}]\n---\n{EVIL}\n"))
        .unwrap();
    world.kind("evil", &format!("---\ndescription: {text}\nagent: [sh, -c, {text}]\n---\n{EVIL}\n"));
    world.write(".skein/policy.toml", &format!("{text} = 1\nchecks = [{text}]\n"));
    world.commit("policy");
}

/// Workers that say it in each way that there is.
fn bad_workers(world: &World) {
    let say = "git skein worker todo \"$E\"; git skein worker progress \"$E\"; git skein worker note \"$E\"; printf '%s' \"$E\";";
    dispatch(
        world,
        "asks",
        &[],
        &format!("{say} git skein worker wait --question \"$E\" --option \"$E\" --option b"),
    );
    let plan = "git skein worker plan --goal \"$E\" --step \"$E -- n\" --verify \"$E\" --risk \"$E\"";
    dispatch(world, "plans", &["--kind", "architect"], plan);
    dispatch(world, "fails", &[], "git skein worker fail --reason \"$E\"");
    dispatch(world, "dies", &[], "printf '%s' \"$E\"; echo x >\"$E\"; exit 3");
    dispatch(world, "silent", &["--silence", "1s"], "printf '%s' \"$E\"; sleep 60");
    let done = "git skein worker done --outcome complete --summary \"$E\" --evidence \"$E\"";
    dispatch(
        world,
        "done",
        &["--check", "true"],
        &format!("echo \"$E\" >n; git add n; git commit -qm \"$E\"; {done}"),
    );
    for name in ["one", "two"] {
        dispatch(world, name, &[], &format!("echo {name} >\"$E\"; git add .; git commit -qm \"$E\""));
    }
    world.skein(&["dispatch", "--wait", "--agent", "pi", "--name", "pi", EVIL]).ok();
}

#[test]
fn nothing_that_a_worker_wrote_steers_a_terminal() {
    let world = world();
    bad_files(&world);
    bad_workers(&world);
    let workers = ["asks", "plans", "fails", "dies", "silent", "done", "one", "two", "pi"];
    for name in workers {
        for args in [
            &["show", name][..],
            &["show", name, "--log"],
            &["show", name, "--brief"],
            &["show", name, "--diff"],
            &["show", name, "--events"],
            &["verdict", name],
            &["plan", name],
            &["artifacts", name],
            &["check", name, "--check", "printf 'E\\033[2J\\nforged: x'; false"],
            &["import", name],
            &["land", name, "--dry-run"],
            &["land", name],
            &["landed", name],
        ] {
            looked(&world, args);
        }
        let left = world.skein(&["artifacts", name, "--json"]).ok().json();
        for one in left["result"]["artifacts"].as_array().unwrap() {
            looked(&world, &["artifacts", name, one["id"].as_str().unwrap()]);
        }
    }
    // It was there to be shown.
    let seen = |args: &[&str]| looked(&world, args).out;
    assert!(seen(&["show", "asks"]).contains("E\\u{1b}[2J"), "{}", seen(&["show", "asks"]));
    assert!(seen(&["plan", "plans"]).contains("E\\u{1b}[2J"));
    assert!(seen(&["overlap"]).contains("\\u{202e}"), "{}", seen(&["overlap"]));
    assert!(seen(&["inbox"]).contains("\\u{9b}31m"));
    assert!(seen(&["search", "E"]).contains("\\u{2066}"));
    assert!(seen(&["kinds"]).contains("\\u{1b}[2J"), "{}", seen(&["kinds"]));
    assert!(seen(&["trust"]).contains("\\u{1b}[2J"), "{}", seen(&["trust"]));
    for args in [
        &["status"][..],
        &["overlap", "--gate", "printf 'E\\033[2J\\nforged: x'; false"],
        &["tell", "asks", EVIL],
        &["verdict", "fails", "reject", "-m", EVIL],
        &["plan", "plans", "reject", "-m", EVIL],
        &["trust", "--yes"],
        &["check", "done"],
        &["land", "done"],
        &["land", "--all"],
        &["log"],
        &["log", "decisions"],
        &["debt"],
        &["search", "forged"],
        &["fsck"],
        &["doctor"],
        &["reap", "--all"],
        &["reap", "--yes", "--include-unlanded", "pi", "dies"],
        &["show", "pi"],
        &["search", "forged"],
        &["dispatch", "--kind", "odd", "--check", EVIL, EVIL, "--", "true"],
    ] {
        looked(&world, args);
    }
    // The lines of a machine are one each, whatever stands in them.
    let events = world.skein(&["events", "--json"]);
    assert!(events.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", events.out);
}
