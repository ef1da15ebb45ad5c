//! What an agent answered, and its way into components.
