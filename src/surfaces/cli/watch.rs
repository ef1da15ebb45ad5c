//! Verbs that look again until they are interrupted.

use crate::domain::Result;
use crate::surfaces::present::Ends;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;
use std::time::Duration;

/// How long until the next look.
const PAUSE: Duration = Duration::from_secs(1);

pub fn status(
    session: &Session<'_>,
    watch: bool,
    archived: bool,
    json: bool,
    lines: Option<Ends>,
) -> Result<Page> {
    loop {
        let status = verbs::status::run(session, archived, json || lines.is_some())?;
        let page =
            lines.map_or_else(|| Page::status(&status, json), |ends| Page::status_lines(&status, ends));
        if !watch {
            return Ok(page);
        }
        // Clear and home, as a terminal does it; a pipe gets one picture after another.
        if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            anstream::print!("\x1b[2J\x1b[H");
        }
        page.on_one_line(json).print();
        std::thread::sleep(PAUSE);
    }
}

/// Watching, it prints a picture that is not the one before.
pub fn overlap(
    session: &mut Session<'_>,
    request: &verbs::overlap::Request,
    watch: bool,
    json: bool,
) -> Result<Page> {
    let mut last = None;
    loop {
        let found = verbs::overlap::run(session, request)?;
        let page = Page::overlap(&found, json);
        if !watch {
            return Ok(page);
        }
        if last.as_ref() != Some(&found.pairs) {
            page.on_one_line(json).print();
            last = Some(found.pairs);
        }
        std::thread::sleep(PAUSE);
    }
}
