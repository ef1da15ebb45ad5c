//! What the documents tell people to type is typed here.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The fenced blocks of `language` under `heading`, up to the next heading of any depth.
pub fn blocks(doc: &str, heading: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<String> = None;
    let (mut here, mut fenced) = (heading.is_empty(), false);
    for line in doc.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            match inside.take() {
                Some(block) => found.push(block),
                None if here && line == format!("```{language}") => inside = Some(String::new()),
                None => {}
            }
        } else if let Some(block) = &mut inside {
            block.push_str(line);
            block.push('\n');
        } else if !fenced && line.starts_with('#') && !heading.is_empty() {
            here = line.trim_start_matches('#').trim() == heading;
        }
    }
    found
}

/// Runs `script` in a shell that finds `git skein`, and stops at the first failure. Both streams in one.
pub fn shell(world: &World, script: &str, more: &[&Path]) -> Ran {
    let built = world.command(&[]);
    let folder = Path::new(built.get_program()).parent().unwrap().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &format!("exec 2>&1\n{script}")]).current_dir(&world.cwd).env_clear();
    for (key, value) in built.get_envs() {
        shell.env(key, value.unwrap());
    }
    let path = built.get_envs().find(|(k, _)| *k == "PATH").unwrap().1.unwrap().to_owned();
    let folders = more.iter().map(|f| (*f).to_owned()).chain([folder]).chain(std::env::split_paths(&path));
    shell.env("PATH", std::env::join_paths(folders).unwrap());
    ran(shell.output().unwrap())
}

