//! The person's hooks, which see the commit of a document only where `skein.docHooks` names them.

use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::verbs::doc::open::Open;
use crate::verbs::session::Session;

/// Names of hooks, with blanks or commas between them; as git lists the key.
const KEY: &str = "skein.dochooks";

/// Those that can be named.
const KNOWN: [&str; 2] = ["pre-commit", "commit-msg"];

/// Runs those that are named, on what would be committed; gives the message as they leave it.
pub fn before(session: &Session<'_>, open: &Open, tree: Oid, message: String) -> Result<String> {
    let named: Vec<&str> = session
        .config
        .all(KEY)
        .flat_map(|value| value.split([',', ' ']))
        .filter(|name| !name.is_empty())
        .collect();
    if let Some(name) = named.iter().find(|name| !KNOWN.contains(*name)) {
        return Err(refused(open, name, &format!("skein.docHooks can name {}", KNOWN.join(" and "))));
    }
    if named.is_empty() {
        return Ok(message);
    }
    crate::host::make_dir(&session.local.run())?;
    let folder = tempfile::Builder::new().prefix("doc-hooks-").tempdir_in(session.local.run());
    let folder = folder.map_err(|e| crate::host::failure("making a folder in", &session.local.run(), e))?;
    let (index, text) = (folder.path().join("index"), folder.path().join("message"));
    crate::host::put(&text, message.as_bytes())?;
    for name in KNOWN.iter().filter(|name| named.contains(*name)) {
        let shown = text.to_string_lossy().into_owned();
        let args: &[&str] = if *name == "commit-msg" { &[&shown] } else { &[] };
        let ran = session.repo.run_hook(&open.admin, name, (&index, tree), args)?;
        ran.map_err(|words| refused(open, name, &words))?;
    }
    let left = crate::host::read_optional(&text)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&left).into_owned())
}

fn refused(open: &Open, name: &str, words: &str) -> crate::domain::Failure {
    Refusal::new(Token::HookFailed, format!("the hook {name} is against the commit of {}", open.place.shown))
        .lines(words.lines().map(str::to_owned))
        .show("git config --get-all skein.docHooks")
        .next(format!("mend what it names, then git skein doc commit {}", quoted(&open.place.shown)))
        .into()
}
