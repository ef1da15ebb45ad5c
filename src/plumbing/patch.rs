//! Patch ids, as `git patch-id` computes them from `git diff-tree -p --no-renames --no-indent-heuristic
//! --full-index -U3`, without a process and without any setting that could change them. The algorithm is
//! that of git's `builtin/patch-id.c`, oddities included. Also line differences, on which they rest.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Identity;
use crate::domain::Mode;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::domain::c_quoted;
use crate::plumbing::objects::Objects;
use bstr::BStr;
use bstr::ByteSlice;
use gix::diff::blob as line_diff;
use std::collections::HashMap;
use std::ops::Range;

/// Lines of context around a hunk.
const CONTEXT: u32 = 3;
/// git takes a larger file for binary (`core.bigFileThreshold`).
const BIG: usize = 512 << 20;
/// git looks for a NUL among this many bytes to call a file binary.
const BINARY_PROBE: usize = 8000;

/// The two patch ids of a change set, in hex; both empty if nothing changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchIds {
    /// Blind to white space and to a missing last newline.
    pub stable: String,
    pub verbatim: String,
}

/// Lines taken out at one place and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    pub removed: Vec<&'a [u8]>,
    pub added: Vec<&'a [u8]>,
}

impl Objects {
    /// The patch ids of a change set: each path once.
    pub fn patch_ids(&self, changes: &[Change]) -> Result<PatchIds> {
        if changes.is_empty() {
            return Ok(PatchIds { stable: String::new(), verbatim: String::new() });
        }
        let mut sorted: Vec<&Change> = changes.iter().collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        let mut patch = Patch::new(self);
        for change in sorted {
            match (change.old, change.new) {
                // What changes its type is shown by git as a deletion and a creation.
                (Some(old), Some(new)) if type_of(old.0) != type_of(new.0) => {
                    patch.file(change.path.as_bstr(), Some(old), None)?;
                    patch.file(change.path.as_bstr(), None, Some(new))?;
                }
                (old, new) => patch.file(change.path.as_bstr(), old, new)?,
            }
        }
        Ok(PatchIds { stable: patch.stable.finish()?, verbatim: patch.verbatim.finish()? })
    }

    /// All three identities of a change set.
    pub fn identity(&self, changes: &[Change]) -> Result<Identity> {
        let ids = self.patch_ids(changes)?;
        Ok(Identity { raw: RawDigest::of(changes), patch_verbatim: ids.verbatim, patch_stable: ids.stable })
    }
}

/// Whether git would call these bytes binary.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.len() > BIG || bytes[..bytes.len().min(BINARY_PROBE)].contains(&0)
}

/// The hunks that lead from `before` to `after`, by Myers, without context.
pub fn hunks<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<Hunk<'a>> {
    let (input, diff) = compare(before, after);
    let lines = |tokens: &[line_diff::Token]| tokens.iter().map(|t| input.interner[*t]).collect();
    diff.hunks()
        .map(|hunk| Hunk {
            removed: lines(&input.before[hunk.before.start as usize..hunk.before.end as usize]),
            added: lines(&input.after[hunk.after.start as usize..hunk.after.end as usize]),
        })
        .collect()
}

/// The lines of `before` that `after` changes, as ranges in order; an empty one is where lines are put in. `None`
/// where one of them is binary.
pub fn changed_lines(before: &[u8], after: &[u8]) -> Option<Vec<Range<u32>>> {
    if is_binary(before) || is_binary(after) {
        return None;
    }
    Some(compare(before, after).1.hunks().map(|hunk| hunk.before).collect())
}

/// How much of the larger of two files is found in the other, in percent: the measure of git's rename
/// detection (`diffcore-delta.c`: spans end at a newline or after 64 bytes).
pub fn similarity(a: &[u8], b: &[u8]) -> u8 {
    let (small, large) = (a.len().min(b.len()), a.len().max(b.len()));
    if large == 0 {
        return 100;
    }
    if small * 2 < large {
        return 0;
    }
    let mut spans: HashMap<&[u8], usize> = HashMap::new();
    for span in Spans(a) {
        *spans.entry(span).or_default() += 1;
    }
    let mut copied = 0;
    for span in Spans(b) {
        if let Some(left) = spans.get_mut(span).filter(|left| **left > 0) {
            *left -= 1;
            copied += span.len();
        }
    }
    (copied * 100 / large) as u8
}

struct Spans<'a>(&'a [u8]);

impl<'a> Iterator for Spans<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let window = &self.0[..self.0.len().min(64)];
        let end = window.find_byte(b'\n').map_or(window.len(), |at| at + 1);
        let (span, rest) = self.0.split_at(end);
        self.0 = rest;
        (!span.is_empty()).then_some(span)
    }
}

fn compare<'a>(before: &'a [u8], after: &'a [u8]) -> (line_diff::InternedInput<&'a [u8]>, line_diff::Diff) {
    let lines = line_diff::sources::byte_lines;
    let input = line_diff::InternedInput::new(lines(before), lines(after));
    let mut diff = line_diff::Diff::compute(line_diff::Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    (input, diff)
}

fn type_of(mode: Mode) -> u32 {
    mode.octal() & 0o170_000
}

/// The patch text as `git patch-id` reads it, fed to both sums.
struct Patch<'a> {
    objects: &'a Objects,
    stable: Sum,
    verbatim: Sum,
    /// The last file had hunks: the next header starts a new part of the sum.
    hunks_done: bool,
    /// After a binary file git reads over the next `diff` line.
    skip_header: bool,
}

