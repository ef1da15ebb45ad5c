//! Notes trees, read and written by us: git's own notes writer loses entries under concurrency.

use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::objects::Objects;
use bstr::BString;
use bstr::ByteSlice;

impl Objects {
    /// Notes tree `root` with `line` added to the note on `about`, unless it stands there already. It comes before the
    /// first greater line: whoever adds the same lines has the same note, in whatever order they came.
    pub fn note_with_line(&self, root: Oid, about: Oid, line: &str) -> Result<Oid> {
        let (path, mut text) = match self.note_path(root, about)? {
            Some((path, blob)) => (path, self.blob(blob)?),
            None => (fan_out(about, 1), Vec::new()),
        };
        if text.lines().any(|l| l == line.as_bytes()) {
            return Ok(root);
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        let smaller = text.lines_with_terminator().take_while(|l| l.trim_end() <= line.as_bytes());
        let at: usize = smaller.map(<[u8]>::len).sum();
        text.splice(at..at, line.bytes().chain([b'\n']));
        let blob = self.write_blob(&text)?;
        self.edit_tree(root, [(path, Some((Mode::File, blob)))])
    }

    /// The note on `about` in notes tree `root`; empty if there is none.
    pub fn note(&self, root: Oid, about: Oid) -> Result<Vec<u8>> {
        self.note_path(root, about)?.map_or(Ok(Vec::new()), |(_, blob)| self.blob(blob))
    }

    fn note_path(&self, root: Oid, about: Oid) -> Result<Option<(BString, Oid)>> {
        for depth in 0..=2 {
            let path = fan_out(about, depth);
            if let Some((_, blob)) = self.entry_at(root, path.as_bstr())? {
                return Ok(Some((path, blob)));
            }
        }
        Ok(None)
    }
}

/// The path of a note with `depth` folders of two hex digits.
fn fan_out(about: Oid, depth: usize) -> BString {
    let hex = about.to_string();
    let mut path = String::new();
    for level in 0..depth {
        path.push_str(&hex[level * 2..level * 2 + 2]);
        path.push('/');
    }
    path.push_str(&hex[depth * 2..]);
    path.into()
}
