//! What is under way, what stands where, and what was left behind.

use crate::domain::Oid;
use crate::domain::doctor::Facts;
use crate::domain::doctor::Finding;
use crate::domain::quoted;
use serde::Serialize;

/// A worktree that git has registered.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub path: String,
    /// Short name of the branch checked out.
    pub branch: Option<String>,
    /// Its folder is there.
    pub there: bool,
    /// Its folder names a git folder that is nowhere.
    pub cut_off: bool,
    /// The worker it is locked for.
    pub worker: Option<String>,
    /// That worker has a record.
    pub recorded: bool,
    /// What is in progress there, such as a rebase.
    pub progress: Option<&'static str>,
}

/// A lock file in the shared git folder.
#[derive(Debug, Clone)]
pub struct LockFile {
    pub path: String,
    /// The operation of ours that it names.
    pub op: Option<String>,
    /// The processes that have it open, `<pid> <name>`. None where this cannot be seen.
    pub holders: Option<Vec<String>>,
    /// A landing of ours runs at this moment.
    pub owner_lives: bool,
}

/// A commit that some worker made, that no ref keeps and that has not landed. Nothing else that is lost
/// contains it.
#[derive(Debug, Clone, Serialize)]
pub struct Lost {
    pub oid: Oid,
    pub subject: String,
}

/// A landing that was begun and has no end yet.
#[derive(Debug, Clone)]
pub struct Intent {
    pub op: String,
    pub onto: String,
    /// Somebody holds the land lock.
    pub running: bool,
}

const FIX: &str = "git skein doctor --fix";

/// What only the state can tell, where it cannot be read.
fn blind(check: &'static str, facts: &Facts) -> Option<Vec<Finding>> {
    let says = "not looked for, since the state cannot be read";
    facts.refused.is_some().then(|| vec![Finding::note(check, says)])
}

pub fn state(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let refused = facts.refused.iter().map(|r| {
        Finding::problem(check, format!("{}: {}", r.token.as_str(), r.says))
            .lines(r.oids.iter().map(|(what, oid)| format!("{what} {oid}")))
            .show(r.show.clone())
            .next(r.next.clone())
    });
    let faults = facts.faults.iter().map(|fault| {
        Finding::problem(check, fault.clone())
            .show("git fsck")
            .next("repair the repository, from a backup or another clone")
    });
    let unreadable = facts.unreadable.iter().map(|why| {
        Finding::warning(check, format!("a record cannot be read: {why}"))
            .show(format!("git for-each-ref {}", facts.ours.namespaces.first().unwrap_or(&"")))
            .next("use the version of git-skein that wrote it")
    });
    let found: Vec<Finding> = refused.chain(faults).chain(unreadable).collect();
    if !found.is_empty() {
        return found;
    }
    let says = if facts.ours.any { "all refs of this program can be read" } else { "there is no state yet" };
    let show = format!("git for-each-ref {}", facts.ours.namespaces.join(" "));
    vec![Finding::ok(check, says).show(show)]
}

pub fn trunk(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if let Some(blind) = blind(check, facts) {
        return blind;
    }
    let Some(trunk) = &facts.trunk else {
        return vec![
            Finding::warning(check, "no branch is the trunk that work lands on")
                .show("git branch --list")
                .next("git config skein.trunk <branch>, once there is a commit on it"),
        ];
    };
    let here: Vec<&Tree> = facts.worktrees.iter().filter(|t| t.branch.as_ref() == Some(trunk)).collect();
    let paths = || here.iter().map(|t| t.path.clone());
    match here.as_slice() {
        [] => vec![Finding::ok(check, format!("{trunk}, checked out nowhere"))],
        [one] => match one.progress {
            Some(what) => vec![
                Finding::note(check, format!("{trunk}; a {what} is in progress where it is checked out"))
                    .lines(paths())
                    .show(format!("git -C {} status", quoted(&one.path)))
                    .next("finish or abort it before something lands"),
            ],
            None => vec![Finding::ok(check, format!("{trunk}, checked out in {}", one.path))],
        },
        _ => vec![
            Finding::problem(check, format!("{trunk} is checked out more than once: nothing lands on it"))
                .lines(paths())
                .show("git worktree list")
                .next("switch all but one of them to another branch"),
        ],
    }
}

