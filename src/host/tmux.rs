//! The person's tmux server, spoken to by its own client.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Env;
use crate::host::process::Run;
use crate::host::process::run_to_end;
use crate::host::typing::harmless;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest line that is typed by keys: a client can say only so much at once.
const LINE: usize = 2 << 10;

/// Most of an answer that is kept.
const ANSWER: usize = 4 << 20;

/// What a client of one person's server is run with.
#[derive(Debug, Clone)]
pub struct Tmux {
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
}

impl Tmux {
    pub fn new(env: &Env) -> Tmux {
        Tmux {
            env: env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            cwd: env.cwd().to_owned(),
        }
    }

    /// What tmux says to `args`; its words are the fault if it fails.
    pub fn say(&self, args: &[&OsStr], stdin: Option<&[u8]>) -> Result<Vec<u8>> {
        let argv: Vec<OsString> =
            [OsStr::new("tmux")].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        let ended = run_to_end(Run {
            argv,
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            stdin: stdin.map(<[u8]>::to_vec),
            timeout: Some(PATIENCE),
            keep: ANSWER,
        })?;
        if ended.code == Some(0) {
            return Ok(ended.output);
        }
        let doing = format!("tmux {}", args.first().map(|arg| arg.to_string_lossy()).unwrap_or_default());
        Err(Failure::fault(doing, ended.output.to_str_lossy().trim()))
    }

    fn tell(&self, args: &[&str]) -> Result<Vec<u8>> {
        self.say(&args.iter().map(OsStr::new).collect::<Vec<_>>(), None)
    }

    /// The same with a folder and a command at the end.
    fn start(&self, words: &[&str], cwd: &Path, argv: &[OsString]) -> Result<Vec<u8>> {
        let ends = [OsStr::new("-c"), cwd.as_os_str(), OsStr::new("--")];
        let words = words.iter().map(OsStr::new).chain(ends);
        self.say(&words.chain(argv.iter().map(OsString::as_os_str)).collect::<Vec<_>>(), None)
    }

