//! `dock` by its screen: a real pane of a private tmux server, keys sent to it, and the terminal looked at afterwards.

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::has_tmux;
use crate::support::acts::runs;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::process::Command;

/// A pane with a shell in it, on a server that ends with it.
struct Pane {
    world: World,
    size: (u16, u16),
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Pane {
    /// Without tmux there is nothing to test, unless it must be there.
    fn new(width: u16, height: u16) -> Option<Pane> {
        if !has_tmux() {
            return None;
        }
        let pane = Pane { world: World::new(), size: (width, height) };
        fs::create_dir(pane.world.root().join("sockets")).unwrap();
        Some(pane)
    }

    /// After the workers are there: they are dispatched without a terminal.
    fn open(&self, more: &[(&str, &str)]) {
        let (width, height) = (self.size.0.to_string(), self.size.1.to_string());
        // The shell of the pane has what every command of ours has.
        let mut like = self.world.command(&[]);
        like.envs(more.iter().copied());
        let vars: Vec<String> =
            like.get_envs().filter_map(|(k, v)| Some(format!("{}={}", k.to_str()?, v?.to_str()?))).collect();
        let shell = ["sh", "-i"];
        let env = ["env", "-u", "TMUX", "PS1=ready> ", "RUST_BACKTRACE=0"];
        let head = ["-f", "/dev/null", "new-session", "-d", "-s", "dock", "-x", &width, "-y", &height];
        let vars = vars.iter().map(String::as_str);
        self.tmux(&[head.as_slice(), &env, &vars.collect::<Vec<_>>(), &shell].concat());
        self.sees("ready>");
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(args).current_dir(&self.world.repo);
        command.env("TMUX_TMPDIR", self.world.root().join("sockets")).env_remove("TMUX");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "dock"])
    }

    /// Waits until the screen has it, and gives the screen.
    #[track_caller]
    fn sees(&self, what: &str) -> String {
        self.sees_all(&[what])
    }

    /// The same of several at once: a screen that has one of them may be half drawn.
    #[track_caller]
    fn sees_all(&self, all: &[&str]) -> String {
        let started = std::time::Instant::now();
        loop {
            let screen = self.screen();
            let Some(what) = all.iter().find(|what| !screen.contains(**what)) else { return screen };
            assert!(started.elapsed().as_secs() < 60, "no {what:?} in\n{screen}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// By name, as tmux has them.
    fn key(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "dock"], keys].concat());
    }

    fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "dock", "-l", "--", text]);
    }

    /// Runs the dock in the shell, which notes the terminal before and after it.
    fn start(&self, args: &str) {
        let skein = env!("CARGO_BIN_EXE_git-skein");
        // Beside the checkout, which workers are compared with.
        let script = format!(
            "stty -a >../before; {skein} {args} dock; code=$?; stty -a >../after; echo \"code $code\" >../ended\n"
        );
        fs::write(self.world.root().join("go"), script).unwrap();
        let go = self.world.root().join("go");
        self.types(&format!("clear; . {}", go.display()));
        self.key(&["Enter"]);
    }

    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.world.root().join(name)).ok().filter(|text| !text.is_empty())
    }

    /// It has ended with this code, and the terminal is what it was: its modes, its screen, and it echoes.
    #[track_caller]
    fn is_over(&self, code: i32) {
        until("the dock ends", || self.file("ended").is_some());
        assert_eq!(self.file("ended").unwrap(), format!("code {code}\n"), "{}", self.screen());
        // Its size is tmux's to change, which takes its time for that.
        let modes =
            |name: &str| self.file(name).and_then(|text| Some(text.split_once("line =")?.1.to_owned()));
        assert!(modes("before").is_some());
        assert_eq!(modes("before"), modes("after"));
        assert_eq!(
            self.tmux(&["display-message", "-p", "-t", "dock", "#{alternate_on} #{cursor_flag}"]),
            "0 1\n"
        );
        self.types("echo a$((40 + 2))b");
        self.key(&["Enter"]);
        // What is typed is seen.
        let screen = self.sees_all(&["echo a$((40 + 2))b", "a42b"]);
        assert!(!screen.contains("inbox"), "{screen}");
    }

    /// The process of the dock in the pane.
    fn pid(&self) -> String {
        let tty = self.tmux(&["display-message", "-p", "-t", "dock", "#{pane_tty}"]);
        let tty = tty.trim().trim_start_matches("/dev/").to_owned();
        let listed = Command::new("ps").args(["-t", &tty, "-o", "pid=,args="]).output().unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        let line = text.lines().find(|l| l.contains("git-skein") && l.ends_with(" dock"));
        line.unwrap_or_else(|| panic!("no dock in {text}")).split_whitespace().next().unwrap().to_owned()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args(["-s", name, &self.pid()]).status().unwrap().success());
    }

    fn skein(&self, args: &[&str]) -> Ran {
        self.world.skein(args)
    }
}

