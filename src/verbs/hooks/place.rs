//! Where hooks stand: files that git looks for, or lines of its configuration.

use crate::domain::FoundHook;
use crate::domain::Hook;
use crate::domain::HookStep;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Stands;
use crate::domain::Token;
use crate::plumbing::HooksPath;
use crate::verbs::hooks::HOOK;
use crate::verbs::hooks::Look;
use crate::verbs::hooks::NO_FILE;
use crate::verbs::hooks::Placed;
use crate::verbs::hooks::Report;
use crate::verbs::hooks::done_word;
use crate::verbs::hooks::word;
use crate::verbs::session::Session;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// What stands in the place of each hook.
const SHIM: &str = include_str!("../../../hooks/shim");

const PROGRAM: &str = "@PROGRAM@";

/// By this line ours is known, whatever version made it.
const MARK: &str = "# git-skein: `git skein hooks install` made this";

/// What is put behind the name of a hook that is set aside.
const ASIDE: &str = ".skein-chained";

/// The name of our hook in the configuration.
fn section(hook: Hook) -> String {
    format!("hook.skein-{}", hook.as_str())
}

/// Where the hook is that was in the place of `file`.
pub fn aside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ASIDE);
    name.into()
}

/// This program as a shell would name it. One whose path is no text is looked up by its name.
fn program(session: &Session<'_>) -> String {
    session.env.exe().to_str().map_or_else(|| "git-skein".to_owned(), crate::domain::quoted)
}

fn shim(session: &Session<'_>) -> String {
    shim_of(&program(session))
}

pub(super) fn shim_of(program: &str) -> String {
    SHIM.replace(PROGRAM, program)
}

/// What git runs by the configuration; it puts its arguments behind it.
fn command(program: &str, hook: Hook) -> String {
    format!("test ! -x {program} || exec {program} {HOOK} {} {NO_FILE}", hook.as_str())
}

/// The program that a shim or a command starts, between the words before and behind it.
fn started(text: &str, before: &str, behind: &str) -> Option<String> {
    let rest = text.split_once(before)?.1;
    let program = rest.split_once(behind)?.0;
    // The name may end with such a mark itself.
    let bare = program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    Some(bare.unwrap_or(program).replace("'\\''", "'"))
}

/// The program in a shim, whoever wrote that.
pub(super) fn started_by(shim: &str) -> Option<String> {
    started(shim, "for skein in ", " git-skein; do")
}

/// That program, if it is not there any more.
fn gone(program: Option<String>) -> Option<String> {
    program.filter(|path| path.starts_with('/') && !Path::new(path).is_file())
}

fn look_at(session: &Session<'_>, folder: &Path, hook: Hook) -> Look {
    let file = folder.join(hook.as_str());
    let (here, there) = (file.symlink_metadata().ok(), aside(&file).symlink_metadata().ok());
    let mut found = FoundHook { aside: there.is_some(), ..FoundHook::default() };
    let Some(here) = here else { return (found, None) };
    let bytes = std::fs::read(&file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    found.file = match () {
        () if !here.is_file() || !text.contains(MARK) => Stands::Foreign,
        () if text == shim(session) && here.mode() & 0o111 != 0 => Stands::Ours,
        () => Stands::Older,
    };
    found.same = there.is_some_and(|there| {
        (here.dev(), here.ino()) == (there.dev(), there.ino())
            || (here.is_file() && there.is_file() && here.mode() == there.mode())
                && std::fs::read(aside(&file)).is_ok_and(|other| other == bytes)
    });
    let program = (found.file != Stands::Foreign).then(|| started_by(&text));
    (found, gone(program.flatten()))
}

/// How all of them stand.
pub fn look(session: &Session<'_>, path: &HooksPath) -> Report {
    let mut configured = false;
    let place = |hook: &Hook| {
        let (found, mut gone_file) = look_at(session, &path.folder, *hook);
        let mut state = word(found.file);
        if let Some(text) = session.config.get(&format!("{}.command", section(*hook))) {
            configured = true;
            let is_so = text == command(&program(session), *hook);
            state = if is_so { "installed" } else { "other-program" };
            gone_file = gone(started(text, "exec ", &format!(" {HOOK} ")));
        }
        Placed { hook: *hook, state, chained: found.aside, gone: gone_file, done: None }
    };
    let hooks: Vec<Placed> = Hook::of(session.repo.dirs.bare).iter().map(place).collect();
    let installed = hooks.iter().any(|placed| placed.state == "installed");
    let notes = if installed { notes(session, path, configured) } else { Vec::new() };
    Report { configured, folder: path.folder.clone(), hooks, notes }
}

/// Where the hooks do not reach.
fn notes(session: &Session<'_>, path: &HooksPath, configured: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let relative = path.named.as_ref().is_some_and(|(_, value)| !value.starts_with(['/', '~']));
    if relative && !configured && !session.repo.dirs.bare {
        notes.push(
            "core.hooksPath is relative: each worktree has a folder of its own, and in those without ours no hook runs"
                .to_owned(),
        );
    }
    if configured {
        notes.push("an older git does not read these; --files installs them for every git".to_owned());
    }
    if !crate::host::tells_ancestry() {
        notes.push(
            "this system does not tell who started whom, so the fence does not know a worker".to_owned(),
        );
    }
    notes
}

/// Puts ours in place of each. All are looked at before the first is written.
pub fn write_all(session: &Session<'_>, folder: &Path, done: &mut Vec<(Hook, &'static str)>) -> Result<()> {
    let steps = plan(session, folder, FoundHook::to_install)?;
    if steps.iter().all(|(_, step)| *step == HookStep::Leave) {
        return Ok(());
    }
    crate::host::make_dir(folder)?;
    let way = session.local.run().join("hooks");
    crate::host::make_dir(&way)?;
    crate::host::remove_left(&way)?;
    let text = shim(session);
    for (hook, step) in steps {
        let file = folder.join(hook.as_str());
        match step {
            HookStep::SetAsideAndWrite => {
                crate::host::name_again(&file, &aside(&file))?;
                crate::fault::point("hooks: set aside");
                crate::host::replace_program(&way, &file, text.as_bytes())?;
            }
            HookStep::Write => crate::host::replace_program(&way, &file, text.as_bytes())?,
            _ => {}
        }
        crate::fault::point("hooks: one written");
        done.extend(done_word(step).map(|word| (hook, word)));
    }
    crate::host::remove_tree(&way)
}

