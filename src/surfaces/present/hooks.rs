//! Rendering of `hooks`.

use crate::domain::Exit;
use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::hooks::Placed;
use crate::verbs::hooks::Report;

impl Page {
    /// `want` tells whether it is as it was asked for.
    pub fn hooks(verb: &str, report: &Report, want: bool, json: bool) -> Page {
        let exit = if want { Exit::Done } else { Exit::No };
        Page::of(verb, report, json, text).ending(exit)
    }
}

fn text(report: &Report) -> String {
    let place = match report.configured {
        true => "in the configuration of this repository".to_owned(),
        false => format!("in {}", line(&report.folder.to_string_lossy())),
    };
    let hooks: String = report.hooks.iter().map(placed).collect();
    let notes: String =
        report.notes.iter().map(|note| format!("{} {}\n", paint(DIM, "note:"), line(note))).collect();
    format!("hooks {place}\n{hooks}{notes}")
}

fn placed(placed: &Placed) -> String {
    let colour = match (placed.state, &placed.gone) {
        (_, Some(_)) => BAD,
        ("installed", None) => GOOD,
        ("other-program", None) => WARN,
        _ => DIM,
    };
    let mut more = String::new();
    if placed.chained {
        more.push_str(", calls the one that was there before");
    }
    if let Some(gone) = &placed.gone {
        more.push_str(&format!(", but there is no {} any more", line(gone)));
    }
    if let Some(done) = placed.done {
        more.push_str(&format!(" ({done})"));
    }
    format!("  {:<22}{}{more}\n", placed.hook.as_str(), paint(colour, placed.state))
}
