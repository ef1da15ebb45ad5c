//! A file of tasks: one JSON object in each line. Read as a whole, and refused as a whole, before anything starts.

use crate::domain::Globs;
use crate::domain::Handle;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use serde::Deserialize;
use std::collections::HashMap;
use std::collections::HashSet;
use std::time::Duration;

/// One line. Times are in seconds, or written as on the command line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub task: String,
    pub name: Option<String>,
    pub base: Option<String>,
    pub kind: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    pub onto: Option<String>,
    #[serde(default)]
    pub checks: Vec<String>,
    timeout: Option<Time>,
    silence: Option<Time>,
    pub done_pattern: Option<String>,
    /// Names of tasks that must be ready before this one starts.
    #[serde(default)]
    pub after: Vec<String>,
    pub argv: Option<Vec<String>>,
    /// Where it stands in the file, from 1.
    #[serde(skip)]
    pub line: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Time {
    Seconds(u64),
    Text(String),
}

impl Task {
    pub fn timeout(&self) -> Option<u64> {
        self.timeout.as_ref().and_then(|time| seconds(time).ok())
    }

    pub fn silence(&self) -> Option<u64> {
        self.silence.as_ref().and_then(|time| seconds(time).ok())
    }

    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.task.trim().is_empty() {
            wrong.push("the task is empty".to_owned());
        }
        for (key, time) in [("timeout", &self.timeout), ("silence", &self.silence)] {
            if let Some(Err(why)) = time.as_ref().map(seconds) {
                wrong.push(format!("{key}: {why}"));
            }
        }
        let mut check = |key: &str, fine: Result<()>| {
            if let Err(failure) = fine {
                wrong.push(format!("{key}: {failure}"));
            }
        };
        check("name", self.name.as_deref().map_or(Ok(()), |name| Handle::new(name).map(drop)));
        check("onto", self.onto.as_deref().map_or(Ok(()), |onto| RefName::branch(onto).map(drop)));
        check("paths", Globs::new(self.paths.iter().map(String::as_str)).map(drop));
        if self.checks.iter().any(|check| check.trim().is_empty()) {
            wrong.push("checks: there is no command in it".to_owned());
        }
        if self.argv.as_ref().is_some_and(|argv| argv.first().is_none_or(String::is_empty)) {
            wrong.push("argv: there is no command in it".to_owned());
        }
        wrong
    }
}

fn seconds(time: &Time) -> std::result::Result<u64, String> {
    match time {
        Time::Seconds(seconds) => limit(&seconds.to_string()),
        Time::Text(text) => limit(text),
    }
    .map(|limit| limit.as_secs().max(1))
}

/// A time that a run may take.
pub fn limit(text: &str) -> std::result::Result<Duration, String> {
    match span(text)? {
        Duration::ZERO => Err("without any time nothing can run; leave it out for no limit".to_owned()),
        some => Ok(some),
    }
}

/// `30s`, `5m`, `2h`, `1h 30m`; a bare number is seconds.
pub fn span(text: &str) -> std::result::Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: jiff::SignedDuration =
        text.parse().map_err(|_| "give a time such as 30s, 5m or 2h".to_owned())?;
    Duration::try_from(parsed).map_err(|_| "a time cannot be negative".to_owned())
}

/// The tasks of `text`, blank lines left out. Everything that is wrong is named with its line.
pub fn tasks(text: &str) -> Result<Vec<Task>> {
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut tasks, mut wrong) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if !line.trim_start().starts_with('{') {
            wrong.push((at + 1, "it is no JSON object".to_owned()));
            continue;
        }
        match serde_json::from_str::<Task>(line) {
            Ok(task) => tasks.push(Task { line: at + 1, ..task }),
            Err(e) => {
                let says = e.to_string();
                let says = says.split(" at line ").next().unwrap_or_default();
                wrong.push((at + 1, says.to_owned()));
            }
        }
    }
    let mut named: HashMap<&str, usize> = HashMap::new();
    for task in &tasks {
        wrong.extend(task.wrong().into_iter().map(|why| (task.line, why)));
        let Some(name) = &task.name else { continue };
        match named.get(name.as_str()) {
            Some(first) => wrong.push((task.line, format!("name: {name:?} is that of line {first} too"))),
            None => drop(named.insert(name, task.line)),
        }
    }
    for task in &tasks {
        let unknown = task.after.iter().filter(|name| !named.contains_key(name.as_str()));
        wrong.extend(unknown.map(|name| (task.line, format!("after: no task is named {name:?}"))));
    }
    if tasks.is_empty() && wrong.is_empty() {
        wrong.push((1, "there is no task in it".to_owned()));
    }
    if wrong.is_empty() {
        wrong.extend(circles(&tasks));
    }
    if wrong.is_empty() { Ok(tasks) } else { Err(bad(wrong).into()) }
}

