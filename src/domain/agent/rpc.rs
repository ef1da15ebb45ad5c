//! How an agent is spoken to that listens while it works: one JSON object a line on its standard input.

use serde_json::Value;
use serde_json::json;

/// The form of its lines.
#[derive(Debug)]
pub struct Rpc {
    /// What stands in its command when it listens.
    pub(super) words: &'static [&'static str],
    /// What gets it going with a task.
    pub(super) begin: fn(&str) -> Vec<Value>,
    /// What tells it message `n` while it works.
    pub(super) tell: fn(u32, &str) -> Value,
    /// What a line of its output says of messages.
    pub(super) heard: fn(&Value) -> Option<Heard>,
}

/// What an agent says of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It has message `n`.
    Taken(u32),
    /// It does not want message `n`, and why.
    Refused(u32, String),
    /// Its model is given this text.
    Given(String),
}

impl Rpc {
    /// Whether `argv` makes it listen.
    pub fn is_in(&self, argv: &[String]) -> bool {
        argv.windows(self.words.len()).any(|words| words == self.words)
    }

    /// The lines that get it going with a task.
    pub fn begin(&self, task: &str) -> Vec<u8> {
        (self.begin)(task).iter().flat_map(line).collect()
    }

    /// The line that tells it message `n`.
    pub fn tell(&self, n: u32, text: &str) -> Vec<u8> {
        line(&(self.tell)(n, text))
    }

    /// What a line of its output says of messages.
    pub fn heard(&self, line: &[u8]) -> Option<Heard> {
        // Most lines are other events, and some of them are long.
        let may = [&br#"{"id":"skein-"#[..], br#"{"type":"message_start""#];
        may.iter().any(|start| line.starts_with(start)).then_some(())?;
        (self.heard)(&serde_json::from_slice(line).ok()?)
    }
}

/// JSON has no line break of its own in a compact object, whatever stands in the text.
fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

pub(super) const PI: Rpc = Rpc { words: &["--mode", "rpc"], begin, tell, heard };

/// Its session has no name in its events, so it is asked for.
fn begin(task: &str) -> Vec<Value> {
    vec![
        json!({"id": "skein-session", "type": "get_state"}),
        json!({"id": "skein-task", "type": "prompt", "message": unlike_command(task)}),
    ]
}

/// It comes between two turns, and begins another one if there is none.
fn tell(n: u32, text: &str) -> Value {
    let message = unlike_command(text);
    json!({"id": format!("skein-{n}"), "type": "prompt", "message": message, "streamingBehavior": "steer"})
}

/// A text that begins with a slash would be a command to it.
fn unlike_command(text: &str) -> String {
    if text.starts_with('/') { format!("\n{text}") } else { text.to_owned() }
}

fn heard(event: &Value) -> Option<Heard> {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    match (text("/type")?, text("/message/role")) {
        ("response", _) => {
            let n = text("/id")?.strip_prefix("skein-")?.parse().ok()?;
            match event.pointer("/success").and_then(Value::as_bool)? {
                true => Some(Heard::Taken(n)),
                false => Some(Heard::Refused(n, text("/error").unwrap_or_default().to_owned())),
            }
        }
        ("message_start", Some("user")) => {
            let whole = text("/message/content").or_else(|| text("/message/content/0/text"))?;
            Some(Heard::Given(whole.to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_lines_whatever_is_said() {
        let told = PI.tell(3, "/quit\nnow\u{2028}\u{1b}[31m\r\n\"");
        assert_eq!(told.iter().filter(|b| **b == b'\n').count(), 1);
        assert!(told.ends_with(b"\n") && !told.contains(&0x1b) && !told.contains(&b'\r'));
        let back: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!(back["message"], "\n/quit\nnow\u{2028}\u{1b}[31m\r\n\"");
        assert_eq!((&back["id"], &back["streamingBehavior"]), (&"skein-3".into(), &"steer".into()));
        let begun = String::from_utf8(PI.begin("do\nit")).unwrap();
        assert_eq!(begun.lines().count(), 2, "{begun}");
    }

    #[test]
    fn what_it_says_of_messages_is_read() {
        for (line, want) in [
            (
                r#"{"id":"skein-2","type":"response","command":"prompt","success":true}"#,
                Some(Heard::Taken(2)),
            ),
            (
                r#"{"id":"skein-2","type":"response","success":false,"error":"no"}"#,
                Some(Heard::Refused(2, "no".into())),
            ),
            (r#"{"id":"skein-task","type":"response","success":true}"#, None),
            (r#"{"id":"skein-2","type":"other","success":true}"#, None),
            (
                r#"{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#,
                Some(Heard::Given("a".into())),
            ),
            (r#"{"type":"message_start","message":{"role":"assistant","content":"a"}}"#, None),
            (r#"{"type":"message_start""#, None),
        ] {
            assert_eq!(PI.heard(line.as_bytes()), want, "{line}");
        }
    }
}
