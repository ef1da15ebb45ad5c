//! What a person says to an agent while it works, brought to it where it listens. How far a message came is what the
//! agent said of it.

use crate::domain::Heard;
use crate::domain::Result;
use crate::domain::Rpc;
use crate::domain::WorkerId;
use crate::host::Spec;
use crate::verbs::finish;
use crate::verbs::job::Job;
use crate::verbs::recorder::Recorder;
use crate::verbs::resume;
use crate::verbs::session::Session;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::mpsc::unbounded_channel;

/// How often it is looked for something to bring.
const BELL: Duration = Duration::from_millis(200);

/// The post of one run.
pub struct Post<'s, 'e> {
    session: &'s Session<'e>,
    id: WorkerId,
    recorder: &'s Recorder<'s, 'e>,
    line: Option<Line>,
    /// The messages that it was sent, or began with.
    sent: RefCell<BTreeMap<u32, String>>,
    seen: RefCell<Vec<Seen>>,
    news: Notify,
    /// How the bell was when it was last looked at.
    bell: RefCell<Option<Option<Vec<u8>>>>,
}

/// Leads to an agent that listens on its standard input.
struct Line {
    rpc: &'static Rpc,
    to: UnboundedSender<Vec<u8>>,
}

/// What was seen of a message.
enum Seen {
    Delivered(u32),
    Read(u32),
}

impl<'s, 'e> Post<'s, 'e> {
    /// Opens the line to the agent that `spec` starts for `job`, if it listens.
    pub fn open(
        session: &'s Session<'e>,
        job: &Job,
        spec: &mut Spec,
        recorder: &'s Recorder<'s, 'e>,
    ) -> Post<'s, 'e> {
        let line = job.rpc().map(|rpc| {
            let (to, more) = unbounded_channel();
            spec.more = Some(more);
            Line { rpc, to }
        });
        Post {
            session,
            id: job.worker,
            recorder,
            line,
            sent: RefCell::new(job.letters.iter().map(|n| (*n, String::new())).collect()),
            seen: RefCell::default(),
            news: Notify::new(),
            bell: RefCell::default(),
        }
    }

    /// Resolves when there may be something to bring to an agent that can take it.
    pub async fn rung(&self) {
        if self.line.is_none() {
            return std::future::pending().await;
        }
        loop {
            let bell = crate::host::read_optional(&self.session.local.bell(self.id)).unwrap_or_default();
            if self.recorder.has_begun() && self.bell.borrow().as_ref() != Some(&bell) {
                self.bell.replace(Some(bell));
                return;
            }
            tokio::time::sleep(BELL).await;
        }
    }

    /// Brings what nobody has brought. It is tried again when the bell rings again.
    pub fn bring(&self) {
        if let Err(failure) = self.bring_all() {
            self.session.tell(format!("post: {failure}"));
        }
    }

    fn bring_all(&self) -> Result<()> {
        let Some(line) = &self.line else { return Ok(()) };
        let view = self.session.view()?;
        let record = &view.worker(&self.id.to_string())?.record;
        for message in record.messages.iter().filter(|m| m.delivered.is_none()) {
            let text = resume::said(record, &[message]).trim_end().to_owned();
            if !self.sent.borrow().contains_key(&message.n)
                && line.to.send(line.rpc.tell(message.n, &text)).is_ok()
            {
                self.sent.borrow_mut().insert(message.n, text);
            }
        }
        Ok(())
    }

    /// A line of the agent's output.
    pub fn heard(&self, line: &[u8]) {
        let Some(heard) = self.line.as_ref().and_then(|to| to.rpc.heard(line)) else { return };
        let sent = self.sent.borrow();
        let seen = match heard {
            Heard::Taken(n) => sent.contains_key(&n).then_some(Seen::Delivered(n)),
            Heard::Refused(n, why) => {
                self.session.tell(format!("message {n} is not taken: {why}"));
                None
            }
            Heard::Given(text) => {
                let is = |sent: &String| !sent.is_empty() && sent.trim() == text.trim();
                sent.iter().rfind(|(_, sent)| is(sent)).map(|(n, _)| Seen::Read(*n))
            }
        };
        if let Some(seen) = seen {
            self.seen.borrow_mut().push(seen);
            self.news.notify_one();
        }
    }

    /// Resolves when there is something for the record.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// Puts on the record how far the messages came. What fails is tried again with the next, and at the end.
    pub fn note(&self) {
        let seen = self.seen.take();
        if seen.is_empty() {
            return;
        }
        let at = self.session.clock.now_secs();
        let noted = finish::amend(self.session, self.id, |record| {
            for seen in &seen {
                let (Seen::Delivered(n) | Seen::Read(n)) = seen;
                for message in record.messages.iter_mut().filter(|m| m.n == *n) {
                    message.delivered.get_or_insert(at);
                    if matches!(seen, Seen::Read(_)) {
                        message.read.get_or_insert(at);
                    }
                }
            }
            Ok(())
        });
        if let Err(failure) = noted {
            self.session.tell(format!("record: {failure}"));
            self.seen.borrow_mut().extend(seen);
        }
    }
}
