//! Who started whom.

/// Whether any ancestor of this process was started with `arg` as its first argument. False where the
/// system does not tell.
pub fn below_process_with(arg: &str) -> bool {
    let mut pid = std::process::id();
    // Bounded: a chain of parents ends, but /proc may change while it is walked.
    for _ in 0..64 {
        let Some(parent) = parent(pid) else { return false };
        if parent <= 1 {
            return false;
        }
        let line = std::fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
        if line.split(|b| *b == 0).nth(1) == Some(arg.as_bytes()) {
            return true;
        }
        pid = parent;
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_started_us_so() {
        assert!(!below_process_with("__no_such_argument__"));
    }
}
