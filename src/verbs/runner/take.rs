//! Taking briefs: which may be taken, the lease, and the worker.

use crate::domain::BriefId;
use crate::domain::Failure;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::SCRIPTED;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Hooks;
use crate::state::BriefRecord;
use crate::state::View;
use crate::verbs::dispatch;
use crate::verbs::kinds;
use crate::verbs::queue;
use crate::verbs::runner::Runner;
use crate::verbs::server;
use std::time::Instant;

/// What became of one that was to be taken.
enum Taken {
    Runs,
    /// Another one was faster, or holds it.
    Theirs,
    /// As many workers run here as the person wants.
    Full,
    Left(String),
}

impl Runner<'_, '_, '_> {
    /// Takes what may be taken while there is room. True if a brief is held by somebody of whom it is not known
    /// whether they live.
    pub(super) fn take(&mut self, running: usize) -> Result<bool> {
        let (mut running, mut waits) = (running, false);
        let all: Vec<BriefId> = self.queue.briefs.keys().copied().collect();
        for brief in all {
            let Some(record) = self.wanted(brief)? else { continue };
            if running >= self.request.jobs {
                // It is there still, and so are those behind it.
                return Ok(waits);
            }
            let name = queue::lease(brief);
            let theirs = self.queue.leases.contains_key(&name) && !self.holds(brief);
            if theirs && !self.sightings.is_stale(&self.queue, &name) {
                let holder = self.leases().holder(&self.queue, &name).unwrap_or("another").to_owned();
                self.session.tell_once(format!("brief {brief} is held by clone {holder}"));
                waits |= !self.sightings.is_alive(&name);
                continue;
            }
            match self.take_one(brief, &record)? {
                Taken::Runs => running += 1,
                Taken::Theirs => waits = true,
                Taken::Full => return Ok(true),
                Taken::Left(why) => self.leave(brief, why),
            }
        }
        Ok(waits)
    }

    /// The record of a brief that this runner is for, and that it does not run already.
    fn wanted(&mut self, brief: BriefId) -> Result<Option<BriefRecord>> {
        if self.skipped.contains(&brief) {
            return Ok(None);
        }
        let Some(record) = self.queue.briefs.get(&brief).and_then(|there| there.record.clone()) else {
            self.leave(brief, "this version cannot read it".to_owned());
            return Ok(None);
        };
        if record.label != self.request.label {
            return Ok(None);
        }
        let view = self.session.view()?;
        // One whose result is not there yet has been run, too.
        if self.own(&view).any(|w| w.record.brief == Some(brief)) {
            return Ok(None);
        }
        if let Some(why) = self.barred(&view, &record)? {
            self.leave(brief, why);
            return Ok(None);
        }
        Ok(Some(record))
    }

    /// Why this machine's owner does not let it run here.
    fn barred(&self, view: &View, record: &BriefRecord) -> Result<Option<String>> {
        let allow = "git config --add skein.runnerAgent";
        if let Some(check) = self.allowed.refused_check(&record.checks) {
            return Ok(Some(format!(
                "its check may not run here; to allow it: git config --add skein.runnerCheck {}",
                quoted(check)
            )));
        }
        if !record.argv.is_empty() {
            let words = record.argv.join(" ");
            let barred = !self.allowed.command(&record.argv);
            return Ok(
                barred.then(|| format!("its agent may not run here; to allow it: {allow} {}", quoted(words)))
            );
        }
        if let Some(name) = &record.agent {
            let barred = !self.allowed.agent(name);
            return Ok(barred
                .then(|| format!("agent {name:?} may not run here; to allow it: {allow} {}", quoted(name))));
        }
        // Then it is a matter of this clone what runs, but for the built-in agent: that one runs what the task says.
        let request = dispatch::Request { kind: record.kind.clone(), ..dispatch::Request::default() };
        let chosen = match kinds::choose(self.session, view, request.kind.as_deref()) {
            Ok(chosen) => chosen.complete(&request),
            Err(Failure::Refusal(refusal)) => return Ok(Some(refusal.says)),
            Err(fault) => return Err(fault),
        };
        let own = chosen.agent.is_some()
            || !chosen.argv.is_empty()
            || self.session.config.get("skein.agent").is_some();
        let barred = !own && !self.allowed.agent(SCRIPTED);
        Ok(barred.then(|| format!("the built-in agent may not run here; to allow it: {allow} {SCRIPTED}")))
    }

    fn take_one(&mut self, brief: BriefId, record: &BriefRecord) -> Result<Taken> {
        let name = queue::lease(brief);
        let text = self.queue.text(&self.session.repo, brief)?;
        let send = self.leases().claim(self.session, &self.queue, &name)?;
        let now = Instant::now();
        crate::fault::point("runner: lease written");
        self.session.repo.push(self.remote, std::slice::from_ref(&send), Hooks::None)?;
        crate::fault::point("runner: lease pushed");
        self.fetch(&[])?;
        let there = self.queue.leases.get(&name).map(|there| there.at);
        if there != send.new {
            let holder = self.leases().holder(&self.queue, &name).unwrap_or("another").to_owned();
            self.session.tell_once(format!("brief {brief} is held by clone {holder}"));
            return Ok(Taken::Theirs);
        }
        if !self.queue.briefs.contains_key(&brief) {
            // Its result came just before. The lease is tidied away with the others that nothing waits for.
            return Ok(Taken::Theirs);
        }
        self.renewed.insert(brief, now);
        match self.start(brief, record, text) {
            Ok(handle) => {
                crate::fault::point("runner: dispatched");
                self.session.tell(format!("brief {brief}: {handle} is at work: {}", record.task));
                Ok(Taken::Runs)
            }
            Err(failure) => {
                self.leases().release(self.session, &self.queue, &name)?;
                match failure {
                    Failure::Refusal(full) if full.token == Token::TooMany => Ok(Taken::Full),
                    Failure::Refusal(refusal) => Ok(Taken::Left(refusal.says)),
                    fault => Err(fault),
                }
            }
        }
    }

    fn start(&mut self, brief: BriefId, record: &BriefRecord, task: String) -> Result<String> {
        let onto = self.branch(record)?;
        let request = dispatch::Request {
            task,
            upon: Some((record.base, record.base_name.clone())),
            name: record.name.clone(),
            kind: record.kind.clone(),
            paths: record.paths.clone(),
            onto: Some(onto.to_string()),
            checks: record.checks.clone(),
            limits: record.limits.clone(),
            agent: record.agent.clone(),
            argv: record.argv.clone(),
            brief: Some(brief),
            ..dispatch::Request::default()
        };
        let done = dispatch::begin(self.session, &request)?;
        Ok(done.handle.to_string())
    }

    /// Where it is to go: the branch here, or where there is none, or it is meant so, that of the server.
    fn branch(&self, record: &BriefRecord) -> Result<RefName> {
        let view = self.session.view()?;
        if record.onto.is_tracking() || !record.onto_server && self.session.tip(&view, &record.onto).is_some()
        {
            return Ok(record.onto.clone());
        }
        let there = RefName::new(format!("refs/remotes/{}/{}", self.remote, record.onto.short()))?;
        if let Some(server) = server::of(self.session, &there) {
            server.fetch(self.session)?;
        }
        Ok(there)
    }
}
