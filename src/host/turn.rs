//! Taking turns at a lock. `flock` wakes whoever happens to look first; under many writers one could wait for
//! ever. So each waiter first draws a ticket: a file of its own beside the lock, numbered, locked as long as
//! its owner waits. A ticket that nobody holds is of a waiter that died, and is passed over. Tickets only give
//! the order: what excludes is the lock alone, so no damage to them can let two in.

use crate::domain::Result;
use crate::host::file::failure;
use crate::host::file::make_dir;
use crate::host::lock::Lock;
use crate::host::lock::attempt;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Who stands at the front looks this often, who stands behind for each one before it as much longer.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

impl Lock {
    /// Takes the lock on `path` in the order of asking. `None` when it is not ours after `wait`.
    pub fn acquire_in_turn(path: &Path, wait: Duration) -> Result<Option<Lock>> {
        let queue = queue_of(path);
        // Nobody waits: no ticket is needed.
        if ahead(&queue, u64::MAX)? == 0
            && let Some(lock) = attempt(path)?
        {
            return Ok(Some(lock));
        }
        let started = Instant::now();
        let ticket = Ticket::draw(&queue)?;
        loop {
            let before = ahead(&queue, ticket.number)?;
            if before == 0
                && let Some(lock) = attempt(path)?
            {
                return Ok(Some(lock));
            }
            let left = wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep((PAUSE * (before + 1)).min(LONGEST_PAUSE).min(left));
        }
    }
}

/// A place in the queue, given up on drop.
struct Ticket {
    number: u64,
    path: PathBuf,
    _held: Lock,
}

impl Ticket {
    fn draw(queue: &Path) -> Result<Ticket> {
        make_dir(queue)?;
        let mut number = numbers(queue)?.last().map_or(0, |last| last + 1);
        loop {
            let path = queue.join(number.to_string());
            if let Some(held) = attempt(&path)? {
                return Ok(Ticket { number, path, _held: held });
            }
            number += 1;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Still locked, so that nobody draws this number between the two. One that stays is passed over.
        let _ = fs::remove_file(&self.path);
    }
}

/// How many living waiters hold a ticket below `number`. Tickets of the dead are removed, under their lock.
fn ahead(queue: &Path, number: u64) -> Result<u32> {
    let mut living = 0;
    for other in numbers(queue)?.into_iter().filter(|n| *n < number) {
        let path = queue.join(other.to_string());
        match attempt(&path)? {
            Some(_dead) => drop(fs::remove_file(&path)),
            None => living += 1,
        }
    }
    Ok(living)
}

/// The numbers drawn, in order. A missing queue is empty.
fn numbers(queue: &Path) -> Result<Vec<u64>> {
    let names = match fs::read_dir(queue) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failure("listing the queue", queue, e)),
    };
    let mut numbers: Vec<u64> =
        names.flatten().filter_map(|name| name.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn queue_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(".queue");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(20);

    fn waiting(path: &Path, count: usize) {
        while numbers(&queue_of(path)).unwrap().len() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn waiters_are_served_in_the_order_of_asking() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("land.lock");
        let first = Lock::acquire_in_turn(&path, LONG).unwrap().unwrap();
        assert!(!queue_of(&path).exists(), "who need not wait draws no ticket");
        let (served, order) = mpsc::channel();
        thread::scope(|scope| {
            for n in 0..8 {
                let (path, served) = (path.clone(), served.clone());
                scope.spawn(move || {
                    let lock = Lock::acquire_in_turn(&path, LONG).unwrap().unwrap();
                    served.send(n).unwrap();
                    drop(lock);
                });
                waiting(dir.path().join("land.lock").as_path(), n + 1);
            }
            drop(first);
        });
        drop(served);
        assert_eq!(order.iter().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        assert!(numbers(&queue_of(&path)).unwrap().is_empty());
    }

    #[test]
    fn tickets_of_the_dead_are_passed_over_and_the_living_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("land.lock");
        let queue = queue_of(&path);
        make_dir(&queue).unwrap();
        fs::File::create(queue.join("0")).unwrap();
        fs::File::create(queue.join("no number")).unwrap();
        drop(Lock::acquire_in_turn(&path, LONG).unwrap().unwrap());
        assert!(numbers(&queue).unwrap().is_empty());
        let before = Ticket::draw(&queue).unwrap();
        // The lock is free, but it is not this one's turn.
        assert!(Lock::acquire_in_turn(&path, Duration::from_millis(5)).unwrap().is_none());
        assert_eq!(numbers(&queue).unwrap(), [before.number]);
        drop(before);
        assert!(Lock::acquire_in_turn(&path, Duration::ZERO).unwrap().is_some());
    }
}
