//! Session documents.

use crate::domain::Exit;
use crate::domain::document::Section;
use crate::domain::quoted;
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
use crate::verbs::doc::Answered;
use crate::verbs::doc::Begun;
use crate::verbs::doc::Claimed;
use crate::verbs::doc::Committed;
use crate::verbs::doc::Compared;
use crate::verbs::doc::ConflictRecord;
use crate::verbs::doc::Conflicts;
use crate::verbs::doc::Edited;
use crate::verbs::doc::Fanned;
use crate::verbs::doc::Folded;
use crate::verbs::doc::Forked;
use crate::verbs::doc::History;
use crate::verbs::doc::Known;
use crate::verbs::doc::Outline;
use crate::verbs::doc::Preflight;
use crate::verbs::doc::Ran;
use crate::verbs::doc::Recovered;
use crate::verbs::doc::Resolved;
use crate::verbs::doc::Responded;
use crate::verbs::doc::Row;
use crate::verbs::doc::Shown;
use crate::verbs::doc::Standing;
use crate::verbs::doc::State;
use crate::verbs::doc::Status;
use crate::verbs::doc::Turned;
use crate::verbs::doc::Turns;

impl Page {
    pub fn doc_made(made: &Claimed, json: bool) -> Page {
        Page::of("doc init", made, json, |made| {
            format!(
                "made: {} (document {})\nnext: write into it, then git skein doc run {}\n",
                paint(BOLD, &line(&made.path)),
                made.doc,
                word(&made.path)
            )
        })
    }

    pub fn doc_claimed(made: &Claimed, json: bool) -> Page {
        Page::of("doc claim", made, json, |made| {
            let what = if made.already { "it is" } else { "it is now" };
            format!("{}: {what} document {}\n", paint(BOLD, &line(&made.path)), made.doc)
        })
    }

    pub fn doc_compared(found: &Compared, exit_code: bool, json: bool) -> Page {
        let exit = if exit_code && !found.diff.is_empty() { Exit::No } else { Exit::Done };
        Page::of("doc diff", found, json, |found| safe(&found.diff)).ending(exit)
    }

    /// One JSON object, always: it is for programs.
    pub fn doc_preflight(found: &Preflight, _json: bool) -> Page {
        Page::of("doc preflight", found, true, |_| String::new())
    }

    pub fn doc_answered(verb: &str, done: &Answered, json: bool) -> Page {
        Page::of(verb, done, json, answered).ending(how(done))
    }

    pub fn doc_responded(done: &Responded, json: bool) -> Page {
        Page::of("doc respond", done, json, |done| {
            let commit = done.commit.as_ref().map(committed).unwrap_or_default();
            answered(&done.answer) + &commit
        })
        .ending(how(&done.answer))
        .but("doc respond", done.failed.as_ref(), json)
    }

    pub fn doc_committed(done: &Committed, json: bool) -> Page {
        Page::of("doc commit", done, json, committed)
    }

    /// What was sent and what came back.
    pub fn doc_ran(done: &Ran, json: bool) -> Page {
        let exit = done.answer.as_ref().map_or(Exit::Done, how);
        Page::of("doc run", done, json, |done| {
            let commit = done.commit.as_ref().map(committed).unwrap_or_default();
            match (&done.prompt, &done.answer) {
                (None, _) => format!("{}: nothing is new\n{commit}", paint(BOLD, &line(&done.path))),
                (Some(prompt), None) => safe(prompt),
                (Some(_), Some(answer)) => answered(answer) + &commit,
            }
        })
        .ending(exit)
        .but("doc run", done.failed.as_ref(), json)
    }

    pub fn doc_edited(verb: &str, done: &Edited, json: bool) -> Page {
        let exit = if done.conflicts.is_empty() { Exit::Done } else { Exit::Conflict };
        Page::of(verb, done, json, |done| {
            let path = paint(BOLD, &line(&done.path));
            match done.turn {
                None => format!("{path}: nothing to do\n"),
                Some(n) => format!("{path}: written (turn {n})\n{}", collisions(&done.path, &done.conflicts)),
            }
        })
        .ending(exit)
    }

    pub fn doc_turns(found: &Turns, json: bool) -> Page {
        Page::of("doc turns", found, json, |found| {
            if found.turns.is_empty() {
                return format!("{}: no turns yet\n", paint(BOLD, &line(&found.path)));
            }
            found.turns.iter().map(row).collect()
        })
    }

    /// One turn; `bare`: only what it did.
    pub fn doc_turn(found: &Shown, bare: bool, json: bool) -> Page {
        let verb = if bare { "doc turn diff" } else { "doc turn show" };
        Page::of(verb, found, json, |found| {
            if bare {
                return safe(&found.diff);
            }
            let part = |title: &str, text: &Option<String>| match text {
                Some(text) if !text.is_empty() => format!("{}\n{}\n", paint(DIM, title), ended(&safe(text))),
                _ => String::new(),
            };
            format!(
                "{}\n{}{}{}",
                row(&found.row),
                part("asked", &found.prompt),
                part("answered", &found.response),
                part("did", &Some(found.diff.clone())),
            )
        })
    }

