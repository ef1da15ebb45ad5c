//! Notices that something in a directory changed. Where the system cannot watch it any more, it answers
//! "perhaps" every two seconds: a change may be reported that was none, but none is missed.

use crate::domain::Result;
use crate::host::file::failure;
use notify::Config;
use notify::RecommendedWatcher;
use notify::RecursiveMode;
use notify::Watcher;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::select;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::sleep_until;

/// How often a directory that cannot be watched counts as changed.
const BLIND: Duration = Duration::from_secs(2);

/// A watch on everything below one directory, except what is called `.git`. Ends when dropped.
#[derive(Debug)]
pub struct Watch {
    _watcher: Option<RecommendedWatcher>,
    seen: Arc<Seen>,
    /// When the first change that was not reported yet was seen.
    since: Option<Instant>,
}

#[derive(Debug, Default)]
struct Seen {
    changed: Notify,
    blind: AtomicBool,
}

impl Seen {
    /// Called on the watcher's own thread.
    fn take(&self, root: &Path, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if !matters(root, &event) => {}
            Ok(_) => self.changed.notify_one(),
            Err(_) => {
                self.blind.store(true, Ordering::Relaxed);
                self.changed.notify_one();
            }
        }
    }
}

impl Watch {
    /// Watches `dir`, which must be a directory. Symlinks in it are not followed.
    pub fn new(dir: &Path) -> Result<Watch> {
        if !dir.is_dir() {
            return Err(failure("watching", dir, ErrorKind::NotADirectory.into()));
        }
        let seen = Arc::new(Seen::default());
        let watcher = start(dir.to_owned(), Arc::clone(&seen)).ok();
        seen.blind.store(watcher.is_none(), Ordering::Relaxed);
        Ok(Watch { _watcher: watcher, seen, since: None })
    }

    /// Resolves after a change, when `quiet` has passed without another, or `at_most` since the first one.
    /// May be dropped and called again without losing a change.
    pub async fn settled(&mut self, quiet: Duration, at_most: Duration) {
        let first = match self.since {
            Some(first) => first,
            None => {
                self.change().await;
                *self.since.insert(Instant::now())
            }
        };
        let limit = first + at_most;
        loop {
            select! {
                () = self.seen.changed.notified() => {}
                () = sleep_until(limit.min(Instant::now() + quiet)) => break,
            }
            if Instant::now() >= limit {
                break;
            }
        }
        self.since = None;
    }

    async fn change(&self) {
        let by_the_clock = async {
            if self.seen.blind.load(Ordering::Relaxed) {
                sleep(BLIND).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        select! {
            () = self.seen.changed.notified() => {}
            () = by_the_clock => {}
        }
    }
}

fn start(dir: PathBuf, seen: Arc<Seen>) -> notify::Result<RecommendedWatcher> {
    let root = dir.clone();
    // The tree may be hostile: a link out of it must not make us watch the whole disk.
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(move |event| seen.take(&root, event), config)?;
    watcher.watch(&dir, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// Reading is no change; an event without a path tells that some were lost.
fn matters(root: &Path, event: &notify::Event) -> bool {
    let inside = |path: &PathBuf| {
        let path = path.strip_prefix(root).unwrap_or(path);
        path.iter().all(|part| part != ".git")
    };
    !event.kind.is_access() && (event.paths.is_empty() || event.paths.iter().any(inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::file::read_optional;
    use crate::host::file::replace;
    use std::fs::create_dir_all;
    use tokio::time::timeout;

    const QUIET: Duration = Duration::from_millis(60);
    const LONG: Duration = Duration::from_secs(20);

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    async fn nothing(watch: &mut Watch) -> bool {
        timeout(QUIET * 3, watch.settled(QUIET, LONG)).await.is_err()
    }

    #[test]
    fn a_change_is_reported_when_it_is_quiet() {
        let dir = tempfile::tempdir().unwrap();
        create_dir_all(dir.path().join("sub/.git")).unwrap();
        block_on(async {
            let mut watch = Watch::new(dir.path()).unwrap();
            assert!(nothing(&mut watch).await);
            replace(&dir.path().join("sub/file"), b"x").unwrap();
            let written = Instant::now();
            timeout(LONG, watch.settled(QUIET, LONG)).await.unwrap();
            assert!(written.elapsed() >= QUIET);
            replace(&dir.path().join("sub/.git/index"), b"x").unwrap();
            read_optional(&dir.path().join("sub/file")).unwrap();
            assert!(nothing(&mut watch).await, "neither .git nor reading is a change");
            create_dir_all(dir.path().join("new/deep")).unwrap();
            timeout(LONG, watch.settled(QUIET, LONG)).await.unwrap();
            replace(&dir.path().join("new/deep/file"), b"x").unwrap();
            timeout(LONG, watch.settled(QUIET, LONG)).await.unwrap();
        });
    }

    #[test]
    fn endless_changes_are_reported_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git/own");
        create_dir_all(&path).unwrap();
        block_on(async {
            let mut watch = Watch::new(&path).unwrap();
            let write = async {
                loop {
                    replace(&path.join("file"), b"x").unwrap();
                    sleep(Duration::from_millis(5)).await;
                }
            };
            let started = Instant::now();
            select! {
                () = write => {}
                () = watch.settled(LONG, Duration::from_millis(100)) => {}
            }
            assert!(started.elapsed() >= Duration::from_millis(100) && started.elapsed() < LONG);
        });
    }

    #[test]
    fn a_dropped_wait_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        block_on(async {
            let mut watch = Watch::new(dir.path()).unwrap();
            replace(&dir.path().join("file"), b"x").unwrap();
            while watch.since.is_none() {
                let _ = timeout(Duration::from_millis(5), watch.settled(LONG, LONG)).await;
            }
            timeout(LONG, watch.settled(QUIET, LONG)).await.unwrap();
        });
    }

    #[test]
    fn a_blind_watch_reports_by_the_clock() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let seen = Arc::new(Seen::default());
            let mut watch = Watch { _watcher: None, seen: Arc::clone(&seen), since: None };
            seen.take(Path::new("/"), Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch)));
            watch.settled(Duration::ZERO, LONG).await;
            let started = Instant::now();
            watch.settled(Duration::ZERO, LONG).await;
            assert!(started.elapsed() >= BLIND);
        });
        assert!(Watch::new(Path::new("/no/such/dir")).is_err());
    }
}
