//! `pre-commit`: what a worker stages is looked at as its import would, while the worker can still mend it.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Globs;
use crate::domain::Mode;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::marks_conflict;
use crate::host::Env;
use crate::plumbing::Admin;
use crate::plumbing::Limits;
use crate::plumbing::changed_lines;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::freeze;
use crate::verbs::hooks;
use crate::verbs::session::Session;
use bstr::ByteSlice;

/// Who is no worker, or not in its own worktree, commits without a word: the fence is for the latter.
pub fn run(env: &Env, tell: &dyn Fn(&str)) -> Result<()> {
    let Some(called) = hooks::called(env) else { return Ok(()) };
    let Some(id) = hooks::caller(&called).filter(|id| hooks::is_own(&called, *id)) else { return Ok(()) };
    let session = Session::open(env, env.cwd(), tell)?;
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    let admin = Admin { dir: called.git, path: env.cwd().to_owned() };
    let tree = session.repo.staged(&admin, env.get("GIT_INDEX_FILE"))?;
    let undeclared = freeze::check_tree(&session, worker, tree).map_err(|f| with_owners(f, &view, worker))?;
    let objects = &session.repo.objects;
    let before = match session.repo.head_of(&admin)? {
        Some(head) => objects.tree_of(head)?,
        None => objects.empty_tree(),
    };
    let changes = objects.diff_trees(before, tree)?;
    refuse_markers(&session, &changes)?;
    refuse_large(&session, &changes)?;
    let (owned, free): (Vec<String>, Vec<String>) =
        undeclared.into_iter().partition(|path| owner(&view, worker, path).is_some());
    if !free.is_empty() {
        tell(&format!("not declared, and reported when this is imported: {}", free.join(", ")));
    }
    // Of what was committed before this, nothing can be taken out here.
    let staged = |path: &String| changes.iter().any(|c| c.path.to_str_lossy() == path.as_str());
    let owned: Vec<String> = owned.into_iter().filter(staged).collect();
    if owned.is_empty() {
        return Ok(());
    }
    let says = format!("{} has not declared these paths, and somebody else has", worker.record.handle);
    Err(Refusal::new(Token::Undeclared, says)
        .lines(owned.iter().map(|path| with_owner(&view, worker, path)))
        .show("git diff --cached --name-only")
        .next("leave them out (git restore --staged <path>), or ask: git skein worker wait '<question>'")
        .into())
}

/// The open worker that declared `path`.
fn owner<'v>(view: &'v View, worker: &Worker, path: &str) -> Option<&'v Worker> {
    let declares = |other: &&Worker| {
        let globs = Globs::new(other.record.paths.iter().map(String::as_str));
        globs.is_ok_and(|globs| globs.covers(path.into()))
    };
    view.workers.iter().filter(|other| other.id != worker.id).find(declares)
}

fn with_owner(view: &View, worker: &Worker, path: &str) -> String {
    match owner(view, worker, path) {
        Some(owner) => format!("{path}: declared by {}", owner.record.handle),
        None => path.to_owned(),
    }
}

/// A refusal of import's, with who owns the paths that it names, and what is to be done here.
fn with_owners(failure: Failure, view: &View, worker: &Worker) -> Failure {
    let Failure::Refusal(mut refusal) = failure else { return failure };
    for line in &mut refusal.lines {
        let path = line.split(": ").next().unwrap_or_default().to_owned();
        if let Some(owner) = owner(view, worker, &path) {
            line.push_str(&format!(" (declared by {})", owner.record.handle));
        }
    }
    Failure::Refusal(refusal)
}

/// Lines that mark a conflict, in what is added: where they stood already, somebody may mean them.
fn refuse_markers(session: &Session<'_>, changes: &[Change]) -> Result<()> {
    let objects = &session.repo.objects;
    let mut found = Vec::new();
    for change in changes {
        let Some((Mode::File | Mode::Executable, new)) = change.new else { continue };
        if objects.size(new)?.is_none_or(|size| size > Limits::default().file_bytes) {
            continue;
        }
        let before = match change.old {
            Some((Mode::File | Mode::Executable, old)) => objects.blob(old)?,
            _ => Vec::new(),
        };
        let after = objects.blob(new)?;
        // Seen from what is new, what is new is what the old one changes.
        let added = changed_lines(&after, &before).unwrap_or_default();
        let added =
            |n: usize| added.iter().any(|range| range.contains(&u32::try_from(n).unwrap_or(u32::MAX)));
        let mut lines = after.lines().enumerate();
        if let Some((n, _)) = lines.find(|(n, line)| marks_conflict(line) && added(*n)) {
            found.push(format!("{}:{}", change.path, n + 1));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::ConflictMarkers, "what is staged holds marks of a conflict")
        .lines(found)
        .show("git diff --cached --check")
        .next("resolve the conflict and stage the files again")
        .into())
}

fn refuse_large(session: &Session<'_>, changes: &[Change]) -> Result<()> {
    let most = Limits::default().file_bytes;
    let mut found = Vec::new();
    for change in changes {
        let Some((mode, oid)) = change.new.filter(|(mode, _)| *mode != Mode::Gitlink) else { continue };
        let size = session.repo.objects.size(oid)?.unwrap_or_default();
        if size > most && mode != Mode::Link {
            found.push(format!("{}: {} MiB", change.path, size >> 20));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::TooLarge, format!("a file may have {} MiB", most >> 20))
        .lines(found)
        .show("git diff --cached --stat")
        .next("leave them out (git restore --staged <path>), and let .gitignore name them")
        .into())
}
