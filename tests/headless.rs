//! Without anybody there: every verb of the command line where pipelines run it, and what they are told.

mod actions;
mod depth;
mod docs;
mod pipeline;
mod states;
