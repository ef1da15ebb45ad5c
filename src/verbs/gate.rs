//! The gate: commands that must pass on a candidate's tree, run in a throwaway worktree. What passed is
//! evidence on the lane, and a tree that passed is not run again.

use crate::domain::Bounds;
use crate::domain::Change;
use crate::domain::Globs;
use crate::domain::Jail;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Spot;
use crate::domain::Token;
use crate::domain::mask;
use crate::domain::spots;
use crate::domain::tests_run;
use crate::domain::tools_of;
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
use crate::state::Proofs;
use crate::state::Reads;
use crate::state::VERSION;
use crate::state::View;
use crate::state::append;
use crate::state::tip;
use crate::verbs::jail;
use crate::verbs::jail::Cell;
use crate::verbs::policy;
use crate::verbs::session::LAUNCH;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use sha2::Digest;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Bytes of output kept as evidence.
const KEEP: usize = 64 << 10;

/// Set for a gate's commands to its folder, so that what a dead gate left running is known.
const MARK: &str = "SKEIN_GATE";

/// How long tools may take to say their versions.
const VERSIONS: Duration = Duration::from_secs(10);

/// How long that may take to end when asked.
const GRACE: Duration = Duration::from_secs(2);

/// What is run on a tree.
pub struct Checks<'c> {
    pub commands: &'c [String],
    /// The delta's own: `{paths}` in a command stands for them.
    pub changes: &'c [Change],
    /// What they are shut in by at least. What passes counts for any gate, so it is never less than a gate's.
    pub least: Jail,
    /// A test runner that ran no test has passed too.
    pub allow_empty: bool,
}

/// One command, and what its newest run showed.
pub struct Checked {
    pub command: String,
    pub evidence: Evidence,
    /// It was run before on this very tree, or on one with the same part that it reads.
    pub already: bool,
    /// Why it is no pass.
    pub refused: Option<Refusal>,
}

/// What is done beside running the commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Thoroughly<'c> {
    /// Those after one that failed are run too.
    pub all: bool,
    /// What has passed before is run again.
    pub again: bool,
    /// The tools of the commands are asked for their versions.
    pub tools: bool,
    /// What of the tree the commands depend on; all of it where nothing is said.
    pub reads: &'c [String],
    /// They are run to be compared with what was recorded before.
    pub verifies: bool,
}

/// One command that ran as a gate or a check, or had passed before, for who tells a pipeline of it.
pub struct Heard {
    pub command: String,
    pub passed: bool,
    pub already: bool,
    pub millis: u64,
    /// Why it is no pass.
    pub says: Option<String>,
    /// What was kept of its output, secrets masked.
    pub output: String,
    /// Lines of files of the tree that its output points at.
    pub spots: Vec<Spot>,
}

impl Heard {
    fn of(session: &Session<'_>, checked: &Checked, ended: Option<(&Ended, &Path)>) -> Heard {
        let (output, root) = match ended {
            Some((ended, root)) => (mask(&ended.output.to_str_lossy()), root.to_string_lossy().into_owned()),
            None => Default::default(),
        };
        let mut spots = if checked.refused.is_some() { spots(&output, &root) } else { Vec::new() };
        let entry = |path: &str| session.repo.objects.entry_at(checked.evidence.tree, path.into());
        spots.retain(|spot| matches!(entry(&spot.path), Ok(Some(_))));
        Heard {
            command: checked.evidence.command.clone(),
            passed: checked.refused.is_none(),
            already: checked.already,
            millis: checked.evidence.millis,
            says: checked.refused.as_ref().map(|refusal| mask(&refusal.says)),
            output,
            spots,
        }
    }
}

/// Runs `checks` on the tree of `candidate`, in order, and records each as evidence. The first that fails is the
/// refusal.
pub fn run(
    session: &Session<'_>,
    clone: &str,
    view: &View,
    candidate: Oid,
    op: OpId,
    checks: &Checks<'_>,
) -> Result<()> {
    let ran = each(session, clone, view, candidate, op, checks, Thoroughly::default())?;
    match ran.into_iter().find_map(|checked| checked.refused) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(()),
    }
}

