//! A good guest: what belongs to the person is the same after every verb, reading verbs write nothing, no
//! program that configuration names is started, and nothing a worker controls reaches a terminal raw.

use crate::support::MOMENT;
use crate::support::Ran;
use crate::support::World;
use crate::support::check::Picture;
use crate::support::ran;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;

/// How an agent works here: the person's hooks are on trial, and git itself would run them for it.
const GIT: &str = "git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false \
                   -c filter.canary.process= -c filter.canary.clean=cat -c gc.auto=0 \"$@\"; }\n";

/// What most workers do here.
const NEW: &str = "echo 1 >new; git add -A; git commit -q -m new";

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
];

/// A script that leaves a file named `name` in `canaries` when it is run, and fails.
fn canary(canaries: &Path, at: &Path, name: &str) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let dead = canaries.join(name);
    fs::write(at, format!("#!/bin/sh\necho \"$@\" >>'{}'\nexit 1\n", dead.display())).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Names in a folder.
fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// Every file below `dir`, with its bytes, mode and time of change.
fn bytes(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if meta.is_dir() {
            found.extend(bytes(&path));
        }
        let content = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path, (content, meta.permissions().mode(), meta.modified().unwrap()));
    }
    found
}

/// Files with their bytes and modes.
type Bytes = BTreeMap<PathBuf, (Vec<u8>, u32)>;

/// A repository that somebody lives in: every kind of thing that a verb might disturb, and every program
/// that git's configuration can name. The person is on `desk`; the trunk is checked out nowhere.
struct Home {
    world: World,
    canaries: PathBuf,
}

impl Home {
    fn new(hooks_path: bool) -> Home {
        let world = World::new();
        let canaries = world.root().join("canaries");
        fs::create_dir(&canaries).unwrap();
        world.write("sub/keep", "k\n");
        world.commit("more");
        world.git(["tag", "-a", "-m", "first", "v1"]);
        world.git(["tag", "light"]);
        world.git(["branch", "old", "HEAD~1"]);
        world.git(["worktree", "add", "-q", "-b", "side", "../other"]);
        fs::write(world.root().join("other/a.txt"), "dirty there\n").unwrap();
        world.git(["switch", "-qc", "desk"]);
        world.write("b.txt", "put aside\n");
        world.git(["stash", "-q"]);
        world.write("staged", "staged\n");
        world.write("a.txt", "staged\n");
        world.git(["add", "staged", "a.txt"]);
        world.write("a.txt", "staged and more\n");
        world.write("untracked", "mine\n");
        world.write("x.ign", "mine\n");
        let hooks = if hooks_path { world.root().join("hooks") } else { world.path(".git/hooks") };
        for hook in HOOKS {
            canary(&canaries, &hooks.join(hook), hook);
        }
        if hooks_path {
            world.git(["config", "core.hooksPath", hooks.to_str().unwrap()]);
        }
        for key in [
            "core.fsmonitor",
            "core.editor",
            "core.pager",
            "core.askPass",
            "core.sshCommand",
            "core.gitProxy",
            "core.alternateRefsCommand",
            "credential.helper",
            "diff.external",
            "diff.canary.textconv",
            "diff.canary.command",
            "filter.canary.clean",
            "filter.canary.smudge",
            "filter.canary.process",
            "gpg.program",
            "interactive.diffFilter",
            "merge.canary.driver",
            "pager.log",
            "sequence.editor",
            "uploadpack.packObjectsHook",
        ] {
            let script = world.root().join("programs").join(key);
            canary(&canaries, &script, key);
            world.git(["config", key, script.to_str().unwrap()]);
        }
        world.git(["config", "commit.gpgSign", "true"]);
        world.git(["config", "merge.default", "canary"]);
        world.write(".git/info/attributes", "*.txt diff=canary merge=canary\n");
        fs::write(world.root().join("home/.gitconfig"), "[color]\n\tui = auto\n").unwrap();
        // What git itself wrote up to here is not on trial.
        for name in names(&canaries) {
            fs::remove_file(canaries.join(name)).unwrap();
        }
        Home { world, canaries }
    }

