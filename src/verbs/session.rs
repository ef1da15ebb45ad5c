//! The world a verb works in, and the questions every verb asks of it.

use crate::domain::BundleId;
use crate::domain::Config;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::quoted;
use crate::domain::without_places;
use crate::host::Clock;
use crate::host::Env;
use crate::host::Lock;
use crate::plumbing::Git;
use crate::plumbing::Repo;
use crate::state::Local;
use crate::state::View;
use crate::verbs::gate::Heard;
use crate::verbs::pane::KEEP;
use crate::verbs::server;
use sha2::Digest;
use std::cell::OnceCell;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// The hidden verb that every supervisor is started with.
pub const SUPERVISE: &str = "__supervise";

/// The hidden verb that turns a process into an agent or a gate.
pub const LAUNCH: &str = "__launch";

/// The hidden verb that runs a worker's checks on one of its commits.
pub const CHECK: &str = "__check";

/// The hidden verb that dispatches what a worker asked its supervisor for.
pub const SPAWN: &str = "__spawn";

/// How long a verb waits for another one of ours to let go of a lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(120);

/// Free bytes that a writing verb wants before it begins.
const ROOM: u64 = 16 << 20;

/// One command's world. `tell` takes lines for the person that are not the result.
pub struct Session<'s> {
    pub repo: Repo,
    pub clock: Clock,
    pub env: &'s Env,
    pub config: Config,
    pub local: Local,
    home: Home,
    jails: OnceCell<std::result::Result<bool, String>>,
    /// Only say what would be done: objects stay in memory and no ref moves.
    pub dry: bool,
    pub tell: &'s dyn Fn(&str),
    /// Takes each command that has run as a gate or a check, if anybody wants to know.
    pub listener: Option<&'s dyn Fn(Heard)>,
    told: RefCell<BTreeSet<String>>,
}

/// Where the clone's id was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    Here,
    /// In a folder that this one is a copy of.
    Elsewhere,
    /// Nothing is noted.
    Unknown,
}

impl Home {
    fn look(common: &Path, local: &Local) -> Home {
        let noted = std::fs::read(local.home()).ok();
        match (noted, crate::host::identity(common)) {
            (Some(noted), Some(here)) if noted == here.as_bytes() => Home::Here,
            (Some(_), Some(_)) => Home::Elsewhere,
            _ => Home::Unknown,
        }
    }
}

