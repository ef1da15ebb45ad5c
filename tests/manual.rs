//! What is made from the declarations: man pages, help and completions, each with every verb and every flag;
//! and the list of refusals, which docs/refusals.md repeats.

use crate::support::World;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The verbs that a help lists, each with what it says of it there, however it is wrapped.
fn listed(help: &str) -> Vec<(String, String)> {
    let below = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in below.lines() {
        match (line.starts_with("   "), found.last_mut()) {
            (true, Some((_, about))) => *about = format!("{about} {}", line.trim()),
            _ => {
                let (name, about) = line.trim().split_once(' ').unwrap();
                found.push((name.to_owned(), about.trim().to_owned()));
            }
        }
    }
    found
}

/// Every command, `candidate create` too, with the long flags that its help lists.
pub fn declared(world: &World) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = world.skein(&words).ok().out;
        for (name, _) in listed(&help) {
            open.push([path.clone(), vec![name]].concat());
        }
        let flags = help.lines().map(str::trim).filter(|l| l.starts_with('-'));
        let long = |l: &str| {
            let start = l.find("--")?;
            let name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            Some(l[start..].split(|c: char| !name(c)).next().unwrap_or_default().to_owned())
        };
        found.insert(path, flags.filter_map(long).collect());
    }
    assert!(found.len() > 15 && found.contains_key(&["candidate".to_owned(), "create".to_owned()][..]));
    found
}

#[test]
fn every_verb_and_flag_has_its_place_in_a_man_page() {
    let world = World::new();
    let man = world.root().join("man");
    world.skein(&["man", man.to_str().unwrap()]).ok();
    let declared = declared(&world);
    for (verb, flags) in &declared {
        let name = [&["git-skein".to_owned()][..], verb].concat().join("-");
        let page = fs::read_to_string(man.join(format!("{name}.1"))).unwrap().replace('\\', "");
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{page}");
        assert!(!flags.is_empty(), "{name} has no flag");
        for flag in flags.iter().filter(|f| *f != "--help" && *f != "--version") {
            assert!(page.contains(flag.as_str()), "{flag} is not in {name}(1)");
        }
    }
    assert_eq!(fs::read_dir(&man).unwrap().count(), declared.len(), "a page without a verb");
}

