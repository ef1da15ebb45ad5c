//! How supervisors and agents come to life: a process that outlives us, what it does first, and the
//! launcher that becomes the agent. Our own binary is executed again, so no code runs after a bare fork.

use crate::domain::Bounds;
use crate::domain::Failure;
use crate::domain::Result;
use crate::host::output::append;
use crate::host::process::command;
use crate::host::process::not_started;
use rustix::process::Resource;
use rustix::process::Rlimit;
use rustix::process::getrlimit;
use rustix::process::setrlimit;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

/// Starts a process that outlives this one: no input, output appended to the file at `log`, only the given
/// environment. Returns its pid. It should call [`become_supervisor`] first.
pub fn detach(argv: &[OsString], cwd: &Path, env: &[(OsString, OsString)], log: &Path) -> Result<u32> {
    let output = append(log)?;
    let again = output.try_clone().map_err(|e| Failure::fault("sharing the log", e))?;
    let name = argv.first().cloned().unwrap_or_default();
    command(argv)
        .and_then(|mut command| {
            command
                .current_dir(cwd)
                .env_clear()
                .envs(env.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::null())
                .stdout(again)
                .stderr(output)
                .spawn()
        })
        .map(|child| child.id())
        .map_err(|e| not_started(&name, cwd, e))
}

/// Cuts this process loose from the terminal and the session of whoever started it, and makes it inherit
/// the orphans below it. Not for a process that leads a group already.
pub fn become_supervisor() -> Result<()> {
    rustix::process::setsid().map_err(|e| Failure::fault("starting a session", e))?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|e| Failure::fault("becoming the parent of orphans", e))?;
    Ok(())
}

/// How long the terminal may take to come to us.
const FOREGROUND: Duration = Duration::from_secs(5);

/// Turns this process into the agent `argv`, in its own group, within `bounds`, and bound to die with its
/// supervisor, the process `parent`; at a terminal, in its foreground. Returns only when that fails; the caller then exits with 127.
pub fn launch(parent: u32, bounds: &Bounds, argv: &[OsString]) -> Failure {
    if let Err(failure) = bind_to(parent).and_then(|()| bound(bounds)) {
        return failure;
    }
    await_terminal();
    let name = argv.first().cloned().unwrap_or_default();
    let error = match command(argv) {
        Ok(mut command) => command.exec(),
        Err(e) => e,
    };
    not_started(&name, Path::new("."), error)
}

fn bind_to(parent: u32) -> Result<()> {
    // The supervisor may have made the group already; then this changes nothing.
    rustix::process::setpgid(None, None).map_err(|e| Failure::fault("starting a process group", e))?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|e| Failure::fault("binding the agent to its supervisor", e))?;
    // It may have died before the signal was set; then nobody would send it.
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now.and_then(|pid| u32::try_from(pid).ok()) == Some(parent) {
        Ok(())
    } else {
        Err(Failure::fault("starting the agent", "its supervisor is gone"))
    }
}

