//! What a worker says to its supervisor: one request for each verb, the answer, and what counts as an answer
//! worth taking. Both sides, and every surface that speaks for a worker, use these.

mod vague;

use crate::domain::Globs;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::plan::Plan;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

/// The version that both sides speak.
pub const SPOKEN: u32 = 1;

/// Of one text, in bytes.
const LONGEST: usize = 8 << 10;

/// Of the items of a list.
const MOST: usize = 200;

/// A request, as it lies in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub v: u32,
    pub call: Call,
}

/// One verb with what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum Call {
    Todo(Todo),
    Progress(Text),
    Note(Text),
    Wait(Wait),
    Plan(Plan),
    Done(Claim),
    Fail(Fail),
    Commit(Commit),
    Spawn(Spawn),
    Inbox(Inbox),
    /// The tool's own: the worker has these messages in hand.
    Read(Read),
    /// The tool's own: `HEAD` is at the commit that was made.
    Committed(Committed),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Todo {
    /// The list starts anew.
    pub set: bool,
    pub add: Vec<String>,
    /// Numbers, from 1, of what is done.
    pub check: Vec<usize>,
    pub uncheck: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Empty with `stay`: whatever it is told next is what it waits for.
    #[serde(default)]
    pub question: String,
    #[serde(default)]
    pub options: Vec<String>,
    /// The worker stays until it is answered; else its turn ends.
    #[serde(default)]
    pub stay: bool,
}

/// What a worker says of its own work. It is kept as said, beside what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub outcome: Claimed,
    pub summary: String,
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claimed {
    /// All of the task.
    Complete,
    /// A part of it, which is good by itself.
    Partial,
    /// Nothing had to be changed.
    NothingToDo,
}

impl Claimed {
    pub const WORDS: [&str; 3] = ["complete", "partial", "nothing-to-do"];

    pub fn word(self) -> &'static str {
        match self {
            Claimed::Complete => "complete",
            Claimed::Partial => "partial",
            Claimed::NothingToDo => "nothing-to-do",
        }
    }

    pub fn parse(word: &str) -> Result<Claimed> {
        let all = [Claimed::Complete, Claimed::Partial, Claimed::NothingToDo];
        all.into_iter().find(|c| c.word() == word).ok_or_else(|| bad(format!("{word:?} is no outcome")))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    pub message: String,
    /// Globs of what to take; all of it if there is none.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Where the caller sees `HEAD`. The tool's own side of the call says it, nobody else.
    #[schemars(skip)]
    #[serde(default)]
    pub head: Option<crate::domain::Oid>,
}

/// Another worker that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    pub task: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub argv: Vec<String>,
    /// Said again with the same name, it is the same request.
    #[serde(default)]
    pub request: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub messages: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    pub commit: crate::domain::Oid,
}

/// The answer, as it lies among the replies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reply {
    pub v: u32,
    pub answer: Answer,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Ok(Box<Said>),
    Refused(Refused),
    Fault { doing: String, cause: String },
}

/// What was done, and what the worker asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Item>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Letter>>,
    /// The number of the question that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<crate::domain::Oid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Spawned>,
    /// Paths of the commit that the task did not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
}

/// A worker that was started for another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawned {
    pub worker: WorkerId,
    pub handle: String,
    pub base: crate::domain::Oid,
}

impl Said {
    pub fn new(says: impl Into<String>) -> Said {
        Said { says: says.into(), ..Said::default() }
    }
}

/// A refusal on its way to the worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refused {
    token: String,
    says: String,
    lines: Vec<String>,
    show: String,
    next: String,
}

impl From<&Refusal> for Refused {
    fn from(r: &Refusal) -> Refused {
        let oids = r.oids.iter().map(|(what, oid)| format!("{what}: {oid}"));
        Refused {
            token: r.token.as_str().to_owned(),
            says: r.says.clone(),
            lines: oids.chain(r.lines.iter().take(MOST).cloned()).collect(),
            show: r.show.clone(),
            next: r.next.clone(),
        }
    }
}

impl Answer {
    pub fn of(done: Result<Said>) -> Answer {
        match done {
            Ok(said) => Answer::Ok(Box::new(said)),
            Err(crate::domain::Failure::Refusal(refusal)) => Answer::Refused(Refused::from(&*refusal)),
            Err(crate::domain::Failure::Fault(f)) => {
                Answer::Fault { doing: f.doing.clone(), cause: f.cause.clone() }
            }
        }
    }

    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same on the side of the caller.
    pub fn into_result(self) -> Result<Said> {
        match self {
            Answer::Ok(said) => Ok(*said),
            Answer::Fault { doing, cause } => Err(crate::domain::Failure::fault(doing, cause)),
            Answer::Refused(no) => {
                let token = Token::ALL.iter().find(|t| t.as_str() == no.token);
                let refusal = Refusal::new(*token.unwrap_or(&Token::BadCall), no.says);
                Err(refusal.lines(no.lines).show(no.show).next(no.next).into())
            }
        }
    }
}

/// An item of a worker's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub text: String,
    pub done: bool,
}

/// A message as the worker gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    pub n: u32,
    pub text: String,
    /// The question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// The worker that it started, if this is how that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<WorkerId>,
}

/// What a worker has said of itself so far. Local and disposable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Talk {
    pub todos: Vec<Item>,
    pub progress: Option<String>,
}

