//! Objects as files of their own, as git writes them. gix does that too, but sets up a compressor of 300 KB for
//! each, which costs more than a small object does.

use gix::objs::Kind;
use gix::zlib::Compression;
use gix::zlib::Status;
use gix::zlib::stream::deflate::Compress;
use gix::zlib::stream::deflate::FlushCompress;
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes handed to the compressor at once: it counts them in 32 bits.
const PIECE: usize = 1 << 24;

/// The one compressor of a process, made with its first object.
#[derive(Default)]
pub(super) struct ObjectFiles(RefCell<Option<Compress>>);

impl ObjectFiles {
    /// Writes an object of the store at `dir` to `path`, the place that its id gives it there.
    pub fn write(&self, dir: &Path, path: &Path, kind: Kind, bytes: &[u8]) -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // Under a name that git's gc removes, should we die here.
        builder.prefix("tmp_obj_").permissions(std::fs::Permissions::from_mode(0o444));
        let mut file = builder.tempfile_in(dir)?;
        let header = gix::objs::encode::loose_header(kind, bytes.len() as u64);
        self.deflate([header.as_slice()].into_iter().chain(bytes.chunks(PIECE)), file.as_file_mut())?;
        begin_writing_back(file.as_file());
        let Err(error) = file.persist(path) else { return Ok(()) };
        if error.error.kind() != io::ErrorKind::NotFound {
            return Err(error.error);
        }
        // The first object of its folder.
        match path.parent().map(std::fs::create_dir) {
            Some(Err(e)) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        error.file.persist(path).map(drop).map_err(|e| e.error)
    }

    fn deflate<'p>(&self, pieces: impl Iterator<Item = &'p [u8]>, to: &mut File) -> io::Result<()> {
        let mut compressor = self.0.borrow_mut();
        let compressor = compressor.get_or_insert_with(|| Compress::new(Compression::BEST_SPEED));
        compressor.reset();
        let mut packed = Vec::with_capacity(4096);
        for piece in pieces {
            push(compressor, piece, FlushCompress::None, &mut packed, to)?;
        }
        push(compressor, &[], FlushCompress::Finish, &mut packed, to)?;
        to.write_all(&packed)
    }
}

/// Compresses all of `piece`; what is ready is in `packed`, and in `to` when that is full.
fn push(
    compressor: &mut Compress,
    mut piece: &[u8],
    flush: FlushCompress,
    packed: &mut Vec<u8>,
    to: &mut File,
) -> io::Result<()> {
    let mut room = [0; 16 << 10];
    loop {
        let (taken, given) = (compressor.total_in(), compressor.total_out());
        let status = compressor.compress(piece, &mut room, flush).map_err(io::Error::other)?;
        piece = &piece[(compressor.total_in() - taken) as usize..];
        let given = (compressor.total_out() - given) as usize;
        packed.extend_from_slice(&room[..given]);
        if packed.len() > room.len() {
            to.write_all(packed)?;
            packed.clear();
        }
        let done = match flush {
            FlushCompress::Finish => matches!(status, Status::StreamEnd),
            _ => piece.is_empty() && given < room.len(),
        };
        if done {
            return Ok(());
        }
    }
}

/// The disk starts on it while we go on: who syncs the file later waits less.
#[cfg(target_os = "linux")]
fn begin_writing_back(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn begin_writing_back(_file: &File) {}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "an object is spoiled by hand")]
mod tests {
    use super::*;
    use crate::plumbing::objects::Objects;

    #[test]
    fn git_reads_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::open(dir.path(), "sha1").unwrap();
        // More than one piece of room, and such that cannot be compressed.
        let mut noise = Vec::new();
        let mut seed = 1_u64;
        while noise.len() < 300_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            noise.push((seed >> 56) as u8);
        }
        for bytes in [b"".as_slice(), b"one line\n", &[b'x'; 100_000], &noise] {
            let oid = objects.write_blob(bytes).unwrap();
            assert!(objects.loose_path(oid).is_file());
            let again = Objects::open(dir.path(), "sha1").unwrap();
            assert_eq!(again.blob(oid).unwrap(), bytes);
            let repo = git2::Odb::new().unwrap();
            repo.add_disk_alternate(&dir.path().to_string_lossy()).unwrap();
            let read = repo.read(git2::Oid::from_str(&oid.to_string()).unwrap()).unwrap();
            assert_eq!(read.data(), bytes);
        }
    }

    #[test]
    fn what_a_power_cut_left_of_an_object_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let oid = Objects::open(dir.path(), "sha1").unwrap().write_blob(b"one\n").unwrap();
        let path = Objects::open(dir.path(), "sha1").unwrap().loose_path(oid);
        for left in [&b""[..], &[0; 19]] {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, left).unwrap();
            let objects = Objects::open(dir.path(), "sha1").unwrap();
            assert_eq!(objects.write_blob(b"one\n").unwrap(), oid);
            assert_eq!(Objects::open(dir.path(), "sha1").unwrap().blob(oid).unwrap(), b"one\n");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let files = ObjectFiles::default();
        let gone = dir.path().join("gone");
        assert!(files.write(&gone, &gone.join("aa/bb"), Kind::Blob, b"x").is_err());
    }
}
