//! `show`: the card of one worker. Facts and the change set, never the transcript unless asked.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Loaded;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::Tally;
use crate::domain::kind::Ties;
use crate::domain::plan::Against;
use crate::domain::plan::LaidOut;
use crate::domain::protocol::Claim;
use crate::domain::protocol::Delivery;
use crate::domain::protocol::Item;
use crate::domain::protocol::Message;
use crate::plumbing::Kind;
use crate::plumbing::Objects;
use crate::state::Proofs;
use crate::state::Seeded;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::overlap;
use crate::verbs::recorder;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Kept;
use crate::verbs::status;
use crate::verbs::status::Row;
use crate::verbs::stored::Picture;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use similar::TextDiff;

/// What to show of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    #[default]
    Card,
    Diff,
    Brief,
    Events,
    Log,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Shown {
    Card(Box<Card>),
    Text(String),
    Events(Vec<Event>),
}

#[derive(Debug, Serialize)]
pub struct Card {
    #[serde(flatten)]
    pub row: Row,
    pub agent: Vec<String>,
    pub paths: Vec<String>,
    pub checks: Vec<String>,
    pub exit: Option<i32>,
    pub outside: Vec<String>,
    pub jail: Jail,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Ties>,
    /// The session that its agent went on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<WentOn>,
    /// Its newest plan, and how its changes stand to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Planned>,
    /// What a known agent said in its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Tally>,
    /// The newest that it said of how it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Item>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Sent>,
    /// Bundles that it is given, or was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<Loaded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What was seen, beside what it claims if it does: commands that passed on the trees of its commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// The newest snapshot with work that it threw away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Oid>,
    pub changes: Vec<ChangeLine>,
}

/// The session of another worker, with the handle that this has or had.
#[derive(Debug, Serialize)]
pub struct WentOn {
    #[serde(flatten)]
    pub seed: Seeded,
    pub handle: Option<Handle>,
}

/// A plan, and how the changes stand to it.
#[derive(Debug, Serialize)]
pub struct Planned {
    #[serde(flatten)]
    pub plan: LaidOut,
    #[serde(flatten)]
    pub against: Against,
}

/// A message to it, and where that is.
#[derive(Debug, Serialize)]
pub struct Sent {
    #[serde(flatten)]
    pub message: Message,
    pub state: Delivery,
}

/// One changed path: git's letter and the path.
#[derive(Debug, Serialize)]
pub struct ChangeLine {
    pub state: char,
    pub path: String,
    /// The path as it is, which need not be text.
    #[serde(skip)]
    pub raw: BString,
}

/// One transition of the record, or something that the worker said.
#[derive(Debug, Serialize)]
pub struct Event {
    pub at: i64,
    pub what: String,
}

pub fn run(session: &Session<'_>, name: &str, part: Part) -> Result<Shown> {
    let view = session.view()?;
    let worker = &view.any_worker(&session.repo, name)?;
    match part {
        Part::Card => card(session, &view, worker).map(|c| Shown::Card(Box::new(c))),
        Part::Brief => worker.brief(&session.repo).map(Shown::Text),
        Part::Log => {
            let bytes = crate::host::read_optional(&session.local.log(worker.id))?.unwrap_or_default();
            Ok(Shown::Text(bytes.to_str_lossy().into_owned()))
        }
        Part::Events => events(session, worker).map(Shown::Events),
        Part::Diff => diff(session, worker).map(Shown::Text),
    }
}

/// The card of the worker that `name` means.
pub fn card_of(session: &Session<'_>, name: &str) -> Result<Card> {
    let view = session.view()?;
    card(session, &view, &view.any_worker(&session.repo, name)?)
}

fn card(session: &Session<'_>, view: &View, worker: &Worker) -> Result<Card> {
    let row = status::row(session, &status::Seen::of(session, view, true)?, worker)?;
    let closed = view.workers.iter().all(|w| w.id != worker.id);
    let row = match closed {
        true => row.archived(),
        false => Row { meets: overlap::neighbours_of(session, view, worker.id)?, ..row },
    };
    let discarded = discarded(session, worker)?;
    let row = match (discarded, row.files) {
        (Some(lost), 0) => Row { next: bring_back(&row, lost), ..row },
        _ => row,
    };
    let now = Picture::of(session, worker)?;
    let objects = now.objects(session);
    let changes = objects.diff_trees(objects.tree_of(worker.record.base)?, now.tree)?;
    let plan = |plan: &LaidOut| plan.against(&changes).map(|against| Planned { plan: plan.clone(), against });
    let plan = worker.record.plans.last().map(plan).transpose()?;
    let line =
        |c: Change| ChangeLine { state: letter(&c), path: c.path.to_str_lossy().into_owned(), raw: c.path };
    let record = &worker.record;
    let talk = status::talk(session, worker.id)?;
    let sent = |m: &Message| Sent {
        state: Delivery::of(record.outcome, m.delivered.is_some(), m.read.is_some()),
        message: m.clone(),
    };
    Ok(Card {
        row,
        progress: talk.progress,
        todos: talk.todos,
        messages: record.messages.iter().map(sent).collect(),
        passed: match record.claim.is_some() || !record.checks.is_empty() {
            true => observed(session, view, worker)?,
            false => Vec::new(),
        },
        loaded: record.loaded.clone(),
        claim: record.claim.clone(),
        agent: record.agent.clone(),
        paths: record.paths.clone(),
        checks: record.checks.clone(),
        exit: record.exit,
        outside: record.outside.clone(),
        jail: record.jail,
        kind: record.kind.clone(),
        seed: record.seed.clone().map(|seed| WentOn {
            handle: view
                .any_worker(&session.repo, &seed.worker.to_string())
                .ok()
                .map(|w| w.record.handle.clone()),
            seed,
        }),
        plan,
        said: said(session, worker)?,
        discarded,
        changes: changes.into_iter().map(line).collect(),
    })
}

