//! Where a supervisor hears its worker: it takes requests out of the outbox, sees who sent them, does what they
//! say, and answers. Nothing that lies there can hold it up.

use crate::domain::End;
use crate::domain::Failure;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::mask;
use crate::domain::protocol;
use crate::domain::protocol::Answer;
use crate::domain::protocol::Call;
use crate::domain::protocol::Claim;
use crate::domain::protocol::Claimed;
use crate::domain::protocol::Commit;
use crate::domain::protocol::Letter;
use crate::domain::protocol::Message;
use crate::domain::protocol::Question;
use crate::domain::protocol::Reply;
use crate::domain::protocol::Said;
use crate::domain::protocol::Spawn;
use crate::domain::protocol::Talk;
use crate::domain::protocol::Todo;
use crate::domain::protocol::Wait;
use crate::domain::spawning;
use crate::host::Aside;
use crate::host::Found;
use crate::host::PaneDir;
use crate::host::Watch;
use crate::state::WorkerRecord;
use crate::verbs::commit;
use crate::verbs::finish;
use crate::verbs::freeze;
use crate::verbs::plan;
use crate::verbs::recorder::Recorder;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::spawn;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long a worker that has said its last word may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Bytes of one request. The longest list that is allowed is shorter.
const REQUEST: u64 = 2 << 20;

/// So many answers lie there at most.
const REPLIES: usize = 64;

/// How often it is looked for an answer that a worker stays for.
const BELL: Duration = Duration::from_millis(200);

/// The desk of one run.
pub struct Desk<'s, 'e> {
    session: &'s Session<'e>,
    id: WorkerId,
    recorder: &'s Recorder<'s, 'e>,
    talk: Talk,
    end: Option<End>,
    leaves: Option<Instant>,
    staying: Vec<Staying>,
    bell: Option<Vec<u8>>,
    replied: VecDeque<String>,
    outbox: Watch,
    /// What came before the watch began was not seen by it.
    begun: bool,
    beside: Vec<Beside>,
}

/// A call that a process of ours carries out while others are heard.
struct Beside {
    name: String,
    /// A commit whose checks run; else a worker that is started.
    made: Option<Said>,
    /// The name of the request for a worker.
    request: Option<String>,
    run: Aside,
}

/// A caller that waits for the answer to a question, or for whatever it is told.
struct Staying {
    name: String,
    question: Option<u32>,
    caller: (u32, u64),
}

impl<'s, 'e> Desk<'s, 'e> {
    /// Sets up the folders that a worker speaks by; what a run before left there goes.
    pub fn open(
        session: &'s Session<'e>,
        id: WorkerId,
        recorder: &'s Recorder<'s, 'e>,
    ) -> Result<Desk<'s, 'e>> {
        let local = &session.local;
        for folder in [local.outbox(id), local.replies(id)] {
            crate::host::remove_tree(&folder)?;
            crate::host::open_box(&folder)?;
        }
        let outbox = Watch::new(&local.outbox(id))?;
        let talk = crate::host::read_optional(&local.talk(id))?.unwrap_or_default();
        let talk = serde_json::from_slice(&talk).unwrap_or_default();
        Ok(Desk {
            session,
            id,
            recorder,
            talk,
            end: None,
            leaves: None,
            staying: Vec::new(),
            bell: None,
            replied: VecDeque::new(),
            outbox,
            begun: false,
            beside: Vec::new(),
        })
    }

    /// How the worker says that its run ends, if it has.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Resolves when there may be something to do.
    pub async fn called(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            return;
        }
        let waiting = !self.staying.is_empty() || !self.beside.is_empty();
        let ended = async {
            match self.beside.first_mut() {
                Some(first) => first.run.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.outbox.settled(Duration::ZERO, Duration::ZERO) => {}
            () = ended => {}
            () = tokio::time::sleep(BELL), if waiting => {}
        }
        for over in self.beside.iter_mut().filter(|b| b.run.is_over()) {
            over.run.ended().await;
        }
    }

    /// When the worker is to be stopped, because it has said its last word. Told once.
    pub fn leaves(&self) -> Option<Instant> {
        self.leaves
    }

    pub fn has_left(&mut self) {
        self.leaves = None;
    }

    /// The requests that are there now.
    pub fn requests(&self) -> Vec<Found> {
        let found = crate::host::collect(&self.session.local.outbox(self.id), REQUEST);
        found.unwrap_or_else(|failure| {
            self.session.tell(format!("outbox: {failure}"));
            Vec::new()
        })
    }

