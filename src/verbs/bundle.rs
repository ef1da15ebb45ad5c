//! `bundle`: what there is of a worker, saved as one commit that outlives it, taken along as a file, opened anywhere,
//! and loaded as a reference for another worker.

mod file;
mod gather;
mod load;
mod open;

pub use file::Exported;
pub use file::Imported;
pub use file::export;
pub use file::import;
pub use load::Given;
pub use load::Unloaded;
pub use load::for_dispatch;
pub use load::load;
pub(super) use load::place;
pub use load::unload;
pub(super) use load::unused;
pub use open::Opened;
pub use open::show;
pub use open::show_outside;

pub use crate::domain::Part;

use crate::domain::BundleId;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::parts;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Bundle;
use crate::state::Draft;
use crate::state::LIST_BUNDLES;
use crate::state::Unsound;
use crate::state::View;
use crate::state::bundle_ref;
use crate::state::new_bundle;
use crate::state::read_bundle;
use crate::state::write_bundle;
use crate::verbs::init;
use crate::verbs::session::Session;
use serde::Serialize;

/// What `save` is asked for.
#[derive(Debug, Default)]
pub struct Request {
    pub name: String,
    /// These parts alone; all if none is named.
    pub only: Vec<Part>,
    pub without: Vec<Part>,
    /// Bytes that are kept of the output of each command.
    pub max_output: Option<usize>,
}

/// A bundle in short.
#[derive(Debug, Serialize)]
pub struct Row {
    pub bundle: BundleId,
    pub commit: Oid,
    pub worker: WorkerId,
    pub handle: Handle,
    pub task: String,
    pub at: i64,
    pub parts: Vec<Part>,
    /// The number of its delta.
    pub delta: Option<u32>,
    pub papers: usize,
    pub bytes: u64,
    /// The file that it came from.
    pub from: Option<String>,
    /// Workers that are yet to be given it.
    pub loaded: Vec<Handle>,
}

#[derive(Debug, Serialize)]
pub struct Saved {
    #[serde(flatten)]
    pub row: Row,
    /// The very same was saved before.
    pub already: bool,
    /// The worker has a delta that was to go in, or none was to.
    pub whole: bool,
}

/// All that are here, oldest first.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub bundles: Vec<Row>,
    /// What cannot be used, with the reason.
    pub unsound: Vec<(BundleId, String)>,
}

#[derive(Debug, Serialize)]
pub struct Deleted {
    pub deleted: Vec<Row>,
}

/// Saves what there is of a worker, open or closed.
pub fn save(session: &mut Session<'_>, request: &Request) -> Result<Saved> {
    session.refuse_in_worker("bundle save")?;
    let parts = parts(&request.only, &request.without);
    if parts.is_empty() {
        return Err(Refusal::new(Token::NoTask, "nothing is left to go into the bundle")
            .show("git skein bundle save -h")
            .next("leave out less")
            .into());
    }
    let view = init::ensure_for(session, &request.name)?;
    let worker = view.any_worker(&session.repo, &request.name)?;
    let now = session.clock.now_secs();
    let gathered = gather::gather(session, &view, &worker, &parts, request.max_output)?;
    let about: Vec<String> = gathered.papers.iter().map(|paper| paper.oid.to_string()).collect();
    let worker_id = worker.id.to_string();
    let about: Vec<&str> = about.iter().map(String::as_str).chain([worker_id.as_str()]).collect();
    let id = session.bundle_id(session.clock.now_millis(), &about);
    let mut record = new_bundle((worker.id, &worker.record, worker.at), parts, id, now);
    (record.delta, record.papers) = (gathered.delta, gathered.papers);
    let whole = record.delta.is_some() || !record.parts.contains(&Part::Delta);
    for known in sound(session, &view) {
        if known.record.is_like(&record) {
            return Ok(Saved { row: row(session, &view, &known), already: true, whole });
        }
    }
    let commit = write_bundle(&session.repo, &record)?;
    crate::fault::point("bundle: commit written");
    let name = bundle_ref(id)?;
    if Draft::new(&session.repo).put(Edit::create(name.clone(), commit)).publish()? != Moved::Done {
        return Err(Failure::fault("saving the bundle", format!("{name} is taken")));
    }
    let saved = read(session, id, commit, false)?;
    Ok(Saved { row: row(session, &view, &saved), already: false, whole })
}

pub fn list(session: &Session<'_>) -> Result<Listed> {
    let view = session.view()?;
    let mut listed = Listed { bundles: Vec::new(), unsound: Vec::new() };
    for (id, commit) in &view.bundles {
        match read(session, *id, *commit, false) {
            Ok(bundle) => listed.bundles.push(row(session, &view, &bundle)),
            Err(failure) => listed.unsound.push((*id, failure.to_string())),
        }
    }
    Ok(listed)
}

