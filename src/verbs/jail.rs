//! How far workers and gates are shut in: the level, what they see, and what comes out again.

mod home;

use crate::domain::Agent;
use crate::domain::Failure;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Wish;
use crate::domain::WorkerId;
use crate::host::Mount;
use crate::plumbing::Admin;
use crate::plumbing::Private;
use crate::plumbing::Quota;
use crate::plumbing::STORE;
use crate::verbs::dispatch;
use crate::verbs::session::Session;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

/// Where sockets of other programs lie, and what others left behind.
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/run/user", "/run/dbus", "/run/docker.sock", "/run/podman"];

/// Filters that keep files in a folder of their name beside git's.
const KEEPING: &[&str] = &["lfs", "annex"];

/// The level for a worker or a gate: as asked, else as `skein.jail` says.
pub fn level(session: &Session<'_>, asked: Option<&str>, require: bool) -> Result<Jail> {
    let wish = asked.or_else(|| session.config.get("skein.jail")).map(Wish::parse).transpose()?;
    let wish = wish.unwrap_or_default();
    let cannot = match wish {
        Wish::Exactly(Jail::None) => None,
        _ => session.jails().as_ref().err().map(String::as_str),
    };
    crate::domain::level(wish, require.then_some(Jail::Bwrap), cannot)
}

/// The jail of one worktree.
pub struct Cell<'a> {
    /// Where its private folder is made.
    pub dir: PathBuf,
    pub admin: &'a Admin,
    /// It can only read its worktree.
    pub only_reads: bool,
    /// What can be read besides.
    pub shown: Vec<PathBuf>,
    /// What it writes besides.
    pub written: Vec<PathBuf>,
    /// Folders below the person's home that it has a copy of, which goes with it.
    pub state: &'static [&'static str],
    /// Where these were kept after an earlier run.
    pub kept: Option<PathBuf>,
}

/// `argv` shut in at `level`.
pub fn shut_in(
    session: &Session<'_>,
    level: Jail,
    cell: &Cell<'_>,
    argv: Vec<OsString>,
) -> Result<Vec<OsString>> {
    if level == Jail::None {
        return Ok(argv);
    }
    let private = session.repo.make_private(&cell.dir, cell.admin, &session.config)?;
    let mounts = mounts(session, &private, cell)?;
    let closed = *session.jails() == Ok(true);
    Ok(crate::host::jailed(&mounts, closed, &cell.admin.path, argv))
}

fn mounts(session: &Session<'_>, private: &Private, cell: &Cell<'_>) -> Result<Vec<Mount>> {
    let common = &session.repo.dirs.common;
    let own = private.dir.join("home");
    let mut mounts = outside(session, &own, cell.state)?;
    let home = home_of(session);
    if let Some(kept) = cell.kept.as_ref().filter(|_| home.is_some()) {
        home::move_state(kept, &own, cell.state)?;
        crate::host::remove_tree(kept)?;
    }
    let hidden = hidden(session, cell.admin, home.as_deref())?;
    mounts.extend(hidden.into_iter().map(Mount::Hidden));
    mounts.push(Mount::Write(private.dir.clone(), common.clone()));
    mounts.push(match cell.only_reads {
        true => Mount::shown(&cell.admin.path),
        false => Mount::Write(cell.admin.path.clone(), cell.admin.path.clone()),
    });
    mounts.extend(opened(session));
    mounts.push(Mount::Read(common.join("objects"), common.join(STORE)));
    mounts.push(Mount::shown(cell.admin.path.join(".git")));
    mounts.push(Mount::shown(session.env.exe()));
    mounts.extend(cell.shown.iter().map(Mount::shown));
    mounts.extend(cell.written.iter().map(|path| Mount::Write(path.clone(), path.clone())));
    Ok(mounts)
}

/// What the person's filters are started through for the files of a jailed worker: they may write in `scratch` and
/// where they keep files, see the repository and the `store` that is asked, and have a home folder like a worker's.
/// Where no jail can be made any more, they are not shut in.
pub fn around_filters(session: &Session<'_>, scratch: &Path, store: &Path) -> Result<Vec<OsString>> {
    let Ok(closed) = *session.jails() else { return Ok(Vec::new()) };
    let common = &session.repo.dirs.common;
    let mut mounts = outside(session, &scratch.join("home"), &[])?;
    let secrets = home_of(session).as_deref().map(home::hidden).unwrap_or_default();
    mounts.extend(secrets.into_iter().map(Mount::Hidden));
    mounts.push(Mount::shown(common));
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    mounts.extend((!store.starts_with(common)).then(|| Mount::shown(store)));
    mounts.push(Mount::Write(scratch.to_owned(), scratch.to_owned()));
    for name in KEEPING {
        let set = |what: &str| session.config.get(&format!("filter.{name}.{what}")).is_some();
        if set("clean") || set("process") {
            let kept = common.join(name);
            crate::host::make_dir(&kept)?;
            mounts.push(Mount::Write(kept.clone(), kept));
        }
    }
    mounts.extend(opened(session));
    Ok(crate::host::jailed(&mounts, closed, scratch, []))
}

