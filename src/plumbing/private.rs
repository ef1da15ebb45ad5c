//! A private common folder: what a jailed worker has where the repository's own stands. It may do there
//! whatever git can do, and nobody else sees it. From outside it is hostile: only the value of its `HEAD`, the
//! ids in its logs and its objects are taken, and no configuration of it counts.

use crate::domain::Config;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::capture::read_below;
use crate::plumbing::disk;
use crate::plumbing::git::Call;
use crate::plumbing::git::Output;
use crate::plumbing::git::git_dir;
use crate::plumbing::quota::NO_COMMIT;
use crate::plumbing::quota::Quota;
use crate::plumbing::quota::sizes;
use crate::plumbing::quota::stays_out;
use crate::plumbing::quota::within;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use bstr::ByteSlice;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Where the jail shows the repository's own objects, below the private folder.
pub const STORE: &str = "store";

/// Of a file of refs or of a log. Larger ones are not ours to read.
const LISTED: u64 = 16 << 20;

/// So many objects at most come in as files of their own, and not as a pack.
const LOOSE: usize = 200;

/// How many commits that `HEAD` has left behind are looked for.
const STRAYS: usize = 1000;

/// A private common folder of one worktree.
#[derive(Debug, Clone)]
pub struct Private {
    pub dir: PathBuf,
    /// The worktree's own folder below it.
    admin: PathBuf,
}

impl Private {
    /// The one at `dir` for the worktree that `admin` registers.
    pub fn of(dir: PathBuf, admin: &Admin) -> Private {
        let name = admin.dir.file_name().unwrap_or_default();
        Private { admin: Path::new("worktrees").join(name), dir }
    }

    /// What the packs that came in from it are kept with, while nothing names them.
    fn mark(&self) -> String {
        format!("git-skein {}", self.dir.file_name().unwrap_or_default().to_string_lossy())
    }

    /// What changes whenever its `HEAD` moves.
    pub fn watched(&self) -> PathBuf {
        self.dir.join(&self.admin)
    }

    /// Where `HEAD` is, if that can be told.
    fn head(&self) -> Option<Oid> {
        let head = self.read(&self.admin.join("HEAD"))?;
        let head = head.trim();
        let Some(name) = head.strip_prefix(b"ref: ") else { return head.to_str().ok()?.parse().ok() };
        let name = RefName::new(name.trim().to_str().ok()?).ok()?;
        let loose = self.read(Path::new(name.as_str()));
        if let Some(oid) = loose.and_then(|text| text.trim().to_str().ok()?.parse().ok()) {
            return Some(oid);
        }
        let packed = self.read(Path::new("packed-refs"))?;
        let line = packed.lines().find_map(|line| {
            let (oid, of) = line.split_once_str(" ")?;
            (of == name.as_str().as_bytes()).then_some(oid)
        });
        line?.to_str().ok()?.parse().ok()
    }

    /// The commits that its `HEAD` and its stash have been at, newest first.
    fn ever(&self) -> Vec<Oid> {
        let logs = [self.admin.join("logs/HEAD"), PathBuf::from("logs/refs/stash")];
        let logs = logs.iter().filter_map(|log| self.read(log));
        let mut found: Vec<Oid> =
            logs.flat_map(|log| crate::plumbing::worktree::logged(&log)).take(STRAYS).collect();
        let mut seen = BTreeSet::new();
        found.retain(|oid| seen.insert(*oid));
        found
    }

    fn read(&self, below: &Path) -> Option<Vec<u8>> {
        read_below(&self.dir, below, LISTED)
    }
}