/// Waits until our parent has given us the terminal that we read from, if it is one: to read before that is an
/// error, for tmux ignores the signal that would stop us.
fn await_terminal() {
    let (own, since) = (rustix::process::getpgrp(), Instant::now());
    let elsewhere = || rustix::termios::tcgetpgrp(std::io::stdin()).is_ok_and(|group| group != own);
    while elsewhere() && since.elapsed() < FOREGROUND {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets the limits, for good: neither this process nor one below it can lift them again.
fn bound(bounds: &Bounds) -> Result<()> {
    let wanted =
        [(Resource::As, bounds.memory), (Resource::Nproc, bounds.processes), (Resource::Fsize, bounds.file)];
    for (resource, most) in wanted.into_iter().filter_map(|(resource, most)| Some((resource, most?))) {
        // What is allowed already may be less.
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|e| Failure::fault("limiting the agent", e))?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::host::process::Run;
    use crate::host::process::run_to_end;
    use crate::host::survivors::alive;
    use crate::host::survivors::start_time;
    use std::fs;

    /// Not a test: what the re-executed test binary runs. The first line of its input is the expected
    /// parent, each other line a word of the command.
    #[test]
    #[ignore = "run by the tests below in a process of its own"]
    fn is_launched() {
        let text = std::io::read_to_string(std::io::stdin()).unwrap();
        let (parent, words) = text.split_once('\n').unwrap();
        let argv: Vec<OsString> = words.lines().map(OsString::from).collect();
        panic!("not launched: {:?}", launch(parent.parse().unwrap(), &Bounds::default(), &argv));
    }

    fn sh(script: &str, dir: &Path) -> Run {
        let exe = std::env::current_exe().unwrap();
        let launcher =
            format!("{} --exact host::launch::tests::is_launched --ignored --nocapture", exe.display());
        Run {
            argv: vec!["sh".into(), "-c".into(), script.replace("LAUNCH", &launcher).into()],
            cwd: dir.to_owned(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: None,
            timeout: Some(Duration::from_secs(60)),
            keep: 10_000,
        }
    }

    fn read_soon(path: &Path) -> String {
        let started = Instant::now();
        loop {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => assert!(started.elapsed() < Duration::from_secs(20), "nothing in {}", path.display()),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn gone_soon(pid: u32, start: Option<u64>) {
        let started = Instant::now();
        while start.is_some_and(|start| alive(pid, start)) {
            assert!(started.elapsed() < Duration::from_secs(20), "{pid} lives on");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_launcher_becomes_the_agent_in_its_own_group() {
        let dir = tempfile::tempdir().unwrap();
        let script = r#"printf '%s\nsh\n-c\ncut -d " " -f 1,5 /proc/$$/stat\n' $$ | LAUNCH"#;
        let ended = run_to_end(sh(script, dir.path())).unwrap();
        let text = String::from_utf8(ended.output).unwrap();
        let (pid, group) = text.lines().last().unwrap().split_once(' ').unwrap();
        assert_eq!(pid, group, "{text}");
        assert_eq!(ended.code, Some(0));
    }

    #[test]
    fn the_agent_dies_with_its_supervisor() {
        let dir = tempfile::tempdir().unwrap();
        let script = r#"printf '%s\nsh\n-c\necho $$ > pid; exec sleep 600\n' $$ | LAUNCH & read go"#;
        let mut supervisor = command(&sh(script, dir.path()).argv).unwrap();
        let mut supervisor = supervisor.current_dir(dir.path()).stdin(Stdio::piped()).spawn().unwrap();
        let pid = read_soon(&dir.path().join("pid")).trim().parse().unwrap();
        let start = start_time(pid);
        assert!(start.is_some_and(|start| alive(pid, start)));
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        gone_soon(pid, start);
    }

    #[test]
    fn an_orphan_is_not_launched() {
        let dir = tempfile::tempdir().unwrap();
        let ended = run_to_end(sh(r"printf '1\ntouch\nmade\n' | LAUNCH", dir.path())).unwrap();
        assert!(String::from_utf8_lossy(&ended.output).contains("its supervisor is gone"));
        assert!(!dir.path().join("made").exists());
        let missing = run_to_end(sh(r"printf '%s\nno-such-agent\n' $$ | LAUNCH", dir.path())).unwrap();
        assert!(String::from_utf8_lossy(&missing.output).contains("AgentNotFound"));
    }

    #[test]
    fn a_detached_process_writes_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let env = [("PATH".into(), "/usr/bin:/bin".into()), ("WORD".into(), "said".into())];
        for whole in ["said\n/\n", "said\n/\nsaid\n/\n"] {
            let argv = ["sh".into(), "-c".into(), "cat; echo $WORD >&2; pwd; exec sleep 600".into()];
            let pid = detach(&argv, Path::new("/"), &env, &log).unwrap();
            let start = start_time(pid);
            while read_soon(&log) != whole {}
            assert!(crate::host::survivors::signal(pid, crate::host::survivors::Signal::Kill));
            gone_soon(pid, start);
        }
        assert!(detach(&["no-such-program".into()], Path::new("/"), &env, &log).is_err());
    }
}
