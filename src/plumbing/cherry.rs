//! What `git cherry` says: git's own answer to whether commits are upstream, by patch id.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::repo::Repo;

impl Repo {
    /// The commits of `tip` that `onto` does not have, oldest first, each with whether git finds its patch id
    /// there; no further back than `base`. What git says instead, if it has no answer.
    pub fn cherry(
        &self,
        onto: Oid,
        tip: Oid,
        base: Option<Oid>,
    ) -> Result<std::result::Result<Vec<(Oid, bool)>, String>> {
        let mut args = vec!["cherry".to_owned(), "--end-of-options".to_owned()];
        args.extend([Some(onto), Some(tip), base].into_iter().flatten().map(|oid| oid.to_string()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = self.git.run(&self.call(&args).reads())?;
        if !said.ok() {
            return Ok(Err(said.words()));
        }
        said.text().lines().map(sign).collect::<Result<Vec<(Oid, bool)>>>().map(Ok)
    }
}

/// A line: `-` and a commit that is upstream, or `+` and one that is not.
pub(super) fn sign(line: &str) -> Result<(Oid, bool)> {
    match line.split_once(' ') {
        Some(("-", oid)) => Ok((oid.parse()?, true)),
        Some(("+", oid)) => Ok((oid.parse()?, false)),
        _ => Err(Failure::fault("reading what git cherry says", format!("{line:?}"))),
    }
}
