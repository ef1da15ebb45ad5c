//! What an agent answered, and its way into components.

mod config;
mod place;

#[cfg(test)]
mod tests;

use super::Malformed;
use super::front;
use super::grammar;
use super::grammar::Component;
use super::grammar::Family;
use super::lines;
use serde::Deserialize;

pub use config::Configured;
pub use config::rule;
pub use config::rules;
pub use place::apply;

/// A block of an answer, for one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub component: String,
    pub content: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// In the order in which they stand.
    pub patches: Vec<Patch>,
    /// The text around the blocks, trimmed.
    pub rest: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Replace,
    Append,
    Prepend,
}

/// What happens to a patch. No limit is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    pub mode: Mode,
    pub timestamp: bool,
    pub max_entries: usize,
    pub max_lines: usize,
    pub pre_patch: Option<String>,
    pub post_patch: Option<String>,
}

/// Why a patch does not go in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpatched {
    /// There is no such component; these are there.
    Unknown { names: Vec<String> },
    /// It contains a marker of a component, and not as code.
    Escapes,
    /// The document would not be read as before.
    Breaks(Malformed),
}

/// The blocks `<!-- patch:name -->` … `<!-- /patch:name -->` of an answer. Markers count as those of components do, so
/// code may show them, and a fence that is cut off within a block does not hide its end.
pub fn answer(text: &str) -> Result<Answer, Malformed> {
    let blocks = grammar::read(text, 0, Family::Patch).1?;
    let mut patches = Vec::new();
    let mut rest = Vec::new();
    let mut at = 0;
    for block in &blocks {
        if block.open.start < at {
            let says = format!("the block {:?} stands inside another block", block.name);
            return Err(Malformed { line: block.line, says });
        }
        rest.push(&text[at..block.open.start]);
        at = block.close.end;
        let content = lines::inner(&text[block.body.clone()]).to_owned();
        patches.push(Patch { component: block.name.clone(), content });
    }
    rest.push(&text[at..]);
    let rest: Vec<&str> = rest.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect();
    Ok(Answer { patches, rest: rest.join("\n\n") })
}

/// The document with an answer at its end, below a heading of its own, and with room for the next question. A fence
/// that the answer leaves open is closed. Whoever calls looks whether the document can still be read.
pub fn append_answer(text: &str, answer: &str) -> String {
    let eol = lines::ending(text);
    let mut out = text.to_owned();
    if front::body(text) < text.len() {
        place::end_line(&mut out, eol);
        place::blank_line(&mut out, eol);
    }
    let said = closed(lines::inner(answer), eol);
    for part in ["## Assistant", said.as_str(), "## User"] {
        out.push_str(part);
        out.push_str(eol);
        out.push_str(eol);
    }
    out
}

/// `content` with this line ending, and with the fence closed that it leaves open.
fn closed(content: &str, eol: &str) -> String {
    let mut out = lines::with_ending(content, eol);
    if let Some(fence) = grammar::open_fence(&out) {
        place::end_line(&mut out, eol);
        out.push_str(&fence);
    }
    out
}

fn named<'a>(all: &'a [Component], name: &str) -> Option<&'a Component> {
    all.iter().find(|component| component.name == name)
}