    /// Everything of the person's; branches in `except` may have moved.
    fn picture(&self, except: &[&str]) -> (Picture, Vec<Bytes>) {
        let root = self.world.root();
        let mut folders = vec![root.join("other"), root.join("home"), root.join("programs")];
        folders.push(self.world.path(".git/worktrees/other"));
        folders.push(self.world.path(".git/info"));
        let reflogs = ["refs/stash", "refs/heads/desk", "refs/heads/side", "HEAD"];
        let logs = self.world.path(".git/logs");
        let kept = |dir: &Path| bytes(dir).into_iter().map(|(p, (b, m, _))| (p, (b, m))).collect();
        let mut all: Vec<Bytes> = folders.iter().map(|f| kept(f)).collect();
        all.push(reflogs.iter().map(|l| (l.into(), (fs::read(logs.join(l)).unwrap(), 0))).collect());
        (self.world.picture(except), all)
    }

    /// Runs a verb; it ends with `code`, the person's things are as before, and no canary sang.
    #[track_caller]
    fn verb(&self, except: &[&str], code: i32, args: &[&str]) -> Ran {
        let before = self.picture(except);
        let ran = self.world.skein(args).code(code);
        assert_eq!(self.picture(except), before, "{args:?}");
        assert_eq!(
            names(&self.canaries),
            Vec::<String>::new(),
            "{args:?} ran a program of the configuration"
        );
        ran
    }
}

/// Every writing verb and every reading one, in the order of a day's work.
fn a_day(home: &Home) {
    let all = |args: &[&str]| home.verb(&[], 0, args);
    let commit = |what: &str| format!("{GIT}{what}; git add -A && git commit -q -m done");
    all(&["init"]);
    all(&["dispatch", "--wait", "--name", "one", "One", "--", "sh", "-c", &commit("sed -i s/1/one/ a.txt")]);
    all(&["dispatch", "--wait", "--name", "two", "Two", "--", "sh", "-c", &commit("echo two >two")]);
    all(&["dispatch", "--wait", "--name", "three", "Three", "--", "sh", "-c", &commit("echo 3 >three")]);
    all(&["dispatch", "--name", "idle", "Idle", "--", "sleep", "60"]);
    home.verb(&[], 75, &["wait", "idle", "--timeout", "1"]);
    all(&["stop", "idle"]);
    all(&["wait", "one"]);
    all(&["status"]);
    for part in ["--diff", "--brief", "--events", "--log", "--json"] {
        all(&["show", "one", part]);
    }
    all(&["show", "one"]);
    all(&["import", "one", "--dry-run"]);
    all(&["import", "one"]);
    home.verb(&["collect"], 0, &["import", "three", "--into", "collect"]);
    home.verb(&[], 1, &["landed", "one"]);
    all(&["candidate", "create", "one"]);
    home.verb(&[], 5, &["candidate", "admit", "one", "--gate", "false"]);
    all(&["candidate", "admit", "one", "--gate", "grep -q one a.txt"]);
    home.verb(&["main"], 0, &["candidate", "integrate", "one"]);
    all(&["land", "two", "--dry-run"]);
    home.verb(&["main"], 0, &["land", "two", "--gate", "test -f two"]);
    home.verb(&["main"], 0, &["land", "collect"]);
    all(&["landed", "one", "--explain"]);
    all(&["landed", "collect"]);
    all(&["log"]);
    all(&["man", home.world.root().join("man").to_str().unwrap()]);
    all(&["help"]);
    assert_eq!(home.world.git(["show", "main:two"]), "two");
    assert_eq!(home.world.git(["show", "main:three"]), "3");
    home.world.check();
}

#[test]
fn a_days_work_leaves_everything_as_it_was_and_runs_no_hook() {
    a_day(&Home::new(false));
}

