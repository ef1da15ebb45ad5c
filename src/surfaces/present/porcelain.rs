//! `--porcelain`: records for scripts, as docs/porcelain.md describes them. Nothing here is styled, and nothing
//! changes within a version.

use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::Verdict;
use crate::domain::c_quoted;
use crate::surfaces::present::Page;
use crate::verbs::doctor::Checkup;
use crate::verbs::landed::Answered;
use crate::verbs::landed::Cherry;
use crate::verbs::log::Entry;
use crate::verbs::log::Landing;
use crate::verbs::log::LaneEntry;
use crate::verbs::log::Log;
use crate::verbs::log::Undo;
use crate::verbs::show::Shown;
use crate::verbs::status::Row;
use crate::verbs::status::Status;
use std::os::unix::ffi::OsStrExt;

/// What ends a record. After a line feed the last field is quoted as git quotes paths; after NUL it is raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Line,
    Nul,
}

/// The records of one answer.
struct Records {
    ends: Ends,
    out: Vec<u8>,
}

impl Records {
    fn new(ends: Ends) -> Records {
        Records { ends, out: Vec::new() }
    }

    /// A record of fields that are words: none is empty, none holds a tab, a line feed or NUL.
    fn plain(&mut self, fields: &[&str]) {
        self.out.extend_from_slice(fields.join("\t").as_bytes());
        self.out.push(if self.ends == Ends::Nul { 0 } else { b'\n' });
    }

    /// The same with a last field of any bytes.
    fn text(&mut self, fields: &[&str], last: impl AsRef<[u8]>) {
        self.out.extend_from_slice(fields.join("\t").as_bytes());
        self.out.push(b'\t');
        match self.ends {
            // A text may hold NUL, a path never does.
            Ends::Nul => self.out.extend(last.as_ref().iter().filter(|b| **b != 0)),
            Ends::Line => self.out.extend(c_quoted(b"", last.as_ref())),
        }
        self.out.push(if self.ends == Ends::Nul { 0 } else { b'\n' });
    }

    fn page(self) -> Page {
        Page { raw: self.out, ..Page::text(String::new()) }
    }
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}

fn oids(some: &[Oid]) -> String {
    if some.is_empty() {
        "-".to_owned()
    } else {
        some.iter().map(Oid::to_string).collect::<Vec<_>>().join(",")
    }
}

impl Page {
    pub fn status_lines(status: &Status, ends: Ends) -> Page {
        let mut records = Records::new(ends);
        for worker in &status.workers {
            row(&mut records, worker);
        }
        for unread in &status.unreadable {
            records.text(&["unreadable", &unread.worker.to_string()], &unread.why);
        }
        records.page()
    }

    /// A card or events. The other parts of a worker are texts already.
    pub fn show_lines(shown: &Shown, ends: Ends) -> Page {
        let mut records = Records::new(ends);
        match shown {
            Shown::Card(card) => {
                row(&mut records, &card.row);
                let id = card.row.worker.to_string();
                records.plain(&["exit", &id, &or_none(card.exit)]);
                records.plain(&["jail", &id, card.jail.word()]);
                for (tag, texts) in [
                    ("agent", &card.agent),
                    ("path", &card.paths),
                    ("check", &card.checks),
                    ("outside", &card.outside),
                ] {
                    texts.iter().for_each(|text| records.text(&[tag, &id], text));
                }
                for change in &card.changes {
                    records.text(&["change", &id, &change.state.to_string()], &change.raw);
                }
            }
            Shown::Events(events) => {
                for event in events {
                    records.text(&["event", &event.at.to_string()], &event.what);
                }
            }
            Shown::Text(text) => records.text(&["text"], text),
        }
        records.page()
    }

    pub fn landed_lines(answer: &Answered, explain: bool, ends: Ends) -> Page {
        let mut records = Records::new(ends);
        landed(&mut records, answer);
        for step in answer.answer.explain.iter().filter(|_| explain) {
            let holds = if step.holds { "yes" } else { "no" };
            records.text(&["test", step.test, holds, &oids(&step.oids)], &step.note);
        }
        match &answer.cherry {
            Some(Cherry::Landed { commits } | Cherry::NotLanded { commits }) => {
                for sign in commits {
                    let known = if sign.upstream { "-" } else { "+" };
                    records.plain(&["cherry", known, &sign.commit.to_string()]);
                }
            }
            Some(Cherry::Failed { why }) => records.text(&["cherry-failed"], why),
            Some(Cherry::Nothing) | None => {}
        }
        records.page().ending(answer.answer.verdict.exit())
    }

    pub fn log_lines(log: &Log, ends: Ends) -> Page {
        let mut records = Records::new(ends);
        log.entries.iter().for_each(|e| entry(&mut records, e));
        records.page()
    }

    pub fn doctor_lines(checkup: &Checkup, ends: Ends) -> Page {
        let mut records = Records::new(ends);
        checkup.fixed.iter().for_each(|what| records.text(&["fixed"], what));
        checkup.failed.iter().for_each(|what| records.text(&["not-fixed"], what));
        for f in &checkup.findings {
            records.text(&["finding", f.check, f.level.word()], &f.says);
            f.lines.iter().for_each(|line| records.text(&["line", f.check], line));
            for (tag, command) in [("show", &f.show), ("next", &f.next)] {
                if !command.is_empty() {
                    records.text(&[tag, f.check], command);
                }
            }
        }
        records.page().ending(checkup.exit())
    }
}

