//! One thing that went well or not: a gate, a landing, a worker, the command itself.

use crate::domain::Failure;
use crate::domain::Outcome;
use crate::domain::Spot;
use crate::domain::Token;
use crate::verbs::gate::Heard;
use crate::verbs::status::Row;

#[derive(Debug, Clone)]
pub struct Case {
    /// `gate`, `landing`, `worker`, `candidate`, or the verb.
    pub kind: &'static str,
    pub name: String,
    pub state: State,
    pub millis: Option<u64>,
    /// In one line, how it went.
    pub says: String,
    pub output: String,
    pub spots: Vec<Spot>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Passed,
    /// It had passed before.
    Before,
    /// A person has to look.
    Waits,
    Failed,
    /// With the name of the refusal.
    Refused(&'static str),
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Before => "passed before",
            State::Waits => "waits for a person",
            State::Failed => "failed",
            State::Refused(token) => token,
        }
    }

    pub fn is_bad(&self) -> bool {
        matches!(self, State::Failed | State::Refused(_))
    }
}

impl Case {
    pub fn passed(kind: &'static str, name: &str, says: String) -> Case {
        Case {
            kind,
            name: name.to_owned(),
            state: State::Passed,
            millis: None,
            says,
            output: String::new(),
            spots: Vec::new(),
        }
    }

    pub fn of_gate(heard: Heard) -> Case {
        let state = match (heard.passed, heard.already) {
            (false, _) => State::Failed,
            (true, true) => State::Before,
            (true, false) => State::Passed,
        };
        Case {
            kind: "gate",
            name: heard.command,
            state,
            millis: Some(heard.millis),
            says: heard.says.unwrap_or_default(),
            output: heard.output,
            spots: heard.spots,
        }
    }

    pub fn of_failure(kind: &'static str, name: &str, failure: &Failure) -> Case {
        let (token, says, lines) = match failure {
            Failure::Refusal(refusal) => {
                (refusal.token.as_str(), refusal.says.clone(), refusal.lines.clone())
            }
            Failure::Fault(fault) => ("fault", format!("{}: {}", fault.doing, fault.cause), Vec::new()),
        };
        let conflicts = failure.token() == Some(Token::Conflict);
        let spot = |path: &String| Spot { path: path.clone(), line: 1, column: None, says: says.clone() };
        let spots = if conflicts { lines.iter().take(10).map(spot).collect() } else { Vec::new() };
        Case {
            state: State::Refused(token),
            output: lines.join("\n"),
            spots,
            ..Case::passed(kind, name, says)
        }
    }

    pub fn of_worker(row: &Row) -> Case {
        let state = match row.outcome {
            Outcome::Ready => State::Passed,
            Outcome::NeedsInput | Outcome::Active => State::Waits,
            Outcome::Failed | Outcome::Stopped => State::Failed,
        };
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let millis = row.ended.map(|ended| (ended - row.created).max(0).unsigned_abs() * 1000);
        let says = format!("{}{reason}", row.outcome);
        Case { state, millis, ..Case::passed("worker", row.handle.as_str(), says) }
    }

    /// A gate that failed has told it already.
    pub fn is_of_a_gate(&self) -> bool {
        let gates = [Token::GateFailed, Token::NoTests];
        self.kind != "gate" && gates.iter().any(|token| self.state == State::Refused(token.as_str()))
    }

    /// With each text in it changed.
    pub fn map(mut self, change: impl Fn(String) -> String) -> Case {
        self.name = change(self.name);
        self.says = change(self.says);
        self.output = change(self.output);
        for spot in &mut self.spots {
            spot.says = change(std::mem::take(&mut spot.says));
        }
        self
    }

    /// The last `most` lines of the output.
    pub fn end(&self, most: usize) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(most)).map(|line| format!("{line}\n")).collect()
    }
}
