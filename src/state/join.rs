//! Two clones went on with one document, each by itself: both their steps as one. Which of the two counts as the first
//! is told by the steps alone, so whoever brings them together comes to the same.

use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::document::Clash;
use crate::domain::document::components;
use crate::domain::document::merge;
use crate::plumbing::Repo;
use crate::state::document::BASELINE;
use crate::state::document::COMMITTED;
use crate::state::document::ConflictRecord;
use crate::state::document::DocRecord;
use crate::state::document::DocState;
use crate::state::document::OVER;
use crate::state::document::TEXT;
use crate::state::document::UNDER;
use crate::state::document::conflict_file;
use crate::state::document::turn_file;
use crate::state::record::VERSION;
use crate::state::record::encode;
use bstr::BString;
use std::collections::BTreeMap;

/// What the next step builds on.
#[derive(Debug, Clone)]
pub struct Joined {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub record: DocRecord,
}

impl Joined {
    /// A step as it is.
    pub fn of(state: &DocState) -> Joined {
        Joined { tree: state.tree, parents: vec![state.at], record: state.record.clone() }
    }

    pub fn text(&self, repo: &Repo) -> Result<String> {
        text(repo, repo.objects.oid_at(self.tree, TEXT.into())?)
    }
}

/// Two steps that come from `base`, as one. None if a turn is open on both sides: whoever answers it must still find
/// it by its number.
pub fn join(
    repo: &Repo,
    base: Option<&DocState>,
    one: &DocState,
    other: &DocState,
) -> Result<Option<Joined>> {
    let known = base.map_or(0, |base| base.record.turns);
    let asks = |state: &DocState| state.record.open.iter().any(|n| *n > known);
    let (first, second) = match (asks(one), asks(other)) {
        (true, true) => return Ok(None),
        (true, false) => (one, other),
        (false, true) => (other, one),
        (false, false) if one.at < other.at => (one, other),
        _ => (other, one),
    };
    let mut joining = Joining { repo, base, first, second, files: Vec::new(), turns: BTreeMap::new() };
    joining.number_turns()?;
    let mut record = joining.record();
    let clashes = joining.texts()?;
    joining.conflicts(&mut record, clashes)?;
    joining.files.push(("meta.json".into(), Some((Mode::File, repo.objects.write_blob(&encode(&record)?)?))));
    let tree = repo.objects.edit_tree(first.tree, joining.files)?;
    Ok(Some(Joined { tree, parents: vec![first.at, second.at], record }))
}

struct Joining<'a> {
    repo: &'a Repo,
    base: Option<&'a DocState>,
    first: &'a DocState,
    second: &'a DocState,
    /// What the tree has beside that of the first.
    files: Vec<(BString, Option<(Mode, Oid)>)>,
    /// The turns of the second by the numbers that they get.
    turns: BTreeMap<u32, u32>,
}

