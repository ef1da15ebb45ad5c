//! What the tests stand on: hermetic repositories made by real git, the built binary run on them, and an
//! independent reader that knows nothing of our code.

pub mod acts;
pub mod check;
pub mod copy;
pub mod mounts;
pub mod tally;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// 2026-01-01T00:00:00Z in milliseconds: the moment at which a frozen clock stands.
pub const MOMENT: u64 = 1_767_225_600_000;

/// The user and the group that own nothing.
const NOBODY: &str = "65534";

/// A repository `repo` in a folder of its own, with a home beside it; all of it goes when dropped.
pub struct World {
    root: tempfile::TempDir,
    pub repo: PathBuf,
    /// Where commands run; the repository unless set.
    pub cwd: PathBuf,
    extra: Vec<(String, String)>,
    ticks: AtomicU64,
    /// Everything runs as the user `nobody`.
    nobody: bool,
}

/// How a command of ours ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The result as JSON; fails the test with all that was said if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("no JSON ({e}): {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Ran {
        self.code(0)
    }

    #[track_caller]
    pub fn code(self, want: i32) -> Ran {
        assert_eq!(self.code, want, "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// The refusal's token, as printed on standard error; and that it says what to look at and do next.
    #[track_caller]
    pub fn refused(self, token: &str, code: i32) -> Ran {
        let ran = self.code(code);
        assert!(ran.err.contains(&format!("refused: {token}:")), "{}", ran.err);
        assert!(ran.err.contains("see: ") && ran.err.contains("next:"), "{}", ran.err);
        ran
    }

    /// The command that a refusal shows.
    #[track_caller]
    pub fn shown(&self) -> &str {
        self.err.lines().find_map(|line| line.split_once("see: ")).expect("a refusal").1.trim()
    }

    /// What it says to do next, in one line.
    #[track_caller]
    pub fn next(&self) -> String {
        let next = self.err.split_once("next:").expect("a refusal").1;
        next.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl World {
    /// An initialised repository on branch `main` without a commit.
    pub fn empty() -> World {
        World::made_in(&std::env::temp_dir())
    }

    /// Where the disk plays no part: in memory, if the system has a place for that.
    pub fn in_memory() -> World {
        World::with_formats(&[])
    }

    fn made_in(folder: &Path) -> World {
        World::set_up(folder, &[])
    }

    /// In memory, made by the first git of `PATH` with these options of `git init`, with one commit.
    pub fn with_formats(options: &[&str]) -> World {
        let memory = PathBuf::from("/dev/shm");
        let world = World::set_up(&if memory.is_dir() { memory } else { std::env::temp_dir() }, options);
        world.fill();
        world
    }

    fn set_up(folder: &Path, options: &[&str]) -> World {
        let root = tempfile::Builder::new().prefix("skein-test-").tempdir_in(folder).unwrap();
        let base = root.path().canonicalize().unwrap();
        let repo = base.join("repo");
        fs::create_dir_all(base.join("home")).unwrap();
        // Jails are tried where a test says so, not wherever there is one.
        fs::write(base.join("home/.gitconfig"), "[skein]\n\tjail = none\n").unwrap();
        fs::create_dir_all(&repo).unwrap();
        let world = World {
            root,
            cwd: repo.clone(),
            repo,
            extra: Vec::new(),
            ticks: AtomicU64::new(0),
            nobody: false,
        };
        world.git([&["init", "--quiet", "--template=", "--initial-branch=main"], options].concat());
        world.git(["config", "user.name", "Ada"]);
        world.git(["config", "user.email", "ada@example.invalid"]);
        world
    }

    /// With one commit: `a.txt` of nine numbered lines, `b.txt`, and a `.gitignore` for `*.ign`.
    pub fn new() -> World {
        let world = World::empty();
        world.fill();
        world
    }

    fn fill(&self) {
        self.write("a.txt", &(1..=9).map(|n| format!("line {n}\n")).collect::<String>());
        self.write("b.txt", "b\n");
        self.write(".gitignore", "*.ign\nignored/\n");
        self.commit("base");
    }

    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    /// Gives everything to the user `nobody`, who runs all commands from now on.
    pub fn given_to_nobody(mut self) -> World {
        let owner = format!("{NOBODY}:{NOBODY}");
        let given = Command::new("chown").args(["-R", &owner]).arg(self.root.path()).status().unwrap();
        assert!(given.success());
        self.nobody = true;
        self
    }

    /// Adds a variable to the environment of every command of ours and of git from now on.
    pub fn env(mut self, key: &str, value: &str) -> World {
        self.extra.push((key.to_owned(), value.to_owned()));
        self
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.repo.join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Commits everything and gives the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", message]);
        self.head()
    }

    pub fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"])
    }

    pub fn rev(&self, rev: &str) -> String {
        self.git(["rev-parse", "--verify", rev])
    }

    /// The hermetic environment; each call's commits are one second younger than the last one's.
    fn environment(&self) -> BTreeMap<String, String> {
        let tick = self.ticks.fetch_add(1, Ordering::SeqCst);
        let date = format!("{} +0000", MOMENT / 1000 - 100_000 + tick);
        let home = self.root().join("home");
        let mut env: BTreeMap<String, String> = [
            ("PATH", format!("{}{}", git_first(), std::env::var("PATH").unwrap())),
            ("HOME", home.display().to_string()),
            ("XDG_CONFIG_HOME", home.join("config").display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_DATE", date),
            ("LC_ALL", "C".into()),
            ("TZ", "UTC".into()),
            ("TMPDIR", std::env::temp_dir().display().to_string()),
        ]
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v))
        .collect();
        env.extend(self.extra.iter().cloned());
        env
    }

    /// Runs git in [`World::cwd`]; it must succeed. Gives its output without the last line feed.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "git: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    pub fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        let mut git = self.program("git");
        git.args(args).current_dir(&self.cwd).env_clear().envs(self.environment());
        git.output().unwrap()
    }

    fn program(&self, program: &str) -> Command {
        if !self.nobody {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--", program]);
        command
    }

    /// A command of ours, ready to be run or changed.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut skein = self.program(env!("CARGO_BIN_EXE_git-skein"));
        skein.args(args).current_dir(&self.cwd).env_clear().envs(self.environment());
        skein
    }

    /// Runs a command of ours to its end.
    pub fn skein(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// Dispatches a worker that runs `script` in a shell, waits for it, and gives its handle.
    #[track_caller]
    pub fn worker(&self, name: &str, script: &str) -> String {
        let ended = self.skein(&["dispatch", "--wait", "--name", name, name, "--", "sh", "-c", script]);
        assert!([0, 1, 3].contains(&ended.code), "{ended:?}");
        name.to_owned()
    }

    /// One field of `show --json`.
    pub fn field(&self, worker: &str, key: &str) -> serde_json::Value {
        self.skein(&["show", worker, "--json"]).ok().json()["result"][key].clone()
    }

    /// The worktree of a worker.
    pub fn worktree(&self, worker: &str) -> PathBuf {
        PathBuf::from(self.field(worker, "worktree").as_str().unwrap())
    }

    /// The full id of a worker.
    pub fn ulid(&self, worker: &str) -> String {
        self.field(worker, "worker").as_str().unwrap().to_owned()
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The folder of the git under test, to stand first in `PATH`: `SKEIN_TEST_GIT` names another git.
fn git_first() -> String {
    match std::env::var("SKEIN_TEST_GIT") {
        Ok(git) => format!("{}:", Path::new(&git).parent().unwrap().display()),
        Err(_) => String::new(),
    }
}