#[test]
fn a_days_work_runs_no_hook_of_a_folder_that_is_configured() {
    a_day(&Home::new(true));
}

/// A worker may name the person's filters in its attributes; nobody runs them to read its work.
#[test]
fn a_workers_attributes_start_no_program() {
    let home = Home::new(false);
    let script = format!(
        "{GIT}echo '* filter=canary diff=canary merge=canary' >.gitattributes; echo 1 >one; git add -A && git commit -q -m done; echo more >one; echo left >left"
    );
    let dispatched = ["dispatch", "--wait", "--name", "w", "W", "--", "sh", "-c", &script];
    home.verb(&[], 0, &dispatched);
    for args in [&["show", "w"][..], &["show", "w", "--diff"], &["status"], &["import", "w"]] {
        home.verb(&[], 0, args);
    }
    home.verb(&[], 1, &["import", "w", "--uncommitted"]);
    home.verb(&["main"], 0, &["land", "w"]);
    home.verb(&[], 0, &["landed", "w"]);
    assert_eq!(home.world.git(["show", "main:one"]), "1");
    home.world.check();
}

#[test]
fn reading_verbs_change_no_byte_and_no_time_below_git() {
    let world = World::new();
    world.worker("w", "sed -i s/1/one/ a.txt; git commit -q -am done; echo left >left");
    world.worker("x", "sed -i s/9/nine/ a.txt; git commit -q -am done");
    world.skein(&["import", "x"]).ok();
    world.skein(&["candidate", "create", "x"]).ok();
    world.skein(&["land", "w"]).ok();
    // Files that look changed to git's index: an ordinary `git status` would refresh it.
    let touched = fs::File::options().append(true).open(world.path("b.txt")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
    let all = || (bytes(&world.path(".git")), bytes(&world.worktree("w")));
    let before = all();
    for (code, args) in reading() {
        let args: Vec<&str> = args.split(' ').collect();
        world.skein(&args).code(code);
        let now = all();
        let changed: Vec<_> = now.0.iter().filter(|(p, b)| before.0.get(*p) != Some(b)).collect();
        assert!(now == before, "{args:?} changed {changed:?}");
    }
}

/// In a repository that nobody prepared, too.
#[test]
fn reading_verbs_prepare_nothing() {
    let world = World::new();
    world.write("b.txt", "more\n");
    world.commit("second");
    let before = bytes(&world.path(".git"));
    for (code, args) in [
        (0, "status"),
        (0, "log"),
        (0, "wait"),
        (0, "doctor"),
        (1, "show w"),
        (0, "landed main"),
        (0, "help land"),
        (1, "land"),
        (1, "land w --dry-run"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        world.skein(&args).code(code);
        assert_eq!(bytes(&world.path(".git")), before, "{args:?}");
    }
}

/// Reading verbs with their exit codes, for a landed worker `w` and one `x` with a candidate.
fn reading() -> Vec<(i32, &'static str)> {
    vec![
        (0, "status"),
        (0, "show w"),
        (0, "show w --diff"),
        (0, "show w --brief"),
        (0, "show w --events"),
        (0, "show w --log"),
        (0, "events"),
        (0, "events w --since now"),
        (0, "wait w"),
        (0, "wait"),
        (0, "landed w"),
        (0, "landed w --explain"),
        (1, "landed x"),
        (0, "landed main"),
        (0, "log"),
        (0, "log -n 1"),
        (0, "doctor"),
        (0, "help"),
        (0, "help land"),
        (0, "help exit-codes"),
        (0, "import x --dry-run"),
        (0, "land x --dry-run"),
    ]
}

#[test]
fn verbs_work_from_any_place_of_a_repository() {
    let world = World::new();
    world.write("sub/deep/keep", "k\n");
    world.commit("more");
    world.git(["worktree", "add", "-q", "--detach", "../linked"]);
    let bare = World::new();
    let at = |path: &Path| path.to_str().unwrap().to_owned();
    let (repo, linked) = (at(&world.repo), at(&world.root().join("linked")));
    let (git, sub) = (at(&world.path(".git")), at(&world.path("sub/deep")));
    let elsewhere = at(&bare.root());
    let ceiling = at(&world.path("sub"));
    type Place<'a> = (&'a str, &'a str, Vec<&'a str>, Vec<(&'a str, &'a str)>);
    let places: Vec<Place<'_>> = vec![
        ("sub-folder", &sub, vec![], vec![]),
        ("-C", &elsewhere, vec!["-C", &sub], vec![]),
        ("-C relative", &sub, vec!["-C", ".."], vec![]),
        ("linked", &linked, vec![], vec![]),
        ("git folder", &git, vec![], vec![]),
        ("GIT_DIR", &elsewhere, vec![], vec![("GIT_DIR", &git)]),
        ("GIT_DIR and GIT_WORK_TREE", &elsewhere, vec![], vec![("GIT_DIR", &git), ("GIT_WORK_TREE", &repo)]),
        ("relative GIT_DIR", &repo, vec![], vec![("GIT_DIR", ".git"), ("GIT_WORK_TREE", ".")]),
        ("another repository's GIT_INDEX_FILE", &repo, vec![], vec![("GIT_INDEX_FILE", "/nowhere/index")]),
        ("GIT_OBJECT_DIRECTORY", &repo, vec![], vec![("GIT_OBJECT_DIRECTORY", "/nowhere/objects")]),
        ("GIT_CEILING_DIRECTORIES", &repo, vec![], vec![("GIT_CEILING_DIRECTORIES", &ceiling)]),
    ];
    for (n, (name, cwd, before, env)) in places.into_iter().enumerate() {
        let run = |args: &[&str]| {
            let mut command = world.command(&[&before, args].concat());
            command.current_dir(cwd).envs(env.clone());
            ran(command.output().unwrap())
        };
        let handle = format!("w{n}");
        let script = format!("echo {n} >new{n}; git add -A; git commit -q -m {n}");
        let picture = world.picture(&["main"]);
        run(&["dispatch", "--wait", "--name", &handle, "T", "--", "sh", "-c", &script]).ok();
        assert_eq!(world.picture(&["main"]), picture, "{name}");
        assert_eq!(
            run(&["status", "--json"]).ok().json()["result"]["workers"][n]["outcome"],
            "ready",
            "{name}"
        );
        let tip = world.rev("main");
        run(&["land", &handle, "--gate", &format!("test -f new{n}")]).ok();
        assert_eq!(world.rev("main^"), tip, "{name}");
        assert_eq!(world.read(&format!("new{n}")), format!("{n}\n"), "{name}: the main checkout moves");
        assert_eq!(world.git(["status", "--porcelain"]), "", "{name}");
        run(&["landed", &handle]).ok();
    }
    world.check();
}

