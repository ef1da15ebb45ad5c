//! Refs: read in process where they are files, by git where they are reftables; moved by git alone, in
//! transactions that state what they expect. An exit code is never the outcome: after a failure the refs
//! are read again.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::disk;
use crate::plumbing::git::Started;
use crate::plumbing::mark::Mark;
use crate::plumbing::mark::nameless;
use crate::plumbing::mark::rest;
use crate::plumbing::repo::Repo;
use bstr::ByteSlice;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;

/// A ref as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ref {
    pub name: RefName,
    pub oid: Oid,
    /// The ref it points at, if it is symbolic.
    pub points_at: Option<RefName>,
}

/// One move of one ref; `None` is absence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub name: RefName,
    pub old: Option<Oid>,
    pub new: Option<Oid>,
}

impl Edit {
    pub fn create(name: RefName, new: Oid) -> Edit {
        Edit { name, old: None, new: Some(new) }
    }

    pub fn update(name: RefName, old: Oid, new: Oid) -> Edit {
        Edit { name, old: Some(old), new: Some(new) }
    }

    pub fn delete(name: RefName, old: Oid) -> Edit {
        Edit { name, old: Some(old), new: None }
    }
}

/// How a transaction ended, by what the refs now are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Every ref is where it was to go.
    Done,
    /// None moved: at least one was not where the transaction expected it. The refs as they are.
    Lost(Vec<(RefName, Option<Oid>)>),
}

impl Repo {
    /// The refs below `prefixes` (whole path components), sorted by name.
    pub fn refs(&self, prefixes: &[&str]) -> Result<Vec<Ref>> {
        if !self.is_reftable() {
            return crate::plumbing::loose::list(&self.dirs.common, self.objects.hash, prefixes);
        }
        let format = "--format=%(objectname)%00%(symref)%00%(refname)";
        let call = self.call(&["for-each-ref", format]).args(prefixes).reads();
        let listed = self.git.expect(&call)?;
        listed.stdout.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(parse).collect()
    }

    /// The symbolic refs below `prefixes` that point at nothing. Where refs are reftables git does not tell.
    pub fn dangling(&self, prefixes: &[&str]) -> Result<Vec<RefName>> {
        if self.is_reftable() {
            return Ok(Vec::new());
        }
        crate::plumbing::loose::dangling(&self.dirs.common, self.objects.hash, prefixes)
    }

    /// Where the refs `names` are now.
    pub fn read_refs(&self, names: &[&RefName]) -> Result<Vec<Option<Oid>>> {
        if !self.is_reftable() {
            return crate::plumbing::loose::read(&self.dirs.common, self.objects.hash, names);
        }
        let patterns: Vec<&str> = names.iter().map(|n| n.as_str()).collect();
        let listed = self.refs(&patterns)?;
        Ok(names.iter().map(|n| listed.iter().find(|r| r.name == **n).map(|r| r.oid)).collect())
    }

    /// Applies `edits` as one transaction and tells what became of them.
    pub fn update_refs(&self, edits: &[Edit]) -> Result<Moved> {
        let mut session = self.ref_session()?;
        let moved = session.apply(edits)?;
        Ok(moved)
    }

    /// Why refs could not be moved, if another git holds their locks, or died and left them.
    fn locked(&self, names: &[&RefName]) -> Option<Failure> {
        let own = names.iter().map(|name| format!("{name}.lock"));
        let shared = ["HEAD.lock", "packed-refs.lock", "reftable/tables.list.lock"].map(str::to_owned);
        let held = own.chain(shared).map(|lock| self.dirs.common.join(lock)).filter(|path| path.exists());
        let held: Vec<String> = held.map(|path| path.display().to_string()).collect();
        let says = "another git holds refs that have to move, or died and left its locks";
        let refusal =
            Refusal::new(Token::RefLocked, says).show(format!("fuser -v {}", quoted(held.first()?)));
        Some(
            refusal
                .lines(held)
                .next("git skein doctor tells who holds them; if nobody does, remove them")
                .into(),
        )
    }

    /// A git process that applies one transaction after another.
    pub fn ref_session(&self) -> Result<RefSession<'_>> {
        let mark = Mark::new(&self.marks());
        let started = self.git.converse(&self.call(&["update-ref", "--no-deref", "-z", "--stdin"]))?;
        Ok(RefSession { repo: self, started: Some(started), spoken: None, mark })
    }
}

pub(super) fn parse(line: &[u8]) -> Result<Ref> {
    let mut fields = line.split(|b| *b == 0);
    let mut field = || fields.next().unwrap_or_default().to_str_lossy().into_owned();
    let (oid, symref, name) = (field(), field(), field());
    let points_at = if symref.is_empty() { None } else { Some(RefName::new(symref)?) };
    Ok(Ref { oid: oid.parse()?, points_at, name: RefName::new(name)? })
}

/// See [`Repo::ref_session`]. After a failed transaction a new process does the next one.
pub struct RefSession<'r> {
    repo: &'r Repo,
    started: Option<Started>,
    spoken: Option<Spoken>,
    /// Goes when git has ended.
    mark: Option<Mark>,
}

