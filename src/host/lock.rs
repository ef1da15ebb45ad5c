//! Advisory locks that the kernel drops with their holder, whatever way it ends. The file stays: only a
//! held lock means anything, never the presence of the file.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::file::failure;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// [`is_held`] takes the lock for a moment; a single attempt must not fail because somebody looked.
const LOOK: Duration = Duration::from_millis(3);

/// A held lock, released on drop.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock on `path`, making the file if it is missing. `None` when it is still held by another
    /// after `wait`.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Option<Lock>> {
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(lock) = attempt(path)? {
                return Ok(Some(lock));
            }
            let left = wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the lock if nobody holds it.
    pub fn try_acquire(path: &Path) -> Result<Option<Lock>> {
        Lock::acquire(path, LOOK)
    }

    /// Children that are started while it is held hold it too, so that it is free only when they have
    /// ended as well, even if we are killed. [`Drop`] frees it for all of them at once.
    pub fn with_children(self) -> Result<Lock> {
        rustix::io::fcntl_setfd(&self.file, rustix::io::FdFlags::empty())
            .map_err(|e| Failure::fault("sharing a lock with children", std::io::Error::from(e)))?;
        Ok(self)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child between fork and exec still shares the open file.
        let _ = self.file.unlock();
    }
}

/// Whether somebody holds the lock on `path`. A missing file is held by nobody.
pub fn is_held(path: &Path) -> Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(failure("opening the lock", path, e)),
    };
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false).map_err(|e| failure("unlocking", path, e)),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(failure("trying the lock", path, e)),
    }
}

/// One try, which makes the file if it is missing.
pub(super) fn attempt(path: &Path) -> Result<Option<Lock>> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| failure("opening the lock", path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(failure("locking", path, e)),
        }
        let lock = Lock { file };
        // The file may have been deleted since it was opened; then this lock guards nothing.
        if lock.is_at(path)? {
            return Ok(Some(lock));
        }
    }
}

impl Lock {
    fn is_at(&self, path: &Path) -> Result<bool> {
        let mine = self.file.metadata().map_err(|e| failure("checking the lock", path, e))?;
        Ok(fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!is_held(&path).unwrap());
        assert!(!path.exists(), "asking makes nothing");
        let lock = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(is_held(&path).unwrap());
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        let started = Instant::now();
        assert!(Lock::acquire(&path, Duration::from_millis(30)).unwrap().is_none());
        assert!(started.elapsed() >= Duration::from_millis(30));
        drop(lock);
        assert!(!is_held(&path).unwrap());
        assert!(path.exists());
    }

    #[test]
    fn a_waiter_gets_it_when_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::try_acquire(&path).unwrap().unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| Lock::acquire(&path, Duration::from_secs(20)).unwrap().is_some());
            thread::sleep(Duration::from_millis(20));
            drop(lock);
            assert!(waiter.join().unwrap());
        });
    }

    #[test]
    fn a_deleted_lock_file_guards_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let old = Lock::try_acquire(&path).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        let new = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(!old.is_at(&path).unwrap());
        assert!(new.is_at(&path).unwrap());
    }

    #[test]
    fn looking_does_not_disturb_a_taker() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        drop(Lock::try_acquire(&path).unwrap());
        thread::scope(|scope| {
            scope.spawn(|| (0..2000).for_each(|_| _ = is_held(&path).unwrap()));
            for _ in 0..500 {
                let wait = Duration::from_secs(5);
                assert!(Lock::acquire(&path, wait).unwrap().is_some());
            }
        });
    }

    #[test]
    fn a_directory_cannot_be_locked() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Lock::try_acquire(dir.path()).is_err());
    }
}
