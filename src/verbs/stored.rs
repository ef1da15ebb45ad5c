//! What git would store of a working tree. A snapshot holds files as they stand on the disk, so that no filter
//! can lose a byte of them; what is taken home, compared or shown is what `git add` would make of them.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::host::Scratch;
use crate::plumbing::Asked;
use crate::plumbing::Objects;
use crate::plumbing::Settings;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::custody;
use crate::verbs::jail;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use bstr::BString;
use bstr::ByteSlice;
use std::path::Path;
use std::path::PathBuf;

/// The tree `disk`, seen on top of commit `head` of a worker of `base`, as git would store it.
/// The filters of the person run at the worker's `level`.
pub fn tree(session: &Session<'_>, level: Jail, base: Oid, head: Oid, disk: Oid) -> Result<Oid> {
    tree_in(session, &session.repo.objects, level, base, head, disk)
}

fn tree_in(
    session: &Session<'_>,
    objects: &Objects,
    level: Jail,
    base: Oid,
    head: Oid,
    disk: Oid,
) -> Result<Oid> {
    let asked = Asked { disk, head: objects.tree_of(head)?, rules: objects.tree_of(base)? };
    if asked.disk == asked.head {
        return Ok(disk);
    }
    let mut settings = settings(session)?;
    if !session.repo.may_convert(objects, asked, &settings)? {
        return Ok(disk);
    }
    let scratch = Scratch::new(session.env, "skein-stored-")?;
    if level == Jail::Bwrap {
        settings.walls = jail::around_filters(session, scratch.path(), objects.dir())?;
    }
    session.repo.stored(objects, asked, &settings, scratch.path())
}

/// What the worker changed beyond its `HEAD`, where that is only to be told: what git cannot store, or must not
/// be asked to, counts as it stands.
pub fn leftovers(session: &Session<'_>, record: &WorkerRecord, seen: &Seen) -> Result<Vec<Change>> {
    let objects = &session.repo.objects;
    let stored = if is_safe(record) {
        tree(session, record.jail, record.base, seen.head, seen.tree)
    } else {
        Ok(seen.tree)
    };
    objects.diff_trees(objects.tree_of(seen.head)?, stored.unwrap_or(seen.tree))
}

/// Whether the working tree holds what `HEAD` does not, in git's eyes, at the end of a run. What git said is noted,
/// so that it is not asked again by everyone who looks.
pub fn is_uncommitted(session: &Session<'_>, record: &WorkerRecord, seen: &Seen) -> Result<bool> {
    let (id, base) = (record.worker, record.base);
    let head = session.repo.objects.tree_of(seen.head)?;
    let Ok(stored) = tree(session, record.jail, base, seen.head, seen.tree) else { return Ok(true) };
    if seen.tree != head {
        // It only spares work: without it git is asked again.
        let note = format!("{base} {} {} {stored}\n", seen.head, seen.tree);
        let _ = crate::host::put(&session.local.stored(id), note.as_bytes());
    }
    Ok(stored != head)
}

/// What was noted at the end of its run of the same working tree, as long as the objects are there.
fn noted(session: &Session<'_>, id: WorkerId, base: Oid, head: Oid, disk: Oid) -> Option<Oid> {
    let note = crate::host::read_optional(&session.local.stored(id)).ok()??;
    let note = String::from_utf8(note).ok()?;
    let tree: Oid = note.trim_end().strip_prefix(&format!("{base} {head} {disk} "))?.parse().ok()?;
    let objects = &session.repo.objects;
    let changes = objects.diff_trees(disk, tree).ok()?;
    changes.iter().all(|c| c.new.is_none_or(|(_, oid)| objects.exists(oid))).then_some(tree)
}

/// A refusal of git leaves the tree as it stands on the disk.
pub fn or_disk(stored: Result<Oid>, disk: Oid) -> Result<Oid> {
    match stored {
        Err(Failure::Refusal(_)) => Ok(disk),
        other => other,
    }
}

/// Whether filters may run on its work unasked. A worker without a jail can write into the person's own
/// configuration: while that may be so, nothing runs.
fn is_safe(record: &WorkerRecord) -> bool {
    let lost = record.flags.contains(&Flag::SupervisorLost);
    record.outcome != Outcome::Active && record.outside.is_empty() && !lost
}

/// The newest picture of a worker's work as git would store it. What that needs is in `objects` alone: nothing
/// is written.
pub struct Picture {
    objects: Option<Objects>,
    pub head: Oid,
    pub tree: Oid,
}

impl Picture {
    pub fn of(session: &Session<'_>, worker: &Worker) -> Result<Picture> {
        let (head, disk) = custody::picture(session, worker)?;
        Picture::at(session, worker, head, disk)
    }

