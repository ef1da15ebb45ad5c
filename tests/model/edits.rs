//! Files as a model has them, and edits whose outcome on any state of these files is known without a merge. Each line is
//! unique, so an edit finds its place wherever that has moved; a file keeps its identity when it is renamed.

use crate::support::acts::Dice;
use git2::Oid;
use git2::Repository;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(Vec<String>),
    Bytes(Vec<u8>),
    Link(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub path: String,
    pub exec: bool,
    pub body: Body,
}

/// By identity.
pub type Files = BTreeMap<u64, Item>;

/// One change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    Replace { file: u64, old: String, new: String },
    Insert { file: u64, after: String, new: String },
    Remove { file: u64, after: String, line: String },
    Body { file: u64, old: Body, new: Body },
    Mode { file: u64, exec: bool },
    Rename { file: u64, old: String, new: String },
    Add { file: u64, item: Item },
    Delete { file: u64, item: Item },
}

/// What all begin with: text files, one of them a program, bytes and a link.
pub fn base() -> Files {
    let text = |file: u64| {
        let lines = (0..14).map(|line| format!("line {line} of {file} {}\n", word(file * 100 + line)));
        Body::Text(lines.collect())
    };
    let item = |path: &str, body| Item { path: path.to_owned(), exec: false, body };
    let mut files: Files =
        (0..5).map(|n| (n, item(&format!("{}f{n}.txt", ["", "d/"][n as usize % 2]), text(n)))).collect();
    files.get_mut(&2).unwrap().exec = true;
    files.insert(5, item("data.bin", Body::Bytes(vec![0, 159, 146, 150, 5])));
    files.insert(6, item("link", Body::Link("f0.txt".into())));
    files
}

/// Letters that make lines unlike each other.
fn word(n: u64) -> String {
    let mut dice = Dice::of(n);
    (0..12).map(|_| char::from(b'a' + dice.below(26) as u8)).collect()
}

/// A random edit of what there is. `fresh` counts what must be unique.
pub fn random(dice: &mut Dice, files: &Files, fresh: &mut u64) -> Edit {
    *fresh += 1;
    let unique = *fresh;
    let new = format!("new {unique} {}\n", word(unique + 5000));
    let texts: Vec<u64> = files
        .iter()
        .filter(|(_, i)| matches!(&i.body, Body::Text(l) if l.len() > 4))
        .map(|(id, _)| *id)
        .collect();
    let all: Vec<u64> = files.keys().copied().collect();
    let kind = dice.below(100);
    if texts.is_empty() || (70..80).contains(&kind) || all.len() < 4 {
        let lines = (0..6).map(|n| format!("added {unique} {n} {}\n", word(unique * 50 + n))).collect();
        let path = format!("{}n{unique}.txt", ["", "d/", "e/"][dice.below(3) as usize]);
        return Edit::Add { file: 1000 + unique, item: Item { path, exec: false, body: Body::Text(lines) } };
    }
    let file = texts[dice.below(texts.len() as u64) as usize];
    let any = all[dice.below(all.len() as u64) as usize];
    let Body::Text(lines) = &files[&file].body else { unreachable!() };
    let at = dice.below(lines.len() as u64 - 1) as usize;
    match kind {
        0..35 => Edit::Replace { file, old: lines[at].clone(), new },
        35..55 => Edit::Insert { file, after: lines[at].clone(), new },
        55..70 => Edit::Remove { file, after: lines[at].clone(), line: lines[at + 1].clone() },
        80..85 => Edit::Delete { file: any, item: files[&any].clone() },
        85..90 => Edit::Mode { file, exec: !files[&file].exec },
        90..95 => {
            let old = files[&file].path.clone();
            let folder = old.rsplit_once('/').map_or("", |(folder, _)| folder);
            let new = format!("{folder}{}r{unique}.txt", if folder.is_empty() { "" } else { "/" });
            Edit::Rename { file, old, new }
        }
        _ => match files.iter().filter(|(_, i)| !matches!(i.body, Body::Text(_))).nth(kind as usize % 2) {
            Some((file, item)) => {
                let new = match &item.body {
                    Body::Link(_) => Body::Link(format!("to{unique}")),
                    _ => Body::Bytes([vec![0, 255], unique.to_le_bytes().to_vec()].concat()),
                };
                Edit::Body { file: *file, old: item.body.clone(), new }
            }
            None => Edit::Mode { file, exec: !files[&file].exec },
        },
    }
}

