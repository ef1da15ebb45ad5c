//! What was exchanged with a remote.

use crate::domain::Exit;
use crate::domain::Token;
use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::sync::Exchanged;
use crate::verbs::sync::Synced;

/// So many are named; the rest is counted.
const SOME: usize = 20;

impl Page {
    pub fn synced(synced: &Synced, json: bool) -> Page {
        let exit = match (synced.forked.is_empty(), synced.refused.is_empty()) {
            (false, _) => Exit::Conflict,
            (_, false) => Exit::No,
            _ if !synced.stays.is_empty() => Exit::No,
            _ => Exit::Done,
        };
        Page::of("sync", synced, json, text).ending(exit)
    }
}

fn text(synced: &Synced) -> String {
    let remote = line(&synced.remote);
    let mut text = String::new();
    let idle = synced.took.is_empty() && synced.gave.is_empty() && synced.let_go.is_empty();
    if idle
        && synced.refused.is_empty()
        && synced.forked.is_empty()
        && synced.stays.is_empty()
        && synced.strange.is_empty()
    {
        return format!("in step with {remote}\n");
    }
    for (what, list) in [("took", &synced.took), ("gave", &synced.gave), ("let go of", &synced.let_go)] {
        text.push_str(&listed(what, list));
    }
    for one in &synced.forked {
        let (what, name) = (line(&one.what), line(one.name.as_str()));
        text.push_str(&format!(
            "{}: {what} has two histories: two folders have written as one clone\n  see: git skein help {}\n  {name}\n",
            paint(BAD, Token::Forked.as_str()),
            Token::Forked.as_str()
        ));
    }
    for one in &synced.stays {
        text.push_str(&format!(
            "{} {}: {}\n",
            paint(BAD, "stays as it is here:"),
            line(&one.what),
            safe(&one.why)
        ));
    }
    for name in synced.strange.iter().take(SOME) {
        text.push_str(&format!(
            "left alone on {remote}: {} is nothing that can be read here\n",
            line(name.as_str())
        ));
    }
    if !synced.refused.is_empty() {
        let refs = count(synced.refused.len(), "ref");
        text.push_str(&format!(
            "{}: {remote} did not take {refs}\n",
            paint(BAD, Token::PushRefused.as_str())
        ));
        for name in synced.refused.iter().take(SOME) {
            text.push_str(&format!("  {}\n", line(name.as_str())));
        }
        let words = synced.words.as_deref().unwrap_or_default();
        for said in words.lines().filter(|said| !said.trim().is_empty()) {
            text.push_str(&format!("  {}\n", paint(DIM, &safe(said))));
        }
    }
    text
}

fn listed(what: &str, list: &[Exchanged]) -> String {
    let named: String = list.iter().take(SOME).map(|one| format!("{what} {}\n", line(&one.what))).collect();
    let rest = list.len().saturating_sub(SOME);
    if rest == 0 { named } else { format!("{named}{what} {rest} more\n") }
}
