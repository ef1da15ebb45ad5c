//! Hostile names and messages, generated: what is accepted is what the written rule accepts, nothing is accepted that git
//! itself refuses, and nothing that is printed can steer a terminal or turn the direction of text.

use super::Strike;
use super::edits;
use super::ends::Place;
use super::ends::template;
use crate::support::Ran;
use crate::support::acts::Dice;
use crate::support::tally::full;
use crate::support::tally::tally;
use git2::ObjectType;
use git2::Oid;
use std::collections::BTreeSet;
use std::process::Command;
use std::process::Stdio;

const BATCH: usize = 100;

/// Characters that an output must not hold as they are.
fn raw(text: &str) -> Option<char> {
    text.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || turns(*c))
}

/// Characters that turn the direction of text.
fn turns(c: char) -> bool {
    "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}"
        .contains(c)
}

/// What some file system does not see in a name.
fn unseen(c: char) -> bool {
    ('\u{200c}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{206a}'..='\u{206f}').contains(&c)
        || c == '\u{feff}'
}

fn inert(place: &Place, args: &[&str]) -> Result<Ran, String> {
    let ran = place.world.skein(args);
    for (what, text) in [("out", &ran.out), ("err", &ran.err)] {
        if let Some(c) = raw(text) {
            return Err(format!("{args:?} prints {c:?} as it is on std{what}: {text:?}"));
        }
    }
    if ran.code == 101 || ran.code < 0 || ran.err.contains("panicked") {
        return Err(format!("{args:?}: {ran:?}"));
    }
    Ok(ran)
}

fn pick<'t>(dice: &mut Dice, of: &[&'t str]) -> &'t str {
    of[dice.below(of.len() as u64) as usize]
}

fn char_in(dice: &mut Dice, from: u32, to: u32) -> char {
    char::from_u32(from + dice.below(u64::from(to - from) + 1) as u32).unwrap()
}

/// Something odd to put into a name or a message.
fn odd(dice: &mut Dice) -> String {
    match dice.below(9) {
        0 => char_in(dice, 1, 0x1f).to_string(),
        1 => char_in(dice, 0x7f, 0x9f).to_string(),
        2 => char_in(dice, 0x200b, 0x200f).to_string(),
        3 => char_in(dice, 0x2028, 0x202f).to_string(),
        4 => char_in(dice, 0x2060, 0x206f).to_string(),
        5 => {
            pick(dice, &["\u{61c}", "\u{feff}", "\u{85}", "\u{9b}31m", "\u{1b}[8m", "\u{1b}]0;x\u{7}", "\r"])
                .into()
        }
        6 => pick(dice, &["e\u{301}", "\u{e9}", "\u{212b}", "\u{df}", "\u{130}", "\u{1f600}", "\u{e0041}"])
            .into(),
        7 => pick(
            dice,
            &[" ", ".", "'", "\"", "$(x)", "`x`", ":", "~", "^", "*", "?", "[", "@{", "..", ";", "|"],
        )
        .into(),
        _ => pick(dice, &["\\", "\t", "\n", "::$DATA", ".lock", "%0a", "&", "<", ">", "#", "=", "\u{a0}"])
            .into(),
    }
}

fn some_case(dice: &mut Dice, text: &str) -> String {
    text.chars().map(|c| if dice.below(2) == 0 { c.to_ascii_uppercase() } else { c }).collect()
}

/// A name of one component, without a slash and a NUL.
fn name(dice: &mut Dice) -> Vec<u8> {
    match dice.below(12) {
        0 | 1 => {
            // One that some system opens as `.git`, or nearly so.
            let stem = pick(dice, &[".git", "git~1", ".git", "git~2", ".gitx", "git", ".gitmodules"]);
            let mut text = some_case(dice, stem);
            if dice.below(2) == 0 {
                let at = dice.below(text.len() as u64 + 1) as usize;
                text.insert_str(at, &odd(dice));
            }
            let end = pick(dice, &["", "", " ", ".", ". .", "::$INDEX_ALLOCATION", ":x", "~1", " x"]);
            (text + end).into_bytes()
        }
        2 => {
            pick(dice, &[".", "..", "...", "....", ".. ", "CON", "nul", "aux.txt", "com1", "a:b", "a.", "a "])
                .into()
        }
        3 => pick(dice, &["-", "--", "-rf", "--output=x", "--help", "-x y", "--upload-pack=x", "@", "HEAD"])
            .into(),
        4 => {
            let length = [255, 256, 4089, 4090, 4091, 4092, 4096, 5000][dice.below(8) as usize];
            vec![b'l'; length]
        }
        5 => {
            let mut bytes = b"bytes-".to_vec();
            bytes.extend((0..1 + dice.below(4)).map(|_| 0x80 + dice.below(0x80) as u8));
            bytes
        }
        _ => {
            let mut text = String::from("name");
            for _ in 0..1 + dice.below(3) {
                let mut at = dice.below(text.len() as u64 + 1) as usize;
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(at, &odd(dice));
            }
            text.into_bytes()
        }
    }
}

