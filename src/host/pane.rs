//! An agent in a tmux window. Its parent there is the tmux server, so two processes of ours stand between it and its
//! supervisor: the relay, a child of the supervisor as the agent would be, and the keeper in the pane. They speak
//! through two pipes in a folder of the worker: `orders` to the keeper, which ends the agent when that closes, and
//! `ended` from it. What the pane prints comes to the relay by a third, `printed`, and goes on to the supervisor.

use crate::domain::Bounds;
use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Lock;
use crate::host::Tmux;
use crate::host::ToType;
use crate::host::file;
use crate::host::mailbox::holder;
use crate::host::process::command;
use crate::host::process::not_started;
use crate::host::survivors::Signal;
use crate::host::survivors::signal_group;
use crate::host::typing::type_all;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::process::Pid;
use serde::Deserialize;
use serde::Serialize;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// How long the keeper may take to come to life.
const START: Duration = Duration::from_secs(20);

/// How often the relay looks.
const LOOK: Duration = Duration::from_millis(20);

/// How long the last output may take on its way through tmux.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How many lines of a dead pane are kept.
const TAIL: u32 = 200;

/// What is to run in the pane.
#[derive(Debug, Serialize, Deserialize)]
pub struct PaneJob {
    /// Our own program and its verb that becomes the agent.
    pub launcher: [OsString; 2],
    pub bounds: Bounds,
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The agent reads what is typed at any time: standard input of the relay has a [`ToType`] in each line, the
    /// first of them the task.
    pub typed: bool,
}

/// The folder that the two meet in.
#[derive(Debug, Clone)]
pub struct PaneDir(PathBuf);

impl PaneDir {
    pub fn new(dir: impl Into<PathBuf>) -> PaneDir {
        PaneDir(dir.into())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Puts down what the pane is to run.
    pub fn prepare(&self, job: &PaneJob) -> Result<()> {
        file::remove_tree(&self.0)?;
        file::make_dir(&self.0)?;
        for name in ["orders", "ended", "printed"] {
            let path = self.at(name);
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR)
                .map_err(|e| file::failure("making the pipe", &path, e.into()))?;
        }
        let text = serde_json::to_vec(job).map_err(|e| Failure::fault("noting what runs in the pane", e))?;
        file::put(&self.at("job.json"), &text)
    }

    fn job(&self) -> Result<PaneJob> {
        let text = file::read_optional(&self.at("job.json"))?.unwrap_or_default();
        serde_json::from_slice(&text).map_err(|e| Failure::fault("reading what runs in the pane", e))
    }

    /// The id of the pane, once there is one.
    pub fn pane(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.at("pane")).ok()?;
        Some(text.trim().to_owned()).filter(|pane| pane.starts_with('%'))
    }

    /// The last that a pane showed whose command has ended.
    pub fn last_screen(&self) -> Option<Vec<u8>> {
        std::fs::read(self.at("screen")).ok()
    }

    /// The process that everything in the pane is below, and who says so: whoever holds the file that names it.
    pub fn keeper(&self) -> Option<(u32, u32)> {
        let file = File::open(self.at("keeper")).ok()?;
        let by = holder(&file)?;
        Some((std::io::read_to_string(file).ok()?.trim().parse().ok()?, by))
    }

    /// The numbers of what was typed and seen to stand there.
    pub fn typed(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.at("typed")).unwrap_or_default();
        // The last line may be cut short.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn open(&self, name: &str, how: OFlags) -> Result<File> {
        let path = self.at(name);
        rustix::fs::open(&path, how | OFlags::CLOEXEC, Mode::empty())
            .map(File::from)
            .map_err(|e| file::failure("opening the pipe", &path, e.into()))
    }
}

/// The relay's life: opens a window of the session for what was prepared, types standard input into it, passes on
/// what it prints, and ends with the code of the agent. Asked to end, it asks the agent.
pub fn relay(tmux: &Tmux, dir: &PaneDir, window: &Opening<'_>) -> Result<i32> {
    let job = dir.job()?;
    let mut stdin = BufReader::new(std::io::stdin());
    let brief = brief(&mut stdin, job.typed)?;
    // For reading too: it opens at once, and closes when we are gone, however that happens.
    let mut orders = dir.open("orders", OFlags::RDWR)?;
    let mut ended = Ended::listen(dir)?;
    let pane = tmux.window(window.session, window.name, &job.cwd, window.keeper)?;
    file::put(&dir.at("keeper"), format!("{}\n", tmux.process(&pane)?).as_bytes())?;
    let _vouched = Lock::try_acquire(&dir.at("keeper"))?;
    file::put(&dir.at("pane"), format!("{pane}\n").as_bytes())?;
    let printed = dir.at("printed");
    let passing = std::thread::spawn(move || {
        // Who listens to us may be gone; the pane goes on.
        let _ = File::open(printed).and_then(|mut from| std::io::copy(&mut from, &mut std::io::stdout()));
    });
    tmux.pipe(&pane, &dir.at("printed"))?;
    order(&mut orders, b"g")?;
    if !brief.trim().is_empty() {
        tmux.type_in(&pane, &brief)?;
    }
    if job.typed {
        let (tmux, pane, seen) = (tmux.clone(), pane.clone(), dir.at("typed"));
        std::thread::spawn(move || type_all(stdin, &tmux, &pane, &seen));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::fault("starting the runtime", e))?;
    let code = runtime.block_on(attend(&mut orders, &mut ended))?;
    let waiting = Instant::now();
    while !passing.is_finished() && waiting.elapsed() < LAST_WORDS {
        std::thread::sleep(LOOK);
    }
    if let Ok(screen) = tmux.screen(&pane, TAIL) {
        file::put(&dir.at("screen"), &screen)?;
    }
    Ok(code)
}