impl Repo {
    /// Makes the private folder of a worktree at `dir`, as the repository is now. What stood there is made anew.
    pub fn make_private(&self, dir: &Path, admin: &Admin, config: &Config) -> Result<Private> {
        let private = Private::of(dir.to_owned(), admin);
        let made = || -> io::Result<()> {
            if dir.exists() {
                fs::remove_dir_all(dir)?;
            }
            for folder in ["objects/info", "objects/pack", "refs/heads", "info", "hooks", STORE] {
                fs::create_dir_all(dir.join(folder))?;
            }
            put(&dir.join("objects/info/alternates"), &format!("../{STORE}\n"))?;
            put(&dir.join("config"), &private_config(config, self.objects.format()))?;
            copy_tree(&admin.dir, &private.watched())?;
            for file in ["shallow", "info/exclude", "info/attributes", "info/sparse-checkout"] {
                copy_if_there(&self.dirs.common.join(file), &dir.join(file))?;
            }
            Ok(())
        };
        made().map_err(|e| disk::io(format!("making {}", dir.display()), e))?;
        let refs = self.refs(&["refs/heads", "refs/tags", "refs/remotes"])?;
        let mut packed = String::from("# pack-refs with: sorted \n");
        for known in refs.iter().filter(|r| r.points_at.is_none()) {
            packed.push_str(&format!("{} {}\n", known.oid, known.name));
        }
        let head = format!("{}\n", self.head_of(admin)?.unwrap_or(self.objects.null()));
        let write = |path: PathBuf, text: &str| {
            put(&path, text).map_err(|e| disk::io(format!("writing {}", path.display()), e))
        };
        write(dir.join("packed-refs"), &packed)?;
        write(dir.join("HEAD"), &head)?;
        write(private.watched().join("HEAD"), &head)?;
        Ok(private)
    }

    /// Takes in what the worker has committed in its private folder since `base`: its objects come into the
    /// repository's own store, checked, and the worktree's real `HEAD` follows the private one, by way of what
    /// it has left behind. What must not come in is a refusal, and nothing moved; of a `HEAD` that is at no commit, the
    /// last that it has left is.
    pub fn take_in(&self, private: &Private, admin: &Admin, base: Oid, quota: &Quota) -> Result<()> {
        let now = self.head_of(admin)?;
        let Some(head) = private.head() else { return Ok(()) };
        let known: BTreeSet<Oid> = self.heads_ever(admin)?.into_iter().chain(now).collect();
        let strays: Vec<Oid> =
            private.ever().into_iter().filter(|o| !known.contains(o) && *o != head).collect();
        if now == Some(head) && strays.is_empty() && self.objects.exists(head) {
            return Ok(());
        }
        let mut wanted: Vec<Oid> = strays.iter().rev().copied().chain([head]).collect();
        wanted.retain(|oid| !self.objects.exists(*oid));
        if !wanted.is_empty() {
            // What came in before may not be whole, and nothing can build on it; then all of it comes anew.
            let onto = |known| self.bring(private, &wanted, base, known, quota);
            onto(now).or_else(|failed| now.map_or(Err(failed), |_| onto(None)))?;
        }
        let come: Vec<Oid> =
            strays.into_iter().rev().chain([head]).filter(|oid| self.objects.is_commit(*oid)).collect();
        self.weigh(&come, base, quota)?;
        self.move_head(admin, now, &come)?;
        self.bring_again(private, admin, base, quota)?;
        let whole = come.last() == Some(&head);
        if whole { Ok(()) } else { Err(stays_out(NO_COMMIT, Vec::new()).oid("HEAD", head).into()) }
    }

