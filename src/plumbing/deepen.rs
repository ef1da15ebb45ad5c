//! What lies beyond the ends of a shallow clone, brought from a remote.

use crate::domain::Config;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::objects::Objects;
use crate::plumbing::remote::FETCH;
use crate::plumbing::repo::Repo;
use crate::plumbing::repo::lack;
use std::collections::HashSet;

impl Repo {
    /// Has git bring `by` generations more behind each end of history, or all there are. Refs stay where they are: the
    /// ends are asked for by their ids. Gives how many commits came, or git's words if it could not.
    pub fn deepen(
        &mut self,
        config: &Config,
        remote: &str,
        by: Option<u32>,
    ) -> Result<std::result::Result<usize, String>> {
        let ends: Vec<String> = self.ends().iter().map(ToString::to_string).collect();
        let before = self.beyond(&ends)?;
        let depth = by.map_or_else(|| "--unshallow".to_owned(), |by| format!("--deepen={by}"));
        let ids: Vec<&str> = ends.iter().map(String::as_str).collect();
        if let Err(words) = self.fetch_deeper(&[depth.as_str()], remote, &ids)? {
            return Ok(Err(words));
        }
        let lack = lack(&self.dirs.common, &self.git, config);
        self.objects = Objects::lacking(&self.dirs.common.join("objects"), self.objects.format(), lack)?;
        Ok(Ok(self.beyond(&ends)?.saturating_sub(before)))
    }

    /// Has git bring one commit with all that lies before it, as far as the clone goes back.
    pub fn fetch_commit(&mut self, remote: &str, oid: Oid) -> Result<std::result::Result<(), String>> {
        self.fetch_deeper(&[], remote, &[&oid.to_string()])
    }

    /// The commits at which history ends though there is more of it.
    fn ends(&self) -> HashSet<Oid> {
        let text = std::fs::read(self.dirs.common.join("shallow")).unwrap_or_default();
        crate::plumbing::store::Lack::ends_in(&text)
    }

    /// A command that a repository could name as its remote is not run.
    fn fetch_deeper(
        &self,
        how: &[&str],
        remote: &str,
        ids: &[&str],
    ) -> Result<std::result::Result<(), String>> {
        let call = self.call(&["-c", "protocol.ext.allow=never"]).args(&FETCH).args(how);
        let call = call.args(&["--", remote]).args(ids);
        let done = self.git.run(&self.standing(call))?;
        Ok(if done.ok() { Ok(()) } else { Err(done.words()) })
    }

    /// How many commits `ends` lead to.
    fn beyond(&self, ends: &[String]) -> Result<usize> {
        let ids = ends.join("\n") + "\n";
        let call = self.call(&["rev-list", "--count", "--ignore-missing", "--stdin"]).reads();
        Ok(self.git.expect(&call.stdin(ids.as_bytes()))?.text().parse().unwrap_or_default())
    }
}
