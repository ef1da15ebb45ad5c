//! Notes are an index: they hold the lines that the lanes imply, and can be made again from them.

use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Repo;
use crate::state::draft::record_commit;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;
use crate::state::fsck::Level;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::LandedNote;
use crate::state::record::Move;
use crate::state::record::Read;
use crate::state::record::VERSION;
use crate::state::record::decode;
use crate::state::record::encode_line;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The lines on each commit, in their order.
type Lines = BTreeMap<Oid, Vec<String>>;

impl Audit<'_> {
    pub(super) fn notes(&mut self) {
        let Ok(name) = names::landed_notes() else { return };
        if self.findings.iter().any(|f| f.name == name.as_str()) {
            return;
        }
        let at = self.notes_at();
        let Some(found) = self.read(&name, |repo| at.map_or(Ok(Lines::new()), |at| lines(repo, at))) else {
            return;
        };
        let (want, may) = (self.implied(&self.moves), self.implied(&self.open));
        let none = Vec::new();
        for about in found.keys().chain(want.keys()).copied().collect::<BTreeSet<Oid>>() {
            let (found, want) = (found.get(&about).unwrap_or(&none), want.get(&about).unwrap_or(&none));
            let may = may.get(&about).unwrap_or(&none);
            let mut altered = BTreeSet::new();
            for line in found.iter().filter(|l| !want.contains(l) && !may.contains(l)) {
                let (code, says) = self.judge(line, want, &mut altered);
                if code == Code::NoteUnproven && self.blind {
                    continue;
                }
                self.note(code, &name, about, format!("{says}: {line}"));
            }
            for line in want.iter().filter(|l| !found.contains(l)) {
                if !op_of(line).is_some_and(|op| altered.contains(&op)) {
                    self.note(Code::NoteMissing, &name, about, format!("this line is missing: {line}"));
                }
            }
        }
    }

    /// The lines that `moves` imply, on what became of their commits too.
    fn implied(&self, moves: &[Move]) -> Lines {
        let mut all = implied(moves);
        // A lane may tell of what another lane's record has become: as often as there are records it is enough.
        for _ in 0..self.rewritten.len() {
            let mut new = false;
            for (op, commits) in &self.rewritten {
                for (from, to) in commits {
                    let lines = all.get(from).cloned().unwrap_or_default();
                    let here = all.entry(*to).or_default();
                    for line in lines.into_iter().filter(|line| op_of(line) == Some(*op)) {
                        if !here.contains(&line) {
                            here.push(line);
                            new = true;
                        }
                    }
                }
            }
            if !new {
                break;
            }
        }
        all
    }

    fn notes_at(&self) -> Option<Oid> {
        self.refs.iter().find(|(_, ours, _)| *ours == Ours::LandedNotes).map(|(_, _, at)| *at)
    }

    fn note(&mut self, code: Code, name: &RefName, about: Oid, says: String) {
        let show = format!("git notes --ref={name} show {about}");
        self.add(code, name, says, show);
        if let Some(finding) = self.findings.last_mut() {
            finding.oid = Some(about);
        }
    }

    /// What a line is that the lanes do not imply.
    fn judge(&self, line: &str, want: &[String], altered: &mut BTreeSet<OpId>) -> (Code, &'static str) {
        let Some(op) = op_of(line) else {
            return match version_of(line) {
                Some(v) if v != u64::from(VERSION) => {
                    (Code::UnknownVersion, "a line of a version that is not known here")
                }
                _ => (Code::NoteDamaged, "this is no line of ours"),
            };
        };
        if want.iter().any(|w| op_of(w) == Some(op)) {
            altered.insert(op);
            return (Code::NoteAltered, "the lane says otherwise");
        }
        match self.find(op) {
            Some(_) => (Code::NoteExtra, "its landing did not bring this commit"),
            None => (Code::NoteUnproven, "no lane here knows its operation"),
        }
    }

    /// The move of the notes ref that makes them what the lanes imply; none if they are. Lines of operations
    /// that no lane here knows, and of other versions, stay: they are other clones'. What a trailer says is
    /// never enough for a line: it does not name the branch, and anybody can write one.
    pub fn rebuilt_notes(&self) -> Result<Option<Edit>> {
        let name = names::landed_notes()?;
        if !self.findings.iter().any(|f| f.name == name.as_str() && f.level == Level::Error) {
            return Ok(None);
        }
        let repo = self.repo;
        let old = self.notes_at();
        let found = old.map_or(Ok(Lines::new()), |at| lines(repo, at))?;
        let may = self.implied(&self.open);
        let kept = |about: &Oid, line: &String| match op_of(line) {
            Some(op) if self.open.iter().any(|m| m.op == op) => {
                may.get(about).is_some_and(|l| l.contains(line))
            }
            Some(op) => self.find(op).is_none(),
            None => version_of(line).is_some_and(|v| v != u64::from(VERSION)),
        };
        let implied = self.implied(&self.moves);
        let implied = implied.iter().flat_map(|(about, lines)| lines.iter().map(move |line| (about, line)));
        let others = found.iter().flat_map(|(about, lines)| lines.iter().map(move |line| (about, line)));
        let mut tree = repo.objects.empty_tree();
        for (about, line) in implied.chain(others.filter(|(about, line)| kept(about, line))) {
            tree = repo.objects.note_with_line(tree, *about, line)?;
        }
        let at = self.moves.iter().map(|m| m.at).max().unwrap_or_default();
        let new = record_commit(repo, tree, old.into_iter().collect(), at, "landed: rebuilt from the lanes")?;
        Ok(Some(Edit { name, old, new: Some(new) }))
    }
}

