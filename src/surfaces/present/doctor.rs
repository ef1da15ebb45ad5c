//! What `doctor` found: the worst is not hidden among what is well.

use crate::domain::doctor::Finding;
use crate::domain::doctor::Level;
use crate::surfaces::present::Page;
use crate::surfaces::present::guidance;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::doctor::Checkup;

impl Page {
    pub fn doctor(checkup: &Checkup, json: bool) -> Page {
        let failed = checkup.failed.iter();
        let err = failed.map(|f| format!("{} not fixed: {}\n", paint(BAD, "fault:"), line(f))).collect();
        Page { err, ..Page::of("doctor", checkup, json, text).ending(checkup.exit()) }
    }
}

fn text(checkup: &Checkup) -> String {
    let mut text: String =
        checkup.fixed.iter().map(|f| format!("{} {}\n", paint(GOOD, "fixed   "), line(f))).collect();
    text.extend(checkup.findings.iter().map(finding));
    let many = |level| checkup.findings.iter().filter(|f| f.level == level).count();
    let counts: Vec<String> = [Level::Problem, Level::Warning, Level::Note, Level::Ok]
        .into_iter()
        .map(|level| format!("{} {}", many(level), level.word()))
        .collect();
    text + &counts.join(", ") + "\n"
}

fn finding(f: &Finding) -> String {
    let style = match f.level {
        Level::Ok => GOOD,
        Level::Note => BOLD,
        Level::Warning => WARN,
        Level::Problem => BAD,
    };
    let word = paint(style, &format!("{:<8}", f.level.word()));
    let mut text = format!("{word} {}: {}\n", f.check, line(&f.says));
    text.extend(f.lines.iter().map(|l| format!("           {}\n", line(l))));
    if f.level == Level::Ok {
        return text;
    }
    text + &guidance("         ", &f.show, &f.next)
}
