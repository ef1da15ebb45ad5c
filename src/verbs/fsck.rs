//! `fsck`: everything that is stored is looked at, without caches and without trust. It writes nothing, but for
//! `--rebuild`, which makes again what follows from the rest.

use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::quoted;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::plumbing::Worktree;
use crate::state::Audit;
use crate::state::Code;
use crate::state::Draft;
use crate::state::Finding;
use crate::state::LIST_SHARED;
pub use crate::state::Level;
use crate::state::locked_for;
use crate::verbs::checkout;
use crate::verbs::custody;
use crate::verbs::init;
use crate::verbs::landing::Landings;
use crate::verbs::session::Session;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Errors first.
    pub findings: Vec<Finding>,
    /// What `--rebuild` made or removed.
    pub rebuilt: Vec<String>,
    /// How many workers and records were looked at.
    pub workers: usize,
    pub records: usize,
}

impl Report {
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|f| f.level == level).count()
    }
}

pub fn run(session: &mut Session<'_>, rebuild: bool) -> Result<Report> {
    let rebuilt = if rebuild { make_again(session)? } else { Vec::new() };
    session.rehearse()?;
    let audit = look(session)?;
    let mut findings = audit.findings;
    if !findings.is_empty() {
        // Refs, worktrees and files are read one after the other, and other verbs go on: what is wrong stays so.
        let again = look(session)?.findings;
        findings.retain(|finding| again.contains(finding));
    }
    findings.sort_by_key(|f| f.level == Level::Warning);
    Ok(Report { findings, rebuilt, workers: audit.workers.len(), records: audit.records })
}

fn look<'s>(session: &'s Session<'_>) -> Result<Audit<'s>> {
    let mut audit = Audit::of(&session.repo, session.clone_id())?;
    let worktrees = session.repo.worktrees()?;
    standing(session, &mut audit, &worktrees);
    supervised(session, &mut audit, &worktrees);
    left_behind(session, &mut audit, &worktrees);
    Ok(audit)
}

const LIST: &str = "git worktree list --porcelain";

/// Each worktree that is locked for a worker, beside the records and keep-refs.
fn standing(session: &Session<'_>, audit: &mut Audit<'_>, worktrees: &[Worktree]) {
    let mut seen = BTreeSet::new();
    for worktree in worktrees {
        let Some(id) = worktree.locked.as_deref().and_then(locked_for) else { continue };
        let place = worktree.path.display();
        if !seen.insert(id) {
            audit.add(Code::WorktreeStray, place, format!("worker {id} has another worktree"), LIST);
        } else if !audit.workers.contains_key(&id) {
            let says = format!("it is locked for worker {id}, whom no record knows");
            audit.add(Code::WorktreeStray, place, says, LIST);
        } else if !audit.keeps_head(id) && owns(session, audit, id) {
            let says = format!("worker {id} has a worktree, but no ref keeps its HEAD");
            audit.add(Code::KeepRefMissing, place, says, "git for-each-ref --contains <its HEAD>");
        }
    }
}

fn owns(session: &Session<'_>, audit: &Audit<'_>, id: WorkerId) -> bool {
    let record = audit.workers.get(&id).and_then(Option::as_ref);
    record.is_some_and(|r| session.clone_id() == Some(r.clone.as_str()))
}

/// Workers of this clone whose worktree or supervisor is gone.
fn supervised(session: &Session<'_>, audit: &mut Audit<'_>, worktrees: &[Worktree]) {
    let own = audit.workers.keys().copied().filter(|id| owns(session, audit, *id)).collect::<Vec<_>>();
    for id in own {
        let Some(record) = audit.workers.get(&id).cloned().flatten() else { continue };
        let stands = custody::worktree(worktrees, id).is_some_and(|w| w.path.join(".git").is_file());
        if record.tip.is_some() && !stands {
            audit.add(
                Code::WorktreeMissing,
                &record.handle,
                format!("the worktree of worker {id} is gone"),
                LIST,
            );
        }
        if custody::supervisor_lost(session, &record) {
            let says = format!("worker {id} is active, but nobody holds its lock");
            audit.add(Code::LockStale, &record.handle, says, LIST);
        }
    }
}

/// What dead processes left on this machine. The next verb that writes ends most of it.
fn left_behind(session: &Session<'_>, audit: &mut Audit<'_>, worktrees: &[Worktree]) {
    let free = |lock: &Path| !crate::host::is_held(lock).unwrap_or(true);
    let no_landing = free(&session.local.land_lock());
    for worktree in worktrees {
        let Some(mark) = session.repo.index_lock(&worktree.admin()) else { continue };
        let landed = no_landing && checkout::marked_by(&mark).is_some();
        let entered = checkout::entered_by(&mark).is_some_and(|doc| free(&session.local.document_lock(doc)));
        if landed || entered {
            let who = if landed { "a landing" } else { "a commit of a document" };
            let show = format!("git -C {} status", quoted(&worktree.path));
            audit.add(
                Code::LockStale,
                worktree.path.display(),
                format!("{who} locked its index and ended"),
                show,
            );
        }
    }
    let mut entries: Vec<_> =
        std::fs::read_dir(session.local.run()).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with("gate-") && free(&path.join("lock")) {
            audit.add(Code::LockStale, path.display(), "its gate has ended", LIST);
        } else if name.parse::<WorkerId>().is_ok_and(|id| !audit.workers.contains_key(&id)) {
            audit.add(
                Code::RunStray,
                path.display(),
                "no record knows the worker that ran there",
                LIST_SHARED,
            );
        }
    }
}

/// Makes again what follows from records and lanes.
fn make_again(session: &mut Session<'_>) -> Result<Vec<String>> {
    session.refuse_in_worker("fsck --rebuild")?;
    if !session.view()?.initialised {
        return Ok(Vec::new());
    }
    init::ensure(session)?;
    let clone = session.clone_id().unwrap_or_default().to_owned();
    let held = Landings::begin(session, &clone)?;
    let session = held.session;
    let audit = look(session)?;
    let mut edits: Vec<Edit> = audit.rebuilt_notes()?.into_iter().collect();
    let own = audit.workers.keys().filter(|id| owns(session, &audit, **id));
    edits.extend(own.filter_map(|id| audit.rebuilt_head(*id)));
    let mut rebuilt: Vec<String> = edits.iter().map(|e| format!("made {} again", e.name)).collect();
    let names: Vec<RefName> = edits.iter().map(|e| e.name.clone()).collect();
    let draft = edits.into_iter().fold(Draft::new(&session.repo), Draft::put);
    if !names.is_empty() && draft.publish()? != Moved::Done {
        return Err(Refusal::new(Token::RecordMoved, "somebody else wrote what was to be made again")
            .lines(names.iter().map(RefName::to_string))
            .show(format!(
                "git for-each-ref {}",
                names.iter().map(RefName::as_str).collect::<Vec<_>>().join(" ")
            ))
            .next("do the same again")
            .into());
    }
    crate::fault::point("fsck: refs made again");
    let cache = session.local.cache();
    if cache.exists() {
        crate::host::remove_tree(&cache)?;
        rebuilt.push(format!("removed {}", cache.display()));
    }
    Ok(rebuilt)
}