#[test]
fn configuration_of_one_call_counts() {
    let world = World::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_git-skein")).parent().unwrap().to_str().unwrap().to_owned();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    world.git(["branch", "other"]);
    let world = world.env("PATH", &path);
    let dispatch = ["skein", "dispatch", "--wait", "--json", "--name", "w", "T", "--", "sh", "-c", NEW];
    let said = world.git(["-c", "skein.trunk=other"].iter().chain(&dispatch));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["result"]["workers"][0]["onto"], "refs/heads/other");
    let (main, other) = (world.rev("main"), world.rev("other"));
    world.git(["-c", "skein.trunk=other", "skein", "land", "w"]);
    assert_eq!((world.rev("main"), world.rev("other^")), (main, other));
    assert!(!world.git(["config", "--list"]).contains("skein.trunk"));
    let counted = world.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "skein.trunk");
    let counted = counted.env("GIT_CONFIG_VALUE_0", "other");
    counted.skein(&["landed", "other"]).ok();
    assert_eq!(counted.skein(&["landed", "other", "--json"]).json()["result"]["onto"], "refs/heads/other");
}

/// What steers a terminal: controls but line feed and tab, and what reorders text.
fn raw(text: &str) -> Vec<char> {
    let bidi = |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|c| (c.is_control() && !"\n\t".contains(*c)) || bidi(*c) || *c == '\u{fffd}')
        .collect()
}

