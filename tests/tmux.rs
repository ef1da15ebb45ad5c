//! Workers in tmux: a window each in one session of the repository, looked into from outside, ended like any other.

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::has_tmux;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A server of its own below the world, which ends with it.
struct Place {
    world: World,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

impl Place {
    /// Without tmux there is nothing to test, unless it must be there.
    fn new() -> Option<Place> {
        if !has_tmux() {
            return None;
        }
        let place = Place { world: World::new() };
        fs::create_dir(place.sockets()).unwrap();
        Some(place)
    }

    fn sockets(&self) -> std::path::PathBuf {
        self.world.root().join("sockets")
    }

    fn skein(&self, args: &[&str]) -> Ran {
        ran(self.world.command(args).env("TMUX_TMPDIR", self.sockets()).output().unwrap())
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(args).env("TMUX_TMPDIR", self.sockets()).env_remove("TMUX");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    fn dispatch(&self, name: &str, more: &[&str], task: &str, script: &str) -> Ran {
        let head = ["dispatch", "--tmux", "--name", name];
        self.skein(&[head.as_slice(), more, &[task, "--", "sh", "-c", script]].concat())
    }

    /// The same to the end, which is a good one; what it printed is said where it is not.
    fn works(&self, name: &str, task: &str, script: &str) {
        let ended = self.dispatch(name, FREE, task, script);
        assert_eq!(ended.code, 0, "{}{}{}", ended.out, ended.err, self.log(name));
    }

    fn log(&self, name: &str) -> String {
        self.skein(&["show", name, "--log"]).ok().out
    }
}

const FREE: &[&str] = &["--wait", "--jail", "none"];

const WORK: &str = "echo new >new.txt && git add new.txt && git commit -qm new";

#[test]
fn a_worker_in_a_window_works_and_lands() {
    let Some(place) = Place::new() else { return };
    for (name, jail) in [("free", "none"), ("shut", "auto")] {
        let script = format!(
            "test -t 0 && test -t 1 && echo at a terminal; echo {name} >{name}.txt && git add . && git commit -qm {name}"
        );
        // {brief-file} in the command: nothing is typed.
        let script = format!("{script} # {{brief-file}}");
        let ended = place.dispatch(name, &["--wait", "--jail", jail], "the task", &script).ok();
        assert!(ended.out.contains(&format!("git skein attach {name}")), "{}", ended.out);
        assert!(place.log(name).contains("at a terminal"), "{}", place.log(name));
        let peeked = place.skein(&["peek", name]).ok();
        assert!(peeked.out.contains("at a terminal") && !peeked.out.contains("\n\n\n"), "{}", peeked.out);
        place.skein(&["land", name]).ok();
        assert_eq!(place.world.git(["show", &format!("main:{name}.txt")]), name);
    }
    let windows = place.tmux(&["list-windows", "-a", "-F", "#{session_name} #{window_name} #{pane_dead}"]);
    let session = windows.split(' ').next().unwrap().to_owned();
    assert!(session.starts_with("skein-"), "{windows}");
    assert_eq!(
        windows,
        format!("{session} status 0\n{session} free 1\n{session} shut 1\n"),
        "dead panes stay"
    );
    place.skein(&["reap", "free", "--yes"]).ok();
    let windows = place.tmux(&["list-windows", "-a", "-F", "#{window_name}"]);
    assert_eq!(windows, "status\nshut\n", "with its worker the window goes");
    let shown = place.skein(&["peek", "shut"]).ok().out;
    fs::remove_dir_all(place.world.path(&format!(".git/skein/run/{}/pane", place.world.ulid("shut"))))
        .unwrap();
    assert_eq!(place.skein(&["peek", "shut"]).ok().out, shown, "it is on the record");
}

#[test]
fn codes_of_any_agent_come_through() {
    let Some(place) = Place::new() else { return };
    let failed = place.dispatch("seven", FREE, "task", "exit 7 # {brief-file}").code(1);
    assert!(failed.out.contains("exit code 7"), "{}", failed.out);
    let killed = place.dispatch("killed", FREE, "task", "kill -9 $$ # {brief-file}").code(1);
    assert!(killed.out.contains("137"), "{}", killed.out);
    place.skein(&["dispatch", "--tmux", "task", "--", "no-such-agent"]).refused("agent-not-found", 1);
}

#[test]
fn a_task_is_typed_in() {
    let Some(place) = Place::new() else { return };
    let script = format!("read -r one && echo \"<$one>\" && {WORK}");
    place.works("one", "do $HOME; 'this'", &script);
    assert!(place.log("one").contains("<do $HOME; 'this'>"), "{}", place.log("one"));
    let script = format!("read -r a && read -r b && echo \"<$a|$b>\" && {WORK}");
    place.works("two", "first line\nsecond line", &script);
    assert!(place.log("two").contains("<first line|second line>"), "{}", place.log("two"));
}

/// Reads lines until one says `end`, as an agent that a person sits before, and lands what it read.
const READS: &str = r#"printf '\033[?2004h'; echo begun
    while IFS= read -r line; do printf '%s\n' "$line" >>told; case $line in *end*) break ;; esac; done
    git add told && git commit -qm told; echo bye # {brief-file}"#;

#[test]
fn what_an_interactive_agent_is_told_is_typed_in() {
    let Some(place) = Place::new() else { return };
    let free = ["--jail", "none", "--interactive"];
    place.dispatch("w", &["--jail", "auto", "--interactive"], "task", READS).ok();
    place.dispatch("v", &free, "task", READS).ok();
    // It shows nothing of what is typed.
    place.dispatch("blind", &free, "task", &format!("stty -echo; {READS}")).ok();
    for name in ["w", "v", "blind"] {
        until("it reads", || place.skein(&["peek", name]).out.contains("begun"));
    }
    let queued = place.skein(&["tell", "w", "do -- \u{3}this\u{1a}\u{1b}[A\t'$HOME'\\;"]).ok().out;
    assert!(queued.contains("queued: it is brought to it while it works"), "{queued}");
    let card = |name: &str| place.skein(&["show", name]).ok().out;
    until("it is seen", || card("w").contains("told      1 (delivered)"));
    std::thread::scope(|scope| {
        for name in ["w", "v", "blind"] {
            let place = &place;
            scope.spawn(move || {
                place
                    .skein(&[
                        "tell",
                        name,
                        &format!("first of {name}\n\n  second \u{1b}[201~\rend of {name}"),
                    ])
                    .ok()
            });
        }
    });
    let told = |name: &str| {
        place.skein(&["wait", name]).ok();
        fs::read_to_string(place.world.worktree(name).join("told")).unwrap()
    };
    let many = |name: &str| {
        format!("\u{1b}[200~first of {name}\n\n  second \u{241b}[201~\u{240d}end of {name}\u{1b}[201~\n")
    };
    assert_eq!(told("w"), format!("do -- \u{2403}this\u{241a}\u{241b}[A '$HOME'\\;\n{}", many("w")));
    assert_eq!(told("v"), many("v"));
    assert_eq!(told("blind"), many("blind"));
    assert!(card("w").contains("told      2 (delivered)") && card("v").contains("told      1 (delivered)"));
    assert!(
        card("blind").contains("told      1 (undeliverable)"),
        "what was not seen is not said: {}",
        card("blind")
    );
    place.skein(&["land", "w"]).ok();
}

#[test]
fn a_worker_that_goes_on_has_a_window_again() {
    let Some(place) = Place::new() else { return };
    let script = format!(
        "if [ -e asked ]; then rm asked; echo 'second screen'; {READS}
        else echo 'first screen'; touch asked; git skein worker wait --question 'Which?'; fi"
    );
    place.dispatch("w", &["--jail", "none", "--interactive", "--wait"], "task", &script).code(3);
    assert!(place.skein(&["peek", "w"]).ok().out.contains("first screen"));
    place.skein(&["tell", "w", "this one"]).ok();
    place.skein(&["resume", "w"]).ok();
    until("the new screen is shown", || place.skein(&["peek", "w"]).out.contains("second screen"));
    assert!(!place.skein(&["peek", "w"]).ok().out.contains("first screen"));
    let windows = || place.tmux(&["list-windows", "-a", "-F", "#W"]);
    until("the old window has gone", || windows() == "status\nw\n");
    place.skein(&["tell", "w", "to the end"]).ok();
    place.skein(&["wait", "w"]).ok();
    assert_eq!(fs::read_to_string(place.world.worktree("w").join("told")).unwrap(), "to the end\n");
    until("its last screen is shown", || place.skein(&["peek", "w"]).out.contains("bye"));
}

#[test]
fn a_worker_in_a_window_is_stopped_and_ends_with_its_supervisor() {
    let Some(place) = Place::new() else { return };
    let script = "trap 'echo asked; exit 0' TERM; echo begun; echo w >w.txt; while :; do sleep 0.05; done # {brief-file}";
    place.dispatch("w", &["--jail", "none"], "task", script).ok();
    until("it prints", || place.skein(&["peek", "w"]).out.contains("begun"));
    let attached = place.skein(&["attach", "w"]).ok();
    let command = attached.out.trim();
    assert!(command.starts_with("tmux attach-session -t '=skein-"), "{command}");
    place.skein(&["stop", "w"]).ok();
    assert!(place.log("w").contains("asked"), "{}", place.log("w"));
    assert_eq!(place.world.field("w", "outcome"), "stopped");
    let snapshot = place.world.field("w", "snapshot");
    assert_eq!(place.world.git(["show", &format!("{}:w.txt", snapshot.as_str().unwrap())]), "w");

    place.dispatch("orphan", &["--jail", "none"], "task", "echo $$ >pid; exec sleep 600 # {brief-file}").ok();
    let worktree = place.world.worktree("orphan");
    let pid = || fs::read_to_string(worktree.join("pid")).ok().filter(|text| text.ends_with('\n'));
    until("it runs", || pid().is_some());
    let supervisor = place.world.path(&format!(".git/skein/run/{}/pid", place.world.ulid("orphan")));
    let supervisor = fs::read_to_string(supervisor).unwrap();
    let killed = Command::new("kill").args(["-9", supervisor.trim()]).status().unwrap();
    assert!(killed.success());
    let agent = format!("/proc/{}", pid().unwrap().trim());
    let zombie =
        || fs::read_to_string(Path::new(&agent).join("stat")).is_ok_and(|stat| stat.contains(") Z "));
    until("the agent ends with its supervisor", || !Path::new(&agent).exists() || zombie());
}

#[test]
fn a_jailed_worker_cannot_speak_to_the_server() {
    let Some(place) = Place::new() else { return };
    let sockets = place.sockets();
    let script = format!(
        "echo \"sees <$(ls -A {0})>\"; TMUX_TMPDIR={0} tmux new-window 'touch {1}'; echo TMUX=$TMUX. # {{brief-file}}",
        sockets.display(),
        place.world.root().join("escaped").display()
    );
    place.dispatch("w", &["--wait", "--jail", "bwrap"], "task", &script);
    let log = place.log("w");
    assert!(log.contains("TMUX=.") && log.contains("sees <>"), "{log}");
    assert!(!place.world.root().join("escaped").exists());
}

#[test]
fn windows_that_are_not_there_are_refused() {
    let Some(place) = Place::new() else { return };
    place.world.worker("plain", WORK);
    for verb in ["peek", "attach"] {
        let said = place.skein(&[verb, "plain"]).refused("no-pane", 1);
        assert!(said.err.contains("show --log plain"), "{}", said.err);
    }
    place.dispatch("w", &["--jail", "none"], "task", "exec sleep 600 # {brief-file}").ok();
    until("its window is there", || place.skein(&["peek", "w"]).code == 0);
    place.tmux(&["kill-server"]);
    place.skein(&["peek", "w"]).refused("no-pane", 1);
    place.skein(&["wait", "w"]);
    assert_ne!(place.world.field("w", "outcome"), "active", "an agent whose server is gone has ended");
    let mut command = place.world.command(&["dispatch", "--tmux", "task", "--", "sh", "-c", "true"]);
    let git = place.world.root().join("bin");
    fs::create_dir_all(&git).unwrap();
    let real = String::from_utf8(
        Command::new("sh").args(["-c", "command -v git; command -v sh"]).output().unwrap().stdout,
    )
    .unwrap();
    for path in real.lines().filter(|line| line.starts_with('/')) {
        std::os::unix::fs::symlink(path, git.join(Path::new(path).file_name().unwrap())).unwrap();
    }
    ran(command.env("PATH", &git).output().unwrap()).refused("no-pane", 1);
}
