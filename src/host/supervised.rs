//! The run of one agent, watched from start to end: output into a capped log and out as lines, limits on
//! time and silence, a completion line, a stop from outside. Runs on a current-thread runtime, on the main
//! thread: the agent dies with the thread that spawned it.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::ending::Ending;
use crate::host::ending::end;
use crate::host::ending::reap_adopted;
use crate::host::output::Lines;
use crate::host::output::Log;
use crate::host::process::command;
use crate::host::process::not_started;
use crate::host::spec::Cause;
use crate::host::spec::End;
use crate::host::spec::Spec;
use bstr::ByteSlice;
use std::cell::RefCell;
use std::io;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::process::ChildStdin;
use tokio::select;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::AbortHandle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::sleep_until;
use tokio::time::timeout;

/// How long output may still come when everything that we know of has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long an agent that is done may take to exit.
const LEAVING: Duration = Duration::from_secs(2);

/// How long one that listens may take to go on after it was done: it tries again, or was told something.
const SETTLES: Duration = Duration::from_secs(1);

/// How often ended orphans are buried.
const REAP: Duration = Duration::from_secs(5);

/// How much of a last line is told.
const LAST_LINE: usize = 1024;

const CHUNK: usize = 64 << 10;

/// A run under supervision.
#[derive(Debug)]
pub struct Supervised<'a> {
    spec: &'a Spec,
    pid: u32,
    started: Instant,
    heard: Heard,
    /// Feeds one that listens while it works.
    line: Option<AbortHandle>,
}

/// What the listening half tells the caring half.
#[derive(Debug, Default)]
struct Heard {
    done: RefCell<Option<Vec<u8>>>,
    told: Notify,
    last_line: RefCell<Vec<u8>>,
}