/// What a verb says of itself is what is said of it where it is listed: in both its helps and on its man page.
#[test]
fn each_verb_begins_its_help_with_its_own_words() {
    let world = World::new();
    let man = world.root().join("man");
    world.skein(&["man", man.to_str().unwrap()]).ok();
    let mut seen = 0;
    for above in declared(&world).into_keys() {
        let ask = |path: &[String], flag: &str| {
            let words: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
            world.skein(&words).ok().out
        };
        for (name, about) in listed(&ask(&above, "--help")) {
            let verb = [above.clone(), vec![name]].concat();
            for flag in ["-h", "--help"] {
                let help = ask(&verb, flag);
                let first: Vec<&str> = help.split("\n\n").next().unwrap().split_whitespace().collect();
                assert_eq!(first.join(" ").trim_end_matches('.'), about, "{verb:?} {flag}");
            }
            let page = format!("git-skein-{}", verb.join("-"));
            let text = fs::read_to_string(man.join(format!("{page}.1"))).unwrap();
            let text = text.replace("\\*(Aq", "'").replace('\\', "");
            assert!(
                text.contains(&format!("\n{page} - {about}\n")),
                "{page}(1) does not begin with {about:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

/// They would be written into whatever folder one stands in.
#[test]
fn man_pages_have_no_place_without_a_home() {
    let world = World::new();
    let before = world.git(["status", "--porcelain"]);
    for home in [None, Some("")] {
        let mut command = world.command(&["man"]);
        command.env_remove("XDG_DATA_HOME").env_remove("HOME").envs(home.map(|home| ("HOME", home)));
        let said = crate::support::ran(command.output().unwrap()).code(128);
        assert!(said.err.contains("git skein man <dir>"), "{}", said.err);
        assert_eq!(world.git(["status", "--porcelain"]), before);
    }
}

#[test]
fn help_knows_every_verb() {
    let world = World::new();
    for (verb, flags) in declared(&world) {
        let words: Vec<&str> = ["help"].into_iter().chain(verb.iter().map(String::as_str)).collect();
        let help = world.skein(&words).ok().out;
        assert!(
            help.contains(&format!("Usage: git skein {}", verb.join(" ")).trim_end().to_owned()),
            "{help}"
        );
        assert!(flags.iter().all(|f| help.contains(f.as_str())), "{verb:?}: {help}");
    }
    world.skein(&["help", "no-such-topic"]).code(129);
    world.skein(&["help", "land", "create"]).code(129);
    world.skein(&["help", "refusals", "never-heard-of"]).code(129);
}

/// Runs `script` in a bash that has our completions, and git's where they are installed.
fn in_bash(world: &World, script: &str) -> String {
    let file = world.root().join("completions.bash");
    fs::write(&file, world.skein(&["completions", "bash"]).ok().out).unwrap();
    let script = format!("source '{}'\n{script}", file.display());
    let mut bash = Command::new("bash");
    let ran = bash.args(["--norc", "--noprofile", "-c", &script]).current_dir(&world.repo).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// What bash offers for the last of `words`, in the way that git's own completion asks for it.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let quoted: String = words.iter().map(|w| format!(" '{w}'")).collect();
    let script = format!(
        "complete_it() {{ local words=({quoted}) cword={}; local cur=\"${{words[cword]}}\" \
         prev=\"${{words[cword-1]}}\"; _git_skein; echo \"${{COMPREPLY[@]}}\"; }}; complete_it",
        words.len() - 1
    );
    in_bash(world, &script).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_every_verb_and_flag() {
    let world = World::new();
    assert_eq!(offered(&world, &["git", "skein", "la"]), ["land", "landed"]);
    assert_eq!(offered(&world, &["git", "-C", "/", "--no-pager", "skein", "doct"]), ["doctor"]);
    assert_eq!(offered(&world, &["git", "skein", "candidate", "a"]), ["admit"]);
    assert_eq!(offered(&world, &["git", "skein", "land", "w", "--g"]), ["--gate"]);
    assert_eq!(offered(&world, &["git", "skein", "--color", "n"]), ["never"]);
    for (verb, flags) in declared(&world) {
        let words: Vec<&str> =
            ["git", "skein"].into_iter().chain(verb.iter().map(String::as_str)).chain(["--"]).collect();
        let offered = offered(&world, &words);
        for flag in flags {
            assert!(offered.contains(&flag), "{verb:?} {flag}: {offered:?}");
        }
    }
}

/// With git's own completion, if it is installed: `git skein la<TAB>`.
#[test]
fn gits_own_completion_finds_ours() {
    let git = Path::new("/usr/share/bash-completion/completions/git");
    if !git.is_file() {
        return;
    }
    let world = World::new();
    let script = format!(
        "source '{}'; COMP_WORDS=(git skein la); COMP_CWORD=2; COMP_LINE='git skein la'; COMP_POINT=12; \
         __git_wrap__git_main; echo \"${{COMPREPLY[@]}}\"",
        git.display()
    );
    assert_eq!(in_bash(&world, &script), "land landed");
}

#[test]
fn completions_for_other_shells_know_the_verbs() {
    let world = World::new();
    for (shell, word) in [
        ("zsh", "#compdef git-skein"),
        ("fish", "complete -c git-skein"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer"),
    ] {
        let text = world.skein(&["completions", shell]).ok().out;
        assert!(text.contains(word) && text.contains("dispatch") && text.contains("supersede"), "{shell}");
    }
    // zsh's own completion of git calls this name.
    assert!(world.skein(&["completions", "zsh"]).ok().out.contains("\n_git-skein() {"));
    world.skein(&["completions", "tcsh"]).code(129);
}

/// The part of the completions for `shell` that is about the verb `path`; several where they cannot be told apart.
fn parts<'t>(shell: &str, text: &'t str, path: &[String]) -> Vec<Vec<&'t str>> {
    let lines: Vec<&str> = text.lines().collect();
    let block = |begins: String, ends: &str| -> Vec<Vec<&'t str>> {
        let starts = lines.iter().enumerate().filter(|(_, line)| line.trim() == begins);
        let rest =
            |at: usize| lines[at + 1..].iter().copied().take_while(|line| line.trim() != ends).collect();
        starts.map(|(at, _)| rest(at)).collect()
    };
    let whole = [&["git-skein".to_owned()], path].concat().join(";");
    match (shell, path) {
        ("zsh", []) => block("_git-skein() {".to_owned(), "case $state in"),
        ("zsh", [.., last]) => block(format!("({last})"), ";;"),
        ("powershell", _) => block(format!("'{whole}' {{"), "break"),
        ("elvish", _) => block(format!("&'{whole}'= {{"), "}"),
        _ => {
            let when = match path {
                [] => "__fish_git_skein_needs_command\"".to_owned(),
                [verb] => format!("__fish_git_skein_using_subcommand {verb}"),
                [verb, step, ..] => {
                    format!(
                        "__fish_git_skein_using_subcommand {verb}; and __fish_seen_subcommand_from {step}\""
                    )
                }
            };
            let of_it = |line: &str| {
                let rest = line.split_once(&when).map(|(_, rest)| rest);
                rest.is_some_and(|rest| path.len() != 1 || rest.starts_with(['"', ';']))
            };
            vec![lines.iter().copied().filter(|line| of_it(line)).collect()]
        }
    }
}

#[test]
fn the_other_shells_complete_every_verb_and_flag() {
    let world = World::new();
    let declared = declared(&world);
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let text = world.skein(&["completions", shell]).ok().out;
        for (verb, flags) in &declared {
            let parts = parts(shell, &text, verb);
            assert!(!parts.is_empty(), "{shell} does not know {verb:?}");
            for flag in flags {
                let name = &flag[2..];
                let spelled = match shell {
                    "zsh" => vec![format!("--{name}["), format!("--{name}=[")],
                    "fish" => vec![format!(" -l {name} ")],
                    "powershell" => vec![format!("'--{name}'")],
                    _ => vec![format!("cand --{name} ")],
                };
                let has = |part: &Vec<&str>| part.iter().any(|l| spelled.iter().any(|s| l.contains(s)));
                assert!(parts.iter().any(has), "{shell} {verb:?} {flag}: {parts:?}");
            }
            let verbs = declared.keys().filter(|other| other.len() == 1 && verb.is_empty());
            for below in verbs.map(|path| &path[0]) {
                let named = match shell {
                    "zsh" => text.contains(&format!("\n'{below}:")),
                    "fish" => text.contains(&format!("-f -a \"{below}\"")),
                    "powershell" => text.contains(&format!("'{below}', '{below}'")),
                    _ => text.contains(&format!("cand {below} ")),
                };
                assert!(named, "{shell} {below}");
            }
        }
    }
}

/// The tables of docs/refusals.md are those of the program. `SKEIN_GOLDEN=write` writes them again.
#[test]
fn the_list_of_refusals_is_the_programs() {
    let world = World::new();
    let all = world.skein(&["help", "refusals", "--json"]).ok().json()["result"].clone();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/refusals.md");
    let doc = fs::read_to_string(&path).unwrap();
    let mut made = doc.split("\n## ").next().unwrap().to_owned();
    let mut section = "";
    for e in all.as_array().unwrap() {
        let text = |key: &str| e[key].as_str().unwrap();
        if text("section") != section {
            section = text("section");
            made.push_str(&format!(
                "\n## {section}\n\n| token | exit | what it means | plain git shows it | what to do next |\n\
                 |---|---|---|---|---|\n"
            ));
        }
        let cell = |key: &str| text(key).replace('|', "\\|");
        made.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            text("token"),
            e["exit"],
            cell("means"),
            cell("show"),
            cell("next")
        ));
    }
    if std::env::var("SKEIN_GOLDEN").is_ok_and(|v| v == "write") {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(made, doc, "docs/refusals.md is not what the program says; see CONTRIBUTING.md");
    let list = world.skein(&["help", "refusals"]).ok().out;
    for e in all.as_array().unwrap() {
        let token = e["token"].as_str().unwrap();
        assert!(list.contains(&format!("  {token} ")), "{token}");
        let one = world.skein(&["help", "refusals", token]).ok().out;
        assert!(one.contains("see: ") && one.contains("next: ") && !one.contains('`'), "{one}");
    }
}
