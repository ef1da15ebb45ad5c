//! What a pipeline is told beside the page: groups and annotations in its log, a summary, a file of test results.
//! Nothing of it goes into the result on standard output.

mod actions;
mod case;
mod junit;
mod summary;

pub use actions::harmless;
pub use actions::is_heard;
pub use case::Case;
pub use case::State;

use crate::domain::Exit;
use crate::domain::mask;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::gate::Heard;
use std::cell::RefCell;
use std::path::PathBuf;

/// Collects what happens in one command.
pub struct Witness {
    verb: &'static str,
    /// The log is read by a runner that knows GitHub's workflow commands.
    actions: bool,
    quiet: bool,
    summary: Option<PathBuf>,
    junit: Option<PathBuf>,
    secrets: Vec<String>,
    cases: RefCell<Vec<Case>>,
}

/// Whether the log of this command is read by a runner that knows GitHub's workflow commands.
pub fn is_actions(env: &Env) -> bool {
    env.get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

impl Witness {
    pub fn new(env: &Env, verb: &'static str, quiet: bool, junit: Option<PathBuf>) -> Witness {
        let actions = is_actions(env);
        let file = env.get("GITHUB_STEP_SUMMARY").filter(|file| actions && !file.is_empty());
        let mut witness = Witness {
            verb,
            actions,
            quiet,
            summary: file.map(PathBuf::from),
            junit,
            secrets: Vec::new(),
            cases: RefCell::default(),
        };
        if witness.is_wanted() {
            witness.secrets = secrets(env);
        }
        witness
    }

    /// A gate or a check has run.
    pub fn heard(&self, heard: Heard) {
        if !self.is_wanted() {
            return;
        }
        let case = self.masked(Case::of_gate(heard));
        if self.actions && !self.quiet {
            anstream::eprint!("{}", actions::group(&case));
        }
        self.cases.borrow_mut().push(case);
    }

    /// The command is over and this is its page: everything that is kept of it is written. Gives the page as it is to be
    /// printed.
    pub fn close(&self, page: Page) -> Page {
        if !self.is_wanted() {
            return page;
        }
        let mut cases = self.cases.take();
        cases.extend(page.cases.iter().cloned().map(|case| self.masked(case)));
        let mut page = page;
        if self.actions && !self.quiet {
            let spoke = |case: &&Case| case.kind == "worker" && !case.output.trim().is_empty();
            let groups: String = cases.iter().filter(spoke).map(actions::group).collect();
            page.told.push_str(&groups);
        }
        if self.actions {
            page.told.push_str(&actions::annotations(&cases));
        }
        for (file, text, whole) in [
            (&self.junit, junit::file(self.verb, &cases), true),
            (&self.summary, summary::table(self.verb, &cases), false),
        ] {
            let Some(file) = file.as_ref().filter(|_| whole || !cases.is_empty()) else { continue };
            if let Err(failure) = verbs::write_report(file, text.as_bytes(), whole) {
                page.err.push_str(&Page::failure(self.verb, &failure, false).err);
                // What was to be done is done; a pipeline that counts on the file must hear of it all the same.
                page.exit = if whole && page.exit == Exit::Done { Exit::Fault } else { page.exit };
            }
        }
        page
    }

    /// Whether anything is told beside the page.
    fn is_wanted(&self) -> bool {
        self.actions || self.junit.is_some()
    }

    fn masked(&self, case: Case) -> Case {
        case.map(|text| {
            let known = self.secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "***"));
            mask(&known)
        })
    }
}

/// Values of the environment that are secrets by their names, the longest first.
fn secrets(env: &Env) -> Vec<String> {
    const TELLING: [&str; 8] =
        ["TOKEN", "SECRET", "PASSW", "APIKEY", "API_KEY", "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY"];
    let named = |name: &str| TELLING.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let of = env.iter().filter(|(name, _)| named(&name.to_string_lossy()));
    // What is shorter is a word or a number, and stands everywhere.
    let mut found: Vec<String> =
        of.map(|(_, value)| value.to_string_lossy().into_owned()).filter(|value| value.len() >= 6).collect();
    // A secret of several lines is seen line by line.
    let lines: Vec<String> =
        found.iter().flat_map(|v| v.lines()).filter(|l| l.len() >= 6).map(Into::into).collect();
    found.extend(lines);
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found.dedup();
    found
}
