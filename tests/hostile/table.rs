//! The table of docs/security.md. `SKEIN_GOLDEN=write` writes it; else it must be what is written.

use super::Want;
use super::cases;
use std::fs;
use std::path::Path;

const START: &str = "<!-- the hostile corpus: written by the tests -->\n";
const END: &str = "<!-- end of the hostile corpus -->\n";

fn cell(want: Want, jailed: bool) -> String {
    match want {
        Want::Lands => "nothing outside changes, nothing of it runs".to_owned(),
        Want::Refused(token) => format!("refused: `{token}`"),
        Want::Told(what) => format!("told: {what}; `outside-changed`"),
        Want::Unseen(what) => format!("**not seen**: {what}"),
        Want::Stops(token) => format!("every verb is refused until you have mended it: `{token}`"),
        Want::Gate if jailed => "the gate runs it in a jail".to_owned(),
        Want::Gate => "**the gate runs it as you**".to_owned(),
    }
}

fn table() -> String {
    let mut text = String::from("| A worker | in a jail | without one |\n|---|---|---|\n");
    for case in cases::all() {
        text += &format!("| {} | {} | {} |\n", case.does, cell(case.jailed, true), cell(case.free, false));
    }
    text
}

#[test]
fn the_document_has_the_table_of_the_hostile_corpus() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).expect("where the table starts");
    let (_, after) = rest.split_once(END).expect("where the table ends");
    let want = format!("{before}{START}\n{}\n{END}{after}", table());
    if std::env::var("SKEIN_GOLDEN").is_ok_and(|v| v == "write") {
        fs::write(&path, want).unwrap();
        return;
    }
    assert_eq!(page, want, "SKEIN_GOLDEN=write cargo test --test skein the_document_has writes it");
}

#[test]
fn the_corpus_is_large_and_has_every_agent() {
    let names: std::collections::BTreeSet<&str> = cases::all().map(|c| c.name).collect();
    assert_eq!(names.len(), cases::all().count(), "a name twice");
    assert!(names.len() >= 120, "{}", names.len());
    let known =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain/agent.rs")).unwrap();
    let known = known.split_once("pub const AGENTS").unwrap().1;
    let mut agents = known.lines().filter_map(|l| l.trim().strip_prefix("name: \"")?.strip_suffix("\","));
    assert!(agents.clone().count() >= 6);
    assert!(agents.all(|agent| cases::all().any(|c| c.agent == agent)));
    // In a jail nothing outside changes, whatever it does.
    let leaks = |want: Want| matches!(want, Want::Told(_) | Want::Unseen(_) | Want::Stops(_));
    assert!(cases::all().all(|c| !leaks(c.jailed)));
}
