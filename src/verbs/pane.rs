//! Workers in tmux: one session for the repository, one window for each worker, which stays when its agent has
//! ended. `peek` shows what stands there, `attach` leads there.

use crate::domain::Handle;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::domain::mask;
use crate::host::Opening;
use crate::host::PaneDir;
use crate::host::PaneJob;
use crate::host::Tmux;
use crate::host::last_lines;
use crate::state::PANE;
use crate::verbs::job::Job;
use crate::verbs::session::LAUNCH;
use crate::verbs::session::Session;
use serde::Serialize;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::PathBuf;

/// The hidden verb that stands between a supervisor and a pane.
pub const RELAY: &str = "__relay";

/// The hidden verb that an agent's pane runs.
pub const KEEP: &str = "__keep";

/// What a terminal says of itself: the window is another one than that in which dispatch was called.
const OWN: [&str; 5] = ["TERM", "TMUX", "TMUX_PANE", "COLUMNS", "LINES"];

/// Bytes of a last screen that a record keeps.
const MOST: usize = 64 << 10;

/// What a pane shows.
#[derive(Debug, Serialize)]
pub struct Peeked {
    pub worker: WorkerId,
    pub handle: Handle,
    /// Its agent has ended; this is the last that it showed.
    pub ended: bool,
    #[serde(serialize_with = "crate::verbs::bytes_as_text")]
    pub screen: Vec<u8>,
}

/// Where a worker's window is.
#[derive(Debug, Serialize)]
pub struct Attached {
    pub worker: WorkerId,
    pub handle: Handle,
    pub session: String,
    pub pane: String,
    /// The client that called us shows it now.
    pub switched: bool,
    /// The command that leads there from outside.
    pub command: String,
}

/// Refuses where there is no tmux.
pub fn find(session: &Session<'_>) -> Result<PathBuf> {
    crate::host::find_program(session.env, "tmux").map_err(|_| {
        Refusal::new(Token::NoPane, "there is no tmux to open a window in")
            .show("command -v tmux")
            .next("install tmux, or dispatch without --tmux")
            .into()
    })
}

/// The session of this clone. tmux allows neither dots nor colons in it.
fn session_name(session: &Session<'_>) -> String {
    let id = session.clone_id().unwrap_or_default();
    format!("skein-{}", &id[id.len().saturating_sub(8)..])
}

/// Makes the session of all workers, if it is not there; its first window shows the status.
pub fn open_session(session: &Session<'_>) -> Result<()> {
    let common = &session.repo.dirs.common;
    let exe = session.env.exe().as_os_str().to_owned();
    let argv = [exe, "-C".into(), common.as_os_str().to_owned(), "status".into(), "--watch".into()];
    Tmux::new(session.env).session(&session_name(session), common, &argv)
}

/// The same for a worker that runs again: its old window goes, and what that showed stands on the record.
pub fn reopen(session: &Session<'_>, id: WorkerId) -> Result<()> {
    find(session)?;
    close(session, id);
    crate::host::remove_tree(&session.local.pane(id))?;
    open_session(session)
}

/// The command that runs `job` in a window, as a child of the supervisor.
pub fn in_window(
    session: &Session<'_>,
    job: &Job,
    handle: &Handle,
    spec: &crate::host::Spec,
) -> Result<Vec<OsString>> {
    let exe = session.env.exe().as_os_str().to_owned();
    let dir = session.local.pane(job.worker);
    PaneDir::new(&dir).prepare(&PaneJob {
        launcher: [exe.clone(), LAUNCH.into()],
        bounds: job.bounds,
        argv: spec.argv.clone(),
        cwd: spec.cwd.clone(),
        env: spec.env.iter().filter(|(name, _)| !OWN.iter().any(|own| name == own)).cloned().collect(),
        typed: job.window == Window::Typed,
    })?;
    Ok(vec![exe, RELAY.into(), dir.into(), session_name(session).into(), handle.as_str().into()])
}

