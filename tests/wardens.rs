//! The house rules that no compiler checks. Every check takes text and returns what is wrong with it,
//! so that each can be shown a bad example.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Each room with the rooms that it may use, from the roof down.
const LADDER: &[(&str, &[&str])] = &[
    ("surfaces", &["domain", "verbs", "fault"]),
    ("verbs", &["domain", "plumbing", "host", "state", "fault"]),
    ("state", &["domain", "plumbing", "host", "fault"]),
    ("host", &["domain", "fault"]),
    ("plumbing", &["domain", "fault"]),
    ("domain", &[]),
];

/// Single names that a room may use of a room that is closed to it.
const WINDOWS: &[(&str, &str)] = &[("surfaces", "host::Env")];

/// Text that may stand only in the code of the rooms beside it.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("gix::", &["plumbing"]),
    ("Command::new", &["plumbing", "host"]),
    ("println!", &["surfaces"]),
    ("print!(", &["surfaces"]),
    ("refs/skein", &["state"]),
    ("refs/notes/skein", &["state"]),
];

/// Files of text for people, where commands that a person types name refs.
const TEXTS: &[&str] = &[
    "src/domain/refusals.rs",
    "src/domain/refusals/bundles.rs",
    "src/domain/refusals/documents.rs",
    "src/domain/refusals/hooks.rs",
    "src/domain/refusals/remotes.rs",
    "src/domain/refusals/undo.rs",
    "src/domain/refusals/verdicts.rs",
    "src/domain/refusals/workers.rs",
];

const MAX_FILE: usize = 500;
const MAX_README: usize = 150;

#[test]
fn rooms_only_look_down() {
    report(sources().iter().flat_map(|(path, text)| edges(path, text)));
}

#[test]
fn a_look_up_is_found() {
    let bad = |path: &str, text: &str| !edges(path, text).is_empty();
    for (path, text) in [
        ("src/domain/name.rs", "use crate::state::View;"),
        ("src/domain/name.rs", "fault::point(\"x\"); use crate::fault;"),
        ("src/plumbing/refs.rs", "let x = crate::host::Clock::new();"),
        ("src/host/child.rs", "use crate::plumbing::Repo;"),
        ("src/state/mod.rs", "use super::verbs::Session;"),
        ("src/surfaces/cli/mod.rs", "use crate::host::Clock;"),
        ("src/surfaces/cli/mod.rs", "use crate::host::EnvGuard;"),
        ("src/verbs/land.rs", "use crate::{domain::Oid, state::View};"),
        ("src/cellar/mod.rs", ""),
    ] {
        assert!(bad(path, text), "{path}: {text}");
    }
    for (path, text) in [
        ("src/lib.rs", "mod domain;\nmod verbs;\n"),
        ("src/verbs/land.rs", "use crate::plumbing::Repo;\nuse crate::fault;\n"),
        ("src/surfaces/cli/mod.rs", "use crate::host::Env;"),
        (
            "src/domain/name.rs",
            "//! see crate::state\nfn a() {}\n#[cfg(test)]\nmod tests { use crate::state::View; }\n",
        ),
    ] {
        assert!(!bad(path, text), "{path}: {text}");
    }
}

#[test]
fn tokens_stay_in_their_rooms() {
    report(sources().iter().flat_map(|(path, text)| strays(path, text)));
}

