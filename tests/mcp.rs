//! The verbs of a worker as tools of the Model Context Protocol: real exchanges with the built binary, by agents that
//! say nothing in any other way.

use crate::protocol::levels;
use crate::support::World;
use serde_json::Value;
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Functions of a shell for an agent that speaks to `git skein mcp`. Each answer is printed.
const CLIENT: &str = r#"
d=$(mktemp -d); mkfifo $d/in $d/out
git skein mcp <$d/in >$d/out & exec 3>$d/in 4<$d/out
ask() { printf '%s\n' "$1" >&3; IFS= read -r reply <&4; printf '%s\n' "$reply"; }
tool() { ask '{"jsonrpc":"2.0","id":"'"$1"'","method":"tools/call","params":{"name":"'"${1%%[0-9]*}"'","arguments":'"$2"'}}'; }
ask '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
"#;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// The answer to request `id` in what was printed.
#[track_caller]
fn answer(said: &str, id: &str) -> Value {
    let answers = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut answers = answers.filter(|answer| answer["id"] == id);
    answers.next().unwrap_or_else(|| panic!("no answer to {id}: {said}"))
}

/// The result of a tool, which must not be an error.
#[track_caller]
fn fine(said: &str, id: &str) -> Value {
    let answer = answer(said, id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// What a tool refused, and that the agent is told what to do.
#[track_caller]
fn refused(said: &str, id: &str, token: &str) {
    let result = &answer(said, id)["result"];
    let (text, data) = (result["content"][0]["text"].as_str().unwrap(), &result["structuredContent"]);
    assert_eq!((&result["isError"], &data["token"]), (&json!(true), &json!(token)), "{result}");
    let (next, says) = (data["next"].as_str().unwrap(), data["says"].as_str().unwrap());
    assert!(text.starts_with(&format!("refused: {token}: {says}\n")), "{text:?}");
    assert!(!next.is_empty() && text.contains(&format!("next: {next}\n")), "{text:?}");
}

impl World {
    /// A worker that runs `script` after the greeting. Gives what it printed.
    fn talks(&self, level: &str, name: &str, script: &str) -> String {
        let options = ["--wait", "--timeout", "100s", "--jail", level, "--name", name];
        let script = format!("{CLIENT}{script}");
        self.skein(&[&["dispatch"], &options[..], &[name, "--", "sh", "-c", &script]].concat());
        self.skein(&["show", "--log", name]).ok().out
    }

    /// What the server says to these bytes and the end of them, outside of all workers.
    fn serves(&self, bytes: &[u8], outbox: Option<&std::path::Path>) -> String {
        let mut command = self.command(&["mcp"]);
        command.envs(outbox.map(|path| ("SKEIN_OUTBOX", path)));
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        server.stdin.take().unwrap().write_all(bytes).unwrap();
        let ended = server.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0));
        String::from_utf8(ended.stdout).unwrap()
    }
}

