//! Which processes there are, which of them an agent left behind, and how to end them. What `/proc` tells
//! is read on Linux only; elsewhere the answer is an empty one.

use crate::host::program::wait_until;
use rustix::process::Pid;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub use proc::adopted_zombies;
#[cfg(target_os = "linux")]
use proc::is_zombie;
#[cfg(target_os = "linux")]
pub use proc::left_by;
#[cfg(target_os = "linux")]
pub use proc::marked;
#[cfg(all(target_os = "linux", feature = "fuzz"))]
pub(super) use proc::name_in;
#[cfg(target_os = "linux")]
pub use proc::start_time;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::adopted_zombies;
#[cfg(not(target_os = "linux"))]
use elsewhere::is_zombie;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::left_by;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::marked;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::start_time;

/// How to end a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Asks.
    Term,
    /// Does not ask.
    Kill,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> rustix::process::Signal {
        match signal {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        }
    }
}

/// A process that an agent left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub pid: u32,
    pub name: String,
    /// Whether it is still in the process group of the agent.
    pub in_group: bool,
}

/// Signals one process. False when there is none or it is not ours to signal. A zombie is none: the kernel
/// takes a signal for it, but nobody gets it.
pub fn signal(pid: u32, signal: Signal) -> bool {
    !is_zombie(pid)
        && target(pid).is_some_and(|pid| rustix::process::kill_process(pid, signal.into()).is_ok())
}

pub(super) fn signal_group(leader: u32, signal: Signal) -> bool {
    target(leader).is_some_and(|pid| rustix::process::kill_process_group(pid, signal.into()).is_ok())
}