/// What others have on the machine is not there, and the home folder is one at `own` with copies of `state`.
fn outside(session: &Session<'_>, own: &Path, state: &[&str]) -> Result<Vec<Mount>> {
    let mut mounts: Vec<Mount> = Vec::new();
    let shared = SHARED.iter().map(PathBuf::from);
    let empty: Vec<PathBuf> = shared.filter(|path| path.is_dir() && !path.is_symlink()).collect();
    mounts.extend(empty.iter().cloned().map(Mount::Empty));
    let path = session.env.get("PATH").unwrap_or_default();
    let in_empty = |path: &PathBuf| path.exists() && empty.iter().any(|folder| path.starts_with(folder));
    mounts.extend(std::env::split_paths(path).filter(in_empty).map(Mount::shown));
    if let Some(home) = home_of(session) {
        mounts.extend(home::make(&home, own, state)?);
    }
    Ok(mounts)
}

fn home_of(session: &Session<'_>) -> Option<PathBuf> {
    session.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir())
}

/// The folders that the person has opened for all that is jailed.
fn opened(session: &Session<'_>) -> impl Iterator<Item = Mount> {
    let writable = session.config.paths("skein.jailwrite", session.env.get("HOME"));
    let writable = writable.filter(|path| path.is_absolute() && path.exists());
    writable.map(|path| Mount::Write(path.clone(), path))
}

/// The other working trees of the repository and what the person keeps to themselves.
fn hidden(session: &Session<'_>, admin: &Admin, home: Option<&Path>) -> Result<Vec<PathBuf>> {
    let worktrees = session.repo.worktrees()?;
    let folder = dispatch::folder(session, &worktrees);
    let common = &session.repo.dirs.common;
    let holds_more = |path: &Path| home.is_some_and(|home| home.starts_with(path)) || path.parent().is_none();
    let trees = worktrees.iter().filter(|w| !w.bare).map(|w| w.path.clone()).chain([folder]);
    let mut hidden: Vec<PathBuf> = trees
        .filter(|path| path.is_dir() && *path != admin.path && path != common && !holds_more(path))
        .collect();
    // What is below a hidden folder is hidden with it.
    hidden.sort_unstable();
    hidden.dedup_by(|later, earlier| later.starts_with(&*earlier));
    let secrets = home.map(home::hidden).unwrap_or_default();
    let secrets: Vec<PathBuf> =
        secrets.into_iter().filter(|path| !hidden.iter().any(|h| path.starts_with(h))).collect();
    hidden.extend(secrets);
    // Who speaks to the person's tmux may run anything in it.
    let sockets = session.env.get("TMUX_TMPDIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    hidden.extend(sockets.filter(|dir| !hidden.iter().any(|h| dir.starts_with(h)) && !holds_more(dir)));
    hidden.extend(SHARED.iter().map(PathBuf::from).filter(|path| path.exists() && !path.is_dir()));
    Ok(hidden)
}

/// The private folder of a worker whose commits may have to come in. None is touched by a rehearsal.
fn private(session: &Session<'_>, id: WorkerId, admin: &Admin) -> Option<Private> {
    let dir = session.local.private(id);
    (!session.dry && dir.exists()).then(|| Private::of(dir, admin))
}

/// Takes in what the worker has committed in its private folder, if it has one. What does not come in is given.
pub fn take_in(
    session: &Session<'_>,
    id: WorkerId,
    admin: &Admin,
    base: Oid,
) -> Result<Option<Box<Refusal>>> {
    let Some(private) = private(session, id, admin) else { return Ok(None) };
    match session.repo.take_in(&private, admin, base, &Quota::default()) {
        Ok(()) => Ok(None),
        Err(Failure::Refusal(refusal)) => Ok(Some(refusal)),
        Err(fault) => Err(fault),
    }
}

/// Brings in again what had come in and is not whole any more.
pub fn mend(session: &Session<'_>, id: WorkerId, admin: &Admin, base: Oid) -> Result<()> {
    match private(session, id, admin) {
        Some(private) => session.repo.bring_again(&private, admin, base, &Quota::default()),
        None => Ok(()),
    }
}

/// Gives the worktree back to the person when the run is over and all of it came in: its index shows what is
/// committed, and the private folder goes. What the agent, started as `argv`, keeps for itself stays: its session can
/// be taken up again.
pub fn give_back(
    session: &Session<'_>,
    id: WorkerId,
    admin: &Admin,
    base: Oid,
    argv: &[String],
) -> Result<()> {
    let Some(private) = private(session, id, admin) else { return Ok(()) };
    session.repo.bring_again(&private, admin, base, &Quota::default())?;
    session.repo.reset_index(admin)?;
    crate::fault::point("jail: index is reset");
    if let Some(agent) = Agent::of(argv) {
        home::move_state(&private.dir.join("home"), &session.local.kept_home(id), agent.state)?;
    }
    crate::host::remove_tree(&private.dir)
}
