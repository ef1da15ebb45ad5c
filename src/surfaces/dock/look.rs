//! A look at all workers, and at what is shown of one, in a thread of its own: a slow disk keeps no key waiting.

use crate::domain::Result;
use crate::domain::WorkerId;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::surfaces::present::board;
use crate::surfaces::present::standing;
use crate::surfaces::style::span;
use crate::verbs;
use crate::verbs::dock::Mark;
use crate::verbs::session::Session;
use crate::verbs::show;
use crate::verbs::status::Row;
use anstyle::Style;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::time::Instant;

/// How long until the next look.
const PAUSE: Duration = Duration::from_secs(1);

/// What no ref tells, as how long ago something was, is read again after this.
const OLD: Duration = Duration::from_secs(10);

/// The last lines of an output that are read.
const LINES: usize = 2000;

/// The first lines of a diff that are shown.
const MOST: usize = 20_000;

/// What is shown of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    #[default]
    Card,
    Diff,
    Log,
    Peek,
}

impl Part {
    pub fn word(self) -> &'static str {
        match self {
            Part::Card => "card",
            Part::Diff => "diff",
            Part::Log => "output",
            Part::Peek => "peek",
        }
    }

    /// Its end is what counts.
    pub fn is_followed(self) -> bool {
        matches!(self, Part::Log | Part::Peek)
    }
}

/// What is to be seen beside the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    pub worker: Option<WorkerId>,
    pub part: Part,
}

/// What there is, in words.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// What waits for a person first, as `inbox` has it, then the others by birth.
    pub items: Vec<Item>,
    /// Records that cannot be read.
    pub unreadable: usize,
    pub detail: Option<Detail>,
    /// Why it could not be looked, whole.
    pub failed: Option<String>,
}

/// A line of the list.
#[derive(Debug, Clone)]
pub struct Item {
    pub worker: WorkerId,
    pub handle: String,
    /// It stands in the inbox.
    pub waits: bool,
    pub words: String,
    pub style: Style,
    pub board: Option<String>,
}

/// What was read of one worker.
#[derive(Debug, Clone)]
pub struct Detail {
    pub worker: WorkerId,
    pub part: Part,
    /// As the plain verb prints it, a refusal too.
    pub text: String,
    /// What a verdict would be bound to.
    pub subject: Option<String>,
    /// The answers to choose from.
    pub options: Vec<String>,
}

/// What is kept from one look to the next.
struct Kept {
    mark: Mark,
    wish: Wish,
    at: Instant,
    inbox: Vec<verbs::inbox::Card>,
    card: Option<(String, Option<String>, Vec<String>)>,
    text: Option<String>,
}

pub struct Looker {
    pub env: Env,
    pub cwd: PathBuf,
}

impl Looker {
    /// Looks each second, and at once when something else is wished, until nobody wishes any more.
    pub fn run(self, wishes: &Receiver<Wish>, see: impl Fn(Sight) -> bool) {
        let mut wish = Wish { worker: None, part: Part::default() };
        let mut kept = None;
        loop {
            let sight = self.look(wish, &mut kept).unwrap_or_else(|failure| Sight {
                failed: Some(Page::failure("dock", &failure, false).err),
                ..Sight::default()
            });
            crate::fault::point("dock: looked");
            if !see(sight) {
                return;
            }
            match wishes.recv_timeout(PAUSE) {
                Ok(new) => wish = wishes.try_iter().last().unwrap_or(new),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn look(&self, wish: Wish, kept: &mut Option<Kept>) -> Result<Sight> {
        let quiet = |_: &str| {};
        let mut session = Session::open(&self.env, &self.cwd, &quiet)?;
        let mark = verbs::dock::mark(&session)?;
        let status = verbs::status::run(&session, false, false)?;
        let row = status.workers.iter().find(|row| Some(row.worker) == wish.worker);
        let same = kept.as_ref().filter(|k| k.mark == mark && k.at.elapsed() < OLD);
        let inbox_is_new = same.is_none();
        // What runs says more without any ref that moves.
        let same = same.filter(|k| k.wish == wish && row.is_some_and(|row| row.liveness.is_none()));
        let detail_is_new = same.is_none();
        let mut now = match kept.take() {
            Some(old) if !inbox_is_new => Kept { wish, mark, ..old },
            _ => {
                let inbox = verbs::inbox::run(&session)?.cards;
                Kept { mark, wish, at: Instant::now(), inbox, card: None, text: None }
            }
        };
        if detail_is_new || wish.part.is_followed() {
            now.text = row.and_then(|row| text(&session, row, wish.part));
        }
        if detail_is_new {
            now.card = row.map(|row| card(&mut session, row));
        }
        let detail = wish.worker.zip(now.card.clone()).map(|(worker, (card, subject, options))| {
            let text = now.text.clone().unwrap_or(card);
            Detail { worker, part: wish.part, text, subject, options }
        });
        let items = items(&status.workers, &now.inbox);
        *kept = Some(now);
        Ok(Sight { items, unreadable: status.unreadable.len(), detail, failed: None })
    }
}

/// The card, what a verdict would be bound to, and the options of its question.
fn card(session: &mut Session<'_>, row: &Row) -> (String, Option<String>, Vec<String>) {
    let options = row.asks.first().map(|asked| asked.options.clone()).unwrap_or_default();
    match verbs::verdict::card(session, &row.worker.to_string()) {
        Ok(card) => {
            let subject = card.subject.clone();
            (Page::verdict_card(&card, false).out, subject, options)
        }
        Err(failure) => (Page::failure("verdict", &failure, false).err, None, options),
    }
}

/// A part that is not the card.
fn text(session: &Session<'_>, row: &Row, part: Part) -> Option<String> {
    let name = row.worker.to_string();
    let shown = |part| show::run(session, &name, part).map(|shown| Page::show(&shown, false).out);
    let text = match part {
        Part::Card => return None,
        Part::Diff => shown(show::Part::Diff).map(|diff| begins(&diff, &row.handle.to_string())),
        Part::Log => shown(show::Part::Log).map(|log| ends(&log)),
        Part::Peek => verbs::pane::peek(session, &name, 200).map(|peeked| Page::peeked(&peeked, false).out),
    };
    Some(text.unwrap_or_else(|failure| Page::failure("dock", &failure, false).err))
}

fn begins(text: &str, handle: &str) -> String {
    let lines: Vec<&str> = text.lines().take(MOST + 1).collect();
    if lines.len() <= MOST {
        return text.to_owned();
    }
    format!("{}\nand more: git skein show --diff {handle}\n", lines[..MOST].join("\n"))
}

fn ends(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn items(rows: &[Row], inbox: &[verbs::inbox::Card]) -> Vec<Item> {
    let waiting = inbox.iter().filter_map(|card| {
        let row = rows.iter().find(|row| row.worker == card.worker)?;
        let words = format!("{} {}", card.waits_for.word(), span(card.waited));
        Some(Item { waits: true, words, ..item(row) })
    });
    let others = rows.iter().filter(|row| inbox.iter().all(|card| card.worker != row.worker));
    waiting.chain(others.map(item)).collect()
}

fn item(row: &Row) -> Item {
    let (words, style) = standing(row);
    let board = row.board.as_ref().map(board);
    Item { worker: row.worker, handle: row.handle.to_string(), waits: false, words, style, board }
}
