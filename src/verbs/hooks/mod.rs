//! `hooks`: puts the hooks of this program beside those of others, takes them away again, and tells what stands
//! there. What each hook does when git calls it is in the files beside this one.

mod commit;
mod fence;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod merged;
mod place;
mod push;
mod receive;
mod rewritten;

use crate::domain::Failure;
use crate::domain::FoundHook;
use crate::domain::Hook;
use crate::domain::HookStep;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Stands;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::reads_configured_hooks;
use crate::host::Env;
use crate::plumbing::Called;
use crate::plumbing::HooksPath;
use crate::state::Local;
use crate::state::locked_for;
use crate::verbs::custody;
use crate::verbs::pane::KEEP;
use crate::verbs::session::SUPERVISE;
use crate::verbs::session::Session;
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

/// The first argument of the program when git calls it by a hook.
pub const HOOK: &str = "hook";

/// Stands for the file of a hook that configuration names.
const NO_FILE: &str = "-";

/// Where the hooks are, and how each stands.
#[derive(Debug, Serialize)]
pub struct Report {
    /// In the repository's configuration, and not in files.
    pub configured: bool,
    #[serde(serialize_with = "crate::verbs::path_as_text")]
    pub folder: PathBuf,
    pub hooks: Vec<Placed>,
    /// What a person should know about it.
    pub notes: Vec<String>,
}

/// One hook.
#[derive(Debug, Serialize)]
pub struct Placed {
    pub hook: Hook,
    /// `installed`, `other-program`, `foreign` or `absent`.
    pub state: &'static str,
    /// One that was there before is set aside; ours calls it.
    pub chained: bool,
    /// The program that ours starts, if it is not there any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// What was done now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<&'static str>,
}

impl Report {
    /// Whether each of them is in place and starts something.
    pub fn is_complete(&self) -> bool {
        self.hooks.iter().all(|placed| placed.state == "installed" && placed.gone.is_none())
    }

    /// Whether none of ours is left.
    pub fn is_empty(&self) -> bool {
        self.hooks.iter().all(|placed| matches!(placed.state, "absent" | "foreign") && !placed.chained)
    }
}

/// What `install` may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// Also where the folder serves other repositories.
    pub shared: bool,
    /// As files, though this git reads hooks from its configuration.
    pub files: bool,
}

pub fn install(session: &mut Session<'_>, request: Request) -> Result<Report> {
    session.refuse_in_worker("hooks install")?;
    session.refuse_full()?;
    let configured = !request.files && reads_configured_hooks(&session.repo.git_version()?);
    let _held = session.lock_worktrees()?;
    let path = session.repo.hooks_path()?;
    let mut done = Vec::new();
    if configured {
        place::configure(session, &mut done)?;
        session.look_again()?;
    } else {
        refuse_place(&path, request)?;
        place::write_all(session, &path.folder, &mut done)?;
    }
    let mut report = place::look(session, &path);
    report.configured = configured;
    report.mark(&done);
    report.notes.extend(running(session)?);
    Ok(report)
}

pub fn uninstall(session: &mut Session<'_>) -> Result<Report> {
    session.refuse_in_worker("hooks uninstall")?;
    let _held = session.lock_worktrees()?;
    let path = session.repo.hooks_path()?;
    let mut done = Vec::new();
    place::unconfigure(session, &mut done)?;
    session.look_again()?;
    place::remove_all(session, &path.folder, &mut done)?;
    let mut report = place::look(session, &path);
    report.mark(&done);
    Ok(report)
}

pub fn status(session: &Session<'_>) -> Result<Report> {
    let path = session.repo.hooks_path()?;
    Ok(place::look(session, &path))
}

/// Hooks of ours whose program is gone, and those that are not what was installed; of none there is no trouble.
pub fn troubles(session: &Session<'_>) -> Result<(Vec<String>, Vec<String>)> {
    let report = status(session)?;
    let ours = |placed: &&Placed| matches!(placed.state, "installed" | "other-program");
    let any = report.hooks.iter().any(|placed| ours(&placed));
    let gone = report.hooks.iter().filter_map(|placed| {
        placed.gone.as_ref().map(|program| format!("{}: {program}", placed.hook.as_str()))
    });
    let lost = report.hooks.iter().filter(|placed| !ours(placed) && (placed.chained || any));
    let lost = lost.map(|placed| format!("{}: {}", placed.hook.as_str(), placed.state));
    Ok((gone.collect(), lost.collect()))
}