/// The process, once it was needed. It ends when its input does.
struct Spoken {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl RefSession<'_> {
    /// Applies `edits` as one transaction. On any sign of failure the refs are read again, and what they
    /// are decides: all new is done, else lost.
    pub fn apply(&mut self, edits: &[Edit]) -> Result<Moved> {
        self.begin_again_if_spent()?;
        let said = crate::fault::git().and_then(|()| self.speak(edits));
        let struck = crate::fault::git();
        let moved = match (said, struck) {
            (Ok(true), Ok(())) => Moved::Done,
            (said, struck) => self.settle(edits, said.err().or(struck.err()))?,
        };
        if moved == Moved::Done {
            if let Some(mark) = &self.mark {
                // Where it cannot be, it is said to whom it keeps from moving refs.
                mark.release(&self.repo.dirs.common).ok();
            }
            self.repo.complete_tables()?;
            self.repo.outlive_collections()?;
        }
        Ok(moved)
    }

    fn speak(&mut self, edits: &[Edit]) -> std::io::Result<bool> {
        if let Some(started) = self.started.take() {
            let mut child = started.child()?;
            let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
            self.spoken = Some(Spoken { child, stdin, stdout });
        }
        let Some(Spoken { stdin: Some(stdin), stdout: Some(stdout), .. }) = &mut self.spoken else {
            return Ok(false);
        };
        if let Some(mark) = &mut self.mark {
            mark.note(edits)?;
        }
        let mut text = b"start\0".to_vec();
        for edit in edits {
            let zero = |o: Option<Oid>, like: Option<Oid>| o.or(like.map(Oid::null_like));
            let (old, new) = (zero(edit.old, edit.new), zero(edit.new, edit.old));
            let (Some(old), Some(new)) = (old, new) else { continue };
            let verb = if edit.new == edit.old { "verify" } else { "update" };
            text.extend_from_slice(format!("{verb} {}\0", edit.name).as_bytes());
            if verb == "update" {
                text.extend_from_slice(format!("{new}\0").as_bytes());
            }
            text.extend_from_slice(format!("{old}\0").as_bytes());
        }
        let held = nameless(edits, self.repo.is_reftable());
        text.extend_from_slice(b"prepare\0");
        let whole = held.is_empty() || self.mark.is_none();
        if whole {
            text.extend_from_slice(b"commit\0");
        }
        stdin.write_all(&text)?;
        stdin.flush()?;
        for step in ["start: ok", "prepare: ok", "commit: ok"] {
            if step == "commit: ok"
                && !whole
                && let Some(mark) = &mut self.mark
            {
                mark.hold(&self.repo.dirs.common, &held)?;
                stdin.write_all(b"commit\0")?;
                stdin.flush()?;
            }
            let mut line = String::new();
            stdout.read_line(&mut line)?;
            if line.trim_end() != step {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A transaction that failed has ended its process.
    fn begin_again_if_spent(&mut self) -> Result<()> {
        if self.spoken.as_ref().is_some_and(|spoken| spoken.stdin.is_none()) {
            *self = self.repo.ref_session()?;
        }
        Ok(())
    }

    fn settle(&mut self, edits: &[Edit], error: Option<std::io::Error>) -> Result<Moved> {
        let (mut words, mut ended, mut killed) = (String::new(), String::new(), false);
        if let Some(Spoken { child, stdin, .. }) = &mut self.spoken {
            *stdin = None;
            if let Some(stderr) = &mut child.stderr {
                stderr.read_to_string(&mut words).ok();
            }
            if let Ok(end) = child.wait() {
                killed = end.signal().is_some();
                ended = format!("it said nothing: {end}");
            }
        }
        let names: Vec<&RefName> = edits.iter().map(|e| &e.name).collect();
        let mut now = self.repo.read_refs(&names)?;
        if let Some(mark) = self.mark.take() {
            let half = !rest(edits, &now).is_empty();
            if killed {
                mark.leave();
            } else if half {
                mark.leave_half().map_err(|e| disk::io("noting what is left to do", e))?;
            } else {
                mark.release(&self.repo.dirs.common).ok();
            }
            if killed || half {
                self.repo.clear_left_locks()?;
                now = self.repo.read_refs(&names)?;
            }
        }
        if edits.iter().zip(&now).all(|(e, n)| e.new == *n) {
            return Ok(Moved::Done);
        }
        if edits.iter().zip(&now).all(|(e, n)| e.old == *n) {
            let doing = format!("moving {}", list(&names));
            let failure = match error {
                Some(error) if words.is_empty() => disk::io(doing, error),
                _ if words.trim().is_empty() => disk::git(doing, &ended),
                _ => disk::git(doing, words.trim()),
            };
            return Err(self.repo.locked(&names).filter(|_| failure.token().is_none()).unwrap_or(failure));
        }
        Ok(Moved::Lost(names.into_iter().cloned().zip(now).collect()))
    }
}

impl Drop for RefSession<'_> {
    fn drop(&mut self) {
        let mut child = match (self.started.take(), self.spoken.take()) {
            (Some(started), _) => started.child().ok(),
            (None, spoken) => spoken.map(|spoken| spoken.child),
        };
        if let Some(child) = &mut child {
            child.stdin = None;
            child.wait().ok();
        }
    }
}

fn list(names: &[&RefName]) -> String {
    names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ")
}
