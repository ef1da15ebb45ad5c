//! What tests do to a repository beside our own verbs: by plain git, by the clock, by a kill.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

impl World {
    /// Drops all that no ref keeps, as roughly as git can.
    pub fn collect_garbage(&self) {
        self.git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
        self.git(["gc", "--quiet", "--prune=now"]);
    }

    /// Level of what `doctor` finds under `check`, and what it says is to be done.
    #[track_caller]
    pub fn diagnosis(&self, check: &str) -> (String, String) {
        let findings = self.skein(&["doctor", "--json"]).json()["result"]["findings"].clone();
        let found = findings.as_array().unwrap().iter().find(|found| found["check"] == check).unwrap();
        let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (word("level"), word("next"))
    }

    /// Gives `line` to a shell, as a person does.
    pub fn typed(&self, line: &str) {
        Command::new("sh").args(["-c", line]).current_dir(&self.repo).output().unwrap();
    }

    pub fn exists(&self, object: &str) -> bool {
        self.try_git(["cat-file", "-e", object]).status.success()
    }

    /// Lines of a git command's output.
    #[track_caller]
    pub fn lines(&self, args: &[&str]) -> Vec<String> {
        self.git(args).lines().map(str::to_owned).collect()
    }

    /// Exit code and verdict of `landed` on a plain revision.
    #[track_caller]
    pub fn landed(&self, rev: &str, base: &str) -> (i32, serde_json::Value) {
        let ran = self.skein(&["landed", rev, "--base", base, "--onto", "main", "--json"]);
        (ran.code, ran.json()["result"]["verdict"].clone())
    }

    /// The refs of the tool below `refs/skein-local/<kind>`.
    pub fn local_refs(&self, kind: &str) -> Vec<String> {
        self.lines(&["for-each-ref", "--format=%(refname)", &format!("refs/skein-local/{kind}/")])
    }

    /// Runs one command per list of words, all started before any is waited for.
    pub fn at_once(&self, commands: &[Vec<&str>]) -> Vec<Ran> {
        let start = |words: &Vec<&str>| {
            self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = commands.iter().map(start).collect();
        children.into_iter().map(|c| ran(c.wait_with_output().unwrap())).collect()
    }

    /// Starts a command of ours, kills its process alone after `moment`, and waits until what it had started
    /// below itself is gone too, as after any kill. True if it was killed before it ended.
    pub fn killed_after(&self, args: &[&str], moment: Duration) -> bool {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(moment);
        child.kill().unwrap();
        let killed = child.wait().unwrap().code().is_none();
        let group = child.id().to_string();
        until("the orphans of a killed command end", || !group_runs(&group));
        killed
    }
}

/// Whether a process of the group, zombies aside, is left.
pub fn group_runs(group: &str) -> bool {
    let listed = Command::new("ps").args(["-A", "-o", "pgid=,stat="]).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout);
    text.lines().any(|l| {
        let mut words = l.split_whitespace();
        words.next() == Some(group) && !words.next().is_some_and(|s| s.starts_with('Z'))
    })
}

/// Whether process `pid` runs; a zombie does not.
pub fn runs(pid: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&listed.stdout);
    !state.trim().is_empty() && !state.starts_with('Z')
}

/// Whether a process that is no zombie has `word` on its command line.
pub fn mentions(word: &str) -> bool {
    commands().lines().any(|l| !l.starts_with('Z') && l.contains(word))
}

/// Whether none has, and none of ours is on its way out: one that exits gives its command line back before
/// its locks.
pub fn is_over(word: &str) -> bool {
    !commands().lines().any(|l| !l.starts_with('Z') && (l.contains(word) || l.contains("[git-skein]")))
}

/// Whether nobody holds a lock of the worker whose folder `run` is: its supervisor and all that it started
/// have ended. What runs in a jail has another command line, and holds the lock as well.
pub fn is_free(run: &Path) -> bool {
    let files = std::fs::read_dir(run).into_iter().flatten().flatten().map(|e| e.path());
    let mut locks = files.filter(|p| p.extension().is_some_and(|e| e == "lock"));
    // One that was deleted meanwhile is held by nobody.
    locks.all(|p| std::fs::File::open(p).map_or(true, |f| f.try_lock_shared().is_ok()))
}

fn commands() -> String {
    let listed = Command::new("ps").args(["-A", "-ww", "-o", "stat=,args="]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

/// Whether there is tmux. Where there must be, `SKEIN_TEST_TMUX` says so.
pub fn has_tmux() -> bool {
    let there = Command::new("tmux").arg("-V").output().is_ok_and(|said| said.status.success());
    assert!(
        there || std::env::var_os("SKEIN_TEST_TMUX").is_none(),
        "SKEIN_TEST_TMUX is set, and there is no tmux"
    );
    there
}

/// Waits for `condition`; fails the test if it does not come.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers that look random. `SKEIN_TEST_SEED` repeats a run.
pub struct Dice(u64);

impl Dice {
    /// Prints its seed, which a failing test shows.
    #[expect(clippy::print_stdout, reason = "a test that fails must say how to repeat it")]
    pub fn new() -> Dice {
        let given = std::env::var("SKEIN_TEST_SEED").ok().and_then(|s| s.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            now.as_nanos() as u64
        });
        println!("SKEIN_TEST_SEED={seed}");
        Dice(seed)
    }

    /// The numbers that follow from one seed.
    pub fn of(seed: u64) -> Dice {
        Dice(seed)
    }

    /// From 0 up to, not including, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
