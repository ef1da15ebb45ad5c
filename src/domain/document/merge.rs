//! Three-way merge of a document's text.
//!
//! Line by line first; only what both changed is looked at closer. The person's text stands where nothing else is
//! sure: what the agent wrote there is returned beside the text, never as a marker in it.

use crate::domain::document::three::Out;
use crate::domain::document::three::Three;

/// A place where the person's text stands and the agent wanted something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// Line of the merged text, from 1, where the person's text stands, or stood if they deleted it.
    pub line: usize,
    pub base: String,
    pub person: String,
    pub agent: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub text: String,
    pub clashes: Vec<Clash>,
}

/// What the person and the agent made of `base`, in one text. `person` is the file as it is now, `agent` is `base` with
/// what the agent did.
pub fn merge(base: &str, person: &str, agent: &str) -> Merged {
    if person == agent || agent == base {
        return Merged { text: person.to_owned(), clashes: Vec::new() };
    }
    if person == base {
        return Merged { text: agent.to_owned(), clashes: Vec::new() };
    }
    let three = Three::of(base, person, agent);
    let (merged, doubts) = woven(&three);
    let twice = three.too_many(&doubts, &merged.text);
    if twice == 0 {
        return merged;
    }
    // What both did is as good as old, and what each did beside it is looked at again.
    let base = three.with_what_both_did();
    let again = woven(&Three::of(&base, person, agent)).0;
    if three.too_many(&doubts, &again.text) < twice && three.has_all(&again) { again } else { merged }
}

fn woven(three: &Three<'_>) -> (Merged, Vec<u32>) {
    let mut out = Out::of(three);
    let body = three.front(&mut out);
    three.woven(body, &mut out);
    let doubts = out.doubts().to_vec();
    (out.merged(three), doubts)
}

#[cfg(test)]
mod tests;
