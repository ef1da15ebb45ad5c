//! What agents say in their output, an event a line of JSON each in a form of its own, brought into one.

use serde_json::Value;

/// One thing that an agent said or did.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The model is asked once more.
    Turn,
    /// A tool is used, and what it is given, if that is a command.
    Tool(String, String),
    Text(String),
    /// Tokens in and out, and what they cost in dollars, since the last time.
    Usage(u64, u64, f64),
    Error(String),
    /// The name of its session, by which it can be taken up again.
    Session(String),
    Done,
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn words(found: &mut Vec<Said>, text: &str) {
    if !text.trim().is_empty() {
        found.push(Said::Text(text.trim().to_owned()));
    }
}

pub(super) fn nothing(_: &Value, _: &mut Vec<Said>) {}

/// Names are taken as they are only if they cannot be anything else than a name.
fn session(found: &mut Vec<Said>, id: &str) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.len() <= 128 && id.chars().all(plain) {
        found.push(Said::Session(id.to_owned()));
    }
}

pub(super) fn claude(event: &Value, found: &mut Vec<Said>) {
    match text(event, "/type") {
        "system" => session(found, text(event, "/session_id")),
        "rate_limit_event" if text(event, "/rate_limit_info/status") == "rejected" => {
            let at = number(event, "/rate_limit_info/resetsAt");
            found.push(Said::Error(format!("usage limit reached|{at}")));
        }
        "assistant" => {
            found.push(Said::Turn);
            let parts = event.pointer("/message/content").and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                match text(part, "/type") {
                    "text" => words(found, text(part, "/text")),
                    "tool_use" => {
                        let command = text(part, "/input/command").to_owned();
                        found.push(Said::Tool(text(part, "/name").to_owned(), command));
                    }
                    _ => {}
                }
            }
        }
        "result" => {
            let cost = event.pointer("/total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0);
            let (fresh, cached) =
                (number(event, "/usage/input_tokens"), number(event, "/usage/cache_read_input_tokens"));
            let made = number(event, "/usage/cache_creation_input_tokens");
            found.push(Said::Usage(
                fresh.saturating_add(cached).saturating_add(made),
                number(event, "/usage/output_tokens"),
                cost,
            ));
            match event.pointer("/is_error").and_then(Value::as_bool) {
                Some(true) => found.push(Said::Error(text(event, "/result").to_owned())),
                _ => words(found, text(event, "/result")),
            }
            found.push(Said::Done);
        }
        _ => {}
    }
}

pub(super) fn codex(event: &Value, found: &mut Vec<Said>) {
    match (text(event, "/type"), text(event, "/item/type")) {
        ("thread.started", _) => session(found, text(event, "/thread_id")),
        ("turn.started", _) => found.push(Said::Turn),
        ("item.started", "command_execution") => {
            found.push(Said::Tool("command_execution".into(), text(event, "/item/command").to_owned()));
        }
        ("item.completed", "agent_message") => words(found, text(event, "/item/text")),
        ("error", _) => found.push(Said::Error(text(event, "/message").to_owned())),
        ("turn.failed", _) => {
            found.extend([Said::Error(text(event, "/error/message").to_owned()), Said::Done]);
        }
        ("turn.completed", _) => {
            let (fresh, made) = (number(event, "/usage/input_tokens"), number(event, "/usage/output_tokens"));
            found.extend([Said::Usage(fresh, made, 0.0), Said::Done]);
        }
        _ => {}
    }
}

pub(super) fn pi(event: &Value, found: &mut Vec<Said>) {
    match text(event, "/type") {
        "session" => session(found, text(event, "/id")),
        "response" if text(event, "/command") == "get_state" => {
            session(found, text(event, "/data/sessionId"));
        }
        "response"
            if text(event, "/id") == "skein-task" && event.pointer("/success") == Some(&false.into()) =>
        {
            found.extend([Said::Error(text(event, "/error").to_owned()), Said::Done]);
        }
        "turn_start" => found.push(Said::Turn),
        "tool_execution_start" => {
            let command = text(event, "/args/command").to_owned();
            found.push(Said::Tool(text(event, "/toolName").to_owned(), command));
        }
        "turn_end" => {
            let parts = event.pointer("/message/content").and_then(Value::as_array);
            parts.into_iter().flatten().for_each(|part| words(found, text(part, "/text")));
            let usage = |name: &str| number(event, &format!("/message/usage/{name}"));
            let cost = event.pointer("/message/usage/cost/total").and_then(Value::as_f64).unwrap_or(0.0);
            found.push(Said::Usage(usage("input").saturating_add(usage("cacheRead")), usage("output"), cost));
            if text(event, "/message/stopReason") == "error" {
                found.push(Said::Error(text(event, "/message/errorMessage").to_owned()));
            }
        }
        "agent_end" => found.push(Said::Done),
        _ => {}
    }
}

pub(super) fn opencode(event: &Value, found: &mut Vec<Said>) {
    match text(event, "/type") {
        "step_start" => {
            session(found, text(event, "/sessionID"));
            found.push(Said::Turn);
        }
        "tool_use" => {
            let command = text(event, "/part/state/input/command").to_owned();
            found.push(Said::Tool(text(event, "/part/tool").to_owned(), command));
        }
        "text" => words(found, text(event, "/part/text")),
        "step_finish" => {
            let tokens = |name: &str| number(event, &format!("/part/tokens/{name}"));
            let cost = event.pointer("/part/cost").and_then(Value::as_f64).unwrap_or(0.0);
            found.push(Said::Usage(
                tokens("input").saturating_add(tokens("cache/read")),
                tokens("output"),
                cost,
            ));
            if text(event, "/part/reason") == "stop" {
                found.push(Said::Done);
            }
        }
        "error" => found.push(Said::Error(text(event, "/error/data/message").to_owned())),
        _ => {}
    }
}

pub(super) fn gemini(event: &Value, found: &mut Vec<Said>) {
    match (text(event, "/type"), text(event, "/role")) {
        ("init", _) => {
            session(found, text(event, "/session_id"));
            found.push(Said::Turn);
        }
        ("message", "assistant") => words(found, text(event, "/content")),
        ("tool_use", _) => {
            let command = text(event, "/parameters/command").to_owned();
            found.push(Said::Tool(text(event, "/tool_name").to_owned(), command));
        }
        ("error", _) => found.push(Said::Error(text(event, "/message").to_owned())),
        ("result", _) => {
            let (fresh, made) = (number(event, "/stats/input_tokens"), number(event, "/stats/output_tokens"));
            found.extend([Said::Usage(fresh, made, 0.0), Said::Done]);
        }
        _ => {}
    }
}
