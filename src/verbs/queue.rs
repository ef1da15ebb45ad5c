//! Briefs on a remote: a task that is not started here, but by whichever runner takes it.

use crate::domain::BriefId;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::mask;
use crate::domain::quoted;
use crate::plumbing::Hooks;
use crate::plumbing::Send;
use crate::state::BriefRecord;
use crate::state::QUEUE;
use crate::state::Queue;
use crate::state::VERSION;
use crate::state::brief_commit;
use crate::state::format_ref;
use crate::state::queued_ref;
use crate::verbs::dispatch;
use crate::verbs::dispatch::Request;
use crate::verbs::init;
use crate::verbs::server;
use crate::verbs::session::Session;
use crate::verbs::sync;
use serde::Serialize;

/// The name of the lease of a brief.
pub fn lease(id: BriefId) -> String {
    format!("brief-{id}")
}

/// The brief that a lease is of.
pub fn of_lease(name: &str) -> Option<BriefId> {
    name.strip_prefix("brief-")?.parse().ok()
}

/// A brief that waits, or is being run.
#[derive(Debug, Serialize)]
pub struct Waiting {
    pub brief: BriefId,
    pub at: Oid,
    /// None if this version cannot read it.
    #[serde(flatten)]
    pub record: Option<BriefRecord>,
    /// The clone that runs it.
    pub held: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Listed {
    pub remote: String,
    pub briefs: Vec<Waiting>,
}

/// One that was put there, or taken away.
#[derive(Debug, Serialize)]
pub struct Changed {
    pub remote: String,
    #[serde(flatten)]
    pub brief: Waiting,
}

/// Puts the task into the queue of `remote`, with its base.
pub fn add(
    session: &mut Session<'_>,
    remote: Option<&str>,
    request: &Request,
    label: Option<&str>,
) -> Result<Changed> {
    session.refuse_in_worker("dispatch")?;
    let remote = sync::remote(session, remote)?;
    let view = init::ensure(session)?;
    dispatch::refuse_empty(request)?;
    refuse_secrets(request)?;
    let (onto, target) = dispatch::target(session, &view, request)?;
    let (base, base_name) = dispatch::base(session, request, &onto, target)?;
    let (onto, onto_server) = meant(session, &remote, &onto)?;
    let task = mask(&request.task);
    let id = BriefId::from_parts(session.clock.now_millis(), session.clock.distinct());
    let record = BriefRecord {
        v: VERSION,
        brief: id,
        clone: session.clone_id().unwrap_or_default().to_owned(),
        task: task.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned(),
        base,
        base_name,
        onto,
        onto_server,
        name: request.name.clone(),
        kind: request.kind.clone(),
        agent: request.agent.clone(),
        argv: request.argv.clone(),
        paths: request.paths.clone(),
        checks: request.checks.clone(),
        limits: request.limits.clone(),
        label: label.map(ToOwned::to_owned),
        created: session.clock.now_secs(),
    };
    let new = brief_commit(&session.repo, &record, &task)?;
    crate::fault::point("queue: brief written");
    let send = Send { name: queued_ref(id)?, new: Some(new), expected: Some(new.null_like()) };
    // A server is a repository like any other: refs of ours without the sentinel would be lost ones.
    let sentinel = format_ref()?;
    let here = session.repo.read_refs(&[&sentinel])?.pop().flatten();
    let first = here.map(|at| Send::forward(sentinel, at));
    let sends: Vec<Send> = first.into_iter().chain([send]).collect();
    let words = session.repo.push(&remote, &sends, Hooks::None)?;
    crate::fault::point("queue: brief pushed");
    let queue = Queue::fetch(&session.repo, &remote, &[])?;
    if queue.briefs.get(&id).is_none_or(|there| there.at != new) {
        return Err(refused(&remote, &queued_ref(id)?, &words.unwrap_or_default()));
    }
    let brief = Waiting { brief: id, at: new, record: Some(record), held: None };
    Ok(Changed { remote: remote.to_string(), brief })
}

/// A branch of that very remote is one of the server to every runner; of another one nobody knows what it is there.
fn meant(session: &Session<'_>, remote: &RemoteName, onto: &RefName) -> Result<(RefName, bool)> {
    match server::of(session, onto) {
        None => Ok((onto.clone(), false)),
        Some(server) if server.remote == *remote => Ok((server.branch, true)),
        Some(server) => {
            let says =
                format!("{} is a branch of {}, and the queue is on {remote}", onto.short(), server.remote);
            Err(Refusal::new(Token::NotABranch, says)
                .show("git remote -v")
                .next(format!("give a branch of {remote}, or queue it there: --queue={}", server.remote))
                .into())
        }
    }
}

fn refuse_secrets(request: &Request) -> Result<()> {
    let commands = request.argv.iter().chain(&request.checks);
    if commands.clone().all(|word| mask(word) == *word) {
        return Ok(());
    }
    Err(Refusal::new(Token::SecretInBrief, "a command of it holds what looks like a secret")
        .lines(commands.map(|word| mask(word)).collect::<Vec<_>>())
        .show("git skein dispatch -h")
        .next("let the agent read it from its environment or from a file on the machine of the runner")
        .into())
}

pub fn refused(remote: &RemoteName, name: &RefName, words: &str) -> Failure {
    Refusal::new(Token::PushRefused, format!("{remote} did not take {name}"))
        .lines(words.lines().map(ToOwned::to_owned))
        .show(format!("git ls-remote {remote} {}", quoted(name.as_str())))
        .next("do as those words say, or ask who keeps it; then give the same command again")
        .into()
}

/// What waits on `remote`, oldest first.
pub fn list(session: &Session<'_>, remote: Option<&str>) -> Result<Listed> {
    let remote = sync::remote(session, remote)?;
    let queue = Queue::fetch(&session.repo, &remote, &[])?;
    let briefs = queue.briefs.keys().filter_map(|id| waiting(&queue, *id)).collect();
    Ok(Listed { remote: remote.to_string(), briefs })
}

fn waiting(queue: &Queue, brief: BriefId) -> Option<Waiting> {
    let there = queue.briefs.get(&brief)?;
    let held = queue.leases.get(&lease(brief));
    let held = held.map(|held| held.record.as_ref().map_or_else(String::new, |record| record.clone.clone()));
    Some(Waiting { brief, at: there.at, record: there.record.clone(), held })
}

/// Takes a brief out of the queue. One that is being run goes on, and its result comes all the same.
pub fn discard(session: &mut Session<'_>, remote: Option<&str>, id: &str) -> Result<Changed> {
    session.refuse_in_worker("queue drop")?;
    let remote = sync::remote(session, remote)?;
    let queue = Queue::fetch(&session.repo, &remote, &[])?;
    let lower = id.to_ascii_lowercase();
    let mut fit =
        queue.briefs.keys().filter(|brief| !lower.is_empty() && brief.to_string().starts_with(&lower));
    let (Some(found), None) = (fit.next(), fit.next()) else {
        return Err(Refusal::new(
            Token::NoSuchBrief,
            format!("{id:?} is not the id of one brief that waits on {remote}"),
        )
        .lines(queue.briefs.keys().map(BriefId::to_string))
        .show(format!("git ls-remote {remote} '{QUEUE}/*'"))
        .next("git skein queue list shows them")
        .into());
    };
    let brief = waiting(&queue, *found).ok_or_else(|| Failure::fault("reading the queue", "it is gone"))?;
    let words = session.repo.push(&remote, &[Send::delete(queued_ref(*found)?, brief.at)], Hooks::None)?;
    if Queue::fetch(&session.repo, &remote, &[])?.briefs.contains_key(found) {
        return Err(refused(&remote, &queued_ref(*found)?, &words.unwrap_or_default()));
    }
    Ok(Changed { remote: remote.to_string(), brief })
}
