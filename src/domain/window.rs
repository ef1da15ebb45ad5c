//! Whether an agent runs in a window that a person can look at, and whether it reads what is typed there.

use serde::Deserialize;
use serde::Serialize;

/// The window of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    #[default]
    None,
    /// It shows what the agent prints.
    Shown,
    /// The agent also reads what is typed there, at any time.
    Typed,
}

impl Window {
    pub fn of(shown: bool, typed: bool) -> Window {
        match (shown, typed) {
            (false, _) => Window::None,
            (true, false) => Window::Shown,
            (true, true) => Window::Typed,
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Window::None
    }
}
