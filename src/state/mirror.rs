//! What a remote has of the shared refs, as it was fetched last, beside what is here.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::sync::Shared;
use crate::domain::sync::Standing;
use crate::domain::sync::Step;
use crate::domain::sync::Whose;
use crate::domain::sync::step;
use crate::plumbing::Kind;
use crate::plumbing::Objects;
use crate::plumbing::Ref;
use crate::plumbing::Repo;
use crate::state::bundle::Unsound;
use crate::state::bundle::read_bundle;
use crate::state::document::DocState;
use crate::state::draft::is_ours;
use crate::state::lane;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::Entry;
use crate::state::record::Read;
use crate::state::record::WorkerRecord;
use crate::state::record::encode_line;
use crate::state::view::View;
use crate::state::view::read;
use bstr::ByteSlice;
use std::collections::BTreeMap;

/// A ref that is here or there or both.
#[derive(Debug, Clone)]
pub struct Both {
    pub name: RefName,
    pub ours: Ours,
    pub shared: Shared,
    pub here: Option<Oid>,
    pub there: Option<Oid>,
    pub standing: Standing,
    /// Whose archive has the worker that it is of, with all that either side says.
    pub closed: Option<Whose>,
}

/// What is brought here in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Who closed what is known before workers are taken.
    Ledgers,
    Workers,
    Documents,
    Notes,
}

impl Both {
    pub fn part(&self) -> Part {
        match self.ours {
            Ours::Worker(_) => Part::Workers,
            Ours::Document(_) => Part::Documents,
            Ours::LandedNotes => Part::Notes,
            _ => Part::Ledgers,
        }
    }

    pub fn step(&self) -> Step {
        step(self.shared, self.standing, self.closed)
    }

    pub fn is_lane(&self) -> bool {
        matches!(self.ours, Ours::Lane(_))
    }

    pub fn is_archive(&self) -> bool {
        matches!(self.ours, Ours::Archive(_))
    }

    /// What it is to people.
    pub fn what(&self, repo: &Repo) -> Result<String> {
        let at = self.there.or(self.here);
        Ok(match (&self.ours, at) {
            (Ours::Worker(id), Some(at)) => match record(repo, at)? {
                Some(record) => format!("worker {}", record.handle),
                None => format!("worker {id}"),
            },
            (Ours::Document(id), Some(at)) => match DocState::at(repo, at) {
                Ok(state) => format!("document {}", state.record.path),
                Err(_) => format!("document {id}"),
            },
            (Ours::Lane(clone), _) => format!("lane {clone}"),
            (Ours::Archive(of), _) => format!("archive {of}"),
            (Ours::Bundle(id), _) => format!("bundle {id}"),
            (Ours::LandedNotes, _) => "notes".to_owned(),
            (Ours::Format, _) => "sentinel".to_owned(),
            _ => self.name.to_string(),
        })
    }
}

/// What was fetched of a remote.
pub struct Mirror {
    place: String,
    refs: BTreeMap<RefName, Oid>,
    strange: Vec<RefName>,
}

impl Mirror {
    /// Fetches what the remote has now. Whoever calls this holds the lock of syncing, which no git outlives: a lock
    /// on the mirror is of a dead one.
    pub fn fetch(repo: &Repo, remote: &RemoteName) -> Result<Mirror> {
        let (place, refspecs) = names::mirror(remote);
        repo.clear_locks_below(&place)?;
        repo.fetch(remote, &refspecs)?;
        let here = repo.refs(&[names::SHARED, names::NOTES])?;
        let here: BTreeMap<RefName, Oid> = here.into_iter().map(|r| (r.name, r.oid)).collect();
        let (mut refs, mut strange) = (BTreeMap::new(), Vec::new());
        for Ref { name, oid, points_at } in repo.refs(&[&place])? {
            let Some(name) = names::mirrored(&place, &name).filter(|_| points_at.is_none()) else { continue };
            let sound = here.get(&name) == Some(&oid)
                || names::parse(&name)
                    .is_some_and(|ours| is_sound(repo, &ours, oid, here.get(&name).copied()));
            if sound {
                refs.insert(name, oid);
            } else {
                strange.push(name);
            }
        }
        Ok(Mirror { place, refs, strange })
    }

