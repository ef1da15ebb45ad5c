//! The hostile corpus: workers that plant something, the verbs that would run it, a canary that must never run,
//! and a digest of everything outside the worker's worktree. The same cases jailed and free, as the user of the
//! tests and as nobody. docs/security.md has the table.

mod admin;
mod bounds;
mod cases;
mod content;
mod digest;
mod shared;
mod store;
mod table;
mod tree;

use crate::faults::sweep::SEED;
use crate::faults::sweep::words;
use crate::jail::can_be_nobody;
use crate::jail::possible;
use crate::support::Ran;
use crate::support::World;
use crate::support::tally::full;
use crate::support::tally::tally;
use digest::Digest;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// One hostile worker.
pub struct Case {
    pub name: &'static str,
    /// What it does, for the table.
    pub does: &'static str,
    /// Run after it has committed a file, with the names in braces filled in.
    pub script: &'static str,
    /// The agent that it is, where that matters.
    pub agent: &'static str,
    /// Paths that must be in what comes in.
    pub has: &'static [&'static str],
    pub jailed: Want,
    pub free: Want,
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Nothing outside changes, and its work lands.
    Lands,
    /// Nothing outside changes, and what it planted is refused with this token.
    Refused(&'static str),
    /// It changes something outside. That is named, and its work is refused until a person has looked.
    Told(&'static str),
    /// It changes something outside that nobody looks at.
    Unseen(&'static str),
    /// It breaks what all verbs need. They are refused with this token, until a person has mended it.
    Stops(&'static str),
    /// Nothing outside changes by itself, but the gate runs what it wrote, with all that a gate can do.
    Gate,
}

/// No worker makes a verb of ours take so many seconds.
const SLOW: u64 = 30;

/// So many cases that leave no trace are played in one world; with each its verbs have more to look at.
const SHARING: usize = 6;

/// The canary's command is `touch` of a file here.
fn canary(world: &World) -> PathBuf {
    world.root().join("canary/sang")
}

/// What a hostile worker finds: a branch that is not its base's, another worker with work, and a home.
fn furnished() -> World {
    let world = World::new();
    world.git(["checkout", "-q", "-b", "other"]);
    world.write("foreign", "not of the base\n");
    world.commit("foreign");
    world.git(["checkout", "-q", "main"]);
    let root = world.root();
    std::fs::create_dir(root.join("canary")).unwrap();
    std::fs::create_dir(root.join("bin")).unwrap();
    for (agent, folder) in cases::AGENTS {
        let program = root.join("bin").join(agent);
        std::fs::write(&program, "#!/bin/sh\nexec sh -c \"$1\"\n").unwrap();
        let made = Command::new("chmod").arg("+x").arg(&program).status().unwrap();
        assert!(made.success());
        std::fs::create_dir_all(root.join("home").join(folder)).unwrap();
        std::fs::write(root.join("home").join(folder).join("settings.json"), "{}\n").unwrap();
    }
    // The agents stay here for all.
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(root.join("home/.profile"), "# nothing\n").unwrap();
    world.skein(&["dispatch", "--wait", "--jail", "none", "--name", "sib", "t", "--", "sh", "-c", SIBLING]);
    world
}

/// Another one like it, for workers of this level and user.
fn again(template: &World, jail: &str, nobody: bool) -> World {
    let world = template.copy();
    world.git(["config", "skein.jail", jail]);
    let path = format!("{}:{}", template.root().join("bin").display(), std::env::var("PATH").unwrap());
    let world = world.env("PATH", &path);
    if nobody { world.given_to_nobody() } else { world }
}

const SIBLING: &str = "echo s > s; git add s; git commit -qm s; echo u > u";

/// A case in a world.
struct Play<'w> {
    world: &'w World,
    case: &'w Case,
    want: Want,
    who: String,
}

impl Play<'_> {
    fn script(&self) -> String {
        let root = self.world.root();
        let at = |path: &str| root.join(path).display().to_string();
        let name = self.case.name;
        let start = "echo {name} > ok-{name}; git add ok-{name}; git commit -qm {name}";
        // Without a jail nothing keeps it from what it does: each of its commands has to succeed.
        let each = if self.who.starts_with("none") { "set -e" } else { ":" };
        format!("{each}\n{start}\n{}\nexit 0", self.case.script)
            .replace("{name}", name)
            .replace("{repo}", &at("repo"))
            .replace("{sib}", &at("repo.skein/sib"))
            .replace("{home}", &at("home"))
            .replace("{root}", &root.display().to_string())
            .replace("{exe}", env!("CARGO_BIN_EXE_git-skein"))
            .replace("{canary}", &format!("touch {}", canary(self.world).display()))
    }

    /// Runs a verb; the canary is silent, and what is printed cannot steer a terminal.
    fn verb(&self, args: &[&str]) -> Ran {
        let started = std::time::Instant::now();
        let ran = self.world.skein(args);
        assert!(started.elapsed().as_secs() < SLOW, "{}: {args:?} took {:?}", self.who, started.elapsed());
        self.silent(args);
        assert!(ran.code < 126 || ran.code == 128, "{}: {args:?}: {ran:?}", self.who);
        let raw = |text: &str| text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
        assert!(!raw(&ran.out) && !raw(&ran.err), "{}: {args:?}: raw: {ran:?}", self.who);
        ran
    }

    fn silent(&self, args: &[&str]) {
        let sang = canary(self.world).exists();
        assert!(!sang, "{}: the canary ran in {args:?}", self.who);
    }

    fn same(&self, before: &Digest, when: &str) {
        let changed = before.changes(&Digest::of(self.world, self.case.name));
        assert!(changed.is_empty(), "{}: {when} changed {changed:?}", self.who);
    }

    fn run(&self) {
        let name = self.case.name;
        let before = Digest::of(self.world, name);
        let script = self.script();
        let agent: &[&str] = if self.case.agent.is_empty() { &["sh", "-c"] } else { &[self.case.agent] };
        let named = ["dispatch", "--wait", "--timeout", "60s", "--name", name, name, "--"];
        let config = std::fs::read(self.world.path(".git/config")).unwrap();
        self.verb(&[&named[..], agent, &[&script]].concat());
        if let Want::Stops(token) = self.want {
            return self.mended(token, &config);
        }
        if name == "killer" {
            // It ends what a dead supervisor began.
            self.verb(&["stop", name]);
        }
        self.told(&before);
        let planted = Digest::of(self.world, name);
        for args in [&["status"][..], &["show", name], &["show", "--diff", name], &["show", "--log", name]] {
            self.verb(args);
        }
        self.imports();
        self.same(&planted, "looking and importing");
        let landed = self.lands();
        let reap = ["reap", "--yes", "--include-unlanded", "--include-ignored", name];
        for args in [&["landed", name][..], &["doctor"], &["fsck"], &reap] {
            self.verb(args);
        }
        let again = self.verb(&["restore", name]);
        if matches!(self.want, Want::Told(_)) {
            // A checkout would run the filters of its configuration.
            again.refused("outside-changed", 1);
        }
        let after = Digest::of(self.world, name);
        let changed: Vec<String> =
            planted.changes(&after).into_iter().filter(|c| !landed || !digest::by_landing(c)).collect();
        assert!(changed.is_empty(), "{}: landing and closing changed {changed:?}", self.who);
    }

    /// Nothing is done in what it has broken. When a person has mended that, its work comes in.
    fn mended(&self, token: &str, config: &[u8]) {
        let name = self.case.name;
        let reap = ["reap", "--yes", "--include-unlanded", name];
        for args in [&["status"][..], &["show", name], &["import", name], &["land", name], &reap] {
            self.verb(args).refused(token, 128);
        }
        std::fs::write(self.world.path(".git/config"), config).unwrap();
        for name in ["refs/notes/skein/landed", "refs/skein-remote", "refs/skein-local/candidate"] {
            self.world.try_git(["update-ref", "--no-deref", "-d", name]);
        }
        self.verb(&["land", "--any-outcome", name]).ok();
        self.verb(&["reap", "--yes", name]);
    }

    /// What the worker itself has changed, and what is said about it.
    fn told(&self, before: &Digest) {
        let shown = self.verb(&["show", self.case.name, "--json"]);
        assert!(shown.code == 0, "{}: {shown:?} {}", self.who, self.log());
        let changed = before.changes(&Digest::of(self.world, self.case.name));
        let outside = shown.json()["result"]["outside"].to_string();
        match self.want {
            Want::Told(what) => {
                assert!(!changed.is_empty(), "{}: it did not do what it is to do: {}", self.who, self.log());
                assert!(outside.contains(what), "{}: {outside} lacks {what}: {}", self.who, self.log());
            }
            Want::Unseen(_) => {
                assert!(!changed.is_empty(), "{}: it did not do what it is to do: {}", self.who, self.log());
                assert_eq!(outside, "[]", "{}: it is seen", self.who);
            }
            Want::Lands | Want::Refused(_) | Want::Gate | Want::Stops(_) => {
                assert!(changed.is_empty(), "{}: the worker changed {changed:?}", self.who);
                assert_eq!(outside, "[]", "{}", self.who);
            }
        }
    }

    fn log(&self) -> String {
        self.world.skein(&["show", "--log", self.case.name]).out
    }

    fn imports(&self) {
        let name = self.case.name;
        let ran = self.verb(&["import", name]);
        let all = self.verb(&["import", "--uncommitted", name]);
        match self.want {
            Want::Refused(token) => {
                assert!(
                    ran.code == 0 || ran.err.contains(&format!("refused: {token}: ")),
                    "{}: {ran:?}",
                    self.who
                );
                all.refused(token, 1);
            }
            Want::Told(_) => {
                ran.refused("outside-changed", 1);
                all.refused("outside-changed", 1);
            }
            Want::Lands | Want::Unseen(_) | Want::Gate | Want::Stops(_) => {
                assert_eq!((ran.code, all.code), (0, 0), "{}: {ran:?} {all:?} {}", self.who, self.log());
                let diff = self.verb(&["show", "--diff", name]).out;
                for path in self.case.has {
                    assert!(diff.contains(path), "{}: {path} is not in {diff}", self.who);
                }
            }
        }
    }

    /// Whether it landed. The gate runs what the worker left for it.
    fn lands(&self) -> bool {
        let gate = "ls ok-* >/dev/null && if test -e check.sh; then sh check.sh; fi";
        let args = ["land", "--uncommitted", self.case.name, "--gate", gate];
        if self.want == Want::Gate && !self.who.starts_with("bwrap") {
            let ran = self.world.skein(&args).ok();
            assert!(std::fs::remove_file(canary(self.world)).is_ok(), "the gate did not run it: {ran:?}");
            return true;
        }
        let ran = self.verb(&args);
        match self.want {
            Want::Refused(token) => drop(ran.refused(token, 1)),
            Want::Told(_) => drop(ran.refused("outside-changed", 1)),
            Want::Lands | Want::Unseen(_) | Want::Gate | Want::Stops(_) => drop(ran.ok()),
        }
        matches!(self.want, Want::Lands | Want::Unseen(_) | Want::Gate)
    }
}

/// All cases that `SKEIN_TEST_CASE` does not leave out. On a push another user plays half of them, by turns.
fn chosen(nobody: bool) -> impl Iterator<Item = &'static Case> {
    let only = std::env::var("SKEIN_TEST_CASE").ok();
    let all = full() || !nobody || only.is_some();
    let turn = *SEED % 2;
    let named = cases::all().enumerate().filter(move |(n, _)| all || *n as u64 % 2 == turn).map(|(_, c)| c);
    named.filter(move |c| only.as_deref().is_none_or(|o| o.split(',').any(|o| c.name == o)))
}

