//! Somebody's `git gc --prune=now` while refs move: what no ref names yet it takes away, and what a ref names since
//! it began too. So what was written is looked for once more when refs have moved, and written again where it is gone.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::durable;
use crate::plumbing::repo::Repo;
use std::path::Path;

/// How often new objects are written again before that is given up.
const TRIES: usize = 20;

/// So many bytes are held to be written again. What is more than that is only looked for.
const HELD: usize = 32 << 20;

/// Past so many moves a ref names what was written, or none ever will: a receipt is written before the branch moves, and
/// named after that.
const MOVES: u8 = 3;

/// An object that was written, and its bytes while there is room for them.
#[derive(Debug)]
pub(super) struct Fresh {
    oid: Oid,
    kind: gix::objs::Kind,
    bytes: Option<Vec<u8>>,
    moves: u8,
}

/// What was written lately.
#[derive(Debug, Default)]
pub(super) struct Newborn {
    all: Vec<Fresh>,
    held: usize,
}

impl Newborn {
    pub fn add(&mut self, oid: Oid, kind: gix::objs::Kind, bytes: &[u8]) {
        let room = self.held + bytes.len() <= HELD;
        let bytes = room.then(|| bytes.to_vec());
        self.held += bytes.as_ref().map_or(0, Vec::len);
        self.all.push(Fresh { oid, kind, bytes, moves: 0 });
    }

    /// Refs have moved once more.
    fn age(&mut self) {
        self.all.iter_mut().for_each(|one| one.moves += 1);
        self.all.retain(|one| one.moves < MOVES);
        self.held = self.all.iter().filter_map(|one| one.bytes.as_ref()).map(Vec::len).sum();
    }
}

impl Repo {
    /// When it returns, nobody can take away what was written for the refs that have just moved.
    pub(super) fn outlive_collections(&self) -> Result<()> {
        let mut newborn = self.objects.newborn.borrow_mut();
        let done = self.keep(&newborn.all);
        newborn.age();
        done
    }

    fn keep(&self, fresh: &[Fresh]) -> Result<()> {
        let common = self.dirs.common.as_path();
        for _ in 0..TRIES {
            let running = is_running(common);
            let there = self.objects.on_disk();
            let gone: Vec<&Fresh> = fresh.iter().filter(|one| !there(one.oid)).collect();
            if gone.is_empty() && !running {
                return Ok(());
            }
            for one in &gone {
                let Some(bytes) = &one.bytes else { return Err(lost(one.oid)) };
                self.objects.write_file(one.oid, one.kind, bytes)?;
            }
            let oids: Vec<Oid> = gone.iter().map(|one| one.oid).collect();
            let synced = durable::objects(&self.objects, &oids);
            if oids.iter().copied().all(self.objects.on_disk()) {
                synced?;
            }
            // A pack that is made now it does not know, or it finds the refs as they are now.
            if running && self.pack(fresh)? {
                return Ok(());
            }
        }
        Err(fresh.first().map_or_else(|| Failure::fault("keeping objects", "none"), |one| lost(one.oid)))
    }

    /// Whether all of them are in a pack now.
    fn pack(&self, fresh: &[Fresh]) -> Result<bool> {
        let listed: String = fresh.iter().map(|one| format!("{}\n", one.oid)).collect();
        let place = self.objects.dir().join("pack/pack");
        let call = self.call(&["pack-objects", "-q", "--window=0"]).arg(&place);
        let packed = self.git.run(&call.stdin(listed.as_bytes()))?;
        if packed.ok() {
            durable::sync(&self.objects.dir().join("pack"))?;
        }
        Ok(packed.ok())
    }
}

fn lost(oid: Oid) -> Failure {
    Failure::fault(format!("keeping object {oid}"), "git gc removed it while it was written")
}

/// Whether a `git gc` is at work in the repository, by the file with its process that it keeps there.
fn is_running(common: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(common.join("gc.pid")) else { return false };
    let number = text.split(' ').next().and_then(|word| word.trim().parse().ok());
    let process = number.and_then(rustix::process::Pid::from_raw);
    process.is_none_or(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}
