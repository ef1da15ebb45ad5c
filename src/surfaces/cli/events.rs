//! `events`: prints what is new until there is no more, or with `--follow` until nobody reads.

use crate::domain::Failure;
use crate::domain::Result;
use crate::domain::Since;
use crate::surfaces::present::Page;
use crate::verbs::events::Stream;
use crate::verbs::events::is_read;
use crate::verbs::session::Session;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

pub fn run(session: &Session<'_>, names: &[String], follow: bool, since: Option<Since>) -> Result<Page> {
    let mut stream = Stream::open(session, names, since)?;
    let mut told = String::new();
    loop {
        let batch = stream.next(session)?;
        if batch.cursor != told {
            let read = Page::events(&batch).stream();
            if !read.map_err(|e| Failure::fault("writing the events", e))? {
                return Ok(Page::nothing());
            }
            told = batch.cursor;
        }
        if !follow || !is_read() {
            return Ok(Page::nothing());
        }
        std::thread::sleep(PAUSE);
    }
}