    pub fn doc_turned(done: &Turned, json: bool) -> Page {
        let exit = if done.conflicts.is_empty() { Exit::Done } else { Exit::Conflict };
        Page::of(if done.undone { "doc turn undo" } else { "doc turn redo" }, done, json, |done| {
            let what = if done.undone { "is taken back" } else { "is done again" };
            let path = paint(BOLD, &line(&done.path));
            format!("{path}: turn {} {what}\n{}", done.turn, collisions(&done.path, &done.conflicts))
        })
        .ending(exit)
    }

    pub fn doc_forked(done: &Forked, json: bool) -> Page {
        Page::of("doc turn fork", done, json, |done| {
            let path = paint(BOLD, &line(&done.path));
            format!("{path}: document {}, as {} was after turn {}\n", done.doc, done.of, done.turn)
        })
    }

    pub fn doc_conflicts(found: &Conflicts, json: bool) -> Page {
        let open = found.conflicts.iter().any(|conflict| conflict.resolved.is_none());
        Page::of("doc conflicts", found, json, |found| {
            if found.conflicts.is_empty() {
                return format!("{}: no conflicts\n", paint(BOLD, &line(&found.path)));
            }
            let mut text: String = found.conflicts.iter().map(conflict).collect();
            if open {
                text.push_str(&format!(
                    "next: git skein doc resolve {} <n> --ours, --theirs or --both\n",
                    word(&found.path)
                ));
            }
            text
        })
        .ending(if open { Exit::No } else { Exit::Done })
    }

    pub fn doc_resolved(done: &Resolved, json: bool) -> Page {
        Page::of("doc resolve", done, json, |done| {
            let one = |c: &ConflictRecord| {
                format!("conflict {}: {}\n", c.n, c.resolved.as_deref().unwrap_or_default())
            };
            done.resolved.iter().map(one).collect()
        })
    }

    pub fn doc_recovered(done: &Recovered, json: bool) -> Page {
        Page::of("doc recover", done, json, |done| {
            let what = if done.recovered { "finished" } else { "nothing was interrupted" };
            format!("{}: {what}\n", paint(BOLD, &line(&done.path)))
        })
    }

    pub fn doc_status(found: &Status, json: bool) -> Page {
        Page::of("doc status", found, json, |found| {
            let mut text = String::new();
            for one in &found.lines {
                let (word, style) = match one.state {
                    State::Sent => ("sent", DIM),
                    State::Unsent => ("unsent", GOOD),
                    State::Comment => ("comment", DIM),
                    State::Agent => ("agent", BOLD),
                    State::Conflict => ("conflict", BAD),
                };
                let turn = one.turn.map(|n| n.to_string()).unwrap_or_default();
                let word = paint(style, &format!("{word:<8}"));
                text.push_str(&format!("{:>5} {word} {turn:>4}  {}\n", one.line, line(&one.text)));
            }
            let unsent = found.lines.iter().filter(|line| line.state == State::Unsent).count();
            let path = paint(BOLD, &line(&found.path));
            let open: Vec<String> = found.open.iter().map(u32::to_string).collect();
            let waits = match open.is_empty() {
                true => String::new(),
                false => format!(", waiting for an answer: {}", open.join(", ")),
            };
            text + &format!(
                "{path}: {}, {} unsent, {} removed since, {}{waits}\n",
                count(found.turns as usize, "turn"),
                count(unsent, "line"),
                count(found.removed, "line"),
                count(found.conflicts as usize, "conflict")
            )
        })
    }

    pub fn doc_outline(found: &Outline, json: bool) -> Page {
        Page::of("doc outline", found, json, |found| {
            let one = |section: &Section| {
                let indent = "  ".repeat(section.depth.saturating_sub(1));
                format!(
                    "{:>5} {indent}{}  {}\n",
                    section.line,
                    line(&section.heading),
                    paint(DIM, &format!("{} lines, about {} tokens", section.lines, section.tokens))
                )
            };
            found.sections.iter().map(one).collect()
        })
    }

    /// The text alone, so that it can be compared.
    pub fn doc_known(found: &Option<Known>, json: bool) -> Page {
        Page::of("doc show", found, json, |found| match found {
            None => String::new(),
            Some(Known { verified: Some(blobs), oid, .. }) => {
                format!("text {oid}: {} of the newest step are what they were\n", count(*blobs, "blob"))
            }
            Some(known) => safe(&known.text),
        })
        .ending(if found.is_some() { Exit::Done } else { Exit::No })
    }

    pub fn doc_history(found: &History, json: bool) -> Page {
        Page::of("doc history", found, json, |found| {
            let mut text = String::new();
            for row in &found.commits {
                let said = row.said.as_ref().map(|said| format!("  {}", paint(DIM, &line(said))));
                let at = date(row.at);
                let subject = line(&row.subject);
                text.push_str(&format!(
                    "{} {at}  {subject}{}\n",
                    row.commit.short(),
                    said.unwrap_or_default()
                ));
            }
            if text.is_empty() { format!("{}: no commits\n", paint(BOLD, &line(&found.path))) } else { text }
        })
    }

