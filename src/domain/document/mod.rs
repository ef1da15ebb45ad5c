//! Session documents: markdown that a person and an agent write together. Grammar, front matter, merge. All of it is
//! text in, text out.

mod common;
mod contest;
mod dedupe;
mod entries;
mod front;
mod graft;
mod grammar;
mod items;
mod keyed;
mod knows;
mod lines;
mod merge;
mod outline;
mod patch;
mod tasks;
mod three;
mod twice;
mod typed;
mod union;
mod weave;
mod words;

#[cfg(test)]
mod tests;

pub use common::common;
pub use dedupe::dedupe;
pub use front::Fields;
pub use front::Format;
pub use front::Front;
pub use front::front;
pub use front::set;
pub use graft::Grafted;
pub use graft::Touched;
pub use graft::filled;
pub use graft::graft;
pub use graft::skeleton;
pub use grammar::Component;
pub use grammar::components;
pub use grammar::strip_comments;
pub use knows::Knows;
pub use knows::Since;
pub use knows::known_after;
pub use knows::to_commit;
pub use merge::Clash;
pub use merge::Merged;
pub use merge::merge;
pub use outline::Section;
pub use outline::outline;
pub use patch::Answer;
pub use patch::Configured;
pub use patch::Mode;
pub use patch::Patch;
pub use patch::Rule;
pub use patch::Unpatched;
pub use patch::answer;
pub use patch::append_answer;
pub use patch::apply;
pub use patch::rule;
pub use patch::rules;
pub use tasks::tasks;
pub use typed::with_typed;

/// A text that cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// From 1.
    pub line: usize,
    pub says: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.says)
    }
}
