//! Large files by two threads.

use crate::domain::Result;
use crate::fault;
use crate::host::file;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// From how many bytes on two threads are faster than one.
const LARGE: usize = 1 << 18;

/// What `work` makes of each half of `bytes`.
pub fn by_halves<T: Send>(bytes: &[u8], work: impl Fn(&[u8]) -> T + Sync) -> [T; 2] {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    both([first, second], bytes.len(), work)
}

/// The bytes of a file, and what `work` makes of each half of them, or `None` where there is no file.
pub fn read_by_halves<T: Send>(
    path: &Path,
    work: impl Fn(&[u8]) -> T + Sync,
) -> Result<Option<(Vec<u8>, [T; 2])>> {
    let read = || -> io::Result<(Vec<u8>, [T; 2])> {
        fault::file()?;
        let file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let (mut bytes, half) = (vec![0; size], size / 2);
        let (first, second) = bytes.split_at_mut(half);
        let [first, second] = both([(0, first), (half, second)], size, |(at, part)| {
            file.read_exact_at(part, at as u64).map(|()| work(part))
        });
        Ok((bytes, [first?, second?]))
    };
    match read() {
        Ok(read) => Ok(Some(read)),
        Err(e) if file::is_missing(&e) => Ok(None),
        Err(e) => Err(file::failure("reading", path, e)),
    }
}

fn both<P: Send, T: Send>(parts: [P; 2], size: usize, work: impl Fn(P) -> T + Sync) -> [T; 2] {
    let [first, second] = parts;
    if size < LARGE {
        return [work(first), work(second)];
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(second));
        let first = work(first);
        let second = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [first, second]
    })
}