impl Report {
    fn mark(&mut self, done: &[(Hook, &'static str)]) {
        for placed in &mut self.hooks {
            placed.done = done.iter().find(|(hook, _)| *hook == placed.hook).map(|(_, what)| *what);
        }
    }
}

/// Refuses a place that is not this repository's own.
fn refuse_place(path: &HooksPath, request: Request) -> Result<()> {
    let show = "git config --show-origin --get core.hooksPath";
    let folder = path.folder.display();
    if path.folder.symlink_metadata().is_ok() && !path.folder.is_dir() {
        let refusal =
            Refusal::new(Token::HooksOff, format!("core.hooksPath is {folder}, which is no folder"));
        return Err(refusal.show(show).next("unset it where it is set, if hooks are to run").into());
    }
    if let Some((scope, value)) =
        path.named.as_ref().filter(|(scope, _)| scope != "local" && scope != "worktree")
        && !request.shared
    {
        let says = format!(
            "core.hooksPath is {value} by the {scope} configuration: hooks there run in every repository"
        );
        return Err(Refusal::new(Token::HooksShared, says)
            .show(show)
            .next("git config core.hooksPath .git/hooks gives this one its own; or git skein hooks install --shared")
            .into());
    }
    if path.in_tree {
        let says = format!("hooks are in {folder}, and what is put there can be committed");
        return Err(Refusal::new(Token::HooksTracked, says)
            .show("git rev-parse --git-path hooks && git status --short")
            .next("call git-skein hook <name> - \"$@\" from the project's own hooks; git skein hooks -h lists the names")
            .into());
    }
    Ok(())
}

/// Workers without a jail are compared with how hooks were when they began.
fn running(session: &Session<'_>) -> Result<Option<String>> {
    let view = session.view()?;
    let live = view.workers.iter().filter(|w| custody::liveness(session, w) == crate::domain::Liveness::Live);
    let names: Vec<String> = live.map(|w| w.record.handle.to_string()).collect();
    let says = "run now: without a jail, these will be said to have changed hooks";
    Ok((!names.is_empty()).then(|| format!("{} {says}", names.join(", "))))
}

/// What git has told a hook, read when it is asked for.
#[derive(Debug, Default)]
pub struct Input(Option<Vec<u8>>);

impl Input {
    fn read(&mut self) -> Result<&[u8]> {
        let bytes = match self.0.take() {
            Some(bytes) => bytes,
            None => crate::host::read_input()?,
        };
        Ok(self.0.insert(bytes))
    }
}

/// What `hook` has to say, by the rules of this program alone. `args` are git's.
pub fn answer(
    env: &Env,
    hook: Hook,
    args: &[OsString],
    input: &mut Input,
    tell: &dyn Fn(&str),
) -> Result<()> {
    let first = args.first().and_then(|arg| arg.to_str()).unwrap_or_default();
    match hook {
        Hook::ReferenceTransaction => fence::run(env, first, input),
        Hook::PreCommit => commit::run(env, tell),
        Hook::PostRewrite => rewritten::run(env, input, tell),
        Hook::PostMerge => merged::run(env, first == "1", tell),
        Hook::PrePush => push::run(env, first, input, tell),
        Hook::PreReceive => receive::run(env, input, tell),
    }
}

/// Whether a failure is an answer of a hook, and not one of ours to look.
pub fn is_meant(failure: &Failure) -> bool {
    const MEANT: &[Token] = &[
        Token::Fenced,
        Token::Undeclared,
        Token::ConflictMarkers,
        Token::TooLarge,
        Token::ForbiddenPath,
        Token::OnlyReads,
        Token::PlanFirst,
        Token::PlanLate,
        Token::GitlinkRefused,
        Token::BadPath,
        Token::Unjudged,
        Token::Unproven,
    ];
    failure.token().is_some_and(|token| MEANT.contains(&token))
}

/// Runs the hook that was in the place of ours, and gives its exit code. `file` is ours.
pub fn chain(file: &Path, args: &[OsString], input: Input) -> Result<i32> {
    match file.as_os_str() == NO_FILE {
        true => Ok(0),
        false => crate::host::run_chained(&place::aside(file), file, args, input.0.as_deref()),
    }
}

/// The worker of this repository that called git, by its process: no variable says it, and none hides it.
fn caller(called: &Called) -> Option<WorkerId> {
    let local = Local::new(&called.common);
    if !local.run().is_dir() {
        return None;
    }
    let above = crate::host::lines_above(&[SUPERVISE, KEEP]);
    above.iter().filter_map(|line| named(line)).find(|id| local.worker(*id).is_dir())
}

/// The worker that a command line of ours is for: a supervisor is given its id, a window its folder.
fn named(line: &[OsString]) -> Option<WorkerId> {
    // Where the program stands may be no text.
    let words: Option<Vec<&str>> = line.get(1..3)?.iter().map(|word| word.to_str()).collect();
    match words?.as_slice() {
        [SUPERVISE, id] => id.parse().ok(),
        [_, folder] => Path::new(folder).parent()?.file_name()?.to_str()?.parse().ok(),
        _ => None,
    }
}

/// Where git called a hook from.
fn called(env: &Env) -> Option<Called> {
    Called::find(env.cwd(), env.get("GIT_DIR"))
}

/// Whether that is the worktree of worker `id`.
fn is_own(called: &Called, id: WorkerId) -> bool {
    called.locked().as_deref().and_then(locked_for) == Some(id)
}

/// Whether this repository has ever had workers, or something else of ours.
fn is_known(called: &Called) -> bool {
    Local::new(&called.common).run().is_dir()
}

/// How the file of a hook stands to what is set aside.
type Look = (FoundHook, Option<String>);

fn done_word(step: HookStep) -> Option<&'static str> {
    Some(match step {
        HookStep::Write => "written",
        HookStep::SetAsideAndWrite => "written, and the one before it is called by it",
        HookStep::BringBack => "taken away, and the one before it is back",
        HookStep::Remove | HookStep::Forget => "taken away",
        HookStep::Leave | HookStep::Refuse => return None,
    })
}

/// In words for programs.
fn word(stands: Stands) -> &'static str {
    match stands {
        Stands::Nothing => "absent",
        Stands::Ours => "installed",
        Stands::Older => "other-program",
        Stands::Foreign => "foreign",
    }
}