    /// Of one snapshot of it.
    pub fn of_snapshot(session: &Session<'_>, worker: &Worker, wip: Oid) -> Result<Picture> {
        let snapshot = session.repo.objects.commit(wip)?;
        let head = snapshot.parents.first().copied().unwrap_or(worker.record.base);
        Picture::at(session, worker, head, snapshot.tree)
    }

    fn at(session: &Session<'_>, worker: &Worker, head: Oid, disk: Oid) -> Result<Picture> {
        if let Some(tree) = known(session, worker, head, disk)? {
            return Ok(Picture { objects: None, head, tree });
        }
        let scratch = session.repo.objects.scratch()?;
        let tree = converted(session, worker, head, disk, &scratch);
        Ok(Picture { objects: Some(scratch), head, tree })
    }

    /// Where its tree is.
    pub fn objects<'p>(&'p self, session: &'p Session<'_>) -> &'p Objects {
        self.objects.as_ref().unwrap_or(&session.repo.objects)
    }
}

/// The same, as `HEAD` and tree, with what it needs in `objects`.
pub fn picture_in(session: &Session<'_>, worker: &Worker, objects: &Objects) -> Result<(Oid, Oid)> {
    let (head, disk) = custody::picture(session, worker)?;
    let known = known(session, worker, head, disk)?;
    Ok((head, known.unwrap_or_else(|| converted(session, worker, head, disk, objects))))
}

/// The same as far as it is known: no filter runs.
pub fn known_picture(session: &Session<'_>, worker: &Worker) -> Result<Option<(Oid, Oid)>> {
    let (head, disk) = custody::picture(session, worker)?;
    Ok(known(session, worker, head, disk)?.map(|tree| (head, tree)))
}

/// The tree, where nothing has to be converted for it, or must be.
fn known(session: &Session<'_>, worker: &Worker, head: Oid, disk: Oid) -> Result<Option<Oid>> {
    let record = &worker.record;
    let objects = &session.repo.objects;
    if disk == objects.tree_of(head)? || !is_safe(record) || !objects.exists(record.base) {
        return Ok(Some(disk));
    }
    Ok(noted(session, worker.id, record.base, head, disk))
}

fn converted(session: &Session<'_>, worker: &Worker, head: Oid, disk: Oid, objects: &Objects) -> Oid {
    let record = &worker.record;
    tree_in(session, objects, record.jail, record.base, head, disk).unwrap_or(disk)
}

/// The attribute files in `tree` that store files in another way than the worker's base does.
pub fn rules_changed(session: &Session<'_>, base: Oid, tree: Oid) -> Result<Vec<BString>> {
    let objects = &session.repo.objects;
    let settings = settings(session)?;
    objects.rules_changed(objects.tree_of(base)?, tree, &settings.attributes)
}

/// Refuses a working tree whose rules are not those that its files would be stored by.
pub fn refuse_changed_rules(session: &Session<'_>, worker: &Worker, disk: Oid) -> Result<()> {
    let record = &worker.record;
    let changed = rules_changed(session, record.base, disk)?;
    if changed.is_empty() {
        return Ok(());
    }
    let handle = &record.handle;
    Err(Refusal::new(Token::FilterChanged, format!("{handle} changed how git stores files"))
        .oid("base", record.base)
        .lines(changed.iter().map(|path| path.to_str_lossy().into_owned()))
        .show(format!(
            "git diff {} -- ':(glob)**/.gitattributes'; git status --short -uall # both in its worktree",
            record.base
        ))
        .next("if that was the task, commit in its worktree what is to be taken, then import again")
        .into())
}

/// What of the person's own settings converts files.
fn settings(session: &Session<'_>) -> Result<Settings> {
    let off = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0" | "");
    let mut attributes = Vec::new();
    for file in attribute_files(session) {
        attributes.extend(crate::host::read_optional(&file)?.map(BString::from));
    }
    let autocrlf = session.config.get("core.autocrlf").is_some_and(|value| !off(value));
    Ok(Settings { autocrlf, attributes, walls: Vec::new() })
}

/// Where git looks for attributes outside a tree.
fn attribute_files(session: &Session<'_>) -> Vec<PathBuf> {
    let system = crate::host::find_program(session.env, "git").ok();
    let beside = system.as_deref().and_then(Path::parent).and_then(Path::parent);
    let system = beside.map(|prefix| prefix.join("etc/gitattributes"));
    let shared = session.repo.dirs.common.join("info/attributes");
    let own = session.own_file("core.attributesfile", "attributes");
    [Some(PathBuf::from("/etc/gitattributes")), system, own, Some(shared)].into_iter().flatten().collect()
}
