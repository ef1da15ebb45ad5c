//! Rendering of `landed` and of the lane, for its parent.

use crate::domain::Presence;
use crate::domain::Verdict;
use crate::surfaces::style::BAD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::landed::Answered;
use crate::verbs::landed::Cherry;
use crate::verbs::log::Entry;

/// The verdict in one line, what it rests on below, and with `explain` every test that was made.
pub fn text(a: &Answered, explain: bool) -> String {
    let verdict = &a.answer.verdict;
    let style = match verdict {
        Verdict::Landed { presence: Presence::Reverted, .. } | Verdict::NotLanded { .. } => BAD,
        Verdict::Landed { .. } => GOOD,
        _ => WARN,
    };
    let mut text = format!("{}: {}\n", paint(style, verdict.word()), line(&sentence(a)));
    if explain {
        let base = a.base.map_or_else(|| "none".to_owned(), |b| b.to_string());
        text.push_str(&format!("  base {base}\n  tip  {}\n  {} is at {}\n", a.tip, a.onto.short(), a.target));
        for step in &a.answer.explain {
            let oids: Vec<String> = step.oids.iter().map(|o| o.short()).collect();
            let holds = if step.holds { "yes" } else { "no" };
            let said = format!("{:<12} {holds:<4} {} {}", step.test, oids.join(" "), step.note);
            text.push_str(&format!("  {}\n", line(said.trim_end())));
        }
    }
    if a.leftovers > 0 {
        let left = count(a.leftovers, "path");
        text.push_str(&format!(
            "  {}: {left} in its working tree were never part of it\n",
            paint(WARN, "leftovers")
        ));
    }
    if let Some(cherry) = &a.cherry {
        text.push_str(&beside(cherry));
    }
    text
}

/// The answer of `git cherry`, with a line for each commit as git prints it.
fn beside(cherry: &Cherry) -> String {
    let (says, commits) = match cherry {
        Cherry::Landed { commits } => ("landed".to_owned(), &commits[..]),
        Cherry::NotLanded { commits } => ("not landed".to_owned(), &commits[..]),
        Cherry::Nothing => ("nothing: it lists no commit".to_owned(), &[][..]),
        Cherry::Failed { why } => (format!("failed: {}", line(why)), &[][..]),
    };
    let signs = commits.iter().map(|c| format!("  {} {}\n", if c.upstream { '-' } else { '+' }, c.commit));
    format!("{} says {says}\n{}", paint(DIM, "git cherry"), signs.collect::<String>())
}

fn sentence(a: &Answered) -> String {
    let onto = a.onto.short();
    match &a.answer.verdict {
        Verdict::Landed { proof, at, presence } => {
            let tail = match presence {
                Presence::Yes => "",
                Presence::Changed => "; later work changed it",
                Presence::Reverted => "; it was taken back since and is not there now",
            };
            format!("{} is in {onto} by proof of {} at {}{tail}", a.name, proof.as_str(), at.short())
        }
        Verdict::Partial { missing, found } => {
            let list: Vec<String> = missing.iter().map(|o| o.short()).collect();
            format!(
                "{} of {} are in {onto}; missing: {}",
                found.len(),
                found.len() + missing.len(),
                list.join(" ")
            )
        }
        Verdict::NotLanded { similar } if similar.is_empty() => format!("{} is not in {onto}", a.name),
        Verdict::NotLanded { similar } => {
            let list: Vec<String> =
                similar.iter().map(|(f, u)| format!("{}~{}", f.short(), u.short())).collect();
            format!("{} is not in {onto}; alike but no proof: {}", a.name, list.join(" "))
        }
        Verdict::Empty => format!("{} changes nothing", a.name),
        Verdict::Unknown { why, detail } => format!("{}: {detail}", why.as_str()),
    }
}

/// One record of a lane.
pub fn entry(e: &Entry) -> String {
    format!(
        "{} {} {}\n",
        paint(DIM, &date(e.record.at)),
        paint(DIM, &e.record.op.to_string()),
        line(&e.record.to_string())
    )
}
