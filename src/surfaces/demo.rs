//! `demo`: the main job from task to landed commit, in a throwaway repository with the built-in agent. Each
//! step is announced, is a real command line, and must end as the table says. All of it is the result, so
//! what a command would print on standard error goes to standard output too.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Env;
use crate::surfaces::cli::run_line;
use crate::surfaces::present::Page;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::demo::Ground;
use std::io::Write;

/// One command: how it must end, and words that its output must hold.
struct Step {
    /// What is about to happen; empty for a command that belongs to the one before it.
    says: &'static str,
    /// After `git skein`, or with [`PLAIN`] in front a shell command.
    words: &'static [&'static str],
    exit: u8,
    holds: &'static str,
}

/// Marks a command that is no verb of ours.
const PLAIN: &str = "$";

/// Stands for the snapshot that still has what the worker threw away.
const SNAPSHOT: &str = "SNAPSHOT";

const GATE: &str = "sh check.sh";

const fn step(says: &'static str, words: &'static [&'static str], exit: u8, holds: &'static str) -> Step {
    Step { says, words, exit, holds }
}

const STEPS: &[Step] = &[
    step(
        "A repository with one commit: a price list, and a check of it.",
        &[PLAIN, "cat prices.txt check.sh"],
        0,
        "tea 3",
    ),
    step(
        "Three workers start at once. Each has a task and a worktree of its own.",
        &["dispatch", "--name", "menu", "-F", "../tasks/menu.txt"],
        0,
        "menu",
    ),
    step("", &["dispatch", "--name", "dearer", "-F", "../tasks/dearer.txt"], 0, "dearer"),
    step("", &["dispatch", "--name", "cheaper", "-F", "../tasks/cheaper.txt"], 0, "cheaper"),
    step("While they run, your checkout is yours.", &["status"], 0, "cheaper"),
    step("When all have ended, the exit code says whether all are ready.", &["wait"], 0, "ready"),
    step("An import freezes what a worker made, under an exact identity.", &["import", "menu"], 0, "frozen"),
    step(
        "A landing merges it onto the tip of main, runs the gate on the result, and only then moves main.",
        &["land", "menu", "--gate", GATE],
        0,
        "landed",
    ),
    step("The next one lands on top of it.", &["land", "dearer", "--gate", GATE], 0, "landed"),
    step(
        "The third changed the same line. That is for a person to settle: exit code 3, and nothing changes.",
        &["land", "cheaper", "--gate", GATE],
        3,
        "prices.txt",
    ),
    step(
        "A fourth worker writes a file, and then resets it away.",
        &["dispatch", "--name", "regret", "-F", "../tasks/regret.txt"],
        0,
        "regret",
    ),
    step("", &["wait", "regret"], 0, "self-discarded"),
    step("Nothing is left in its worktree.", &["show", "regret"], 0, "nothing"),
    step(
        "But the file was seen before, and a snapshot kept it.",
        &[PLAIN, "git show SNAPSHOT:idea.txt"],
        0,
        "the tenth cup is free",
    ),
    step(
        "Is the work on main? The answer comes with its proof.",
        &["landed", "--explain", "dearer"],
        0,
        "landed",
    ),
    step("And for the work that did not land: exit code 1.", &["landed", "cheaper"], 1, "not-landed"),
    step("All that happened is on the lane.", &["log"], 0, "landing"),
    step("Plain git sees it too.", &[PLAIN, "git log --format='%h %an: %s'"], 0, "dearer: Tea costs 4"),
];

/// Where the story goes: standard output, or with `--json` standard error.
#[derive(Clone, Copy)]
struct Teller {
    json: bool,
}

impl Teller {
    fn say(self, text: &str) {
        // A reader that has gone away is no failure of ours.
        let written = match self.json {
            true => anstream::stderr().write_all(text.as_bytes()),
            false => anstream::stdout().write_all(text.as_bytes()),
        };
        written.ok();
    }
}

pub fn run(env: &Env, keep: bool, json: bool) -> Result<Page> {
    let teller = Teller { json };
    let ground = Ground::make(env)?;
    teller.say(&format!("{} {}\n", paint(DIM, "$ cd"), ground.repo().display()));
    let told = tell(&ground, teller);
    let repo = ground.leave(keep)?;
    told?;
    Ok(Page::demo(STEPS.len(), &repo, keep, json))
}

/// Runs the steps up to the first that does not end as it should.
fn tell(ground: &Ground, teller: Teller) -> Result<()> {
    for (at, step) in STEPS.iter().enumerate() {
        if !step.says.is_empty() {
            teller.say(&format!("\n{}\n", paint(BOLD, step.says)));
        }
        let (exit, out) = carry_out(ground, teller, step)?;
        if exit != Some(step.exit) || !out.contains(step.holds) {
            let exit = exit.map_or_else(|| "none".to_owned(), |code| code.to_string());
            let cause = format!("exit code {exit}, not {}, or no {:?} in its output", step.exit, step.holds);
            return Err(Failure::fault(format!("step {} of the demo", at + 1), cause));
        }
    }
    Ok(())
}

/// Prints the command and what it prints; gives its exit code and its output.
fn carry_out(ground: &Ground, teller: Teller, step: &Step) -> Result<(Option<u8>, String)> {
    if let [PLAIN, command] = step.words {
        let command = filled(ground, command)?;
        teller.say(&format!("{} {command}\n", paint(DIM, "$")));
        let (exit, out) = ground.shell(&command)?;
        teller.say(&safe(&out));
        return Ok((exit.and_then(|code| u8::try_from(code).ok()), out));
    }
    let shown: Vec<String> = step.words.iter().map(|word| quoted(word)).collect();
    teller.say(&format!("{} git skein {}\n", paint(DIM, "$"), shown.join(" ")));
    let repo = ground.repo().to_string_lossy();
    let words: Vec<&str> = ["git-skein", "-C", &repo].into_iter().chain(step.words.iter().copied()).collect();
    let page = run_line(ground.env(), &words, &|line| teller.say(&format!("{}\n", safe(line))));
    let out = page.out + &page.err;
    teller.say(&out);
    if page.exit.code() != 0 {
        teller.say(&format!("{}\n", paint(DIM, &format!("(exit code {})", page.exit.code()))));
    }
    Ok((Some(page.exit.code()), out))
}

fn filled(ground: &Ground, command: &str) -> Result<String> {
    if !command.contains(SNAPSHOT) {
        return Ok(command.to_owned());
    }
    let found = ground.snapshot_with("regret", "idea.txt")?;
    let oid = found.ok_or_else(|| Failure::fault("looking for the snapshot", "none has the file"))?;
    Ok(command.replace(SNAPSHOT, &oid.short()))
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}
