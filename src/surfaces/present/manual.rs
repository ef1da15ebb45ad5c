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
    pub fn help(topic: Option<&str>, json: bool) -> Page {
        let mut command = command();
        let text = match topic {
            Some("exit-codes") => exit_codes(),
            Some(verb) => match command.find_subcommand_mut(verb) {
                Some(found) => found.render_long_help().to_string(),
                None => return Page::usage(&format!("there is no verb or topic {verb:?}\n"), json),
            },
            None => command.render_long_help().to_string(),
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

/// Writes one man page for the program and one for each verb.
pub fn man_pages(env: &Env, dir: Option<&Path>, json: bool) -> Result<Page> {
    let dir = dir.map_or_else(|| crate::surfaces::cli::man_dir(env), |d| env.cwd().join(d));
    let mut pages = Vec::new();
    let root = command();
    let mut all = vec![("git-skein".to_owned(), root.clone())];
    all.extend(root.get_subcommands().map(|c| (format!("git-skein-{}", c.get_name()), c.clone())));
    for (name, command) in all {
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
