//! Who started whom.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Bounded: a chain of parents ends, but /proc may change while it is walked.
const MOST: usize = 64;

/// Whether any ancestor of this process was started with `arg` as its first argument. False where the
/// system does not tell.
pub fn below_process_with(arg: &str) -> bool {
    let mut pid = std::process::id();
    for _ in 0..MOST {
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

/// The command lines of this process's ancestors whose first argument is one of `words`, nearest first. Empty
/// where the system does not tell.
pub fn lines_above(words: &[&str]) -> Vec<Vec<OsString>> {
    let mut found = Vec::new();
    let above = std::iter::successors(parent(std::process::id()), |pid| parent(*pid));
    for pid in above.take(MOST).take_while(|pid| *pid > 1) {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        let line: Vec<OsString> =
            line.split(|b| *b == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect();
        if line.get(1).is_some_and(|first| words.iter().any(|word| first == word)) {
            found.push(line);
        }
    }
    found
}

/// Whether the system tells who started whom.
pub fn tells_ancestry() -> bool {
    parent(std::process::id()).is_some()
}

/// Whether process `pid` was started by `ancestor`, or by one that was, and none of `others` comes between. False
/// where the system does not tell.
pub fn is_below(pid: u32, ancestor: u32, others: &[u32]) -> bool {
    let above = std::iter::successors(parent(pid), |pid| parent(*pid).filter(|pid| *pid > 1));
    above.take(MOST).take_while(|pid| !others.contains(pid)).any(|pid| pid == ancestor)
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
        assert!(lines_above(&["__no_such_argument__"]).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_is_below_and_nobody_is_below_themselves() {
        let own = std::process::id();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get().unsigned_abs();
        assert!(is_below(own, parent, &[]) && !is_below(own, own, &[]) && !is_below(parent, own, &[]));
        assert!(!is_below(own, parent, &[parent]));
    }
}
