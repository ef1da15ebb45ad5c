//! Lines of agents, and what workers say.

use crate::domain::Agent;
use crate::domain::Event;
use crate::domain::Heard;
use crate::domain::Said;
use crate::domain::Tally;
use crate::domain::capped;
use crate::domain::events as events_of;
use crate::domain::fuzz::text;
use crate::domain::kind::Kind;
use crate::domain::plan::Plan;
use crate::domain::protocol;
use crate::domain::protocol::Answer;
use crate::domain::protocol::Call;
use crate::domain::protocol::Talk;
use bstr::ByteSlice;

/// An adapter: all that it hears becomes events that can be read again, and no text of one is endless.
fn agent(name: &str, bytes: &[u8]) {
    let agent = Agent::named(name).unwrap();
    let mut file = String::new();
    let mut all = Vec::new();
    for line in bytes.lines() {
        for said in agent.said(line) {
            if let Said::Session(id) = &said {
                assert!(!id.starts_with('-') && id.len() <= 128, "{id:?}");
            }
            let Some(event) = Event::of(7, &said) else { continue };
            assert!(event.text.len() < 5_000);
            file += &(event.to_line() + "\n");
            all.push(event);
        }
    }
    let read: Vec<Event> = events_of(file.as_bytes()).collect();
    assert_eq!(read.len(), all.len(), "{file}");
    let kinds = |of: &[Event]| of.iter().map(|e| (e.kind.clone(), e.text.clone())).collect::<Vec<_>>();
    assert_eq!(kinds(&read), kinds(&all));
    assert_eq!(file.lines().count(), all.len());
    let _ = Tally::of(all.into_iter());
}

pub fn agent_claude(bytes: &[u8]) {
    agent("claude", bytes);
}

pub fn agent_codex(bytes: &[u8]) {
    agent("codex", bytes);
}

pub fn agent_pi(bytes: &[u8]) {
    agent("pi", bytes);
}

pub fn agent_opencode(bytes: &[u8]) {
    agent("opencode", bytes);
}

pub fn agent_gemini(bytes: &[u8]) {
    agent("gemini", bytes);
}

/// What an agent that listens says of messages, and what it is told.
pub fn agent_rpc(bytes: &[u8]) {
    let argv = ["pi", "--mode", "rpc"].map(str::to_owned);
    let rpc = Agent::rpc(&argv).unwrap();
    for line in bytes.lines() {
        if let Some(Heard::Given(given)) = rpc.heard(line) {
            assert!(given.len() <= line.len() * 3);
        }
    }
    let said = text(bytes);
    for told in [rpc.tell(3, &said), rpc.begin(&said)] {
        assert!(told.ends_with(b"\n") && !told.iter().any(|b| *b < 0x20 && *b != b'\n'));
        for line in told.lines() {
            let back: serde_json::Value = serde_json::from_slice(line).unwrap();
            if let Some(message) = back.get("message").and_then(|m| m.as_str()) {
                assert!(message == said || message.strip_prefix('\n') == Some(&said));
            }
        }
    }
}

/// A line that may tell of a usage limit.
pub fn agent_limit(bytes: &[u8]) {
    use crate::domain::Reset;
    for line in text(bytes).lines() {
        match crate::domain::usage_limit(line) {
            Some(Reset::After(seconds)) => assert!((1..=40 * 86_400).contains(&seconds), "{line:?}"),
            Some(Reset::Clock { hour, minute, .. }) => {
                assert!((0..24).contains(&hour) && (0..60).contains(&minute), "{line:?}");
            }
            Some(Reset::At(_)) | None => {}
        }
    }
}

