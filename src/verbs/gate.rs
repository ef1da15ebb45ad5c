//! The gate: commands that must pass on a candidate's tree, run in a throwaway worktree. What passed is
//! evidence on the lane, and a tree that passed is not run again.

use crate::domain::Bounds;
use crate::domain::Change;
use crate::domain::Jail;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::mask;
use crate::host::Ended;
use crate::host::Lock;
use crate::host::Run;
use crate::plumbing::Admin;
use crate::plumbing::Dirty;
use crate::plumbing::Untracked;
use crate::plumbing::is_local_env;
use crate::state::Draft;
use crate::state::Evidence;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::VERSION;
use crate::state::View;
use crate::state::append;
use crate::state::passed;
use crate::state::tip;
use crate::verbs::jail;
use crate::verbs::jail::Cell;
use crate::verbs::session::LAUNCH;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Bytes of output kept as evidence.
const KEEP: usize = 64 << 10;

/// Set for a gate's commands to its folder, so that what a dead gate left running is known.
const MARK: &str = "SKEIN_GATE";

/// How long that may take to end when asked.
const GRACE: Duration = Duration::from_secs(2);

/// What is run on a tree.
pub struct Checks<'c> {
    pub commands: &'c [String],
    /// The delta's own: `{paths}` in a command stands for them.
    pub changes: &'c [Change],
    /// What they are shut in by at least. What passes counts for any gate, so it is never less than a gate's.
    pub least: Jail,
}

/// Runs `checks` on the tree of `candidate`, in order, and records each as evidence.
pub fn run(
    session: &Session<'_>,
    clone: &str,
    view: &View,
    candidate: Oid,
    op: OpId,
    checks: &Checks<'_>,
) -> Result<()> {
    let tree = session.repo.objects.tree_of(candidate)?;
    let known = passed(&session.repo, view)?;
    let known = known.get(&tree);
    let todo: Vec<&String> =
        checks.commands.iter().filter(|c| known.is_none_or(|k| !k.contains(mask(c).as_str()))).collect();
    if todo.is_empty() {
        return Ok(());
    }
    let bounds = Bounds::of(&session.config)?;
    let level = match checks.least {
        Jail::None => jail::level(session, None, false)?,
        Jail::Bwrap => jail::level(session, Some(Jail::Bwrap.word()), true)?,
    };
    let room = Room::make(session, candidate, op)?;
    let mut env = child_env(session, &room.admin.path);
    env.push((MARK.into(), room.folder.clone().into()));
    for command in todo {
        session.tell(format!("gate: {command}"));
        let argv = vec!["/bin/sh".into(), "-c".into(), with_paths(command, checks.changes)];
        let argv = jail::shut_in(session, level, &room.jail(), argv)?;
        let ended = crate::host::run_to_end(Run {
            argv: launched(session, &bounds, argv),
            cwd: room.admin.path.clone(),
            env: env.clone(),
            stdin: None,
            timeout: time_limit(session),
            keep: KEEP,
        })?;
        crate::fault::point("gate: command ended");
        if ended.code == Some(0) {
            // No evidence of a run that was about another tree: it would count as passed the next time.
            room.refuse_dirt(session, candidate, command)?;
        }
        record(session, clone, op, tree, command, &ended)?;
        if ended.code != Some(0) {
            return Err(failed(command, tree, &ended));
        }
    }
    Ok(())
}

/// `argv` by way of our launcher, so that it ends with us and keeps within bounds.
pub fn launched(
    session: &Session<'_>,
    bounds: &Bounds,
    argv: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let own = std::process::id().to_string();
    let exe = session.env.exe().as_os_str().to_owned();
    let launcher = [exe, LAUNCH.into(), own.into(), bounds.word().into(), "--".into()];
    launcher.into_iter().chain(argv).collect()
}

/// The person's environment for a command in folder `cwd`, without what binds git to a repository. Some programs
/// believe `PWD` more than where they are.
pub fn child_env(session: &Session<'_>, cwd: &Path) -> Vec<(OsString, OsString)> {
    let free = session.env.iter().filter(|(k, _)| !is_local_env(k) && *k != "PWD" && *k != "OLDPWD");
    let free = free.map(|(k, v)| (k.to_owned(), v.to_owned()));
    free.chain([("PWD".into(), cwd.into())]).collect()
}

/// `command` with `{paths}` replaced by the changed paths that still exist, quoted for the shell.
fn with_paths(command: &str, changes: &[Change]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut list = Vec::new();
    for change in changes.iter().filter(|c| c.new.is_some_and(|(mode, _)| mode != Mode::Gitlink)) {
        if !list.is_empty() {
            list.push(b' ');
        }
        list.push(b'\'');
        list.extend(change.path.replace("'", "'\\''"));
        list.push(b'\'');
    }
    OsString::from_vec(command.as_bytes().replace("{paths}", list))
}

fn record(
    session: &Session<'_>,
    clone: &str,
    op: OpId,
    tree: Oid,
    command: &str,
    ended: &Ended,
) -> Result<()> {
    let _lock = session.lock_landing()?;
    let entry = LaneEntry::Evidence(Evidence {
        tree,
        command: mask(command),
        exit: ended.code,
        millis: ended.millis,
        digest: ended.digest.clone(),
        bytes: ended.bytes,
    });
    let record = LaneRecord { v: VERSION, op, at: session.clock.now_secs(), entry };
    let output = mask(&ended.output.to_str_lossy());
    let at = tip(&session.repo, clone)?;
    let edit = append(&session.repo, clone, at, &record, Some(output.as_bytes()), &[])?;
    Draft::new(&session.repo).put(edit).publish().map(drop)
}

