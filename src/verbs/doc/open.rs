//! The document at a path: its text as it stands, and what is known of it.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Front;
use crate::domain::document::Grafted;
use crate::domain::document::Malformed;
use crate::domain::document::Touched;
use crate::domain::document::front;
use crate::domain::document::graft;
use crate::domain::quoted;
use crate::host::Env;
use crate::host::Lock;
use crate::plumbing::Admin;
use crate::state::BASELINE;
use crate::state::DocState;
use crate::state::LIST_DOCUMENTS;
use crate::state::TEXT;
use crate::verbs::checkout;
use crate::verbs::init;
use crate::verbs::recover;
use crate::verbs::session::LOCK_WAIT;
use crate::verbs::session::Session;
use bstr::BString;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// How long a text that nobody knows must stay the same before it is written over.
const REST: Duration = Duration::from_millis(10);

/// Where a document is.
#[derive(Debug, Clone)]
pub struct Place {
    /// As the person gave it.
    pub shown: String,
    /// The file itself, behind all links.
    pub path: PathBuf,
    /// Its folder as the person gave it: the repository is found from there.
    pub folder: PathBuf,
}

/// The file that `file` means below `cwd`.
pub fn place(cwd: &Path, file: &Path) -> Result<Place> {
    let shown = file.display().to_string();
    let given = cwd.join(file);
    let path = given.canonicalize().ok().filter(|path| path.is_file());
    let path = path.ok_or_else(|| no_file(&shown, &given))?;
    let folder = given.parent().unwrap_or(cwd).to_owned();
    Ok(Place { shown, path, folder })
}

fn no_file(shown: &str, path: &Path) -> Failure {
    let next = match std::fs::symlink_metadata(path).is_ok() {
        true => "give a file: this is a folder, or a link that leads to none".to_owned(),
        false => format!("make one: git skein doc init {}", quoted(shown)),
    };
    Refusal::new(Token::NoDocument, format!("there is no file {shown}"))
        .show(format!("ls -ld {}", quoted(path)))
        .next(next)
        .into()
}

/// A document as it stands.
pub struct Open {
    pub place: Place,
    /// Below the top of its working tree.
    pub name: BString,
    pub admin: Admin,
    pub text: String,
    pub front: Front,
    /// The identity that its front matter states.
    pub id: Option<DocId>,
    pub state: Option<DocState>,
}

/// A document that nobody else of us writes meanwhile.
pub struct Held {
    pub open: Open,
    pub id: DocId,
    /// A run that had died was finished.
    pub recovered: bool,
    _lock: Lock,
}

impl Open {
    /// Looks at the document and writes nothing. Refused where another file says that it is the same one.
    pub fn look(session: &Session<'_>, place: Place) -> Result<Open> {
        let open = Open::look_unsure(session, place)?;
        if let Some(state) = &open.state {
            refuse_copy(session, &open, state)?;
        }
        Ok(open)
    }

    /// The same of what may be a copy.
    pub fn look_unsure(session: &Session<'_>, place: Place) -> Result<Open> {
        let (name, admin) = in_worktree(session, &place)?;
        let text = text(&place, Duration::ZERO, |bytes| !bytes.is_empty())?;
        let front = front(&text).map_err(|why| malformed(&place, &why))?;
        let id = identity(&front);
        let state = id.map(|id| DocState::load(&session.repo, id)).transpose()?.flatten();
        Ok(Open { place, name, admin, text, front, id, state })
    }

    /// Reads the text again, when whoever writes it has come to rest.
    pub fn look_again(&mut self, session: &Session<'_>) -> Result<()> {
        let known: Vec<_> = match &self.state {
            None => Vec::new(),
            Some(state) => {
                let wrote = state.record.wrote.as_ref().map(|wrote| wrote.merged);
                let files = [TEXT, BASELINE].map(|file| state.oid(&session.repo, file));
                files.into_iter().filter_map(|oid| oid.ok().flatten()).chain(wrote).collect()
            }
        };
        let is_known =
            |bytes: &[u8]| session.repo.objects.hash_blob(bytes).is_ok_and(|oid| known.contains(&oid));
        self.text = text(&self.place, REST, is_known)?;
        self.front = front(&self.text).map_err(|why| malformed(&self.place, &why))?;
        match identity(&self.front) == self.id {
            true => Ok(()),
            false => Err(Refusal::new(
                Token::RecordMoved,
                format!("{} has become another document", self.place.shown),
            )
            .show(format!("head -n 20 {}", quoted(&self.place.path)))
            .next("try again when its front matter is as it is meant")
            .into()),
        }
    }

