//! What is held against any bytes: each function panics where a reader of this room breaks its promise. Built for
//! fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, reason = "that it fails is what it is for")]

mod agents;
mod documents;
mod interleaved;
mod merges;

pub use agents::*;
pub use documents::*;
pub use interleaved::interleaved;
pub use merges::apart;
pub use merges::beside;
pub use merges::markdown;
pub use merges::merge_three;

use crate::domain::Bounds;
use crate::domain::BundleId;
use crate::domain::Config;
use crate::domain::Cursor;
use crate::domain::DocId;
use crate::domain::Globs;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Policy;
use crate::domain::RefName;
use crate::domain::RemoteName;
use crate::domain::Since;
use crate::domain::WorkerId;
use bstr::BStr;
use bstr::ByteSlice;

/// The bytes as text, as most readers take them.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bytes in `N` parts, cut at a byte that nothing else uses.
pub fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut all = bytes.splitn(N, |byte| *byte == 0xfe);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// `git config --list -z`.
pub fn config_list(bytes: &[u8]) {
    let config = Config::parse(bytes);
    let mut again = Vec::new();
    for (key, value) in config.iter() {
        again.extend([key.as_bytes(), b"\n", value.as_bytes(), b"\0"].concat());
        assert!(config.get(key).is_some() && config.all(key).count() > 0);
    }
    let read = Config::parse(&again);
    assert!(config.iter().eq(read.iter()));
    assert_eq!(config.promisors(), read.promisors());
    let _ = (Bounds::of(&config).is_ok(), Bounds::active(&config).is_ok());
}

/// Limits on a command line.
pub fn bounds(bytes: &[u8]) {
    if let Some(bounds) = Bounds::from_word(&text(bytes)) {
        assert_eq!(Bounds::from_word(&bounds.word()), Some(bounds));
    }
}

/// `.skein/policy.toml`.
pub fn policy(bytes: &[u8]) {
    let Ok(policy) = Policy::parse(bytes) else { return };
    assert!(policy.gates().iter().all(|gate| !gate.trim().is_empty()));
    assert_eq!(policy.gates().len(), policy.commands().len());
    assert!(policy.unknown().count() <= bytes.len());
}

/// A word of `events --since`.
pub fn cursor(bytes: &[u8]) {
    let Ok(Since::Cursor(cursor)) = text(bytes).parse::<Since>() else { return };
    let again = Cursor::to_string(&cursor);
    assert_eq!(again.parse(), Ok(Since::Cursor(cursor)));
}

/// Whatever is taken for a name is one, and comes back as it was.
pub fn names(bytes: &[u8]) {
    let word = text(bytes);
    if let Ok(oid) = word.parse::<Oid>() {
        assert_eq!(oid.to_string().parse::<Oid>().unwrap(), oid);
        assert!(oid.to_string().eq_ignore_ascii_case(&word), "{word:?}");
    }
    if let Ok(name) = RefName::new(word.clone()) {
        assert_eq!(name.as_str(), word);
        assert!(name.as_str().starts_with("refs/") && !word.bytes().any(|b| b < 0x20 || b == 0x7f));
    }
    if let Ok(branch) = RefName::branch(&word).and_then(|branch| {
        // One that is itself named like a ref has no short name.
        let odd = branch.short().starts_with("refs/heads/");
        if odd { RefName::branch("main") } else { Ok(branch) }
    }) {
        assert_eq!(RefName::branch(branch.short()).unwrap(), branch);
    }
    if let Ok(remote) = RemoteName::new(&word) {
        let component = remote.component();
        assert!(!component.is_empty() && RefName::new(format!("refs/x/{component}")).is_ok());
    }
    if let Ok(id) = word.parse::<WorkerId>() {
        assert_eq!(id.to_string().parse::<WorkerId>().unwrap(), id);
    }
    if let Ok(id) = word.parse::<BundleId>() {
        assert_eq!(id.to_string().parse::<BundleId>().unwrap(), id);
    }
    if let Some(id) = DocId::from_uuid(&word) {
        assert_eq!(id.to_string().parse::<DocId>().unwrap(), id);
    }
    let handle = Handle::from_task(&word);
    assert_eq!(Handle::new(handle.as_str()).unwrap(), handle);
    let other = handle.clone().unique(|taken| *taken == handle);
    assert!(other != handle && Handle::new(other.as_str()).is_ok());
}

