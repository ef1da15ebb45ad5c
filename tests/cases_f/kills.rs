//! A kill at any moment, and then the same command again.
