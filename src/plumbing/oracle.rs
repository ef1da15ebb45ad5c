//! Real git for tests, in an environment without anybody's settings. It knows nothing of the crate.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

/// What git prints, run in `dir` with `stdin`. It must succeed.
#[expect(clippy::disallowed_methods, reason = "tests run git as a person would")]
pub fn git(dir: &Path, args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let feed = stdin.to_vec();
    let feeder = std::thread::spawn(move || {
        let _ = pipe.write_all(&feed);
    });
    let out = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}
