//! What workers have left.

use crate::domain::Exit;
use crate::surfaces::present::Page;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::artifacts::Hit;
use crate::verbs::artifacts::Left;
use crate::verbs::artifacts::Search;

impl Page {
    pub fn artifacts(left: &Left, json: bool) -> Page {
        Page::of("artifacts", left, json, |left| {
            let all = left.artifacts.iter();
            match left.whole {
                true => all.map(|artifact| safe(artifact.text.trim_end()) + "\n").collect(),
                false => all
                    .map(|a| {
                        let (id, at) = (paint(BOLD, &format!("{:<4}", a.id)), paint(DIM, &date(a.at)));
                        format!("{id} {:<9} {at}  {}\n", a.kind.word(), line(&a.title))
                    })
                    .collect(),
            }
        })
    }

    /// Nothing found is a no, as with `grep`.
    pub fn search(search: &Search, json: bool) -> Page {
        let exit = if search.found.is_empty() { Exit::No } else { Exit::Done };
        let text = |search: &Search| {
            let mut text: String = search.found.iter().map(hit).collect();
            if search.more > 0 {
                text.push_str(&format!("and {} more; -n shows them\n", search.more));
            }
            text
        };
        Page::of("search", search, json, text).ending(exit)
    }
}

fn hit(hit: &Hit) -> String {
    let state = match (hit.closed, hit.landed) {
        (true, _) => "closed",
        (_, true) => "landed",
        _ => hit.outcome.word(),
    };
    let (address, state) = (paint(BOLD, &format!("{}:{}", hit.handle, hit.id)), paint(DIM, state));
    format!("{address} {state} {}: {}\n", hit.kind.word(), line(&hit.line))
}
