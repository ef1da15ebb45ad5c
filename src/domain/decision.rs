//! What a person decides of a worker: a judgment on one exact delta, or an answer to one exact question. Which of
//! its judgments stands, and whether it may land by it.

use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RawDigest;
use serde::Deserialize;
use serde::Serialize;
use std::fmt;

/// The words of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may land.
    Accept,
    /// It must not. The worker is kept.
    Reject,
    /// It is told what is missing, and goes on.
    Revise,
    /// An answer, which judges nothing.
    Answer,
    /// Another worker gets the same task.
    Retry,
    /// It ends.
    Stop,
}

impl Decision {
    pub fn word(self) -> &'static str {
        match self {
            Decision::Accept => "accept",
            Decision::Reject => "reject",
            Decision::Revise => "revise",
            Decision::Answer => "answer",
            Decision::Retry => "retry",
            Decision::Stop => "stop",
        }
    }

    /// Whether a delta that was judged so must not land.
    pub fn bars(self) -> bool {
        matches!(self, Decision::Reject | Decision::Retry)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The one thing that a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Delta(u32, RawDigest),
    Question(u32),
    /// A run without work that could be judged, by the record that tells of it.
    Run(Oid),
}

impl Subject {
    /// Whether a person who says `given` means this one. A delta and a question may be meant by their number alone:
    /// what has that number never changes.
    pub fn is(&self, given: &str) -> bool {
        let short = match self {
            Subject::Delta(n, _) | Subject::Question(n) => n.to_string(),
            Subject::Run(oid) => oid.to_string(),
        };
        given == short || given == self.to_string()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Delta(n, raw) => write!(f, "{n}:{}", raw.as_str().get(..12).unwrap_or_default()),
            Subject::Question(n) => write!(f, "q{n}"),
            Subject::Run(oid) => write!(f, "run:{}", oid.short()),
        }
    }
}

/// How a worker was judged, as its own record has it. The lane has the whole verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The verdict on the lane.
    pub op: OpId,
    pub verb: Decision,
    /// The delta, its tip and its raw digest; none of a run without one.
    pub delta: Option<u32>,
    pub tip: Option<Oid>,
    pub raw: Option<RawDigest>,
    /// Who, as `Name <mail>`.
    pub actor: String,
    pub at: i64,
}

/// A judgment that stands on a delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    #[serde(flatten)]
    pub judged: Judged,
    /// It was given on another delta with the same changes.
    pub carried: bool,
}

/// The newest judgment on `subject`. The same changes frozen again are judged already, whatever became of the commits.
pub fn standing(all: &[Judged], subject: &Subject) -> Option<Standing> {
    let (n, raw) = match subject {
        Subject::Delta(n, raw) => (Some(*n), Some(raw)),
        Subject::Run(_) => (None, None),
        Subject::Question(_) => return None,
    };
    let found = all.iter().rev().find(|judged| judged.raw.as_ref() == raw)?;
    Some(Standing { judged: found.clone(), carried: found.delta != n })
}

/// Why a delta does not land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barred {
    /// It was judged so.
    Rejected(Box<Judged>),
    /// Nobody has accepted it. The newest judgment on another one, if there is any.
    Unjudged(Option<Box<Judged>>),
    /// Who accepted it may not.
    Actor(Box<Judged>),
}

/// Whether delta `n` with the changes `raw` may land: who bars it is heard always, who accepts it where a verdict is
/// `required`. Gives the verdict that it lands by.
pub fn may_land(
    all: &[Judged],
    subject: &Subject,
    required: bool,
    actors: &[String],
) -> Result<Option<Standing>, Barred> {
    // Who rejected a run meant whatever is taken of it all the same.
    let run = || all.iter().rfind(|judged| judged.raw.is_none() && judged.verb.bars());
    let found = standing(all, subject)
        .or_else(|| run().map(|judged| Standing { judged: judged.clone(), carried: false }));
    match found {
        Some(found) if found.judged.verb.bars() => Err(Barred::Rejected(Box::new(found.judged))),
        Some(found) if found.judged.verb == Decision::Accept => {
            match may_judge(actors, &found.judged.actor) {
                false if required => Err(Barred::Actor(Box::new(found.judged))),
                _ => Ok(Some(found)),
            }
        }
        _ if required => Err(Barred::Unjudged(all.last().cloned().map(Box::new))),
        _ => Ok(None),
    }
}

