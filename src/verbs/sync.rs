//! `sync`: the same state in every clone, by way of any git server. Fetch, bring together, give, and look again: what
//! the remote was seen to have is what was given, whatever git said. Nothing is queued: what differs is what is left.

mod documents;
mod notes;

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::sync::Step;
use crate::plumbing::Edit;
use crate::plumbing::Hooks;
use crate::plumbing::Moved;
use crate::plumbing::Send;
use crate::state::Both;
use crate::state::Draft;
use crate::state::Mirror;
use crate::state::Part;
use crate::verbs::init;
use crate::verbs::session::Session;
use crate::verbs::sync::documents::Brought;
use serde::Serialize;
use std::collections::BTreeMap;

/// Refs in one push: more make a command line too long for some systems.
const BATCH: usize = 200;

/// How often it begins anew because the remote moved meanwhile. Each time somebody else has got on.
const ROUNDS: usize = 100;

/// What was exchanged. All lists are in the order of the refs' names.
#[derive(Debug, Serialize)]
pub struct Synced {
    pub remote: String,
    /// Moved here to what the remote had, or brought together with it.
    pub took: Vec<Exchanged>,
    /// Moved there to what is here, and seen there.
    pub gave: Vec<Exchanged>,
    /// Workers that are closed: their refs went, here or there.
    pub let_go: Vec<Exchanged>,
    /// Written by two as one clone: left as they are on both sides.
    pub forked: Vec<Forked>,
    /// Documents that could not be brought here now.
    pub stays: Vec<Stays>,
    /// What the remote has below our names and is not ours to read: left as it is.
    pub strange: Vec<RefName>,
    /// What the remote did not take, or does not show, and its words.
    pub refused: Vec<RefName>,
    pub words: Option<String>,
}

/// One ref, and what it is to people.
#[derive(Debug, Clone, Serialize)]
pub struct Exchanged {
    #[serde(rename = "ref")]
    pub name: RefName,
    pub what: String,
    pub old: Option<Oid>,
    pub new: Option<Oid>,
}

/// A document that is as it was.
#[derive(Debug, Serialize)]
pub struct Stays {
    #[serde(rename = "ref")]
    pub name: RefName,
    pub what: String,
    pub token: Option<Token>,
    pub why: String,
}

#[derive(Debug, Serialize)]
pub struct Forked {
    #[serde(rename = "ref")]
    pub name: RefName,
    pub what: String,
    pub here: Option<Oid>,
    pub there: Option<Oid>,
}

pub fn run(session: &mut Session<'_>, remote: Option<&str>) -> Result<Synced> {
    session.refuse_in_worker("sync")?;
    let remote = self::remote(session, remote)?;
    init::ensure(session)?;
    let _lock = session.lock_syncing()?;
    let mut exchange = Exchange::new(session, &remote);
    let mut words = None;
    let mut last = None;
    for round in 0..=ROUNDS {
        let mirror = Mirror::fetch(&session.repo, &remote)?;
        crate::fault::point("sync: fetched");
        exchange.confirm(&mirror);
        exchange.strange = mirror.strange().to_vec();
        exchange.take(&mirror)?;
        crate::fault::point("sync: taken");
        let sends = exchange.left(&mirror)?;
        // The remote has not moved, so it did not take it, or does not show it: it will not.
        let stuck = round == ROUNDS || last.as_ref() == Some(mirror.refs());
        if sends.is_empty() || stuck {
            exchange.refused = sends.into_iter().map(|send| send.name).collect();
            break;
        }
        words = exchange.give(&sends)?;
        crate::fault::point("sync: given");
        last = Some(mirror.refs().clone());
    }
    session.keep_cache();
    Ok(exchange.done(words))
}

/// The remote that is meant: the one named, that of the configuration, `origin`, the only one.
pub fn remote(session: &Session<'_>, named: Option<&str>) -> Result<RemoteName> {
    let mut all: Vec<&str> =
        session.config.named("remote", "url").into_iter().map(|(name, _)| name).collect();
    all.dedup();
    let none = |says: String| {
        let refusal = Refusal::new(Token::NoRemote, says).lines(all.iter().map(|name| (*name).to_owned()));
        refusal.show("git remote -v").next("name one, or make one: git remote add <name> <address>")
    };
    let wanted = named.or_else(|| session.config.get("skein.remote"));
    let only = || if let [one] = all[..] { Some(one) } else { None };
    match wanted.or_else(|| all.iter().copied().find(|name| *name == "origin")).or_else(only) {
        Some(name) if all.contains(&name) => RemoteName::new(name),
        Some(name) => Err(none(format!("no remote is called {name:?}")).into()),
        None if all.is_empty() => Err(none("this repository has no remote".to_owned()).into()),
        None => Err(none("there is more than one remote, and none of them is origin".to_owned()).into()),
    }
}

/// What goes on with one remote.
struct Exchange<'s, 'e> {
    session: &'s Session<'e>,
    remote: &'s RemoteName,
    clone: String,
    took: BTreeMap<RefName, Exchanged>,
    gave: BTreeMap<RefName, Exchanged>,
    let_go: BTreeMap<RefName, Exchanged>,
    forked: BTreeMap<RefName, Forked>,
    stays: BTreeMap<RefName, Stays>,
    strange: Vec<RefName>,
    refused: Vec<RefName>,
    /// Given and not seen there yet.
    asked: BTreeMap<RefName, Exchanged>,
}

impl<'s, 'e> Exchange<'s, 'e> {
    fn new(session: &'s Session<'e>, remote: &'s RemoteName) -> Exchange<'s, 'e> {
        Exchange {
            session,
            remote,
            clone: session.clone_id().unwrap_or_default().to_owned(),
            took: BTreeMap::new(),
            gave: BTreeMap::new(),
            let_go: BTreeMap::new(),
            forked: BTreeMap::new(),
            stays: BTreeMap::new(),
            strange: Vec::new(),
            refused: Vec::new(),
            asked: BTreeMap::new(),
        }
    }

