//! What the run of a worker has left, as things that can be named: what it was told, ran, changed, said, and what was
//! seen of it.

use crate::domain::Event;
use serde::Deserialize;
use serde::Serialize;

/// One thing of a worker. Its address is the letter of its kind and its number among those: it stays as long as
/// the run only goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub id: String,
    pub kind: ArtifactKind,
    /// When it came up, in seconds since 1970.
    pub at: i64,
    /// In one line.
    pub title: String,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactKind {
    /// The task, or a message to it.
    Prompt,
    /// What it ran by a tool.
    Command,
    /// A file that it changed.
    Edit,
    /// What it said.
    Response,
    Error,
    /// What it asks or asked a person.
    Question,
    /// What it says that it did.
    Claim,
    /// What it means to do.
    Plan,
    /// What a gate or check showed of its work.
    Evidence,
    /// What a person decided of it.
    Verdict,
}

impl ArtifactKind {
    pub const ALL: [ArtifactKind; 10] = [
        ArtifactKind::Prompt,
        ArtifactKind::Command,
        ArtifactKind::Edit,
        ArtifactKind::Response,
        ArtifactKind::Error,
        ArtifactKind::Question,
        ArtifactKind::Claim,
        ArtifactKind::Plan,
        ArtifactKind::Evidence,
        ArtifactKind::Verdict,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ArtifactKind::Prompt => "prompt",
            ArtifactKind::Command => "command",
            ArtifactKind::Edit => "edit",
            ArtifactKind::Response => "response",
            ArtifactKind::Error => "error",
            ArtifactKind::Question => "question",
            ArtifactKind::Claim => "claim",
            ArtifactKind::Plan => "plan",
            ArtifactKind::Evidence => "evidence",
            ArtifactKind::Verdict => "verdict",
        }
    }

    fn letter(self) -> char {
        match self {
            ArtifactKind::Prompt => 'p',
            ArtifactKind::Command => 'c',
            ArtifactKind::Edit => 'e',
            ArtifactKind::Response => 'r',
            ArtifactKind::Error => 'x',
            ArtifactKind::Question => 'q',
            ArtifactKind::Claim => 'k',
            ArtifactKind::Plan => 'l',
            ArtifactKind::Evidence => 'v',
            ArtifactKind::Verdict => 'd',
        }
    }

    /// The kind of an event's artifact, if it leaves one.
    fn of(event: &Event) -> Option<ArtifactKind> {
        match event.kind.as_str() {
            "tool" if !event.text.is_empty() => Some(ArtifactKind::Command),
            "text" => Some(ArtifactKind::Response),
            "error" => Some(ArtifactKind::Error),
            _ => None,
        }
    }
}

/// Artifacts as they are found, each kind numbered from one.
#[derive(Debug, Default)]
pub struct Artifacts(Vec<Artifact>);

impl Artifacts {
    /// An artifact whose title is the first line of its text that says something.
    pub fn add(&mut self, kind: ArtifactKind, at: i64, text: &str) {
        let title = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        self.add_titled(kind, at, title.trim(), text);
    }

    pub fn add_titled(&mut self, kind: ArtifactKind, at: i64, title: &str, text: &str) {
        let n = self.0.iter().filter(|artifact| artifact.kind == kind).count() + 1;
        let (title, text) = (title.to_owned(), text.to_owned());
        self.0.push(Artifact { id: format!("{}{n}", kind.letter()), kind, at, title, text });
    }

    pub fn add_events(&mut self, events: impl Iterator<Item = Event>) {
        for event in events {
            if let Some(kind) = ArtifactKind::of(&event) {
                self.add(kind, event.at, &event.text);
            }
        }
    }

    /// In the order of time.
    pub fn sorted(mut self) -> Vec<Artifact> {
        self.0.sort_by_key(|artifact| artifact.at);
        self.0
    }
}

/// The first line of `text` that has a word of `words`, if the whole of it has them all; case is no matter.
pub fn found_in<'t>(text: &'t str, words: &[String]) -> Option<&'t str> {
    let has = |text: &str, word: &String| text.to_lowercase().contains(&word.to_lowercase());
    if words.is_empty() || !words.iter().all(|word| has(text, word)) {
        return None;
    }
    let most = |line: &&str| words.iter().filter(|word| has(line, word)).count();
    // The first of the best.
    text.lines().rev().max_by_key(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_numbered_by_itself() {
        let mut all = Artifacts::default();
        all.add(ArtifactKind::Prompt, 1, "\n  do it\nwell\n");
        let event = |kind: &str, text: &str| Event::new(2, kind, text);
        let said = [
            event("turn", ""),
            event("tool", "ls"),
            event("tool", ""),
            event("text", "so"),
            event("tool", "rm x"),
        ];
        all.add_events(said.into_iter());
        all.add(ArtifactKind::Prompt, 0, "first");
        let told: Vec<(String, String)> = all.sorted().into_iter().map(|a| (a.id, a.title)).collect();
        let want = [("p2", "first"), ("p1", "do it"), ("c1", "ls"), ("r1", "so"), ("c2", "rm x")];
        assert_eq!(told, want.map(|(id, title)| (id.to_owned(), title.to_owned())));
        let mut letters: Vec<char> = ArtifactKind::ALL.iter().map(|kind| kind.letter()).collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), ArtifactKind::ALL.len());
    }

    #[test]
    fn all_words_are_found_in_any_case() {
        let words = |text: &str| text.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
        let text = "one\nTwo three\nthree\n";
        assert_eq!(found_in(text, &words("THREE two")), Some("Two three"));
        assert_eq!(found_in(text, &words("three")), Some("Two three"));
        assert_eq!(found_in(text, &words("one four")), None);
        assert_eq!(found_in(text, &[]), None);
    }
}
