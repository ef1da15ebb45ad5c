//! Connections that are cut.
