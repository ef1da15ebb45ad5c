//! `pre-push`: names landed work that goes out and that nobody has judged. Off unless `skein.debtGate` says otherwise.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::host::Env;
use crate::verbs::debt;
use crate::verbs::debt::Owed;
use crate::verbs::hooks;
use crate::verbs::hooks::Input;
use crate::verbs::session::Session;

const BRANCHES: &str = "refs/heads/";

/// One ref that is about to be pushed.
pub(super) struct Pushed {
    pub(super) from: Oid,
    /// Where it is on the other side, if it is there.
    pub(super) there: Option<Oid>,
}

/// What cannot be read of our own never fails a push: it is the person's, and goes where they say.
pub fn run(env: &Env, remote: &str, input: &mut Input, tell: &dyn Fn(&str)) -> Result<()> {
    if !hooks::called(env).is_some_and(|called| hooks::is_known(&called)) {
        return Ok(());
    }
    let found = Session::open(env, env.cwd(), tell).and_then(|session| {
        let gate = session.config.get("skein.debtgate").unwrap_or("off").to_ascii_lowercase();
        match gate.as_str() {
            "off" | "false" => Ok((false, Vec::new())),
            "warn" | "refuse" => Ok((gate == "refuse", owed(&session, remote, input.read()?)?)),
            _ => {
                tell(&format!("skein.debtGate is {gate:?}, which is neither off, warn nor refuse"));
                Ok((false, Vec::new()))
            }
        }
    });
    let (refuse, owed) = found.unwrap_or_else(|failure| {
        tell(&format!("whether this has verdicts cannot be told, so it is not asked: {failure}"));
        (false, Vec::new())
    });
    if owed.is_empty() {
        return Ok(());
    }
    let lines = owed.iter().map(line);
    if !refuse {
        tell("pushed without a verdict:");
        lines.for_each(|line| tell(&format!("  {line}")));
        return Ok(());
    }
    let says = "work would be pushed that nobody has judged, and skein.debtGate is refuse";
    Err(Refusal::new(Token::Unjudged, says)
        .lines(lines)
        .show("git log --notes='skein/*'")
        .next("git skein debt lists it with what comes next; or: git config skein.debtGate warn")
        .into())
}

fn line(owed: &Owed) -> String {
    let who = owed.handle.as_ref().map_or_else(|| owed.worker.to_string(), ToString::to_string);
    let at = owed.commit.map(|commit| commit.short()).unwrap_or_default();
    format!("{at} {who}: {}", owed.next)
}

/// Landed work without a verdict that the other side does not have yet.
fn owed(session: &Session<'_>, remote: &str, input: &[u8]) -> Result<Vec<Owed>> {
    let pushed: Vec<Pushed> = String::from_utf8_lossy(input).lines().filter_map(parse).collect();
    let objects = &session.repo.objects;
    let below = format!("refs/remotes/{remote}");
    // A remote may be an address, too.
    let known = match RefName::new(below.as_str()) {
        Ok(_) => session.repo.refs(&[&below])?.into_iter().map(|known| known.oid).collect(),
        Err(_) => Vec::new(),
    };
    let mut found = Vec::new();
    for one in debt::run(session)?.owed {
        let Some(commit) = one.commit else { continue };
        for push in &pushed {
            let there = push.there.iter().chain(&known).filter(|oid| objects.exists(**oid));
            let mut has = false;
            for oid in there {
                has = has || objects.is_ancestor(commit, *oid)?;
            }
            if !has && objects.is_ancestor(commit, push.from)? {
                found.push(one);
                break;
            }
        }
    }
    Ok(found)
}

/// What is pushed stands first, as it was called: that may have blanks, as in `HEAD^{/some words}`.
pub(super) fn parse(line: &str) -> Option<Pushed> {
    let mut words = line.rsplitn(4, ' ');
    let there: Oid = words.next()?.parse().ok()?;
    let name = words.next()?;
    let from: Oid = words.next()?.parse().ok()?;
    words.next()?;
    let goes = name.starts_with(BRANCHES) && from != from.null_like();
    goes.then(|| Pushed { from, there: Some(there).filter(|oid| *oid != oid.null_like()) })
}