#[test]
fn a_worker_that_speaks_by_tools_alone_lands() {
    for (world, level) in levels() {
        let said = world.talks(
            level,
            "w",
            r#"ask '{"jsonrpc":"2.0","id":"list","method":"tools/list"}'
            tool todo1 '{"add":["one","two"]}'; tool todo2 '{"check":[1]}'; tool progress1 '{"text":"writing n"}'
            tool note1 '{"text":"a.txt has nine lines"}'; tool inbox1 '{}'; tool commit1 '{"message":"too early"}'
            tool done1 '{"outcome":"complete","summary":"done","evidence":["ok"]}'
            echo 1 >n; echo 2 >m; tool commit2 '{"message":"n is new","paths":["n"]}'; tool commit3 '{"message":"and m"}'
            tool done2 '{"outcome":"complete","summary":"The files n and m are new","evidence":["cat n: 1"]}'
            tool note2 '{"text":"late"}'"#,
        );
        let hello = answer(&said, "hello")["result"].clone();
        assert_eq!(
            (&hello["protocolVersion"], &hello["serverInfo"]["name"]),
            (&json!("2025-06-18"), &json!("git-skein"))
        );
        assert!(hello["instructions"].as_str().unwrap().contains("nobody else's work"), "{hello}");
        let tools = answer(&said, "list")["result"]["tools"].clone();
        let names: Vec<&str> =
            tools.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            ["todo", "progress", "note", "inbox", "commit", "spawn", "wait", "plan", "done", "fail"]
        );
        let commit = &tools[4]["inputSchema"];
        assert_eq!(commit["required"], json!(["message"]), "{commit}");
        assert_eq!(commit["additionalProperties"], false, "it takes no id of a worker, and no commit");
        assert_eq!(fine(&said, "todo2")["todos"][0], json!({"text": "one", "done": true}));
        assert_eq!(fine(&said, "note1")["says"], "noted");
        assert_eq!(fine(&said, "inbox1")["messages"], json!([]));
        refused(&said, "commit1", "empty");
        refused(&said, "done1", "vague");
        refused(&said, "note2", "turn-ended");
        assert_eq!(fine(&said, "commit3")["commit"], world.field("w", "head"));
        assert!(fine(&said, "done2")["says"].as_str().unwrap().starts_with("taken. End your turn now"));
        assert_eq!(
            (world.field("w", "outcome"), world.field("w", "progress")),
            (json!("ready"), json!("writing n"))
        );
        assert_eq!((world.field("w", "commits"), world.field("w", "deltas")), (json!(2), json!(1)));
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.git(["show", "main:n"]), "1");
        world.check();
    }
}