/// Paths of a tree, one a line.
pub fn paths(bytes: &[u8]) {
    let all: Vec<&BStr> = bytes.split(|b| *b == b'\n').map(ByteSlice::as_bstr).collect();
    for path in &all {
        let fine = crate::domain::check_path(path).is_ok();
        let is_odd = path.is_empty()
            || path.contains(&0)
            || path.split_str("/").any(|name| matches!(name, b"" | b"." | b".." | b".git"));
        assert!(!(fine && is_odd), "{path:?}");
        let folded = crate::domain::folded(path);
        assert_eq!(crate::domain::folded(folded.as_bstr()), folded, "{path:?}");
        let quoted = crate::domain::c_quoted(b"a/", path);
        assert!(quoted.iter().all(|byte| (0x20..0x7f).contains(byte)), "{quoted:?}");
        assert!(quoted.len() <= 4 * path.len() + 4);
        for target in &all {
            let up = target.split_str("/").filter(|name| *name == b"..").count();
            let leaves = crate::domain::link_escapes(path, target);
            assert!(leaves || up <= path.find_iter(b"/").count(), "{path:?} {target:?}");
        }
    }
    let pairs = crate::domain::collisions(all.iter().copied());
    for (one, other) in pairs {
        assert_ne!(one, other);
        assert_eq!(crate::domain::folded(one.as_bstr()), crate::domain::folded(other.as_bstr()));
    }
}

/// Globs, one a line, and paths that they may cover.
pub fn globs(bytes: &[u8]) {
    let [globs, paths] = parts(bytes);
    let globs = text(globs);
    let Ok(set) = Globs::new(globs.lines().take(50)) else { return };
    for path in paths.split(|b| *b == b'\n').take(50) {
        let covered = set.covers(path.as_bstr());
        let below = [path, b"/x"].concat();
        assert!(
            !covered || path.is_empty() || path.ends_with(b"/") || set.covers(below.as_bstr()),
            "{path:?}"
        );
    }
}

/// What a test runner or a compiler printed.
pub fn check_output(bytes: &[u8]) {
    let _ = crate::domain::tests_run(bytes);
    let said = text(bytes);
    let spots = crate::domain::spots(&said, "/tmp/tree");
    assert!(spots.len() <= 10);
    for spot in spots {
        assert!(!spot.path.contains('\n') && !spot.says.contains('\n'), "{spot:?}");
    }
    let tools = crate::domain::tools_of(&said);
    assert!(tools.iter().all(|(tool, _)| said.contains(tool)));
}

/// Texts that are cut, masked and quoted on their way into a record.
pub fn kept_text(bytes: &[u8]) {
    for most in [0, 1, 7, 100] {
        assert!(crate::domain::cut(bytes, most).len() <= most.min(bytes.len()) + 60);
    }
    let said = text(bytes);
    let masked = crate::domain::mask(&said);
    assert!(masked.len() <= said.len() + 3 * said.len(), "a mask grows no text");
    let places = [("/home/ada".to_owned(), "~"), ("/home/ada/repo".to_owned(), "<checkout>")];
    let elsewhere = crate::domain::without_places(&said, &places);
    assert!(!elsewhere.contains("/home/ada/"), "{elsewhere:?}");
    let message = crate::domain::with_trailers(bytes, &[("Skein-Worker", "w".to_owned())]);
    let ours = message.lines().filter(|line| line.starts_with(b"Skein-")).count();
    assert_eq!(ours, 1, "{message:?}");
    assert!(message.ends_with(b"Skein-Worker: w\n"));
    let again = crate::domain::with_trailers(&message, &[("Skein-Worker", "w".to_owned())]);
    assert_eq!(again, message);
}

/// What git tells a hook on its standard input, and a line that may mark a conflict.
pub fn hook_lines(bytes: &[u8]) {
    let names = |own| crate::domain::fenced(bytes, own);
    let (own, other) = (names(true), names(false));
    assert!(own.iter().all(|name| other.contains(name)), "what is fenced at home is fenced elsewhere");
    assert!(own.iter().all(|name| name != "ORIG_HEAD"));
    for line in bytes.lines() {
        assert!(!crate::domain::marks_conflict(line) || line.len() >= 7);
    }
}
