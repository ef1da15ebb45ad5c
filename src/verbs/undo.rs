//! `undo`: the branch goes back to where it was before an operation. It is a landing in the other direction,
//! and moves as one: journalled, by compare-and-swap, with the checkout.

use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::quoted;
use crate::state::LIST_LANES;
use crate::state::Landing;
use crate::state::Ledger;
use crate::state::Move;
use crate::state::Undo;
use crate::state::View;
use crate::state::lane_ref;
use crate::state::open_move;
use crate::state::records;
use crate::state::tip;
use crate::verbs::land;
use crate::verbs::landing;
use crate::verbs::landing::Landings;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Default)]
pub struct Request {
    /// An operation or a unique prefix of one; else the newest landing of this clone that stands.
    pub op: Option<String>,
    pub dry_run: bool,
}

/// How it ended well.
#[derive(Debug, Serialize)]
pub struct Undone {
    /// The undo itself.
    pub op: OpId,
    pub undoes: OpId,
    pub onto: RefName,
    pub old: Oid,
    pub new: Oid,
    /// Commits that the branch let go, or has again if an undo was undone.
    pub commits: usize,
    pub paths: usize,
    /// The worker whose work it is; none for a person's branch.
    pub worker: Option<WorkerId>,
    /// The worker or the branch, for people.
    pub name: String,
    /// An undo was undone: the branch went forward.
    pub forward: bool,
    /// It was undone before; nothing was done.
    pub already: bool,
    /// `--dry-run`: nothing was done.
    pub dry_run: bool,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Undone> {
    session.refuse_in_worker("undo")?;
    let view = session.view()?;
    if view.lanes.is_empty() {
        return Err(nothing(None));
    }
    let interrupted = match session.clone_id() {
        Some(clone) if request.op.is_none() => open_move(&session.repo, tip(&session.repo, clone)?)?,
        _ => None,
    };
    land::begin(session, request.dry_run)?;
    let clone = session.clone_id().unwrap_or_default().to_owned();
    let held = if request.dry_run { None } else { Some(Landings::begin(session, &clone)?) };
    let view = session.view()?;
    let past = Past { session, ledger: Ledger::load(&session.repo, &view)?, view };
    if let Some(begun) = interrupted.filter(|m| m.undoes.is_some())
        && past.ledger.undos.iter().any(|(op, _, _)| *op == begun.op)
    {
        // What a dead process began was this very thing: to go on from there would undo twice.
        return past.outcome(&begun).map(|done| Undone { already: true, ..done });
    }
    let target = match &request.op {
        Some(prefix) => past.named(prefix)?,
        None => past.newest(&clone)?,
    };
    let undo = match past.judge(&target)? {
        Verdict::Already(undo) => return past.outcome(&undo).map(|done| Undone { already: true, ..done }),
        Verdict::Go(undo) => undo,
    };
    let done = past.outcome(&undo)?;
    if let Some(held) = held {
        landing::integrate(&held, &undo, None)?;
    }
    Ok(Undone { dry_run: request.dry_run, ..done })
}

/// What was moved before, and how things are now.
struct Past<'a> {
    session: &'a Session<'a>,
    ledger: Ledger,
    view: View,
}

enum Verdict {
    Go(Move),
    /// By this undo.
    Already(Move),
}