/// Without the styles that we set ourselves: bold, dim, a colour, and the end of each.
fn without_styles(text: &str) -> String {
    let styles = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];
    styles.iter().fold(text.to_owned(), |text, style| text.replace(style, ""))
}

/// ESC with a window title, a hidden style, CR, a C1 introducer, a bell, BS, an override and an isolate.
const EVIL: &str = "evil\u{1b}]0;title\u{7}\u{1b}[8mhidden\rover\u{9b}31m\u{8}\u{202e}txet\u{2066}end";

#[test]
fn nothing_that_a_worker_controls_reaches_a_terminal_raw() {
    let world = World::new();
    let script = format!(
        "printf '%s\\n' '{EVIL}'; printf '%s\\n' '{EVIL}' >&2
         export GIT_AUTHOR_NAME='{EVIL}'
         printf '%s\\n' '{EVIL}' >>a.txt; git commit -q -am '{EVIL}'
         printf '%s' '{EVIL}' >'{EVIL}'
         printf '#!/bin/sh\\ncat a.txt; exit 1\\n' >check.sh; git add check.sh; git commit -q -m '{EVIL}'"
    );
    let evil_task = format!("Task {EVIL}");
    world
        .skein(&["dispatch", "--wait", "--name", "w", &evil_task, "--path", "x", "--", "sh", "-c", &script])
        .ok();
    world
        .skein(&[
            "dispatch",
            "--wait",
            "--name",
            "bad",
            &evil_task,
            "--",
            "sh",
            "-c",
            &format!("{script}; git add -A; git commit -q -m '{EVIL}'"),
        ])
        .ok();
    let silent = format!("printf '%s' '{EVIL}'; sleep 30");
    world
        .skein(&["dispatch", "--wait", "--silence", "1", "--name", "mute", "T", "--", "sh", "-c", &silent])
        .code(3);
    let runs: &[(i32, &[&str])] = &[
        (0, &["status"]),
        (0, &["show", "w"]),
        (0, &["show", "w", "--diff"]),
        (0, &["show", "w", "--log"]),
        (0, &["show", "w", "--brief"]),
        (0, &["show", "w", "--events"]),
        (0, &["events"]),
        (0, &["show", "bad"]),
        (0, &["show", "mute"]),
        (3, &["wait", "mute"]),
        (0, &["stop", "mute"]),
        (0, &["import", "w"]),
        (1, &["import", "bad"]),
        (1, &["land", "bad"]),
        (5, &["land", "w", "--gate", "sh check.sh"]),
        (0, &["land", "w", "--dry-run"]),
        (1, &["landed", "w", "--explain"]),
        (0, &["land", "w", "--squash"]),
        (0, &["land", "w"]),
        (0, &["landed", "w", "--explain"]),
        (0, &["log"]),
        (1, &["land", "w", "bad"]),
        (1, &["show", EVIL]),
        (1, &["landed", EVIL]),
        (1, &["dispatch", "--base", EVIL, "T"]),
        (1, &["dispatch", "--name", EVIL, "T"]),
        (1, &["dispatch", "T", "--", EVIL]),
        (129, &["show", "w", EVIL]),
        (129, &[EVIL]),
    ];
    let mut evil = 0;
    for (code, args) in runs {
        for color in ["--color=never", "--color=always"] {
            let ran = world.skein(&[&[color], *args].concat()).code(*code);
            let text = without_styles(&format!("{}{}", ran.out, ran.err));
            assert_eq!(raw(&text), Vec::<char>::new(), "{args:?}: {text:?}");
            evil += usize::from(text.contains("\\u{1b}[8mhidden"));
        }
    }
    assert!(evil > 30, "what the worker wrote was shown {evil} times only");
}

