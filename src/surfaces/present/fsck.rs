//! Rendering of `fsck`.

use crate::domain::Exit;
use crate::surfaces::present::Page;
use crate::surfaces::present::guidance;
use crate::surfaces::style::BAD;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::fsck::Level;
use crate::verbs::fsck::Report;

impl Page {
    /// Errors are a "no"; warnings alone are not.
    pub fn fsck(report: &Report, json: bool) -> Page {
        let exit = if report.count(Level::Error) > 0 { Exit::No } else { Exit::Done };
        Page::of("fsck", report, json, text).ending(exit)
    }
}

fn text(report: &Report) -> String {
    let mut text: String = report.rebuilt.iter().map(|what| format!("{}\n", line(what))).collect();
    for finding in &report.findings {
        let style = if finding.level == Level::Error { BAD } else { WARN };
        text.push_str(&format!("{}: {}\n", paint(style, finding.code.as_str()), line(&finding.name)));
        text.push_str(&format!("  {}\n", line(&finding.says)));
        if let Some(oid) = finding.oid {
            text.push_str(&format!("  at {oid}\n"));
        }
        text.push_str(&guidance("  ", &finding.show, finding.next));
    }
    let (errors, warnings) = (report.count(Level::Error), report.count(Level::Warning));
    let looked = format!("{}, {}", count(report.workers, "worker"), count(report.records, "record"));
    let (style, word) = if errors > 0 { (BAD, "damaged") } else { (GOOD, "sound") };
    let found = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
    text + &format!("{}: {found} ({looked})\n", paint(style, word))
}