impl Joining<'_> {
    fn known(&self) -> u32 {
        self.base.map_or(0, |base| base.record.turns)
    }

    /// The turns of the second come after those of the first. An old turn that both have answered is there twice.
    fn number_turns(&mut self) -> Result<()> {
        let mut next = self.first.record.turns;
        for n in 1..=self.second.record.turns {
            let [base, first, second] = [self.base, Some(self.first), Some(self.second)]
                .map(|state| state.map_or(Ok(None), |state| state.oid(self.repo, &turn_folder(n))));
            let (base, first, second) = (base?, first?, second?);
            if n <= self.known() && (second == base || second == first) {
                continue;
            }
            let to = if n <= self.known() && first == base {
                n
            } else {
                next += 1;
                next
            };
            self.turns.insert(n, to);
            self.copy_turn(n, to)?;
        }
        Ok(())
    }

    fn copy_turn(&mut self, from: u32, to: u32) -> Result<()> {
        let objects = &self.repo.objects;
        let Some(folder) = self.second.oid(self.repo, &turn_folder(from))? else { return Ok(()) };
        for (name, entry) in objects.entries(folder)? {
            self.files.push((turn_file(to, &name.to_string()).into(), Some(entry)));
        }
        if let Some(mut turn) = self.second.turn(self.repo, from)? {
            turn.n = to;
            let blob = objects.write_blob(&encode(&turn)?)?;
            self.files.push((turn_file(to, "meta.json").into(), Some((Mode::File, blob))));
        }
        Ok(())
    }

    fn numbered(&self, n: u32) -> u32 {
        self.turns.get(&n).copied().unwrap_or(n)
    }

    fn record(&self) -> DocRecord {
        let (first, second) = (&self.first.record, &self.second.record);
        let newest = self.turns.values().copied().max().unwrap_or_default();
        let old = |n: &u32| *n <= self.known();
        let mut open: Vec<u32> =
            first.open.iter().filter(|n| !old(n) || second.open.contains(n)).copied().collect();
        open.extend(second.open.iter().filter(|n| !old(n)).map(|n| self.numbered(*n)));
        let mut undone = first.undone.clone();
        for n in second.undone.iter().map(|n| self.numbered(*n)) {
            if !undone.contains(&n) {
                undone.push(n);
            }
        }
        DocRecord {
            turns: first.turns.max(newest),
            open,
            undone,
            committed: first.committed.max(self.numbered(second.committed)),
            wrote: None,
            ..first.clone()
        }
    }

    /// Brings each text together; of what the agent knows, where it could not be.
    fn texts(&mut self) -> Result<Vec<Clash>> {
        let mut clashes = Vec::new();
        for name in [TEXT, BASELINE, COMMITTED, OVER, UNDER] {
            let [base, first, second] = [self.base, Some(self.first), Some(self.second)]
                .map(|state| state.map_or(Ok(None), |state| state.oid(self.repo, name)));
            let (base, first, second) = (base?, first?, second?);
            if second == base || second == first {
                continue;
            }
            let merged = match first == base {
                true => second,
                false => {
                    let (text, told) = self.merged(base, first, second)?;
                    if name == TEXT {
                        clashes = told;
                    }
                    Some(self.repo.objects.write_blob(text.as_bytes())?)
                }
            };
            self.files.push((name.into(), merged.map(|oid| (Mode::File, oid))));
        }
        Ok(clashes)
    }

    fn merged(
        &self,
        base: Option<Oid>,
        first: Option<Oid>,
        second: Option<Oid>,
    ) -> Result<(String, Vec<Clash>)> {
        let [base, first, second] = [base, first, second].map(|oid| text(self.repo, oid));
        let (base, first, second) = (base?, first?, second?);
        let merged = merge(&base, &first, &second);
        if components(&merged.text).is_ok() {
            return Ok((merged.text, merged.clashes));
        }
        // It would be no document any more: the first stands, and the other is kept whole.
        let clash = Clash { line: 1, base, person: first.clone(), agent: second };
        Ok((first, vec![clash]))
    }

    /// The conflicts of the second after those of the first, then what clashed now.
    fn conflicts(&mut self, record: &mut DocRecord, clashes: Vec<Clash>) -> Result<()> {
        let known = self.base.map_or(0, |base| base.record.conflicts);
        for n in 1..=self.second.record.conflicts {
            let Some(conflict) = self.second.conflict(self.repo, n)? else { continue };
            if n <= known {
                // Resolved there.
                let before = self.first.conflict(self.repo, n)?;
                if conflict.resolved.is_some() && before.is_some_and(|before| before.resolved.is_none()) {
                    self.put_conflict(&conflict)?;
                }
                continue;
            }
            record.conflicts += 1;
            let turn = self.numbered(conflict.turn);
            self.put_conflict(&ConflictRecord { n: record.conflicts, turn, ..conflict })?;
        }
        for Clash { line, base, person, agent } in clashes {
            record.conflicts += 1;
            let (n, turn) = (record.conflicts, record.turns);
            let conflict = ConflictRecord {
                v: VERSION,
                n,
                turn,
                component: None,
                line,
                base,
                person,
                agent,
                resolved: None,
            };
            self.put_conflict(&conflict)?;
        }
        Ok(())
    }

    fn put_conflict(&mut self, conflict: &ConflictRecord) -> Result<()> {
        let blob = self.repo.objects.write_blob(&encode(conflict)?)?;
        self.files.push((conflict_file(conflict.n).into(), Some((Mode::File, blob))));
        Ok(())
    }
}

fn turn_folder(n: u32) -> String {
    turn_file(n, "").trim_end_matches('/').to_owned()
}

fn text(repo: &Repo, oid: Option<Oid>) -> Result<String> {
    let bytes = oid.map(|oid| repo.objects.blob(oid)).transpose()?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}
