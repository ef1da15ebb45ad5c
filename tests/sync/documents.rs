//! Documents in several clones.