/// The rule of docs/security.md on one path.
fn may_enter(path: &[u8]) -> bool {
    let lossy = String::from_utf8_lossy(path);
    let fine = |name: &str| {
        let seen: String = name.chars().filter(|c| !unseen(*c)).collect::<String>().to_ascii_lowercase();
        let stem = seen.split([':', '\\']).next().unwrap().trim_end_matches(['.', ' ']);
        !matches!(name, "" | "." | "..") && !matches!(stem, ".git" | "git~1") && !name.contains('\\')
    };
    let bad = |c: char| c.is_control() || turns(c) || unseen(c);
    path.len() <= 4096 && !lossy.chars().any(bad) && lossy.split('/').all(fine)
}

/// A tree that holds these names, as no library would write it.
fn raw_tree(place: &Place, names: &[&[u8]]) -> Oid {
    let blob = place.repo.blob(b"x\n").unwrap();
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(b"100644 ");
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(blob.as_bytes());
    }
    place.repo.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
}

/// Makes these folders, beside the files of the base, the work of the worker.
fn make(place: &Place, folders: &[(String, Oid)]) -> Oid {
    let base = place.repo.find_commit(place.base).unwrap();
    let mut root = place.repo.treebuilder(Some(&base.tree().unwrap())).unwrap();
    for (name, tree) in folders {
        root.insert(name, *tree, 0o040_000).unwrap();
    }
    let tree = place.repo.find_tree(root.write().unwrap()).unwrap();
    let who = git2::Signature::new("Bo", &place.mail(0), &git2::Time::new(1_767_100_000, 0)).unwrap();
    let tip = place.repo.commit(None, &who, &who, "names", &tree, &[&base]).unwrap();
    place.hold(0, tip);
    tip
}

/// Which of the paths git itself takes into an index, with the protections of all systems.
fn taken_by_git(place: &Place, paths: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    let index = place.world.root().join("names.index");
    let _ = std::fs::remove_file(&index);
    let blob = place.repo.blob(b"x\n").unwrap();
    let git = |args: &[&str], input: &[u8]| {
        let mut git = Command::new("git");
        git.args(["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"]).args(args);
        git.current_dir(&place.world.repo).env("GIT_INDEX_FILE", &index);
        let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut git.stdin.take().unwrap(), input).unwrap();
        git.wait_with_output().unwrap().stdout
    };
    let line = |path: &Vec<u8>| [format!("100644 {blob}\t").as_bytes(), path, b"\0"].concat();
    let input: Vec<u8> = paths.iter().flat_map(line).collect();
    git(&["update-index", "-z", "--index-info"], &input);
    git(&["ls-files", "-z"], b"").split(|b| *b == 0).filter(|p| !p.is_empty()).map(<[u8]>::to_vec).collect()
}

/// The numbers of the folders that a refusal names, or none.
fn refused(ran: &Ran) -> Result<BTreeSet<usize>, String> {
    let said = ran.json();
    if ran.code == 0 {
        return Ok(BTreeSet::new());
    }
    if said["error"]["token"] != "bad-path" {
        return Err(format!("not for its paths: {said}"));
    }
    let number = |line: &serde_json::Value| line.as_str()?.get(1..5)?.parse().ok();
    let lines = said["error"]["lines"].as_array().unwrap();
    lines.iter().map(|line| number(line).ok_or_else(|| format!("which is {line}?"))).collect()
}

