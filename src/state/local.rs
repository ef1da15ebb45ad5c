//! What belongs to this machine: `<common git dir>/skein/`. `run/` and `cache/` are disposable.

use crate::domain::BundleId;
use crate::domain::DocId;
use crate::domain::OpId;
use crate::domain::WorkerId;
use std::path::Path;
use std::path::PathBuf;

/// The paths below one repository's shared git folder.
#[derive(Debug, Clone)]
pub struct Local {
    root: PathBuf,
}

impl Local {
    pub fn new(common: &Path) -> Local {
        Local { root: common.join("skein") }
    }

    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// What only spares work, and can be made again at any time.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The objects of all records as they were not long ago.
    pub fn record_cache(&self) -> PathBuf {
        self.cache().join("records")
    }

    /// Which file git reads as the system's configuration.
    pub fn system_note(&self) -> PathBuf {
        self.cache().join("system")
    }

    /// Which folder of this machine the clone's id was given to. Not disposable: a copy is told by it.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// What is known of commits without reading them, in the file with this digest.
    pub fn commits(&self, digest: &str) -> PathBuf {
        self.cache().join(format!("commits-{}", digest.get(..16).unwrap_or(digest)))
    }

    /// Held while a trunk is moved and the lane is written.
    pub fn land_lock(&self) -> PathBuf {
        self.run().join("land.lock")
    }

    /// Held while a worktree is registered or removed.
    pub fn worktree_lock(&self) -> PathBuf {
        self.run().join("worktree.lock")
    }

    /// Held while workers are closed, or one is opened again.
    pub fn reap_lock(&self) -> PathBuf {
        self.run().join("reap.lock")
    }

    /// Held while state is exchanged with a remote.
    pub fn sync_lock(&self) -> PathBuf {
        self.run().join("sync.lock")
    }

    /// Held by the runner of this clone.
    pub fn runner_lock(&self) -> PathBuf {
        self.run().join("runner.lock")
    }

    /// There once the result of a worker that was a brief of a queue is where that was.
    pub fn delivered(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("delivered")
    }

    /// Held by whoever writes a document.
    pub fn document_lock(&self, id: DocId) -> PathBuf {
        self.run().join(format!("doc-{id}.lock"))
    }

    pub fn worker(&self, id: WorkerId) -> PathBuf {
        self.run().join(id.to_string())
    }

    /// What a jailed worker has instead of the shared git folder. Not disposable before its commits came in.
    pub fn private(&self, id: WorkerId) -> PathBuf {
        self.root.join("private").join(id.to_string())
    }

    /// What a jailed agent has to keep of its own from run to run: its settings and sessions. Read as hostile.
    pub fn kept_home(&self, id: WorkerId) -> PathBuf {
        self.root.join("private").join(format!("{id}.home"))
    }

    /// Where the papers of bundles that it was given lie.
    pub fn references(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("references")
    }

    /// Which file a bundle came from. Not of the bundle itself, which is the same everywhere.
    pub fn origin(&self, id: BundleId) -> PathBuf {
        self.root.join("bundles").join(id.to_string())
    }

    /// Held by dispatch until the supervisor runs.
    pub fn making(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("making.lock")
    }

    /// Held by the supervisor as long as it lives.
    pub fn alive(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("alive.lock")
    }

    /// What belongs to its tmux window.
    pub fn pane(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("pane")
    }

    /// The agent's output.
    pub fn log(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("log")
    }

    /// The worktree's index as it was made.
    pub fn birth_index(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("birth-index")
    }

    /// What git would store of its working tree, as it was at the end.
    pub fn stored(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("stored")
    }

    /// Where its worktree is to stand.
    pub fn place(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("place")
    }

    /// The supervisor's process id: written before the agent starts.
    pub fn pid(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("pid")
    }

    /// What dispatch tells the supervisor.
    pub fn spec(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("spec.json")
    }

    /// The agent's command as it was given at dispatch.
    pub fn command(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("command.json")
    }

    pub fn brief(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("brief.md")
    }

    /// Where a worker puts what it says. All that it can write of ours.
    pub fn outbox(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("outbox")
    }

    /// The answers to it.
    pub fn replies(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("replies")
    }

    /// What it said, one JSON object a line.
    pub fn events(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("events.jsonl")
    }

    /// What it said of itself last: its list and its progress.
    pub fn talk(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("talk.json")
    }

    /// Changes when there is a new message for it.
    pub fn bell(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("bell")
    }

    /// Whom it was told to have met, and in which files.
    pub fn warnings(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("warnings")
    }

    /// How to behave and how to speak, for the agent.
    pub fn manners(&self, id: WorkerId) -> PathBuf {
        self.worker(id).join("manners.md")
    }

    /// Held by who runs a gate; beside it the throwaway worktree.
    pub fn gate(&self, op: OpId) -> PathBuf {
        self.run().join(format!("gate-{op}"))
    }
}

/// The reason a worker's worktree is locked with; it names the worker.
pub fn lock_reason(id: WorkerId) -> String {
    format!("git-skein worker {id}")
}

/// The reason while a restored worktree is not complete: it is not yet the worker's.
pub fn restoring_reason(id: WorkerId) -> String {
    format!("git-skein restoring {id}")
}

/// The reason of a second worktree for the work of a worker, which is the person's.
pub fn copy_reason(id: WorkerId) -> String {
    format!("git-skein copy of worker {id}")
}

/// The worker that a lock reason names.
pub fn locked_for(reason: &str) -> Option<WorkerId> {
    reason.strip_prefix("git-skein worker ")?.parse().ok()
}