/// Every file below `folder` with `skein` in its path from there. Git leaves the empty folders of refs.
fn traces(folder: &Path, inside: bool, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ours = inside || path.file_name().unwrap().to_string_lossy().contains("skein");
        if path.is_dir() {
            traces(&path, ours, found);
        } else if ours {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn the_transcript_is_what_happens() {
    let world = World::new();
    let tools = world.root().join("tools");
    fs::create_dir(&tools).unwrap();
    for (name, script) in [
        ("my-agent", "echo Hello >greeting.txt && git add . && git commit -qm 'Add a greeting'"),
        ("make", "true"),
    ] {
        fs::write(tools.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.skein(&["init"]).ok();
    let transcript = blocks(&read("README.md"), "git-skein", "console").concat();
    assert_eq!(transcript.lines().count(), 10, "{transcript}");
    let mut happened = String::new();
    for command in transcript.lines().filter_map(|l| l.strip_prefix("$ ")) {
        let ran = shell(&world, command, &[&tools]).ok();
        happened.push_str(&format!("$ {command}\n{}", ran.out));
    }
    assert_eq!(masked(&happened), masked(&transcript));
}

#[test]
fn two_minutes_with_a_document_are_what_happens() {
    let world = World::new();
    let tools = world.root().join("tools");
    fs::create_dir(&tools).unwrap();
    let agent = tools.join("slow-agent");
    fs::write(&agent, "#!/bin/sh\nsleep 2\necho 'It is 42.'\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    world.skein(&["init"]).ok();
    let transcript = blocks(&read("docs/documents.md"), "Two minutes by hand", "console").concat();
    let mut happened = String::new();
    for command in transcript.lines().filter_map(|l| l.strip_prefix("$ ")) {
        let ran = shell(&world, command, &[&tools]).ok();
        happened.push_str(&format!("$ {command}\n{}", ran.out));
    }
    assert_eq!(masked(&happened), masked(&transcript));
}

/// `text` with ids and the place of the worktrees blotted out.
fn masked(text: &str) -> String {
    let id = |w: &str| {
        w.len() >= 10
            && w.bytes().all(|b| b.is_ascii_alphanumeric())
            && w.contains(|c: char| c.is_ascii_digit())
    };
    let mut out = String::new();
    for line in text.lines() {
        let line = match (line.find(" /"), line.find(".skein/")) {
            (Some(from), Some(to)) => format!("{} #{}", &line[..from], &line[to..]),
            _ => line.to_owned(),
        };
        let words = line.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        for word in words {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            out.push_str(&if id(bare) { word.replace(bare, "#") } else { word.to_owned() });
        }
        out.push('\n');
    }
    out
}

/// A landed worker and one that left its work uncommitted.
fn after_a_landing() -> World {
    let world = World::new();
    world.worker("fix", "sed -i s/1/one/ a.txt && git commit -qam fixed");
    world.worker("draft", "echo draft >draft.txt");
    world.skein(&["land", "fix", "--gate", "true"]).ok();
    world.skein(&["candidate", "create", "--uncommitted", "draft"]).ok();
    world
}

#[test]
fn plain_git_gets_everything_out() {
    let world = after_a_landing();
    let block = &blocks(&read("README.md"), "Getting everything out with plain git", "sh")[0];
    let script = block.replace("<id>", &world.ulid("draft"));
    for line in script.lines() {
        let ran = shell(&world, line, &[]).ok();
        assert!(!ran.out.is_empty() || line.starts_with("git branch"), "{line} shows nothing");
    }
    assert_eq!(world.rev("rescue"), world.field("draft", "head"));
    world.git(["branch", "--quiet", "--delete", "--force", "rescue"]);
    let out = shell(&world, &script, &[]).ok();
    assert!(out.out.contains("\"handle\": \"draft\"") && out.out.contains("+draft"), "{out:?}");
    assert!(
        out.out.contains(&world.rev("main"))
            || shell(&world, "git log --notes='skein/*'", &[]).out.contains("raw")
    );
}

#[test]
fn nothing_of_ours_is_left_after_removal() {
    let world = after_a_landing();
    let main = world.rev("main");
    let block = &blocks(&read("README.md"), "Getting everything out with plain git", "sh")[1];
    let (each, rest) = block.split_once('\n').unwrap();
    assert!(each.contains("for each worker"), "{each}");
    let mut script = String::new();
    for handle in ["fix", "draft"] {
        script.push_str(&format!("{}\n", each.replace("<handle>", handle)));
    }
    script.push_str(rest);
    shell(&world, &script.replace("<repository>", "repo"), &[]).ok();

    assert_eq!(world.rev("main"), main, "what landed stays");
    assert_eq!(world.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(world.git(["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(world.try_git(["config", "--local", "--get-regexp", "^skein"]).status.code(), Some(1));
    assert_eq!(world.git(["status", "--porcelain"]), "");
    let mut left = Vec::new();
    traces(&world.root(), false, &mut left);
    assert_eq!(left, Vec::<String>::new());
    assert!(!world.root().join("repo.skein").exists());
    world.git(["gc", "--quiet", "--prune=now"]);
    world.check();
    assert!(world.skein(&["status"]).ok().out.starts_with("no workers"));
}

/// What stands between backticks or after a prompt and begins with `git skein`, without comments.
fn commands(doc: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut take = |text: &str| {
        for part in text.split(" && ").filter_map(|part| part.trim().strip_prefix("git skein ")) {
            found.insert(part.split(" #").next().unwrap_or_default().trim().to_owned());
        }
    };
    for block in ["console", "sh"].iter().flat_map(|language| blocks(doc, "", language)) {
        block.lines().for_each(|line| take(line.trim_start_matches("$ ")));
    }
    doc.lines()
        .filter(|l| !l.starts_with("```"))
        .flat_map(|l| l.split('`').skip(1).step_by(2))
        .for_each(take);
    found
}

/// The words of a command line as a shell splits them, good enough for documents.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            _ if words.is_empty() => words.push(c.to_string()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[test]
fn every_command_in_the_documents_can_be_parsed() {
    let world = World::empty();
    let mut seen = 0;
    for path in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/refusals.md",
        "docs/security.md",
        "docs/architecture.md",
        "docs/ci.md",
    ] {
        for line in commands(&read(path)) {
            let mut words = words(&line);
            let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
            words.insert(end, "-h".into());
            let args: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = world.skein(&args);
            assert_eq!(ran.code, 0, "{path}: git skein {line}: {}", ran.err);
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} commands were found");
    world.skein(&["land", "x", "--no-such-option", "-h"]).code(129);
}

#[test]
fn the_table_of_verbs_is_the_programs() {
    let readme = read("README.md");
    let table = readme.split("## Verbs").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let world = World::empty();
    let mut listed = BTreeSet::new();
    for row in table.lines().filter(|l| l.starts_with("| `")) {
        for form in row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
            let verb: Vec<&str> =
                form.split(' ').take_while(|w| w.bytes().all(|b| b.is_ascii_lowercase())).collect();
            world.skein(&[&verb[..], &["-h"]].concat()).ok();
            listed.insert(verb[0].to_owned());
        }
    }
    let help = world.skein(&["-h"]).ok().out;
    let verbs = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs = verbs.lines().filter(|l| !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next());
    assert_eq!(listed, verbs.filter(|v| *v != "help").map(str::to_owned).collect());
}

#[test]
fn the_table_of_exit_codes_is_the_programs() {
    let readme = read("README.md");
    let table = readme.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let row = |l: &str| {
        let mut cells = l.split('|').skip(1).map(str::trim);
        Some((cells.next()?.parse::<u8>().ok()?, cells.next()?.to_owned()))
    };
    let told: Vec<(u8, String)> = table.lines().filter_map(row).collect();
    let help = World::empty().skein(&["help", "exit-codes"]).ok().out;
    let line =
        |l: &str| l.trim().split_once("  ").map(|(code, what)| (code.parse().unwrap(), what.to_owned()));
    assert_eq!(told, help.lines().filter_map(line).collect::<Vec<_>>());
}

#[test]
fn the_two_commands_are_there() {
    let block = blocks(&read("README.md"), "Try it", "sh").concat();
    let lines: Vec<&str> = block.lines().map(|l| l.split(" #").next().unwrap().trim()).collect();
    assert_eq!(lines, ["cargo run --release -- demo", "cargo test"]);
}

#[test]
fn the_architecture_is_one_page_of_files_that_exist() {
    let doc = read("docs/architecture.md");
    assert!(doc.lines().count() <= 70, "{} lines are more than a page", doc.lines().count());
    let walks = doc.split("## Walk 1").nth(1).unwrap();
    let names = walks.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
    let mut seen = 0;
    for name in names {
        let at = |folder: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
        assert!(at("src/verbs").is_file() || at("src").is_file(), "there is no {name}");
        seen += 1;
    }
    assert!(seen > 20, "only {seen} files are named");
}