impl Edit {
    /// Makes the change where it belongs. False, and nothing is done, if it has no place there, or if somebody has
    /// changed the same otherwise. Who has made the same change already is no obstacle.
    pub fn apply(&self, files: &mut Files) -> bool {
        if let Edit::Add { file, item } = self {
            let taken = files.iter().any(|(id, i)| id != file && i.path == item.path);
            let same = files.get(file).is_none_or(|there| there == item);
            if !taken && same {
                files.insert(*file, item.clone());
            }
            return !taken && same;
        }
        if let Edit::Delete { file, item } = self {
            let same = files.get(file).is_none_or(|there| there == item);
            if same {
                files.remove(file);
            }
            return same;
        }
        let Some(item) = files.get_mut(&self.file()) else { return false };
        self.change(item)
    }

    fn change(&self, item: &mut Item) -> bool {
        match (self, &mut item.body) {
            (Edit::Mode { exec, .. }, _) => item.exec = *exec,
            (Edit::Rename { old, new, .. }, _) => {
                if item.path != *old && item.path != *new {
                    return false;
                }
                item.path.clone_from(new);
            }
            (Edit::Body { old, new, .. }, body) => {
                if body != old && body != new {
                    return false;
                }
                *body = new.clone();
            }
            (_, Body::Text(lines)) => return self.write(lines),
            _ => return false,
        }
        true
    }

    fn write(&self, lines: &mut Vec<String>) -> bool {
        let find = |lines: &[String], line: &String| lines.iter().position(|l| l == line);
        match self {
            Edit::Replace { old, new, .. } => match find(lines, old) {
                Some(at) => lines[at].clone_from(new),
                None => return find(lines, new).is_some(),
            },
            Edit::Insert { after, new, .. } => match (find(lines, new), find(lines, after)) {
                (Some(_), _) => {}
                (None, Some(at)) => lines.insert(at + 1, new.clone()),
                (None, None) => return false,
            },
            Edit::Remove { line, .. } => lines.retain(|l| l != line),
            _ => return false,
        }
        true
    }

    /// Whether `files` have already what `later` edits make of its line: to write it once more would double that.
    pub fn is_past(&self, later: &[Edit], files: &Files) -> bool {
        let (Edit::Replace { file, new, .. } | Edit::Insert { file, new, .. }) = self else { return false };
        let Some(Body::Text(lines)) = files.get(file).map(|item| &item.body) else { return false };
        let mut line = new;
        later.iter().any(|edit| match edit {
            Edit::Replace { file: same, old, new } if same == file && old == line => {
                line = new;
                lines.contains(new)
            }
            _ => false,
        })
    }

    /// What takes it back.
    pub fn inverse(&self) -> Edit {
        match self.clone() {
            Edit::Replace { file, old, new } => Edit::Replace { file, old: new, new: old },
            Edit::Insert { file, after, new } => Edit::Remove { file, after, line: new },
            Edit::Remove { file, after, line } => Edit::Insert { file, after, new: line },
            Edit::Body { file, old, new } => Edit::Body { file, old: new, new: old },
            Edit::Mode { file, exec } => Edit::Mode { file, exec: !exec },
            Edit::Rename { file, old, new } => Edit::Rename { file, old: new, new: old },
            Edit::Add { file, item } => Edit::Delete { file, item },
            Edit::Delete { file, item } => Edit::Add { file, item },
        }
    }

