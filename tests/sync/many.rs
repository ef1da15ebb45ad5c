//! Many clones at once.