impl Talk {
    /// Carries out a change of the list, all of it or nothing.
    pub fn change(&mut self, todo: &Todo) -> Result<()> {
        let mut list = if todo.set { Vec::new() } else { self.todos.clone() };
        list.extend(todo.add.iter().map(|text| Item { text: text.clone(), done: false }));
        if list.len() > MOST {
            return Err(bad(format!("a list has at most {MOST} items")));
        }
        let checked = todo.check.iter().map(|n| (*n, true));
        for (n, done) in checked.chain(todo.uncheck.iter().map(|n| (*n, false))) {
            let item = n.checked_sub(1).and_then(|at| list.get_mut(at));
            item.ok_or_else(|| bad(format!("there is no item {n}")))?.done = done;
        }
        self.todos = list;
        Ok(())
    }
}

/// A question of a worker's. Its number counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub n: u32,
    pub text: String,
    pub options: Vec<String>,
    pub at: i64,
}

/// A message to a worker. Its number counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub n: u32,
    pub text: String,
    /// The question that it answers.
    pub to: Option<u32>,
    /// The worker whose end it tells, if that was started by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<WorkerId>,
    pub at: i64,
    /// When it was handed out.
    pub delivered: Option<i64>,
    /// When the worker said that it had it.
    pub read: Option<i64>,
}

/// Where a message to a worker is, as far as that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// It waits for the worker to ask, or for its next turn.
    Queued,
    /// The worker's side had it in the answer to a call.
    Delivered,
    /// The worker's side said that it handed it on.
    Read,
    /// The worker has ended, and asks no more.
    Undeliverable,
}

impl Delivery {
    pub fn of(outcome: Outcome, delivered: bool, read: bool) -> Delivery {
        match (delivered, read) {
            (_, true) => Delivery::Read,
            (true, false) => Delivery::Delivered,
            (false, false) if matches!(outcome, Outcome::Active | Outcome::NeedsInput) => Delivery::Queued,
            (false, false) => Delivery::Undeliverable,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Delivery::Queued => "queued",
            Delivery::Delivered => "delivered",
            Delivery::Read => "read",
            Delivery::Undeliverable => "undeliverable",
        }
    }
}

/// Reads a request. What it must not be is a refusal.
pub fn heard(bytes: &[u8]) -> Result<Call> {
    let request: Request =
        serde_json::from_slice(bytes).map_err(|e| bad(format!("it is not a request: {e}")))?;
    if request.v != SPOKEN {
        return Err(bad(format!("it speaks version {}, and this is {SPOKEN}", request.v)));
    }
    check(&request.call)?;
    Ok(request.call)
}

/// The call of a verb whose arguments are a JSON object, as a tool has them.
pub fn called(verb: &str, mut arguments: Map<String, Value>) -> Result<Call> {
    arguments.insert("verb".to_owned(), verb.into());
    serde_json::from_value(arguments.into()).map_err(|e| bad(format!("{verb} cannot be called so: {e}")))
}

/// Whether a call says what it must. Texts are not empty and not endless; a claim is more than a word.
pub fn check(call: &Call) -> Result<()> {
    match call {
        Call::Todo(todo) => todo.add.iter().try_for_each(|t| said("an item", t)),
        Call::Progress(text) | Call::Note(text) => said("the text", &text.text),
        Call::Wait(wait) => {
            if !wait.stay || !wait.options.is_empty() {
                said("the question", &wait.question)?;
            }
            short("the question", &wait.question)?;
            few("options", &wait.options)?;
            wait.options.iter().try_for_each(|o| said("an option", o))
        }
        Call::Plan(plan) => {
            few("verifications", &plan.verification)?;
            few("risks", &plan.risks)?;
            if plan.steps.len() > MOST || plan.steps.iter().any(|step| step.paths.len() > MOST) {
                return Err(bad(format!("a list has at most {MOST} items")));
            }
            plan.texts().try_for_each(|(what, text)| said(what, text))?;
            Globs::new(plan.steps.iter().flat_map(|step| &step.paths).map(String::as_str))?;
            plan.lacks().map_or(Ok(()), |lack| Err(bad(lack)))
        }
        Call::Done(claim) => {
            few("pieces of evidence", &claim.evidence)?;
            short("the summary", &claim.summary)?;
            claim.evidence.iter().try_for_each(|e| short("a piece of evidence", e))?;
            vague::refuse(claim)
        }
        Call::Fail(fail) => said("the reason", &fail.reason),
        Call::Commit(commit) => {
            few("paths", &commit.paths)?;
            said("the message", &commit.message)?;
            commit.head.map(drop).ok_or_else(|| bad("it does not say where HEAD is"))
        }
        Call::Spawn(spawn) => {
            few("paths", &spawn.paths)?;
            few("words of a command", &spawn.argv)?;
            let words = spawn
                .paths
                .iter()
                .chain(&spawn.argv)
                .chain(&spawn.name)
                .chain(&spawn.agent)
                .chain(&spawn.kind);
            words.chain(&spawn.request).try_for_each(|word| short("a word", word))?;
            said("the task", &spawn.task)
        }
        Call::Inbox(_) | Call::Read(_) | Call::Committed(_) => Ok(()),
    }
}

fn said(what: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() { Err(bad(format!("{what} is empty"))) } else { short(what, text) }
}

fn short(what: &str, text: &str) -> Result<()> {
    match text.len() {
        len if len > LONGEST => Err(bad(format!("{what} has {len} bytes, and {LONGEST} are the most"))),
        _ => Ok(()),
    }
}

fn few(what: &str, items: &[String]) -> Result<()> {
    if items.len() > MOST { Err(bad(format!("{} {what} are too many", items.len()))) } else { Ok(()) }
}

/// A request that cannot be understood.
pub fn bad(says: impl Into<String>) -> crate::domain::Failure {
    Refusal::new(Token::BadCall, says)
        .show("git skein worker -h")
        .next("say it again as the help of git skein worker has it")
        .into()
}

#[cfg(test)]
mod tests;