    /// What the agent knows of the text; where nothing was sent, `None`.
    pub fn known(&self, session: &Session<'_>) -> Result<Option<String>> {
        self.state.as_ref().map(|state| state.text(&session.repo)).transpose().map(Option::flatten)
    }

    /// What the file is compared with: what the agent knows. Where that is nothing, the whole body is new.
    pub fn compared_with(&self, session: &Session<'_>) -> Result<String> {
        let known = self.known(session)?;
        Ok(known.unwrap_or_else(|| self.text[..self.front.body].to_owned()))
    }

    /// `text` with what makes `after` of `before`.
    pub fn graft(&self, before: &str, text: &str, after: &str, touched: &Touched) -> Result<Grafted> {
        graft(before, text, after, touched).map_err(|why| malformed(&self.place, &why))
    }
}

impl Held {
    /// Takes the document to write to it, when whoever of us writes it is done.
    pub fn take(session: &mut Session<'_>, place: Place, verb: &str) -> Result<Held> {
        session.refuse_in_worker(verb)?;
        let first = Open::look(session, place)?;
        let id = first.id.ok_or_else(|| no_identity(&first.place))?;
        // The first to be written would take the identity.
        if first.state.is_none()
            && let Some(other) = twin(session, &first)?
        {
            return Err(copied(&first.place, id, &other));
        }
        init::ensure_known(session)?;
        Held::hold(session, first)
    }

    /// Holds what was looked at; the repository is prepared.
    pub fn hold(session: &Session<'_>, first: Open) -> Result<Held> {
        let id = first.id.ok_or_else(|| no_identity(&first.place))?;
        let lock = session.lock_document(id)?;
        recover::locks(session)?;
        checkout::free_left_by_document(session, &first.admin, Some(id))?;
        let mut open = Open { state: DocState::load(&session.repo, id)?, ..first };
        let recovered = super::contribute::finish_interrupted(session, &mut open)?;
        open.look_again(session)?;
        let mut held = Held { open, id, recovered, _lock: lock };
        super::seen::catch_up(session, &mut held)?;
        Ok(held)
    }
}

/// The path below the top of the worktree, and the worktree.
pub fn in_worktree(session: &Session<'_>, place: &Place) -> Result<(BString, Admin)> {
    let dirs = &session.repo.dirs;
    let top = dirs.work_tree.as_ref().and_then(|top| top.canonicalize().ok());
    let outside = || {
        Refusal::new(
            Token::OutsideWorktree,
            format!("{} is not in a working tree of the repository", place.shown),
        )
        .lines([place.path.display().to_string()])
        .show(format!("git -C {} rev-parse --show-toplevel", quoted(&place.folder)))
        .next("give a file of the working tree; a link must lead to one")
    };
    let top = top.ok_or_else(outside)?;
    let name = place.path.strip_prefix(&top).map_err(|_| outside())?;
    let folders = name.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let nested = folders.into_iter().any(|folder| top.join(folder).join(".git").exists());
    if nested || name.starts_with(".git") {
        return Err(outside().into());
    }
    Ok((name.as_os_str().as_bytes().into(), Admin { dir: dirs.git.clone(), path: top }))
}

/// What the file holds, when it has come to rest.
fn text(place: &Place, rest: Duration, known: impl Fn(&[u8]) -> bool) -> Result<String> {
    let bytes = crate::host::read_at_rest(&place.path, rest, known)?;
    let bytes = bytes.ok_or_else(|| no_file(&place.shown, &place.path))?;
    let refused = |what: &str| {
        Refusal::new(Token::NotText, format!("{} is no text: {what}", place.shown))
            .show(format!("file {}", quoted(&place.path)))
            .next("a document is UTF-8 text without NUL; it was left as it is")
    };
    if bytes.contains(&0) {
        return Err(refused("it has a NUL in it").into());
    }
    String::from_utf8(bytes)
        .map_err(|e| refused(&format!("byte {} is not UTF-8", e.utf8_error().valid_up_to())).into())
}