pub fn remove_all(session: &Session<'_>, folder: &Path, done: &mut Vec<(Hook, &'static str)>) -> Result<()> {
    let steps = plan(session, folder, FoundHook::to_uninstall)?;
    for (hook, step) in steps {
        let file = folder.join(hook.as_str());
        match step {
            HookStep::BringBack => crate::host::rename(&aside(&file), &file)?,
            HookStep::Remove => crate::host::remove_tree(&file)?,
            HookStep::Forget => crate::host::remove_tree(&aside(&file))?,
            _ => {}
        }
        crate::fault::point("hooks: one taken away");
        done.extend(done_word(step).map(|word| (hook, word)));
    }
    Ok(())
}

fn plan(
    session: &Session<'_>,
    folder: &Path,
    decide: impl Fn(&FoundHook) -> HookStep,
) -> Result<Vec<(Hook, HookStep)>> {
    let all = Hook::of(session.repo.dirs.bare).iter();
    let steps: Vec<_> = all.map(|hook| (*hook, decide(&look_at(session, folder, *hook).0))).collect();
    let replaced = steps.iter().filter(|(_, step)| *step == HookStep::Refuse);
    let files: Vec<String> = replaced
        .map(|(hook, _)| folder.join(hook.as_str()))
        .flat_map(|file| [file.display().to_string(), aside(&file).display().to_string()])
        .collect();
    if files.is_empty() {
        return Ok(steps);
    }
    let says = "somebody has replaced our hook, and what was there before it is still set aside";
    Err(Refusal::new(Token::HookReplaced, says)
        .lines(files)
        .show(format!("ls -l {}", crate::domain::quoted(folder)))
        .next("remove the one of the two that is not needed, then do the same again; nothing was changed")
        .into())
}

/// Enters ours into the repository's own configuration. The command comes last: without it the rest does nothing.
pub fn configure(session: &Session<'_>, done: &mut Vec<(Hook, &'static str)>) -> Result<()> {
    for hook in Hook::of(session.repo.dirs.bare) {
        let (key, command) = (section(*hook), command(&program(session), *hook));
        if session.config.get(&format!("{key}.command")) == Some(&command)
            && session.config.get(&format!("{key}.event")) == Some(hook.as_str())
        {
            continue;
        }
        session.repo.set_config(&format!("{key}.event"), hook.as_str())?;
        session.repo.set_config(&format!("{key}.command"), &command)?;
        crate::fault::point("hooks: one written");
        done.push((*hook, "written"));
    }
    Ok(())
}

pub fn unconfigure(session: &Session<'_>, done: &mut Vec<(Hook, &'static str)>) -> Result<()> {
    for hook in Hook::all() {
        let key = section(hook);
        let ours = format!("{key}.");
        if session.config.iter().any(|(set, _)| set.starts_with(&ours)) {
            session.repo.drop_config(&key)?;
            crate::fault::point("hooks: one taken away");
            done.push((hook, "taken away"));
        }
    }
    Ok(())
}