#[test]
fn a_stray_token_is_found() {
    for (path, text) in [
        ("src/verbs/land.rs", "let id = gix::ObjectId::null(kind);"),
        ("src/state/view.rs", "Command::new(\"git\")"),
        ("src/main.rs", "std::process::Command::new(\"git\")"),
        ("src/verbs/show.rs", "println!(\"x\");"),
        ("src/host/child.rs", "eprint!(\"x\");"),
        ("src/verbs/log.rs", "let all = \"refs/skein/\";"),
        ("src/plumbing/refs.rs", "\"refs/skein-local/wip\""),
        ("src/domain/name.rs", "\"refs/notes/skein/landed\""),
    ] {
        assert_eq!(strays(path, text).len(), 1, "{path}: {text}");
    }
    assert!(strays("src/state/names.rs", "\"refs/skein/worker\"").is_empty());
    assert!(strays(TEXTS[0], "\"git for-each-ref refs/skein\"").is_empty());
    assert_eq!(strays(TEXTS[0], "gix::ObjectId").len(), 1);
    let token = "let id = \"refs/skein/worker\";\n";
    for path in ["src/verbs/proof/tests.rs", "src/plumbing/capture/tests/trees.rs"] {
        assert!(strays(path, token).is_empty(), "{path} is test code");
    }
    assert_eq!(strays("src/verbs/tests_of.rs", token).len(), 1);
    for (text, found) in [
        (format!("#[cfg(test)]\nmod tests {{\n    {token}}}\n"), 0),
        (format!("#[cfg(test)]\n#[cfg(unix)]\nmod tests {{\n    {token}}}\n"), 0),
        (format!("#[cfg(test)]\nmod tests;\n{token}"), 1),
        (format!("impl X {{\n    #[cfg(test)]\n    fn a() {{\n        {token}    }}\n    {token}}}\n"), 1),
    ] {
        assert_eq!(strays("src/verbs/log.rs", &text).len(), found, "{text}");
    }
    assert!(strays("src/verbs/log.rs", "/// Lists refs/skein/lane.\nfn log() {}").is_empty());
}

/// A file that is exempt as test code is built for tests only.
#[test]
fn test_files_are_for_tests_only() {
    let all: BTreeMap<String, String> = sources().into_iter().collect();
    let parents = all.keys().filter_map(|p| p.strip_suffix("/tests.rs").or(p.strip_suffix("/tests/mod.rs")));
    for parent in parents {
        let module = all.get(&format!("{parent}.rs")).or_else(|| all.get(&format!("{parent}/mod.rs")));
        let guarded = module.is_some_and(|text| !code(parent, text).contains("mod tests;"));
        assert!(guarded, "{parent} holds tests without #[cfg(test)]");
    }
}

#[test]
fn files_are_small() {
    report(sources().iter().flat_map(|(path, text)| longer_than(path, text, MAX_FILE)));
}

#[test]
fn readme_is_short() {
    report(longer_than("README.md", &read("README.md"), MAX_README));
}

#[test]
fn a_long_file_is_found() {
    assert!(longer_than("x", &"a\n".repeat(MAX_FILE), MAX_FILE).is_empty());
    assert_eq!(longer_than("x", &"a\n".repeat(MAX_FILE + 1), MAX_FILE).len(), 1);
}

#[test]
fn dependencies_have_reasons() {
    report(reasons(&read("Cargo.toml"), &read("docs/dependencies.md")));
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\none = \"1\"\n\n[dev-dependencies.two]\nversion = \"2\"\n\
                    [target.'cfg(unix)'.dependencies]\nthree = { version = \"3\" }\n";
    let good = "| `one` | counts |\n| `two` | counts on |\n| `three` | counts further |\n";
    assert_eq!(reasons(manifest, good), Vec::<String>::new());
    assert_eq!(reasons(manifest, &good.replace("two", "2")).len(), 2, "a missing row and a stale one");
    assert_eq!(reasons(manifest, &good.replace("counts further", " ")).len(), 1, "a row without a reason");
    assert!(!reasons("[package]\n", "").is_empty(), "no dependency found at all");
}

/// Uses of rooms that the ladder does not allow.
fn edges(path: &str, text: &str) -> Vec<String> {
    let Some(room) = room(path) else { return Vec::new() };
    let Some((_, may)) = LADDER.iter().find(|(name, _)| *name == room) else {
        return vec![format!("{path}: {room} is not a room")];
    };
    let code = code(path, text);
    let mut bad = Vec::new();
    if code.contains("crate::{") {
        bad.push(format!("{path}: a grouped crate import; write one `use` for each name"));
    }
    for used in ["crate::", "super::"].iter().flat_map(|start| code.split(start).skip(1)) {
        let other = ident(used);
        let known = other == "fault" || LADDER.iter().any(|(name, _)| *name == other);
        let window = WINDOWS.iter().any(|(of, name)| {
            *of == room && used.strip_prefix(name).is_some_and(|rest| ident(rest).is_empty())
        });
        if known && other != room && !may.contains(&other) && !window {
            bad.push(format!("{path}: {room} uses {other}"));
        }
    }
    bad
}