impl Supervised<'_> {
    /// Without anybody who listens to the lines.
    #[cfg(test)]
    pub async fn run(spec: Spec) -> Result<End> {
        Supervised::heard(spec, &|_| ()).await
    }

    /// Runs the agent to its end, whatever that is, and gives each line of its output to `each`. Fails only when it
    /// cannot be started or waited for. In a subreaper every child outside our own process group belongs to the
    /// agent and ends with it.
    pub async fn heard(mut spec: Spec, each: &dyn Fn(&[u8])) -> Result<End> {
        let mut log = Log::open(&spec.log)?;
        // In place before there is a child, so that a stop in between is not missed.
        let mut terms =
            signal(SignalKind::terminate()).map_err(|e| Failure::fault("waiting for a signal", e))?;
        let mut child = spawn(&spec)?;
        let (first, more) = (std::mem::take(&mut spec.stdin), spec.more.take());
        let listens = more.is_some();
        let feeder = child.stdin.take().map(|pipe| tokio::spawn(feed(pipe, first, more)));
        let line = feeder.as_ref().filter(|_| listens).map(JoinHandle::abort_handle);
        let streams = (child.stdout.take(), child.stderr.take());
        let pid = child.id().unwrap_or_default();
        let run = Supervised { spec: &spec, pid, started: Instant::now(), heard: Heard::default(), line };
        spec.control.touch();

        let (cause, ending) = {
            let mut listening = pin!(run.listen(streams, &mut log, each));
            let mut caring = pin!(run.care(&mut child, &mut terms));
            let mut at_end = false;
            let cared = loop {
                // Limits first: an agent that floods us must not keep them from being looked at.
                select! { biased;
                    cared = &mut caring => break cared?,
                    () = &mut listening, if !at_end => at_end = true,
                }
            };
            if !at_end {
                let _ = timeout(LAST_WORDS, listening).await;
            }
            cared
        };
        if let Some(feeder) = feeder {
            feeder.abort();
        }
        if !ending.survivors.is_empty() {
            let names: Vec<String> =
                ending.survivors.iter().map(|(pid, name)| format!("{name} {pid}")).collect();
            log.push(format!("\n[... left running, and ended: {} ...]\n", names.join(", ")).as_bytes());
        }
        Ok(End {
            cause: run.with_last_words(cause),
            code: ending.status.and_then(|status| status.code()),
            killed: ending.killed,
            survivors: ending.survivors.into_iter().collect(),
            log: log.finish(),
        })
    }

    /// Moves the output into the log and cuts it into lines, until both streams are closed.
    async fn listen(
        &self,
        (out, err): (Option<impl AsyncRead + Unpin>, Option<impl AsyncRead + Unpin>),
        log: &mut Log,
        each: &dyn Fn(&[u8]),
    ) {
        let (Some(mut out), Some(mut err)) = (out, err) else { return };
        let (mut out_buffer, mut err_buffer) = (vec![0; CHUNK], vec![0; CHUNK]);
        let (mut out_lines, mut err_lines) = (Some(Lines::default()), Some(Lines::default()));
        loop {
            let (count, buffer, lines) = select! {
                count = out.read(&mut out_buffer), if out_lines.is_some() =>
                    (count, &out_buffer, &mut out_lines),
                count = err.read(&mut err_buffer), if err_lines.is_some() =>
                    (count, &err_buffer, &mut err_lines),
                else => return,
            };
            let chunk = &buffer[..count.unwrap_or(0)];
            let Some(cut) = lines else { continue };
            let mut hear = |line: &[u8]| {
                self.hear(line);
                each(line);
            };
            if chunk.is_empty() {
                cut.finish(hear);
                *lines = None;
                continue;
            }
            log.push(chunk);
            cut.push(chunk, &mut hear);
            self.remember(cut.begun());
            self.spec.control.touch();
        }
    }

    fn hear(&self, line: &[u8]) {
        self.remember(line);
        let mut done = self.heard.done.borrow_mut();
        if self.spec.goes_on.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            *done = None;
        }
        if done.is_none() && self.spec.done.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            *done = Some(line.to_vec());
            self.heard.told.notify_one();
        }
    }

    fn remember(&self, line: &[u8]) {
        if !line.trim().is_empty() {
            let mut last = self.heard.last_line.borrow_mut();
            last.clear();
            last.extend_from_slice(&line[..line.len().min(LAST_LINE)]);
        }
    }

    /// Waits for the first reason to end, and then ends everything.
    async fn care(&self, child: &mut Child, terms: &mut Signal) -> Result<(Cause, Ending)> {
        let spec = self.spec;
        let (cause, exited) = loop {
            select! { biased;
                status = child.wait() => {
                    let status = status.map_err(|e| Failure::fault("waiting for the agent", e))?;
                    break (ended_by(status), Some(status));
                }
                () = self.heard.told.notified() => {
                    let exited = self.leave(child).await;
                    if exited.is_none() && self.heard.done.borrow().is_none() {
                        continue;
                    }
                    break (Cause::Done { line: Vec::new() }, exited);
                }
                () = spec.control.stopped() => break (Cause::Stopped, None),
                _ = terms.recv() => break (Cause::Stopped, None),
                () = self.out_of_time() => break (Cause::TimedOut, None),
                () = spec.control.silent(spec.silence) => {
                    break (Cause::Silent { last_line: self.heard.last_line.borrow().clone() }, None);
                }
                () = sleep(REAP) => reap_adopted(self.pid),
            }
        };
        Ok((cause, end(child, self.pid, exited, spec.grace, &spec.spared).await))
    }

    /// Most exit by themselves when they are done, and have something to put in order first. One that listens parks:
    /// if it does not go on after all, it is shown that nothing more comes.
    async fn leave(&self, child: &mut Child) -> Option<ExitStatus> {
        if let Some(line) = &self.line {
            if let Ok(exited) = timeout(SETTLES, child.wait()).await {
                return exited.ok();
            }
            if self.heard.done.borrow().is_none() {
                return None;
            }
            line.abort();
        }
        timeout(LEAVING, child.wait()).await.ok().and_then(std::result::Result::ok)
    }

    async fn out_of_time(&self) {
        match self.spec.timeout {
            Some(limit) => sleep_until(self.started + limit).await,
            None => std::future::pending().await,
        }
    }

    /// An agent that says that it is done and exits is done, whichever of the two we noticed first.
    fn with_last_words(&self, cause: Cause) -> Cause {
        match (cause, self.heard.done.take()) {
            (Cause::Exited { .. } | Cause::Signalled { .. } | Cause::Done { .. }, Some(line)) => {
                Cause::Done { line }
            }
            (cause, _) => cause,
        }
    }
}