    /// Does what the requests say; `seen` is what the worktree held when they came.
    pub fn hear(&mut self, requests: Vec<Found>, seen: Option<&Seen>) {
        for found in requests {
            let answer = match self.answer(&found, seen) {
                Ok(None) => continue,
                Ok(Some(said)) => Ok(said),
                Err(failure) => {
                    self.note("refused", &failure.to_string());
                    Err(failure)
                }
            };
            // Whoever is answered may count on it.
            self.save();
            self.reply(&found.name, answer);
        }
        self.answer_beside();
        self.hand_on();
    }

    /// What to answer; nothing if the answer comes later.
    fn answer(&mut self, found: &Found, seen: Option<&Seen>) -> Result<Option<Said>> {
        let bytes = found.content.as_ref().map_err(|why| protocol::bad(why.clone()))?;
        let caller = self.refuse_stranger(found.caller)?;
        let call = protocol::heard(bytes)?;
        if self.end.is_some() && !matches!(call, Call::Read(_) | Call::Committed(_)) {
            return Err(turn_ended());
        }
        match call {
            Call::Todo(todo) => self.todo(&todo),
            Call::Progress(text) => {
                self.talk.progress = Some(text.text.clone());
                self.said("progress", &text.text)
            }
            Call::Note(text) => self.said("note", &text.text),
            Call::Wait(wait) => self.wait(&found.name, &wait, caller),
            Call::Plan(asked) => {
                let laid = plan::lay_out(self.session, self.id, &asked, seen)?;
                crate::fault::point("desk: plan recorded");
                self.note("planned", &laid.goal);
                let says = format!("plan {} waits for a person", laid.short());
                self.ends(End::Planned(laid.goal));
                Ok(Some(last_word(&says)))
            }
            Call::Done(claim) => self.done(claim, seen),
            Call::Fail(fail) => {
                self.note("failed", &fail.reason);
                self.ends(End::GaveUp(mask(&fail.reason)));
                Ok(Some(last_word("noted that it cannot be done; what there is of it is kept")))
            }
            Call::Inbox(_) => self.inbox(),
            Call::Read(read) => {
                let at = self.session.clock.now_secs();
                self.messages(|m| read.messages.contains(&m.n), |m| _ = m.read.get_or_insert(at))?;
                Ok(Some(Said::default()))
            }
            Call::Spawn(spawn) => self.spawn(&found.name, spawn, seen),
            Call::Commit(commit) => self.commit(&found.name, &commit, seen),
            Call::Committed(made) => {
                if seen.is_some_and(|seen| seen.head == made.commit) {
                    self.note("commit", &made.commit.to_string());
                }
                Ok(Some(Said::default()))
            }
        }
    }

    /// Who called, if it is below us: our agent is, and whatever it started, and nobody else.
    fn refuse_stranger(&self, caller: Option<u32>) -> Result<(u32, u64)> {
        let others = spawn::other_supervisors(&self.session.local);
        let ours = |pid: u32, above: u32| crate::host::is_below(pid, above, &others);
        let own = std::process::id();
        // In a window all is below tmux. Our relay, and nobody else, says what the window was opened with.
        let keeper =
            || PaneDir::new(self.session.local.pane(self.id)).keeper().filter(|(_, by)| ours(*by, own));
        let below = |pid: u32| ours(pid, own) || keeper().is_some_and(|(keeper, _)| ours(pid, keeper));
        let known = caller.filter(|pid| below(*pid));
        known.and_then(|pid| Some((pid, crate::host::start_time(pid)?))).ok_or_else(|| {
            let who = caller.map_or("nobody who still waits".to_owned(), |pid| format!("process {pid}"));
            Refusal::new(
                Token::NotTheWorker,
                format!("the request came from {who}, and not from this worker"),
            )
            .show("env | grep SKEIN_")
            .next("only the agent, and what it started, can speak for a worker")
            .into()
        })
    }

    fn todo(&mut self, todo: &Todo) -> Result<Option<Said>> {
        self.talk.change(todo)?;
        if *todo != Todo::default() {
            let open = self.talk.todos.iter().filter(|i| !i.done).count();
            self.note("todo", &format!("{} of {} done", self.talk.todos.len() - open, self.talk.todos.len()));
        }
        Ok(Some(Said { todos: Some(self.talk.todos.clone()), ..Said::default() }))
    }

    fn said(&mut self, kind: &str, text: &str) -> Result<Option<Said>> {
        self.note(kind, text);
        Ok(Some(Said::new("noted")))
    }