    /// What was given and is there now was taken.
    fn confirm(&mut self, mirror: &Mirror) {
        for (name, asked) in std::mem::take(&mut self.asked) {
            match (mirror.there(&name), asked.new) {
                (None, None) => drop(self.let_go.insert(name, asked)),
                (Some(there), Some(new)) if there == new => drop(self.gave.insert(name, asked)),
                _ => {}
            }
        }
    }

    /// Brings here what the remote has: first who closed what, then the rest, then what is written by several.
    fn take(&mut self, mirror: &Mirror) -> Result<()> {
        let session = self.session;
        // A lane is written under it, and a clone that was made anew takes its own back.
        let lock = session.lock_landing()?;
        let of = |found: &[Both], part| found.iter().filter(|both| both.part() == part).cloned().collect();
        let found = mirror.compare(&session.repo, &session.view()?, &self.clone)?;
        let ledgers: Vec<Both> = of(&found, Part::Ledgers);
        let lanes = self.take_all(mirror, &ledgers)?;
        // Who closed what is known now.
        let found = mirror.compare(&session.repo, &session.view()?, &self.clone)?;
        let workers: Vec<Both> = of(&found, Part::Workers);
        self.take_all(mirror, &workers)?;
        drop(lock);
        for both in found.into_iter().filter(|both| both.part() == Part::Documents) {
            self.stays.remove(&both.name);
            match documents::take(session, &both)? {
                Brought::Nothing => {}
                Brought::Moved(taken) => drop(self.took.insert(both.name, taken)),
                Brought::Stays(stays) => drop(self.stays.insert(both.name, stays)),
            }
        }
        if let Some(taken) = notes::take(session, mirror, &lanes)? {
            self.took.insert(taken.name.clone(), taken);
        }
        Ok(())
    }

    /// The lanes among them, each with where it is now and where it was.
    fn take_all(&mut self, mirror: &Mirror, found: &[Both]) -> Result<Vec<(Oid, Option<Oid>)>> {
        let repo = &self.session.repo;
        let mut draft = Draft::new(repo);
        let (mut done, mut lanes) = (Vec::new(), Vec::new());
        for both in found {
            let what = both.what(repo)?;
            let (new, list) = match both.step() {
                Step::Take => (both.there, true),
                Step::Drop if both.here.is_some() => (None, false),
                Step::Forked => {
                    let Both { name, here, there, .. } = both.clone();
                    self.forked.insert(name.clone(), Forked { name, what, here, there });
                    continue;
                }
                _ => continue,
            };
            if let Some(new) = new.filter(|_| both.is_lane()) {
                lanes.push((new, both.here));
            }
            draft = draft.put(Edit { name: both.name.clone(), old: both.here, new });
            done.push((list, Exchanged { name: both.name.clone(), what, old: both.here, new }));
        }
        if !draft.is_empty() && draft.publish()? != Moved::Done {
            return Err(moved(mirror));
        }
        for (taken, one) in done {
            let list = if taken { &mut self.took } else { &mut self.let_go };
            list.insert(one.name.clone(), one);
        }
        Ok(lanes)
    }

    /// What the remote lacks still. The sentinel goes first, and a closed worker's ref when its archive is there.
    fn left(&mut self, mirror: &Mirror) -> Result<Vec<Send>> {
        let session = self.session;
        let repo = &session.repo;
        let found = mirror.compare(repo, &session.view()?, &self.clone)?;
        let archived = !found.iter().any(|both| both.is_archive() && both.step() == Step::Give);
        let mut sends = Vec::new();
        for both in found {
            let send = match (both.step(), both.here, both.there) {
                (Step::Give, Some(here), _) if documents::may_be_given(session, &both) => {
                    Send::forward(both.name.clone(), here)
                }
                (Step::Withdraw, _, Some(there)) if archived => Send::delete(both.name.clone(), there),
                _ => continue,
            };
            let one =
                Exchanged { name: both.name.clone(), what: both.what(repo)?, old: both.there, new: send.new };
            self.asked.insert(both.name.clone(), one);
            sends.push(send);
        }
        Ok(sends)
    }

    /// Pushes all of it; the remote's words if it did not take some.
    fn give(&self, sends: &[Send]) -> Result<Option<String>> {
        let repo = &self.session.repo;
        let mut words = None;
        let sentinel = crate::state::format_ref()?;
        let (first, rest): (Vec<&Send>, Vec<&Send>) = sends.iter().partition(|send| send.name == sentinel);
        let batches = first.chunks(1).chain(rest.chunks(BATCH));
        for batch in batches {
            let batch: Vec<Send> = batch.iter().map(|send| (*send).clone()).collect();
            words = repo.push(self.remote, &batch, Hooks::None)?.or(words);
            crate::fault::point("sync: batch given");
        }
        Ok(words)
    }

    fn done(self, words: Option<String>) -> Synced {
        let words = words.filter(|_| !self.refused.is_empty());
        Synced {
            remote: self.remote.to_string(),
            took: self.took.into_values().collect(),
            gave: self.gave.into_values().collect(),
            let_go: self.let_go.into_values().collect(),
            forked: self.forked.into_values().collect(),
            stays: self.stays.into_values().collect(),
            strange: self.strange,
            refused: self.refused,
            words,
        }
    }
}

fn moved(mirror: &Mirror) -> Failure {
    Refusal::new(Token::RecordMoved, "something here was written while it was brought together")
        .show(mirror.list())
        .next("give the same command again")
        .into()
}
