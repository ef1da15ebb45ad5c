//! Commit messages: our trailers go in, a worker's own `Skein-*` lines come out. Anyone can write a trailer,
//! so none is ever taken as proof.

use bstr::BString;
use bstr::ByteSlice;

const OURS: &[u8] = b"Skein-";

/// `message` with every line that poses as our trailer removed and `trailers` in its last block.
pub fn with_trailers(message: &[u8], trailers: &[(&str, String)]) -> BString {
    let lines = message.lines().map(|line| line.trim_end_with(|c| c == '\r'));
    let kept: Vec<&[u8]> = lines.filter(|l| !l.starts_with(OURS)).collect();
    let end = kept.iter().rposition(|l| !l.trim().is_empty()).map_or(0, |i| i + 1);
    let kept = &kept[..end];
    let mut text = BString::from(bstr::join("\n", kept));
    if text.is_empty() {
        text.extend_from_slice(b"(no message)");
    }
    text.push(b'\n');
    if !ends_in_trailers(kept) {
        text.push(b'\n');
    }
    for (key, value) in trailers {
        text.extend_from_slice(format!("{key}: {value}\n").as_bytes());
    }
    text
}

/// Whether the last paragraph, if it is not the first, holds only `Token: value` lines and their
/// continuations.
fn ends_in_trailers(lines: &[&[u8]]) -> bool {
    let Some(start) = lines.iter().rposition(|l| l.trim().is_empty()) else { return false };
    let block = &lines[start + 1..];
    let is_trailer = |l: &&[u8]| {
        l.find_byte(b':').is_some_and(|at| {
            at > 0
                && l[..at].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
                && l.get(at + 1) == Some(&b' ')
        })
    };
    block.first().is_some_and(is_trailer) && block.iter().all(|l| is_trailer(l) || l.starts_with(b" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_join_an_existing_block_and_forgeries_go() {
        let ours = [("Skein-Worker", "w".to_owned())];
        for (message, want) in [
            ("subject\n", "subject\n\nSkein-Worker: w\n"),
            ("subject\n\nbody\n\n\n", "subject\n\nbody\n\nSkein-Worker: w\n"),
            ("subject\n\nCo-authored-by: A <a>\n", "subject\n\nCo-authored-by: A <a>\nSkein-Worker: w\n"),
            ("fix: subject", "fix: subject\n\nSkein-Worker: w\n"),
            ("s\n\nSkein-Worker: forged\nSkein-Op: forged\n", "s\n\nSkein-Worker: w\n"),
            ("", "(no message)\n\nSkein-Worker: w\n"),
        ] {
            assert_eq!(with_trailers(message.as_bytes(), &ours), want, "{message:?}");
        }
    }
}
