//! Which workers were closed, which are kept, and why.

use crate::domain::Fate;
use crate::domain::Keep;
use crate::domain::Presence;
use crate::domain::Remove;
use crate::domain::Verdict;
use crate::surfaces::present::Page;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::reap::Reaped;
use crate::verbs::reap::Row;

/// So many paths of one kind are shown.
const SHOWN: usize = 5;

impl Page {
    pub fn reap(done: &Reaped, json: bool) -> Page {
        Page::of("reap", done, json, reaped).ending(done.exit())
    }
}

fn reaped(done: &Reaped) -> String {
    if done.workers.is_empty() {
        return "no worker to look at\n".to_owned();
    }
    let mut text: String = done.workers.iter().map(|row| one(row, done.dry_run)).collect();
    let goes = |row: &&Row| matches!(row.fate, Fate::Remove(why) if why != Remove::Archived);
    let going = done.workers.iter().filter(goes).count();
    if done.dry_run && going > 0 {
        text.push_str(&format!(
            "{} add --yes to close {}; git skein restore brings one back\n",
            paint(DIM, "next:"),
            count(going, "worker")
        ));
    }
    text
}

fn one(row: &Row, dry_run: bool) -> String {
    let mut text = match row.fate {
        Fate::Remove(Remove::Archived) => {
            format!("{}: {} is in the archive\n", paint(DIM, "already"), row.handle)
        }
        Fate::Remove(why) => {
            let word = if dry_run { "remove" } else { "removed" };
            format!("{}: {} ({})\n", paint(GOOD, word), row.handle, line(&because(row, why)))
        }
        Fate::Keep(why) => {
            let because = line(&kept(row, why));
            format!("{}: {} ({}: {because})\n", paint(WARN, "keep"), row.handle, why.word())
        }
    };
    if !row.children.is_empty() {
        let names: Vec<&str> = row.children.iter().map(|handle| handle.as_str()).collect();
        text.push_str(&format!("  {} {}\n", paint(WARN, "it started, still open:"), names.join(", ")));
    }
    for (what, paths) in [("cannot be captured", &row.uncaptured), ("no snapshot saw", &row.unseen)] {
        for path in paths.iter().take(SHOWN) {
            text.push_str(&format!("  {}: {}\n", paint(WARN, what), line(path)));
        }
        if paths.len() > SHOWN {
            text.push_str(&format!("  and {} more\n", paths.len() - SHOWN));
        }
    }
    text
}

fn because(row: &Row, why: Remove) -> String {
    let onto = row.onto.short();
    let text = match (&row.verdict, why) {
        (_, Remove::Empty) => "empty: nothing committed, no changes".to_owned(),
        (Some(Verdict::Landed { proof, at, presence }), Remove::Landed) => {
            let since = if *presence == Presence::Changed { ", changed since" } else { "" };
            format!("landed: in {onto} by proof of {} at {}{since}", proof.as_str(), at.short())
        }
        (Some(Verdict::Empty), Remove::Landed) => format!("landed: in {onto}, though it changes nothing"),
        (Some(verdict), _) => format!("unlanded: {} in {onto}, as you asked", verdict.word()),
        (None, _) => why.word().to_owned(),
    };
    match row.leftovers {
        0 => text,
        left => format!("{text}; {} beyond that in its snapshot", count(left, "path")),
    }
}

fn kept(row: &Row, why: Keep) -> String {
    let onto = row.onto.short();
    match why {
        Keep::OtherClone => "another clone dispatched it".to_owned(),
        Keep::Running => format!("git skein wait {0}, or git skein stop {0}", row.handle),
        Keep::NotKnownEnded => format!("nobody can see whether it runs; git skein stop {}", row.handle),
        Keep::NotItsWorktree => row.estranged.clone().unwrap_or_default(),
        Keep::InProgress => "a rebase, merge or the like is under way in its worktree".to_owned(),
        Keep::NotLanded => format!("not in {onto}; --include-unlanded closes it all the same"),
        Keep::Partial => format!("only a part is in {onto}; --include-unlanded closes it all the same"),
        Keep::Reverted => format!("taken back from {onto}; --include-unlanded closes it all the same"),
        Keep::Unknown => match &row.verdict {
            Some(Verdict::Unknown { why, detail }) => format!("{}: {detail}", why.as_str()),
            _ => "whether it landed cannot be known".to_owned(),
        },
        Keep::Uncommitted => {
            let left = count(row.leftovers, "path");
            format!("{left} not committed or in snapshots alone; --include-unlanded closes it all the same")
        }
        Keep::EmptyCommits => {
            "its commits change nothing; --include-unlanded closes it all the same".to_owned()
        }
        Keep::Uncaptured => "its worktree holds what no snapshot can".to_owned(),
        Keep::IgnoredFiles => "they would be lost; --include-ignored closes it all the same".to_owned(),
        Keep::ChangedMeanwhile => "it was written to while it was being closed; try again".to_owned(),
    }
}