/// 0 and 1 would mean our own group and every process there is.
fn target(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

/// Whether the process `pid` that was started at `start_time` still runs. A zombie does not.
pub fn alive(pid: u32, start_time: u64) -> bool {
    #[cfg(target_os = "linux")]
    return proc::alive(pid, start_time);
    // Without start times a number in use is all the proof there is.
    #[cfg(not(target_os = "linux"))]
    return start_time == 0 && target(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
}

/// Processes, other than this one, whose working directory is `dir` or below it, with their names.
pub fn survivors_in(dir: &Path) -> Vec<(u32, String)> {
    let dir = dir.canonicalize().unwrap_or_else(|_| PathBuf::from(dir));
    #[cfg(target_os = "linux")]
    return proc::working_in(&dir);
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Ends every process that was started with `name` set to one of `values`: asks, waits for at most `grace`,
/// kills. True if there was one.
pub fn end_marked(name: &str, values: &[OsString], grace: Duration) -> bool {
    let mark = |value: &OsString| [name.as_bytes(), b"=", value.as_bytes()].concat();
    let marks: HashSet<Vec<u8>> = values.iter().map(mark).collect();
    let send = |to: Signal| marked(&marks).into_iter().filter(|pid| signal(*pid, to)).count();
    if marks.is_empty() || send(Signal::Term) == 0 {
        return false;
    }
    if !wait_until(grace, || marked(&marks).is_empty()) {
        // One that starts others all the time is killed until there is none.
        wait_until(grace, || send(Signal::Kill) == 0);
    }
    true
}

#[cfg(target_os = "linux")]
mod proc {
    use super::Left;
    use bstr::ByteSlice;
    use rustix::process::Pid;
    use std::collections::BTreeSet;
    use std::collections::HashSet;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// One line of `/proc/<pid>/stat`, as far as it is needed.
    struct Process {
        pid: u32,
        name: String,
        zombie: bool,
        parent: u32,
        group: u32,
        start_time: u64,
    }

    fn process(pid: u32) -> Option<Process> {
        parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name in a line of `/proc/<pid>/stat`.
    #[cfg(feature = "fuzz")]
    pub fn name_in(stat: &[u8]) -> Option<String> {
        parse(1, stat).map(|process| process.name)
    }

    /// The name stands in brackets and may itself hold brackets, spaces and any other byte.
    fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
        let (open, close) = (stat.find_byte(b'(')?, stat.rfind_byte(b')')?);
        let name = stat.get(open + 1..close)?.to_str_lossy().into_owned();
        let fields: Vec<&str> = stat[close + 1..].to_str().ok()?.split_ascii_whitespace().collect();
        Some(Process {
            pid,
            name,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    fn pids() -> impl Iterator<Item = u32> {
        fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }

    /// When a process was started, in clock ticks since the boot. `None` when there is no such process.
    pub fn start_time(pid: u32) -> Option<u64> {
        process(pid).map(|found| found.start_time)
    }

    pub fn is_zombie(pid: u32) -> bool {
        process(pid).is_some_and(|found| found.zombie)
    }

    pub fn alive(pid: u32, start_time: u64) -> bool {
        process(pid).is_some_and(|found| found.start_time == start_time && !found.zombie)
    }

    pub fn working_in(dir: &Path) -> Vec<(u32, String)> {
        let inside = |pid: u32| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
            let bytes = cwd.as_os_str().as_bytes();
            // The kernel marks a directory that was removed under the process.
            let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
            Path::new(OsStr::from_bytes(bytes)).starts_with(dir).then_some(())?;
            Some((pid, process(pid)?.name))
        };
        pids().filter(|pid| *pid != std::process::id()).filter_map(inside).collect()
    }

    /// The living processes, other than this one, that were started with one of `marks`, each a `name=value`,
    /// in their environment. Those of other users are not seen.
    pub fn marked(marks: &HashSet<Vec<u8>>) -> Vec<u32> {
        let has = |pid: u32| {
            let vars = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            vars.split(|b| *b == 0).any(|var| marks.contains(var))
        };
        let lives = |pid: u32| process(pid).is_some_and(|p| !p.zombie);
        pids().filter(|pid| *pid != std::process::id() && has(*pid) && lives(*pid)).collect()
    }

    /// The living processes that came from the agent `root`: its group, and everything below it. A
    /// subreaper inherits its agent's orphans, so there a child outside our own group is one of them too.
    ///
    /// What `spared` tells is not of the agent, nor what is below that.
    pub fn left_by(root: u32, spared: impl Fn() -> Vec<u32>) -> Vec<Left> {
        let (me, our_group, adopts) = ourselves();
        let mut all: Vec<Process> = pids().filter_map(process).collect();
        let is_root = |p: &Process| p.group == root || (adopts && p.parent == me && p.group != our_group);
        if all.iter().any(|p| is_root(p) && p.group != root) {
            let spared = spared();
            all.retain(|p| !spared.contains(&p.pid));
        }
        let mut theirs: BTreeSet<u32> = all.iter().filter(|p| is_root(p)).map(|p| p.pid).collect();
        loop {
            let known = theirs.len();
            let below: Vec<u32> = all.iter().filter(|p| theirs.contains(&p.parent)).map(|p| p.pid).collect();
            theirs.extend(below);
            if theirs.len() == known {
                break;
            }
        }
        theirs.remove(&me);
        all.into_iter()
            .filter(|p| theirs.contains(&p.pid) && !p.zombie)
            .map(|p| Left { pid: p.pid, in_group: p.group == root, name: p.name })
            .collect()
    }

    /// Orphans of the agent `root` that we inherited as its subreaper and that have ended.
    pub fn adopted_zombies(root: u32) -> Vec<Pid> {
        let (me, our_group, adopts) = ourselves();
        if !adopts {
            return Vec::new();
        }
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        threads
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
            .flat_map(|list| list.split_ascii_whitespace().map(str::to_owned).collect::<Vec<String>>())
            .filter_map(|pid| process(pid.parse().ok()?))
            .filter(|p| p.zombie && p.parent == me && p.group != our_group && p.pid != root)
            .filter_map(|p| Pid::from_raw(i32::try_from(p.pid).ok()?))
            .collect()
    }

    /// Our number, our group, and whether orphans below us become our children.
    fn ourselves() -> (u32, u32, bool) {
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        let adopts = rustix::process::child_subreaper().is_ok_and(|set| set.is_some());
        (std::process::id(), u32::try_from(group).unwrap_or_default(), adopts)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_may_hold_anything() {
            let stat = b"7 (a) R 1 (\n b) Z 5 6 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2";
            let found = parse(7, stat).unwrap();
            assert_eq!((found.name.as_str(), found.zombie), ("a) R 1 (\n b", true));
            assert_eq!((found.parent, found.group, found.start_time), (5, 6, 9876));
            assert!(parse(7, b"7 (x) R 1").is_none());
            assert!(parse(7, b")(").is_none());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::Left;
    use rustix::process::Pid;
    use std::collections::HashSet;

    /// When a process was started: not known here.
    pub fn start_time(_pid: u32) -> Option<u64> {
        None
    }

    pub fn is_zombie(_pid: u32) -> bool {
        false
    }

    /// Only whether the group is still there is known here.
    pub fn left_by(root: u32, _spared: impl Fn() -> Vec<u32>) -> Vec<Left> {
        let there =
            super::target(root).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok());
        there.then(|| Left { pid: root, name: String::new(), in_group: true }).into_iter().collect()
    }

    pub fn adopted_zombies(_root: u32) -> Vec<Pid> {
        Vec::new()
    }

    /// The environment of others is not known here.
    pub fn marked(_marks: &HashSet<Vec<u8>>) -> Vec<u32> {
        Vec::new()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::process::CommandExt;
    use std::process::Child;
    use std::time::Duration;
    use std::time::Instant;

    fn sleeper(dir: &Path) -> Child {
        let argv: [OsString; 2] = ["sleep".into(), "600".into()];
        crate::host::process::command(&argv).unwrap().current_dir(dir).process_group(0).spawn().unwrap()
    }

    fn soon(what: impl Fn() -> bool) {
        let started = Instant::now();
        while !what() {
            assert!(started.elapsed() < Duration::from_secs(20), "it did not happen");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        let me = std::process::id();
        let start = start_time(me).unwrap();
        assert!(alive(me, start));
        assert!(!alive(me, start + 1));
        assert_eq!(start_time(u32::MAX), None);
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = sleeper(Path::new("/"));
        let start = start_time(child.id()).unwrap();
        assert!(alive(child.id(), start));
        assert_eq!(left_by(child.id(), Vec::new).len(), 1);
        assert!(signal(child.id(), Signal::Term));
        soon(|| !alive(child.id(), start));
        assert_eq!(start_time(child.id()), Some(start), "the zombie is still there");
        assert_eq!(left_by(child.id(), Vec::new), []);
        assert!(!signal(child.id(), Signal::Term), "nobody gets it");
        child.wait().unwrap();
        assert!(!signal(child.id(), Signal::Kill));
    }

    #[test]
    fn processes_are_found_by_their_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, beside) = (dir.path().join("w/sub"), dir.path().join("w2"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&beside).unwrap();
        let (mut one, mut other) = (sleeper(&inside), sleeper(&beside));
        let found = || survivors_in(&dir.path().join("w"));
        soon(|| found() == [(one.id(), "sleep".to_owned())]);
        std::fs::remove_dir_all(&inside).unwrap();
        assert_eq!(found().len(), 1, "its directory is gone, the process is not");
        assert!(signal_group(one.id(), Signal::Kill) && signal_group(other.id(), Signal::Kill));
        one.wait().unwrap();
        other.wait().unwrap();
        assert_eq!(found(), []);
        assert!(!signal_group(one.id(), Signal::Kill));
    }

    #[test]
    fn processes_are_ended_by_their_mark() {
        let argv = |script: &str| -> [OsString; 3] { ["sh".into(), "-c".into(), script.into()] };
        let mark = format!("SKEIN_TEST_{}", std::process::id());
        let start = |script: &str, value: &str| {
            crate::host::process::command(&argv(script)).unwrap().env(&mark, value).spawn().unwrap()
        };
        let (mut one, mut other) = (start("exec sleep 600", "1"), start("exec sleep 600", "11"));
        let mut deaf = start("trap '' TERM; while :; do sleep 0.01; done", "1");
        let found = |value: &str| marked(&HashSet::from([format!("{mark}={value}").into_bytes()]));
        let end = |value: &str, grace| end_marked(&mark, &[value.into()], grace);
        soon(|| found("1").len() >= 2);
        assert!(end("1", Duration::from_millis(200)));
        assert!(one.wait().is_ok() && deaf.wait().is_ok());
        assert!(!end("1", Duration::from_millis(200)));
        assert_eq!(found("11"), [other.id()]);
        assert!(end("11", Duration::from_secs(20)));
        other.wait().unwrap();
    }

    #[test]
    fn nobody_signals_everybody() {
        assert!(!signal(0, Signal::Kill) && !signal(1, Signal::Kill));
        assert!(
            !signal_group(0, Signal::Kill)
                && !signal_group(1, Signal::Kill)
                && !signal_group(u32::MAX, Signal::Kill)
        );
    }
}
