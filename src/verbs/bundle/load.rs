//! Bundles as references: loaded for a worker, given to its agent with the next run, once.

use crate::domain::BundleId;
use crate::domain::Handle;
use crate::domain::Liveness;
use crate::domain::Loaded;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Reference;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::references;
use crate::state::Bundle;
use crate::state::View;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::bundle::file;
use crate::verbs::bundle::find;
use crate::verbs::bundle::no_such;
use crate::verbs::bundle::read;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::init;
use crate::verbs::job::Job;
use crate::verbs::session::Session;
use crate::verbs::verdict;
use serde::Serialize;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A bundle that a worker is to be given.
#[derive(Debug, Serialize)]
pub struct Given {
    pub worker: WorkerId,
    pub handle: Handle,
    pub bundle: BundleId,
    pub commit: Oid,
    /// The worker whose work it tells of.
    pub of: Handle,
    /// It was loaded before, and is not used yet.
    pub already: bool,
    pub outcome: Outcome,
    /// The worker runs: it is given the bundle when it is taken up again.
    pub live: bool,
}

#[derive(Debug, Serialize)]
pub struct Unloaded {
    pub worker: WorkerId,
    pub handle: Handle,
    pub bundle: BundleId,
}

/// Loads what `what` means, a saved bundle or a file, for worker `name`.
pub fn load(session: &mut Session<'_>, name: &str, what: &str, cwd: &Path) -> Result<Given> {
    session.refuse_in_worker("bundle load")?;
    let view = init::ensure(session)?;
    let worker = view.open_worker(&session.repo, name)?;
    verdict::refuse_foreign(session, &worker.record)?;
    let id = worker.id;
    // Nobody deletes it meanwhile.
    let _lock = session.lock_reaping()?;
    let bundle = resolve(session, &view, what, cwd)?;
    crate::fault::point("bundle: found to be loaded");
    let fresh = loaded(session, &bundle);
    let already = finish::amend(session, id, |record| {
        let same = |known: &&mut Loaded| known.bundle == fresh.bundle;
        match record.loaded.iter_mut().find(same) {
            Some(known) if known.used.is_none() => return Ok(true),
            Some(known) => *known = fresh.clone(),
            None => record.loaded.push(fresh.clone()),
        }
        Ok(false)
    })?;
    let (handle, of) = (worker.record.handle.clone(), bundle.record.handle.clone());
    let live = custody::liveness(session, worker) == Liveness::Live;
    let outcome = worker.record.outcome;
    Ok(Given { worker: id, handle, bundle: fresh.bundle, commit: fresh.commit, of, already, outcome, live })
}

fn loaded(session: &Session<'_>, bundle: &Bundle) -> Loaded {
    Loaded { bundle: bundle.record.bundle, commit: bundle.commit, at: session.clock.now_secs(), used: None }
}

/// A saved bundle of that name; else the file, which is saved then.
fn resolve(session: &Session<'_>, view: &View, what: &str, cwd: &Path) -> Result<Bundle> {
    let saved = if what.contains('/') { None } else { find(session, view, what)? };
    if let Some(bundle) = saved {
        return Ok(bundle);
    }
    let path = cwd.join(what);
    if !what.contains('/') && path.symlink_metadata().is_err() {
        return Err(no_such(what));
    }
    Ok(file::take_in(session, &path, None)?.0)
}

/// The bundles that a new worker begins with.
pub fn for_dispatch(session: &mut Session<'_>, names: &[String], cwd: &Path) -> Result<Vec<Loaded>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    session.refuse_in_worker("dispatch")?;
    let view = init::ensure(session)?;
    let mut found: Vec<Loaded> = Vec::new();
    for name in names {
        let bundle = resolve(session, &view, name, cwd)?;
        if found.iter().all(|known| known.bundle != bundle.record.bundle) {
            found.push(loaded(session, &bundle));
        }
    }
    Ok(found)
}

/// Takes a bundle away from a worker that was not given it yet.
pub fn unload(session: &mut Session<'_>, name: &str, what: &str) -> Result<Unloaded> {
    session.refuse_in_worker("bundle unload")?;
    let view = init::ensure(session)?;
    let worker = view.open_worker(&session.repo, name)?;
    verdict::refuse_foreign(session, &worker.record)?;
    let handle = worker.record.handle.clone();
    let _lock = session.lock_reaping()?;
    let lower = what.to_ascii_lowercase();
    let by_id = |known: &&Loaded| !what.is_empty() && known.bundle.to_string().starts_with(&lower);
    let bundle = match worker.record.loaded.iter().filter(by_id).collect::<Vec<_>>().as_slice() {
        [one] => one.bundle,
        _ => find(session, &view, what)?.ok_or_else(|| no_such(what))?.record.bundle,
    };
    let in_use = is_given(session, worker, bundle)?;
    finish::amend(session, worker.id, |record| {
        let show = format!("git show {}:record.json", worker.ref_text());
        match record.loaded.iter().find(|known| known.bundle == bundle) {
            None => Err(Refusal::new(Token::NoSuchBundle, format!("{bundle} is not loaded for {handle}"))
                .lines(record.loaded.iter().map(|known| known.bundle.to_string()))
                .show(show)
                .next("name one that is")
                .into()),
            Some(known) if known.used.is_some() || in_use => {
                Err(Refusal::new(Token::BundleUsed, format!("{handle} was given {bundle} already"))
                    .show(show)
                    .next("nothing to do: it is given once")
                    .into())
            }
            Some(_) => {
                record.loaded.retain(|known| known.bundle != bundle);
                Ok(())
            }
        }
    })?;
    Ok(Unloaded { worker: worker.id, handle, bundle })
}

/// Whether the run that goes on was begun with it.
fn is_given(session: &Session<'_>, worker: &Worker, bundle: BundleId) -> Result<bool> {
    if custody::liveness(session, worker) != Liveness::Live {
        return Ok(false);
    }
    let spec = crate::host::read_optional(&session.local.spec(worker.id))?.unwrap_or_default();
    let job: Option<Job> = serde_json::from_slice(&spec).ok();
    Ok(job.is_some_and(|job| job.references.contains(&bundle)))
}

/// The bundles that the next run of this worker is begun with.
pub fn unused(record: &WorkerRecord) -> Vec<Loaded> {
    record.loaded.iter().filter(|loaded| loaded.used.is_none()).cloned().collect()
}

/// Lays the papers of `loaded` where the agent of worker `id` reads them, and gives what it is told of them.
pub fn place(session: &Session<'_>, id: WorkerId, loaded: &[Loaded]) -> Result<String> {
    let mut told = Vec::new();
    for one in loaded {
        let bundle = read(session, one.bundle, one.commit, false)?;
        let folder = session.local.references(id).join(one.bundle.to_string());
        crate::host::remove_tree(&folder)?;
        for paper in &bundle.record.papers {
            let path = folder.join(&paper.path);
            crate::host::make_dir(path.parent().unwrap_or(&folder))?;
            crate::host::put(&path, &session.repo.objects.blob(paper.oid)?)?;
            let sealed = std::fs::set_permissions(&path, Permissions::from_mode(0o400));
            sealed.map_err(|e| crate::host::failure("sealing", &path, e))?;
        }
        let record = bundle.record;
        told.push(Reference {
            folder: folder.display().to_string(),
            handle: record.handle.to_string(),
            task: record.task,
            parts: record.parts,
            delta: record.delta.map(|delta| (record.base, delta.tip)),
        });
    }
    Ok(references(&told))
}
