//! Git's ignore rules, in two stacks: as they stand in the tree now, and as they were at birth. What only
//! the first ignores, the worker has hidden.

use crate::domain::Failure;
use crate::domain::Result;
use crate::plumbing::capture::Excludes;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use gix::glob::wildmatch::Mode as WildMode;
use std::io::ErrorKind;

#[derive(Default)]
pub(super) struct Rules {
    now: Vec<List>,
    born: Vec<List>,
}

/// Where to cut the stacks when a folder is left.
#[must_use]
pub(super) struct Depth(usize, usize);

impl Rules {
    /// The person's own rules, which hold everywhere and are the weakest.
    pub(super) fn read(excludes: &Excludes) -> Result<Rules> {
        let mut rules = Rules::default();
        for file in &excludes.files {
            match std::fs::read(file) {
                Ok(bytes) => {
                    rules.now.push(List::new(b"".into(), &bytes));
                    rules.born.push(List::new(b"".into(), &bytes));
                }
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                // Without them, what the person never wants in a commit would be captured.
                Err(e) => {
                    return Err(Failure::fault(format!("reading the ignore rules {}", file.display()), e));
                }
            }
        }
        Ok(rules)
    }

    /// Adds the rules of folder `prefix`, which is empty or ends with a slash.
    pub(super) fn enter(&mut self, prefix: &BStr, now: Option<&BString>, born: Option<&BString>) -> Depth {
        let depth = Depth(self.now.len(), self.born.len());
        self.now.extend(now.map(|bytes| List::new(prefix, bytes)));
        self.born.extend(born.map(|bytes| List::new(prefix, bytes)));
        depth
    }

    pub(super) fn leave(&mut self, depth: Depth) {
        self.now.truncate(depth.0);
        self.born.truncate(depth.1);
    }

    pub(super) fn ignores(&self, path: &BStr, is_folder: bool) -> bool {
        ignored_by(&self.now, path, is_folder)
    }

    pub(super) fn ignored_at_birth(&self, path: &BStr, is_folder: bool) -> bool {
        ignored_by(&self.born, path, is_folder)
    }
}

fn ignored_by(stack: &[List], path: &BStr, is_folder: bool) -> bool {
    let last = stack.iter().rev().find_map(|list| {
        let name = path.strip_prefix(list.base.as_bytes())?.as_bstr();
        list.rules.iter().rev().find(|rule| rule.matches(name, is_folder))
    });
    last.is_some_and(|rule| !rule.negated)
}

/// The rules of one file. They hold below `base`, which is empty or ends with a slash.
struct List {
    base: BString,
    rules: Vec<Rule>,
}

impl List {
    fn new(base: &BStr, bytes: &[u8]) -> List {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        List { base: base.to_owned(), rules: bytes.split_str("\n").filter_map(Rule::parse).collect() }
    }
}

struct Rule {
    text: BString,
    /// How much of `text` stands for itself, up to the first special character.
    literal: usize,
    negated: bool,
    folders_only: bool,
    /// There is no slash in it: it is asked of the last component alone.
    of_name: bool,
    /// A star and no other special character.
    ends_with: bool,
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Rule> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // To git a line is a C string.
        let line = trim(line.split(|b| *b == 0).next().unwrap_or_default());
        let (negated, text) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (folders_only, text) = text.strip_suffix(b"/").map_or((false, text), |rest| (true, rest));
        let of_name = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let special = |text: &[u8]| text.find_byteset(b"*?[\\");
        let ends_with = text.first() == Some(&b'*') && special(&text[1..]).is_none();
        let literal = special(text).unwrap_or(text.len());
        (!text.is_empty()).then(|| Rule {
            text: text.into(),
            literal,
            negated,
            folders_only,
            of_name,
            ends_with,
        })
    }

    fn matches(&self, path: &BStr, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let globs = |glob: &[u8], text: &[u8]| {
            gix::glob::wildmatch(glob.as_bstr(), text.as_bstr(), WildMode::NO_MATCH_SLASH_LITERAL)
        };
        if self.of_name {
            let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
            return match self.ends_with {
                true => name.ends_with(&self.text[1..]),
                false if self.literal == self.text.len() => self.text == name,
                false => globs(&self.text, name),
            };
        }
        // Git cuts the literal part off before it globs: in `a**/b` the stars then stand at the beginning, where
        // they cross slashes.
        path.strip_prefix(&self.text[..self.literal]).is_some_and(|rest| {
            let glob = &self.text[self.literal..];
            if glob.is_empty() { rest.is_empty() } else { globs(glob, rest) }
        })
    }
}

/// Without its trailing spaces, unless they are escaped.
fn trim(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => at += 1,
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 2;
                end = at;
            }
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end]
}
