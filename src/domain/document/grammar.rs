//! Components: the named regions of a document.