pub fn worktrees(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if let Some(blind) = blind(check, facts) {
        return blind;
    }
    let mut found = Vec::new();
    for tree in &facts.worktrees {
        match (&tree.worker, tree.there) {
            (Some(id), there) if !tree.recorded => {
                let folder = if there { "" } else { ", and its folder is gone" };
                found.push(
                    Finding::warning(
                        check,
                        format!("a worktree is locked for worker {id}, which has no record{folder}"),
                    )
                    .lines([tree.path.clone()])
                    .show("git worktree list --verbose")
                    .next(format!(
                        "look at it, then: git worktree remove --force --force {}",
                        quoted(&tree.path)
                    )),
                );
            }
            (Some(id), false) => found.push(
                Finding::note(check, format!("the worktree of worker {id} is gone; its commits are kept"))
                    .lines([tree.path.clone()])
                    .show("git worktree list --verbose"),
            ),
            (None, false) => found.push(
                Finding::warning(check, "a worktree is registered whose folder is gone")
                    .lines([tree.path.clone()])
                    .show("git worktree list --verbose")
                    .next("git worktree prune, or git worktree repair <where it is now>"),
            ),
            _ => {}
        }
    }
    let cut_off: Vec<String> = facts.worktrees.iter().filter(|t| t.cut_off).map(|t| t.path.clone()).collect();
    if !cut_off.is_empty() {
        found.push(
            Finding::warning(check, "worktrees look for this repository where it was before it was moved")
                .lines(cut_off)
                .show("git worktree list")
                .next("git worktree repair"),
        );
    }
    if !facts.strangers.is_empty() {
        found.push(
            Finding::warning(check, "folders stand among the worktrees that git does not know")
                .lines(facts.strangers.clone())
                .show("git worktree list")
                .next("look into them, then move them away: a worker of that name cannot be made"),
        );
    }
    if found.is_empty() {
        let says = format!("{} registered, all there", facts.worktrees.len());
        found.push(Finding::ok(check, says).show("git worktree list"));
    }
    found
}

pub fn locks(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.locks.is_empty() {
        return vec![Finding::ok(check, "no lock is held or left behind")];
    }
    let one = |lock: &LockFile| {
        let show = format!("fuser -v {}", quoted(&lock.path));
        let found = match (&lock.op, &lock.holders) {
            (Some(op), _) if lock.owner_lives => Finding::note(check, format!("operation {op} holds a lock")),
            (Some(op), _) => {
                Finding::warning(check, format!("operation {op} is dead and left its lock")).next(FIX)
            }
            (None, None) => Finding::note(check, "a lock is there; who holds it cannot be seen here"),
            (None, Some(holders)) if holders.is_empty() => {
                Finding::warning(check, "no process has this lock of git's open")
                    .next(format!("if no git runs here any more: rm {}", quoted(&lock.path)))
            }
            (None, Some(holders)) => {
                Finding::note(check, format!("a lock is held by process {}", holders.join(", ")))
            }
        };
        found.lines([lock.path.clone()]).show(show)
    };
    facts.locks.iter().map(one).collect()
}

pub fn empty_objects(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.empty.is_empty() {
        return vec![Finding::ok(check, "no file of an object is empty")];
    }
    // Only these folders: an empty file beside a pack means something.
    let empty = format!("find {}/?? -type f -empty ! -name 'tmp_*'", quoted(facts.common.join("objects")));
    let says = "a power cut left files of objects without a byte, and git takes them for the objects; once they are \
                gone it writes them again, and git fsck names what is missing";
    vec![
        Finding::problem(check, says)
            .lines(facts.empty.clone())
            .show(empty.clone())
            .next(format!("{empty} -delete; git fsck")),
    ]
}

pub fn intents(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if let Some(blind) = blind(check, facts) {
        return blind;
    }
    vec![match &facts.intent {
        None => Finding::ok(check, "no landing is open"),
        Some(i) if i.running => {
            Finding::note(check, format!("landing {} on {} is under way", i.op, i.onto)).show("git skein log")
        }
        Some(i) => Finding::warning(check, format!("landing {} on {} was cut short", i.op, i.onto))
            .show("git skein log")
            .next(FIX),
    }]
}

pub fn workers(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if let Some(blind) = blind(check, facts) {
        return blind;
    }
    if facts.gone.is_empty() {
        return vec![Finding::ok(check, "every worker that is to run has its supervisor")];
    }
    vec![
        Finding::warning(check, "workers are recorded as running, but their supervisors are gone")
            .lines(facts.gone.clone())
            .show("git skein status")
            .next(FIX),
    ]
}

/// The branch that keeps a lost commit.
pub fn rescue(lost: &Lost) -> String {
    format!("rescue/{}", lost.oid.short())
}

pub fn lost(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if let Some(blind) = blind(check, facts) {
        return blind;
    }
    let Some(first) = facts.lost.first() else {
        return vec![Finding::ok(check, "every commit of a worker is kept by a ref, or has landed")];
    };
    vec![
        Finding::problem(check, "commits that workers made are kept by no ref: git will collect them")
            .lines(facts.lost.iter().map(|l| format!("{} {}", l.oid, l.subject)))
            .show("git fsck --no-reflogs --unreachable")
            .next(format!("{FIX}, or git branch {} {}", rescue(first), first.oid)),
    ]
}
