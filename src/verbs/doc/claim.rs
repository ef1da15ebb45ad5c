//! `init` and `claim`: a document begins with its identity in its front matter.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Format;
use crate::domain::document::set;
use crate::domain::quoted;
use crate::host::beside;
use crate::host::lay_beside;
use crate::host::left_beside;
use crate::host::resolved;
use crate::host::swap;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::doc::open::in_worktree;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::open::restless;
use crate::verbs::session::Session;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// The key of the identity.
pub const KEY: &str = "skein_doc";

#[derive(Debug, Serialize)]
pub struct Claimed {
    pub doc: DocId,
    pub path: String,
    /// It had this identity before.
    pub already: bool,
}

/// What a new document is to be.
#[derive(Debug, Default)]
pub struct Scaffold {
    pub title: Option<String>,
    pub agent: Option<String>,
    pub format: Format,
}

/// A new file at `path`, which `shown` names.
pub fn init(session: &mut Session<'_>, path: &Path, shown: &str, scaffold: &Scaffold) -> Result<Claimed> {
    session.refuse_in_worker("doc init")?;
    let next = format!("git skein doc claim {} makes a document of it", quoted(shown));
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(there(path, shown, &next));
    }
    refuse_outside(session, path, shown)?;
    crate::verbs::init::ensure_known(session)?;
    let doc = fresh(session);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let title = scaffold.title.clone().unwrap_or(stem);
    let text = first_text(doc, &title, scaffold);
    make(path, shown, &text, &next)?;
    Ok(Claimed { doc, path: shown.to_owned(), already: false })
}

/// A new document at `path` would be one: it is looked at before there is a file.
pub fn refuse_outside(session: &Session<'_>, path: &Path, shown: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    in_worktree(session, &Place { shown: shown.to_owned(), path: resolved(path), folder }).map(drop)
}

/// Makes the file of a new document. `next` is what to do where there is one.
pub fn make(path: &Path, shown: &str, text: &str, next: &str) -> Result<()> {
    let made = crate::host::create(path, |mut file| {
        file.write_all(text.as_bytes()).map_err(|e| crate::host::failure("writing", path, e))
    })?;
    made.map(drop).ok_or_else(|| there(path, shown, next))
}

fn there(path: &Path, shown: &str, next: &str) -> Failure {
    Refusal::new(Token::FileExists, format!("{shown} is there already"))
        .show(format!("ls -l {}", quoted(path)))
        .next(next)
        .into()
}

fn first_text(doc: DocId, title: &str, scaffold: &Scaffold) -> String {
    let word = match scaffold.format {
        Format::Template => "template",
        Format::Append => "append",
    };
    let agent = scaffold.agent.as_ref().map(|agent| format!("agent: {agent}\n")).unwrap_or_default();
    let body = match scaffold.format {
        Format::Template => "<!-- agent:exchange -->\n<!-- /agent:exchange -->\n",
        Format::Append => "## User\n\n",
    };
    format!("---\n{KEY}: {doc}\nagent_doc_format: {word}\n{agent}---\n\n# {title}\n\n{body}")
}

/// Gives the document at `place` an identity; with `new` another one than it has.
pub fn claim(session: &mut Session<'_>, place: Place, new: bool) -> Result<Claimed> {
    session.refuse_in_worker("doc claim")?;
    // What is refused prepares nothing.
    Open::look_unsure(session, place.clone())?;
    crate::verbs::init::ensure_known(session)?;
    let at = beside(&place.path);
    for _ in 0..ROUNDS {
        let open = Open::look_unsure(session, place.clone())?;
        let shown = open.place.shown.clone();
        let known = open.id.filter(|_| !new);
        if let Some(doc) = known.filter(|_| open.front.fields.skein_doc.is_some()) {
            forget_old(&open.place.path, &at, doc, &open.text)?;
            return Ok(Claimed { doc, path: shown, already: true });
        }
        let doc = known.unwrap_or_else(|| fresh(session));
        let text = set(&open.text, KEY, &doc.to_string()).map_err(|why| malformed(&open.place, &why))?;
        lay_beside(&open.place.path, &at, text.as_bytes())?;
        if swap(&open.place.path, &at, open.text.as_bytes())? {
            return Ok(Claimed { doc, path: shown, already: false });
        }
    }
    Err(restless(&place, "try again when the file rests"))
}

/// A claim that died when the two had changed places left what was there before.
fn forget_old(path: &Path, at: &Path, doc: DocId, text: &str) -> Result<()> {
    let left = left_beside(path, at)?.and_then(|left| String::from_utf8(left).ok());
    let claimed = left.and_then(|left| set(&left, KEY, &doc.to_string()).ok());
    if claimed.as_deref() == Some(text) { crate::host::remove_tree(at) } else { Ok(()) }
}

/// How often a file that is written meanwhile is read again.
const ROUNDS: usize = 20;

/// A new identity.
pub fn fresh(session: &Session<'_>) -> DocId {
    DocId::from_parts(session.clock.now_millis(), session.clock.distinct())
}