    /// Takes away what keeps packs from being repacked before anything names their objects.
    pub fn let_go_of(&self, mark: &str) -> Result<()> {
        let packs = self.dirs.common.join("objects/pack");
        for file in fs::read_dir(&packs).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let kept = file.extension().is_some_and(|kind| kind == "keep");
            if kept && fs::read(&file).is_ok_and(|text| text.trim_end() == mark.as_bytes()) {
                let gone = disk::gone(fs::remove_file(&file));
                gone.map_err(|e| disk::io(format!("removing {}", file.display()), e))?;
            }
        }
        Ok(())
    }

    /// Brings in again what came in since `base` and is not whole any more: a garbage collection or a repack that
    /// began before drops what it did not yet see named.
    pub fn bring_again(&self, private: &Private, admin: &Admin, base: Oid, quota: &Quota) -> Result<()> {
        let ever = self.heads_ever(admin)?.into_iter().chain(self.head_of(admin)?);
        let tips: Vec<Oid> = ever.filter(|oid| *oid != base).collect();
        let asked: String = tips.iter().map(|tip| format!("{tip}\n")).chain([format!("^{base}\n")]).collect();
        let whole = self.call(&["rev-list", "--objects", "--quiet", "--stdin"]).reads();
        if !self.git.run(&whole.stdin(asked.as_bytes()))?.ok() {
            self.bring(private, &tips, base, None, quota)?;
        }
        self.let_go_of(&private.mark())
    }

    /// Moves the worktree's `HEAD` from `from` by way of each of `way`. What came in is not named before this ends,
    /// so that all moves are one process.
    fn move_head(&self, admin: &Admin, from: Option<Oid>, way: &[Oid]) -> Result<()> {
        let (mut at, mut moves) = (from, String::new());
        for to in way.iter().copied() {
            if at != Some(to) {
                let old = at.map(|oid| oid.to_string()).unwrap_or_default();
                moves.push_str(&format!("start\0update HEAD\0{to}\0{old}\0prepare\0commit\0"));
            }
            at = Some(to);
        }
        let args = ["update-ref", "--no-deref", "--create-reflog", "-m", "taken in", "-z", "--stdin"];
        self.git.expect(&Call::new([git_dir(&admin.dir)]).args(&args).stdin(moves.as_bytes())).map(drop)
    }

    /// Packs what is new in `tips` and takes the pack through git's own checks.
    fn bring(
        &self,
        private: &Private,
        tips: &[Oid],
        base: Oid,
        now: Option<Oid>,
        quota: &Quota,
    ) -> Result<()> {
        let store = private.dir.join("objects");
        if !store.symlink_metadata().is_ok_and(|m| m.is_dir())
            || private.read(Path::new("objects/info/alternates")).as_deref()
                != Some(format!("../{STORE}\n").as_bytes())
        {
            return Err(quarantined("its private store names another one", Vec::new()));
        }
        let beside = |args: &[&str]| {
            self.call(args).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted_store(&store)).reads()
        };
        let mut asked = String::new();
        for tip in tips {
            asked.push_str(&format!("{tip}\n"));
        }
        for known in [Some(base), now].into_iter().flatten() {
            asked.push_str(&format!("^{known}\n"));
        }
        // A log may name what is gone; only the tip itself must be whole.
        let list = beside(&["rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"]);
        let listed = self.git.run(&list.stdin(asked.as_bytes()))?;
        if !listed.ok() {
            return Err(quarantined("its objects do not hang together", vec![listed.words()]));
        }
        let count = listed.stdout.lines().count();
        if count > quota.objects {
            return Err(quarantined(&format!("{count} objects are more than {}", quota.objects), Vec::new()));
        }
        let sizes = beside(&["cat-file", "--batch-check=%(objectsize) %(objectname)", "--buffer"]);
        let sizes = self.git.expect(&sizes.stdin(&listed.stdout))?;
        self.refuse_sizes(&sizes.stdout, quota)?;
        let pack =
            beside(&["-c", "core.bigFileThreshold=16m", "pack-objects", "-q", "--stdout", "--window=0"]);
        let (packed, taken, _) = self.take_pack(pack, &listed.stdout, &private.mark())?;
        // Who reads no further ends who writes.
        if !packed.ok() && packed.code >= 0 {
            return Err(quarantined("its objects cannot be packed", vec![packed.words()]));
        }
        if !taken.ok() {
            return Err(quarantined("git refuses its objects", vec![taken.words()]));
        }
        Ok(())
    }

    /// Makes a pack of the `listed` objects by `pack` and takes it through git's own checks into the repository's store;
    /// how both ended, and whether it came in as a pack that is kept as `mark` says, and not as files.
    pub(super) fn take_pack<'a>(
        &self,
        pack: Call<'a>,
        listed: &'a [u8],
        mark: &str,
    ) -> Result<(Output, Output, bool)> {
        let keep = format!("--keep={mark}");
        let kept = listed.lines().count() > LOOSE || self.may_lose(listed);
        let take: &[&str] = match kept {
            true => &["index-pack", "--stdin", "--strict", &keep],
            false => &["unpack-objects", "-q", "--strict"],
        };
        let take = self.call(&["-c", "core.bigFileThreshold=16m"]).args(take);
        let (packed, taken) = self.git.pipe(&pack.stdin(listed), &take)?;
        Ok((packed, taken, kept))
    }

    /// Whether objects that come in as files could be lost before a ref names them. A collection that runs now may
    /// pack them, and a repack drops packed objects that no ref named when it began; so it does with those that
    /// are here already, and would not be written again. A pack that is kept stays.
    fn may_lose(&self, objects: &[u8]) -> bool {
        let packs = fs::read_dir(self.dirs.common.join("objects/pack")).into_iter().flatten().flatten();
        let unfinished = |name: &str| name.starts_with("tmp_") || name.starts_with(".tmp-");
        let here = |line: &[u8]| line.to_str().ok()?.parse().ok().map(|oid| self.objects.exists(oid));
        self.dirs.common.join("gc.pid").exists()
            || packs.into_iter().any(|file| unfinished(&file.file_name().to_string_lossy()))
            || objects.lines().any(|line| here(line).unwrap_or(false))
    }

    fn refuse_sizes(&self, listed: &[u8], quota: &Quota) -> Result<()> {
        within(sizes(listed), quota).map_err(Failure::Refusal)
    }

    /// Makes the index of the worktree that of its `HEAD`. Unlike a reset this looks at no file: that could run
    /// a filter which the worker's attributes name.
    pub fn reset_index(&self, admin: &Admin) -> Result<()> {
        self.git.expect(&in_worktree(admin, &["read-tree", "HEAD"])).map(drop)
    }
}