#[test]
fn json_holds_no_raw_control_either_and_gives_the_text_back() {
    let world = World::new();
    world.worker("w", &format!("printf '%s' '{EVIL}'; echo 1 >new; git add -A; git commit -q -m '{EVIL}'"));
    let log = world.skein(&["show", "w", "--log", "--json"]).ok();
    assert_eq!(log.json()["result"], EVIL);
    assert_eq!(raw(&log.out), Vec::<char>::new());
    let imported = world.skein(&["import", "w", "--json"]).ok();
    assert_eq!(imported.json()["result"]["delta"]["commits"][0]["subject"], EVIL);
    assert_eq!(raw(&imported.out), Vec::<char>::new());
}

/// The envelope of every result.
#[track_caller]
fn envelope(ran: Ran, verb: &str, key: &str) {
    let value = ran.json();
    assert_eq!(value["schema"], "git-skein/1", "{ran:?}");
    assert_eq!(value["verb"], verb, "{ran:?}");
    assert!(value.get(key).is_some_and(|v| !v.is_null()), "{ran:?}");
}

#[test]
fn json_of_every_verb_has_one_shape() {
    let world = World::new();
    let json = |code: i32, args: &[&str]| {
        let ran = world.skein(&[args, &["--json"]].concat()).code(code);
        assert_eq!(ran.out.matches("\"schema\"").count(), 1, "one document: {ran:?}");
        ran
    };
    envelope(json(0, &["init"]), "init", "result");
    envelope(json(0, &["dispatch", "--name", "v", "T"]), "dispatch", "result");
    let ran = world.command(&["--json", "dispatch", "--wait", "--name", "w", "T", "--", "sh", "-c", NEW]);
    envelope(ran_of(ran).ok(), "dispatch", "result");
    for part in ["--diff", "--brief", "--events", "--log"] {
        envelope(json(0, &["show", "w", part]), "show", "result");
    }
    for (code, verb, rest) in [
        (0, "status", ""),
        (0, "show", "w"),
        (0, "wait", "v"),
        (0, "stop", "w"),
        (0, "import", "w"),
        (0, "candidate", "create w"),
        (0, "candidate", "admit w --gate true"),
        (0, "candidate", "integrate w"),
        (0, "land", "v"),
        (0, "land", "v w"),
        (0, "landed", "w"),
        (0, "landed", "main"),
        (0, "log", ""),
        (0, "doctor", ""),
        (0, "doctor", "--fix"),
        (0, "help", ""),
        (0, "help", "land"),
        (0, "help", "exit-codes"),
        (0, "help", "refusals"),
        (0, "help", "refusals busy"),
        (0, "completions", "bash"),
        (0, "man", "../man"),
    ] {
        let words: Vec<&str> = [verb].into_iter().chain(rest.split(' ').filter(|w| !w.is_empty())).collect();
        envelope(json(code, &words), verb, "result");
    }
    let errors: &[(i32, &str, &[&str])] = &[
        (1, "show", &["show", "nobody"]),
        (1, "dispatch", &["dispatch", " "]),
        (1, "wait", &["wait", "nobody"]),
        (1, "stop", &["stop", "nobody"]),
        (1, "import", &["import", "nobody"]),
        (1, "candidate", &["candidate", "create", "nobody"]),
        (1, "land", &["land", "nobody"]),
        (1, "landed", &["landed", "nobody"]),
        (128, "status", &["-C", "/", "status"]),
        (129, "git-skein", &["show"]),
        (129, "git-skein", &["no-such-verb"]),
    ];
    for (code, verb, args) in errors {
        let ran = json(*code, args);
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], *code, "{ran:?}");
        assert!(error["token"].as_str().is_some_and(|t| !t.is_empty()), "{ran:?}");
        assert!(error["says"].as_str().is_some_and(|t| !t.is_empty()), "{ran:?}");
        envelope(ran, verb, "error");
    }
}