    pub fn doc_begun(done: &Begun, json: bool) -> Page {
        Page::of("doc reset", done, json, |done| {
            format!("{}: the next turn begins with the whole text\n", paint(BOLD, &line(&done.path)))
        })
    }

    pub fn doc_folded(done: &Folded, json: bool) -> Page {
        Page::of("doc clean", done, json, |done| {
            let path = paint(BOLD, &line(&done.path));
            match done.commit {
                None => format!("{path}: nothing to fold\n"),
                Some(commit) => format!("{path}: {} commits are one, {}\n", done.folded, commit.short()),
            }
        })
    }

    pub fn doc_fanned(done: &Fanned, json: bool) -> Page {
        let exit = if done.answer.is_none() || done.is_whole() { Exit::Done } else { Exit::No };
        Page::of("doc fanout", done, json, |done| {
            let mut text = String::new();
            for task in &done.tasks {
                let what = line(task.text.lines().next().unwrap_or_default());
                let who = task.handle.as_ref().map(ToString::to_string).unwrap_or_default();
                let how = match (&task.paths, &task.why) {
                    (Some(paths), _) => {
                        format!("{} changed", count(usize::try_from(*paths).unwrap_or(0), "file"))
                    }
                    (None, Some(why)) => paint(BAD, &line(why)),
                    (None, None) => String::new(),
                };
                text.push_str(&format!("{} {who}  {how}\n", paint(BOLD, &what)));
            }
            text + &done.answer.as_ref().map(answered).unwrap_or_default()
        })
        .ending(exit)
    }
}

fn row(row: &Row) -> String {
    let turn = &row.turn;
    let (word, style) = match row.standing {
        Standing::Open => ("open", BOLD),
        Standing::Superseded => ("superseded", DIM),
        Standing::Answered => ("answered", DIM),
        Standing::Failed => ("failed", BAD),
        Standing::Undone => ("undone", DIM),
    };
    let at = turn.answered.or(turn.sent).map(date).unwrap_or_default();
    let who = [&turn.agent, &turn.model].into_iter().flatten().map(|word| line(word)).collect::<Vec<_>>();
    let who = if who.is_empty() { turn.origin.iter().map(|word| line(word)).collect() } else { who };
    let why = turn.failed.as_ref().map(|why| format!(": {}", line(why))).unwrap_or_default();
    format!("{:>4}  {at}  {:<8}  {}{why}\n", turn.n, paint(style, word), who.join(" "))
}

fn conflict(found: &ConflictRecord) -> String {
    let place = found.component.as_ref().map(|name| format!(" of {}", line(name))).unwrap_or_default();
    let state = found.resolved.as_ref().map(|how| format!(", resolved: {how}")).unwrap_or_default();
    let mut text = format!("conflict {} (turn {}{place}, line {}{state})\n", found.n, found.turn, found.line);
    for (who, words) in [("was", &found.base), ("you", &found.person), ("agent", &found.agent)] {
        for words in words.lines() {
            text.push_str(&format!("  {:<6}{}\n", paint(DIM, who), line(words)));
        }
    }
    text
}

fn collisions(path: &str, conflicts: &[ConflictRecord]) -> String {
    if conflicts.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for conflict in conflicts {
        let what = paint(BAD, "conflict");
        text.push_str(&format!("  {what} {} in line {}: your words stand\n", conflict.n, conflict.line));
    }
    text + &format!("next: git skein doc conflicts {}\n", word(path))
}

/// A path in a command, as a shell would take it.
fn word(path: &str) -> String {
    line(&quoted(path))
}

fn ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// A block that went nowhere is a no; words that collide are a conflict.
fn how(done: &Answered) -> Exit {
    match done {
        _ if !done.is_whole() => Exit::No,
        _ if !done.conflicts.is_empty() => Exit::Conflict,
        _ => Exit::Done,
    }
}

fn answered(done: &Answered) -> String {
    let path = paint(BOLD, &line(&done.path));
    if done.already {
        return format!("{path}: turn {} has this very answer already\n", done.turn);
    }
    let to = done.patched.iter().map(|name| line(name)).collect::<Vec<_>>().join(", ");
    let mut text = match done.patched.is_empty() {
        true => format!("{path}: nothing of the answer could be applied (turn {})\n", done.turn),
        false => format!("{path}: turn {} is answered ({to})\n", done.turn),
    };
    for (name, why) in &done.refused {
        text.push_str(&format!("  {} {}: {}\n", paint(BAD, "not applied"), line(name), line(why)));
    }
    text.push_str(&collisions(&done.path, &done.conflicts));
    if !done.refused.is_empty() {
        text.push_str(&format!("{} git show {}\n", paint(DIM, "the whole answer:"), done.kept));
    }
    text
}

fn committed(done: &Committed) -> String {
    let path = paint(BOLD, &line(&done.path));
    let Some(commit) = done.commit else { return format!("{path}: nothing to commit\n") };
    let branch = done.branch.as_ref().map_or("a detached HEAD", |branch| branch.short());
    let index = if done.indexed { "" } else { "; the index was left as it is" };
    format!("{path}: committed {} on {branch}{index}\n", commit.short())
}
