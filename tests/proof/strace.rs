//! Commands under strace: which system calls they make, and one of them struck.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// All that may change a disk, start or end a process, or say something.
pub const CALLS: &str = "write,pwrite64,rename,renameat,renameat2,openat,fsync,fdatasync,syncfs,close,link,linkat,\
    symlink,symlinkat,mkdir,mkdirat,unlink,unlinkat,rmdir,ftruncate,copy_file_range,execve,clone,clone3,vfork,exit_group";

/// Whether strace can strike here. Where everything must be there, it must be, too.
pub fn there() -> bool {
    let probe = ["-DD", "-o", "/dev/null", "-e", "trace=getpid", "-e", "inject=getpid:error=EIO", "true"];
    let there = Command::new("strace").args(probe).output().is_ok_and(|said| said.status.success());
    assert!(
        there || std::env::var_os("SKEIN_TEST_JAIL").is_none_or(|must| must != "must"),
        "there is no strace"
    );
    if !there {
        super::say("skipped, strace cannot strike here");
    }
    there
}

/// One call that a process of a command makes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub name: String,
    /// The how manieth of that name.
    pub nth: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Changes something, or says it.
    Writes,
    /// Closes what was written, opens a file without a name, or speaks to a process of one's own: that leaves nothing
    /// behind, but it may be the last that a process does.
    Passes,
    /// Says the result.
    Says,
    /// Opens something to read it.
    Reads,
    /// Starts or ends a process or a thread.
    Lives,
}

/// The calls in a log of strace (`-y`) that touch what is below `root`, or are said to another process.
pub fn calls(log: &str, root: &str) -> Vec<Call> {
    let mut seen: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut written: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    let mut all = Vec::new();
    for line in log.lines() {
        let (process, call) = match line.split_once(' ') {
            Some((first, rest)) if first.bytes().all(|b| b.is_ascii_digit()) => (first, rest.trim_start()),
            _ => ("", line),
        };
        let Some((name, rest)) = call.split_once('(') else { continue };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let nth = seen.entry((process, name)).or_default();
        *nth += 1;
        let open = rest.contains("O_CREAT") || rest.contains("O_TRUNC") || rest.contains("O_TMPFILE");
        let file = rest.split(['<', ',', ')']).next().unwrap_or_default();
        // A library is opened by its full path, wherever the process stands.
        let named =
            if name == "openat" { rest.split_once(", \"").map_or(rest, |(_, path)| path) } else { rest };
        if named.contains(&format!("{root}/home/")) {
            continue;
        }
        let inside = if named.starts_with('/') { named.starts_with(root) } else { rest.contains(root) };
        let kind = match name {
            "openat" if inside => {
                if let Some((_, opened)) = rest.rsplit_once(" = ") {
                    written.insert((process, opened.split('<').next().unwrap_or_default()), open);
                }
                match () {
                    // Without a name it is nowhere; so it is asked whether there may be files.
                    () if rest.contains("O_TMPFILE") => Kind::Passes,
                    () if open => Kind::Writes,
                    () => Kind::Reads,
                }
            }
            "close" if inside && written.remove(&(process, file)) == Some(true) => Kind::Passes,
            "openat" | "close" => continue,
            "clone" | "clone3" | "vfork" | "exit_group" => Kind::Lives,
            "execve" => continue,
            "write" if file == "2" => continue,
            // A file that was never named, on its way out: nothing hangs on that.
            "unlink" if rest.contains("/.skein-") => Kind::Passes,
            "write" if file == "1" => Kind::Says,
            "write" if rest.contains("<pipe:") => Kind::Passes,
            _ if inside => Kind::Writes,
            _ => continue,
        };
        all.push(Call { name: name.to_owned(), nth: *nth, kind });
    }
    all.sort();
    all.dedup();
    all
}

/// So long no command that is struck takes: one that hangs is ended, and has failed.
const LONG: &str = "120";

/// `command` under strace: `options` say which calls are noted and what is done to them. Its tracer stands beside it,
/// so that it is still the child of whoever starts it.
pub fn traced(command: &Command, log: &Path, options: &[&str]) -> Command {
    let mut strace = Command::new("timeout");
    strace
        .args(["--signal=KILL", LONG, "strace", "-DD", "-y", "-o"])
        .arg(log)
        .args(options)
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        strace.current_dir(folder);
    }
    strace.env_clear();
    strace.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    strace
}