fn row(records: &mut Records, row: &Row) {
    let id = row.worker.to_string();
    let flags: Vec<&str> = row.flags.iter().map(|f| f.word()).collect();
    records.plain(&[
        "worker",
        &id,
        row.handle.as_str(),
        row.outcome.word(),
        &or_none(row.liveness),
        &if flags.is_empty() { "-".to_owned() } else { flags.join(",") },
        row.onto.as_str(),
        &row.base.to_string(),
        &row.head.to_string(),
        &or_none(row.snapshot),
        &or_none(row.landed),
        &or_none(row.behind),
        &row.commits.to_string(),
        &row.files.to_string(),
        &row.deltas.to_string(),
        &row.created.to_string(),
        &or_none(row.ended),
    ]);
    records.text(&["task", &id], &row.task);
    records.text(&["base-name", &id], &row.base_name);
    if let Some(reason) = &row.reason {
        records.text(&["reason", &id], reason);
    }
    if let Some(worktree) = &row.worktree {
        records.text(&["worktree", &id], worktree.as_os_str().as_bytes());
    }
    records.text(&["next", &id], &row.next);
}

fn landed(records: &mut Records, a: &Answered) {
    let (proof, at, presence) = match &a.answer.verdict {
        Verdict::Landed { proof, at, presence } => {
            let presence = match presence {
                Presence::Yes => "yes",
                Presence::Changed => "changed",
                Presence::Reverted => "reverted",
            };
            (proof.as_str(), at.to_string(), presence)
        }
        _ => ("-", "-".to_owned(), "-"),
    };
    // The word for people has two words where the work changed since.
    let word = a.answer.verdict.word().split(',').next().unwrap_or_default();
    records.plain(&[
        "verdict",
        word,
        proof,
        &at,
        presence,
        a.onto.as_str(),
        &a.target.to_string(),
        &a.tip.to_string(),
        &or_none(a.base),
        &a.leftovers.to_string(),
    ]);
    records.text(&["name"], &a.name);
    match &a.answer.verdict {
        Verdict::Partial { missing, found } => {
            missing.iter().for_each(|oid| records.plain(&["missing", &oid.to_string()]));
            found.iter().for_each(|oid| records.plain(&["found", &oid.to_string()]));
        }
        Verdict::NotLanded { similar } => {
            for (fork, trunk) in similar {
                records.plain(&["similar", &fork.to_string(), &trunk.to_string()]);
            }
        }
        Verdict::Unknown { why, detail } => records.text(&["why", why.as_str()], detail),
        Verdict::Landed { .. } | Verdict::Empty => {}
    }
}

fn entry(records: &mut Records, e: &Entry) {
    let (op, at, commit) = (e.record.op.to_string(), e.record.at.to_string(), e.commit.to_string());
    let head = |kind| [kind, op.as_str(), at.as_str(), e.lane.as_str(), commit.as_str()];
    let mut moved = |kind, rest: &[String]| {
        let fields: Vec<&str> = head(kind).into_iter().chain(rest.iter().map(String::as_str)).collect();
        records.plain(&fields);
    };
    match &e.record.entry {
        LaneEntry::Intent(landing) => moved("intent", &of_landing(landing)),
        LaneEntry::Landing(landing) => moved("landing", &of_landing(landing)),
        LaneEntry::Undo(undo) => moved("undo", &of_undo(undo)),
        LaneEntry::Undone(undo) => moved("undone", &of_undo(undo)),
        LaneEntry::Abandoned { why } => records.text(&head("abandoned"), why),
        LaneEntry::Rewritten { commits } => {
            commits.iter().for_each(|(old, new)| moved("rewritten", &[old.to_string(), new.to_string()]));
        }
        LaneEntry::Evidence(run) => {
            let rest = [
                run.tree.to_string(),
                or_none(run.exit),
                run.millis.to_string(),
                run.digest.clone(),
                run.bytes.to_string(),
            ];
            let fields: Vec<&str> =
                head("evidence").into_iter().chain(rest.iter().map(String::as_str)).collect();
            records.text(&fields, &run.command);
        }
        LaneEntry::Verdict(v) => {
            let rest = [
                v.verb.word().to_owned(),
                v.worker.to_string(),
                or_none(v.delta),
                or_none(v.question),
                or_none(v.option),
                or_none(v.risk.as_ref().map(|r| r.level.word())),
            ];
            let fields: Vec<&str> =
                head("verdict").into_iter().chain(rest.iter().map(String::as_str)).collect();
            records.text(&fields, &v.actor);
        }
    }
}

fn of_landing(landing: &Landing) -> [String; 6] {
    let delta = landing.delta.as_ref();
    [
        landing.onto.to_string(),
        landing.old.to_string(),
        landing.new.to_string(),
        or_none(delta.map(|d| d.worker)),
        or_none(delta.map(|d| d.n)),
        or_none(landing.branch.as_ref().map(|b| b.as_str())),
    ]
}

fn of_undo(undo: &Undo) -> [String; 4] {
    [undo.onto.to_string(), undo.old.to_string(), undo.new.to_string(), undo.undoes.to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_field_is_raw_before_nul() {
        let mut records = Records::new(Ends::Nul);
        records.text(&["change", "M"], b"a\tb\n\xff");
        records.plain(&["x", "-"]);
        assert_eq!(records.out, b"change\tM\ta\tb\n\xff\0x\t-\0");
    }
}