impl<'a> Patch<'a> {
    fn new(objects: &'a Objects) -> Patch<'a> {
        Patch {
            objects,
            stable: Sum::new(objects.hash, false),
            verbatim: Sum::new(objects.hash, true),
            hunks_done: false,
            skip_header: false,
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.stable.line(line);
        self.verbatim.line(line);
    }

    fn flush(&mut self) -> Result<()> {
        self.stable.flush()?;
        self.verbatim.flush()
    }

    fn file(&mut self, path: &BStr, old: Option<Entry>, new: Option<Entry>) -> Result<()> {
        if std::mem::take(&mut self.hunks_done) {
            self.flush()?;
        }
        let (a, b) = (c_quoted(b"a/", path), c_quoted(b"b/", path));
        if !std::mem::take(&mut self.skip_header) {
            self.line(&[b"diff --git ", &a[..], b" ", &b, b"\n"].concat());
        }
        match (old, new) {
            (None, Some((mode, _))) => self.line(format!("new file mode {mode}\n").as_bytes()),
            (Some((mode, _)), None) => self.line(format!("deleted file mode {mode}\n").as_bytes()),
            (Some((before, _)), Some((after, _))) if before != after => {
                self.line(format!("old mode {before}\n").as_bytes());
                self.line(format!("new mode {after}\n").as_bytes());
            }
            _ => {}
        }
        let (before, after) = (self.content(old)?, self.content(new)?);
        if before == after {
            return Ok(());
        }
        if is_binary(&before) || is_binary(&after) {
            for side in [old, new] {
                let hex = side.map_or(self.objects.null(), |(_, oid)| oid).to_string();
                self.stable.raw(hex.as_bytes());
                self.verbatim.raw(hex.as_bytes());
            }
            self.skip_header = true;
            return self.flush();
        }
        self.label(b"--- ", &a, old.is_some());
        self.label(b"+++ ", &b, new.is_some());
        self.text(&before, &after);
        self.hunks_done = true;
        Ok(())
    }

    fn content(&self, entry: Option<Entry>) -> Result<Vec<u8>> {
        match entry {
            None => Ok(Vec::new()),
            Some((Mode::Gitlink, oid)) => Ok(format!("Subproject commit {oid}\n").into_bytes()),
            Some((_, oid)) => self.objects.blob(oid),
        }
    }

    /// A `---` or `+++` line; git ends it with a tab if the name has a space.
    fn label(&mut self, mark: &[u8], name: &[u8], there: bool) {
        let name = if there { name } else { b"/dev/null" };
        let tab: &[u8] = if name.contains(&b' ') { b"\t" } else { b"" };
        self.line(&[mark, name, tab, b"\n"].concat());
    }

    fn text(&mut self, before: &[u8], after: &[u8]) {
        let (input, diff) = compare(before, after);
        let hunks: Vec<_> = diff.hunks().collect();
        let mut emit = |mark: u8, tokens: &[line_diff::Token]| {
            for token in tokens {
                self.content_line(mark, input.interner[*token]);
            }
        };
        let mut next = 0;
        while next < hunks.len() {
            let mut last = next;
            // Hunks whose contexts meet are one.
            while last + 1 < hunks.len()
                && hunks[last + 1].before.start - hunks[last].before.end <= 2 * CONTEXT
            {
                last += 1;
            }
            let mut at = hunks[next].before.start.saturating_sub(CONTEXT) as usize;
            for hunk in &hunks[next..=last] {
                emit(b' ', &input.before[at..hunk.before.start as usize]);
                emit(b'-', &input.before[hunk.before.start as usize..hunk.before.end as usize]);
                emit(b'+', &input.after[hunk.after.start as usize..hunk.after.end as usize]);
                at = hunk.before.end as usize;
            }
            emit(b' ', &input.before[at..input.before.len().min(at + CONTEXT as usize)]);
            next = last + 1;
        }
    }

    fn content_line(&mut self, mark: u8, line: &[u8]) {
        if line.ends_with(b"\n") {
            return self.line(&[&[mark], line].concat());
        }
        self.line(&[&[mark], line, b"\n"].concat());
        self.verbatim.line(b"\\ No newline at end of file\n");
    }
}

/// The sum of the hashes of the parts of a patch.
struct Sum {
    kind: gix::hash::Kind,
    verbatim: bool,
    part: gix::hash::Hasher,
    sum: Vec<u8>,
}

impl Sum {
    fn new(kind: gix::hash::Kind, verbatim: bool) -> Sum {
        Sum { kind, verbatim, part: gix::hash::hasher(kind), sum: vec![0; kind.len_in_bytes()] }
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.part.update(bytes);
    }

    /// git reads lines as C strings, so a NUL ends one.
    fn line(&mut self, line: &[u8]) {
        let line = &line[..line.find_byte(0).unwrap_or(line.len())];
        if self.verbatim {
            return self.raw(line);
        }
        let dense: Vec<u8> = line.iter().copied().filter(|c| !b" \t\n\r".contains(c)).collect();
        self.raw(&dense);
    }

    /// Adds the part's hash, little-endian with carry, so that the order of files does not count.
    fn flush(&mut self) -> Result<()> {
        let part = std::mem::replace(&mut self.part, gix::hash::hasher(self.kind));
        let hash = part.try_finalize().map_err(|e| Failure::fault("computing a patch id", e))?;
        let mut carry = 0;
        for (sum, byte) in self.sum.iter_mut().zip(hash.as_bytes()) {
            carry += u16::from(*sum) + u16::from(*byte);
            *sum = carry as u8;
            carry >>= 8;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<String> {
        self.flush()?;
        Ok(crate::domain::hex(&self.sum))
    }
}

#[cfg(test)]
mod tests;