/// The same, and tells of each. A command that changes what it checks is a refusal in any case.
pub fn each(
    session: &Session<'_>,
    clone: &str,
    view: &View,
    candidate: Oid,
    op: OpId,
    checks: &Checks<'_>,
    how: Thoroughly<'_>,
) -> Result<Vec<Checked>> {
    let tree = session.repo.objects.tree_of(candidate)?;
    let reads = reads(session, tree, how.reads)?;
    let proofs = Proofs::load(&session.repo, view)?;
    let known = |command: &str| {
        let part = reads.as_ref().and_then(|reads| proofs.on_part(reads, command));
        let known = proofs.on(tree, command).or(part);
        known.filter(|evidence| !how.again && evidence.is_pass(checks.allow_empty)).cloned()
    };
    let mut room: Option<Running<'_>> = None;
    let mut done = Vec::new();
    for command in checks.commands {
        if let Some(evidence) = known(&mask(command)) {
            let known = Checked { command: command.clone(), evidence, already: true, refused: None };
            session.heard(|| Heard::of(session, &known, None));
            done.push(known);
            continue;
        }
        let room = match &mut room {
            Some(room) => room,
            None => room.insert(Running::begin(session, view, candidate, op, checks, how.tools)?),
        };
        session.tell(format!("gate: {command}"));
        let (ended, tools) = room.run(command)?;
        crate::fault::point("gate: command ended");
        if ended.code == Some(0) {
            // No evidence of a run that was about another tree: it would count as passed the next time.
            room.room.refuse_dirt(session, candidate, command)?;
        }
        let evidence =
            Evidence { verifies: how.verifies, ..evidence(tree, command, &ended, tools, reads.clone()) };
        record(session, clone, op, &evidence, &ended)?;
        let refused = match ended.code {
            Some(0) if evidence.is_pass(checks.allow_empty) => None,
            Some(0) => Some(no_tests(command, tree)),
            _ => Some(failed(command, tree, &ended)),
        };
        let stop = refused.is_some() && !how.all;
        let checked = Checked { command: command.clone(), evidence, already: false, refused };
        session.heard(|| Heard::of(session, &checked, Some((&ended, &room.room.admin.path))));
        done.push(checked);
        if stop {
            break;
        }
    }
    Ok(done)
}

/// The part of `tree` that `globs` cover.
fn reads(session: &Session<'_>, tree: Oid, globs: &[String]) -> Result<Option<Reads>> {
    if globs.is_empty() {
        return Ok(None);
    }
    let covers = Globs::new(globs.iter().map(String::as_str))?;
    let mut hash = sha2::Sha256::new();
    for (path, (mode, oid)) in session.repo.objects.entries(tree)? {
        if covers.covers(path.as_bstr()) {
            hash.update(format!("{mode} {oid} {}\0", path.len()));
            hash.update(path.as_slice());
        }
    }
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(Reads { globs: globs.to_vec(), digest }))
}

/// The place and the ways in which the commands of one gate run.
struct Running<'s> {
    session: &'s Session<'s>,
    checks: &'s Checks<'s>,
    tools: bool,
    bounds: Bounds,
    level: Jail,
    room: Room<'s>,
    env: Vec<(OsString, OsString)>,
}

impl<'s> Running<'s> {
    fn begin(
        session: &'s Session<'_>,
        view: &View,
        candidate: Oid,
        op: OpId,
        checks: &'s Checks<'s>,
        tools: bool,
    ) -> Result<Running<'s>> {
        let bounds = Bounds::of(&session.config)?;
        let level = match checks.least {
            Jail::None => jail::level(session, None, policy::requires_jail(session, view)?)?,
            Jail::Bwrap => jail::level(session, Some(Jail::Bwrap.word()), true)?,
        };
        let room = Room::make(session, candidate, op)?;
        let mut env = child_env(session, &room.admin.path);
        env.push((MARK.into(), room.folder.clone().into()));
        Ok(Running { session, checks, tools, bounds, level, room, env })
    }

    /// How it ended, and the versions of its tools.
    fn run(&self, command: &str) -> Result<(Ended, Vec<String>)> {
        let tools = match tools_of(command) {
            known if self.tools && !known.is_empty() => self.versions(&known)?,
            _ => Vec::new(),
        };
        let ended = self.shell(with_paths(command, self.checks.changes), time_limit(self.session))?;
        Ok((ended, tools))
    }

    fn shell(&self, line: OsString, timeout: Option<Duration>) -> Result<Ended> {
        let argv = vec!["/bin/sh".into(), "-c".into(), line];
        let argv = jail::shut_in(self.session, self.level, &self.room.jail(), argv)?;
        crate::host::run_to_end(Run {
            argv: launched(self.session, &self.bounds, argv),
            cwd: self.room.admin.path.clone(),
            env: self.env.clone(),
            stdin: None,
            timeout,
            keep: KEEP,
        })
    }

    /// The first line that each tool says of itself, where it is found.
    fn versions(&self, tools: &[(&str, &str)]) -> Result<Vec<String>> {
        let ask = |(tool, how): &(&str, &str)| {
            format!(
                "command -v {tool} >/dev/null && printf '%s: %s\\n' {tool} \"$({tool} {how} 2>&1 | head -n 1)\"\n"
            )
        };
        let line: String = tools.iter().map(ask).collect();
        let said = self.shell(line.into(), Some(VERSIONS))?;
        Ok(said.output.to_str_lossy().lines().map(mask).collect())
    }
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

