//! The one place that spawns git. Callers inside this room state arguments; everything that could change
//! what git does (environment, hooks, monitors, locks, durability) is pinned here.

use crate::domain::Failure;
use crate::domain::Result;
use crate::plumbing::disk;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::thread::JoinHandle;

/// What passes from the person's environment to every call.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TERM",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_NO_LAZY_FETCH",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "LD_LIBRARY_PATH",
    "NIX_SSL_CERT_FILE",
    // How the servers of remotes are reached.
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
];

/// What passes besides, where the person's own view is asked for: by these they say where the repository is, or what
/// its configuration is.
pub(super) const BINDING: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

/// And by these who they are.
const IDENTITY: &[&str] =
    &["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"];

/// The variables that bind a process to one repository; no child of ours may inherit them.
const LOCAL_ENV: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_QUARANTINE_PATH",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
];

/// Whether `key` binds a process to one repository or carries configuration for one call.
pub fn is_local_env(key: &OsStr) -> bool {
    let key = key.to_string_lossy();
    LOCAL_ENV.contains(&key.as_ref())
        || key.starts_with("GIT_CONFIG_KEY_")
        || key.starts_with("GIT_CONFIG_VALUE_")
}

/// Environment in which git begins no maintenance of its own. It takes `objects/maintenance.lock` and goes on
/// in the background; where it is killed there, the lock stays and nothing is ever packed again.
pub const NO_MAINTENANCE: [(&str, &str); 3] =
    [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "maintenance.auto"), ("GIT_CONFIG_VALUE_0", "false")];

/// Set for every call.
const FIXED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
];

const NO_HOOKS: &str = "core.hooksPath=/dev/null";

const PINNED: &[&str] = &[
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "core.fsync=all",
    "core.filesRefLockTimeout=10000",
    "core.packedRefsTimeout=10000",
    "reftable.lockTimeout=10000",
    "core.quotePath=false",
    "submodule.recurse=false",
    "advice.graftFileDeprecated=false",
];

/// Spawns git with one environment.
#[derive(Debug, Clone)]
pub struct Git {
    program: OsString,
    env: Vec<(OsString, OsString)>,
    person: Vec<(OsString, OsString)>,
    /// Settings that keep hooks which configuration names from running: `core.hooksPath` does not.
    quiet: Vec<String>,
}

/// One call: where, with what.
pub(super) struct Call<'a> {
    args: Vec<OsString>,
    dir: Option<&'a Path>,
    stdin: Option<&'a [u8]>,
    env: Vec<(OsString, OsString)>,
    person: bool,
    walls: &'a [OsString],
    apart: bool,
    unpinned: bool,
    hooks: bool,
}

/// What a finished git process left.
pub(super) struct Output {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Output {
    pub fn ok(&self) -> bool {
        self.code == 0
    }

    /// Standard output as text without the final newline.
    pub fn text(&self) -> String {
        self.stdout.to_str_lossy().trim_end_matches('\n').to_owned()
    }

    /// The last thing git said, for a fault.
    pub fn words(&self) -> String {
        let said = self.stderr.to_str_lossy();
        let said = said.trim();
        if said.is_empty() { format!("git ended with {}", self.code) } else { said.to_owned() }
    }
}

impl<'a> Call<'a> {
    pub fn new<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Call<'a> {
        Call {
            args: args.into_iter().map(|a| a.as_ref().to_owned()).collect(),
            dir: None,
            stdin: None,
            env: Vec::new(),
            person: false,
            walls: &[],
            apart: false,
            unpinned: false,
            hooks: false,
        }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Call<'a> {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args(mut self, args: &[&str]) -> Call<'a> {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    pub fn dir(mut self, dir: &'a Path) -> Call<'a> {
        self.dir = Some(dir);
        self
    }

    pub fn stdin(mut self, bytes: &'a [u8]) -> Call<'a> {
        self.stdin = Some(bytes);
        self
    }

    /// A call that only looks: no optional lock is taken, so nothing is written.
    pub fn reads(self) -> Call<'a> {
        self.env("GIT_OPTIONAL_LOCKS", "0")
    }

    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Call<'a> {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Not to be ended by Ctrl-C in our terminal: it is in the middle of moving somebody's files.
    pub fn apart(mut self) -> Call<'a> {
        self.apart = true;
        self
    }

    /// Without the settings that every other call has: where configuration itself is asked for, they would
    /// hide the person's.
    pub fn unpinned(mut self) -> Call<'a> {
        self.unpinned = true;
        self
    }

