//! What a run of the tests struck, raced and tried, added up for the tables that `tests/proof.sh` prints.

use std::io::Write;

/// Notes `times` more of `what` (`kill`, `double kill`, `racing landing`, …) in the file that `SKEIN_PROOF` names.
/// Without it nothing is noted. One short write to a file opened for appending: threads do not mix theirs.
pub fn tally(what: &str, times: u64) {
    let Some(path) = std::env::var_os("SKEIN_PROOF") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{what}\t{times}\n").as_bytes()).unwrap();
}

/// Whether the sizes are those of a release: all of what a push tries some of.
pub fn full() -> bool {
    std::env::var_os("SKEIN_TEST_FULL").is_some()
}

/// The lines of `fixtures/regressions/<harness>.txt`: what failed once and is tried first ever after. Each is one case
/// in the words in which that harness printed it; a line that begins with `#` says what it was.
pub fn regressions(harness: &str) -> Vec<String> {
    let path = format!("{}/fixtures/regressions/{harness}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
