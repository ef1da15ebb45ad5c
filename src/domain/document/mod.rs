//! Session documents: markdown that a person and an agent write together. Grammar, front matter, merge. All of it is
//! text in, text out.

mod front;
mod grammar;
mod merge;
mod patch;
mod words;
