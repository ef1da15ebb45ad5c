//! "Landed?": what was found out about a fork, and the verdict that follows. The rule of the house: a
//! proof or nothing; what only looks alike is named as such and proves nothing.

use crate::domain::Exit;
use crate::domain::Oid;
use serde::Serialize;

/// How it is known that a fork's work is in the trunk's history, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// The lane records the landing, and the landing as it stands has the recorded identity.
    Receipt,
    /// The tip is reachable from the trunk.
    Ancestor,
    /// Every commit of the fork has a twin on the trunk: the same paths, modes and blobs, before and after.
    Exact,
    /// One commit of the trunk makes exactly the fork's net difference: a squash.
    Range,
    /// Merging the fork into a commit of the trunk changes nothing there.
    Contained,
}

impl Proof {
    pub fn as_str(self) -> &'static str {
        match self {
            Proof::Receipt => "receipt",
            Proof::Ancestor => "ancestor",
            Proof::Exact => "exact",
            Proof::Range => "range",
            Proof::Contained => "contained",
        }
    }
}

/// Whether what landed is still there at the trunk's tip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    Yes,
    /// Later work has changed it.
    Changed,
    /// It, or a part that landed by itself, was taken back and has not landed again since.
    Reverted,
}

/// Why no answer can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The history is cut off.
    Shallow,
    /// An object is missing or cannot be read.
    Unreadable,
    /// The base is not an ancestor of the tip.
    BaseNotInTip,
    /// The base is not an ancestor of the trunk.
    BaseNotInTrunk,
    /// No base was given, and the two share no history.
    Unrelated,
    /// No base was given, and there are several best ones.
    ManyBases,
    /// No base was given, and the commit has no parent.
    Root,
}

impl Unknown {
    pub fn as_str(self) -> &'static str {
        match self {
            Unknown::Shallow => "shallow",
            Unknown::Unreadable => "unreadable",
            Unknown::BaseNotInTip => "base-not-in-tip",
            Unknown::BaseNotInTrunk => "base-not-in-trunk",
            Unknown::Unrelated => "unrelated",
            Unknown::ManyBases => "many-bases",
            Unknown::Root => "root",
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    Landed {
        proof: Proof,
        /// The commit of the trunk's history that proves it.
        at: Oid,
        presence: Presence,
    },
    /// Some commits of the fork are proven, others are not.
    Partial {
        missing: Vec<Oid>,
        found: Vec<Oid>,
    },
    NotLanded {
        /// Pairs of a fork's and a trunk's commit with the same patch id. They prove nothing.
        similar: Vec<(Oid, Oid)>,
    },
    /// No commits, or a net difference of nothing: there is nothing that could have landed.
    Empty,
    Unknown {
        why: Unknown,
        detail: String,
    },
}

impl Verdict {
    pub fn exit(&self) -> Exit {
        match self {
            Verdict::Landed { presence: Presence::Yes | Presence::Changed, .. } => Exit::Done,
            Verdict::Unknown { .. } => Exit::Fault,
            _ => Exit::No,
        }
    }

    /// For people.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Landed { presence: Presence::Yes, .. } => "landed",
            Verdict::Landed { presence: Presence::Changed, .. } => "landed, changed since",
            Verdict::Landed { presence: Presence::Reverted, .. } => "reverted",
            Verdict::Partial { .. } => "partial",
            Verdict::NotLanded { .. } => "not-landed",
            Verdict::Empty => "empty",
            Verdict::Unknown { .. } => "unknown",
        }
    }
}

/// What a fork changes on the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Net {
    #[default]
    Something,
    /// Its tip has the tree of its base.
    Nothing,
    /// It merged the trunk, and its tip has the very tree that it merged: either its work had landed by
    /// then, or it was given up.
    Absorbed,
}

/// All that was found out. Whoever gathers may stop at the first proof.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub unknown: Option<(Unknown, String)>,
    /// The number of commits from base to tip, once counted.
    pub commits: Option<usize>,
    pub net: Net,
    /// Proofs that hold, each with the commit that shows it.
    pub proofs: Vec<(Proof, Oid)>,
    /// Of what the proofs speak of.
    pub presence: Option<Presence>,
    /// Commits of the fork, proven one by one or not.
    pub found: Vec<Oid>,
    pub missing: Vec<Oid>,
    pub similar: Vec<(Oid, Oid)>,
}