    /// Whether it goes over nothing that `others` did: what all of them do together is then what each does.
    pub fn stands_beside(&self, others: &[Edit]) -> bool {
        let made = |line: &String| {
            others
                .iter()
                .any(|e| matches!(e, Edit::Replace { new, .. } | Edit::Insert { new, .. } if new == line))
        };
        let again =
            |e: &&Edit| std::mem::discriminant(*e) == std::mem::discriminant(self) && e.file() == self.file();
        match self {
            Edit::Replace { old, .. } => !made(old),
            Edit::Insert { after, .. } => !made(after),
            Edit::Remove { line, .. } => !made(line),
            Edit::Delete { file, .. } => others.iter().all(|e| e.file() != *file),
            Edit::Body { .. } | Edit::Mode { .. } | Edit::Rename { .. } | Edit::Add { .. } => !others
                .iter()
                .any(|e| again(&e) || (matches!(e, Edit::Add { .. }) && e.file() == self.file())),
        }
    }

    pub fn file(&self) -> u64 {
        match self {
            Edit::Replace { file, .. }
            | Edit::Insert { file, .. }
            | Edit::Remove { file, .. }
            | Edit::Body { file, .. }
            | Edit::Mode { file, .. }
            | Edit::Rename { file, .. }
            | Edit::Add { file, .. }
            | Edit::Delete { file, .. } => *file,
        }
    }
}

/// All of them, or none: one after the other, or what they come to at once.
pub fn apply_all(edits: &[Edit], files: &Files) -> Option<Files> {
    done(edits, files).map(|(files, _)| files)
}

/// The same, with those of the edits that did something there.
pub fn done(edits: &[Edit], files: &Files) -> Option<(Files, Vec<Edit>)> {
    let apply = |edits: &[Edit]| {
        let (mut next, mut done) = (files.clone(), Vec::new());
        for (at, edit) in edits.iter().enumerate() {
            let before = next.clone();
            if !edit.is_past(&edits[at + 1..], &next) && !edit.apply(&mut next) {
                return None;
            }
            if next != before {
                done.push(edit.clone());
            }
        }
        Some((next, done))
    };
    apply(edits).or_else(|| apply(&folded(edits)))
}

/// The same edits, where a file that is added and then worked on is added as it is in the end.
fn folded(edits: &[Edit]) -> Vec<Edit> {
    let mut all: Vec<Edit> = Vec::new();
    for edit in edits {
        let added = all.iter().position(|e| matches!(e, Edit::Add { file, .. } if *file == edit.file()));
        match (added, edit) {
            (Some(at), Edit::Delete { .. }) => drop(all.remove(at)),
            (Some(at), _) => {
                if let Edit::Add { item, .. } = &mut all[at] {
                    edit.change(item);
                }
            }
            (None, _) => all.push(edit.clone()),
        }
    }
    all
}

/// The tree of these files, written by libgit2.
pub fn tree(repo: &Repository, files: &Files) -> Oid {
    let mut index = git2::Index::new().unwrap();
    for item in files.values() {
        let (mode, bytes) = match &item.body {
            Body::Text(lines) => (0o100_644, lines.concat().into_bytes()),
            Body::Bytes(bytes) => (0o100_644, bytes.clone()),
            Body::Link(target) => (0o120_000, target.clone().into_bytes()),
        };
        index.add(&entry(repo, &item.path, if item.exec { 0o100_755 } else { mode }, &bytes)).unwrap();
    }
    index.write_tree_to(repo).unwrap()
}

fn entry(repo: &Repository, path: &str, mode: u32, bytes: &[u8]) -> git2::IndexEntry {
    let zero = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: repo.blob(bytes).unwrap(),
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// A commit of these files by libgit2. `at` makes its date, `mail` its author.
pub fn commit(repo: &Repository, files: &Files, parents: &[Oid], at: i64, mail: &str, message: &str) -> Oid {
    let tree = repo.find_tree(tree(repo, files)).unwrap();
    let time = git2::Time::new(1_767_100_000 + at, 0);
    let who = git2::Signature::new("Bo", mail, &time).unwrap();
    let parents: Vec<git2::Commit<'_>> = parents.iter().map(|oid| repo.find_commit(*oid).unwrap()).collect();
    let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
    repo.commit(None, &who, &who, message, &tree, &parents).unwrap()
}
