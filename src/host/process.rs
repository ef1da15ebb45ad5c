//! Commands that run to their end while we wait: gates and checks. Each has its own process group, no
//! terminal on its standard streams, only the environment it is given, and leaves nothing running behind.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::hex;
use crate::domain::quoted;
use crate::host::output::Capped;
use crate::host::survivors::Signal;
use crate::host::survivors::signal_group;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::event::poll;
use rustix::process::Pid;
use rustix::process::WaitId;
use rustix::process::WaitIdOptions;
use sha2::Digest;
use sha2::Sha256;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::io::ErrorKind;
use std::io::PipeReader;
use std::io::Read;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Between the polite and the final signal.
const GRACE: Duration = Duration::from_secs(2);

/// How long output may still come from a process that left the group and holds the pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How often a silent child is looked at.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

const CHUNK: usize = 64 << 10;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The program, looked up in the `PATH` of `env`, and its arguments.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input; `None` is empty.
    pub stdin: Option<Vec<u8>>,
    pub timeout: Option<Duration>,
    /// How many bytes of output to keep, half of them from the end.
    pub keep: usize,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// How long it ran.
    pub millis: u64,
    /// Standard output and error in the order they were written, head and tail.
    pub output: Vec<u8>,
    /// Length of the whole output.
    pub bytes: u64,
    /// SHA-256 of the whole output, in hex.
    pub digest: String,
}

/// Runs a command and waits for it. Whatever it left in its process group is killed. A missing program is
/// a refusal; a command that fails is no error.
pub fn run_to_end(mut run: Run) -> Result<Ended> {
    let name = run.argv.first().cloned().unwrap_or_default();
    let failed = |e: io::Error| Failure::fault(format!("running {}", quoted(&name)), e);
    let started = Instant::now();
    let mut tended = start(&mut run).map_err(|e| not_started(&name, &run.cwd, e))?;
    let timed_out = tended.until_exit(started, run.timeout);
    // Its leader is not yet reaped, so the number of the group is still its own.
    signal_group(tended.pid(), Signal::Kill);
    let status = tended.child.wait().map_err(failed)?;
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let end = Instant::now();
    while tended.output.is_some() && end.elapsed() < LAST_WORDS {
        tended.turn(LONGEST_PAUSE).map_err(failed)?;
    }
    Ok(Ended {
        code: status.code(),
        signal: status.signal(),
        timed_out: timed_out.map_err(failed)?,
        millis,
        output: tended.kept.finish(),
        bytes: tended.bytes,
        digest: hex(&tended.digest.finalize()),
    })
}

