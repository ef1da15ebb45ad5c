//! The lines of attribute files that decide what git stores of a file: its line ends, its encoding, its filter.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::objects::Objects;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::BTreeSet;

const FILE: &[u8] = b".gitattributes";

/// What decides. `binary` is git's own macro for `-text` and more.
const DECIDING: [&str; 7] = ["binary", "crlf", "eol", "filter", "ident", "text", "working-tree-encoding"];

const BLANK: &[u8] = b" \t\r\n";

/// Deciding attributes, with the macros that set some.
#[derive(Debug, Clone)]
pub(super) struct Deciding(BTreeSet<BString>);

/// A pattern, and what of its line decides.
type Line = (BString, Vec<BString>);

impl Deciding {
    /// With the macros that `files` define.
    pub(super) fn with_macros_of(files: &[BString]) -> Deciding {
        let mut names: BTreeSet<BString> = DECIDING.iter().map(|name| BString::from(*name)).collect();
        let lines: Vec<Line> = files.iter().flat_map(|file| file.lines()).filter_map(parse).collect();
        let macros =
            lines.iter().filter_map(|(name, said)| Some((name.strip_prefix(b"[attr]".as_slice())?, said)));
        let macros: Vec<(&[u8], &Vec<BString>)> = macros.collect();
        loop {
            let before = names.len();
            for (name, said) in &macros {
                if said.iter().any(|one| names.contains(attribute(one))) {
                    names.insert(BString::from(*name));
                }
            }
            if names.len() == before {
                return Deciding(names);
            }
        }
    }

    /// The lines of `file` that decide, in order, without what does not.
    pub(super) fn lines(&self, file: &[u8]) -> Vec<Line> {
        let decide = |(pattern, mut said): Line| {
            said.retain(|one| self.0.contains(attribute(one)));
            (!said.is_empty()).then_some((pattern, said))
        };
        file.lines().filter_map(parse).filter_map(decide).collect()
    }
}

/// Pattern and words of a line that is no comment.
fn parse(line: &[u8]) -> Option<Line> {
    let line = line.trim_start_with(|c| matches!(c, ' ' | '\t' | '\r'));
    let end = match line.first()? {
        b'#' => return None,
        // A quoted pattern may hold blanks.
        b'"' => closing(line).unwrap_or_else(|| word(line)),
        _ => word(line),
    };
    let words = line[end..].split(|b| BLANK.contains(b)).filter(|word| !word.is_empty());
    Some((line[..end].into(), words.map(BString::from).collect()))
}

fn word(line: &[u8]) -> usize {
    line.iter().position(|b| BLANK.contains(b)).unwrap_or(line.len())
}

/// The end of the quoted text that `line` begins with.
fn closing(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The name in `text`, `-text`, `!text` or `text=auto`.
fn attribute(said: &BString) -> &BStr {
    let name = said.strip_prefix(b"-").or_else(|| said.strip_prefix(b"!")).unwrap_or(said);
    name.split(|b| *b == b'=').next().unwrap_or(name).as_bstr()
}

pub(super) fn is_attributes(path: &BStr) -> bool {
    path.rsplit(|b| *b == b'/').next() == Some(FILE)
}

fn blob_of(entry: Option<Entry>) -> Option<Oid> {
    // git does not follow one that is a link.
    entry.filter(|(mode, _)| matches!(mode, Mode::File | Mode::Executable)).map(|(_, oid)| oid)
}

impl Objects {
    /// The attribute files of tree `root`.
    pub(super) fn attribute_files(&self, root: Oid) -> Result<Vec<(BString, Oid)>> {
        let all = self.entries(root)?.into_iter().filter(|(path, _)| is_attributes(path.as_bstr()));
        Ok(all.filter_map(|(path, entry)| Some((path, blob_of(Some(entry))?))).collect())
    }

    /// The attribute files of tree `new` that say something else than those of `old` of what git stores.
    /// `more` are files that count besides.
    pub fn rules_changed(&self, old: Oid, new: Oid, more: &[BString]) -> Result<Vec<BString>> {
        let changes = self.diff_trees(old, new)?;
        let files: Vec<&Change> = changes.iter().filter(|c| is_attributes(c.path.as_bstr())).collect();
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let text = |entry: Option<Entry>| -> Result<BString> {
            Ok(blob_of(entry).map(|oid| self.blob(oid)).transpose()?.unwrap_or_default().into())
        };
        let mut macros = more.to_vec();
        for tree in [old, new] {
            macros.push(text(self.entry_at(tree, FILE.as_bstr())?)?);
        }
        let deciding = Deciding::with_macros_of(&macros);
        let mut found = Vec::new();
        for change in files {
            let same = deciding.lines(&text(change.old)?) == deciding.lines(&text(change.new)?);
            if !same && !self.went_with_its_folder(change, new)? {
                found.push(change.path.clone());
            }
        }
        Ok(found)
    }

    /// Where nothing is left of a folder, nothing is stored by its rules.
    fn went_with_its_folder(&self, change: &Change, new: Oid) -> Result<bool> {
        let folder = change.path.strip_suffix(FILE).unwrap_or_default();
        let folder = folder.strip_suffix(b"/").unwrap_or_default().as_bstr();
        Ok(change.new.is_none() && !folder.is_empty() && self.names_in(new, folder)?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str) -> Vec<String> {
        let deciding = Deciding::with_macros_of(&[file.into()]);
        let show = |(pattern, said): Line| format!("{pattern} {}", bstr::join(" ", said).as_bstr());
        deciding.lines(file.as_bytes()).into_iter().map(show).collect()
    }

    #[test]
    fn only_what_decides_is_left_of_a_file() {
        for (file, want) in [
            ("", vec![]),
            ("# *.x text\n\n  \n", vec![]),
            ("*.x diff=y merge=union\n*.y linguist-generated", vec![]),
            ("*.x diff -text\r\n*.y\teol=lf merge", vec!["*.x -text", "*.y eol=lf"]),
            ("\"a b\" text diff", vec!["\"a b\" text"]),
            ("\"a \\\" b\" !filter", vec!["\"a \\\" b\" !filter"]),
            ("\"a b text", vec!["\"a text"]),
            ("*.x texture contexts=1 -ident", vec!["*.x -ident"]),
            ("*.png binary", vec!["*.png binary"]),
            ("[attr]big filter=lfs -diff\n*.iso big\n", vec!["[attr]big filter=lfs", "*.iso big"]),
            (
                "[attr]a b\n[attr]b text\n[attr]c diff\n*.x a\n*.y c",
                vec!["[attr]a b", "[attr]b text", "*.x a"],
            ),
        ] {
            assert_eq!(lines(file), want, "{file:?}");
        }
    }

    #[test]
    fn attribute_files_are_told_by_their_whole_name() {
        for (path, is) in [(".gitattributes", true), ("a/.gitattributes", true), ("a.gitattributes", false)] {
            assert_eq!(is_attributes(path.into()), is, "{path}");
        }
    }
}