/// Deletes bundles. What they hold stays until git collects its garbage.
pub fn delete(session: &mut Session<'_>, names: &[String]) -> Result<Deleted> {
    session.refuse_in_worker("bundle delete")?;
    init::ensure(session)?;
    // Nobody loads one meanwhile.
    let _lock = session.lock_reaping()?;
    let view = session.view()?;
    let mut deleted: Vec<Row> = Vec::new();
    let mut draft = Draft::new(&session.repo);
    for name in names {
        let bundle = find(session, &view, name)?.ok_or_else(|| no_such(name))?;
        let row = row(session, &view, &bundle);
        if let Some(handle) = row.loaded.first() {
            return Err(Refusal::new(Token::BundleLoaded, format!("{} is loaded for {handle}", row.bundle))
                .oid("its commit", bundle.commit)
                .show(LIST_BUNDLES)
                .next(format!("git skein bundle unload {handle} {}", row.bundle))
                .into());
        }
        if deleted.iter().all(|known| known.bundle != row.bundle) {
            draft = draft.put(Edit::delete(bundle_ref(row.bundle)?, bundle.commit));
            deleted.push(row);
        }
    }
    if !draft.is_empty() && draft.publish()? != Moved::Done {
        return Err(Refusal::new(Token::RecordMoved, "a bundle has changed meanwhile")
            .show(LIST_BUNDLES)
            .next("look at them, then try again")
            .into());
    }
    for row in &deleted {
        crate::host::remove_tree(&session.local.origin(row.bundle))?;
    }
    Ok(Deleted { deleted })
}

/// The bundles that are what they say.
fn sound(session: &Session<'_>, view: &View) -> Vec<Bundle> {
    let mut found = Vec::new();
    for commit in view.bundles.values() {
        // The others are for `list` and `fsck` to tell of.
        if let Ok(Ok(bundle)) = read_bundle(&session.repo.objects, *commit, false) {
            found.push(bundle);
        }
    }
    found
}

/// The bundle that is saved as `id`; `whole` as in the reading.
fn read(session: &Session<'_>, id: BundleId, commit: Oid, whole: bool) -> Result<Bundle> {
    let refused = |token, what: String| -> Failure {
        Refusal::new(token, format!("the bundle {id} {what}"))
            .oid("its commit", commit)
            .show(format!("git show {commit}:bundle.json"))
            .next("git skein fsck tells more; another copy of it can be imported when this ref is gone")
            .into()
    };
    match read_bundle(&session.repo.objects, commit, whole)? {
        Ok(bundle) if bundle.record.bundle == id => Ok(bundle),
        Ok(bundle) => {
            Err(refused(Token::BundleChanged, format!("is {} under another name", bundle.record.bundle)))
        }
        Err(Unsound::Changed(what)) => {
            Err(refused(Token::BundleChanged, format!("is not as it was written: {what}")))
        }
        Err(Unsound::Unknown(why)) => Err(refused(Token::UnknownRecord, format!("cannot be read: {why}"))),
    }
}

/// The saved bundle that `name` means: its id or the first letters of it, or the handle of its worker, if it is the
/// only one.
fn find(session: &Session<'_>, view: &View, name: &str) -> Result<Option<Bundle>> {
    let lower = name.to_ascii_lowercase();
    let by_id: Vec<(&BundleId, &Oid)> = view
        .bundles
        .iter()
        .filter(|(id, _)| !name.is_empty() && id.to_string().starts_with(&lower))
        .collect();
    if let [(id, commit)] = by_id.as_slice() {
        return read(session, **id, **commit, false).map(Some);
    }
    let mut fit: Vec<String> = by_id.iter().map(|(id, _)| id.to_string()).collect();
    if fit.is_empty() {
        let mut of_it = sound(session, view);
        of_it.retain(|bundle| {
            bundle.record.handle.as_str() == name || bundle.record.worker.to_string() == lower
        });
        if of_it.len() < 2 {
            return Ok(of_it.pop());
        }
        fit = of_it.iter().map(|b| format!("{} {}", b.record.bundle, b.record.handle)).collect();
    }
    Err(Refusal::new(Token::AmbiguousBundle, format!("{name:?} fits {} bundles", fit.len()))
        .lines(fit)
        .show(LIST_BUNDLES)
        .next("give the id of one, or more of it; git skein bundle list shows them")
        .into())
}

fn no_such(name: &str) -> Failure {
    Refusal::new(
        Token::NoSuchBundle,
        format!("no bundle is called {name:?}, and there is no file of that name"),
    )
    .show(LIST_BUNDLES)
    .next("git skein bundle list shows those that are saved")
    .into()
}

fn row(session: &Session<'_>, view: &View, bundle: &Bundle) -> Row {
    let record = &bundle.record;
    let from = crate::host::read_optional(&session.local.origin(record.bundle)).ok().flatten();
    let waits = view.workers.iter().filter(|worker| {
        worker.record.loaded.iter().any(|loaded| loaded.bundle == record.bundle && loaded.used.is_none())
    });
    Row {
        bundle: record.bundle,
        commit: bundle.commit,
        worker: record.worker,
        handle: record.handle.clone(),
        task: record.task.clone(),
        at: record.at,
        parts: record.parts.clone(),
        delta: record.delta.as_ref().map(|delta| delta.n),
        papers: record.papers.len(),
        bytes: record.bytes(),
        from: from.map(|path| String::from_utf8_lossy(&path).into_owned()),
        loaded: waits.map(|worker| worker.record.handle.clone()).collect(),
    }
}
