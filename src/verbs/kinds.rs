//! Kinds: where each comes from, which one counts, and what it makes of a dispatch. The project's are read at the tip
//! of the trunk, never in a checkout or in the fork of a worker.

use crate::domain::Change;
use crate::domain::Globs;
use crate::domain::Handle;
use crate::domain::Kind;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::kind::BUILT_IN;
use crate::domain::kind::DEFAULT;
use crate::domain::kind::Origin;
use crate::domain::kind::Ties;
use crate::domain::kind::unknown;
use crate::domain::mask;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::dispatch::Request;
use crate::verbs::plan;
use crate::verbs::session::Session;
use crate::verbs::trust;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

/// Where the project's kinds are, in the tree of the trunk.
pub const FOLDER: &str = ".skein/kinds";

/// The text of one kind, and where it comes from.
#[derive(Debug, Clone)]
pub struct Source {
    pub name: String,
    pub from: Origin,
    /// A path in the tree of the trunk, or on the machine.
    pub place: String,
    pub text: String,
}

/// All kinds, by name.
#[derive(Debug, Serialize)]
pub struct Kinds {
    pub kinds: Vec<Listed>,
}

#[derive(Debug, Serialize)]
pub struct Listed {
    pub name: String,
    pub from: Origin,
    pub place: String,
    /// Another one of this name counts.
    pub shadowed: bool,
    /// It makes commands run, and nobody has trusted its content.
    pub untrusted: bool,
    /// What it says, as far as it can be read.
    pub kind: Option<Kind>,
    /// Why it cannot be.
    pub bad: Option<String>,
}

/// The kind of a worker to be.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub source: Source,
    pub kind: Kind,
}

pub fn run(session: &Session<'_>) -> Result<Kinds> {
    let view = session.view()?;
    let mut found = project(session, &view)?;
    found.extend(own(session)?);
    found.extend(BUILT_IN.iter().map(|(name, text)| built_in(name, text)));
    found.sort_by(|a, b| (&a.name, a.from).cmp(&(&b.name, b.from)));
    let mut seen = BTreeSet::new();
    let mut kinds = Vec::new();
    for source in found {
        let read = Kind::parse(&source.name, &source.text);
        let bad = read.as_ref().err().map(ToString::to_string);
        let kind = read.ok();
        let runs = kind.as_ref().is_some_and(Kind::makes_run) && source.from == Origin::Project;
        kinds.push(Listed {
            shadowed: !seen.insert(source.name.clone()),
            untrusted: runs && !trust::is_trusted(session, source.text.as_bytes()),
            name: source.name,
            from: source.from,
            place: source.place,
            kind,
            bad,
        });
    }
    Ok(Kinds { kinds })
}

/// The kind that a worker gets: the named one, else the default. What it makes run has to be trusted.
pub fn choose(session: &Session<'_>, view: &View, name: Option<&str>) -> Result<Chosen> {
    let name = name.unwrap_or(DEFAULT);
    let Some(source) = source(session, view, name)? else {
        let all = run(session)?.kinds.into_iter().filter(|kind| !kind.shadowed);
        return Err(unknown(name, all.map(|kind| kind.name)));
    };
    let kind = Kind::parse(name, &source.text)?;
    if !kind.unknown.is_empty() {
        let keys = kind.unknown.join(", ");
        session.tell_once(format!("kind {name}: these keys mean nothing here: {keys}"));
    }
    if source.from == Origin::Project && kind.makes_run() {
        let what = format!("the kind {name:?} of this project makes commands run");
        let (trunk, text) = (session.trunk(view)?, source.text.as_bytes());
        trust::refuse_untrusted(session, &trunk, &source.place, text, &what, kind.commands())?;
    }
    Ok(Chosen { source, kind })
}

fn source(session: &Session<'_>, view: &View, name: &str) -> Result<Option<Source>> {
    if Handle::new(name).is_err() {
        return Ok(None);
    }
    if let Some(tree) = trunk_tree(session, view)?
        && let Some(text) = tracked(session, tree, &format!("{FOLDER}/{name}.md"))?
    {
        return Ok(Some(Source { name: name.to_owned(), from: Origin::Project, ..text }));
    }
    if let Some(found) = own_folder(session).map(|folder| own_one(&folder, name)).transpose()?.flatten() {
        return Ok(Some(found));
    }
    Ok(BUILT_IN.iter().find(|(known, _)| *known == name).map(|(name, text)| built_in(name, text)))
}

fn built_in(name: &str, text: &str) -> Source {
    let (name, text) = (name.to_owned(), text.to_owned());
    Source { name, from: Origin::BuiltIn, place: String::new(), text }
}

/// The tree that the project's policy is read from: that of the trunk. None where there is no trunk.
pub fn trunk_tree(session: &Session<'_>, view: &View) -> Result<Option<Oid>> {
    let trunk = match session.trunk(view) {
        Ok(trunk) => trunk,
        Err(failure)
            if matches!(
                failure.token(),
                Some(Token::NoTrunk | Token::UnbornTrunk | Token::NotABranch | Token::BadName)
            ) =>
        {
            return Ok(None);
        }
        Err(failure) => return Err(failure),
    };
    session.repo.objects.tree_of(session.branch_tip(view, &trunk)?).map(Some)
}

/// The kinds of the project.
pub fn project(session: &Session<'_>, view: &View) -> Result<Vec<Source>> {
    let Some(tree) = trunk_tree(session, view)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for path in session.repo.objects.names_in(tree, FOLDER.into())? {
        let Some(name) = name_of(&path) else { continue };
        if let Some(text) = tracked(session, tree, &path.to_str_lossy())? {
            found.push(Source { name, from: Origin::Project, ..text });
        }
    }
    Ok(found)
}

