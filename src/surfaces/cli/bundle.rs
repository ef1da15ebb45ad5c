//! `bundle` on the command line.

use crate::domain::Result;
use crate::domain::Token;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::bundle::Part;
use crate::verbs::bundle::Request;
use crate::verbs::session::Session;
use clap::Subcommand;
use clap::ValueEnum;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Bundle {
    /// Save what there is of a worker, open or closed. It outlives the worker.
    Save {
        /// A worker, by handle or id.
        worker: String,
        /// Only these parts.
        #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
        only: Vec<Word>,
        /// All but these parts.
        #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
        without: Vec<Word>,
        /// Keep at most so many bytes of the output of each command, from its beginning and its end.
        #[arg(long, value_name = "BYTES")]
        max_output: Option<usize>,
    },
    /// List the saved bundles.
    List,
    /// Show what a bundle holds, and whether it is as it was written. For a file no repository is needed.
    Show {
        /// A saved bundle, or a file.
        bundle: String,
        /// Only this paper, such as evidence/1.txt.
        paper: Option<String>,
        /// Refuse any bundle but the one with this commit, as export has printed it.
        #[arg(long, value_name = "OID")]
        expect: Option<String>,
    },
    /// Write a saved bundle to a new file, a bundle of git, and print the id to check it by.
    Export {
        /// A saved bundle.
        bundle: String,
        /// The file.
        file: PathBuf,
        /// With the whole history that it builds on, so that any repository can take it in.
        #[arg(long)]
        whole: bool,
    },
    /// Save the bundle in a file here, after all that it says was checked.
    Import {
        /// The file.
        file: PathBuf,
        /// Refuse any bundle but the one with this commit, as export has printed it.
        #[arg(long, value_name = "OID")]
        expect: Option<String>,
    },
    /// Give a bundle to a worker as a reference, once: its next run begins with it.
    Load {
        /// A worker, by handle or id.
        worker: String,
        /// A saved bundle, or a file.
        bundle: String,
    },
    /// Take a bundle away from a worker that was not given it yet.
    Unload {
        /// A worker, by handle or id.
        worker: String,
        /// The bundle.
        bundle: String,
    },
    /// Delete saved bundles.
    Delete {
        /// Saved bundles.
        #[arg(required = true)]
        bundles: Vec<String>,
    },
}

/// What a bundle can hold.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Word {
    /// The task, and the text of the kind.
    Brief,
    /// The newest delta: its commits and a diff.
    Delta,
    /// What was decided of it.
    Verdicts,
    /// What was run on its trees, with the output.
    Evidence,
    /// What it asked, was told and claims.
    Messages,
}

impl Word {
    fn part(self) -> Part {
        match self {
            Word::Brief => Part::Brief,
            Word::Delta => Part::Delta,
            Word::Verdicts => Part::Verdicts,
            Word::Evidence => Part::Evidence,
            Word::Messages => Part::Messages,
        }
    }
}

pub fn run(env: &Env, cwd: &Path, verb: &Bundle, json: bool, tell: &dyn Fn(&str)) -> Result<Page> {
    let session = Session::open(env, cwd, tell);
    if let Bundle::Show { bundle, paper, expect } = verb {
        let (expect, paper) = (expect.as_deref(), paper.as_deref());
        let opened = match &session {
            Err(failure) if failure.token() == Some(Token::NotARepository) => {
                verbs::bundle::show_outside(env, bundle, cwd, expect, paper)
            }
            _ => verbs::bundle::show(&session?, bundle, cwd, expect, paper),
        };
        return Ok(Page::bundle_shown(&opened?, json));
    }
    let session = &mut session?;
    match verb {
        Bundle::Save { worker, only, without, max_output } => {
            let parts = |words: &[Word]| words.iter().map(|word| word.part()).collect();
            let (only, without) = (parts(only), parts(without));
            let request = Request { name: worker.clone(), only, without, max_output: *max_output };
            Ok(Page::bundle_saved(&verbs::bundle::save(session, &request)?, json))
        }
        Bundle::Export { bundle, file, whole } => {
            let done = verbs::bundle::export(session, bundle, &cwd.join(file), *whole)?;
            Ok(Page::bundle_exported(&done, json))
        }
        Bundle::Import { file, expect } => {
            let done = verbs::bundle::import(session, &cwd.join(file), expect.as_deref())?;
            Ok(Page::bundle_imported(&done, json))
        }
        Bundle::Load { worker, bundle } => {
            Ok(Page::bundle_loaded(&verbs::bundle::load(session, worker, bundle, cwd)?, json))
        }
        Bundle::Unload { worker, bundle } => {
            Ok(Page::bundle_unloaded(&verbs::bundle::unload(session, worker, bundle)?, json))
        }
        Bundle::Delete { bundles } => {
            Ok(Page::bundle_deleted(&verbs::bundle::delete(session, bundles)?, json))
        }
        Bundle::List | Bundle::Show { .. } => Ok(Page::bundles(&verbs::bundle::list(session)?, json)),
    }
}
