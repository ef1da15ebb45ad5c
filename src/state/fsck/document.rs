//! Session documents: the newest step of each is whole.

use crate::domain::DocId;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::state::document::DocState;
use crate::state::document::TurnRecord;
use crate::state::document::turn_file;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;

impl Audit<'_> {
    pub(super) fn document(&mut self, name: &RefName, id: DocId, at: Oid) {
        let Some(state) = self.read(name, |repo| DocState::at(repo, at)) else { return };
        self.records += 1;
        if state.record.doc != id {
            self.on_commit(Code::Unreadable, name, at, format!("it is document {}", state.record.doc));
        }
        for n in 1..=state.record.turns {
            let turn: Option<Option<TurnRecord>> = self.read(name, |repo| state.turn(repo, n));
            let Some(turn) = turn else { continue };
            let wanted: &[&str] = match &turn {
                None => &["meta.json"],
                Some(turn) if turn.answered.is_some() => &["response", "before", "after"],
                Some(turn) if turn.failed.is_some() => &[],
                Some(_) => &["prompt", "before"],
            };
            for file in wanted {
                let path = turn_file(n, file);
                let there = self.read(name, |repo| {
                    let oid = state.oid(repo, &path)?;
                    oid.map(|oid| repo.objects.size(oid)).transpose().map(Option::flatten)
                });
                if there == Some(None) {
                    self.on_commit(Code::Unreadable, name, at, format!("{path} is missing"));
                }
            }
        }
    }
}