impl<'s> Session<'s> {
    /// Finds the repository from `cwd`. Nothing is written.
    pub fn open(env: &'s Env, cwd: &Path, tell: &'s dyn Fn(&str)) -> Result<Session<'s>> {
        let (mut repo, config) =
            Repo::discover(cwd, Git::new(env.iter()), &|common| Local::new(common).system_note())?;
        let local = Local::new(&repo.dirs.common);
        // Without it, or with a bad one, everything is read from the store.
        if let Ok(Some(file)) = crate::host::read_optional(&local.record_cache()) {
            repo.objects.lean_on(file);
        }
        let home = Home::look(&repo.dirs.common, &local);
        Ok(Session {
            repo,
            clock: Clock::system(env),
            env,
            config,
            local,
            home,
            jails: OnceCell::new(),
            dry: false,
            tell,
            listener: None,
            told: RefCell::default(),
        })
    }

    /// Turns the rest of the session into a rehearsal.
    pub fn rehearse(&mut self) -> Result<()> {
        self.repo.objects = self.repo.objects.scratch()?;
        self.dry = true;
        Ok(())
    }

    pub fn tell(&self, line: impl AsRef<str>) {
        (self.tell)(line.as_ref());
    }

    /// Hands on what a gate showed.
    pub fn heard(&self, what: impl FnOnce() -> Heard) {
        if let Some(listener) = self.listener {
            listener(what());
        }
    }

    /// Tells it, but for what this command has told already.
    pub fn tell_once(&self, line: String) {
        if self.told.borrow_mut().insert(line.clone()) {
            self.tell(line);
        }
    }

    /// This clone's id, if `init` has given it one. The id in a copy of a clone is the other one's.
    pub fn clone_id(&self) -> Option<&str> {
        if self.home == Home::Elsewhere {
            return None;
        }
        self.config.get("skein.clone").filter(|id| id.parse::<WorkerId>().is_ok())
    }

    /// Reads again what `init` of another process may have written meanwhile.
    pub fn look_again(&mut self) -> Result<()> {
        self.config = self.repo.config()?;
        self.home = Home::look(&self.repo.dirs.common, &self.local);
        Ok(())
    }

    /// Whether it is not noted that the id was given to this folder.
    pub fn is_homeless(&self) -> bool {
        self.home != Home::Here
    }

    /// Notes that the id in the configuration was given to this very folder.
    pub fn settle(&self) -> Result<()> {
        if let Some(here) = crate::host::identity(&self.repo.dirs.common) {
            crate::host::make_dir(&self.local.run())?;
            crate::host::replace_by_way_of(&self.local.run(), &self.local.home(), here.as_bytes())?;
        }
        Ok(())
    }

    pub fn view(&self) -> Result<View> {
        View::load(&self.repo)
    }

    /// Whether a jail that is made here can be closed; else why none can be made. Tried once.
    pub fn jails(&self) -> &std::result::Result<bool, String> {
        self.jails.get_or_init(|| crate::host::probe(self.env))
    }

    /// `text` of a command that ran in `folder` as it may be kept: it names no place of this machine.
    pub fn without_places(&self, text: &str, folder: &Path) -> String {
        let dirs = &self.repo.dirs;
        let shown = |path: &Path| path.display().to_string();
        let mut places = vec![(shown(&folder.join("tree")), "<tree>"), (shown(&dirs.common), "<git>")];
        places.extend(dirs.work_tree.as_deref().map(|top| (shown(top), "<checkout>")));
        places.extend(self.env.get("HOME").map(|home| (home.to_string_lossy().into_owned(), "~")));
        without_places(text, &places)
    }

    /// The person's folder for git.
    pub fn own_folder(&self) -> Option<PathBuf> {
        Some(self.config_home()?.join("git"))
    }

    /// The person's folder for settings.
    pub fn config_home(&self) -> Option<PathBuf> {
        let set = |name: &str| self.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))
    }

    /// A file of the person's that `key` names, else `name` in their folder for git.
    pub fn own_file(&self, key: &str, name: &str) -> Option<PathBuf> {
        self.config.path(key, self.env.get("HOME")).or_else(|| Some(self.own_folder()?.join(name)))
    }

    /// Spares the next commands the reading of what this one read. It may fail, and nothing is lost.
    pub fn keep_cache(&self) {
        let (records, note) = (self.local.record_cache(), self.local.system_note());
        let files = [(&records, self.repo.objects.worth_keeping()), (&note, self.repo.system_note(&note))];
        for (path, file) in files {
            let Some(file) = file else { continue };
            let cache = self.local.cache();
            let made = crate::host::make_dir(&cache).and_then(|()| crate::host::remove_left(&cache));
            let _ = made.and_then(|()| crate::host::put(path, &file));
        }
    }

    pub fn new_worker_id(&self) -> WorkerId {
        WorkerId::from_parts(self.clock.now_millis(), self.clock.distinct())
    }

    /// The identity of an operation: its time and what it is about. The same operation drafted again at the
    /// same time is the same operation.
    pub fn op_id(&self, millis: u64, about: &[&str]) -> OpId {
        OpId::from_parts(millis, distinct(about))
    }

    /// The identity of a bundle, likewise.
    pub fn bundle_id(&self, millis: u64, about: &[&str]) -> BundleId {
        BundleId::from_parts(millis, distinct(about))
    }

    /// Refuses to begin on a disk that is almost full: half a write is worse than none.
    pub fn refuse_full(&self) -> Result<()> {
        let common = &self.repo.dirs.common;
        let free = crate::host::free_bytes(common)?;
        if free >= ROOM {
            return Ok(());
        }
        Err(Refusal::new(Token::NoSpace, format!("only {} KiB are free where the repository is", free >> 10))
            .lines([common.display().to_string()])
            .show(format!("df -h {}", quoted(common)))
            .next("free some space, then try again; nothing was written")
            .into())
    }

    /// The land lock: held while a branch is moved and the lane written.
    pub fn lock_landing(&self) -> Result<Lock> {
        self.lock(&self.local.land_lock(), "another landing")
    }

    /// The lock under which worktrees are registered and removed.
    pub fn lock_worktrees(&self) -> Result<Lock> {
        self.lock(&self.local.worktree_lock(), "another worktree change")
    }

    /// The lock under which workers are closed and opened again.
    pub fn lock_reaping(&self) -> Result<Lock> {
        self.lock(&self.local.reap_lock(), "another reap or restore")
    }

    /// The lock under which state is exchanged with remotes.
    pub fn lock_syncing(&self) -> Result<Lock> {
        self.lock(&self.local.sync_lock(), "another sync")
    }

    /// The lock of the one runner of this clone. Nobody waits for it.
    pub fn lock_running(&self) -> Result<Lock> {
        crate::host::make_dir(&self.local.run())?;
        let path = self.local.runner_lock();
        Lock::try_acquire(&path)?.ok_or_else(|| {
            Refusal::new(Token::RunnerRuns, "another runner of this clone is at work")
                .show(format!("fuser -v {}", quoted(&path)))
                .next("one is enough: give it more workers with -j")
                .into()
        })
    }

    fn lock(&self, path: &Path, what: &str) -> Result<Lock> {
        crate::host::make_dir(&self.local.run())?;
        let busy = || {
            Refusal::new(Token::Busy, format!("{what} has been running for {} s", LOCK_WAIT.as_secs()))
                .show(format!("fuser -v {}", quoted(path)))
                .next("wait for it to end, then try again")
        };
        // A git process that outlives us still works under it: the next one waits for that too.
        Lock::acquire_in_turn(path, LOCK_WAIT)?.ok_or_else(busy)?.with_children()
    }

    /// The land lock if it is free at this moment.
    pub fn try_lock_landing(&self) -> Result<Option<Lock>> {
        crate::host::make_dir(&self.local.run())?;
        Lock::try_acquire(&self.local.land_lock())?.map(Lock::with_children).transpose()
    }

    /// The branch that work lands on by default.
    pub fn trunk(&self, view: &View) -> Result<RefName> {
        if let Some(named) = self.config.get("skein.trunk") {
            let name = RefName::branch(named)?;
            return self.branch_tip(view, &name).map(|_| name);
        }
        let guesses = [self.config.get("init.defaultbranch"), Some("main"), Some("master")];
        let names = guesses.into_iter().flatten().filter_map(|g| RefName::branch(g).ok());
        let mut names: Vec<RefName> = view.origin_head.clone().into_iter().chain(names).collect();
        if let Some(at) = names.iter().position(|name| view.branches.contains_key(name)) {
            return Ok(names.swap_remove(at));
        }
        // A checkout of one commit, as pipelines make it, has no branch.
        for name in names {
            if self.tracked(&name)?.is_some() {
                return Ok(name);
            }
        }
        Err(self.no_trunk(view))
    }

    /// The remote that is meant where none is named.
    pub fn remote(&self) -> Option<String> {
        let all: BTreeSet<&str> =
            self.config.named("remote", "url").into_iter().map(|(name, _)| name).collect();
        let meant = [self.config.get("checkout.defaultremote"), Some("origin")].into_iter().flatten();
        let named = meant.into_iter().find(|name| all.contains(name));
        named.or_else(|| all.first().copied().filter(|_| all.len() == 1)).map(ToOwned::to_owned)
    }

    /// Where the remote had branch `name` when it was fetched last.
    pub fn tracked(&self, name: &RefName) -> Result<Option<Oid>> {
        let Some(remote) = self.remote() else { return Ok(None) };
        let Ok(tracking) = RefName::new(format!("refs/remotes/{remote}/{}", name.short())) else {
            return Ok(None);
        };
        Ok(self.repo.read_refs(&[&tracking])?.pop().flatten())
    }

    /// The branch that a person named, here or as `REMOTE/BRANCH` on a server; else the trunk.
    pub fn onto(&self, view: &View, named: Option<&RefName>) -> Result<RefName> {
        named.map_or_else(|| self.trunk(view), |name| server::meant(self, view, name))
    }

    /// The trunk whose policy holds for what goes to `onto`: that of the same server, as far as it is known; `onto`
    /// itself where nobody knows which branch is the trunk.
    pub fn trunk_for(&self, view: &View, onto: &RefName) -> RefName {
        let trunk = self.trunk(view).unwrap_or_else(|_| onto.clone());
        let there = server::of(self, onto).map(|s| format!("refs/remotes/{}/{}", s.remote, trunk.short()));
        let there = there.and_then(|name| RefName::new(name).ok());
        there.filter(|name| self.tip(view, name).is_some()).unwrap_or(trunk)
    }

    fn no_trunk(&self, view: &View) -> Failure {
        let is_detached = || self.repo.resolve_any("HEAD").ok().flatten().is_some();
        if view.branches.is_empty() && is_detached() {
            return Refusal::new(Token::NoTrunk, "HEAD is detached here, and there is no branch of any kind")
                .show("git branch --all --list")
                .next("fetch the branch that work lands on: git fetch origin main:main")
                .into();
        }
        if view.branches.is_empty() {
            return Refusal::new(Token::UnbornTrunk, "this repository has no commit on any branch yet")
                .show("git log -1")
                .next("make a first commit: git commit --allow-empty -m 'first'")
                .into();
        }
        Refusal::new(
            Token::NoTrunk,
            "no branch here is the trunk: neither origin/HEAD's, init.defaultBranch, main nor master",
        )
        .lines(view.branches.keys().map(|b| b.short().to_owned()))
        .show("git branch --list")
        .next("name it once: git config skein.trunk <branch>")
        .into()
    }

    /// Where branch `name` is; if it is not here, where the remote had it.
    pub fn branch_tip(&self, view: &View, name: &RefName) -> Result<Oid> {
        let unknown = || server::of(self, name).map_or_else(|| no_branch(name), |server| server.unknown());
        match self.tip(view, name) {
            Some(tip) => Ok(tip),
            None if name.is_tracking() => Err(unknown()),
            None => self.tracked(name)?.ok_or_else(unknown),
        }
    }

    /// The same, if it is there. That of a branch on a server is as it was seen last.
    pub fn tip(&self, view: &View, name: &RefName) -> Option<Oid> {
        if name.is_tracking() {
            return self.repo.read_refs(&[name]).ok()?.pop().flatten();
        }
        view.branches.get(name).copied()
    }

    /// The person as a commit header states them, `Name <mail>`.
    pub fn person(&self) -> Result<String> {
        self.repo.identity(&self.config)?.ok_or_else(|| {
            Refusal::new(
                Token::NoIdentity,
                "git does not know who you are, and a landing is committed by you",
            )
            .show("git var GIT_COMMITTER_IDENT")
            .next("git config --global user.name '…' && git config --global user.email '…'")
            .into()
        })
    }

    /// Refuses where a worker calls: landing and judging are not its business.
    pub fn refuse_in_worker(&self, verb: &str) -> Result<()> {
        let below = || [SUPERVISE, KEEP].into_iter().any(crate::host::below_process_with);
        let inside = self.env.get("SKEIN_WORKER").is_some() || below();
        if !inside {
            return Ok(());
        }
        Err(Refusal::new(Token::InWorker, format!("`{verb}` was called from inside a worker"))
            .show("env | grep SKEIN_WORKER")
            .next("commit in your own worktree and end; the person who dispatched you imports it")
            .into())
    }
}

/// 80 bits that are the same for the same words.
fn distinct(about: &[&str]) -> u128 {
    let mut hash = sha2::Sha256::new();
    for part in about {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(10).fold(0u128, |n, byte| (n << 8) | u128::from(*byte))
}

fn no_branch(name: &RefName) -> Failure {
    Refusal::new(Token::NotABranch, format!("there is no local branch {}", name.short()))
        .show(format!("git rev-parse --verify {}", quoted(name.as_str())))
        .next(format!(
            "give a branch that exists, or fetch it: git fetch origin {}",
            quoted(format!("{0}:{0}", name.short()))
        ))
        .into()
}
