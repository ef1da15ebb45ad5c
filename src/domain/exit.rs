//! The exit codes, once. `help exit-codes` and JSON errors read this table.

/// How a command ended, as the number the shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    No,
    Conflict,
    Raced,
    GateFailed,
    Busy,
    Fault,
    Usage,
    Interrupted,
}

impl Exit {
    /// Every code with what it means, in ascending order.
    pub const TABLE: &'static [(Exit, &'static str)] = &[
        (Exit::Done, "done"),
        (Exit::No, "the answer is no, or the request was refused and nothing changed"),
        (Exit::Conflict, "a conflict, or a worker that needs a person"),
        (Exit::Raced, "raced by another writer; try again"),
        (Exit::GateFailed, "a gate failed"),
        (Exit::Busy, "busy, or a time limit passed"),
        (Exit::Fault, "something outside failed, or the answer cannot be known"),
        (Exit::Usage, "the command line is wrong"),
        (Exit::Interrupted, "interrupted"),
    ];

    /// The number given to the shell.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Conflict => 3,
            Exit::Raced => 4,
            Exit::GateFailed => 5,
            Exit::Busy => 75,
            Exit::Fault => 128,
            Exit::Usage => 129,
            Exit::Interrupted => 130,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_ascending() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(e, _)| e.code()).collect();
        assert!(codes.windows(2).all(|w| w[0] < w[1]), "{codes:?}");
        assert_eq!(codes.len(), 9);
    }
}