/// A command with its program and arguments, and nothing else set.
#[expect(clippy::disallowed_methods, reason = "the one place that makes children outside plumbing")]
pub(super) fn command(argv: &[OsString]) -> io::Result<Command> {
    let (program, args) = argv.split_first().ok_or(ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

/// What it means that a child could not be started.
pub(super) fn not_started(program: &OsStr, cwd: &Path, error: io::Error) -> Failure {
    let word = quoted(program);
    let why = match error.kind() {
        _ if !cwd.is_dir() => {
            return Failure::fault(
                format!("starting {word} in {}", cwd.display()),
                "there is no such directory",
            );
        }
        ErrorKind::NotFound => "was not found, or the interpreter it names was not",
        ErrorKind::PermissionDenied => "may not be executed",
        _ => return Failure::fault(format!("starting {word}"), error),
    };
    Refusal::new(Token::AgentNotFound, format!("the program {word} {why}"))
        .show(format!("command -v {word}"))
        .next("install it or name another program")
        .into()
}

/// A running child, its pipes and what came out of them.
struct Tended {
    child: Child,
    input: Option<ChildStdin>,
    to_feed: Vec<u8>,
    fed: usize,
    output: Option<PipeReader>,
    kept: Capped,
    bytes: u64,
    digest: Sha256,
    buffer: Vec<u8>,
}

fn start(run: &mut Run) -> io::Result<Tended> {
    // One pipe for both streams keeps their order.
    let (output, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&output, true)?;
    let mut child = command(&run.argv)?
        .current_dir(&run.cwd)
        .env_clear()
        .envs(run.env.iter().map(|(name, value)| (name, value)))
        .stdin(if run.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let input = child.stdin.take();
    if let Some(input) = &input {
        rustix::io::ioctl_fionbio(input, true)?;
    }
    Ok(Tended {
        child,
        input,
        to_feed: run.stdin.take().unwrap_or_default(),
        fed: 0,
        output: Some(output),
        kept: Capped::new(run.keep),
        bytes: 0,
        digest: Sha256::new(),
        buffer: vec![0; CHUNK],
    })
}

impl Tended {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Feeds and drains until the child has exited, ending it at the timeout. True when that was needed.
    fn until_exit(&mut self, started: Instant, timeout: Option<Duration>) -> io::Result<bool> {
        let mut asked: Option<Instant> = None;
        let mut pause = Duration::from_millis(1);
        while !self.exited()? {
            self.turn(pause)?;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match asked {
                None if timeout.is_some_and(|limit| started.elapsed() >= limit) => {
                    signal_group(self.pid(), Signal::Term);
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() >= GRACE => {
                    signal_group(self.pid(), Signal::Kill);
                }
                _ => {}
            }
        }
        Ok(asked.is_some())
    }

    /// Whether the child is over. It stays a zombie, so that its number cannot be given to another.
    fn exited(&self) -> io::Result<bool> {
        let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) else { return Ok(true) };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(pid), look) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits for the pipes, `at_most` long, and moves what is ready.
    fn turn(&mut self, at_most: Duration) -> io::Result<()> {
        let wait = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
        let mut ready = Vec::new();
        ready.extend(self.output.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        ready.extend(self.input.as_ref().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        if ready.is_empty() {
            thread::sleep(at_most);
        } else if let Err(e) = poll(&mut ready, Some(&wait))
            && e != rustix::io::Errno::INTR
        {
            return Err(e.into());
        }
        self.drain()?;
        self.feed();
        Ok(())
    }

    fn drain(&mut self) -> io::Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        match output.read(&mut self.buffer) {
            Ok(0) => self.output = None,
            Ok(count) => {
                let chunk = &self.buffer[..count];
                self.kept.push(chunk);
                self.digest.update(chunk);
                self.bytes += count as u64;
            }
            Err(e) if is_later(&e) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// A child that does not want its input any more is no error.
    fn feed(&mut self) {
        let Some(input) = &mut self.input else { return };
        match input.write(&self.to_feed[self.fed..]) {
            Ok(count) => self.fed += count,
            Err(e) if is_later(&e) => return,
            Err(_) => self.fed = self.to_feed.len(),
        }
        if self.fed == self.to_feed.len() {
            self.input = None;
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Run {
        Run {
            argv: vec!["sh".into(), "-c".into(), script.into()],
            cwd: "/".into(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: None,
            timeout: Some(Duration::from_secs(60)),
            keep: 1000,
        }
    }

    #[test]
    fn both_streams_in_order_and_nothing_inherited() {
        let ended =
            run_to_end(sh("echo one; echo two >&2; echo three; env | grep -c ^CARGO; exit 3")).unwrap();
        assert_eq!(ended.output, b"one\ntwo\nthree\n0\n");
        assert_eq!((ended.code, ended.signal, ended.timed_out), (Some(3), None, false));
        assert_eq!(ended.bytes, 16);
        assert_eq!(ended.digest, hex(&Sha256::digest(&ended.output)));
    }

    #[test]
    fn large_input_and_output_do_not_block_each_other() {
        let text: Vec<u8> = (0..3_000_000u32).map(|n| n as u8).collect();
        let digest = hex(&Sha256::digest(&text));
        let ended = run_to_end(Run { stdin: Some(text), ..sh("cat") }).unwrap();
        assert_eq!((ended.code, ended.bytes, ended.digest), (Some(0), 3_000_000, digest));
        assert!(ended.output.len() < 1100);
        let ignored = run_to_end(Run { stdin: Some(vec![0; 1 << 20]), ..sh("exec true") }).unwrap();
        assert_eq!(ignored.code, Some(0));
        let empty = run_to_end(sh("cat; exit 4")).unwrap();
        assert_eq!((empty.code, empty.bytes), (Some(4), 0));
    }

    #[test]
    fn a_timeout_asks_first() {
        let timeout = Some(Duration::from_millis(50));
        let script = "trap 'echo asked; exit 9' TERM; while :; do sleep 0.01; done";
        let ended = run_to_end(Run { timeout, ..sh(script) }).unwrap();
        assert_eq!((ended.code, ended.timed_out), (Some(9), true));
        assert!(ended.output.ends_with(b"asked\n"), "{ended:?}");
    }

    #[test]
    fn a_timeout_kills_who_does_not_listen() {
        let timeout = Some(Duration::from_millis(50));
        let script = "trap '' TERM; exec >&- 2>&-; while :; do sleep 1; done";
        let ended = run_to_end(Run { timeout, ..sh(script) }).unwrap();
        assert_eq!((ended.code, ended.signal, ended.timed_out), (None, Some(9), true));
        assert!(ended.millis >= 2000 && ended.millis < 20_000, "{}", ended.millis);
    }

    #[test]
    fn nothing_stays_in_the_group() {
        let ended = run_to_end(sh("sleep 600 & echo $!")).unwrap();
        let pid = String::from_utf8(ended.output).unwrap().trim().parse().unwrap();
        let started = Instant::now();
        let runs = || {
            crate::host::survivors::start_time(pid)
                .is_some_and(|start| crate::host::survivors::alive(pid, start))
        };
        while runs() {
            assert!(started.elapsed() < Duration::from_secs(20), "still alive");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(ended.millis < 20_000);
    }

    #[test]
    fn a_missing_program_is_a_refusal() {
        let refusal = |argv: &str| match run_to_end(Run { argv: vec![argv.into()], ..sh("") }) {
            Err(Failure::Refusal(refusal)) => *refusal,
            other => panic!("{other:?}"),
        };
        let missing = refusal("skein no such");
        assert_eq!(
            (missing.token, missing.show.as_str()),
            (Token::AgentNotFound, "command -v 'skein no such'")
        );
        assert_eq!(refusal("/etc/passwd").token, Token::AgentNotFound);
        assert!(matches!(run_to_end(Run { cwd: "/no/such/dir".into(), ..sh("") }), Err(Failure::Fault(_))));
        assert!(run_to_end(Run { argv: Vec::new(), ..sh("") }).is_err());
    }
}
