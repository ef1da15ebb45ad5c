//! How a run is brought to its end: ask everything that came from the agent to stop, wait, kill what is
//! left, and tell who had to be told. Nothing is over until all are gone or were killed.

use crate::host::spec::Spared;
use crate::host::survivors::Left;
use crate::host::survivors::Signal;
use crate::host::survivors::adopted_zombies;
use crate::host::survivors::left_by;
use crate::host::survivors::signal;
use crate::host::survivors::signal_group;
use rustix::process::WaitOptions;
use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::Child;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::timeout;

/// How long a killed process may take to vanish; one that hangs in the kernel can take for ever.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// How long what an agent leaves running may take to end by itself, as the maintenance that git starts does.
const MOMENT: Duration = Duration::from_millis(500);

const LONGEST_PAUSE: Duration = Duration::from_millis(40);

/// What it took to end a run.
#[derive(Debug, Default)]
pub struct Ending {
    /// Unknown only when the agent survived its kill.
    pub status: Option<ExitStatus>,
    pub killed: bool,
    /// What the agent left running, by pid.
    pub survivors: BTreeMap<u32, String>,
}

/// Ends the agent `root`, whose status is given if it has exited by itself, and everything below it.
pub async fn end(
    child: &mut Child,
    root: u32,
    exited: Option<ExitStatus>,
    grace: Duration,
    spared: &Spared,
) -> Ending {
    let by_itself = exited.is_some();
    let mut ending = Ending { status: exited, ..Ending::default() };
    let mut asked_group = false;
    let asked = Instant::now() + if by_itself { MOMENT } else { Duration::ZERO };
    let mut pause = Duration::from_millis(1);
    loop {
        if ending.status.is_none() {
            ending.status = child.try_wait().ok().flatten();
        }
        reap_adopted(root);
        let left = left_by(root, || spared.now());
        if left.is_empty() || asked.elapsed() >= grace + AFTER_KILL {
            break;
        }
        if Instant::now() < asked {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            continue;
        }
        // One that is in the group was stopped with the agent; it outlived it only if the agent went first.
        let strays: Vec<&Left> = left.iter().filter(|p| by_itself || !p.in_group).collect();
        if asked.elapsed() >= grace {
            ending.killed = true;
            left.iter().filter(|p| !p.in_group).for_each(|p| _ = signal(p.pid, Signal::Kill));
            if left.iter().any(|p| p.in_group) {
                signal_group(root, Signal::Kill);
            }
        } else {
            if !asked_group && left.iter().any(|p| p.in_group) {
                asked_group = signal_group(root, Signal::Term);
            }
            let new = strays.iter().filter(|p| !p.in_group && !ending.survivors.contains_key(&p.pid));
            new.for_each(|p| _ = signal(p.pid, Signal::Term));
        }
        ending.survivors.extend(strays.into_iter().map(|p| (p.pid, p.name.clone())));
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    if ending.status.is_none() {
        ending.status = timeout(AFTER_KILL, child.wait()).await.ok().and_then(|status| status.ok());
    }
    ending
}

/// Buries the orphans that a subreaper inherited, so that a long run does not fill the process table.
pub fn reap_adopted(root: u32) {
    for pid in adopted_zombies(root) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::host::launch::become_supervisor;
    use crate::host::process::Run;
    use crate::host::process::run_to_end;
    use crate::host::spec::Spec;
    use crate::host::supervised::Supervised;
    use bstr::ByteSlice;

    /// Starts a `sleep` that leaves its group and its parent, and waits until it is one.
    const STRAY: &str = r"setsid -f sh -c 'echo $$ > stray; exec sleep 600'
        until grep -qs sleep /proc/$(cat stray 2>/dev/null)/comm; do sleep 0.01; done
        ";

    /// Not a test: a supervisor in a process of its own, so that orphans and signals reach only it. Runs
    /// the script on its input and prints how that ended.
    #[test]
    #[ignore = "run by the tests below in a process of its own"]
    fn is_supervisor() {
        become_supervisor().unwrap();
        let script = std::io::read_to_string(std::io::stdin()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let argv = vec!["sh".into(), "-c".into(), script.into()];
        let spec = Spec {
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            grace: Duration::from_millis(300),
            ..Spec::new(argv, dir.path(), dir.path().join("log"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let end = runtime.block_on(Supervised::run(spec)).unwrap();
        let log = std::fs::read(dir.path().join("log")).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        println!("{end:?}\nlog of {} bytes, {peak}\n{}", log.len(), log[..log.len().min(1000)].as_bstr());
    }

    fn supervise(script: &str) -> String {
        let exe = std::env::current_exe().unwrap();
        let name = "host::ending::tests::is_supervisor";
        // In a pipe it leads no group, as it must not.
        let shell = format!("cat | {} --exact {name} --ignored --nocapture", exe.display());
        let ended = run_to_end(Run {
            argv: vec!["sh".into(), "-c".into(), shell.into()],
            cwd: "/".into(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: Some(script.into()),
            timeout: Some(Duration::from_secs(60)),
            keep: 10_000,
        });
        String::from_utf8(ended.unwrap().output).unwrap()
    }

    #[test]
    fn a_stop_of_the_supervisor_stops_the_agent() {
        let told = supervise("kill -TERM $PPID; exec sleep 600");
        assert!(told.contains("cause: Stopped") && told.contains("killed: false"), "{told}");
        assert!(told.contains("survivors: []"), "{told}");
    }

    #[test]
    fn who_left_the_group_is_found_and_ended() {
        let told = supervise(&format!("{STRAY} echo $(cat stray)"));
        assert!(told.contains("cause: Exited { code: 0 }") && told.contains("killed: false"), "{told}");
        let (_, pid) = told.split_once("kB\n").unwrap();
        let pid = pid.lines().next().unwrap();
        assert!(told.contains(&format!("survivors: [({pid}, \"sleep\")]")), "{told}");
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn who_left_the_group_is_ended_by_a_stop_too() {
        let told = supervise(&format!("sleep 601 & {STRAY} kill -TERM $PPID; sleep 602"));
        assert!(told.contains("cause: Stopped"), "{told}");
        assert_eq!(told.matches("\"sleep\")").count(), 1, "{told}");
    }

    #[test]
    fn what_is_below_a_stray_is_ended() {
        let told = supervise(
            "setsid -f sh -c 'setsid sleep 600 & echo $! > below; wait'
            until grep -qs sleep /proc/$(cat below 2>/dev/null)/comm; do sleep 0.01; done",
        );
        assert!(told.contains("\"sh\")") && told.contains("\"sleep\")"), "{told}");
    }

    #[test]
    fn who_does_not_listen_is_killed() {
        let told = supervise(
            "setsid -f sh -c 'trap \"\" TERM; touch up; while :; do sleep 0.01; done'
            until [ -e up ]; do sleep 0.01; done",
        );
        assert!(told.contains("cause: Exited { code: 0 }") && told.contains("killed: true"), "{told}");
        assert!(told.contains("\"sh\")"), "{told}");
    }

    #[test]
    fn a_flood_without_lines_takes_no_memory() {
        let told = supervise("head -c 200000000 /dev/zero");
        assert!(told.contains("cause: Exited { code: 0 }") && told.contains("log: Ok"), "{told}");
        let (_, peak) = told.split_once("VmHWM:").unwrap();
        let kilobytes: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
        assert!(kilobytes < 100_000, "{kilobytes} kB");
        assert!(told.contains("log of 5242"), "{told}");
    }
}
