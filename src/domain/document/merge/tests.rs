//! The merge of whole texts: exact cases, and properties over random edits.

mod cases;
mod random;
