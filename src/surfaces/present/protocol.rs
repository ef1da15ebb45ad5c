//! What workers and people say to each other.

use crate::domain::protocol::Said;
use crate::surfaces::present::Page;
use crate::surfaces::style::DIM;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::resume::Resumed;
use crate::verbs::tell::Told;

impl Page {
    pub fn said(said: &Said, json: bool) -> Page {
        Page::of("worker", said, json, answer)
    }

    pub fn told(told: &Told, json: bool) -> Page {
        Page::of("tell", told, json, message)
    }

    pub fn resumed(resumed: &Resumed, json: bool) -> Page {
        Page::of("resume", resumed, json, |r| {
            let how = match &r.session {
                Some(name) => format!("goes on in its session {}", line(name)),
                None => "runs again, with its task and what was said of it".to_owned(),
            };
            let with = if r.messages.is_empty() {
                String::new()
            } else {
                format!(", with {}", count(r.messages.len(), "message"))
            };
            format!("{} {how}{with}\n{} git skein wait {}\n", r.handle, paint(DIM, "next:"), r.handle)
        })
    }
}

fn answer(said: &Said) -> String {
    let mut text = String::new();
    for (n, item) in said.todos.iter().flatten().enumerate() {
        let mark = if item.done { 'x' } else { ' ' };
        text.push_str(&format!("{:>3} [{mark}] {}\n", n + 1, line(&item.text)));
    }
    for letter in said.messages.iter().flatten() {
        let to = letter.to.map(|n| format!(" (to question {n})"));
        let to = to.or(letter.from.map(|id| format!(" (from {id})"))).unwrap_or_default();
        text.push_str(&format!("message {}{to}:\n{}\n", letter.n, safe(letter.text.trim_end())));
    }
    if said.messages.as_ref().is_some_and(Vec::is_empty) {
        text.push_str("no messages\n");
    }
    for path in &said.undeclared {
        text.push_str(&format!("{} {}\n", paint(WARN, "not declared:"), line(path)));
    }
    if !said.says.is_empty() {
        text.push_str(&format!("{}\n", line(&said.says)));
    }
    text
}

fn message(told: &Told) -> String {
    let to = match &told.to {
        Some(question) => format!("answers question {}: {}", question.n, line(&question.text)),
        None => "a message by itself".to_owned(),
    };
    let how = match (told.live, told.resumed) {
        (true, _) if told.listens => "it is brought to it while it works",
        (true, _) => "it has it when it asks",
        (false, true) => "its session is taken up again with it",
        (false, false) => "its turn has ended, so it has it when it is taken up again",
    };
    let open = match told.open {
        0 => String::new(),
        n => format!("{} {} open still\n", paint(WARN, "questions:"), count(n, "question")),
    };
    let state = format!("message {} {}: {how}", told.message, told.state.word());
    let next = match (told.resumed, told.resumable && told.open == 0) {
        (true, _) => "wait",
        (false, true) => "resume",
        (false, false) => "show",
    };
    format!(
        "{} {state}\n  {to}\n{open}{} git skein {next} {}\n",
        told.handle,
        paint(DIM, "next:"),
        told.handle
    )
}
