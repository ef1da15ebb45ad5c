//! A night of ten workers and the morning after, decided by typed commands.

use std::process::Command;

#[test]
fn ten_workers_are_decided_and_a_fresh_clone_tells_of_it() {
    let root = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/morning.sh");
    let folder = root.path().canonicalize().unwrap().join("morning");
    let ran = Command::new(script).arg(env!("CARGO_BIN_EXE_git-skein")).arg(folder).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.ends_with("morning: all is decided\n"), "{out}\n{err}");
}