/// `skein.gateTimeout` in seconds; a gate that reads from a terminal would wait for ever.
fn time_limit(session: &Session<'_>) -> Option<Duration> {
    session.config.get("skein.gatetimeout")?.parse().ok().map(Duration::from_secs)
}

fn failed(command: &str, tree: Oid, ended: &Ended) -> crate::domain::Failure {
    let how = match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    };
    let how = if ended.timed_out { "the time limit".to_owned() } else { how };
    let output = ended.output.to_str_lossy();
    let lines: Vec<&str> = output.lines().collect();
    Refusal::new(Token::GateFailed, format!("`{command}` ended with {how} on the candidate's tree"))
        .oid("tree", tree)
        .lines(lines.iter().skip(lines.len().saturating_sub(20)).map(|l| (*l).to_owned()))
        .show(format!(
            "git worktree add --detach ../try && cd ../try && git read-tree -m -u {tree} && {command}"
        ))
        .next("the trunk is as it was; fix the work in a worker and land again")
        .into()
}

/// A throwaway worktree with its lock; it is removed when dropped, or by the next verb if we die.
struct Room<'s> {
    session: &'s Session<'s>,
    admin: Admin,
    folder: std::path::PathBuf,
    _lock: Lock,
}

impl<'s> Room<'s> {
    fn make(session: &'s Session<'_>, candidate: Oid, op: OpId) -> Result<Room<'s>> {
        let folder = session.local.gate(op);
        let busy = || {
            Refusal::new(Token::Busy, "the same candidate is in another gate right now")
                .show("git worktree list")
                .next("wait for it to end, then try again")
        };
        crate::host::make_dir(&folder)?;
        let lock = Lock::try_acquire(&folder.join("lock"))?.ok_or_else(busy)?;
        let path = folder.join("tree");
        let _making = session.lock_worktrees()?;
        clear(session, &folder)?;
        let admin = session.repo.register_worktree(&path, candidate, &lock_reason(op))?;
        drop(_making);
        crate::fault::point("gate: worktree registered");
        session.repo.check_out(&admin)?;
        Ok(Room { session, admin, folder, _lock: lock })
    }

    /// The jail that its commands run in, if they do.
    fn jail(&self) -> Cell<'_> {
        Cell {
            dir: self.folder.join("private"),
            admin: &self.admin,
            shown: Vec::new(),
            written: Vec::new(),
            state: &[],
            kept: None,
        }
    }

    /// A gate that changes tracked files proved something about another tree.
    fn refuse_dirt(&self, session: &Session<'_>, candidate: Oid, command: &str) -> Result<()> {
        let head = session.repo.head_of(&self.admin)?;
        let mut dirty = session.repo.status(&self.admin, Untracked::Skip)?;
        if dirty.is_empty() && head != Some(candidate) {
            let tree = session.repo.objects.tree_of(candidate)?;
            let differs = session.repo.index_differs(&self.admin, tree)?;
            dirty.extend(differs.into_iter().map(|path| Dirty { path, state: "M.".to_owned() }));
        }
        if dirty.is_empty() {
            return Ok(());
        }
        Err(Refusal::new(Token::GateDirtied, format!("`{command}` passed, but it changed tracked files"))
            .lines(dirty.into_iter().map(|d| d.path.to_str_lossy().into_owned()))
            .show(format!("{command}; git status"))
            .next("make it only check, or let the worker run it and commit the result")
            .into())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let cleared = self.session.lock_worktrees().and_then(|_making| clear(self.session, &self.folder));
        if cleared.and_then(|()| crate::host::remove_tree(&self.folder)).is_err() {
            self.session.tell(format!("left behind, removed by the next run: {}", self.folder.display()));
        }
    }
}

/// Removes the worktree in a gate's folder: its files, then its registration.
fn clear(session: &Session<'_>, folder: &std::path::Path) -> Result<()> {
    let path = folder.join("tree");
    let real = std::fs::canonicalize(folder).map(|f| f.join("tree")).unwrap_or_else(|_| path.clone());
    let admin = session.repo.admin_of(&real).or_else(|| session.repo.admin_of(&path));
    crate::host::remove_tree(&path)?;
    // A half-made one may not say yet where it belongs, but it says whose it is.
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let reason = name.strip_prefix("gate-").map(lock_reason).unwrap_or_default();
    let half = session.repo.admins_locked_with(&reason).into_iter().map(|(admin, _)| admin);
    admin.into_iter().chain(half).try_for_each(|admin| session.repo.forget_worktree(&admin))
}

fn lock_reason(op: impl std::fmt::Display) -> String {
    format!("git-skein gate {op}")
}

/// Removes what gates of dead processes left.
pub fn sweep(session: &Session<'_>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(session.local.run()) else { return Ok(()) };
    for folder in entries.flatten().map(|e| e.path()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("gate-") {
            continue;
        }
        if let Some(_lock) = Lock::try_acquire(&folder.join("lock"))? {
            crate::host::end_marked(MARK, &[folder.clone().into()], GRACE);
            let _making = session.lock_worktrees()?;
            clear(session, &folder)?;
            crate::host::remove_tree(&folder)?;
        }
    }
    Ok(())
}