/// The newest snapshot with what it threw away, if it did.
fn discarded(session: &Session<'_>, worker: &Worker) -> Result<Option<Oid>> {
    if !worker.record.flags.contains(&Flag::SelfDiscarded) {
        return Ok(None);
    }
    let seen = custody::from_refs(session, worker, Kept { head: worker.head, wip: worker.wip })?;
    snapshot::discarded_in(session, worker.record.base, &seen)
}

fn bring_back(row: &Row, lost: Oid) -> String {
    format!("git skein restore {} --snapshot {} --to <folder>", row.handle, lost.short())
}

/// git's letter for it.
pub fn letter(change: &Change) -> char {
    match (change.old, change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some((a, _)), Some((b, _))) if a != b && (a == Mode::Link || b == Mode::Link) => 'T',
        _ => 'M',
    }
}

/// What the agent said, as far as that is known.
fn said(session: &Session<'_>, worker: &Worker) -> Result<Option<Tally>> {
    let tally = Tally::of(crate::domain::events(&recorder::events(session, worker)?));
    Ok(Some(tally).filter(|tally| !tally.is_empty()))
}

/// The commands that a gate saw pass on the tree of one of its commits.
fn observed(session: &Session<'_>, view: &View, worker: &Worker) -> Result<Vec<String>> {
    let objects = &session.repo.objects;
    let proofs = Proofs::load(&session.repo, view)?;
    let mut found = Vec::new();
    for oid in objects.between(worker.record.base, worker.tip())? {
        let passed = proofs.of(objects.tree_of(oid)?).filter(|evidence| evidence.is_pass(false));
        found.extend(passed.map(|evidence| evidence.command.clone()));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn events(session: &Session<'_>, worker: &Worker) -> Result<Vec<Event>> {
    let objects = &session.repo.objects;
    let mut found = Vec::new();
    let mut next = Some(worker.at);
    while let Some(oid) = next.filter(|o| *o != worker.record.base) {
        let commit = objects.commit(oid)?;
        let seconds = commit.committer.rsplit_str(" ").nth(1).and_then(|s| s.to_str().ok()?.parse().ok());
        found.push(Event { at: seconds.unwrap_or(0), what: commit.subject().to_str_lossy().into_owned() });
        next = commit.parents.first().copied();
    }
    found.reverse();
    let told = recorder::events(session, worker)?;
    found.extend(crate::domain::events(&told).map(|e| Event { at: e.at, what: e.words() }));
    // A stable sort: what happened in the same second stays in its own order.
    found.sort_by_key(|e| e.at);
    Ok(found)
}

/// The change set as a unified diff, for reading; landing never goes through patch text.
fn diff(session: &Session<'_>, worker: &Worker) -> Result<String> {
    let now = Picture::of(session, worker)?;
    let objects = now.objects(session);
    let base = objects.tree_of(worker.record.base)?;
    let changes = objects.diff_trees(base, now.tree)?;
    changes.iter().map(|change| patch(objects, change)).collect()
}

/// One change as a unified diff.
pub fn patch(objects: &Objects, change: &Change) -> Result<String> {
    let path = change.path.to_str_lossy();
    let name = |side: Option<Entry>, letter| match side {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!("diff --git a/{path} b/{path}\n");
    match (change.old.map(|s| s.0), change.new.map(|s| s.0)) {
        (Some(a), Some(b)) if a != b => out.push_str(&format!("old mode {a}\nnew mode {b}\n")),
        (None, Some(b)) => out.push_str(&format!("new file mode {b}\n")),
        (Some(a), None) => out.push_str(&format!("deleted file mode {a}\n")),
        _ => {}
    }
    let (old, new) = (content(objects, change.old)?, content(objects, change.new)?);
    let (before, after) = (name(change.old, 'a'), name(change.new, 'b'));
    if old.contains(&0) || new.contains(&0) {
        return Ok(out + &format!("Binary files {before} and {after} differ\n"));
    }
    let (old, new) = (old.to_str_lossy(), new.to_str_lossy());
    let diff = TextDiff::from_lines(&*old, &*new);
    Ok(out + &diff.unified_diff().context_radius(3).header(&before, &after).to_string())
}

fn content(objects: &Objects, side: Option<Entry>) -> Result<Vec<u8>> {
    match side {
        Some((Mode::Gitlink, oid)) => Ok(format!("submodule {oid}\n").into_bytes()),
        Some((_, oid)) => match objects.try_read(oid)? {
            Some((Kind::Blob, bytes)) => Ok(bytes),
            _ => Ok(b"(missing)\n".to_vec()),
        },
        None => Ok(Vec::new()),
    }
}