/// Whether `actor`, `Name <mail>`, is one of those that may judge, named by their mail; anybody is where none is named.
pub fn may_judge(actors: &[String], actor: &str) -> bool {
    let mail = actor.rsplit_once('<').map_or(actor, |(_, mail)| mail.trim_end_matches('>'));
    actors.is_empty() || actors.iter().any(|one| one.eq_ignore_ascii_case(mail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawDigest {
        RawDigest::of(&[crate::domain::Change { path: text.into(), old: None, new: None }])
    }

    fn judged(verb: Decision, n: u32, text: &str) -> Judged {
        let tip = Oid::from_bytes(&[1; 20]);
        let actor = "Ada <ada@example.invalid>".to_owned();
        Judged { op: OpId::from_parts(1, 1), verb, delta: Some(n), tip, raw: Some(raw(text)), actor, at: 0 }
    }

    #[test]
    fn what_lands_is_what_was_accepted() {
        use Decision::*;
        let ada = vec!["ADA@example.invalid".to_owned()];
        let bob = vec!["bob@example.invalid".to_owned()];
        let lands = |all: &[Judged], n, text: &str, required, actors: &[String]| match may_land(
            all,
            &Subject::Delta(n, raw(text)),
            required,
            actors,
        ) {
            Ok(Some(found)) if found.carried => "carried",
            Ok(Some(_)) => "accepted",
            Ok(None) => "free",
            Err(Barred::Rejected(_)) => "rejected",
            Err(Barred::Unjudged(None)) => "unjudged",
            Err(Barred::Unjudged(Some(_))) => "moved",
            Err(Barred::Actor(_)) => "actor",
        };
        let run = |verb| Judged { delta: None, raw: None, ..judged(verb, 1, "a") };
        let one = [judged(Accept, 1, "a")];
        let two = [judged(Reject, 1, "a"), judged(Accept, 2, "b")];
        for (all, n, text, required, actors, want) in [
            (&[][..], 1, "a", false, &[][..], "free"),
            (&[], 1, "a", true, &[], "unjudged"),
            (&one, 1, "a", true, &[], "accepted"),
            (&one, 1, "a", true, &ada, "accepted"),
            (&one, 1, "a", true, &bob, "actor"),
            (&one, 1, "a", false, &bob, "accepted"),
            (&one, 2, "a", true, &[], "carried"),
            (&one, 2, "b", true, &[], "moved"),
            (&one, 2, "b", false, &[], "free"),
            (&two, 2, "b", true, &[], "accepted"),
            // What was rejected and comes again is rejected still.
            (&two, 3, "a", false, &[], "rejected"),
            (&[judged(Retry, 1, "a")], 1, "a", false, &[], "rejected"),
            (&[run(Reject)], 1, "a", false, &[], "rejected"),
            (&[run(Stop)], 1, "a", false, &[], "free"),
            (&[run(Reject), judged(Accept, 1, "a")], 1, "a", true, &[], "accepted"),
            (&[judged(Revise, 1, "a")], 1, "a", true, &[], "moved"),
            (&[judged(Reject, 1, "a"), judged(Accept, 1, "a")], 1, "a", true, &[], "accepted"),
            (&[judged(Accept, 1, "a"), judged(Reject, 1, "a")], 1, "a", false, &[], "rejected"),
        ] {
            assert_eq!(
                lands(all, n, text, required, actors),
                want,
                "{all:?} {n} {text} {required} {actors:?}"
            );
        }
    }

    #[test]
    fn a_subject_is_named_whole_or_by_its_number() {
        let delta = Subject::Delta(2, raw("a"));
        assert!(delta.is("2") && delta.is(&delta.to_string()) && !delta.is("1") && !delta.is("2:"));
        assert!(!Subject::Delta(2, raw("b")).is(&delta.to_string()));
        let question = Subject::Question(1);
        assert!(question.is("q1") && question.is("1") && !question.is("q2"));
        assert_eq!(standing(&[judged(Decision::Accept, 1, "a")], &question), None);
    }
}
