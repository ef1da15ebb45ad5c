//! The command line: parse, call one verb, show what it returned.

mod again;
mod args;
mod bundle;
mod decide;
mod dispatch;
mod doc;
mod events;
mod hooks;
mod kinds;
mod land;
mod run;
mod runner;
mod watch;
mod worker;

use crate::domain::Exit;
use crate::domain::Failure;
use crate::host::Env;
use crate::surfaces::present::Page;
use args::Cli;
use clap::CommandFactory;
use clap::Parser;
use std::process::ExitCode;

pub use run::man_dir;
pub use run::run_line;

/// The whole program.
pub fn main() -> ExitCode {
    let env = match Env::capture() {
        Ok(env) => env,
        Err(failure) => return ended(failed(&failure)),
    };
    if let Some(code) = run::hidden(&env) {
        return code;
    }
    match Cli::try_parse() {
        Ok(cli) => ended(run::run(&env, &cli)),
        Err(error) if error.use_stderr() => {
            let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
            ended(Page::usage(&error.to_string(), json).print())
        }
        Err(help) => {
            help.print().ok();
            ExitCode::from(Exit::Done.code())
        }
    }
}

fn failed(failure: &Failure) -> Exit {
    Page::failure("git-skein", failure, false).print()
}

fn ended(exit: Exit) -> ExitCode {
    ExitCode::from(exit.code())
}

/// The declarations of the command line, for man pages, help and whoever describes the same verbs.
pub fn command() -> clap::Command {
    Cli::command()
}