/// Text that belongs to another room.
fn strays(path: &str, text: &str) -> Vec<String> {
    let code = code(path, text);
    let allowed = |rooms: &[&str]| room(path).is_some_and(|room| rooms.contains(&room));
    let text = |token: &str| token.starts_with("refs/") && TEXTS.contains(&path);
    let found =
        ONLY_IN.iter().filter(|(token, rooms)| code.contains(token) && !allowed(rooms) && !text(token));
    found.map(|(token, rooms)| format!("{path}: {token} outside {}", rooms.join(", "))).collect()
}

fn longer_than(path: &str, text: &str, most: usize) -> Vec<String> {
    let lines = text.lines().count();
    if lines > most { vec![format!("{path}: {lines} lines, at most {most}")] } else { Vec::new() }
}

/// Direct dependencies without a row that gives a reason, and rows without a dependency.
fn reasons(manifest: &str, doc: &str) -> Vec<String> {
    let keys = dependencies(manifest);
    let rows = rows(doc);
    let mut bad = Vec::new();
    if keys.is_empty() {
        bad.push("Cargo.toml: no dependencies found".to_owned());
    }
    for key in &keys {
        if rows.get(key).and_then(|cells| cells.first()).is_none_or(String::is_empty) {
            bad.push(format!("docs/dependencies.md: no reason for {key}"));
        }
    }
    bad.extend(
        rows.keys()
            .filter(|row| !keys.contains(row))
            .map(|row| format!("docs/dependencies.md: {row} is gone")),
    );
    bad
}

/// The keys of all dependency tables of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            inside = table.ends_with("dependencies");
            let parent = table.rsplit_once('.');
            if let Some((_, key)) = parent.filter(|(table, _)| table.ends_with("dependencies")) {
                keys.push(key.to_owned());
            }
        } else if inside && !line.starts_with('#') {
            let key = line.split(['=', '.']).next().unwrap_or_default().trim();
            keys.extend(line.contains('=').then(|| key.to_owned()));
        }
    }
    keys
}

/// The rows of all tables whose first cell is one name in backticks, with the other cells.
fn rows(doc: &str) -> BTreeMap<String, Vec<String>> {
    let row = |line: &str| {
        let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?.replace("\\|", "\u{0}");
        let mut cells = inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        Some((name, cells.collect()))
    };
    doc.lines().filter_map(row).collect()
}

/// The room that a source file stands in; files beside the rooms stand in none.
fn room(path: &str) -> Option<&str> {
    path.strip_prefix("src/")?.split_once('/').map(|(room, _)| room)
}

/// What the release is built from: no file of tests, no item under `#[cfg(test)]`, no comment lines. An item
/// ends where rustfmt puts its end: at a closing brace as deep as its first line, or at a semicolon.
fn code(path: &str, text: &str) -> String {
    let mut built = String::new();
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return built;
    }
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let inner = line.trim_start();
        if inner.starts_with("#[cfg(test)]") {
            let close = format!("{}}}", &line[..line.len() - inner.len()]);
            let attribute = |l: &str| l.trim_start().starts_with("#[");
            let mut item = lines.by_ref().skip_while(|l| attribute(l));
            let one_line = |l: &str| l.ends_with(';') || l.ends_with('}');
            if inner.ends_with(']') && item.next().is_some_and(|first| !one_line(first)) {
                item.find(|l| *l == close);
            }
        } else if !inner.starts_with("//") {
            built.push_str(line);
            built.push('\n');
        }
    }
    built
}

/// The identifier at the start of `text`.
fn ident(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Every source file: its path from the root of the repository, and its text.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec!["src".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                files.push((path.clone(), read(&path)));
            }
        }
    }
    for (room, _) in LADDER {
        let mod_file = format!("src/{room}/mod.rs");
        assert!(files.iter().any(|(path, _)| *path == mod_file), "{mod_file} was not walked");
    }
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn report(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<String> = findings.into_iter().collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}