fn quarantined(what: &str, lines: Vec<String>) -> Failure {
    stays_out(what, lines).into()
}

/// One entry of a list of stores: git splits it at colons unless it is quoted.
pub(super) fn quoted_store(path: &Path) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::ffi::OsStringExt;
    let mut out = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
    OsString::from_vec(out)
}

/// What a worker needs to know of the person's settings: how files are stored and how git behaves, and nothing
/// that names a remote, holds a secret or starts a program for the person.
fn private_config(config: &Config, format: &str) -> String {
    let mut text =
        String::from("[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tlogallrefupdates = true\n");
    text.push_str(&format!("[extensions]\n\tobjectformat = {format}\n"));
    for (key, value) in config.iter().filter(|(key, _)| is_harmless(key)) {
        let (section, name) = key.rsplit_once('.').unwrap_or((key, ""));
        let header = match section.split_once('.') {
            Some((section, of)) => format!("{section} \"{}\"", escaped(of)),
            None => section.to_owned(),
        };
        text.push_str(&format!("[{header}]\n\t{name} = \"{}\"\n", escaped(value)));
    }
    text
}

fn is_harmless(key: &str) -> bool {
    const SINGLE: &[&str] = &[
        "core.filemode",
        "core.symlinks",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.autocrlf",
        "core.eol",
        "core.safecrlf",
        "core.sparsecheckout",
        "core.sparsecheckoutcone",
        "core.quotepath",
        "user.name",
        "user.email",
    ];
    let section = key.split('.').next().unwrap_or_default();
    SINGLE.contains(&key)
        || matches!(section, "filter" | "diff" | "merge" | "rebase" | "pull" | "init" | "i18n")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}

#[expect(clippy::disallowed_methods, reason = "nobody reads the folder before it is whole")]
fn put(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
}

fn copy_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from, to) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &to)?;
        } else if to.extension().is_none_or(|kind| kind != "lock") {
            // A lock is of a git that works here now; in the copy nobody would ever free it.
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_not_copied() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("logs")).unwrap();
        for file in ["HEAD", "HEAD.lock", "logs/HEAD", "logs/HEAD.lock"] {
            put(&from.path().join(file), file).unwrap();
        }
        copy_tree(from.path(), &to.path().join("copy")).unwrap();
        let there = |file: &str| to.path().join("copy").join(file).exists();
        assert!(there("HEAD") && there("logs/HEAD") && !there("HEAD.lock") && !there("logs/HEAD.lock"));
    }
}