/// The operations whose lines stand on `about` in the notes at `at`.
pub fn noted_ops(repo: &Repo, at: Oid, about: Oid) -> Result<Vec<OpId>> {
    let text = repo.objects.note(repo.objects.tree_of(at)?, about)?;
    let text = text.to_str_lossy();
    Ok(text.lines().filter_map(op_of).collect())
}

/// The notes at `at` with what stands there on each first commit of `commits` by operation `op` on the second one,
/// too. None if nothing changes.
pub fn followed(repo: &Repo, old: Oid, op: OpId, commits: &[(Oid, Oid)], at: i64) -> Result<Option<Edit>> {
    let objects = &repo.objects;
    let before = objects.tree_of(old)?;
    let mut tree = before;
    for (from, to) in commits {
        let text = objects.note(tree, *from)?;
        for line in text.to_str_lossy().lines().filter(|line| op_of(line) == Some(op)) {
            tree = objects.note_with_line(tree, *to, line)?;
        }
    }
    if tree == before {
        return Ok(None);
    }
    let new = record_commit(repo, tree, vec![old], at, &format!("landed: {op}, rewritten"))?;
    Ok(Some(Edit::update(names::landed_notes()?, old, new)))
}

/// The lines that `moves` imply.
fn implied(moves: &[Move]) -> Lines {
    let mut all = Lines::new();
    for (note, landed) in moves.iter().filter_map(Move::note) {
        let Ok(line) = encode_line(&note) else { continue };
        for about in landed {
            let here = all.entry(about).or_default();
            if !here.contains(&line) {
                here.push(line.clone());
            }
        }
    }
    all
}

/// The lines that are there, whatever the fan-out of the tree. A path that is no id is on no commit.
fn lines(repo: &Repo, at: Oid) -> Result<Lines> {
    let mut all = Lines::new();
    for (path, (_, blob)) in repo.objects.entries(repo.objects.tree_of(at)?)? {
        let hex: BString = path.replace("/", "").into();
        let Ok(about) = hex.to_str_lossy().parse::<Oid>() else { continue };
        let text = repo.objects.blob(blob)?;
        let lines = text.lines().filter(|l| !l.is_empty()).map(|l| l.to_str_lossy().into_owned());
        all.entry(about).or_default().extend(lines);
    }
    Ok(all)
}

pub fn op_of(line: &str) -> Option<OpId> {
    match decode::<LandedNote>(line.as_bytes()) {
        Read::Known(note) => Some(note.op),
        Read::Unknown(_) => None,
    }
}

pub fn version_of(line: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(line).ok()?.get("v")?.as_u64()
}
