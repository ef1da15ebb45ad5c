//! What refusals mean, as a list and one by one.

use crate::domain::Explained;
use crate::domain::REFUSALS;
use crate::domain::Token;
use crate::domain::explained;
use crate::surfaces::present::Page;
use crate::surfaces::present::guidance;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::paint;

impl Page {
    /// The refusal called `token`, or all of them.
    pub fn refusals(token: Option<&str>, json: bool) -> Page {
        let Some(name) = token else {
            let all: Vec<serde_json::Value> = REFUSALS
                .iter()
                .flat_map(|(section, some)| some.iter().map(|e| value(e, Some(section))))
                .collect();
            return Page::of("help", &all, json, |_| list());
        };
        let found = Token::ALL.iter().find(|t| t.as_str() == name).and_then(|t| explained(*t));
        match found {
            Some(e) => Page::of("help", &value(e, None), json, |_| one(e)),
            None => Page::usage(&format!("no refusal is called {name:?}\n"), json),
        }
    }
}

fn value(e: &Explained, section: Option<&str>) -> serde_json::Value {
    let mut value = serde_json::json!({
        "token": e.token, "exit": e.token.exit().code(), "means": e.means, "show": e.show, "next": e.next,
    });
    if let Some(section) = section {
        value["section"] = section.into();
    }
    value
}

/// Backticks are for documents.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn list() -> String {
    let line = |e: &Explained| {
        format!("  {:<22} {:>3}  {}\n", e.token.as_str(), e.token.exit().code(), plain(e.means))
    };
    let section = |(title, some): &(&str, &[Explained])| {
        format!("{}\n{}", paint(BOLD, title), some.iter().map(line).collect::<String>())
    };
    REFUSALS.iter().map(section).collect::<Vec<String>>().join("\n")
}

fn one(e: &Explained) -> String {
    format!(
        "{} (exit code {}): {}\n{}",
        paint(BOLD, e.token.as_str()),
        e.token.exit().code(),
        plain(e.means),
        guidance("", &plain(e.show), &plain(e.next))
    )
}
