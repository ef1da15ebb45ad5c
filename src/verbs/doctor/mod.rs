//! `doctor`: what is around the program and what was left behind. It only looks, unless it is told to mend.

mod look;
mod mend;

use crate::domain::Exit;
use crate::domain::Result;
use crate::domain::doctor::Finding;
use crate::domain::doctor::Level;
use crate::domain::doctor::examine;
use crate::verbs::session::Session;
use serde::Serialize;

/// What was found, after what was mended.
#[derive(Debug, Serialize)]
pub struct Checkup {
    pub findings: Vec<Finding>,
    /// What `--fix` did, in the order in which it was done.
    pub fixed: Vec<String>,
    /// What it could not do, with the reason.
    pub failed: Vec<String>,
}

impl Checkup {
    /// Whether anything is worse than a note.
    pub fn exit(&self) -> Exit {
        let bad = self.findings.iter().any(|f| f.level > Level::Note) || !self.failed.is_empty();
        if bad { Exit::No } else { Exit::Done }
    }
}

pub fn run(session: &mut Session<'_>, fix: bool) -> Result<Checkup> {
    let mut done = mend::Done::default();
    if fix {
        session.refuse_in_worker("doctor --fix")?;
        done = mend::all(session)?;
    }
    let findings = examine(&look::facts(session)?);
    Ok(Checkup { findings, fixed: done.fixed, failed: done.failed })
}