/// Plays each case and tells of all that went wrong. Most of the time is waited for, so two are played at once.
fn play(jail: &'static str, nobody: bool, want: fn(&Case) -> Want) {
    let template = &furnished();
    let wrong: Vec<String> = std::thread::scope(|threads| {
        let half = |first| threads.spawn(move || half(template, jail, nobody, want, first));
        let halves = [0, 1].map(half);
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of the cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every second case; a few that leave no trace are played in one world.
fn half(template: &World, jail: &str, nobody: bool, want: fn(&Case) -> Want, first: usize) -> Vec<String> {
    let who = if nobody { format!("{jail}, nobody") } else { jail.to_owned() };
    let mut shared = None;
    let mut wrong = Vec::new();
    for (n, case) in chosen(nobody).skip(first).step_by(2).enumerate() {
        let want = want(case);
        let traces = matches!(want, Want::Told(_) | Want::Unseen(_) | Want::Stops(_));
        let kept = shared.take().filter(|_| !traces && n % SHARING != 0);
        let world = kept.unwrap_or_else(|| again(template, jail, nobody));
        let play = Play { world: &world, case, want, who: format!("{who}: {}", case.name) };
        let started = std::time::Instant::now();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play.run()));
        writeln!(std::io::stdout().lock(), "{}: {:?}", play.who, started.elapsed()).unwrap();
        tally("hostile case", 1);
        match ended {
            Err(said) => {
                wrong.push(format!("{}: {}", play.who, words(&*said)));
            }
            Ok(()) if !traces => shared = Some(world),
            Ok(()) => {}
        }
    }
    wrong
}

#[test]
fn hostile_workers_in_a_jail() {
    if possible() {
        play("bwrap", false, |case| case.jailed);
    }
}

#[test]
fn hostile_workers_in_a_jail_as_nobody() {
    if can_be_nobody() && possible() {
        play("bwrap", true, |case| case.jailed);
    }
}

#[test]
fn hostile_workers_without_a_jail() {
    play("none", false, |case| case.free);
}

#[test]
fn hostile_workers_without_a_jail_as_nobody() {
    if can_be_nobody() {
        play("none", true, |case| case.free);
    }
}
