//! Other repositories: what they have, taking from them, giving to them. git does all of it, with the person's
//! credentials and transports. What a push came to is never read from its exit code: fetch again and look.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::Token;
use crate::plumbing::git::Call;
use crate::plumbing::git::Output;
use crate::plumbing::repo::Repo;
use bstr::ByteSlice;

/// One ref that is to be moved elsewhere; `None` deletes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    pub name: RefName,
    pub new: Option<Oid>,
    /// Only if it is at this object now; with the null id, only if it is not there. Else it moves forward only.
    pub expected: Option<Oid>,
}

impl Send {
    /// Moves forward only.
    pub fn forward(name: RefName, new: Oid) -> Send {
        Send { name, new: Some(new), expected: None }
    }

    pub fn delete(name: RefName, expected: Oid) -> Send {
        Send { name, new: None, expected: Some(expected) }
    }

    fn lease(&self) -> Option<String> {
        let at = self.expected.map(|oid| if oid.is_null() { String::new() } else { oid.to_string() })?;
        Some(format!("--force-with-lease={}:{at}", self.name))
    }

    fn refspec(&self) -> String {
        self.new.map_or_else(|| format!(":{}", self.name), |new| format!("{new}:{}", self.name))
    }
}

/// A fetch that takes what it is told to and nothing else.
pub(super) const FETCH: [&str; 7] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--refmap=",
    "--no-recurse-submodules",
    "--no-auto-gc",
];

/// Whose hooks run on a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    None,
    /// The person's `pre-push`: it may have more to send.
    Persons,
}

impl Repo {
    /// Takes what `refspecs` say, and drops from their targets what is not there any more. No configured refspec
    /// counts, no tag comes along.
    pub fn fetch(&self, remote: &RemoteName, refspecs: &[String]) -> Result<()> {
        let call = self.call(&FETCH).args(&["--prune", "--end-of-options", remote.as_str()]);
        let refspecs = refspecs.iter().fold(call, Call::arg);
        let call = self.standing(refspecs);
        for left in [2, 1, 0] {
            let output = self.git.run(&call)?;
            if output.ok() {
                break;
            }
            // Another fetch noted the same at this very moment.
            if left == 0 || !output.words().contains(LOCKED) {
                return Err(unreachable(remote, &output));
            }
        }
        Ok(())
    }

    /// A remote may be named by a path from where git stands.
    pub(super) fn standing<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        call.for_person().dir(self.dirs.work_tree.as_deref().unwrap_or(&self.dirs.common))
    }

    /// Gives `sends`, each by itself; the words of git where it did not take all of them.
    pub fn push(&self, remote: &RemoteName, sends: &[Send], hooks: Hooks) -> Result<Option<String>> {
        let how = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no"];
        let one_by_one = format!("remote.{remote}.mirror=false");
        let mut call = self.call(&["-c", "push.pushOption=", "-c", &one_by_one, "push"]).args(&how);
        if hooks == Hooks::None {
            call = call.args(&["--no-verify", "--no-signed"]);
        } else {
            call = call.with_hooks();
        }
        call = sends.iter().filter_map(Send::lease).fold(call, Call::arg);
        call = call.args(&["--end-of-options", remote.as_str()]);
        call = sends.iter().map(Send::refspec).fold(call, Call::arg);
        let output = self.git.run(&self.standing(call))?;
        if output.ok() { Ok(None) } else { Ok(Some(refused(&output))) }
    }

    /// Where the branch `name` of the remote is; noted as `tracking`, as the person's own fetch does.
    pub fn fetch_branch(
        &self,
        remote: &RemoteName,
        name: &RefName,
        tracking: &RefName,
    ) -> Result<Option<Oid>> {
        let refspec = [format!("+{name}:{tracking}")];
        match self.fetch(remote, &refspec) {
            Err(Failure::Refusal(r)) if r.lines.iter().any(|line| line.contains(NO_SUCH_REF)) => {
                return Ok(None);
            }
            fetched => fetched?,
        }
        Ok(self.read_refs(&[tracking])?.pop().flatten())
    }
}

const NO_SUCH_REF: &str = "couldn't find remote ref";

const LOCKED: &str = "cannot lock ref";

/// Whether the words of a push say that somebody else was moving the same ref at that moment.
pub fn was_raced(words: &str) -> bool {
    let signs = [
        "stale info",
        "fetch first",
        LOCKED,
        "failed to update ref",
        "incorrect old value",
        "failed to lock",
    ];
    signs.iter().any(|sign| words.contains(sign))
}

/// Why a push did not succeed: what was said, by hooks and the server too, and which refs were not taken.
fn refused(output: &Output) -> String {
    let verdicts = output.stdout.to_str_lossy();
    let verdicts = verdicts.lines().filter(|line| !line.starts_with("To ") && *line != "Done");
    let words = output.words();
    let said = words.lines().filter(|line| !line.starts_with("hint:"));
    let lines = said.chain(verdicts).map(str::trim_end).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The remote did not answer, or not as it should.
fn unreachable(remote: &RemoteName, output: &Output) -> Failure {
    let words = output.words();
    let lines = words.lines().filter(|line| !line.trim().is_empty()).map(ToOwned::to_owned);
    Refusal::new(Token::RemoteUnreachable, format!("{remote} gives nothing"))
        .lines(lines)
        .show(format!("git ls-remote {remote}"))
        .next("make the remote reachable, then give the same command again: it goes on where it was")
        .into()
}
