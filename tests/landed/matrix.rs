//! How the verdicts of the whole corpus compare with those of git's own tools: the tables of
//! docs/landed.md. `SKEIN_GOLDEN=write` writes them; else they must be what is written.

use super::corpus::Heard;
use super::corpus::NEEDLESS;
use super::corpus::Truth;
use super::corpus::heard;
use std::fs;
use std::path::Path;

const TRUTHS: [(Truth, &str); 5] = [
    (Truth::In, "all of it landed, and was not taken back"),
    (Truth::Gone, "it landed, and all or a part was taken back"),
    (Truth::Not, "some or all of it never landed"),
    (Truth::Nothing, "there is no work"),
    (Truth::Unknowable, "the history or the objects do not tell"),
];

const START: &str = "<!-- the corpus: written by the tests -->\n";
const END: &str = "<!-- end of the corpus -->\n";

/// Who says landed. No `+` of `git cherry` is taken for that, as scripts take it.
fn says_landed(heard: &Heard) -> [bool; 3] {
    [
        heard.case.want.starts_with("landed"),
        !heard.cherry.contains('+') && heard.cherry != "failed",
        heard.merged,
    ]
}

fn tables() -> String {
    let mut text = String::from(
        "| What is so | Histories | `git skein landed` | `git cherry` | `git branch --merged` |\n|---|--:|--:|--:|--:|\n",
    );
    let (mut wrongly, mut needlessly, mut all) = ([0; 3], [0; 3], 0);
    for (truth, what) in TRUTHS {
        let of: Vec<&Heard> = heard().iter().filter(|h| h.case.truth == truth).collect();
        let mut says = [0; 3];
        for one in &of {
            for (count, landed) in says.iter_mut().zip(says_landed(one)) {
                *count += usize::from(landed);
            }
        }
        for tool in 0..3 {
            match truth {
                Truth::In => needlessly[tool] += of.len() - says[tool],
                _ => wrongly[tool] += says[tool],
            }
        }
        all += of.len();
        text += &format!("| {what} | {} | {} | {} | {} |\n", of.len(), says[0], says[1], says[2]);
    }
    for (what, counts) in
        [("**said landed, and is not**", wrongly), ("**landed, and not said so**", needlessly)]
    {
        text += &format!("| {what} | | **{}** | **{}** | **{}** |\n", counts[0], counts[1], counts[2]);
    }
    assert_eq!(wrongly[0], 0, "a false landed");
    assert_eq!(needlessly[0], NEEDLESS.len());
    let mut list = String::from("\n| Landed, and not said so | Why |\n|---|---|\n");
    NEEDLESS.iter().for_each(|(name, why)| list += &format!("| {name} | {why} |\n"));
    format!("Verdicts of \"landed\" on the {all} histories of the corpus:\n\n{text}{list}")
}

/// `SKEIN_WORKTRUNK=<path of wt> SKEIN_GOLDEN=write cargo test --test skein what_worktrunk_says -- --ignored` writes it.
#[test]
#[ignore = "needs worktrunk, which SKEIN_WORKTRUNK names"]
fn what_worktrunk_says_is_in_the_document() {
    let mut text = String::from("| What is so | Histories | integrated |\n|---|--:|--:|\n");
    let (mut wrongly, mut needlessly) = (0, 0);
    for (truth, what) in TRUTHS {
        let of: Vec<&Heard> = heard().iter().filter(|h| h.case.truth == truth).collect();
        let says = of.iter().filter(|h| h.integrated.expect("SKEIN_WORKTRUNK names it")).count();
        match truth {
            Truth::In => needlessly += of.len() - says,
            _ => wrongly += says,
        }
        text += &format!("| {what} | {} | {says} |\n", of.len());
    }
    text += &format!("| **said integrated, and is not** | | **{wrongly}** |\n");
    text += &format!("| **landed, and not said so** | | **{needlessly}** |");
    is_written("<!-- worktrunk: written by a test -->\n", "<!-- end of worktrunk -->\n", &(text + "\n"));
}

#[test]
fn the_document_has_the_tables_of_the_corpus() {
    is_written(START, END, &tables());
}

/// Whether docs/landed.md has `text` between these lines; or writes it there.
fn is_written(start: &str, end: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/landed.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(start).expect("where the table starts");
    let (_, after) = rest.split_once(end).expect("where the table ends");
    let want = format!("{before}{start}\n{text}\n{end}{after}");
    if std::env::var("SKEIN_GOLDEN").is_ok_and(|v| v == "write") {
        fs::write(&path, want).unwrap();
        return;
    }
    assert_eq!(page, want, "SKEIN_GOLDEN=write cargo test --test skein the_document_has writes it");
}