fn paths(place: &mut Place, seed: u64) -> Result<(), String> {
    let dice = &mut Dice::of(seed);
    // A folder for each, so that none folds onto another.
    let names: Vec<Vec<u8>> = (0..BATCH).map(|_| name(dice)).collect();
    let folders: Vec<(String, Oid)> =
        names.iter().enumerate().map(|(n, name)| (format!("p{n:04}"), raw_tree(place, &[name]))).collect();
    make(place, &folders);
    let ran = inert(place, &["import", "w0", "--dry-run", "--json"])?;
    let refused = refused(&ran)?;
    let whole: Vec<Vec<u8>> =
        names.iter().enumerate().map(|(n, name)| [format!("p{n:04}/").as_bytes(), name].concat()).collect();
    let git = taken_by_git(place, &whole);
    for (n, path) in whole.iter().enumerate() {
        let shown = String::from_utf8_lossy(&path[..path.len().min(200)]).into_owned();
        if refused.contains(&n) == may_enter(path) {
            return Err(format!(
                "{shown:?} is {}, against the rule",
                if refused.contains(&n) { "refused" } else { "taken" }
            ));
        }
        if !refused.contains(&n) && !git.contains(path) {
            return Err(format!("{shown:?} is taken, and git refuses it"));
        }
    }
    for args in [&["import", "w0", "--dry-run"][..], &["show", "w0"], &["show", "w0", "--json"], &["status"]]
    {
        inert(place, args)?;
    }
    // What may enter does, and is shown.
    let fine: Vec<(String, Oid)> =
        folders.into_iter().enumerate().filter(|(n, _)| !refused.contains(n)).map(|(_, f)| f).collect();
    make(place, &fine);
    let onto = format!("n{seed}");
    place.repo.reference(&format!("refs/heads/{onto}"), place.base, true, "").unwrap();
    let ran = inert(place, &["land", "w0", "--onto", &onto])?;
    if ran.code != 0 {
        return Err(format!("each may enter, and all may not: {ran:?}"));
    }
    inert(place, &["show", "w0", "--diff"])?;
    tally("hostile name", BATCH as u64);
    Ok(())
}

/// Two names that some systems take for one, or not.
fn pair(dice: &mut Dice) -> (String, String, bool) {
    let stem =
        format!("{}{}", pick(dice, &["readme", "Main", "x", "stra\u{e9}", "na\u{ef}ve"]), dice.below(100));
    let other = match dice.below(5) {
        0 => stem.to_uppercase(),
        1 => stem.replace('\u{e9}', "e\u{301}").replace('\u{ef}', "i\u{308}"),
        2 => stem.replace('a', "A"),
        3 => format!("{stem}x"),
        _ => stem.replace('e', "3"),
    };
    let plain = |text: &str| text.replace("e\u{301}", "\u{e9}").replace("i\u{308}", "\u{ef}").to_lowercase();
    let same = stem != other && plain(&stem) == plain(&other);
    (stem, other, same)
}

fn pairs(place: &mut Place, seed: u64) -> Result<(), String> {
    let dice = &mut Dice::of(seed);
    let pairs: Vec<(String, String, bool)> = (0..BATCH).map(|_| pair(dice)).collect();
    let tree = |(a, b, _): &(String, String, bool)| raw_tree(place, &[a.as_bytes(), b.as_bytes()]);
    let folders: Vec<(String, Oid)> =
        pairs.iter().enumerate().map(|(n, pair)| (format!("p{n:04}"), tree(pair))).collect();
    make(place, &folders);
    let refused = refused(&inert(place, &["import", "w0", "--dry-run", "--json"])?)?;
    for (n, (a, b, same)) in pairs.iter().enumerate() {
        if refused.contains(&n) != *same {
            return Err(format!("{a:?} and {b:?}: one name on some systems? the rule says {same}"));
        }
    }
    tally("hostile name", BATCH as u64);
    Ok(())
}

