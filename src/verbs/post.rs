//! What a person says to an agent while it works, brought to it where it listens. How far a message came is what the
//! agent said of it.

use crate::domain::Heard;
use crate::domain::Result;
use crate::domain::Rpc;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::host::PaneDir;
use crate::host::Spec;
use crate::host::ToType;
use crate::verbs::finish;
use crate::verbs::job::Job;
use crate::verbs::recorder::Recorder;
use crate::verbs::resume;
use crate::verbs::session::Session;
use std::cell::Cell;
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
    /// How much was typed of what was seen in its window.
    typed: Cell<usize>,
    news: Notify,
    /// How the bell was when it was last looked at.
    bell: RefCell<Option<Option<Vec<u8>>>>,
}

/// Leads to an agent that listens on its standard input.
struct Line {
    form: Form,
    to: UnboundedSender<Vec<u8>>,
}

/// How it is spoken to.
enum Form {
    Rpc(&'static Rpc),
    /// What comes is typed into its window by the relay, which notes here what was seen to stand there.
    Typed(PaneDir),
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
        let typed = || Form::Typed(PaneDir::new(session.local.pane(job.worker)));
        let form = job.rpc().map(Form::Rpc).or_else(|| (job.window == Window::Typed).then(typed));
        let line = form.map(|form| {
            let (to, more) = unbounded_channel();
            spec.more = Some(more);
            Line { form, to }
        });
        Post {
            session,
            id: job.worker,
            recorder,
            line,
            sent: RefCell::new(job.letters.iter().map(|n| (*n, String::new())).collect()),
            seen: RefCell::default(),
            typed: Cell::default(),
            news: Notify::new(),
            bell: RefCell::default(),
        }
    }

    /// Resolves when there may be something to bring to an agent that can take it.
    pub async fn rung(&self) {
        let Some(line) = &self.line else { return std::future::pending().await };
        loop {
            self.look_at_window();
            // Before that a message could come before the task; into a window the task is typed first.
            let takes = matches!(line.form, Form::Typed(_)) || self.recorder.has_begun();
            let bell = crate::host::read_optional(&self.session.local.bell(self.id)).unwrap_or_default();
            if takes && self.bell.borrow().as_ref() != Some(&bell) {
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
            if self.sent.borrow().contains_key(&message.n) {
                continue;
            }
            let said = match &line.form {
                Form::Rpc(rpc) => rpc.tell(message.n, &text),
                Form::Typed(_) => ToType::line(message.n, &text),
            };
            if line.to.send(said).is_ok() {
                self.sent.borrow_mut().insert(message.n, text);
            }
        }
        Ok(())
    }

    /// A line of the agent's output.
    pub fn heard(&self, line: &[u8]) {
        let Some(Line { form: Form::Rpc(rpc), .. }) = &self.line else { return };
        let Some(heard) = rpc.heard(line) else { return };
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

    /// Whether more of what was typed was seen to stand in its window.
    fn look_at_window(&self) {
        let Some(Line { form: Form::Typed(dir), .. }) = &self.line else { return };
        let typed = dir.typed();
        let known = self.typed.replace(typed.len());
        if typed.len() > known {
            self.seen.borrow_mut().extend(typed[known..].iter().map(|n| Seen::Delivered(*n)));
            self.news.notify_one();
        }
    }

    /// Resolves when there is something for the record.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// Puts on the record how far the messages came. What fails is tried again with the next, and at the end.
    pub fn note(&self) {
        self.look_at_window();
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
