//! `events`: prints what is new until there is no more, or with `--follow` until nobody reads.

use crate::domain::Failure;
use crate::domain::Result;
use crate::domain::Since;
use crate::host::Env;
use crate::surfaces::cli::args::Land;
use crate::surfaces::cli::args::Verb;
use crate::surfaces::present::Page;
use crate::verbs::events::Stream;
use crate::verbs::events::is_read;
use crate::verbs::session::Session;
use std::cell::RefCell;
use std::path::Path;
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

/// Whether the verb was asked to tell what happens while it works.
pub fn tells(verb: &Verb) -> bool {
    match verb {
        Verb::Dispatch(args) => args.events,
        Verb::Wait { events, .. } | Verb::Land(Land { events, .. }) => *events,
        _ => false,
    }
}

/// The stream of events beside a verb, read through eyes of its own.
pub struct Telling<'e> {
    session: Session<'e>,
    stream: RefCell<Stream>,
}

impl<'e> Telling<'e> {
    /// From now on, of the workers that are waited for, or of all; `dispatch` tells of its own from its birth.
    pub fn begin(
        env: &'e Env,
        cwd: &Path,
        tell: &'e dyn Fn(&str),
        verb: &Verb,
    ) -> Result<Option<Telling<'e>>> {
        let names: &[String] = match verb {
            Verb::Wait { workers, .. } => workers,
            _ => &[],
        };
        if !tells(verb) || matches!(verb, Verb::Dispatch(_)) {
            return Ok(None);
        }
        let session = Session::open(env, cwd, tell)?;
        let stream = RefCell::new(Stream::open(&session, names, Some(Since::Now))?);
        Ok(Some(Telling { session, stream }))
    }

    /// The whole life of one worker.
    pub fn of(session: Session<'e>, worker: &str) -> Result<Telling<'e>> {
        let stream = RefCell::new(Stream::open(&session, &[worker.to_owned()], None)?);
        Ok(Telling { session, stream })
    }

    /// Prints what is new. What cannot be read or written now keeps nobody from his work.
    pub fn tell(&self) {
        if let Ok(batch) = self.stream.borrow_mut().all(&self.session)
            && !batch.lines.is_empty()
        {
            Page::events(&batch).stream().ok();
        }
    }
}
