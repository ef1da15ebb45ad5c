//! The front matter of a document, read as YAML and edited as lines.