fn name_of(path: &BString) -> Option<String> {
    let name = path.rsplit_str("/").next()?.strip_suffix(b".md")?;
    Some(name.to_str().ok().filter(|name| Handle::new(name).is_ok())?.to_owned())
}

/// The regular file at `path` of the tree.
fn tracked(session: &Session<'_>, tree: Oid, path: &str) -> Result<Option<Source>> {
    match session.repo.objects.entry_at(tree, path.into())? {
        Some((Mode::File | Mode::Executable, oid)) => {
            let text = session.repo.objects.blob(oid)?.to_str_lossy().into_owned();
            let (name, from) = (String::new(), Origin::Project);
            Ok(Some(Source { name, from, place: path.to_owned(), text }))
        }
        _ => Ok(None),
    }
}

/// The kinds of the person.
fn own(session: &Session<'_>) -> Result<Vec<Source>> {
    let Some(folder) = own_folder(session) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = file.file_name().to_str().and_then(|name| name.strip_suffix(".md")).map(ToOwned::to_owned);
        if let Some(name) = name.filter(|name| Handle::new(name).is_ok()) {
            found.extend(own_one(&folder, &name)?);
        }
    }
    Ok(found)
}

fn own_folder(session: &Session<'_>) -> Option<PathBuf> {
    session.config_home().map(|home| home.join("git-skein/kinds"))
}

fn own_one(folder: &Path, name: &str) -> Result<Option<Source>> {
    let path = folder.join(format!("{name}.md"));
    if !path.is_file() {
        return Ok(None);
    }
    let text = crate::host::read_optional(&path)?.unwrap_or_default().to_str_lossy().into_owned();
    let place = path.to_string_lossy().into_owned();
    Ok(Some(Source { name: name.to_owned(), from: Origin::Person, place, text }))
}

/// Refuses changes that the kind of a worker does not let it make.
pub fn refuse_changes(worker: &Worker, changes: &[Change]) -> Result<()> {
    let Some(kind) = worker.record.kind.as_ref().filter(|_| !changes.is_empty()) else { return Ok(()) };
    plan::refuse(worker, changes)?;
    let handle = &worker.record.handle;
    let forbidden = Globs::new(kind.forbid.iter().map(String::as_str))?;
    let found = changes.iter().filter(|c| kind.read_only || forbidden.covers(c.path.as_bstr()));
    let found: Vec<String> = found.map(|c| c.path.to_str_lossy().into_owned()).collect();
    if found.is_empty() {
        return Ok(());
    }
    let (token, says) = match kind.read_only {
        true => (
            Token::OnlyReads,
            format!("{handle} is a {}, which only reads, and has changed files", kind.name),
        ),
        false => {
            (Token::ForbiddenPath, format!("{handle} is a {}, which may not change these files", kind.name))
        }
    };
    Err(Refusal::new(token, says)
        .lines(found)
        .show(format!("git diff --raw --no-renames {} {}", worker.record.base, worker.tip_text()))
        .next("give the task to a worker of a kind that may: git skein dispatch --kind …")
        .into())
}

impl Chosen {
    /// The request as this kind completes it. What the person said goes first; a worker's child gets what its parent
    /// has, and never more.
    pub fn complete(&self, request: &Request) -> Request {
        let kind = &self.kind;
        let mut made = request.clone();
        if made.agent.is_none() && made.argv.is_empty() {
            made.agent.clone_from(&kind.agent);
            made.argv.clone_from(&kind.argv);
            if made.agent.is_none() && made.argv.is_empty() {
                made.argv.clone_from(&request.otherwise);
            }
        }
        if made.paths.is_empty() {
            made.paths.clone_from(&kind.paths);
        }
        let limits = &mut made.limits;
        match &request.parent {
            None => {
                if made.checks.is_empty() {
                    made.checks.clone_from(&kind.checks);
                }
                limits.timeout = limits.timeout.or(kind.timeout);
                limits.silence = limits.silence.or(kind.silence);
                made.spawn = made.spawn.or(kind.can_spawn);
            }
            Some(parent) => {
                let more = kind.checks.iter().filter(|check| !request.checks.contains(check));
                made.checks.extend(more.cloned());
                limits.timeout = limits.timeout.into_iter().chain(kind.timeout).min();
                limits.silence = limits.silence.into_iter().chain(kind.silence).min();
                let deepest = kind.can_spawn.map(|depth| parent.depth.saturating_add(depth));
                made.spawn = made.spawn.into_iter().chain(deepest).min();
            }
        }
        made.only_reads |= kind.read_only;
        made.require_jail |= kind.require_jail;
        made
    }

    /// What it binds the worker to, with its text written to the store; nothing, if nobody asked for anything.
    pub fn ties(&self, session: &Session<'_>, only_reads: bool) -> Result<Option<Ties>> {
        let kind = &self.kind;
        if self.source.from == Origin::BuiltIn && kind.name == DEFAULT && !only_reads {
            return Ok(None);
        }
        Ok(Some(Ties {
            name: kind.name.clone(),
            from: self.source.from,
            oid: session.repo.objects.write_blob(mask(&self.source.text).as_bytes())?,
            read_only: only_reads,
            plan_gate: kind.plan_gate,
            seed: kind.seed,
            forbid: kind.forbid.clone(),
            budget: kind.budget,
        }))
    }
}