/// The verdict on `facts`. What is not known about the presence counts as reverted, which permits nothing.
pub fn decide(facts: &Facts) -> Verdict {
    if facts.commits == Some(0) {
        return Verdict::Empty;
    }
    if let Some((why, detail)) = &facts.unknown {
        return Verdict::Unknown { why: *why, detail: detail.clone() };
    }
    if facts.net == Net::Nothing {
        return Verdict::Empty;
    }
    let strongest = facts.proofs.iter().min_by_key(|(proof, _)| *proof);
    if let Some((proof, at)) = strongest {
        let presence = facts.presence.unwrap_or(Presence::Reverted);
        return Verdict::Landed { proof: *proof, at: *at, presence };
    }
    if facts.found.is_empty() && facts.net == Net::Absorbed {
        return Verdict::Empty;
    }
    if !facts.found.is_empty() && !facts.missing.is_empty() {
        return Verdict::Partial { missing: facts.missing.clone(), found: facts.found.clone() };
    }
    Verdict::NotLanded { similar: facts.similar.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes(&[byte; 20]).unwrap()
    }

    fn counted() -> Facts {
        Facts { commits: Some(2), ..Facts::default() }
    }

    #[test]
    fn verdicts_words_and_codes() {
        let proven = |presence| Facts { proofs: vec![(Proof::Range, oid(1))], presence, ..counted() };
        let shallow = Some((Unknown::Shallow, String::new()));
        let some = |found: &[u8], missing: &[u8]| Facts {
            found: found.iter().map(|b| oid(*b)).collect(),
            missing: missing.iter().map(|b| oid(*b)).collect(),
            ..counted()
        };
        let table = [
            (Facts { commits: Some(0), unknown: shallow.clone(), ..Facts::default() }, "empty", 1),
            (Facts { unknown: shallow.clone(), ..proven(Some(Presence::Yes)) }, "unknown", 128),
            (Facts { unknown: shallow, ..Facts::default() }, "unknown", 128),
            (Facts { net: Net::Nothing, ..proven(Some(Presence::Yes)) }, "empty", 1),
            (Facts { net: Net::Absorbed, ..proven(Some(Presence::Yes)) }, "landed", 0),
            (Facts { net: Net::Absorbed, ..some(&[], &[1]) }, "empty", 1),
            (Facts { net: Net::Absorbed, ..some(&[2], &[1]) }, "partial", 1),
            (proven(Some(Presence::Yes)), "landed", 0),
            (proven(Some(Presence::Changed)), "landed, changed since", 0),
            (proven(Some(Presence::Reverted)), "reverted", 1),
            (proven(None), "reverted", 1),
            (some(&[1], &[2]), "partial", 1),
            (some(&[], &[2]), "not-landed", 1),
            (some(&[1], &[]), "not-landed", 1),
            (Facts { similar: vec![(oid(1), oid(2))], ..some(&[], &[1]) }, "not-landed", 1),
            (Facts::default(), "not-landed", 1),
        ];
        for (facts, word, code) in table {
            let verdict = decide(&facts);
            assert_eq!((verdict.word(), verdict.exit().code()), (word, code), "{facts:?}");
        }
    }

    #[test]
    fn the_strongest_proof_is_named() {
        let all = [Proof::Contained, Proof::Range, Proof::Exact, Proof::Ancestor, Proof::Receipt];
        for (kept, want) in (1..=all.len()).zip(all) {
            let proofs = all[..kept].iter().map(|p| (*p, oid(*p as u8))).collect();
            let verdict = decide(&Facts { proofs, presence: Some(Presence::Yes), ..counted() });
            assert_eq!(
                verdict,
                Verdict::Landed { proof: want, at: oid(want as u8), presence: Presence::Yes }
            );
        }
    }

    #[test]
    fn json_has_lower_case_words() {
        let landed = Verdict::Landed { proof: Proof::Contained, at: oid(1), presence: Presence::Yes };
        let unknown = Verdict::Unknown { why: Unknown::BaseNotInTrunk, detail: "x".to_owned() };
        let at = "01".repeat(20);
        for (verdict, want) in [
            (landed, format!(r#"{{"verdict":"landed","proof":"contained","at":"{at}","presence":"yes"}}"#)),
            (unknown, r#"{"verdict":"unknown","why":"base-not-in-trunk","detail":"x"}"#.to_owned()),
            (Verdict::NotLanded { similar: vec![] }, r#"{"verdict":"not-landed","similar":[]}"#.to_owned()),
            (Verdict::Empty, r#"{"verdict":"empty"}"#.to_owned()),
        ] {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), want);
        }
        for proof in [Proof::Receipt, Proof::Ancestor, Proof::Exact, Proof::Range, Proof::Contained] {
            assert_eq!(serde_json::to_string(&proof).unwrap(), format!("{:?}", proof.as_str()));
        }
    }
}
