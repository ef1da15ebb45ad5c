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
use std::collections::BTreeSet;

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
    let asked = |state: &DocState| -> Result<BTreeSet<Key>> {
        let open = |(n, _): &(u32, Key)| state.record.open.contains(n);
        Ok(keys(repo, state)?.into_iter().filter(open).map(|(_, key)| key).collect())
    };
    let known = base.map_or(Ok(BTreeSet::new()), asked)?;
    let asks = |state: &DocState| asked(state).map(|open| open.difference(&known).next().is_some());
    let (first, second) = match (asks(one)?, asks(other)?) {
        (true, true) => return Ok(None),
        (true, false) => (one, other),
        (false, true) => (other, one),
        (false, false) if one.at < other.at => (one, other),
        _ => (other, one),
    };
    let mut joining = Joining {
        repo,
        base,
        first,
        second,
        files: Vec::new(),
        turns: BTreeMap::new(),
        answered: BTreeSet::new(),
        count: first.record.turns,
    };
    joining.number_turns()?;
    let mut record = joining.record()?;
    let clashes = joining.texts()?;
    joining.conflicts(&mut record, clashes)?;
    joining.files.push(("meta.json".into(), Some((Mode::File, repo.objects.write_blob(&encode(&record)?)?))));
    let tree = repo.objects.edit_tree(first.tree, joining.files)?;
    Ok(Some(Joined { tree, parents: vec![first.at, second.at], record }))
}

/// What tells a turn from others, whatever its number is: both sides number their own. Equal ones are told apart by how
/// many came before.
type Key = (Option<i64>, Option<Oid>, Option<Oid>, usize);

struct Joining<'a> {
    repo: &'a Repo,
    base: Option<&'a DocState>,
    first: &'a DocState,
    second: &'a DocState,
    /// What the tree has beside that of the first.
    files: Vec<(BString, Option<(Mode, Oid)>)>,
    /// The turns of the second by the numbers that they get.
    turns: BTreeMap<u32, u32>,
    /// Turns of the first that got their answer from the second.
    answered: BTreeSet<u32>,
    /// How many turns there are now.
    count: u32,
}

impl Joining<'_> {
    /// The turns of the second that the first has not come after its own. An old turn that both have answered is there
    /// twice.
    fn number_turns(&mut self) -> Result<()> {
        let repo = self.repo;
        let ours: BTreeMap<Key, u32> = keys(repo, self.first)?.into_iter().map(|(n, key)| (key, n)).collect();
        let base: BTreeMap<Key, u32> = match self.base {
            Some(base) => keys(repo, base)?.into_iter().map(|(n, key)| (key, n)).collect(),
            None => BTreeMap::new(),
        };
        for (n, key) in keys(repo, self.second)? {
            let answer = |state: &DocState, n: u32| state.oid(repo, &turn_file(n, "response"));
            let theirs = answer(self.second, n)?;
            let before = match (self.base, base.get(&key)) {
                (Some(state), Some(n)) => answer(state, *n)?,
                _ => None,
            };
            let to = match ours.get(&key) {
                None => self.next(),
                Some(m) => {
                    self.turns.insert(n, *m);
                    match answer(self.first, *m)? {
                        _ if theirs.is_none() || theirs == before => continue,
                        None => {
                            self.answered.insert(*m);
                            *m
                        }
                        own if own == theirs => continue,
                        _ => self.next(),
                    }
                }
            };
            self.turns.entry(n).or_insert(to);
            self.copy_turn(n, to)?;
        }
        Ok(())
    }

    fn next(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count
    }

    fn copy_turn(&mut self, from: u32, to: u32) -> Result<()> {
        let objects = &self.repo.objects;
        let Some(folder) = self.second.oid(self.repo, &turn_folder(from))? else { return Ok(()) };
        if let Some(old) = self.first.oid(self.repo, &turn_folder(to))? {
            let gone = objects.entries(old)?.into_iter();
            self.files.extend(gone.map(|(name, _)| (turn_file(to, &name.to_string()).into(), None)));
        }
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

    fn record(&self) -> Result<DocRecord> {
        let (first, second) = (&self.first.record, &self.second.record);
        let theirs = |list: &[u32]| -> Vec<u32> { list.iter().map(|n| self.numbered(*n)).collect() };
        let (open_there, undone_there) = (theirs(&second.open), theirs(&second.undone));
        let known: BTreeSet<u32> = self.turns.values().copied().collect();
        let is_open = |n: &u32| !self.answered.contains(n) && (!known.contains(n) || open_there.contains(n));
        let mut open: Vec<u32> = first.open.iter().filter(|n| is_open(n)).copied().collect();
        open.extend(open_there.iter().filter(|n| **n > first.turns));
        // Taken back by one stays so, unless the other did it again.
        let before = self.undone_before()?;
        let kept = |n: &u32| !before.contains(n) || (first.undone.contains(n) && undone_there.contains(n));
        let mut undone: Vec<u32> = first.undone.iter().filter(|n| kept(n)).copied().collect();
        undone.extend(undone_there.iter().filter(|n| kept(n) && !first.undone.contains(n)));
        let committed = match first.committed < first.turns {
            true => first.committed,
            false => first.committed.max(self.numbered(second.committed)),
        };
        Ok(DocRecord { turns: self.count, open, undone, committed, wrote: None, ..first.clone() })
    }

    /// What was taken back before the two parted, by the numbers of the first.
    fn undone_before(&self) -> Result<Vec<u32>> {
        let Some(base) = self.base else { return Ok(Vec::new()) };
        let ours: BTreeMap<Key, u32> =
            keys(self.repo, self.first)?.into_iter().map(|(n, key)| (key, n)).collect();
        let keys: BTreeMap<u32, Key> = keys(self.repo, base)?.into_iter().collect();
        Ok(base.record.undone.iter().filter_map(|n| ours.get(keys.get(n)?).copied()).collect())
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
        let mut ours = Vec::new();
        for n in 1..=self.first.record.conflicts {
            ours.extend(self.first.conflict(self.repo, n)?);
        }
        for n in 1..=self.second.record.conflicts {
            let Some(conflict) = self.second.conflict(self.repo, n)? else { continue };
            let same = |c: &&ConflictRecord| {
                (&c.base, &c.person, &c.agent) == (&conflict.base, &conflict.person, &conflict.agent)
            };
            if let Some(known) = ours.iter().find(same) {
                // Resolved there.
                if known.resolved.is_none() && conflict.resolved.is_some() {
                    self.put_conflict(&ConflictRecord { resolved: conflict.resolved, ..known.clone() })?;
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

/// The turns of a document, each with what tells it from others.
fn keys(repo: &Repo, state: &DocState) -> Result<Vec<(u32, Key)>> {
    let (mut found, mut seen) = (Vec::new(), BTreeMap::new());
    for n in 1..=state.record.turns {
        let Some(turn) = state.turn(repo, n)? else { continue };
        let oid = |name: &str| state.oid(repo, &turn_file(n, name));
        // What nobody asked is told by what was answered, and when.
        let key = match turn.sent {
            Some(_) => (turn.sent, oid("prompt")?, oid("before")?),
            None => (turn.answered, None, oid("response")?),
        };
        let count = seen.entry(key).or_insert(0);
        found.push((n, (key.0, key.1, key.2, *count)));
        *count += 1;
    }
    Ok(found)
}

fn turn_folder(n: u32) -> String {
    turn_file(n, "").trim_end_matches('/').to_owned()
}

fn text(repo: &Repo, oid: Option<Oid>) -> Result<String> {
    let bytes = oid.map(|oid| repo.objects.blob(oid)).transpose()?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}