fn work(name: &str) -> String {
    format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}")
}

const ASKS: &str = "git skein worker todo one two; git skein worker todo --check 1
    git skein worker progress 'reading\u{1b}[2J all'
    git skein worker wait --question 'Which\u{1b}[31m one?' --option blue --option red";

#[test]
fn workers_are_judged_answered_and_landed_by_keys() {
    let Some(pane) = Pane::new(100, 30) else { return };
    let world = &pane.world;
    world.worker("good", &work("good"));
    world.worker("asks", ASKS);
    world.worker("rest", &work("rest"));
    pane.open(&[]);
    pane.start("");
    pane.sees_all(&["3 workers, 3 waiting", "> asks", "card of asks"]);
    pane.sees_all(&["card of asks  q1  1 of 2 done, reading\\u{1b}[2J all", "Which\\u{1b}[31m one?"]);

    // A question is answered by an option and in words.
    pane.key(&["n"]);
    pane.key(&["Down", "Down"]);
    pane.types("the dark one");
    let command = "--option 2 -m 'the dark one' --delta q1";
    pane.sees_all(&["$ git skein verdict asks answer", command, "> 2. red"]);
    assert_eq!(world.git(["for-each-ref", "refs/skein/lane"]), "", "nothing was done before Enter");
    pane.key(&["Enter"]);
    pane.sees("answer: asks q1");
    pane.key(&["Enter"]);
    let answered = world.field("asks", "messages");
    assert_eq!(answered[0]["text"], "red\n\nthe dark one", "{answered}");

    // One is accepted and landed, the selection stays with it.
    until("it has moved", || {
        pane.screen().lines().any(|l| l.starts_with("> asks ") && l.contains(" resume "))
    });
    pane.key(&["g"]);
    pane.sees("card of good");
    pane.sees("  task      good");
    let lane = world.git(["for-each-ref", "refs/skein/lane"]);
    pane.key(&["a"]);
    pane.sees("$ git skein verdict good accept --delta 1:");
    pane.key(&["Escape"]);
    pane.sees("a accept  x reject");
    assert_eq!(world.git(["for-each-ref", "refs/skein/lane"]), lane, "Esc leaves it");
    pane.key(&["a", "Enter"]);
    pane.sees("accept: good 1:");
    pane.key(&["Enter"]);
    pane.sees_all(&["card of good", "verdict   accept delta 1 by Ada"]);
    pane.key(&["l"]);
    pane.sees("$ git skein land good");
    pane.key(&["Enter"]);
    pane.sees("landed: good on main");
    pane.key(&["Enter"]);
    assert_eq!(world.git(["show", "main:good.txt"]), "good");
    pane.sees("card of good");
    pane.sees("  landed ");

    // A refusal is shown whole.
    pane.key(&["s", "Enter"]);
    pane.sees_all(&["(exit code 1)", "refused: not-ready:", "see:  ", "next:"]);
    pane.key(&["Enter"]);
    pane.key(&["p"]);
    pane.sees("refused: no-pane");
    pane.key(&["q"]);
    pane.is_over(0);
    world.check();
}

#[test]
fn what_changed_since_it_was_seen_is_not_judged() {
    let Some(pane) = Pane::new(100, 30) else { return };
    let world = &pane.world;
    world.worker("w", &work("w"));
    pane.open(&[]);
    pane.start("");
    pane.sees("card of w  1:");
    pane.key(&["a"]);
    pane.sees("$ git skein verdict w accept --delta 1:");
    let tree = world.worktree("w");
    fs::write(tree.join("more.txt"), "more").unwrap();
    let git = |args: &[&str]| {
        let args = [
            &["-C", tree.to_str().unwrap(), "-c", "user.name=W", "-c", "user.email=w@example.invalid"],
            args,
        ];
        world.git(args.concat());
    };
    git(&["add", "-A"]);
    git(&["commit", "-qm", "more"]);
    pane.key(&["Enter"]);
    pane.sees_all(&["(exit code 4)", "refused: verdict-stale", "git skein verdict w accept"]);
    assert_eq!(world.git(["for-each-ref", "refs/skein/lane"]), "");
    pane.key(&["Enter"]);
    pane.sees("A more.txt");
    pane.key(&["a", "Enter"]);
    pane.sees("accept: w ");
    pane.key(&["Enter", "q"]);
    pane.is_over(0);
}

