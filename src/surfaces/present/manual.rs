//! What explains the program itself: help, man pages, the end of the demo.

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Env;
use crate::surfaces::cli::command;
use crate::surfaces::present::Page;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use std::path::Path;

impl Page {
    pub fn help(topic: &[String], json: bool) -> Page {
        let words: Vec<&str> = topic.iter().map(String::as_str).collect();
        let mut root = command();
        root.build();
        let text = match words.as_slice() {
            ["exit-codes"] => exit_codes(),
            ["refusals"] => return Page::refusals(None, json),
            ["refusals", token] => return Page::refusals(Some(token), json),
            verb => {
                let found =
                    verb.iter().try_fold(&mut root, |command, word| command.find_subcommand_mut(word));
                match found {
                    Some(found) => found.render_long_help().to_string(),
                    None => {
                        return Page::usage(
                            &format!("there is no verb or topic {:?}\n", verb.join(" ")),
                            json,
                        );
                    }
                }
            }
        };
        Page::of("help", &text, json, String::clone)
    }

    /// The end of a demo whose `steps` all ended as they should.
    pub fn demo(steps: usize, repo: &Path, keep: bool, json: bool) -> Page {
        let kept = keep.then_some(repo);
        Page::of("demo", &serde_json::json!({ "steps": steps, "kept": kept }), json, |_| {
            let place = line(&repo.display().to_string());
            let end = match keep {
                true => format!("Kept, with the workers' trees beside it: {place}"),
                false => format!("Removed: {place} (--keep leaves it)"),
            };
            format!("\n{}\n{end}\n", paint(GOOD, &format!("All {steps} steps ended as they should.")))
        })
    }
}

fn exit_codes() -> String {
    Exit::TABLE.iter().map(|(exit, what)| format!("{:>4}  {what}\n", exit.code())).collect()
}

/// A command and all below it, each with the name of its page.
fn all_commands(name: String, command: clap::Command) -> Vec<(String, clap::Command)> {
    let below: Vec<_> = command.get_subcommands().cloned().collect();
    let below = below.into_iter().flat_map(|c| all_commands(format!("{name}-{}", c.get_name()), c));
    let below: Vec<_> = below.collect();
    [(name, command)].into_iter().chain(below).collect()
}

/// Writes one man page for the program, one for each verb and one for each step of a verb.
pub fn man_pages(env: &Env, dir: Option<&Path>, json: bool) -> Result<Page> {
    let dir = dir.map(|d| env.cwd().join(d)).or_else(|| crate::surfaces::cli::man_dir(env));
    let unset = "neither XDG_DATA_HOME nor HOME is set; name a folder: git skein man <dir>";
    let dir = dir.ok_or_else(|| Failure::fault("finding the folder of your man pages", unset))?;
    let mut pages = Vec::new();
    let mut root = command();
    // Each page has the options that all verbs share, too.
    root.build();
    for (name, command) in all_commands("git-skein".to_owned(), root) {
        let mut text = Vec::new();
        let named: &'static str = Box::leak(name.clone().into_boxed_str());
        clap_mangen::Man::new(command.name(named).version(env!("CARGO_PKG_VERSION")))
            .render(&mut text)
            .map_err(|e| Failure::fault("rendering a man page", e))?;
        pages.push((dir.join(format!("{name}.1")), text));
    }
    crate::verbs::write_files(&dir, &pages)?;
    let wrote: Vec<String> = pages.iter().map(|(path, _)| path.display().to_string()).collect();
    let folder = line(&dir.display().to_string());
    Ok(Page::of("man", &wrote, json, |w| format!("wrote {} to {folder}\n", count(w.len(), "man page"))))
}