/// The tasks that wait for themselves, by way of others.
fn circles(tasks: &[Task]) -> Vec<(usize, String)> {
    let mut done: HashSet<&str> = HashSet::new();
    let mut left: Vec<&Task> = tasks.iter().collect();
    loop {
        let (now, later): (Vec<&Task>, Vec<&Task>) =
            left.into_iter().partition(|task| task.after.iter().all(|name| done.contains(name.as_str())));
        if now.is_empty() {
            return later
                .into_iter()
                .map(|task| {
                    (task.line, format!("after: it waits for itself, by way of {}", task.after.join(", ")))
                })
                .collect();
        }
        done.extend(now.iter().filter_map(|task| task.name.as_deref()));
        left = later;
    }
}

/// The refusal of a file, with a line for each thing that is wrong.
pub fn bad(mut wrong: Vec<(usize, String)>) -> Refusal {
    wrong.sort();
    Refusal::new(Token::BadTasks, "the file of tasks cannot be carried out as it is")
        .lines(wrong.into_iter().map(|(line, why)| format!("line {line}: {why}")))
        .show("git skein help dispatch")
        .next("correct these lines, then give the same command again; nothing was started")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Failure;

    fn refused(text: &str) -> Vec<String> {
        match tasks(text) {
            Err(Failure::Refusal(refusal)) if refusal.token == Token::BadTasks => refusal.lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_is_read() {
        let text = "{\"task\":\"one\",\"name\":\"a\",\"timeout\":\"1h 30m\",\"silence\":1}\n\n\
                    {\"task\":\"two\",\"after\":[\"a\"],\"paths\":[\"src/**\"],\"argv\":[\"sh\"]}";
        assert_eq!(tasks(&format!("\u{feff}{text}")).unwrap().len(), 2);
        let found = tasks(text).unwrap();
        assert_eq!((found[0].line, found[0].timeout(), found[0].silence()), (1, Some(5400), Some(1)));
        assert_eq!(
            (found[1].line, found[1].timeout(), found[1].after.as_slice()),
            (3, None, &["a".to_owned()][..])
        );
    }

    #[test]
    fn all_that_is_wrong_is_named_by_line() {
        for (text, line) in [
            ("", "line 1: there is no task in it"),
            ("{", "line 1: EOF"),
            ("[]", "line 1: "),
            ("{\"name\":\"a\"}", "line 1: missing field `task`"),
            ("{\"task\":\" \"}", "line 1: the task is empty"),
            ("{\"task\":\"t\",\"tsak\":1}", "line 1: unknown field `tsak`"),
            ("{\"task\":\"t\",\"name\":\"No\"}", "line 1: name: "),
            ("{\"task\":\"t\",\"onto\":\"a..b\"}", "line 1: onto: "),
            ("{\"task\":\"t\",\"paths\":[\"[\"]}", "line 1: paths: "),
            ("{\"task\":\"t\",\"timeout\":\"soon\"}", "line 1: timeout: give a time"),
            ("{\"task\":\"t\",\"silence\":-1}", "line 1: "),
            ("{\"task\":\"t\",\"silence\":0}", "line 1: silence: without any time"),
            ("{\"task\":\"t\",\"timeout\":\"0s\"}", "line 1: timeout: without any time"),
            ("{\"task\":\"t\",\"argv\":[]}", "line 1: argv: "),
            ("{\"task\":\"t\",\"after\":[\"x\"]}", "line 1: after: no task is named \"x\""),
            ("{\"task\":\"t\",\"name\":\"a\",\"after\":[\"a\"]}", "line 1: after: it waits for itself"),
        ] {
            let lines = refused(text);
            assert!(lines.len() == 1 && lines[0].starts_with(line), "{text}: {lines:?}");
        }
        let two = "{\"task\":\"t\",\"name\":\"a\"}\n{\"task\":\"u\",\"name\":\"a\"}\nx";
        assert_eq!(refused(two).len(), 2);
        let ring = "{\"task\":\"t\",\"name\":\"a\",\"after\":[\"b\"]}\n{\"task\":\"t\",\"name\":\"b\",\"after\":[\"a\"]}\n\
                    {\"task\":\"t\",\"name\":\"c\"}";
        assert_eq!(refused(ring).len(), 2);
    }
}