/// What is typed in first.
fn brief(stdin: &mut impl BufRead, typed: bool) -> Result<String> {
    if typed {
        return Ok(ToType::next(stdin)?.map(|first| first.text).unwrap_or_default());
    }
    let mut text = String::new();
    stdin.read_to_string(&mut text).map_err(|e| Failure::fault("reading the brief", e))?;
    Ok(text)
}

/// Waits for the end of the agent, and asks it to end when we are asked to.
async fn attend(orders: &mut File, ended: &mut Ended) -> Result<i32> {
    let mut terms = signal(SignalKind::terminate()).map_err(|e| Failure::fault("waiting for a signal", e))?;
    loop {
        tokio::select! {
            _ = terms.recv() => order(orders, b"t")?,
            () = tokio::time::sleep(LOOK) => if let Some(code) = ended.heard()? { return Ok(code) },
        }
    }
}

fn order(orders: &mut File, what: &[u8]) -> Result<()> {
    orders.write_all(what).map_err(|e| Failure::fault("speaking to the pane", e))
}

/// The window to open.
#[derive(Debug)]
pub struct Opening<'w> {
    pub session: &'w str,
    pub name: &'w str,
    /// The command that becomes the keeper.
    pub keeper: &'w [OsString],
}

/// What comes from the keeper.
struct Ended {
    pipe: File,
    since: Instant,
    /// It has opened its side.
    alive: bool,
}

impl Ended {
    fn listen(dir: &PaneDir) -> Result<Ended> {
        let pipe = dir.open("ended", OFlags::RDONLY | OFlags::NONBLOCK)?;
        Ok(Ended { pipe, since: Instant::now(), alive: false })
    }

    /// The code that the agent ended with, when it has.
    fn heard(&mut self) -> Result<Option<i32>> {
        let mut text = [0; 16];
        match self.pipe.read(&mut text) {
            // Nobody holds the other side.
            Ok(0) if self.alive => Ok(Some(KILLED)),
            Ok(0) if self.since.elapsed() > START => {
                Err(Failure::fault("starting the agent", "nothing came to life in its pane"))
            }
            Ok(0) => Ok(None),
            Ok(count) => {
                let said = std::str::from_utf8(&text[..count]).ok().and_then(|text| text.trim().parse().ok());
                Ok(Some(said.unwrap_or(KILLED)))
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                self.alive = true;
                Ok(None)
            }
            Err(e) => Err(Failure::fault("listening to the pane", e)),
        }
    }
}

/// The code of an agent that was killed, as a shell gives it.
const KILLED: i32 = 137;

/// The keeper's life, in the pane: starts the agent when it is told to, and ends it when it is told to or when
/// nobody is there to tell. `term` is the kind of terminal that tmux is here.
pub fn keep(dir: &PaneDir, term: Option<&OsStr>) -> Result<i32> {
    let job = dir.job()?;
    let mut ended = dir.open("ended", OFlags::WRONLY | OFlags::NONBLOCK)?;
    let mut orders = dir.open("orders", OFlags::RDONLY)?;
    if next(&mut orders) != Some(b'g') {
        return Ok(KILLED);
    }
    let [program, launch] = job.launcher;
    let own = std::process::id().to_string();
    let argv = [program, launch, own.into(), job.bounds.word().into(), "--".into()];
    let argv: Vec<OsString> = argv.into_iter().chain(job.argv).collect();
    let failed = |e| not_started(&argv[0], &job.cwd, e);
    let mut command = command(&argv).map_err(failed)?;
    command.current_dir(&job.cwd).env_clear().envs(job.env.iter().map(|(k, v)| (k, v))).process_group(0);
    command.envs(term.map(|term| ("TERM", term)));
    let mut child = command.spawn().map_err(failed)?;
    let pid = child.id();
    // Who reads from a terminal must be in its foreground.
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::termios::tcsetpgrp(std::io::stdin(), group);
    }
    std::thread::spawn(move || {
        loop {
            match next(&mut orders) {
                Some(_) => signal_group(pid, Signal::Term),
                None => {
                    signal_group(pid, Signal::Kill);
                    return;
                }
            };
        }
    });
    let status = child.wait().map_err(|e| Failure::fault("waiting for the agent", e))?;
    signal_group(pid, Signal::Kill);
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(KILLED);
    ended.write_all(format!("{code}\n").as_bytes()).map_err(|e| Failure::fault("telling the end", e))?;
    Ok(code)
}

fn next(orders: &mut File) -> Option<u8> {
    let mut byte = [0];
    orders.read_exact(&mut byte).ok().map(|()| byte[0])
}
