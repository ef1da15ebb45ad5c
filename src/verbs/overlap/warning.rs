//! Tells a worker at work that it has come to lines which another has changed already: in the next look at its
//! tree, as a message like a person's.

use crate::domain;
use crate::domain::Liveness;
use crate::domain::Nearness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::overlap::pairs::Ask;
use crate::verbs::overlap::pairs::Work;
use crate::verbs::overlap::pairs::overlaps;
use crate::verbs::recorder::Recorder;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::spawn;
use bstr::ByteSlice;
use std::collections::BTreeSet;

/// What one worker was warned of, in the life of its supervisor.
pub struct Warnings<'s, 'e> {
    session: &'s Session<'e>,
    recorder: &'s Recorder<'s, 'e>,
    id: WorkerId,
    base: Oid,
    /// Another worker and a path, a line each, as [`line()`] makes them.
    given: BTreeSet<String>,
}

impl<'s, 'e> Warnings<'s, 'e> {
    pub fn of(
        session: &'s Session<'e>,
        recorder: &'s Recorder<'s, 'e>,
        id: WorkerId,
        base: Oid,
    ) -> Warnings<'s, 'e> {
        Warnings { session, recorder, id, base, given: given(session, id) }
    }

    /// Compares what was `seen` with what others have. A warning that fails is given after the next change.
    pub fn look(&mut self, seen: &Seen) {
        if let Err(failure) = self.compare(seen) {
            self.session.tell(format!("overlap: {failure}"));
        }
    }

    fn compare(&mut self, seen: &Seen) -> Result<()> {
        let session = self.session;
        if spawn::other_supervisors(&session.local).is_empty() {
            return Ok(());
        }
        let view = session.view()?;
        let is_at_work = |w: &&Worker| {
            let record = &w.record;
            let active = w.id != self.id && record.outcome == Outcome::Active;
            active && custody::liveness(session, w) == Liveness::Live
        };
        let others: Vec<&Worker> = view.workers.iter().filter(is_at_work).collect();
        let mut works = Vec::new();
        for other in &others {
            let (head, tree) = custody::picture(session, other)?;
            works.push(Work { base: other.record.base, head, tree });
        }
        let own = works.len();
        works.push(Work { base: self.base, head: seen.head, tree: seen.tree });
        let scratch = session.repo.objects.scratch()?;
        for overlap in overlaps(&scratch, &works, Ask::MeetingWith(own))? {
            let other = others[overlap.pair.0];
            let contested = overlap.meets.iter().filter(|meet| meet.nearness == Nearness::Contested);
            let paths: Vec<String> = contested.map(|meet| meet.path.to_str_lossy().into_owned()).collect();
            self.warn(other, paths)?;
        }
        Ok(())
    }

    /// Of paths that it was not warned of yet, and where it was not the first.
    fn warn(&mut self, other: &Worker, mut paths: Vec<String>) -> Result<()> {
        let warned = given(self.session, other.id);
        paths.retain(|path| {
            !self.given.contains(&line(other.id, path)) && !warned.contains(&line(self.id, path))
        });
        if paths.is_empty() {
            return Ok(());
        }
        let text = format!(
            "worker {} has changed the same lines before you: {}. Whoever lands second will have to merge; leave \
             these lines as they are if the task allows it",
            other.record.handle,
            some_of(&paths)
        );
        let at = self.session.clock.now_secs();
        let n = finish::amend(self.session, self.id, |record| {
            Ok((record.outcome == Outcome::Active).then(|| record.tell(&text, None, None, at)))
        })?;
        if let Some(n) = n {
            crate::host::put(&self.session.local.bell(self.id), n.to_string().as_bytes())?;
        }
        self.recorder.note("overlap", &text);
        self.given.extend(paths.iter().map(|path| line(other.id, path)));
        let all: String = self.given.iter().map(|line| format!("{line}\n")).collect();
        crate::host::put(&self.session.local.warnings(self.id), all.as_bytes())
    }
}

/// The first of them on one line. Whoever named a file says nothing else to another worker.
pub(super) fn some_of(paths: &[String]) -> String {
    domain::some_of(paths.iter().map(|path| path.escape_debug().take(200).collect()), 5)
}

fn line(other: WorkerId, path: &str) -> String {
    format!("{other} {}", path.escape_default())
}

/// What a worker was warned of, as far as that is noted here.
fn given(session: &Session<'_>, id: WorkerId) -> BTreeSet<String> {
    let note = crate::host::read_optional(&session.local.warnings(id)).ok().flatten().unwrap_or_default();
    note.to_str_lossy().lines().map(ToOwned::to_owned).collect()
}