    /// What is there and cannot be read here: no commit, or none of that kind.
    pub fn strange(&self) -> &[RefName] {
        &self.strange
    }

    pub fn there(&self, name: &RefName) -> Option<Oid> {
        self.refs.get(name).copied()
    }

    pub fn refs(&self) -> &BTreeMap<RefName, Oid> {
        &self.refs
    }

    /// Plain git that lists it.
    pub fn list(&self) -> String {
        format!("git for-each-ref {}", self.place)
    }

    /// Every ref of a kind that is exchanged, and how its two sides stand to each other. `clone` is ours.
    pub fn compare(&self, repo: &Repo, view: &View, clone: &str) -> Result<Vec<Both>> {
        let mut all: BTreeMap<RefName, [Option<Oid>; 2]> = BTreeMap::new();
        for Ref { name, oid, points_at } in repo.refs(&[names::SHARED, names::NOTES])? {
            if points_at.is_none() {
                all.entry(name).or_default()[0] = Some(oid);
            }
        }
        for (name, oid) in &self.refs {
            all.entry(name.clone()).or_default()[1] = Some(*oid);
        }
        let closed = view.closings(repo)?;
        let mut found = Vec::new();
        for (name, [here, there]) in all {
            let Some(ours) = names::parse(&name) else { continue };
            let Some(shared) = shared(repo, view, clone, &ours, there)? else { continue };
            let standing = standing(repo, shared, here, there)?;
            let closed = match &ours {
                Ours::Worker(id) => match closed.get(id) {
                    Some((record, by)) if covers(repo, *record, [here, there])? => Some(whose(by == clone)),
                    _ => None,
                },
                _ => None,
            };
            found.push(Both { name, ours, shared, here, there, standing, closed });
        }
        Ok(found)
    }
}

/// Whether what a server shows is of its kind: anybody could have put it there, and what is taken is read by every verb.
fn is_sound(repo: &Repo, ours: &Ours, at: Oid, here: Option<Oid>) -> bool {
    let commit = matches!(repo.objects.try_read(at), Ok(Some((Kind::Commit, _))));
    commit
        && match ours {
            Ours::Worker(_) => record(repo, at).is_ok(),
            Ours::Lane(_) => lane::records_since(repo, at, here).is_ok(),
            Ours::Archive(_) => crate::state::archive::is_readable(repo, at),
            Ours::Bundle(_) => {
                matches!(read_bundle(&repo.objects, at, false), Ok(Ok(_) | Err(Unsound::Unknown(_))))
            }
            Ours::Document(id) => {
                DocState::at(repo, at).is_ok_and(|state| state.record.doc == *id && state.is_whole(repo))
            }
            _ => true,
        }
}

fn whose(ours: bool) -> Whose {
    if ours { Whose::Ours } else { Whose::Theirs }
}

/// What kind of ref it is; none if it is not exchanged.
fn shared(repo: &Repo, view: &View, clone: &str, ours: &Ours, there: Option<Oid>) -> Result<Option<Shared>> {
    Ok(Some(match ours {
        Ours::Format => Shared::Sentinel,
        Ours::Lane(of) => Shared::Of(whose(of == clone)),
        Ours::Archive(of) => Shared::Of(whose(of.rsplitn(3, '-').last() == Some(clone))),
        Ours::Bundle(_) => Shared::Fixed,
        Ours::Document(_) => Shared::Document,
        Ours::LandedNotes => Shared::Notes,
        Ours::Worker(id) => {
            let here = view.workers.iter().find(|w| w.id == *id).map(|w| w.record.clone.clone());
            let owner = match (here, there) {
                (Some(owner), _) => Some(owner),
                (None, Some(there)) => record(repo, there)?.map(|record| record.clone),
                (None, None) => None,
            };
            Shared::Of(whose(owner.as_deref() == Some(clone)))
        }
        _ => return Ok(None),
    }))
}

