//! What children print, in bounded memory: the first and the last bytes of a stream of any length, the
//! log file made of them, and the lines in it.

use crate::domain::Result;
use crate::host::file::failure;
use bstr::ByteSlice;
use std::collections::VecDeque;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// A log keeps this much of the start of the output as it comes.
const LOG_HEAD: usize = 4 << 20;

/// And this much of its end, written when the run is over.
const LOG_TAIL: usize = 1 << 20;

/// A longer line is known by its first bytes.
const LINE: usize = 1 << 20;

/// The last bytes of a stream.
#[derive(Debug)]
struct Tail {
    bytes: VecDeque<u8>,
    cap: usize,
    left_out: u64,
}

impl Tail {
    fn new(cap: usize) -> Tail {
        Tail { bytes: VecDeque::new(), cap, left_out: 0 }
    }

    fn push(&mut self, chunk: &[u8]) {
        let kept = &chunk[chunk.len().saturating_sub(self.cap)..];
        let pushed_out = (self.bytes.len() + kept.len()).saturating_sub(self.cap);
        self.bytes.drain(..pushed_out);
        self.bytes.extend(kept);
        self.left_out += (pushed_out + chunk.len() - kept.len()) as u64;
    }

    /// A line that says what is missing, if anything is, and then the last bytes.
    fn finish(self) -> Vec<u8> {
        let mut end = Vec::new();
        if self.left_out > 0 {
            end.extend_from_slice(format!("\n[... {} bytes left out ...]\n", self.left_out).as_bytes());
        }
        end.extend(self.bytes);
        end
    }
}

/// The first and the last bytes of a stream, in memory.
#[derive(Debug)]
pub struct Capped {
    head: Vec<u8>,
    room: usize,
    tail: Tail,
}

impl Capped {
    /// Keeps `keep` bytes at most, beside the line that says what was left out.
    pub fn new(keep: usize) -> Capped {
        let tail = keep / 2;
        Capped { head: Vec::new(), room: keep - tail, tail: Tail::new(tail) }
    }

    pub fn push(&mut self, chunk: &[u8]) {
        let (first, rest) = chunk.split_at(chunk.len().min(self.room));
        self.room -= first.len();
        self.head.extend_from_slice(first);
        self.tail.push(rest);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.head.extend(self.tail.finish());
        self.head
    }
}

/// The log of one run. A disk that fills up loses log, not the run: the first failure is kept for the end.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    room: usize,
    tail: Tail,
    lost: Result<()>,
}

impl Log {
    /// Appends to the file at `path`, making it if it is missing.
    pub fn open(path: &Path) -> Result<Log> {
        let file = append(path)?;
        Ok(Log { path: path.to_owned(), file, room: LOG_HEAD, tail: Tail::new(LOG_TAIL), lost: Ok(()) })
    }

    pub fn push(&mut self, chunk: &[u8]) {
        let (first, rest) = chunk.split_at(chunk.len().min(self.room));
        self.room -= first.len();
        self.write(first);
        self.tail.push(rest);
    }

    /// Writes the end of the output. Tells of the first failure since the log was opened.
    pub fn finish(mut self) -> Result<()> {
        let end = std::mem::replace(&mut self.tail, Tail::new(0)).finish();
        self.write(&end);
        self.lost
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.lost.is_ok() {
            self.lost = self.file.write_all(bytes).map_err(|e| failure("writing the log", &self.path, e));
        }
    }
}

/// A file opened for appending, made if it is missing.
pub fn append(path: &Path) -> Result<File> {
    OpenOptions::new().append(true).create(true).open(path).map_err(|e| failure("opening the log", path, e))
}

/// Cuts a stream into lines without their ends. Of a line longer than 1 MiB only the start is seen.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that `chunk` completes.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8])) {
        let mut rest = chunk;
        while let Some(end) = rest.find_byte(b'\n') {
            self.keep(&rest[..end]);
            rest = &rest[end + 1..];
            each(trimmed(&self.begun));
            self.begun.clear();
        }
        self.keep(rest);
    }

    /// The line that has begun and not ended, such as a prompt.
    pub fn begun(&self) -> &[u8] {
        &self.begun
    }

    /// At the end of the stream a line without its end is a line.
    pub fn finish(&mut self, each: impl FnOnce(&[u8])) {
        if !self.begun.is_empty() {
            each(trimmed(&self.begun));
            self.begun.clear();
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LINE - self.begun.len();
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capped_keeps_both_ends() {
        for chunk in [1, 3, 7, 100] {
            let mut capped = Capped::new(10);
            let whole: Vec<u8> = (b'a'..=b'z').collect();
            whole.chunks(chunk).for_each(|part| capped.push(part));
            assert_eq!(capped.finish().as_bstr(), "abcde\n[... 16 bytes left out ...]\nvwxyz");
        }
        let mut short = Capped::new(11);
        short.push(b"hello ");
        short.push(b"world");
        assert_eq!(short.finish(), b"hello world");
        let mut none = Capped::new(0);
        none.push(b"xyz");
        assert_eq!(none.finish(), b"\n[... 3 bytes left out ...]\n");
    }

    #[test]
    fn log_keeps_both_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = Log::open(&path).unwrap();
        log.push(b"first");
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        for _ in 0..8 {
            log.push(&vec![b'x'; 1 << 20]);
        }
        log.push(b"last");
        log.finish().unwrap();
        let kept = std::fs::read(&path).unwrap();
        assert!(kept.starts_with(b"firstxxx") && kept.ends_with(b"xxxlast"));
        assert!(kept.contains_str("\n[... 3145737 bytes left out ...]\n"));
        assert!(kept.len() < LOG_HEAD + LOG_TAIL + 100);
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so_once() {
        let mut log = Log::open(Path::new("/dev/full")).unwrap();
        log.push(b"first");
        log.push(b"second");
        let lost = log.finish().unwrap_err();
        assert!(format!("{lost:?}").contains("NoSpace"), "{lost:?}");
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = b"one\r\n\ntwo\nthree";
        for chunk in 1..text.len() {
            let (mut lines, mut seen) = (Lines::default(), Vec::new());
            text.chunks(chunk).for_each(|part| lines.push(part, |line| seen.push(line.to_vec())));
            assert_eq!(seen, [&b"one"[..], b"", b"two"]);
            assert_eq!(lines.begun(), b"three");
            lines.finish(|line| seen.push(line.to_vec()));
            lines.finish(|_| panic!("twice"));
            assert_eq!(seen[3], b"three");
        }
    }

    #[test]
    fn a_long_line_is_its_start() {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        for _ in 0..40 {
            lines.push(&[b'a'; 30_000], |_| panic!("no line ended"));
        }
        lines.push(b"b\nshort\n", |line| seen.push(line.to_vec()));
        assert_eq!(seen, [vec![b'a'; LINE], b"short".to_vec()]);
    }
}