/// A file of tasks names all that is wrong in it: handles and branches at once. Its last line is wrong in any case.
fn handles(place: &mut Place, seed: u64) -> Result<(), String> {
    let dice = &mut Dice::of(seed);
    let text = |dice: &mut Dice| match dice.below(4) {
        0 => pick(dice, &["ok", "a-b", "-a", "a-", "--output=x", "", "x9", "9", "UP", "a_b", "refs/heads/x"])
            .to_owned(),
        1 => "h".repeat(30 + dice.below(20) as usize),
        _ => String::from_utf8_lossy(&name(dice)).into_owned(),
    };
    let tasks: Vec<(String, String)> = (0..BATCH).map(|_| (text(dice), text(dice))).collect();
    let line = |(n, (name, onto)): (usize, &(String, String))| {
        // Names must differ from each other.
        let name = if name.is_empty() { name.clone() } else { format!("{name}{n}") };
        (format!("{}\n", serde_json::json!({ "task": "t", "name": name, "onto": onto })), name)
    };
    let lines: Vec<(String, String)> = tasks.iter().enumerate().map(line).collect();
    let file = place.world.root().join("tasks.jsonl");
    let all: String = lines.iter().map(|(line, _)| line.as_str()).collect();
    std::fs::write(&file, all + "{\"task\":\"t\",\"name\":\"BAD\"}\n").unwrap();
    let from = file.display().to_string();
    let said = inert(place, &["dispatch", "--from", &from, "--json"])?.json();
    inert(place, &["dispatch", "--from", &from])?;
    if said["error"]["token"] != "bad-tasks" {
        return Err(format!("{said}"));
    }
    let told: Vec<&str> =
        said["error"]["lines"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    for (n, ((_, name), (_, onto))) in lines.iter().zip(&tasks).enumerate() {
        let wrong =
            |key: &str| told.iter().any(|t| t.starts_with(&format!("line {}: {key}: bad-name", n + 1)));
        let fine = (1..=40).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        if wrong("name") == fine {
            return Err(format!("handle {name:?}: {told:?}"));
        }
        let whole = if onto.starts_with("refs/heads/") { onto.clone() } else { format!("refs/heads/{onto}") };
        if wrong("onto") == git2::Reference::is_valid_name(&whole) {
            return Err(format!("branch {onto:?}: {told:?}"));
        }
    }
    tally("hostile name", 2 * BATCH as u64);
    Ok(())
}

/// Words as a worker would write them to deceive who looks at a log.
fn message(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + dice.below(12) {
        match dice.below(8) {
            0 => bytes.extend_from_slice(b"\n\n"),
            1 => bytes.extend_from_slice(b"Skein-Op: 01kdvxqg000000000000000000\n"),
            2 => bytes.extend(std::iter::repeat_n(b'm', dice.below(5000) as usize)),
            3 => bytes.extend((0..4).map(|_| 0x80 + dice.below(0x80) as u8)),
            _ => bytes.extend_from_slice(odd(dice).as_bytes()),
        }
        bytes.extend_from_slice(b" words");
    }
    bytes
}

fn messages(place: &mut Place, seed: u64) -> Result<(), String> {
    let dice = &mut Dice::of(seed);
    let (mut files, mut fresh, mut tip) = (edits::base(), 0, place.base);
    for n in 0..BATCH / 2 {
        edits::random(dice, &files, &mut fresh).apply(&mut files);
        let tree = edits::tree(&place.repo, &files);
        let who: String = odd(dice).chars().filter(|c| !"\n<>".contains(*c)).collect();
        let mut bytes = format!("tree {tree}\nparent {tip}\n").into_bytes();
        for role in ["author", "committer"] {
            bytes.extend_from_slice(
                format!("{role} A{who}z <{}> {} +0000\n", place.mail(0), 1_767_100_000 + n).as_bytes(),
            );
        }
        bytes.push(b'\n');
        bytes.extend(message(dice));
        tip = place.repo.odb().unwrap().write(ObjectType::Commit, &bytes).unwrap();
    }
    place.hold(0, tip);
    let onto = format!("m{seed}");
    place.repo.reference(&format!("refs/heads/{onto}"), place.base, true, "").unwrap();
    let text = String::from_utf8_lossy(&message(dice)).replace('\0', "");
    let reject = ["verdict", "w0", "reject", "-m", &text];
    for args in [
        &["import", "w0"][..],
        &["import", "w0", "--json"],
        &reject,
        &["verdict", "w0"],
        &["verdict", "w0", "accept"],
    ] {
        inert(place, args)?;
    }
    let ran = inert(place, &["land", "w0", "--onto", &onto])?;
    if ran.code != 0 {
        return Err(format!("{ran:?}"));
    }
    for args in [
        &["show", "w0"][..],
        &["show", "w0", "--log"],
        &["show", "w0", "--json"],
        &["show", "w0", "--diff"],
        &["log"],
        &["log", "--json"],
        &["landed", "w0", "--onto", &onto, "--explain"],
        &["landed", "w0", "--onto", &onto, "--by", "cherry", "--json"],
        &["artifacts", "w0"],
        &["search", "words"],
        &["inbox"],
        &["debt"],
        &["fsck"],
    ] {
        inert(place, args)?;
    }
    tally("hostile message", BATCH as u64 / 2);
    Ok(())
}

/// So many batches of each.
fn strike(name: &'static str, counts: [u64; 2], case: fn(&mut Place, u64) -> Result<(), String>) {
    let template = template(1);
    let count = counts[usize::from(full())];
    Strike { name, tally: "batch of hostile words", count }.run(|| Place::of(&template), case);
}

#[test]
fn paths_are_taken_by_the_rule_alone() {
    strike("paths", [1, 50], paths);
}

#[test]
fn names_that_fold_onto_another_are_refused() {
    strike("pairs", [1, 10], pairs);
}

#[test]
fn handles_and_branches_are_taken_by_the_rule_alone() {
    strike("handles", [1, 15], handles);
}

#[test]
fn no_message_steers_who_reads_it() {
    strike("messages", [1, 20], messages);
}