#[test]
fn it_fits_a_small_screen_and_follows_its_size() {
    let Some(pane) = Pane::new(40, 10) else { return };
    pane.world.worker("one", &work("one"));
    pane.world.worker("two", &work("two"));
    pane.open(&[]);
    pane.start("");
    let screen = pane.sees_all(&["> one", "  two", "? help  q quit"]);
    assert!(!screen.contains("card of"), "{screen}");
    pane.key(&["Down"]);
    pane.sees("> two");
    pane.key(&["Enter"]);
    let screen = pane.sees("card of two");
    assert!(!screen.contains("> two"), "{screen}");
    pane.tmux(&["resize-window", "-t", "dock", "-x", "80", "-y", "24"]);
    let screen = pane.sees_all(&["> two", "| card of two", "u resume"]);
    assert_eq!(screen.lines().count(), 24);
    // No key is lost that comes with a change of size.
    for (height, key, want) in (0..10).flat_map(|_| [("20", "k", "> one"), ("24", "j", "> two")]) {
        pane.tmux(&[
            "resize-window",
            "-t",
            "dock",
            "-x",
            "80",
            "-y",
            height,
            ";",
            "send-keys",
            "-t",
            "dock",
            key,
        ]);
        pane.sees(want);
    }
    pane.tmux(&["resize-window", "-t", "dock", "-x", "40", "-y", "10"]);
    until("it is small again", || {
        let screen = pane.screen();
        screen.contains("card of two") && !screen.contains('|') && screen.contains("? help  q quit")
    });
    pane.key(&["a"]);
    pane.sees("$ git skein verdict two accept --delta");
    pane.key(&["C-c"]);
    pane.key(&["?"]);
    pane.sees("down and up");
    pane.key(&["Escape"]);
    pane.sees("card of two");
    pane.key(&["C-c"]);
    until("the dock ends", || pane.file("ended").is_some());
    assert_eq!(pane.file("ended").unwrap(), "code 0\n");
}

#[test]
fn the_window_of_a_worker_is_seen() {
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.open(&[]);
    let screen = "printf 'first\\033[31m red\\033[0m\\n'; while [ ! -e end ]; do sleep 0.05; done; echo second # {brief-file}";
    let mut command =
        pane.world.command(&["dispatch", "--tmux", "--name", "w", "T", "--", "sh", "-c", screen]);
    ran(command.env("TMUX_TMPDIR", pane.world.root().join("sockets")).output().unwrap()).ok();
    pane.start("");
    pane.sees("card of w");
    pane.key(&["p"]);
    pane.sees("| first red");
    fs::write(pane.world.worktree("w").join("end"), "").unwrap();
    pane.sees("| second");
    pane.key(&["q"]);
    pane.is_over(0);
}

/// A gate takes its time; keys and clock go on meanwhile, and who leaves has changed nothing.
#[test]
fn a_command_that_runs_is_waited_for_or_left() {
    let Some(pane) = Pane::new(80, 24) else { return };
    let world = &pane.world;
    let gate = world.root().join("gate");
    let check = format!("echo $$ >{0}; while [ ! -e {0}.end ]; do sleep 0.05; done", gate.display());
    for name in ["one", "two"] {
        let (script, head) = (work(name), ["dispatch", "--wait", "--name", name, "--check", &check]);
        world.skein(&[head.as_slice(), &["T", "--", "sh", "-c", &script]].concat()).ok();
    }
    let begun = || until("the gate runs", || gate.exists());
    pane.open(&[]);
    pane.start("");
    pane.sees("card of one  1:");
    pane.key(&["l", "Enter"]);
    begun();
    pane.sees("it runs; ctrl-c leaves");
    pane.key(&["q", "Enter", "Escape", "j"]);
    pane.tmux(&["resize-window", "-t", "dock", "-x", "60", "-y", "12"]);
    until("it is drawn anew", || pane.screen().lines().nth(11).is_some_and(|l| l.starts_with("it runs;")));
    fs::write(gate.with_extension("end"), "").unwrap();
    pane.sees("landed: one on main");
    fs::remove_file(gate.with_extension("end")).unwrap();
    fs::remove_file(&gate).unwrap();
    pane.key(&["Enter"]);
    // What has landed waits no more.
    until("it has moved", || pane.screen().lines().any(|l| l.starts_with("> one ") && l.contains(" landed")));
    pane.key(&["g", "Enter"]);
    pane.sees("card of two  1:");
    pane.key(&["l"]);
    pane.sees("$ git skein land two");
    let tip = world.rev("main");
    pane.key(&["Enter"]);
    begun();
    pane.tmux(&["resize-window", "-t", "dock", "-x", "80", "-y", "24"]);
    until("it has room again", || pane.screen().lines().count() == 24);
    pane.key(&["C-c"]);
    pane.is_over(130);
    let pid = fs::read_to_string(&gate).unwrap().trim().to_owned();
    until("the gate ends with it", || !runs(&pid));
    fs::write(gate.with_extension("end"), "").unwrap();
    assert_eq!(world.rev("main"), tip);
    world.skein(&["land", "two"]).ok();
    world.check();
}

