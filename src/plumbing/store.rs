//! What is below every read of an object: the repository's own store, with what a shallow clone has cut off
//! hidden, and what a partial clone has left with its origin fetched when it is asked for.

use crate::domain::Oid;
use crate::plumbing::git::Call;
use crate::plumbing::git::Git;
use crate::plumbing::git::git_dir;
use bstr::ByteSlice;
use gix::objs::Data;
use gix::objs::Exists;
use gix::objs::Find;
use gix::objs::Header;
use gix::objs::Kind;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

/// What is not as in a whole clone; two handles of one store share it.
#[derive(Default)]
pub(super) struct Lack {
    /// The commits at which a shallow clone ends: for us, as for git, they have no parents.
    pub ends: HashSet<Oid>,
    /// Who fetches what a partial clone lacks.
    pub origin: Option<Origin>,
}

/// The remotes that a partial clone was promised its objects by.
pub(super) struct Origin {
    pub git: Git,
    pub common: PathBuf,
}

/// An object that was promised and cannot be had.
#[derive(Debug)]
pub(super) struct Withheld {
    pub oid: String,
    pub words: String,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {} is not here and cannot be fetched: {}", self.oid, self.words)
    }
}

impl std::error::Error for Withheld {}

impl Origin {
    /// Has git bring `id` into the store.
    fn fetch(&self, id: &gix::oid) -> gix::Result<()> {
        let oid = id.to_string();
        let call = Call::new([git_dir(&self.common)]).args(&["cat-file", "-t", &oid]).for_person();
        let words = match self.git.run(&call) {
            Ok(output) if output.ok() => return Ok(()),
            Ok(output) => output.words(),
            Err(failure) => failure.to_string(),
        };
        let words = words.lines().next().unwrap_or_default().to_owned();
        Err(gix::Error::from_error(Withheld { oid, words }))
    }
}

pub(super) struct Store {
    handle: gix::odb::Handle,
    lack: Rc<Lack>,
}

impl Store {
    pub fn new(handle: gix::odb::Handle, lack: Rc<Lack>) -> Store {
        Store { handle, lack }
    }

    /// The same store once more: what it has opened is open for both.
    pub fn again(&self) -> Store {
        Store { handle: self.handle.clone(), lack: Rc::clone(&self.lack) }
    }

    fn fetched(&self, id: &gix::oid) -> gix::Result<bool> {
        match &self.lack.origin {
            Some(origin) if !self.handle.exists(id) => origin.fetch(id).map(|()| true),
            _ => Ok(false),
        }
    }
}

impl Find for Store {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::Result<Option<Data<'a>>> {
        self.fetched(id)?;
        let Some(kind) = self.handle.try_find(id, buffer)?.map(|data| data.kind) else { return Ok(None) };
        if kind == Kind::Commit && !self.lack.ends.is_empty() {
            let ends = Oid::from_bytes(id.as_bytes()).is_some_and(|oid| self.lack.ends.contains(&oid));
            if ends {
                orphan(buffer);
            }
        }
        Ok(Some(Data { kind, object_hash: id.kind(), data: buffer }))
    }
}

impl gix::objs::FindHeader for Store {
    fn try_header(&self, id: &gix::oid) -> gix::Result<Option<Header>> {
        self.fetched(id)?;
        gix::objs::FindHeader::try_header(&self.handle, id)
    }
}

impl Exists for Store {
    fn exists(&self, id: &gix::oid) -> bool {
        self.handle.exists(id)
    }
}

impl gix::objs::Write for Store {
    fn write_buf_with_known_id(
        &self,
        kind: Kind,
        from: &[u8],
        id: gix::ObjectId,
    ) -> gix::Result<gix::ObjectId> {
        self.handle.write_buf_with_known_id(kind, from, id)
    }

    fn write_stream(
        &self,
        kind: Kind,
        size: u64,
        from: &mut dyn std::io::Read,
    ) -> gix::Result<gix::ObjectId> {
        self.handle.write_stream(kind, size, from)
    }

    fn write_stream_with_known_id(
        &self,
        kind: Kind,
        size: u64,
        from: &mut dyn std::io::Read,
        id: gix::ObjectId,
    ) -> gix::Result<gix::ObjectId> {
        self.handle.write_stream_with_known_id(kind, size, from, id)
    }
}

impl Lack {
    /// The ends that the file `shallow` of a git folder lists, one id a line.
    pub fn ends_in(shallow: &[u8]) -> HashSet<Oid> {
        shallow.lines().filter_map(|line| line.to_str().ok()?.trim().parse().ok()).collect()
    }

    pub fn is_end(&self, oid: Oid) -> bool {
        self.ends.contains(&oid)
    }
}

/// Takes the parents out of a commit. They follow its tree, one a line.
pub(super) fn orphan(commit: &mut Vec<u8>) {
    let Some(start) = commit.find_byte(b'\n').map(|end| end + 1) else { return };
    let mut end = start;
    while commit[end..].starts_with(b"parent ") {
        end += commit[end..].find_byte(b'\n').map_or(commit.len() - end, |line| line + 1);
    }
    commit.drain(start..end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_loses_all_its_parents_and_nothing_else() {
        let cut = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            orphan(&mut bytes);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(
            cut("tree a\nparent b\nparent c\nauthor x\n\nparent d\n"),
            "tree a\nauthor x\n\nparent d\n"
        );
        assert_eq!(cut("tree a\nauthor x\n\nm"), "tree a\nauthor x\n\nm");
        assert_eq!(cut("tree a"), "tree a");
        assert_eq!(cut("tree a\nparent b"), "tree a\n");
    }
}