    fn wait(&mut self, name: &str, wait: &Wait, caller: (u32, u64)) -> Result<Option<Said>> {
        let at = self.session.clock.now_secs();
        if wait.question.is_empty() {
            let letters = self.unread()?;
            if letters.is_empty() {
                self.staying.push(Staying { name: name.to_owned(), question: None, caller });
                return Ok(None);
            }
            return Ok(Some(Said { messages: Some(letters), ..Said::default() }));
        }
        let n = self.amend(|record| {
            let n = record.questions.len() as u32 + 1;
            let options = wait.options.iter().map(|o| mask(o)).collect();
            record.questions.push(Question { n, text: mask(&wait.question), options, at });
            Ok(n)
        })?;
        crate::fault::point("desk: question recorded");
        self.note("asked", &wait.question);
        if wait.stay {
            self.staying.push(Staying { name: name.to_owned(), question: Some(n), caller });
            return Ok(None);
        }
        self.ends(End::Asked(mask(&wait.question)));
        Ok(Some(Said { question: Some(n), ..last_word("asked") }))
    }

    /// A claim is looked at while its worker can still make it good.
    fn done(&mut self, claim: Claim, seen: Option<&Seen>) -> Result<Option<Said>> {
        let seen = seen.ok_or_else(changing)?;
        if let Some(refusal) = &seen.withheld {
            return Err(Failure::Refusal(refusal.clone()));
        }
        let view = self.session.view()?;
        let worker = view.worker(&self.id.to_string())?;
        let nothing = seen.head == worker.record.base;
        if nothing && claim.outcome != Claimed::NothingToDo && !worker.record.only_reads() {
            return Err(uncommitted());
        }
        let undeclared = match nothing {
            true => Vec::new(),
            false => freeze::check(self.session, &view, worker, seen.head)?,
        };
        let claim = Claim {
            outcome: claim.outcome,
            summary: mask(&claim.summary),
            evidence: claim.evidence.iter().map(|e| mask(e)).collect(),
        };
        self.amend(|record| {
            record.claim = Some(claim.clone());
            Ok(())
        })?;
        crate::fault::point("desk: claim recorded");
        self.note("done", &claim.summary);
        self.ends(End::Claimed(claim));
        let left = match seen.leftovers.len() {
            0 => String::new(),
            n => format!("; {n} changed files are not committed, and are not taken"),
        };
        Ok(Some(Said { undeclared, ..last_word(&format!("taken{left}")) }))
    }

    fn commit(&mut self, name: &str, asked: &Commit, seen: Option<&Seen>) -> Result<Option<Said>> {
        if self.beside.iter().any(|b| b.made.is_some()) {
            return Err(busy());
        }
        let seen = seen.ok_or_else(changing)?;
        let view = self.session.view()?;
        let worker = view.worker(&self.id.to_string())?;
        let said = commit::make(self.session, worker, asked, seen)?;
        let (Some(oid), false) = (said.commit, worker.record.checks.is_empty()) else {
            return Ok(Some(said));
        };
        let run = commit::begin_checks(self.session, self.id, oid)?;
        self.beside.push(Beside { name: name.to_owned(), made: Some(said), request: None, run });
        Ok(None)
    }

    fn spawn(&mut self, name: &str, asked: Spawn, seen: Option<&Seen>) -> Result<Option<Said>> {
        // A request without a name of its own is like no other.
        let request = asked.request.clone().unwrap_or_else(|| name.to_owned());
        let begun: Vec<&str> = self.beside.iter().filter_map(|b| b.request.as_deref()).collect();
        if begun.contains(&request.as_str()) {
            return Err(spawning(&request));
        }
        let asked = Spawn { request: Some(request.clone()), ..asked };
        let run = spawn::begin(self.session, self.id, &asked, seen.ok_or_else(changing)?, name, &begun)?;
        self.beside.push(Beside { name: name.to_owned(), made: None, request: Some(request), run });
        Ok(None)
    }

    /// Answers what was carried out beside.
    fn answer_beside(&mut self) {
        let (over, runs) =
            std::mem::take(&mut self.beside).into_iter().partition(|b| b.run.output().is_some());
        self.beside = runs;
        for done in over {
            let answer = serde_json::from_slice::<Answer>(done.run.output().unwrap_or_default());
            let answer = answer.map_err(|e| Failure::fault("carrying it out", e));
            let answer = answer.and_then(Answer::into_result).map(|said| done.made.unwrap_or(said));
            match &answer {
                Ok(Said { spawned: Some(child), .. }) => self.note("spawned", &child.handle),
                Ok(_) => {}
                Err(failure) => self.note("refused", &failure.to_string()),
            }
            self.reply(&done.name, answer);
        }
    }

