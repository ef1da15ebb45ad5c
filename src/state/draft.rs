//! A draft collects ref moves whose objects are already written, and publishes them in one durable step.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::plumbing::RefSession;
use crate::plumbing::Repo;

/// Who writes our record commits: the program, not the person.
pub const AUTHOR: &str = "git-skein <skein@git-skein.invalid>";

/// Whether the program wrote `commit`.
pub(super) fn is_ours(commit: &Commit) -> bool {
    commit.author.starts_with(AUTHOR.as_bytes())
}

/// Ref moves to be made together. Dropping it publishes nothing.
#[must_use = "a draft changes nothing until it is published"]
pub struct Draft<'r> {
    repo: &'r Repo,
    edits: Vec<Edit>,
}

impl<'r> Draft<'r> {
    pub fn new(repo: &'r Repo) -> Draft<'r> {
        Draft { repo, edits: Vec::new() }
    }

    pub fn put(mut self, edit: Edit) -> Draft<'r> {
        self.edits.push(edit);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Objects durable, then the refs in one transaction, then the refs durable.
    pub fn publish(self) -> Result<Moved> {
        let mut session = self.repo.ref_session()?;
        self.publish_in(&mut session)
    }

    /// The same through a git process that is already there.
    pub fn publish_in(self, session: &mut RefSession<'_>) -> Result<Moved> {
        let repo = self.repo;
        let names: Vec<RefName> = self.edits.iter().map(|e| e.name.clone()).collect();
        let moved = self.publish_lazily_in(session)?;
        if moved == Moved::Done {
            repo.make_refs_durable(&names)?;
            crate::fault::point("draft: refs durable");
        }
        Ok(moved)
    }

    /// Without waiting for the refs themselves: for what can be made again if the power goes.
    pub fn publish_lazily_in(self, session: &mut RefSession<'_>) -> Result<Moved> {
        crate::fault::point("draft: before objects are durable");
        self.repo.make_durable(&self.repo.objects.take_written())?;
        crate::fault::point("draft: objects durable");
        let moved = session.apply(&self.edits)?;
        crate::fault::point("draft: refs moved");
        Ok(moved)
    }
}

/// Writes a record commit: `tree`, `parents`, dated `at` seconds since the epoch.
pub fn record_commit(repo: &Repo, tree: Oid, parents: Vec<Oid>, at: i64, subject: &str) -> Result<Oid> {
    repo.objects.write_commit(&Commit::by(AUTHOR, at, tree, parents, format!("{subject}\n")))
}