#[test]
fn a_question_by_tool_is_answered_or_ends_the_turn() {
    for (world, level) in levels() {
        let script = r#"tool wait1 '{"question":"Which?","options":["red"],"stay":true}'; tool fail1 '{"reason":"not red"}'"#;
        let options = ["--timeout", "100s", "--jail", level, "--name", "w"];
        let script = format!("{CLIENT}{script}");
        world.skein(&[&["dispatch"], &options[..], &["w", "--", "sh", "-c", &script]].concat()).ok();
        crate::support::acts::until("a question", || !world.field("w", "asks").is_null());
        world.skein(&["tell", "w", "blue"]).ok();
        world.skein(&["wait", "w"]).code(1);
        let said = world.skein(&["show", "--log", "w"]).ok().out;
        assert_eq!(fine(&said, "wait1")["messages"], json!([{"n": 1, "text": "blue", "to": 1}]));
        assert_eq!(world.field("w", "messages")[0]["state"], "read");
        assert_eq!(world.field("w", "reason"), "it gave up: not red");
        let said = world.talks(level, "x", r#"tool wait1 '{"question":"Which?"}'"#);
        assert_eq!(fine(&said, "wait1")["question"], 1);
        assert_eq!(world.field("x", "outcome"), "needs-input");
    }
}

#[test]
fn a_worker_is_started_by_a_tool_where_that_is_allowed() {
    for (world, level) in levels() {
        let spawn = r#"tool spawn1 '{"task":"x","name":"c","argv":["true"]}'"#;
        refused(&world.talks(level, "w", spawn), "spawn1", "spawn-refused");
        world.git(["config", "skein.spawn", "1"]);
        let said = world.talks(level, "x", &format!(r#"{spawn}; tool wait1 '{{"stay":true}}'"#));
        let started = fine(&said, "spawn1")["spawned"].clone();
        assert_eq!((&started["handle"], &started["base"]), (&json!("c"), &json!(world.rev("main"))));
        let told = fine(&said, "wait1")["messages"][0].clone();
        assert_eq!(told["from"], started["worker"]);
        assert!(told["text"].as_str().unwrap().starts_with("c ("), "{told}");
    }
}

#[test]
fn a_plan_is_laid_out_by_a_tool() {
    let world = World::new();
    let script = r#"tool plan1 '{"goal":"g","steps":[{"text":"x"}],"verification":["y"]}'
        tool plan2 '{"goal":"g","steps":[{"text":"x","paths":["n"],"more":1}],"verification":["y"]}'
        tool plan3 '{"goal":"g","steps":[{"text":"x","paths":["n"]}],"verification":["y"]}'"#;
    let said = world.talks("none", "w", script);
    refused(&said, "plan1", "bad-call");
    refused(&said, "plan2", "bad-call");
    assert!(fine(&said, "plan3")["says"].as_str().unwrap().contains(" waits for a person"));
    assert_eq!(world.field("w", "plan")["steps"], json!([{"text": "x", "paths": ["n"]}]));
}

#[test]
fn frames_of_any_kind_hold_up_nobody() {
    for (world, level) in levels() {
        let said = world.talks(
            level,
            "w",
            r#"printf 'garbage\n\0\0\0\n{"jsonrpc":\n\n\377\376\n' >&3
            printf '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"note","arguments":{"text":"' >&3
            head -c 20000000 /dev/zero | tr '\0' x >&3; printf '"}}}\n' >&3
            printf '{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{"name":"note","arguments":{"text":"' >&3
            head -c 3000000 /dev/zero | tr '\0' x >&3; ask '"}}}'
            tool note1 '{"text":"a\u0000b\u001b[31m"}'; tool note2 '{"text":7}'; tool note3 '{"text":"x","worker":"other"}'
            tool commit1 '{"message":"x","head":7}'; tool read1 '{"messages":[1]}'; tool note4 '[]'; ask '{"a":1}'
            printf '{"jsonrpc":"2.0","id":"cut","method":"tools/call","params":{"name":"note"' >&3; exec 3>&-; cat <&4"#,
        );
        refused(&said, "large", "bad-call");
        assert_eq!(fine(&said, "note1")["says"], "noted");
        for id in ["note2", "note3", "commit1"] {
            refused(&said, id, "bad-call");
        }
        assert_eq!(answer(&said, "read1")["error"]["code"], -32602, "no verb of the tool's own is a tool");
        assert!(answer(&said, "note4")["error"]["code"].is_i64());
        assert!(!said.contains("\"id\":\"big\"") && !said.contains("\"id\":\"cut\""), "{said}");
        assert!(said.contains("\"code\":-32600"), "what is JSON and no request is answered");
        let events = world.skein(&["show", "--events", "w"]).ok().out;
        assert_eq!(events.matches(" note: ").count(), 1, "{events}");
    }
}

#[test]
fn outside_of_a_worker_and_for_another_one_each_tool_refuses() {
    let world = World::new();
    let call = r#"{"jsonrpc":"2.0","id":"note","method":"tools/call","params":{"name":"note","arguments":{"text":"x"}}}"#;
    let commit = call.replace("note", "commit").replace("text", "message");
    let said = world.serves(format!("{HELLO}{call}\n{commit}\n").as_bytes(), None);
    refused(&said, "note", "not-a-worker");
    refused(&said, "commit", "not-a-worker");
    assert_eq!(world.serves(b"", None), "");
    assert_eq!(world.serves(b"{\"jsonrpc\":", None), "");
    for (world, level) in levels() {
        let options = ["--timeout", "100s", "--jail", level, "--name", "victim"];
        let script = "until test -f go; do sleep 0.02; done";
        world.skein(&[&["dispatch"], &options[..], &["victim", "--", "sh", "-c", script]].concat()).ok();
        let outbox = world.path(".git/skein/run").join(world.ulid("victim")).join("outbox");
        let said = world.serves(format!("{HELLO}{call}\n").as_bytes(), Some(&outbox));
        refused(&said, "note", "not-the-worker");
        std::fs::write(world.worktree("victim").join("go"), "").unwrap();
        world.skein(&["wait", "victim"]);
    }
}