/// Its own state is watched, whoever changes it.
#[test]
fn what_others_do_is_seen() {
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.open(&[]);
    pane.start("");
    pane.sees("no workers");
    let runs = "git skein worker todo one two; git skein worker progress begun; echo out; while [ ! -e end ]; do sleep 0.05; done; rm end; git commit -q --allow-empty -m x; echo x >x; git add x; git commit -qm x";
    pane.skein(&["dispatch", "--name", "runs", "T", "--", "sh", "-c", runs]).ok();
    pane.sees("  0 of 2 done, begun");
    pane.key(&["o"]);
    pane.sees("output of runs");
    pane.sees("| out");
    fs::write(pane.world.worktree("runs").join("end"), "").unwrap();
    until("it waits for a verdict", || {
        let list = pane.screen();
        list.contains("1 waiting")
            && list.lines().any(|l| l.starts_with("> runs ") && l.contains(" verdict "))
    });
    pane.skein(&["wait", "runs"]).ok();
    pane.key(&["d"]);
    pane.sees("+++ b/x");
    pane.skein(&["reap", "--yes", "--include-unlanded", "runs"]).ok();
    pane.sees("no workers");
    pane.key(&["q"]);
    pane.is_over(0);
}

#[test]
fn signals_and_panics_give_the_terminal_back() {
    for (signal, code) in [("TERM", 130), ("HUP", 130), ("INT", 130), ("QUIT", 130)] {
        let Some(pane) = Pane::new(80, 24) else { return };
        pane.world.worker("w", &work("w"));
        pane.open(&[]);
        pane.start("");
        pane.sees("card of w  1:");
        // In the middle of a command line too.
        pane.key(&["a"]);
        pane.sees("message>");
        pane.signal(signal);
        pane.is_over(code);
    }
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.open(&[]);
    pane.start("");
    pane.sees("no workers");
    let pid = pane.pid();
    pane.tmux(&["kill-server"]);
    until("it ends with its terminal", || !runs(&pid));
    for point in ["dock: drawn", "dock: looked"] {
        let Some(pane) = Pane::new(80, 24) else { return };
        pane.world.worker("w", &work("w"));
        pane.open(&[("SKEIN_FAULT", &format!("{point}:3:panic"))]);
        pane.start("");
        until("the dock ends", || pane.file("ended").is_some());
        pane.sees_all(&["panicked", &format!("struck at {point}")]);
        assert_ne!(pane.file("ended").unwrap(), "code 0\n");
        assert_eq!(pane.file("before"), pane.file("after"));
        assert_eq!(
            pane.tmux(&["display-message", "-p", "-t", "dock", "#{alternate_on} #{cursor_flag}"]),
            "0 1\n"
        );
    }
}

#[test]
fn it_stops_for_the_shell_and_goes_on() {
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.world.worker("w", &work("w"));
    pane.open(&[]);
    // Below git, which waits for it.
    let skein = std::path::Path::new(env!("CARGO_BIN_EXE_git-skein"));
    pane.types(&format!("export PATH={}:$PATH", skein.parent().unwrap().display()));
    pane.key(&["Enter"]);
    pane.types("git skein dock");
    pane.key(&["Enter"]);
    pane.sees("card of w  1:");
    pane.key(&["C-z"]);
    let screen = pane.sees("Stopped");
    assert!(!screen.contains("inbox"), "{screen}");
    pane.types("echo a$((40 + 2))b");
    pane.key(&["Enter"]);
    // The shell has its terminal.
    pane.sees_all(&["echo a$((40 + 2))b", "a42b"]);
    pane.types("fg");
    pane.key(&["Enter"]);
    pane.sees_all(&["> w", "| card of w"]);
    pane.key(&["d"]);
    pane.sees("+++ b/w.txt");
    pane.key(&["q"]);
    until("the shell has its terminal again", || pane.screen().trim_end().ends_with("ready>"));
    pane.types("jobs; echo none $((1 + 1))");
    pane.key(&["Enter"]);
    let screen = pane.sees("none 2");
    assert_eq!(screen.matches("Stopped").count(), 1, "nothing is left of it: {screen}");
}