fn ran_of(mut command: std::process::Command) -> Ran {
    ran(command.output().unwrap())
}

#[test]
fn results_go_to_standard_output_and_status_to_standard_error() {
    let world = World::new();
    let dispatched = world.skein(&["dispatch", "--wait", "--name", "w", "T", "--", "sh", "-c", NEW]).ok();
    assert!(dispatched.err.contains("init: "), "it says once that it prepared: {}", dispatched.err);
    assert!(!dispatched.out.contains("init: ") && dispatched.out.starts_with("w "), "{}", dispatched.out);
    let landed = world.skein(&["land", "w", "--gate", "echo from the gate"]).ok();
    assert_eq!(landed.err, "gate: echo from the gate\n");
    assert!(landed.out.starts_with("landed: w on main"), "{}", landed.out);
    for args in [&["status"][..], &["show", "w"], &["log"], &["landed", "w"], &["help"], &["wait", "w"]] {
        let ran = world.skein(args).ok();
        assert!(ran.err.is_empty() && !ran.out.is_empty(), "{args:?}: {ran:?}");
    }
    let refused = world.skein(&["show", "nobody"]).refused("no-such-worker", 1);
    assert_eq!(refused.out, "");
}

#[test]
fn quiet_silences_the_status_and_nothing_else() {
    let world = World::new();
    let quiet = world.skein(&["-q", "dispatch", "--wait", "--name", "w", "T", "--", "sh", "-c", NEW]).ok();
    assert_eq!(quiet.err, "");
    assert!(quiet.out.contains("w ready"), "{}", quiet.out);
    let landed = world.skein(&["land", "w", "--gate", "true", "-q"]).ok();
    assert_eq!(landed.err, "");
    assert!(landed.out.starts_with("landed: w on main"), "{}", landed.out);
    let refused = world.skein(&["-q", "show", "nobody"]).refused("no-such-worker", 1);
    assert_eq!(refused.out, "");
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let world = World::new();
    world.worker("w", "true");
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = world.command(args);
        command.envs(env.iter().copied());
        let ran = ran_of(command);
        (ran.out + &ran.err).contains('\u{1b}')
    };
    for args in [&["show", "w"][..], &["show", "nobody"], &["landed", "main"]] {
        let always = [args, &["--color=always"]].concat();
        assert!(!coloured(args, &[]), "{args:?} into a pipe");
        assert!(coloured(&always, &[]), "{args:?} when asked");
        assert!(coloured(&always, &[("NO_COLOR", "1")]), "{args:?} when asked by a flag");
        assert!(!coloured(args, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), "{args:?}");
        assert!(!coloured(&[args, &["--color=never"]].concat(), &[("CLICOLOR_FORCE", "1")]), "{args:?}");
    }
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let world = World::new();
    let table: BTreeMap<i32, String> = world
        .skein(&["help", "exit-codes"])
        .ok()
        .out
        .lines()
        .map(|l| l.trim().split_once("  ").unwrap())
        .map(|(code, what)| (code.parse().unwrap(), what.to_owned()))
        .collect();
    assert_eq!(table.keys().copied().collect::<Vec<_>>(), [0, 1, 3, 4, 5, 75, 128, 129, 130]);
    let mut seen = BTreeMap::new();
    let mut run = |args: &[&str]| {
        let code = world.skein(args).code;
        seen.insert(code, args.join(" "));
        code
    };
    let script = |word: &str| format!("sed -i 's/line 1/{word}/' a.txt; git commit -q -am {word}");
    for name in ["one", "two"] {
        let script = script(name);
        assert_eq!(run(&["dispatch", "--wait", "--name", name, "T", "--", "sh", "-c", &script]), 0);
    }
    assert_eq!(run(&["landed", "one"]), 1);
    assert_eq!(run(&["land", "one", "--gate", "false"]), 5);
    assert_eq!(run(&["dispatch", "--wait", "--name", "ill", "T", "--", "false"]), 1);
    assert_eq!(run(&["dispatch", "--wait", "--name", "half", "T", "--", "sh", "-c", "echo 1 >x"]), 3);
    assert_eq!(run(&["dispatch", "--name", "long", "T", "--", "sleep", "600"]), 0);
    assert_eq!(run(&["wait", "long", "--timeout", "0"]), 75);
    assert_eq!(run(&["candidate", "create", "one"]), 0);
    assert_eq!(run(&["candidate", "admit", "one"]), 0);
    world.commit("the trunk goes on");
    assert_eq!(run(&["candidate", "integrate", "one"]), 4);
    assert_eq!(run(&["land", "one"]), 0);
    assert_eq!(run(&["land", "two"]), 3);
    assert_eq!(run(&["landed", "nothing-like-it"]), 1);
    assert_eq!(run(&["-C", "/", "status"]), 128);
    assert_eq!(run(&["land", "--retries", "many"]), 129);
    let mut waits = world.command(&["wait", "long"]);
    let mut waits = waits.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(waits.try_wait().unwrap().is_none(), "it waits");
    std::process::Command::new("kill").args(["-INT", &waits.id().to_string()]).status().unwrap();
    let ended = waits.wait().unwrap();
    // What a shell makes 130 of.
    assert!(ended.signal() == Some(2) || ended.code() == Some(130), "{ended:?}");
    assert_eq!(run(&["stop", "long"]), 0);
    assert_eq!(run(&["wait", "long"]), 1);
    seen.insert(130, "wait".to_owned());
    assert_eq!(seen.keys().collect::<Vec<_>>(), table.keys().collect::<Vec<_>>(), "{seen:?}");
    world.check();
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = World::new();
    world.worker("w", "i=0; while [ $i -lt 40000 ]; do echo $i; i=$((i+1)); done");
    let mut shows =
        world.command(&["show", "w", "--log"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(shows.stdout.take());
    let ended = ran(shows.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

/// A script that keeps the result in a file must learn that it is not there.
#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    for args in [&["status"][..], &["status", "-z"], &["show", "w", "--json"], &["land", "w", "--json"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = ran(world.command(args).stdout(full).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(ended.code, 128, "{args:?}: {}", ended.err);
        assert!(ended.err.contains("writing the result"), "{args:?}: {}", ended.err);
    }
    world.skein(&["landed", "w"]).ok();
}

/// A flag, then the environment, then `color.skein`, then `color.ui`; the configuration only turns it off. What reads
/// a terminal is in the tests of the dock.
#[test]
fn colour_follows_the_configuration() {
    let world = World::new().env("SKEIN_CLOCK", &MOMENT.to_string());
    world.worker("w", "true");
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = world.command(args);
        command.envs(env.iter().copied());
        ran_of(command).out.contains('\u{1b}')
    };
    for (key, value) in
        [("color.ui", "auto"), ("color.ui", "always"), ("color.skein", "always"), ("color.ui", "false")]
    {
        world.git(["config", key, value]);
        for args in [&["show", "w"][..], &["status"]] {
            assert!(!coloured(args, &[]), "{args:?} {key}={value}: a pipe");
            assert!(coloured(&[args, &["--color=always"]].concat(), &[]), "{args:?} {key}={value}: a flag");
            assert!(coloured(args, &[("CLICOLOR_FORCE", "1")]), "{args:?} {key}={value}: the environment");
            assert!(!coloured(&[args, &["--color=never"]].concat(), &[]), "{args:?} {key}={value}");
        }
    }
    let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
    let shown = world.skein(&["status", "--color=always"]).ok().out;
    assert_eq!(plain(&shown), world.skein(&["status", "--color=never"]).ok().out, "colour moves nothing");
    assert!(shown.contains("\u{1b}[1mw\u{1b}[0m"), "{shown:?}");
}
