//! `trust`: tracked files that make commands run do nothing until the person has trusted their exact content, once.
//! It is known by its digest, in the configuration of this clone; where there is none, as in CI, from the environment.

use crate::domain::Failure;
use crate::domain::Kind;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::POLICY;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::sha256;
use crate::state::View;
use crate::verbs::custody;
use crate::verbs::kinds;
use crate::verbs::policy;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Serialize;
use similar::TextDiff;

/// Each value is a digest, and beside it the blob and the path that it was trusted as.
const KEY: &str = "skein.trust";

/// Values of it that speak of all files at once: for a checkout that nobody sits at.
const ALL: &str = "all";
const NONE: &str = "none";

/// Digests that are trusted where nothing is kept, with commas or blanks between them.
const VARIABLE: &str = "SKEIN_TRUST";

/// What is to be done.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Paths or digests; all that make commands run if there is none.
    pub names: Vec<String>,
    /// Trust them. Without it, they are only shown.
    pub yes: bool,
}

#[derive(Debug, Serialize)]
pub struct Trust {
    pub files: Vec<Listed>,
}

/// A tracked file that makes commands run, at the tip of the trunk.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub path: String,
    /// SHA-256 of its content.
    pub digest: String,
    pub blob: Oid,
    pub trusted: bool,
    /// It was trusted just now.
    pub now: bool,
    /// What it makes run, a line each.
    pub commands: Vec<String>,
    /// Its text, or how that differs from what was trusted before; empty if it is trusted.
    pub text: String,
    /// The blob that was trusted before, if that is another one.
    pub before: Option<Oid>,
}

impl Trust {
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| file.trusted)
    }
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Trust> {
    session.refuse_in_worker("trust")?;
    let view = session.view()?;
    let mut files = Vec::new();
    for source in kinds::project(session, &view)? {
        let Ok(kind) = Kind::parse(&source.name, &source.text) else { continue };
        if kind.makes_run() {
            files.push(look(session, source.place, &source.text, kind.commands())?);
        }
    }
    if let Some((text, commands)) = policy::that_runs(session, &view)? {
        files.push(look(session, POLICY.to_owned(), &text, commands)?);
    }
    if let Some(name) = request.names.iter().find(|name| !files.iter().any(|file| file.is(name))) {
        return Err(no_such_file(name, &files));
    }
    files.retain(|file| request.names.is_empty() || request.names.iter().any(|name| file.is(name)));
    if request.yes && files.iter().any(|file| !file.trusted) {
        refuse_none(session)?;
        refuse_seen(session, &view)?;
        for file in files.iter_mut().filter(|file| !file.trusted) {
            let value = format!("{} {} {}", file.digest, file.blob, file.path);
            session.repo.add_config(KEY, &value)?;
            (file.trusted, file.now) = (true, true);
        }
        session.look_again()?;
    }
    Ok(Trust { files })
}

impl Listed {
    /// Whether `name` means it: its path, or enough of its digest.
    fn is(&self, name: &str) -> bool {
        self.path == name || name.len() >= 8 && self.digest.starts_with(name)
    }
}

fn look(session: &Session<'_>, path: String, text: &str, commands: Vec<String>) -> Result<Listed> {
    let objects = &session.repo.objects;
    let trusted = is_trusted(session, text.as_bytes());
    let before = if trusted { None } else { before(session, &path) };
    let old = before.map(|oid| objects.blob(oid)).transpose()?;
    let shown = match &old {
        _ if trusted => String::new(),
        None => text.to_owned(),
        Some(old) => {
            let old = old.to_str_lossy();
            let diff = TextDiff::from_lines(old.as_ref(), text);
            let (a, b) = (format!("a/{path}"), format!("b/{path}"));
            diff.unified_diff().context_radius(3).header(&a, &b).to_string()
        }
    };
    let (digest, blob) = (sha256(text.as_bytes()), objects.hash_blob(text.as_bytes())?);
    Ok(Listed { path, digest, blob, trusted, now: false, commands, text: shown, before })
}

/// Enough of a digest to name it.
pub fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Whether nothing is trusted, whatever is kept.
fn is_none(session: &Session<'_>) -> bool {
    session.config.all(KEY).any(|value| value == NONE)
}