fn spawn(spec: &Spec) -> Result<Child> {
    let no_input = spec.stdin.is_empty() && spec.more.is_none();
    let spawned = command(&spec.argv).and_then(|mut command| {
        command
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdin(if no_input { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        tokio::process::Command::from(command).kill_on_drop(true).spawn()
    });
    let name = spec.argv.first().cloned().unwrap_or_default();
    spawned.map_err(|e: io::Error| not_started(&name, &spec.cwd, e))
}

/// An agent that does not want its input any more is no error.
async fn feed(mut pipe: ChildStdin, first: Vec<u8>, more: Option<UnboundedReceiver<Vec<u8>>>) {
    let mut fed = pipe.write_all(&first).await;
    let Some(mut more) = more else { return };
    while let (Ok(()), Some(bytes)) = (&fed, more.recv().await) {
        fed = pipe.write_all(&bytes).await;
    }
}

fn ended_by(status: ExitStatus) -> Cause {
    match status.signal() {
        Some(signal) => Cause::Signalled { signal },
        None => Cause::Exited { code: status.code().unwrap_or(-1) },
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::host::spec::Control;
    use regex::bytes::Regex;
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str, dir: &Path) -> Spec {
        let argv = vec!["sh".into(), "-c".into(), script.into()];
        Spec {
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            timeout: Some(LONG),
            ..Spec::new(argv, dir, dir.join("log"))
        }
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    fn run(spec: Spec) -> End {
        block_on(Supervised::run(spec)).unwrap()
    }

    #[test]
    fn output_is_logged() {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec {
            stdin: vec![b'x'; 1 << 20],
            ..sh("wc -c; echo two >&2; printf three; exit 7", dir.path())
        };
        let end = run(spec);
        assert_eq!((end.cause, end.code, end.killed), (Cause::Exited { code: 7 }, Some(7), false));
        assert!(end.survivors.is_empty() && end.log.is_ok());
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
        assert!(log.contains("1048576\n") && log.contains("two\n") && log.contains("three"));
    }

    #[test]
    fn input_that_nobody_reads_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let end = run(Spec { stdin: vec![0; 1 << 20], ..sh("kill -9 $$", dir.path()) });
        assert_eq!((end.cause, end.code), (Cause::Signalled { signal: 9 }, None));
        let none = Spec { argv: vec!["no-such-agent".into()], ..sh("", dir.path()) };
        let refused = block_on(Supervised::run(none)).unwrap_err();
        assert!(format!("{refused:?}").contains("AgentNotFound"));
    }

    #[test]
    fn a_completion_line_ends_a_parked_agent() {
        let dir = tempfile::tempdir().unwrap();
        let done = Some(Regex::new("^done [0-9]$").unwrap());
        for (script, line) in [
            ("echo no done 1; echo done 2; echo done 3; sleep 600", "done 2"),
            ("echo done 4 >&2; exec sleep 600", "done 4"),
            ("echo done 5", "done 5"),
            ("printf 'done 6'; exit 1", "done 6"),
        ] {
            let end = run(Spec { done: done.clone(), ..sh(script, dir.path()) });
            assert_eq!(end.cause, Cause::Done { line: line.into() });
            assert!(!end.killed);
        }
        let goes_on = Some(Regex::new("^again$").unwrap());
        let spec = Spec {
            done: done.clone(),
            goes_on,
            ..sh("echo done 1; echo again; sleep 3; echo done 2; sleep 600", dir.path())
        };
        assert_eq!(run(spec).cause, Cause::Done { line: b"done 2".to_vec() });
        let not = run(Spec { done, ..sh("printf 'done 7, or not\n'", dir.path()) });
        assert_eq!(not.cause, Cause::Exited { code: 0 });
    }

    #[test]
    fn time_runs_out() {
        let dir = tempfile::tempdir().unwrap();
        let (timeout, grace) = (Some(Duration::from_millis(100)), Duration::from_millis(100));
        let end = run(Spec { timeout, ..sh("yes", dir.path()) });
        assert_eq!((end.cause, end.killed), (Cause::TimedOut, false));
        let deaf = "trap '' TERM; while :; do sleep 0.01; done";
        let end = run(Spec { timeout, grace, ..sh(deaf, dir.path()) });
        assert_eq!((end.cause, end.code, end.killed), (Cause::TimedOut, None, true));
        assert!(end.survivors.is_empty());
    }

    #[test]
    fn silence_is_without_output_and_without_changes() {
        let dir = tempfile::tempdir().unwrap();
        let silence = Some(Duration::from_millis(300));
        let end = run(Spec { silence, ..sh("echo one; printf 'Go on? [y/N] '; sleep 600", dir.path()) });
        assert_eq!(end.cause, Cause::Silent { last_line: b"Go on? [y/N] ".to_vec() });
        let spec = Spec { silence, ..sh("sleep 1", dir.path()) };
        let control = spec.control.clone();
        let end = block_on(async {
            let touching = tokio::spawn(async move {
                loop {
                    sleep(Duration::from_millis(20)).await;
                    control.touch();
                }
            });
            let end = Supervised::run(spec).await.unwrap();
            touching.abort();
            end
        });
        assert_eq!(end.cause, Cause::Exited { code: 0 });
    }

    #[test]
    fn a_run_is_stopped_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec {
            control: Control::new(),
            ..sh("trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done", dir.path())
        };
        let control = spec.control.clone();
        let log = dir.path().join("log");
        let end = block_on(async {
            let up = async {
                while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("up")) {
                    sleep(Duration::from_millis(5)).await;
                }
                control.stop();
            };
            tokio::join!(Supervised::run(spec), up).0
        });
        let end = end.unwrap();
        assert_eq!((end.cause, end.code, end.killed), (Cause::Stopped, Some(5), false));
    }

    #[test]
    fn a_full_disk_loses_the_log_only() {
        let dir = tempfile::tempdir().unwrap();
        let end = run(Spec { log: "/dev/full".into(), ..sh("echo one; echo two", dir.path()) });
        assert_eq!(end.cause, Cause::Exited { code: 0 });
        assert!(end.log.is_err());
    }

    #[test]
    fn a_helper_left_in_the_group_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let end = run(sh("sleep 600 & echo $!", dir.path()));
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
        let pid: u32 = log.lines().next().unwrap().parse().unwrap();
        assert_eq!((end.cause, end.killed), (Cause::Exited { code: 0 }, false));
        assert_eq!(end.survivors.len(), 1);
        assert_eq!(end.survivors[0].0, pid);
    }
}