/// `events.jsonl`: cut to any room it stays readable and bounded, and what is left out is still counted.
pub fn events(bytes: &[u8]) {
    let whole = Tally::of(events_of(bytes));
    for room in [0, 1, 100, 1000, bytes.len()] {
        let cut = capped(bytes, room);
        // The line that tells what was left out comes on top.
        assert!(cut.len() <= room + 600, "{room}: {}", cut.len());
        let tally = Tally::of(events_of(&cut));
        assert_eq!(
            (tally.usage.turns, tally.usage.tools, tally.usage.tokens_in, tally.usage.tokens_out),
            (whole.usage.turns, whole.usage.tools, whole.usage.tokens_in, whole.usage.tokens_out),
            "{room}"
        );
    }
    for event in events_of(bytes).take(200) {
        let line = event.to_line() + "\n";
        let again: Vec<Event> = events_of(line.as_bytes()).collect();
        assert_eq!(again.len(), 1, "{line}");
        assert_eq!((&again[0].kind, &again[0].text, again[0].at), (&event.kind, &event.text, event.at));
        assert!(!event.words().is_empty() || event.kind.is_empty());
    }
}

/// A request in the outbox, and the reply to one.
pub fn worker_request(bytes: &[u8]) {
    if let Ok(call) = protocol::heard(bytes) {
        let again = serde_json::to_vec(&protocol::Request { v: protocol::SPOKEN, call: call.clone() });
        assert_eq!(protocol::heard(&again.unwrap()).unwrap(), call);
        if let Call::Todo(todo) = &call {
            let mut talk = Talk::default();
            let before = talk.clone();
            if talk.change(todo).is_err() {
                assert_eq!(talk, before, "all of it or nothing");
            }
            assert!(talk.todos.len() <= 200);
        }
    }
    if let Ok(reply) = serde_json::from_slice::<protocol::Reply>(bytes) {
        let line = reply.answer.to_line();
        assert!(serde_json::from_str::<Answer>(&line).is_ok(), "{line}");
        let _ = reply.answer.into_result();
    }
}

/// The arguments of a tool, behind its name on a line of its own.
pub fn tool_arguments(bytes: &[u8]) {
    let (name, rest) = bytes.split_once_str("\n").unwrap_or_default();
    let Ok(arguments) = serde_json::from_slice(rest) else { return };
    if let Ok(call) = protocol::called(&text(name), arguments) {
        let said = serde_json::to_value(&call).unwrap();
        assert_eq!(said["verb"].as_str(), Some(text(name).as_str()));
        let _ = protocol::check(&call);
    }
}

/// A file of tasks: read as a whole or refused as a whole, each thing with its line.
pub fn tasks_jsonl(bytes: &[u8]) {
    let said = text(bytes);
    let lines = said.lines().count().max(1);
    match crate::domain::tasks(&said) {
        Ok(tasks) => {
            assert!(!tasks.is_empty() && tasks.len() <= lines);
            for task in &tasks {
                assert!((1..=lines).contains(&task.line) && !task.task.trim().is_empty());
                let named = |name: &String| tasks.iter().any(|t| t.name.as_ref() == Some(name));
                assert!(task.after.iter().all(named));
                assert!(task.timeout().is_none_or(|s| s > 0) && task.silence().is_none_or(|s| s > 0));
            }
        }
        Err(crate::domain::Failure::Refusal(refusal)) => assert!(!refusal.lines.is_empty()),
        Err(other) => panic!("{other:?}"),
    }
}

/// The file of a kind.
pub fn kind_file(bytes: &[u8]) {
    let said = text(bytes);
    let Ok(kind) = Kind::parse("scout", &said) else { return };
    assert_eq!(kind.name, "scout");
    assert!(said.contains(kind.body.as_str()));
    assert_eq!(kind.makes_run(), !kind.commands().is_empty());
    assert!(kind.told().ends_with('\n') || kind.told().is_empty());
}

/// A brief: its first line, its steps, the tasks in it.
pub fn brief(bytes: &[u8]) {
    let said = text(bytes);
    let step = Plan::step(&said);
    assert!(said.contains(&step.text) && step.paths.iter().all(|path| said.contains(path)));
    let _ = (crate::domain::span(&said), crate::domain::limit(&said));
    let allowed = crate::domain::Allowed {
        agents: said.lines().map(str::to_owned).collect(),
        checks: said.lines().map(str::to_owned).collect(),
    };
    let argv: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
    if allowed.command(&argv) {
        assert!(!argv.is_empty());
    }
    for line in said.lines().filter(|line| !line.is_empty()) {
        assert_eq!(allowed.refused_check(&[line.to_owned()]), None);
    }
}