/// The life of the process behind [`RELAY`]: its words are those of [`in_window`].
pub fn relay(env: &crate::host::Env, words: &[OsString]) -> Result<i32> {
    let [dir, session, name] = words else { return Ok(129) };
    let keeper = [env.exe().as_os_str().to_owned(), KEEP.into(), dir.clone()];
    let window =
        Opening { session: &session.to_string_lossy(), name: &name.to_string_lossy(), keeper: &keeper };
    crate::host::relay(&Tmux::new(env), &PaneDir::new(dir), &window)
}

/// The life of the process behind [`KEEP`].
pub fn keep(env: &crate::host::Env, dir: &OsStr) -> Result<i32> {
    crate::host::keep(&PaneDir::new(dir), env.get("TERM"))
}

/// What the pane of worker `name` shows, at most `lines` lines.
pub fn peek(session: &Session<'_>, name: &str, lines: u32) -> Result<Peeked> {
    let view = session.view()?;
    let worker = view.open_worker(&session.repo, name)?;
    let dir = PaneDir::new(session.local.pane(worker.id));
    let (id, handle) = (worker.id, worker.record.handle.clone());
    // The folder of the run is disposable; the record is not.
    let last = match dir.last_screen() {
        None if dir.pane().is_none() && worker.record.outcome != Outcome::Active => {
            worker.file(&session.repo, PANE)?
        }
        last => last,
    };
    let ended = last.is_some();
    let screen = match (last, dir.pane()) {
        (Some(screen), _) => last_lines(&screen, lines),
        (None, Some(pane)) => {
            Tmux::new(session.env).screen(&pane, lines).map_err(|gone| closed(&handle, &gone))?
        }
        (None, None) => return Err(no_pane(&handle)),
    };
    Ok(Peeked { worker: id, handle, ended, screen })
}

/// Leads to the window of worker `name`: inside tmux by itself, outside by the command to give.
pub fn attach(session: &Session<'_>, name: &str) -> Result<Attached> {
    let view = session.view()?;
    let worker = view.open_worker(&session.repo, name)?;
    let handle = worker.record.handle.clone();
    let pane = PaneDir::new(session.local.pane(worker.id)).pane().ok_or_else(|| no_pane(&handle))?;
    let tmux = Tmux::new(session.env);
    // It may have been closed meanwhile.
    tmux.screen(&pane, 1).map_err(|gone| closed(&handle, &gone))?;
    let inside = session.env.get("TMUX").is_some_and(|set| !set.is_empty());
    if inside {
        tmux.switch(&pane)?;
    }
    let name = session_name(session);
    let command = format!("tmux attach-session -t '={name}' \\; select-window -t '{pane}'");
    Ok(Attached { worker: worker.id, handle, session: name, pane, switched: inside, command })
}

/// The last that the window of a worker showed, for its record: secrets masked, and not more than [`MOST`].
pub fn for_record(session: &Session<'_>, id: WorkerId) -> Vec<u8> {
    let screen = PaneDir::new(session.local.pane(id)).last_screen().unwrap_or_default();
    let text = mask(&String::from_utf8_lossy(&screen)).into_bytes();
    text[text.len().saturating_sub(MOST)..].to_vec()
}

/// Closes the window of a worker that goes. There may be none.
pub fn close(session: &Session<'_>, id: WorkerId) {
    if let Some(pane) = PaneDir::new(session.local.pane(id)).pane() {
        let _ = Tmux::new(session.env).close(&pane);
    }
}

fn no_pane(handle: &Handle) -> crate::domain::Failure {
    Refusal::new(Token::NoPane, format!("{handle} has no tmux window"))
        .show("tmux list-windows -a")
        .next(format!(
            "git skein show --log {handle} shows its output; a window is opened by dispatch --tmux"
        ))
        .into()
}

fn closed(handle: &Handle, words: &crate::domain::Failure) -> crate::domain::Failure {
    Refusal::new(Token::NoPane, format!("the tmux window of {handle} is not there any more"))
        .lines([words.to_string()])
        .show("tmux list-windows -a")
        .next(format!("git skein show --log {handle} shows its output"))
        .into()
}
