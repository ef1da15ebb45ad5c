//! Bundles.

use crate::domain::Exit;
use crate::domain::Outcome;
use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::count;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::bundle::Deleted;
use crate::verbs::bundle::Exported;
use crate::verbs::bundle::Given;
use crate::verbs::bundle::Imported;
use crate::verbs::bundle::Listed;
use crate::verbs::bundle::Opened;
use crate::verbs::bundle::Part;
use crate::verbs::bundle::Row;
use crate::verbs::bundle::Saved;
use crate::verbs::bundle::Unloaded;

impl Page {
    pub fn bundle_saved(saved: &Saved, json: bool) -> Page {
        Page::of("bundle save", saved, json, |saved| {
            let what = if saved.already { "saved before" } else { "saved" };
            let none = match saved.whole {
                true => String::new(),
                false => format!("  no delta is frozen: git skein import {} freezes it\n", saved.row.handle),
            };
            format!("{what}: {}\n{}{none}", head(&saved.row), facts(&saved.row))
        })
    }

    pub fn bundles(listed: &Listed, json: bool) -> Page {
        let exit = if listed.unsound.is_empty() { Exit::Done } else { Exit::No };
        let text = |listed: &Listed| {
            let mut text: String =
                listed.bundles.iter().map(|row| format!("{}\n{}", head(row), facts(row))).collect();
            for (id, why) in &listed.unsound {
                text.push_str(&format!("{id} {}: {}\n", paint(BAD, "cannot be used"), line(why)));
            }
            text
        };
        Page::of("bundle list", listed, json, text).ending(exit)
    }

    pub fn bundle_exported(done: &Exported, json: bool) -> Page {
        Page::of("bundle export", done, json, |done| {
            let needs = done.needs.map_or_else(String::new, |oid| format!("  builds on  {oid}\n"));
            format!(
                "exported: {} to {} ({} bytes)\n  commit     {}\n{needs}To be sure of it elsewhere: git skein bundle show FILE --expect {}\n",
                head(&done.row),
                line(&done.file.display().to_string()),
                done.size,
                done.row.commit,
                done.row.commit,
            )
        })
    }

    pub fn bundle_imported(done: &Imported, json: bool) -> Page {
        Page::of("bundle import", done, json, |done| {
            let what = if done.already { "here already" } else { "imported" };
            format!("{what}: {}\n{}", head(&done.row), facts(&done.row))
        })
    }

    pub fn bundle_loaded(given: &Given, json: bool) -> Page {
        Page::of("bundle load", given, json, |given| {
            let what = if given.already { "loaded before" } else { "loaded" };
            let handle = &given.handle;
            let next = match given.outcome {
                _ if given.live => format!("  {handle} runs: it is given it when it is taken up again\n"),
                Outcome::Ready => format!("next: git skein verdict {handle} revise -m '…'\n"),
                _ => format!("next: git skein resume {handle}\n"),
            };
            format!("{what}: {} (of {}) for {handle}\n{next}", given.bundle, given.of)
        })
    }

    pub fn bundle_unloaded(done: &Unloaded, json: bool) -> Page {
        Page::of("bundle unload", done, json, |done| {
            format!("unloaded: {} from {}\n", done.bundle, done.handle)
        })
    }

    pub fn bundle_deleted(done: &Deleted, json: bool) -> Page {
        Page::of("bundle delete", done, json, |done| {
            let one = |row: &Row| format!("deleted: {} (commit {})\n", head(row), row.commit);
            done.deleted.iter().map(one).collect()
        })
    }

    /// One paper alone, if that was asked for.
    pub fn bundle_shown(opened: &Opened, json: bool) -> Page {
        Page::of("bundle show", opened, json, |opened| match &opened.paper {
            Some(text) if text.is_empty() || text.ends_with('\n') => safe(text),
            Some(text) => safe(text) + "\n",
            None => shown(opened),
        })
    }
}

fn head(row: &Row) -> String {
    let delta = row.delta.map(|n| format!(" delta {n}")).unwrap_or_default();
    format!("{} {}{delta}", paint(BOLD, &row.bundle.to_string()), row.handle)
}

fn facts(row: &Row) -> String {
    let mut text = format!(
        "  {}  {}\n  {} ({}, {} bytes)\n",
        paint(DIM, &date(row.at)),
        line(&row.task),
        words(&row.parts),
        count(row.papers, "paper"),
        row.bytes
    );
    if let Some(from) = &row.from {
        text.push_str(&format!("  from {}\n", line(from)));
    }
    for handle in &row.loaded {
        text.push_str(&format!("  loaded for {handle}\n"));
    }
    text
}

fn words(parts: &[Part]) -> String {
    parts.iter().map(|part| part.word()).collect::<Vec<_>>().join(", ")
}

fn shown(opened: &Opened) -> String {
    let mut text = format!("{} {}\n", paint(GOOD, "verified:"), opened.verified);
    let here = if opened.saved { ", saved here" } else { "" };
    text.push_str(&format!("bundle {} of {} ({}{here})\n", opened.bundle, opened.handle, date(opened.at)));
    text.push_str(&format!("  task     {}\n  outcome  {}\n", line(&opened.task), opened.outcome));
    text.push_str(&format!("  base     {} {}\n", opened.base, line(&opened.base_name)));
    text.push_str(&format!("  parts    {}\n", words(&opened.parts)));
    if let Some(delta) = &opened.delta {
        let against = match opened.against_base {
            true => "checked against its base",
            false => "its base is not here",
        };
        let size = format!("{}, {}", number(delta.commits, "commit"), number(delta.paths, "path"));
        text.push_str(&format!("  delta    {} {} ({size}; {against})\n", delta.n, delta.tip));
    }
    for commit in &opened.commits {
        text.push_str(&format!("    {} {}\n", commit.oid.short(), line(&commit.subject)));
    }
    for given in &opened.verdicts {
        let said = given.verdict.text.as_deref().map(|said| format!(": {}", line(said))).unwrap_or_default();
        let (actor, at) = (line(&given.verdict.actor), date(given.at));
        text.push_str(&format!("  verdict  {} by {actor} at {at}{said}\n", given.verdict.verb));
    }
    for ran in &opened.evidence {
        let (ended, command) = (ran.evidence.ended(), line(&ran.evidence.command));
        text.push_str(&format!("  evidence {ended}: {command} ({})\n", line(&ran.output)));
    }
    if let Some(claim) = &opened.said.claim {
        text.push_str(&format!("  claim    {}: {}\n", claim.outcome.word(), line(&claim.summary)));
    }
    for question in &opened.said.questions {
        text.push_str(&format!("  asked    {}: {}\n", question.n, line(&question.text)));
    }
    for message in &opened.said.messages {
        text.push_str(&format!("  told     {}: {}\n", message.n, line(&message.text)));
    }
    text.push_str("papers, each shown by its name:\n");
    for paper in &opened.papers {
        let cut = if paper.of > paper.bytes { format!(" of {}", paper.of) } else { String::new() };
        text.push_str(&format!("  {} ({}{cut} bytes)\n", line(&paper.path), paper.bytes));
    }
    text
}

fn number(n: u64, what: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), what)
}