/// `command`, which is ended if it hangs.
pub fn bounded(command: &Command) -> Command {
    let mut bounded = Command::new("timeout");
    bounded.args(["--signal=KILL", LONG]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        bounded.current_dir(folder);
    }
    bounded.env_clear();
    bounded.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    bounded
}

/// The options that strike at `call` with `fault`, a signal or an error in strace's words.
pub fn injection(call: &str, nth: u64, lasting: bool, fault: &str) -> [String; 4] {
    let lasting = if lasting { "+" } else { "" };
    ["-e".into(), format!("trace={call}"), "-e".into(), format!("inject={call}:{fault}:when={nth}{lasting}")]
}

/// Where a call was struck, by the log; nothing if it was not come to.
pub fn struck(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let hit = |line: &str| line.contains("(INJECTED)") || line.contains("killed by SIGKILL");
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| hit(line))?;
    let killed = lines[at].contains("killed by SIGKILL");
    let line = if killed && at > 0 { lines[at - 1] } else { lines[at] };
    Some(line.chars().take(200).collect())
}

/// Whether any of the calls that were struck was one that says something to a person.
pub fn silenced(log: &Path) -> bool {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().any(|line| line.contains("(INJECTED)") && line.contains("write(2<"))
}

/// What is done to the gits of a verb.
pub struct Plan<'a> {
    /// The number of the one that is struck; all are noted without it.
    pub nth: Option<u64>,
    pub options: &'a str,
    /// The verb dies with it.
    pub along: bool,
}

/// A script before git in `PATH`. Of the gits that the verb itself starts, and not its supervisor or its worker, it
/// puts the one that is meant under strace, with the log `git.<number>`. By files: a git is given no variable that it
/// has no use for.
pub fn gits(root: &Path, command: &mut Command, plan: &Plan<'_>) {
    let bin = root.join("bin");
    fs::create_dir_all(bin.join("nth")).unwrap();
    let (nth, root) = (bin.join("nth").display().to_string(), root.display());
    let meant = plan.nth.map_or_else(|| "*".to_owned(), |nth| nth.to_string());
    let options = plan.options;
    let strace = format!("strace -DD -f -y -o {root}/git.$nth {options} git \"$@\"");
    let ends = if plan.along {
        format!("{strace}\nended=$?\n[ $ended != 137 ] || kill -9 $PPID\nexit $ended\n")
    } else {
        format!("exec {strace}\n")
    };
    let script = format!(
        "#!/bin/sh
PATH=${{PATH#*:}}
case \"$(tr '\\0' ' ' </proc/$PPID/cmdline)\" in
*__supervise*) exec git \"$@\" ;;
*/git-skein*) ;;
*) exec git \"$@\" ;;
esac
set -C
nth=1
while ! {{ true >\"{nth}/$nth\"; }} 2>/dev/null; do nth=$((nth + 1)); done
case $nth in {meant}) ;; *) exec git \"$@\" ;; esac
{ends}"
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = command.get_envs().find(|(key, _)| *key == "PATH").and_then(|(_, value)| value).unwrap();
    command.env("PATH", format!("{}:{}", bin.display(), path.to_str().unwrap()));
}

#[test]
fn what_a_log_says() {
    let log = "7 openat(AT_FDCWD</r>, \"/r/a\", O_RDONLY) = 3</r/a>\n7 close(3</r/a>) = 0\n\
        7 openat(AT_FDCWD</r>, \"/r/b\", O_WRONLY|O_CREAT, 0666) = 3</r/b>\n8 write(1</x>, \"said\", 4) = 4\n\
        7 write(3</r/b>, \"x\", 1 <unfinished ...>\n7 <... write resumed>) = 1\n7 close(3</r/b>) = 0\n\
        7 openat(AT_FDCWD</r>, \"/lib/c\", O_RDONLY) = 3</lib/c>\n7 write(2</x>, \"told\", 4) = 4\n\
        7 write(5<pipe:[1]>, \"x\", 1) = 1\n7 exit_group(0) = ?\n7 +++ exited with 0 +++\n";
    let found: Vec<String> =
        calls(log, "/r").iter().map(|c| format!("{} {} {:?}", c.name, c.nth, c.kind)).collect();
    let want = [
        "close 2 Passes",
        "exit_group 1 Lives",
        "openat 1 Reads",
        "openat 2 Writes",
        "write 1 Writes",
        "write 1 Says",
        "write 3 Passes",
    ];
    assert_eq!(found, want);
}