/// Whether this clone takes whatever its trunk has. It is asked of the clone's own file, and of nothing that this
/// includes: what is set for all clones of a person, or comes with a tracked file, was not said of this one.
fn is_all(session: &Session<'_>) -> bool {
    if !session.config.all(KEY).any(|value| value == ALL) {
        return false;
    }
    let own = session.repo.own_config(KEY).is_ok_and(|own| own.iter().any(|value| value == ALL));
    if !own {
        session.tell_once(format!("{KEY} {ALL} counts in the clone's own configuration only"));
    }
    own
}

/// Whether the person has trusted this very content.
pub fn is_trusted(session: &Session<'_>, content: &[u8]) -> bool {
    if is_none(session) {
        return false;
    }
    let digest = sha256(content);
    let kept = session.config.all(KEY).filter_map(|value| value.split_whitespace().next());
    let given = session.env.get(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let given = given.unwrap_or_default();
    let given = given.split(|c: char| c == ',' || c.is_whitespace());
    kept.chain(given).any(|trusted| trusted == digest) || is_all(session)
}

/// The blob that was trusted last at `path`, if it is there still.
fn before(session: &Session<'_>, path: &str) -> Option<Oid> {
    let values = session.config.all(KEY).filter_map(|value| {
        let (_, rest) = value.split_once(' ')?;
        let (blob, at) = rest.split_once(' ')?;
        (at == path).then(|| blob.parse::<Oid>().ok()).flatten()
    });
    values.filter(|blob| session.repo.objects.exists(*blob)).last()
}

/// Refuses to let the file at `path` of the trunk make commands run before it is trusted. `what` it is, and what it
/// would run, are said.
pub fn refuse_untrusted(
    session: &Session<'_>,
    trunk: &RefName,
    path: &str,
    text: &[u8],
    what: &str,
    commands: Vec<String>,
) -> Result<()> {
    if is_trusted(session, text) {
        return Ok(());
    }
    let blob = session.repo.objects.hash_blob(text)?;
    let plain = || format!("git show {}:{path}", trunk.short());
    let (how, show) = match before(session, path) {
        _ if is_none(session) => ("skein.trust is none here", plain()),
        Some(old) => ("it has changed since it was trusted", format!("git diff {old} {blob}")),
        None => ("nobody has trusted it here", plain()),
    };
    let digest = sha256(text);
    // By its digest: what else came since is not trusted with it.
    let yes = format!("git skein trust --yes {}", short(&digest));
    Err(Refusal::new(Token::Untrusted, format!("{what}, and {how}"))
        .oid("content", blob)
        .lines([format!("digest: {digest}")])
        .lines(commands)
        .show(show)
        .next(match is_none(session) {
            true => UNSET.to_owned(),
            false => format!("read it; if it may run, as you, on this machine: {yes}"),
        })
        .into())
}

const UNSET: &str = "git config --unset-all skein.trust none, where it is set; then git skein trust";

fn refuse_none(session: &Session<'_>) -> Result<()> {
    if !is_none(session) {
        return Ok(());
    }
    Err(Refusal::new(Token::Untrusted, "skein.trust is none here: nothing tracked makes commands run")
        .show("git config --show-origin --get-all skein.trust")
        .next(UNSET)
        .into())
}

/// Whoever runs now would be taken for the one who has changed the configuration.
fn refuse_seen(session: &Session<'_>, view: &View) -> Result<()> {
    let live: Vec<String> = view
        .workers
        .iter()
        .filter(|worker| custody::liveness(session, worker) == Liveness::Live)
        .map(|worker| worker.record.handle.to_string())
        .collect();
    if live.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        Token::StillRunning,
        "trust is kept in git's configuration, and workers that run are watched for changing that",
    )
    .lines(live)
    .show("git config --get-all skein.trust")
    .next("git skein wait, then say it again; or name the digest for one command: SKEIN_TRUST=<digest> git skein …")
    .into())
}

fn no_such_file(name: &str, files: &[Listed]) -> Failure {
    Refusal::new(Token::NoSuchKind, format!("no file of the trunk that makes commands run is {name:?}"))
        .lines(files.iter().map(|file| format!("{} {}", file.digest, file.path)))
        .show("git ls-tree -r <trunk> .skein/")
        .next("git skein trust lists them")
        .into()
}