/// Files of a pipeline's runner: what is written there steers later steps.
const STEERS: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// The person's environment for a command in folder `cwd`, without what binds git to a repository. Some programs
/// believe `PWD` more than where they are.
pub fn child_env(session: &Session<'_>, cwd: &Path) -> Vec<(OsString, OsString)> {
    let not_theirs = |k: &OsStr| k == "PWD" || k == "OLDPWD" || STEERS.iter().any(|name| k == *name);
    let free = session.env.iter().filter(|(k, _)| !is_local_env(k) && !not_theirs(k));
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

fn evidence(tree: Oid, command: &str, ended: &Ended, tools: Vec<String>, reads: Option<Reads>) -> Evidence {
    // Of a long output the middle is not kept: what it lacks was perhaps there.
    let cut = ended.bytes > KEEP as u64;
    Evidence {
        tree,
        command: mask(command),
        exit: ended.code,
        millis: ended.millis,
        digest: ended.digest.clone(),
        bytes: ended.bytes,
        tests: tests_run(&ended.output).filter(|count| *count > 0 || !cut),
        tools,
        reads,
        verifies: false,
    }
}

fn record(session: &Session<'_>, clone: &str, op: OpId, evidence: &Evidence, ended: &Ended) -> Result<()> {
    let _lock = session.lock_landing()?;
    let entry = LaneEntry::Evidence(evidence.clone());
    let record = LaneRecord { v: VERSION, op, at: session.clock.now_secs(), entry };
    let output = mask(&session.without_places(&ended.output.to_str_lossy(), &session.local.gate(op)));
    let at = tip(&session.repo, clone)?;
    let edit = append(&session.repo, clone, at, &record, Some(output.as_bytes()), &[])?;
    Draft::new(&session.repo).put(edit).publish().map(drop)
}

/// `skein.gateTimeout` in seconds; a gate that reads from a terminal would wait for ever.
fn time_limit(session: &Session<'_>) -> Option<Duration> {
    session.config.get("skein.gatetimeout")?.parse().ok().map(Duration::from_secs)
}

/// Words for a shell that run `command` on `tree`, away from everything that a person works on.
fn on_its_own(tree: Oid, command: &str) -> String {
    format!(
        "(d=$(mktemp -d) && git worktree add --detach \"$d\" && cd \"$d\" && git read-tree -m -u {tree} && {{ {command}; }})"
    )
}

fn no_tests(command: &str, tree: Oid) -> Refusal {
    Refusal::new(Token::NoTests, format!("`{command}` ended well, but ran no test"))
        .oid("tree", tree)
        .show(on_its_own(tree, command))
        .next("make it run tests; --allow-empty lets it pass as it is")
}

fn failed(command: &str, tree: Oid, ended: &Ended) -> Refusal {
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
        .show(on_its_own(tree, command))
        .next("the trunk is as it was; fix the work in a worker and land again")
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
            only_reads: false,
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
            .show(on_its_own(session.repo.objects.tree_of(candidate)?, &format!("{command}; git status")))
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
    let half = session.repo.admins_locked_with(&reason)?.into_iter().map(|(admin, _)| admin);
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