/// A worker's record at a commit; none if this version cannot read it.
fn record(repo: &Repo, at: Oid) -> Result<Option<WorkerRecord>> {
    match read::<WorkerRecord>(repo, repo.objects.tree_of(at)?, "record.json")? {
        Read::Known(record) => Ok(Some(record)),
        Read::Unknown(_) => Ok(None),
    }
}

fn standing(repo: &Repo, shared: Shared, here: Option<Oid>, there: Option<Oid>) -> Result<Standing> {
    let (here, there) = match (here, there) {
        (Some(here), Some(there)) if here == there => return Ok(Standing::Same),
        (Some(here), Some(there)) => (here, there),
        (Some(_), None) => return Ok(Standing::Here),
        (None, _) => return Ok(Standing::There),
    };
    let follows = |new, old| match shared {
        // Written by several: what was merged is a second parent.
        Shared::Document | Shared::Notes => repo.objects.is_ancestor(old, new),
        _ => follows(repo, new, old),
    };
    Ok(if follows(here, there)? {
        Standing::Ahead
    } else if follows(there, here)? {
        Standing::Behind
    } else {
        Standing::Apart
    })
}

/// Whether record commit `old` is in the chain that ends with `new`. Only first parents are its chain.
fn follows(repo: &Repo, new: Oid, old: Oid) -> Result<bool> {
    let mut next = Some(new);
    while let Some(oid) = next {
        if oid == old {
            return Ok(true);
        }
        let commit = repo.objects.commit(oid)?;
        next = commit.parents.first().copied().filter(|_| is_ours(&commit));
    }
    Ok(false)
}

fn covers(repo: &Repo, record: Oid, sides: [Option<Oid>; 2]) -> Result<bool> {
    for side in sides.into_iter().flatten() {
        if !follows(repo, record, side)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Notes tree `root` with the lines that what came to a lane after `known` implies.
pub fn add_notes(repo: &Repo, root: Oid, lane: Oid, known: Option<Oid>) -> Result<Oid> {
    let mut root = root;
    for (_, record) in lane::records_since(repo, lane, known)? {
        let Entry::Landing(landing) = record.entry else { continue };
        let Some((note, landed)) = landing.into_move(record.op, record.at).note() else { continue };
        let line = encode_line(&note)?;
        for about in landed {
            root = repo.objects.note_with_line(root, about, &line)?;
        }
    }
    Ok(root)
}

/// Notes tree `root` with all lines of the notes tree `other`.
pub fn with_notes_of(objects: &Objects, root: Oid, other: Oid) -> Result<Oid> {
    let mut joined = root;
    for change in objects.diff_trees(root, other)? {
        let Some((_, blob)) = change.new else { continue };
        let hex = change.path.replace("/", "");
        let Ok(about) = hex.to_str_lossy().parse::<Oid>() else { continue };
        for line in objects.blob(blob)?.lines().filter(|line| !line.is_empty()) {
            joined = objects.note_with_line(joined, about, &line.to_str_lossy())?;
        }
    }
    Ok(joined)
}

impl View {
    /// Of each closed worker its last record, and the clone that closed it.
    pub fn closings(&self, repo: &Repo) -> Result<BTreeMap<WorkerId, (Oid, String)>> {
        let mut found: BTreeMap<WorkerId, (u32, Oid, String)> = BTreeMap::new();
        for (name, entry) in crate::state::archive::entries(repo, self)? {
            let by = name.rsplitn(3, '-').last().unwrap_or_default().to_owned();
            match found.get(&entry.worker) {
                Some((fold, ..)) if *fold >= entry.fold => {}
                _ => drop(found.insert(entry.worker, (entry.fold, entry.record, by))),
            }
        }
        Ok(found.into_iter().map(|(id, (_, record, by))| (id, (record, by))).collect())
    }
}