    /// With the hooks of the repository.
    pub fn with_hooks(mut self) -> Call<'a> {
        self.hooks = true;
        self
    }

    /// Started through another command, which shuts it in.
    pub fn within(mut self, walls: &'a [OsString]) -> Call<'a> {
        self.walls = walls;
        self
    }

    /// With the person's own binding of repository and configuration.
    pub fn for_person(mut self) -> Call<'a> {
        self.person = true;
        self
    }
}

impl Git {
    /// From the environment of the person who called us.
    pub fn new<'e>(vars: impl IntoIterator<Item = (&'e OsStr, &'e OsStr)>) -> Git {
        let mut git = Git { program: "git".into(), env: Vec::new(), person: Vec::new(), quiet: Vec::new() };
        for (key, value) in vars {
            let name = key.to_string_lossy();
            let pair = (key.to_owned(), value.to_owned());
            if name == "PATH" {
                git.program = located(value);
            }
            if ALLOWED.contains(&name.as_ref()) {
                git.env.push(pair);
            } else if BINDING.contains(&name.as_ref())
                || IDENTITY.contains(&name.as_ref())
                || name.starts_with("GIT_CONFIG_KEY_")
                || name.starts_with("GIT_CONFIG_VALUE_")
            {
                git.person.push(pair);
            }
        }
        git
    }

    /// Runs none of the hooks that configuration calls `names`, where it runs no others either.
    pub(super) fn quieten<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        // What stands before a first `=` is the key.
        let names = names.into_iter().filter(|name| !name.contains('='));
        self.quiet = names.map(|name| format!("hook.{name}.enabled=false")).collect();
    }

    /// A variable of the person's own binding.
    pub(super) fn person(&self, name: &str) -> Option<&OsStr> {
        self.person.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    /// A variable that every call gets.
    pub(super) fn passed(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    /// Which program this is, as far as its file tells; ends with a newline.
    pub(super) fn stamp(&self) -> Option<Vec<u8>> {
        let program = Path::new(&self.program);
        let meta = program.is_absolute().then(|| program.metadata().ok()).flatten()?;
        let mut stamp = program.as_os_str().as_bytes().to_vec();
        let facts = [meta.dev(), meta.ino(), meta.size(), meta.mtime() as u64, meta.mtime_nsec() as u64];
        stamp.extend_from_slice(format!("\n{facts:?} {}.{}\n", meta.ctime(), meta.ctime_nsec()).as_bytes());
        Some(stamp)
    }

    /// The file that it reads as the system's configuration; an older git does not tell.
    pub(super) fn system_file(&self) -> Option<Vec<u8>> {
        let output = self.run(&Call::new(["var", "GIT_CONFIG_SYSTEM"]).unpinned()).ok()?;
        let told = output.stdout.strip_suffix(b"\n").filter(|_| output.ok())?;
        (!told.contains(&b'\n')).then(|| told.to_vec())
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let mut words = call.walls.iter().chain([&self.program]);
        #[expect(clippy::disallowed_methods, reason = "this is the spawner")]
        let mut command = Command::new(words.next().unwrap_or(&self.program));
        command.args(words);
        command.env_clear().envs(self.env.iter().map(|(k, v)| (k, v))).envs(FIXED.iter().copied());
        if call.person {
            command.envs(self.person.iter().map(|(k, v)| (k, v)));
        }
        command.envs(call.env.iter().map(|(k, v)| (k, v)));
        // Where hooks are to run, what keeps them from it is left out.
        let no_hooks = std::iter::once(NO_HOOKS).chain(self.quiet.iter().map(String::as_str));
        let pinned = PINNED.iter().copied().chain(no_hooks.filter(|_| !call.hooks));
        for pin in pinned.filter(|_| !call.unpinned) {
            command.args(["-c", pin]);
        }
        command.args(&call.args);
        if let Some(dir) = call.dir {
            command.current_dir(dir);
        }
        if call.apart {
            command.process_group(0);
        }
        tracing::debug!(args = ?call.args, dir = ?call.dir, "git");
        command
    }

    /// Runs to the end. Any exit code is an answer; only a failure to run is an error.
    pub(super) fn run(&self, call: &Call<'_>) -> Result<Output> {
        self.ended(call, self.spawn(call, input(call))?)
    }

    /// Runs to the end with what is in `from` as its input.
    pub(super) fn run_from(&self, call: &Call<'_>, from: File) -> Result<Output> {
        self.ended(call, self.spawn(call, from.into())?)
    }

    /// Runs to the end; what it prints goes to `to`.
    pub(super) fn run_into(&self, call: &Call<'_>, to: File) -> Result<Output> {
        let mut command = self.ready(call, input(call))?;
        command.stdout(to);
        self.ended(call, command.spawn().map_err(|e| not_run(call, e))?)
    }

    /// Starts a call; [`Git::finish`] gives its answer. What is started together runs together.
    pub(super) fn start(&self, call: &Call<'_>) -> Result<Started> {
        self.set_off(call, input(call))
    }

    pub(super) fn finish(&self, call: &Call<'_>, started: Started) -> Result<Output> {
        self.ended(call, started.child().map_err(|e| not_run(call, e))?)
    }

    fn ended(&self, call: &Call<'_>, mut child: Child) -> Result<Output> {
        let feed = child.stdin.take().zip(call.stdin);
        let output = std::thread::scope(|scope| {
            // A child that answers before it has read everything would block a single thread.
            if let Some((mut pipe, bytes)) = feed {
                scope.spawn(move || pipe.write_all(bytes));
            }
            child.wait_with_output()
        })
        .map_err(|e| not_run(call, e))?;
        crate::fault::git().map_err(|e| not_run(call, e))?;
        Ok(Output { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr: output.stderr })
    }

    /// Runs to the end; any exit code but 0 is a fault.
    pub(super) fn expect(&self, call: &Call<'_>) -> Result<Output> {
        self.expected(call, self.run(call)?)
    }

    pub(super) fn expected(&self, call: &Call<'_>, output: Output) -> Result<Output> {
        if output.ok() {
            return Ok(output);
        }
        Err(disk::git(format!("running git {}", words(&call.args)), &output.words()))
    }

    /// Runs two calls at the same time, the output of the first being the input of the second.
    pub(super) fn pipe(&self, from: &Call<'_>, to: &Call<'_>) -> Result<(Output, Output)> {
        let mut first = self.spawn(from, input(from))?;
        let between = first.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let second = self.spawn(to, between)?;
        std::thread::scope(|scope| {
            let feeding = scope.spawn(|| self.ended(from, first));
            let second = self.ended(to, second)?;
            let first = feeding.join().map_err(|_| Failure::fault("running git", "a thread panicked"))??;
            Ok((first, second))
        })
    }

    /// Starts a process that is spoken to through its pipes.
    pub(super) fn converse(&self, call: &Call<'_>) -> Result<Started> {
        self.set_off(call, Stdio::piped())
    }

    fn set_off(&self, call: &Call<'_>, stdin: Stdio) -> Result<Started> {
        let mut command = self.ready(call, stdin)?;
        Ok(Started(std::thread::spawn(move || command.spawn())))
    }

    fn spawn(&self, call: &Call<'_>, stdin: Stdio) -> Result<Child> {
        self.ready(call, stdin)?.spawn().map_err(|e| not_run(call, e))
    }

    fn ready(&self, call: &Call<'_>, stdin: Stdio) -> Result<Command> {
        crate::fault::git().map_err(|e| not_run(call, e))?;
        let mut command = self.command(call);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// A process that is being started by a thread of its own: who starts one stands still until it runs.
pub(super) struct Started(JoinHandle<std::io::Result<Child>>);

impl Started {
    pub fn child(self) -> std::io::Result<Child> {
        self.0.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
    }
}

fn input(call: &Call<'_>) -> Stdio {
    if call.stdin.is_some() { Stdio::piped() } else { Stdio::null() }
}

/// The `git` that `PATH` leads to. A full path spares each start the search, and the copy of our own memory
/// that the standard library makes to search in.
fn located(path: &OsStr) -> OsString {
    let here = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
    let mut found =
        here.filter(|p| rustix::fs::access(p, rustix::fs::Access::EXEC_OK).is_ok() && p.is_file());
    found.next().map_or_else(|| "git".into(), PathBuf::into_os_string)
}

fn not_run(call: &Call<'_>, error: std::io::Error) -> Failure {
    Failure::fault(format!("running git {}", words(&call.args)), error)
}

fn words(args: &[OsString]) -> String {
    let words: Vec<_> = args.iter().map(|a| a.to_string_lossy()).collect();
    words.join(" ")
}

/// `--git-dir=<dir>` as one argument.
pub(super) fn git_dir(dir: &Path) -> OsString {
    option("--git-dir=", dir)
}

/// `--work-tree=<dir>` as one argument.
pub(super) fn work_tree(dir: &Path) -> OsString {
    option("--work-tree=", dir)
}

fn option(name: &str, dir: &Path) -> OsString {
    let mut arg = OsString::from(name);
    arg.push(PathBuf::from(dir));
    arg
}