/// As by `kill -STOP`, of which it hears nothing before it goes on.
#[test]
fn who_stops_it_from_outside_has_the_terminal_meanwhile() {
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.world.worker("w", &work("w"));
    pane.open(&[]);
    pane.types(&format!("{} -C . dock", env!("CARGO_BIN_EXE_git-skein")));
    pane.key(&["Enter"]);
    pane.sees("card of w  1:");
    pane.signal("STOP");
    until("the shell has seen it", || pane.screen().contains("Stopped"));
    // This shell sets nothing back, so that Enter is not yet the end of a line.
    pane.types("stty sane; fg");
    pane.key(&["C-j"]);
    until("it is drawn anew", || {
        let screen = pane.screen();
        screen.contains("| card of w  1:") && !screen.contains("Stopped")
    });
    pane.key(&["x"]);
    pane.sees("$ git skein -C . verdict w reject --delta 1:");
    pane.types("not this");
    pane.key(&["C-u"]);
    pane.types("-it lacks a test");
    pane.key(&["Enter"]);
    pane.sees("reject: w 1:");
    let shown = pane.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("reject '--message=-it lacks a test' --delta 1:"), "{shown}");
    pane.key(&["Enter"]);
    pane.sees(" close ");
    pane.key(&["q"]);
    until("the shell has its terminal again", || pane.screen().trim_end().ends_with("ready>"));
    let decided = pane.skein(&["log", "decisions"]).ok().out;
    assert!(decided.contains("reject w") && decided.contains("said      -it lacks a test"), "{decided}");
}

/// What a key has started lives on when the dock has ended.
#[test]
fn a_task_that_is_tried_again_runs_on() {
    let Some(pane) = Pane::new(100, 30) else { return };
    let world = &pane.world;
    let script = format!("if [ -e {0}/go ]; then {1}; else exit 3; fi", world.root().display(), work("w"));
    world.worker("w", &script);
    pane.open(&[]);
    pane.start("");
    pane.sees("card of w  ");
    fs::write(world.root().join("go"), "").unwrap();
    pane.key(&["t", "Enter"]);
    pane.sees("retry: w ");
    pane.sees("  retry     w-2");
    pane.key(&["Enter", "q"]);
    pane.is_over(0);
    world.skein(&["wait", "w-2"]).ok();
    world.skein(&["land", "w-2"]).ok();
    assert_eq!(world.git(["show", "main:w.txt"]), "w");
    world.check();
}

#[test]
fn where_nobody_looks_it_is_refused() {
    let world = World::new();
    world.worker("w", &work("w"));
    let mut command = world.command(&["dock"]);
    ran(command.env("TERM", "xterm").output().unwrap()).refused("no-terminal", 1);
    let mut command = world.command(&["dock"]);
    ran(command.env("SKEIN_WORKER", "w").output().unwrap()).refused("in-worker", 1);
    let inbox = world.skein(&["dock", "--json"]).ok().json();
    assert_eq!(inbox["result"]["cards"][0]["handle"], "w");
    let Some(pane) = Pane::new(80, 24) else { return };
    pane.open(&[("TERM", "dumb")]);
    pane.start("");
    until("the dock ends", || pane.file("ended").is_some());
    assert_eq!(pane.file("ended").unwrap(), "code 1\n");
    pane.sees("refused: no-terminal");
}

/// On a terminal, of which the other verbs take their colour.
#[test]
fn the_configuration_turns_colour_off() {
    let Some(pane) = Pane::new(100, 24) else { return };
    pane.world.worker("w", "true");
    pane.open(&[]);
    for (n, (key, value, yellow)) in
        [("color.ui", "auto", true), ("color.ui", "false", false), ("color.skein", "auto", true)]
            .into_iter()
            .enumerate()
    {
        pane.world.git(["config", key, value]);
        pane.types(&format!("clear; {} status; echo e$(({n}))nd", env!("CARGO_BIN_EXE_git-skein")));
        pane.key(&["Enter"]);
        pane.sees(&format!("e{n}nd"));
        let screen = pane.tmux(&["capture-pane", "-e", "-p", "-t", "dock"]);
        assert_eq!(screen.contains("\u{1b}[33mready"), yellow, "{key}={value}: {screen:?}");
    }
}