/// The identity that a front matter states: ours, or else that of the tool that these documents come from.
pub fn identity(front: &Front) -> Option<DocId> {
    let own = front.fields.skein_doc.as_deref().and_then(|id| id.parse().ok());
    own.or_else(|| front.fields.session.as_deref().and_then(DocId::from_uuid))
}

fn no_identity(place: &Place) -> Failure {
    Refusal::new(Token::NotADocument, format!("{} has no identity in its front matter", place.shown))
        .show(format!("head -n 20 {}", quoted(&place.path)))
        .next(format!("git skein doc claim {}", quoted(&place.shown)))
        .into()
}

/// What is wrong with a text that cannot be taken for a document.
pub fn malformed(place: &Place, why: &Malformed) -> Failure {
    Refusal::new(Token::BadDocument, format!("{}:{}: {}", place.shown, why.line, why.says))
        .show(format!("sed -n '{}p' {}", why.line.max(1), quoted(&place.path)))
        .next("mend that line, then try again; nothing was written")
        .into()
}

/// The file never rests.
pub fn restless(place: &Place, next: &str) -> Failure {
    Refusal::new(Token::Busy, format!("{} is being written all the time", place.shown))
        .show(format!("fuser -v {}", quoted(&place.path)))
        .next(next)
        .into()
}

/// Refuses where the file that the document was last seen in is still there, and says that it is the same one; or where
/// that is gone, and another one beside this does.
fn refuse_copy(session: &Session<'_>, open: &Open, state: &DocState) -> Result<()> {
    let last = &state.record.path;
    if *last == open.name.to_str_lossy() {
        return Ok(());
    }
    let other = match is_twin(open, last) {
        true => Some(last.clone()),
        false => twin(session, open)?,
    };
    other.map_or(Ok(()), |other| Err(copied(&open.place, state.record.doc, &other)))
}

/// Whether the file `name` is another one, and says that it is the same document.
fn is_twin(open: &Open, name: &str) -> bool {
    let other = open.admin.path.join(name);
    let says = std::fs::read_to_string(&other).ok().and_then(|text| identity(&front(&text).ok()?));
    says.is_some() && says == open.id && other.canonicalize().ok().as_ref() != Some(&open.place.path)
}

/// Another file that says so, of those that git does not ignore. What editors keep beside a file is hidden, or has
/// another ending: `.t.md.swp`, `t.md~`, `#t.md#`.
fn twin(session: &Session<'_>, open: &Open) -> Result<Option<String>> {
    let fields = &open.front.fields;
    let Some(word) = fields.skein_doc.as_ref().or(fields.session.as_ref()) else { return Ok(None) };
    let found = session.repo.files_that_say(&open.admin, word)?;
    let is_like = |name: &String| {
        let path = Path::new(name);
        let hidden = path.file_name().is_some_and(|file| file.as_bytes().starts_with(b"."));
        !hidden && path.extension() == open.place.path.extension()
    };
    Ok(found.into_iter().filter(is_like).find(|name| is_twin(open, name)))
}

fn copied(place: &Place, id: DocId, other: &str) -> Failure {
    Refusal::new(
        Token::DocumentTwice,
        format!("{} and {other} say that they are the same document", place.shown),
    )
    .lines([format!("document {id}")])
    .show(LIST_DOCUMENTS)
    .next(format!(
        "git skein doc claim --new {} makes it another one; or remove one of the two",
        quoted(&place.shown)
    ))
    .into()
}

/// The session of the repository that a document is in.
pub fn session<'s>(env: &'s Env, place: &Place, tell: &'s dyn Fn(&str)) -> Result<Session<'s>> {
    Session::open(env, &place.folder, tell)
}

impl Session<'_> {
    /// Held while a document is written.
    fn lock_document(&self, id: DocId) -> Result<Lock> {
        let path = self.local.document_lock(id);
        crate::host::make_dir(&self.local.run())?;
        let busy = || {
            Refusal::new(
                Token::Busy,
                format!("another one has been writing the document for {} s", LOCK_WAIT.as_secs()),
            )
            .show(format!("fuser -v {}", quoted(&path)))
            .next("wait for it to end, then try again")
        };
        Ok(Lock::acquire(&path, LOCK_WAIT)?.ok_or_else(busy)?)
    }
}
