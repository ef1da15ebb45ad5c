//! The plain command behind a key.

use crate::domain::Decision;
use crate::domain::WorkerId;
use crate::host::Env;
use crate::surfaces::cli::run_line;

/// What can be done to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Verdict(Decision),
    Land,
    Resume,
}

impl Act {
    pub fn word(self) -> &'static str {
        match self {
            Act::Verdict(verb) => verb.word(),
            Act::Land => "land",
            Act::Resume => "resume",
        }
    }

    /// Whether words can go with it.
    pub fn speaks(self) -> bool {
        self != Act::Land
    }
}

/// A command that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub act: Act,
    pub worker: WorkerId,
    pub handle: String,
    /// What the card that was seen would bind a verdict to.
    pub subject: Option<String>,
    pub text: String,
    /// The answers to choose from, and the one that is chosen, from 1.
    pub options: Vec<String>,
    pub option: Option<usize>,
}

impl Entry {
    /// The words after `git skein`.
    pub fn words(&self, dir: Option<&str>) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if let Some(dir) = dir {
            words.extend(["-C".to_owned(), dir.to_owned()]);
        }
        match self.act {
            Act::Verdict(verb) => words.extend(["verdict", &self.handle, verb.word()].map(str::to_owned)),
            Act::Land | Act::Resume => words.extend([self.act.word(), &self.handle].map(str::to_owned)),
        }
        if let Some(n) = self.option {
            words.extend(["--option".to_owned(), n.to_string()]);
        }
        match self.text.trim() {
            "" => {}
            // It would be taken for an option.
            text if text.starts_with('-') => words.push(format!("--message={text}")),
            text => words.extend(["-m".to_owned(), text.to_owned()]),
        }
        if let (Act::Verdict(_), Some(subject)) = (self.act, &self.subject) {
            words.extend(["--delta".to_owned(), subject.clone()]);
        }
        words
    }
}

/// The command line as a person types it into a shell.
pub fn line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| quoted(word));
    ["git".to_owned(), "skein".to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What a command printed, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub code: u8,
}

/// Runs it as the command line would.
pub fn carry_out(env: &Env, words: &[String], tell: &dyn Fn(&str)) -> Said {
    let all: Vec<&str> = ["git-skein"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let page = run_line(env, &all, tell);
    Said { text: page.out + &page.err, code: page.exit.code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(act: Act) -> Entry {
        Entry {
            act,
            worker: WorkerId::from_parts(1, 1),
            handle: "fix".to_owned(),
            subject: Some("2:abc".to_owned()),
            text: String::new(),
            options: Vec::new(),
            option: None,
        }
    }

    #[test]
    fn a_verdict_is_bound_to_what_was_seen() {
        let accept = entry(Act::Verdict(Decision::Accept));
        assert_eq!(line(&accept.words(None)), "git skein verdict fix accept --delta 2:abc");
        let answer = Entry {
            text: " it's \"this\" ".to_owned(),
            option: Some(2),
            subject: Some("q1".to_owned()),
            ..entry(Act::Verdict(Decision::Answer))
        };
        assert_eq!(
            line(&answer.words(Some("a b"))),
            "git skein -C 'a b' verdict fix answer --option 2 -m 'it'\\''s \"this\"' --delta q1"
        );
    }

    #[test]
    fn what_is_no_verdict_is_bound_to_nothing() {
        assert_eq!(line(&entry(Act::Land).words(None)), "git skein land fix");
        let resume = Entry { text: "--now".to_owned(), ..entry(Act::Resume) };
        assert_eq!(line(&resume.words(None)), "git skein resume fix --message=--now");
    }
}
