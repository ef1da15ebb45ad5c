//! Three-way merge of a document's text.