    /// Makes the session `name` with `argv` in its first window, unless there is one of that name.
    pub fn session(&self, name: &str, cwd: &Path, argv: &[OsString]) -> Result<()> {
        let target = format!("={name}");
        if self.tell(&["has-session", "-t", &target]).is_ok() {
            return Ok(());
        }
        let words = ["new-session", "-d", "-x", "200", "-y", "50", "-s", name, "-n", "status"];
        match self.start(&words, cwd, argv) {
            Ok(_) => Ok(()),
            // Another dispatch was first.
            Err(_) if self.tell(&["has-session", "-t", &target]).is_ok() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// A new window of the session, which stays when its command has ended; gives the id of its pane.
    pub fn window(&self, session: &str, name: &str, cwd: &Path, argv: &[OsString]) -> Result<String> {
        let target = format!("={session}:");
        let words = ["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", &target, "-n", name];
        let pane = self.start(&words, cwd, argv)?.to_str_lossy().trim().to_owned();
        self.tell(&["set-option", "-w", "-t", &pane, "remain-on-exit", "on"])?;
        Ok(pane)
    }

    /// The process that the pane was opened with.
    pub(super) fn process(&self, pane: &str) -> Result<u32> {
        let said = self.tell(&["display-message", "-p", "-t", pane, "#{pane_pid}"])?;
        said.to_str_lossy().trim().parse().map_err(|e| Failure::fault("reading the process of a pane", e))
    }

    /// Lets what the pane prints flow into the file or pipe `to`.
    pub fn pipe(&self, pane: &str, to: &Path) -> Result<()> {
        let quoted = to.to_string_lossy().replace('\'', r"'\''");
        self.tell(&["pipe-pane", "-t", pane, &format!("exec cat >'{quoted}'")]).map(drop)
    }

    /// Types `text` into the pane: one line by keys, more as one paste. Then Enter. Nothing in it is a key.
    pub fn type_in(&self, pane: &str, text: &str) -> Result<()> {
        self.put_in(pane, &harmless(text))?;
        self.enter(pane)
    }

    pub(super) fn enter(&self, pane: &str) -> Result<()> {
        self.tell(&["send-keys", "-t", pane, "Enter"]).map(drop)
    }

    /// The same without Enter, of a text that has no control characters.
    pub(super) fn put_in(&self, pane: &str, text: &str) -> Result<()> {
        if text.contains('\n') || text.len() > LINE {
            // Of this pane alone: another relay may be typing into its own at the same time.
            let buffer = format!("skein{pane}");
            self.say(&["load-buffer", "-b", &buffer, "-"].map(OsStr::new), Some(text.as_bytes()))?;
            let paste = format!("paste-buffer -p -d -b '{buffer}' -t '{pane}'");
            // Servers before 3.5 crash when they paste into a dead pane. In one command nothing comes between.
            let drop_it = format!("delete-buffer -b '{buffer}'");
            return self.tell(&["if-shell", "-F", "-t", pane, "#{pane_dead}", &drop_it, &paste]).map(drop);
        }
        // A semicolon at the end would end the command.
        let whole = text.strip_suffix(';').map_or(text.to_owned(), |before| format!("{before}\\;"));
        self.tell(&["send-keys", "-t", pane, "-l", "--", &whole]).map(drop)
    }

    /// What stands in the line of the cursor, left of it.
    pub(super) fn before_cursor(&self, pane: &str) -> Result<String> {
        let at = self.tell(&["display-message", "-p", "-t", pane, "#{cursor_x} #{cursor_y}"])?;
        let at = at.to_str_lossy();
        let (column, row) = at.trim().split_once(' ').unwrap_or(("0", "0"));
        let line = self.tell(&["capture-pane", "-p", "-t", pane, "-S", row, "-E", row])?;
        Ok(line.to_str_lossy().chars().take(column.parse().unwrap_or(0)).collect())
    }

    /// The last `lines` lines of the pane and of what scrolled out of it. Of empty ones in a row only one: most of a
    /// screen is empty.
    pub fn screen(&self, pane: &str, lines: u32) -> Result<Vec<u8>> {
        let text = self.tell(&["capture-pane", "-p", "-J", "-t", pane, "-S", &format!("-{lines}")])?;
        Ok(shown(&text, lines))
    }

    /// Brings the client that we run in to the pane.
    pub fn switch(&self, pane: &str) -> Result<()> {
        self.tell(&["switch-client", "-t", pane]).map(drop)
    }

    /// Closes the pane, and its window with it.
    pub fn close(&self, pane: &str) -> Result<()> {
        self.tell(&["kill-pane", "-t", pane]).map(drop)
    }
}

pub(super) fn shown(screen: &[u8], lines: u32) -> Vec<u8> {
    let mut shown: Vec<&[u8]> = screen.trim_end().lines().collect();
    shown.dedup_by(|line, before| line.is_empty() && before.is_empty());
    last_lines(&[shown.join(&b'\n'), vec![b'\n']].concat(), lines)
}

/// The last `lines` lines of a text.
pub fn last_lines(text: &[u8], lines: u32) -> Vec<u8> {
    let all: Vec<&[u8]> = text.lines_with_terminator().collect();
    all[all.len().saturating_sub(lines as usize)..].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Server(Tmux);

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.tell(&["kill-server"]);
        }
    }

    #[test]
    fn a_paste_into_a_dead_pane_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let env = [("PATH", OsString::from("/usr/bin:/bin")), ("TMUX_TMPDIR", dir.path().into())];
        let env = env.map(|(name, value)| (name.into(), value)).to_vec();
        let tmux = Tmux { env, cwd: dir.path().to_owned() };
        if tmux.tell(&["-V"]).is_err() {
            return;
        }
        let server = Server(tmux);
        let tmux = &server.0;
        tmux.session("s", dir.path(), &["sleep".into(), "600".into()]).unwrap();
        let script = "echo begun; read -r go; exit 3";
        let pane = tmux.window("s", "w", dir.path(), &["sh".into(), "-c".into(), script.into()]).unwrap();
        tmux.type_in(&pane, "go").unwrap();
        let dead = || tmux.tell(&["display-message", "-p", "-t", &pane, "#{pane_dead}"]).unwrap() == b"1\n";
        while !dead() {
            std::thread::sleep(Duration::from_millis(5));
        }
        tmux.type_in(&pane, "two\nlines").unwrap();
        assert_eq!(tmux.tell(&["list-buffers"]).unwrap(), b"", "and nothing of it is left");
    }
}
