//! `init`: the sentinel of the schema and this clone's id. Doing it again changes nothing.

use crate::domain::Failure;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::View;
use crate::state::format_ref;
use crate::state::record_commit;
use crate::verbs::graph;
use crate::verbs::recover;
use crate::verbs::session::Session;
use serde::Serialize;

/// What `init` wrote; empty if everything was there.
#[derive(Debug, Serialize)]
pub struct Initialised {
    pub clone: String,
    pub wrote: Vec<String>,
}

pub fn run(session: &mut Session<'_>) -> Result<Initialised> {
    session.refuse_in_worker("init")?;
    let view = session.view()?;
    let done = prepare(session, &view)?;
    let taken_in = graph::complete(session, &view);
    if taken_in > 0 {
        session.tell(format!("{taken_in} commits are known to `landed` from now on"));
    }
    session.keep_cache();
    Ok(done)
}

/// What every writing verb does first: it makes what is missing and ends what dead processes began.
pub fn ensure(session: &mut Session<'_>) -> Result<View> {
    let view = session.view()?;
    ensure_from(session, view)
}

/// The same for a verb about worker `name`: where nothing is kept there is none, and that is said before anything is.
pub fn ensure_for(session: &mut Session<'_>, name: &str) -> Result<View> {
    let view = session.view()?;
    if !view.initialised {
        view.worker(name)?;
    }
    ensure_from(session, view)
}

/// The same for a verb that has nothing to do with workers: it looks at no more than the sentinel.
pub fn ensure_known(session: &mut Session<'_>) -> Result<()> {
    let sentinel = session.repo.read_refs(&[&format_ref()?])?.pop().flatten();
    match sentinel {
        Some(_) if session.clone_id().is_some() && !session.is_homeless() => session.refuse_full(),
        _ => ensure(session).map(drop),
    }
}

/// The same for a verb that has looked already.
pub fn ensure_from(session: &mut Session<'_>, view: View) -> Result<View> {
    if view.initialised && session.clone_id().is_some() && !session.is_homeless() {
        session.refuse_full()?;
        session.keep_cache();
        graph::extend(session, &view);
        return if recover::all(session, &view)? { session.view() } else { Ok(view) };
    }
    let done = prepare(session, &view)?;
    for line in done.wrote {
        session.tell(format!("init: {line}"));
    }
    session.view()
}

fn prepare(session: &mut Session<'_>, view: &View) -> Result<Initialised> {
    session.refuse_full()?;
    let mut wrote = Vec::new();
    if !view.initialised {
        // A git may have died in the first transaction of all.
        recover::locks(session)?;
        let repo = &session.repo;
        // A fixed date: every clone makes the same sentinel.
        let sentinel =
            record_commit(repo, repo.objects.write_empty_tree()?, Vec::new(), 0, "git-skein schema 1")?;
        let name = format_ref()?;
        let moved = Draft::new(repo).put(Edit::create(name.clone(), sentinel)).publish()?;
        let theirs = matches!(&moved, Moved::Lost(now) if now.iter().all(|(_, oid)| *oid == Some(sentinel)));
        if moved != Moved::Done && !theirs {
            return Err(Failure::fault("making the sentinel", format!("{name} is something else")));
        }
        wrote.push(format!("made {name}"));
        if !session.config.named("remote", "url").is_empty() {
            wrote.push(
                "what other clones have of it does not come by fetch or pull: git skein sync".to_owned(),
            );
        }
    }
    crate::fault::point("init: sentinel made");
    let clone = clone_id(session, &mut wrote)?;
    Ok(Initialised { clone, wrote })
}

/// This clone's id, given now if it has none of its own.
fn clone_id(session: &mut Session<'_>, wrote: &mut Vec<String>) -> Result<String> {
    if let Some(id) = session.clone_id().filter(|_| !session.is_homeless()) {
        return Ok(id.to_owned());
    }
    let _lock = session.lock_landing()?;
    // Another process may have given the id while this one waited.
    session.look_again()?;
    let id = match session.clone_id() {
        Some(id) => id.to_owned(),
        None => {
            let id = session.new_worker_id().to_string();
            session.repo.set_config("skein.clone", &id)?;
            wrote.push(format!("set skein.clone = {id} in this repository's config"));
            // Before it is noted where: a crash between gives one more id, never a second owner of one.
            crate::fault::point("init: id given");
            id
        }
    };
    if session.is_homeless() {
        session.settle()?;
    }
    session.look_again()?;
    Ok(id)
}