impl Past<'_> {
    /// Every finished move.
    fn moves(&self) -> impl Iterator<Item = Move> + '_ {
        let landings = self.ledger.landings.iter();
        let landings = landings.map(|(op, at, landing)| landing.clone().into_move(*op, *at));
        landings.chain(self.ledger.undos.iter().map(|(op, at, u)| u.to_move(*op, *at)))
    }

    fn find(&self, op: OpId) -> Option<Move> {
        self.moves().find(|m| m.op == op)
    }

    /// The landing that is newest on the lane of this clone among those that stand.
    fn newest(&self, clone: &str) -> Result<Move> {
        for (_, record) in records(&self.session.repo, self.view.lanes.get(clone).copied())? {
            let stands = |m: &Move| m.undoes.is_none() && !self.ledger.is_taken_back(m.op);
            if let Some(found) = self.find(record.op).filter(stands) {
                return Ok(found);
            }
        }
        Err(nothing(Some(clone)))
    }

    /// The operation that `prefix` means, as the log prints it.
    fn named(&self, prefix: &str) -> Result<Move> {
        let lower = prefix.to_ascii_lowercase();
        let mut found: BTreeSet<OpId> = BTreeSet::new();
        for tip in self.view.lanes.values() {
            let all = records(&self.session.repo, Some(*tip))?;
            found.extend(all.iter().map(|(_, r)| r.op).filter(|op| op.to_string().starts_with(&lower)));
        }
        let list = || found.iter().map(OpId::to_string);
        match found.first().filter(|_| !lower.is_empty()) {
            Some(_) if found.len() > 1 => Err(Refusal::new(
                Token::AmbiguousOperation,
                format!("{prefix:?} fits {} operations", found.len()),
            )
            .lines(list())
            .show(LIST_LANES)
            .next("give more letters of it; git skein log prints them")
            .into()),
            Some(op) => self.find(*op).ok_or_else(|| {
                Refusal::new(Token::NothingToUndo, format!("operation {op} moved no branch"))
                    .show(LIST_LANES)
                    .next("name a landing or an undo; git skein log lists them")
                    .into()
            }),
            None => Err(Refusal::new(Token::NoSuchOperation, format!("no operation begins with {prefix:?}"))
                .show(LIST_LANES)
                .next("git skein log lists the operations")
                .into()),
        }
    }

    /// Whether `target` can be undone, and how.
    fn judge(&self, target: &Move) -> Result<Verdict> {
        let objects = &self.session.repo.objects;
        let Landing { onto, old, new, .. } = &target.landing;
        if onto.is_tracking() {
            return Err(self.refuse_pushed(target, onto)?.into());
        }
        let tip = self.session.branch_tip(&self.view, onto)?;
        let brought = objects.is_ancestor(*old, *new)?;
        let by = self.ledger.taken_back_by(target.op).and_then(|by| self.find(by));
        match by {
            _ if tip == *new => {}
            Some(by) if !brought || !objects.is_ancestor(*new, tip)? => return Ok(Verdict::Already(by)),
            _ if objects.is_ancestor(*new, tip)? => return Err(self.built_upon(target, tip)?.into()),
            _ => return Err(self.gone(target, tip).into()),
        }
        if brought && let Some(remote) = self.pushed(*new)? {
            return Err(self.refuse_pushed(target, &remote)?.into());
        }
        let clock = &self.session.clock;
        let undo = Undo { undoes: target.op, onto: onto.clone(), old: *new, new: *old };
        // The same operation may be undone, redone and undone again.
        let about = [target.op.to_string(), new.to_string(), self.ledger.undos.len().to_string()];
        let about: Vec<&str> = ["undo"].into_iter().chain(about.iter().map(String::as_str)).collect();
        Ok(Verdict::Go(undo.to_move(self.session.op_id(clock.now_millis(), &about), clock.now_secs())))
    }

    /// A remote-tracking branch that holds `commit`.
    fn pushed(&self, commit: Oid) -> Result<Option<RefName>> {
        let objects = &self.session.repo.objects;
        let remotes = self.session.repo.refs(&["refs/remotes"])?;
        let holds = |oid: Oid| objects.is_ancestor(commit, oid).unwrap_or(false);
        Ok(remotes.into_iter().find(|r| r.points_at.is_none() && holds(r.oid)).map(|r| r.name))
    }

    fn built_upon(&self, target: &Move, tip: Oid) -> Result<Refusal> {
        let objects = &self.session.repo.objects;
        let Landing { onto, old, new, .. } = &target.landing;
        let above = objects.between(*new, tip)?;
        let mut lines = Vec::new();
        for oid in above.iter().rev() {
            lines.push(format!("{} {}", oid.short(), objects.commit(*oid)?.subject().to_str_lossy()));
        }
        let says = format!("{} has other commits on top of it: {}", onto.short(), above.len());
        let refusal = Refusal::new(Token::BuiltUpon, says).oid("it moved to", *new).oid("it is at", tip);
        let refusal =
            refusal.lines(lines).show(format!("git log --oneline {}", quoted(format!("{old}..{onto}"))));
        Ok(refusal.next(self.remedy(target)?))
    }

    fn refuse_pushed(&self, target: &Move, remote: &RefName) -> Result<Refusal> {
        let new = target.landing.new;
        let refusal = Refusal::new(Token::Pushed, "others have it already: it was pushed")
            .oid("it moved to", new)
            .lines([remote.to_string()])
            .show(format!("git branch --remotes --contains {new}"));
        Ok(refusal.next(self.remedy(target)?))
    }

    fn gone(&self, target: &Move, tip: Oid) -> Refusal {
        let Landing { onto, new, .. } = &target.landing;
        Refusal::new(Token::NothingToUndo, format!("{} does not hold it any more", onto.short()))
            .oid("it moved to", *new)
            .oid("it is at", tip)
            .show(format!("git log --oneline {onto}..{new}"))
            .next("there is nothing to do; git reflog shows who moved the branch")
    }

    /// What to type instead: a worker that reverts it on top of all, to be landed as any other.
    fn remedy(&self, target: &Move) -> Result<String> {
        let (name, _) = self.subject(target);
        if target.undoes.is_some() {
            return Ok(format!("land it again: git skein land {}", quoted(&name)));
        }
        let onto = &target.landing.onto;
        let Some(commits) = self.revertible(&target.landing)? else {
            return Ok(format!("its history holds merges: revert it by hand on {}", onto.short()));
        };
        let taken = |h: &Handle| self.view.handle_taken(h);
        let handle = Handle::from_task(&format!("revert {name}")).unique(taken);
        let task = quoted(format!("Revert {name}"));
        Ok(format!(
            "git skein dispatch --wait --name {handle} --onto {} {task} -- git revert --no-edit {commits} && \
             git skein land {handle}",
            quoted(onto.short())
        ))
    }

    /// What to give to `git revert`; none if no one line of commits leads from the old to the new tip.
    fn revertible(&self, landing: &Landing) -> Result<Option<String>> {
        let objects = &self.session.repo.objects;
        let Landing { old, new, .. } = landing;
        let parents = objects.commit(*new)?.parents;
        if parents.len() > 1 && parents.first() == Some(old) {
            return Ok(Some(format!("-m 1 {new}")));
        }
        for oid in objects.between(*old, *new)? {
            if objects.commit(oid)?.parents.len() > 1 {
                return Ok(None);
            }
        }
        Ok(Some(format!("{old}..{new}")))
    }

    /// Whose work a move is about, however often it was undone and redone.
    fn subject(&self, target: &Move) -> (String, Option<WorkerId>) {
        let mut target = target.clone();
        // No chain is longer than all undos and the one to come; one that goes in a circle is nobody's.
        for _ in 0..=self.ledger.undos.len() {
            match target.undoes.and_then(|op| self.find(op)) {
                Some(before) => target = before,
                None => break,
            }
        }
        let landing = &target.landing;
        let handle = |id| self.view.workers.iter().find(|w| w.id == id).map(|w| w.record.handle.to_string());
        match (landing.delta.as_ref().map(|d| d.worker), &landing.branch) {
            (Some(id), _) => (handle(id).unwrap_or_else(|| id.to_string()), Some(id)),
            (None, Some(branch)) => (branch.short().to_owned(), None),
            (None, None) => (target.op.to_string(), None),
        }
    }

    fn outcome(&self, undo: &Move) -> Result<Undone> {
        let objects = &self.session.repo.objects;
        let Landing { onto, old, new, .. } = undo.landing.clone();
        let forward = objects.is_ancestor(old, new)?;
        let commits = if forward { objects.between(old, new)? } else { objects.between(new, old)? };
        let (name, worker) = self.subject(undo);
        Ok(Undone {
            op: undo.op,
            undoes: undo.undoes.unwrap_or(undo.op),
            paths: landing::changes(self.session, &undo.landing)?.len(),
            commits: commits.len(),
            onto,
            old,
            new,
            worker,
            name,
            forward,
            already: false,
            dry_run: false,
        })
    }
}

fn nothing(clone: Option<&str>) -> crate::domain::Failure {
    let show = clone.and_then(|c| lane_ref(c).ok()).map(|lane| format!("git log --oneline {lane}"));
    Refusal::new(Token::NothingToUndo, "no landing of this clone stands")
        .show(show.unwrap_or_else(|| LIST_LANES.to_owned()))
        .next("name an operation, also an undo; git skein log lists them")
        .into()
}