    fn inbox(&mut self) -> Result<Option<Said>> {
        Ok(Some(Said { messages: Some(self.unread()?), ..Said::default() }))
    }

    /// All that it has not yet said it has read.
    fn unread(&self) -> Result<Vec<Letter>> {
        let at = self.session.clock.now_secs();
        self.messages(|m| m.read.is_none(), |m| _ = m.delivered.get_or_insert(at))
    }

    /// Changes the messages that `are` meant, and gives them.
    fn messages(&self, are: impl Fn(&Message) -> bool, change: impl Fn(&mut Message)) -> Result<Vec<Letter>> {
        self.amend(|record| {
            let meant = record.messages.iter_mut().filter(|m| are(m));
            let each = meant.map(|m| {
                change(m);
                Letter { n: m.n, text: m.text.clone(), to: m.to, from: m.from }
            });
            Ok(each.collect())
        })
    }

    /// Gives answers to those who stayed for them.
    fn hand_on(&mut self) {
        self.staying.retain(|s| crate::host::alive(s.caller.0, s.caller.1));
        let bell = crate::host::read_optional(&self.session.local.bell(self.id)).unwrap_or_default();
        if self.staying.is_empty() || bell == self.bell {
            return;
        }
        let at = self.session.clock.now_secs();
        for staying in std::mem::take(&mut self.staying) {
            let to = staying.question;
            let answers = |m: &Message| m.to == to;
            let letters = match to {
                Some(_) => self.messages(answers, |m| _ = m.delivered.get_or_insert(at)),
                None => self.unread(),
            };
            match letters {
                Ok(letters) if !letters.is_empty() => {
                    self.note("answered", &letters[0].text);
                    let said = Said { messages: Some(letters), question: to, ..Said::default() };
                    self.reply(&staying.name, Ok(said));
                }
                Ok(_) => self.staying.push(staying),
                Err(failure) => {
                    self.session.tell(format!("answer: {failure}"));
                    self.staying.push(staying);
                    return;
                }
            }
        }
        self.bell = bell;
    }

    fn amend<T>(&self, mut change: impl FnMut(&mut WorkerRecord) -> Result<T>) -> Result<T> {
        finish::amend(self.session, self.id, |record| match record.outcome {
            Outcome::Active => change(record),
            _ => Err(turn_ended()),
        })
    }

    fn ends(&mut self, end: End) {
        self.end = Some(end);
        self.leaves = Some(Instant::now() + GRACE);
    }

    fn reply(&mut self, name: &str, answer: Result<Said>) {
        let replies = self.session.local.replies(self.id);
        let reply = Reply { v: protocol::SPOKEN, answer: Answer::of(answer) };
        let bytes = serde_json::to_vec(&reply).unwrap_or_default();
        if let Err(failure) = crate::host::reply(&replies, name, &bytes) {
            self.session.tell(format!("reply: {failure}"));
        }
        self.replied.push_back(name.to_owned());
        if self.replied.len() > REPLIES
            && let Some(old) = self.replied.pop_front()
        {
            crate::host::withdraw(&replies, &old);
        }
    }

    fn note(&self, kind: &str, text: &str) {
        self.recorder.note(kind, text);
    }

    fn save(&self) {
        let bytes = serde_json::to_vec(&self.talk).unwrap_or_default();
        if let Err(failure) = crate::host::put(&self.session.local.talk(self.id), &bytes) {
            self.session.tell(format!("talk: {failure}"));
        }
    }
}

fn last_word(says: &str) -> Said {
    Said::new(format!("{says}. End your turn now: in {} s it is ended for you", GRACE.as_secs()))
}

fn turn_ended() -> Failure {
    Refusal::new(Token::TurnEnded, "this worker has said its last word already")
        .show("git log -1")
        .next("end your turn; what comes after it is not heard")
        .into()
}

fn changing() -> Failure {
    Failure::fault("looking at the worktree", "it keeps changing")
}

fn busy() -> Failure {
    Refusal::new(Token::Busy, "the checks of another commit of this worker run")
        .show("git log -1")
        .next("wait for it, then commit again")
        .into()
}

fn uncommitted() -> Failure {
    Refusal::new(Token::Empty, "nothing is committed, so there is nothing to take")
        .show("git status --short")
        .next("git skein worker commit -m '…', then say it again; or say --outcome nothing-to-do")
        .into()
}
