//! What happens in the run of a worker, in one form for all agents: the lines of its `events.jsonl`. It is what the
//! agent's output says and what the worker says by the protocol, in the order in which it came.

use crate::domain::agent::Said;
use crate::domain::mask;
use serde::Deserialize;
use serde::Serialize;

/// Of the text of one event, in bytes.
const LONGEST: usize = 4 << 10;

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at: i64,
    pub kind: String,
    #[serde(default)]
    pub text: String,
    /// Of the tool that is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a turn took, or what all turns took whose lines were left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub tools: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// In dollars, as the agent counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// All that was said, added up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    #[serde(flatten)]
    pub usage: Total,
    /// The last command that it ran by a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// It said that it is done.
    pub done: bool,
}

/// The same sums with each of them there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Total {
    pub turns: u64,
    pub tools: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Event {
    /// With secrets masked, and no longer than a line should be.
    pub fn new(at: i64, kind: &str, text: &str) -> Event {
        Event { at, kind: kind.to_owned(), text: short(&mask(text)), ..Event::default() }
    }

    /// What the agent said or did, if that is an event.
    pub fn of(at: i64, said: &Said) -> Option<Event> {
        Some(match said {
            Said::Session(_) => return None,
            Said::Turn => Event::new(at, "turn", ""),
            Said::Tool(name, command) => {
                Event { tool: Some(short(&mask(name))), ..Event::new(at, "tool", command) }
            }
            Said::Text(text) => Event::new(at, "text", text),
            Said::Usage(tokens_in, tokens_out, cost) => {
                let (tokens_in, tokens_out) = (*tokens_in, *tokens_out);
                let cost = Some(*cost).filter(|cost| *cost > 0.0);
                let usage = Some(Usage { tokens_in, tokens_out, cost, ..Usage::default() });
                Event { usage, ..Event::new(at, "usage", "") }
            }
            Said::Error(error) => Event::new(at, "error", error),
            Said::Done => Event::new(at, "done", ""),
        })
    }

    /// Without its line feed.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// One that must not be missing when room is short: what was spent, how it went wrong, the end.
    pub fn is_grave(&self) -> bool {
        matches!(self.kind.as_str(), "usage" | "error" | "done")
    }

    /// In words, for a line.
    pub fn words(&self) -> String {
        let spent = self.usage.map(|u| {
            let cost = u.cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
            format!("{} tokens in, {} out{cost}", u.tokens_in, u.tokens_out)
        });
        let parts = [self.tool.clone(), Some(self.text.clone()).filter(|t| !t.is_empty()), spent];
        let parts: Vec<String> = [self.kind.clone()].into_iter().chain(parts.into_iter().flatten()).collect();
        parts.join(": ")
    }
}

/// The events of a file. A line that is none is passed over, and so is one that is not yet whole.
pub fn events(bytes: &[u8]) -> impl Iterator<Item = Event> {
    whole(bytes).filter_map(|line| serde_json::from_slice(line).ok())
}

fn whole(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    bytes[..end].split_inclusive(|b| *b == b'\n')
}

/// The file in at most about `room` bytes: its first and its last lines, and between them one that says what was
/// left out and what it took.
pub fn capped(bytes: &[u8], room: usize) -> Vec<u8> {
    if bytes.len() <= room {
        return bytes.to_vec();
    }
    let half = room / 2;
    let head = bytes[..half].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let rest = bytes.len() - half;
    let tail = bytes[rest..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| rest + at + 1);
    let out = &bytes[head..tail];
    let tally = Tally::of(events(out));
    let Total { turns, tools, tokens_in, tokens_out, cost } = tally.usage;
    let lines = whole(out).count();
    let text = format!("{lines} events, {} bytes, sha256 {}", out.len(), crate::domain::sha256(out));
    let usage = Some(Usage { turns, tools, tokens_in, tokens_out, cost });
    let at = events(out).last().map_or(0, |event| event.at);
    let gap = Event { at, kind: LEFT_OUT.to_owned(), text, usage, tool: None };
    [&bytes[..head], gap.to_line().as_bytes(), b"\n", &bytes[tail..]].concat()
}

const LEFT_OUT: &str = "left-out";

impl Tally {
    pub fn of(events: impl Iterator<Item = Event>) -> Tally {
        let mut tally = Tally::default();
        events.for_each(|event| tally.add(event));
        tally
    }

    fn add(&mut self, event: Event) {
        let sums = &mut self.usage;
        if let Some(usage) = event.usage {
            // Whatever an agent says: no sum overflows.
            sums.turns = sums.turns.saturating_add(usage.turns);
            sums.tools = sums.tools.saturating_add(usage.tools);
            sums.tokens_in = sums.tokens_in.saturating_add(usage.tokens_in);
            sums.tokens_out = sums.tokens_out.saturating_add(usage.tokens_out);
            let cost = usage.cost.unwrap_or(0.0) + sums.cost.unwrap_or(0.0);
            sums.cost = Some(cost).filter(|cost| *cost > 0.0);
        }
        match event.kind.as_str() {
            "turn" => sums.turns = sums.turns.saturating_add(1),
            "tool" => {
                sums.tools = sums.tools.saturating_add(1);
                self.command = Some(event.text).filter(|c| !c.is_empty()).or(self.command.take());
            }
            "text" => self.text = Some(event.text),
            "error" => self.error = Some(event.text),
            // Of the agent; what a worker claims has a text.
            "done" if event.text.is_empty() => self.done = true,
            _ => {}
        }
    }

    /// True if nothing was said that counts here.
    pub fn is_empty(&self) -> bool {
        *self == Tally::default()
    }
}

/// The beginning of a text.
fn short(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{} […]", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_added_up() {
        let mut file = String::new();
        for n in 0..100 {
            let said = [Said::Turn, Said::Tool("sh".into(), format!("true {n}")), Said::Usage(3, 2, 0.5)];
            said.iter().for_each(|s| file += &(Event::of(n, s).unwrap().to_line() + "\n"));
        }
        let whole = Tally::of(events(file.as_bytes()));
        assert_eq!((whole.usage.turns, whole.usage.tokens_in, whole.usage.cost), (100, 300, Some(50.0)));
        for room in [1, 100, 500, 3000, file.len() - 1] {
            let cut = capped(file.as_bytes(), room);
            assert!(cut.len() <= room + 300, "{room}: {}", cut.len());
            assert_eq!(
                Tally::of(events(&cut)),
                Tally { command: Tally::of(events(&cut)).command, ..whole.clone() }
            );
            assert_eq!(events(&cut).filter(|e| e.kind == LEFT_OUT).count(), 1);
            assert_eq!(capped(&cut, cut.len()), cut);
        }
    }

    #[test]
    fn a_line_is_masked_and_short_and_whole() {
        let event = Event::of(1, &Said::Text(format!("sk-{} {}", "a".repeat(30), "é".repeat(4000)))).unwrap();
        assert!(event.text.starts_with("*** é") && event.text.len() < LONGEST + 10, "{}", event.text.len());
        let line = event.to_line() + "\n";
        assert_eq!(events(line.as_bytes()).count(), 1);
        assert_eq!(events(&line.as_bytes()[..line.len() - 1]).count(), 0, "it may not be all of it");
        assert_eq!(events(b"{}\nno\n\n").count(), 0);
    }
}
