//! Worktrees: listed, made detached and locked, checked out, moved from tree to tree, removed.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::git::Call;
use crate::plumbing::git::git_dir;
use crate::plumbing::git::work_tree;
use crate::plumbing::repo::Repo;
use bstr::BString;
use bstr::ByteSlice;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// A worktree as git lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worktree {
    pub path: PathBuf,
    /// Its administrative folder.
    dir: PathBuf,
    pub branch: Option<RefName>,
    pub bare: bool,
    /// The reason it is locked with, if it is.
    pub locked: Option<String>,
}

/// One path that `git status` reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dirty {
    pub path: BString,
    /// git's two letters: index and working tree, `.` where equal; `??` for untracked.
    pub state: String,
}

/// Whether `git status` lists what is not tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    List,
    Skip,
}

/// The folder of a worktree inside the shared git folder (for the main one, that folder itself).
#[derive(Debug, Clone)]
pub struct Admin {
    pub dir: PathBuf,
    pub path: PathBuf,
}

impl Worktree {
    pub fn admin(&self) -> Admin {
        Admin { dir: self.dir.clone(), path: self.path.clone() }
    }
}

impl Repo {
    /// All worktrees, the main one first.
    pub fn worktrees(&self) -> Result<Vec<Worktree>> {
        let mut found = if self.is_reftable() { self.listed()? } else { self.registered()? };
        if let Some(main) = found.first_mut() {
            self.place_main(main)?;
        }
        Ok(found)
    }

    /// git lists the main worktree as the folder around `.git`, or as the git folder itself. A submodule, a
    /// git folder kept apart and `GIT_WORK_TREE` have it elsewhere.
    fn place_main(&self, main: &mut Worktree) -> Result<()> {
        let unplaced = main.path == self.dirs.common;
        let here = self.dirs.work_tree.as_ref().filter(|_| self.dirs.git == self.dirs.common);
        let named = self.git.person("GIT_WORK_TREE").is_some();
        // With `GIT_DIR` alone, git takes any folder it is called in for the working tree.
        if let Some(here) = here.filter(|_| named || unplaced || self.git.person("GIT_DIR").is_none()) {
            main.path.clone_from(here);
            if main.bare {
                main.bare = false;
                let head = self.git.run(&self.call(&["symbolic-ref", "--quiet", "HEAD"]).reads())?;
                main.branch = RefName::new(head.text()).ok();
            }
        } else if unplaced && !main.bare {
            let said = self.git.run(&self.call(&["config", "--get", "core.worktree"]).reads())?;
            if said.ok() {
                let path = self.dirs.common.join(said.text());
                main.path = std::fs::canonicalize(&path).unwrap_or(path);
            }
        }
        Ok(())
    }

    /// As git lists them.
    fn listed(&self) -> Result<Vec<Worktree>> {
        let listed = self.git.expect(&self.call(&["worktree", "list", "--porcelain", "-z"]).reads())?;
        let mut found = parse_worktrees(&listed.stdout);
        for (index, worktree) in found.iter_mut().enumerate() {
            worktree.dir = match index {
                0 => self.dirs.common.clone(),
                // One that went meanwhile is nowhere.
                _ => self.admin_of(&worktree.path).map(|admin| admin.dir).unwrap_or_default(),
            };
        }
        Ok(found)
    }

    /// The same from the administrative folders, laid out as gitrepository-layout(5) says.
    fn registered(&self) -> Result<Vec<Worktree>> {
        let common = &self.dirs.common;
        let main = if self.dirs.bare || common.file_name() != Some(".git".as_ref()) {
            let branch = branch_at(common)?.filter(|_| !self.dirs.bare);
            Worktree { path: common.clone(), dir: common.clone(), branch, bare: self.dirs.bare, locked: None }
        } else {
            let path = common.parent().map(Path::to_owned).unwrap_or_default();
            Worktree { path, dir: common.clone(), branch: branch_at(common)?, ..Worktree::default() }
        };
        let mut linked = Vec::new();
        for dir in
            std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().map(|e| e.path())
        {
            let Some(path) = checkout_of(&dir)? else { continue };
            let locked = disk::read_optional(&dir.join("locked"))?;
            let locked = locked.map(|text| text.trim_end().to_str_lossy().into_owned());
            linked.push(Worktree { path, branch: branch_at(&dir)?, bare: false, locked, dir });
        }
        linked.sort_by(|a, b| a.path.cmp(&b.path));
        Ok([main].into_iter().chain(linked).collect())
    }

    /// The branch of a checkout that `core.bare` denies: a bare repository has no index.
    pub fn denied_checkout(&self) -> Result<Option<RefName>> {
        let common = &self.dirs.common;
        let has_tree = common.file_name() == Some(".git".as_ref()) && common.join("index").is_file();
        if self.dirs.bare && has_tree { branch_at(common) } else { Ok(None) }
    }

    /// The administrative folder of the worktree at `path`, if one is registered there.
    pub fn admin_of(&self, path: &Path) -> Option<Admin> {
        let entries = std::fs::read_dir(self.dirs.common.join("worktrees")).ok()?;
        let dir = entries
            .flatten()
            .map(|e| e.path())
            .find(|d| checkout_of(d).is_ok_and(|of| of.as_deref() == Some(path)))?;
        Some(Admin { dir, path: path.to_owned() })
    }

    /// Every locked administrative folder, half-made ones too, each with the reason and with the folder of its
    /// worktree if that says itself that it is.
    pub fn locked_admins(&self) -> Result<Vec<(String, Admin, Option<PathBuf>)>> {
        let entries = std::fs::read_dir(self.dirs.common.join("worktrees")).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for dir in entries.map(|e| e.path()) {
            let Some(reason) = disk::read_optional(&dir.join("locked"))? else { continue };
            let named = checkout_of(&dir)?;
            let path = named.clone().filter(|path| names_back(path, &dir));
            let named = named.unwrap_or_default();
            found.push((reason.trim().to_str_lossy().into_owned(), Admin { dir, path: named }, path));
        }
        Ok(found)
    }

    /// Those that are locked with `reason`.
    pub fn admins_locked_with(&self, reason: &str) -> Result<Vec<(Admin, Option<PathBuf>)>> {
        let all = self.locked_admins()?.into_iter();
        Ok(all.filter(|(said, ..)| said == reason).map(|(_, admin, path)| (admin, path)).collect())
    }

    /// Locks the worktree with another reason, in one step.
    pub fn relock(&self, admin: &Admin, reason: &str) -> Result<()> {
        let failed = |e: std::io::Error| disk::io(format!("locking {}", admin.path.display()), e);
        crate::fault::file().map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(&admin.dir).map_err(failed)?;
        writeln!(file, "{reason}").and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(admin.dir.join("locked")).map_err(|e| failed(e.error))?;
        crate::plumbing::durable::sync(&admin.dir)
    }

    /// Whether the worktree stands where `admin` says, and says itself that it is this one. A copy of a
    /// repository names the worktrees of the first.
    pub fn stands(&self, admin: &Admin) -> bool {
        admin.dir == self.dirs.common && admin.path.exists() || worktree_of(&admin.dir).is_some()
    }

    /// Registers a detached, locked worktree at `path` without files.
    pub fn register_worktree(&self, path: &Path, commit: Oid, reason: &str) -> Result<Admin> {
        let call = self
            .call(&["worktree", "add", "--quiet", "--detach", "--no-checkout", "--lock", "--reason", reason])
            .arg("--")
            .arg(path)
            .arg(commit.to_string());
        self.git.expect(&call)?;
        // git resolves symbolic links in the path it registers.
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.admin_of(&real).ok_or_else(|| {
            Failure::fault(format!("making worktree {}", path.display()), "git did not register it")
        })
    }

    /// Fills the worktree with the files of its `HEAD`. Nobody waits for the disk: what is lost of it is
    /// made again.
    pub fn check_out(&self, admin: &Admin) -> Result<()> {
        let args = ["-c", "core.fsync=none", "read-tree", "-m", "-u", "HEAD"];
        self.git.expect(&in_worktree(admin, &args)).map(drop)
    }

    /// Moves the worktree's `HEAD`, by way of the branch that it is at, from `old` to `new`, and its index with it.
    /// False if it was not at `old`.
    pub fn advance(&self, admin: &Admin, new: Oid, old: Oid) -> Result<bool> {
        let (new, old) = (new.to_string(), old.to_string());
        let moving = ["update-ref", "--create-reflog", "-m", "commit: by git-skein", "HEAD", &new, &old];
        if !self.git.run(&in_worktree(admin, &moving))?.ok() {
            return Ok(false);
        }
        self.git.expect(&in_worktree(admin, &["reset", "--quiet"])).map(|_| true)
    }

    /// The commit at the worktree's `HEAD`, read through its administrative folder.
    pub fn head_of(&self, admin: &Admin) -> Result<Option<Oid>> {
        if !self.is_reftable() {
            let text = disk::read(&admin.dir.join("HEAD")).unwrap_or_default();
            return match branch_at(&admin.dir)? {
                Some(branch) => Ok(self.read_refs(&[&branch])?.pop().flatten()),
                None => Ok(text.to_str_lossy().trim_end().parse().ok()),
            };
        }
        let call =
            Call::new([git_dir(&admin.dir)]).args(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let found = self.git.run(&call.reads())?;
        if found.ok() { found.text().parse().map(Some) } else { Ok(None) }
    }

    /// Every commit that the worktree's `HEAD` has ever been at, by its reflog.
    pub fn heads_ever(&self, admin: &Admin) -> Result<Vec<Oid>> {
        let mut heads = self.logged(&admin.dir, "HEAD")?;
        heads.sort_unstable();
        heads.dedup();
        Ok(heads)
    }

    /// The entries of the stash, which all worktrees share, newest first.
    pub fn stash(&self) -> Result<Vec<Oid>> {
        self.logged(&self.dirs.common, "refs/stash")
    }

    /// What a ref has been at, by its reflog. Nothing if there is no such ref.
    fn logged(&self, dir: &Path, name: &str) -> Result<Vec<Oid>> {
        if !self.is_reftable() {
            return Ok(logged(&disk::read(&dir.join("logs").join(name)).unwrap_or_default()));
        }
        let call = Call::new([git_dir(dir)]).args(&["rev-list", "--walk-reflogs", name, "--"]);
        let found = self.git.run(&call.reads())?;
        Ok(found.stdout.lines().filter_map(|l| l.to_str_lossy().parse().ok()).collect())
    }

    /// Forgets the worktree that `admin` registers. Its files must be gone already.
    pub fn forget_worktree(&self, admin: &Admin) -> Result<()> {
        let failed = |e: std::io::Error| Failure::fault(format!("removing {}", admin.dir.display()), e);
        // What says whose it is goes last.
        for entry in std::fs::read_dir(&admin.dir).into_iter().flatten() {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            if is_folder {
                disk::gone(std::fs::remove_dir_all(entry.path())).map_err(failed)?;
            } else if entry.file_name() != "locked" {
                disk::gone(std::fs::remove_file(entry.path())).map_err(failed)?;
            }
        }
        disk::gone(std::fs::remove_dir_all(&admin.dir)).map_err(failed)
    }

    /// What `git status` reports in the working tree at `path`, in its own order.
    pub fn status(&self, admin: &Admin, untracked: Untracked) -> Result<Vec<Dirty>> {
        let listing = if untracked == Untracked::List { "-uall" } else { "-uno" };
        let args = ["status", "--porcelain=v2", "-z", listing, "--no-renames", "--ignore-submodules=none"];
        Ok(parse_status(&self.git.expect(&in_worktree(admin, &args).reads())?.stdout))
    }

    /// The paths that the index of the worktree knows.
    pub fn indexed(&self, admin: &Admin) -> Result<Vec<BString>> {
        let listed = self.git.expect(&in_worktree(admin, &["ls-files", "-z", "--cached"]).reads())?;
        Ok(split(&listed.stdout))
    }

    /// The paths at which the index of the worktree differs from tree `tree`.
    pub fn index_differs(&self, admin: &Admin, tree: Oid) -> Result<Vec<BString>> {
        let tree = tree.to_string();
        let call =
            in_worktree(admin, &["diff-index", "--cached", "--name-only", "--no-renames", "-z", &tree, "--"]);
        Ok(split(&self.git.expect(&call.reads())?.stdout))
    }

    /// The branch that a rebase or bisect in the worktree will return to, and what is in progress there.
    pub fn in_progress(&self, admin: &Admin) -> Result<Option<(&'static str, Option<RefName>)>> {
        let branch = |file: &str| {
            let name = std::fs::read_to_string(admin.dir.join(file)).ok()?;
            RefName::branch(name.trim()).ok()
        };
        for (mark, what, head) in IN_PROGRESS {
            if admin.dir.join(mark).exists() {
                return Ok(Some((what, branch(head))));
            }
        }
        if self.is_reftable() {
            for (name, what) in IN_REFTABLE {
                let args = ["rev-parse", "--verify", "--quiet", name];
                if self.git.run(&Call::new([git_dir(&admin.dir)]).args(&args).reads())?.ok() {
                    return Ok(Some((what, None)));
                }
            }
        }
        Ok(None)
    }
}

/// The worktree of the administrative folder `dir`, if each names the other.
fn worktree_of(dir: &Path) -> Option<PathBuf> {
    checkout_of(dir).ok().flatten().filter(|path| names_back(path, dir))
}

/// Whether the folder `path` says that the administrative folder `dir` registers it.
pub(super) fn names_back(path: &Path, dir: &Path) -> bool {
    let named = linked_to(path).map(|link| link.canonicalize());
    matches!((named, dir.canonicalize()), (Some(Ok(a)), Ok(b)) if a == b)
}

/// The administrative folder that the folder `path` names.
pub(super) fn linked_to(path: &Path) -> Option<PathBuf> {
    let text = disk::read(&path.join(".git")).ok()?;
    let link = text.strip_prefix(b"gitdir: ")?;
    Some(path.join(std::ffi::OsStr::from_bytes(link.trim_end())))
}

/// What git leaves in a worktree's folder while something is under way, and where it notes the branch.
const IN_PROGRESS: &[(&str, &str, &str)] = &[
    ("rebase-merge", "rebase", "rebase-merge/head-name"),
    ("rebase-apply", "rebase or am", "rebase-apply/head-name"),
    ("MERGE_HEAD", "merge", ""),
    ("CHERRY_PICK_HEAD", "cherry-pick", ""),
    ("REVERT_HEAD", "revert", ""),
    ("sequencer", "cherry-pick or revert", ""),
    ("BISECT_START", "bisect", "BISECT_START"),
];

/// Those of them that are refs like any other, and no files where refs are none.
const IN_REFTABLE: &[(&str, &str)] = &[("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];

pub(super) fn in_worktree<'a>(admin: &'a Admin, args: &[&str]) -> Call<'a> {
    Call::new([git_dir(&admin.dir), work_tree(&admin.path)]).args(args).dir(&admin.path)
}

/// The branch that `HEAD` in a git folder names.
/// One that cannot be read is no detached one: the branch there may be the one that is to move.
pub(super) fn branch_at(dir: &Path) -> Result<Option<RefName>> {
    let head = dir.join("HEAD");
    let text = match disk::read(&head) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| disk::io(format!("reading {}", head.display()), e))?,
    };
    let text = text.to_str_lossy();
    Ok(text.trim_end().strip_prefix("ref: ").and_then(|name| RefName::new(name).ok()))
}

/// The working tree that an administrative folder belongs to.
pub(super) fn checkout_of(dir: &Path) -> Result<Option<PathBuf>> {
    let Some(link) = disk::read_optional(&dir.join("gitdir"))? else { return Ok(None) };
    let link = Path::new(std::ffi::OsStr::from_bytes(link.trim_end()));
    // A relative link starts at the folder that holds it.
    let link =
        if link.is_relative() { std::fs::canonicalize(dir.join(link)).ok() } else { Some(link.to_owned()) };
    Ok(link.and_then(|link| link.parent().map(Path::to_owned)))
}

/// The commits of a reflog, newest first: lines `<old> <new> <who> <when>`, a tab, what was done.
pub(super) fn logged(bytes: &[u8]) -> Vec<Oid> {
    let new = |line: &[u8]| line.split(|b| *b == b' ').nth(1)?.to_str().ok()?.parse().ok();
    let mut found: Vec<Oid> = bytes.lines().filter_map(new).filter(|o: &Oid| !o.is_null()).collect();
    found.reverse();
    found
}

pub(super) fn split(bytes: &[u8]) -> Vec<BString> {
    bytes.split(|b| *b == 0).filter(|p| !p.is_empty()).map(BString::from).collect()
}

pub(super) fn parse_worktrees(bytes: &[u8]) -> Vec<Worktree> {
    let mut found = Vec::new();
    for line in bytes.split(|b| *b == 0).filter(|l| !l.is_empty()) {
        let (key, value) = line.split_once_str(" ").unwrap_or((line, b""));
        let text = || value.to_str_lossy().into_owned();
        if key == b"worktree" {
            found.push(Worktree { path: std::ffi::OsStr::from_bytes(value).into(), ..Worktree::default() });
            continue;
        }
        let Some(last) = found.last_mut() else { continue };
        match key {
            b"branch" => last.branch = RefName::new(text()).ok(),
            b"bare" => last.bare = true,
            b"locked" => last.locked = Some(text()),
            _ => {}
        }
    }
    found
}

/// Lines of `--porcelain=v2 -z`: `1 XY …8 fields… path`, `u XY …10 fields… path`, `? path`.
pub(super) fn parse_status(bytes: &[u8]) -> Vec<Dirty> {
    let mut found = Vec::new();
    for line in bytes.split(|b| *b == 0).filter(|l| !l.is_empty()) {
        let fields = match line[0] {
            b'1' => 9,
            b'u' => 11,
            b'?' => 2,
            _ => continue,
        };
        let parts: Vec<&[u8]> = line.splitn(fields, |b| *b == b' ').collect();
        let Some(path) = parts.get(fields - 1) else { continue };
        let state = if line[0] == b'?' { "??".into() } else { parts[1].to_str_lossy().into_owned() };
        found.push(Dirty { path: BString::from(*path), state });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_with_odd_paths_and_reasons() {
        let oid = "a".repeat(40);
        let text = format!(
            "worktree /r\0HEAD {oid}\0branch refs/heads/main\0\0worktree /w x\ny\0HEAD {oid}\0detached\0locked why\nnot\0\0"
        );
        let found = parse_worktrees(text.as_bytes());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].branch.as_ref().map(RefName::short), Some("main"));
        assert_eq!(found[1].path, PathBuf::from("/w x\ny"));
        assert_eq!(found[1].locked.as_deref(), Some("why\nnot"));
    }

    #[test]
    fn status_lines_of_all_kinds() {
        let text = b"1 .M N... 100644 100644 100644 aa bb a b\0? new file\0u UU N... 1 2 3 4 a b c both\0";
        let found = parse_status(text);
        let pairs: Vec<(&str, &[u8])> = found.iter().map(|d| (d.state.as_str(), d.path.as_slice())).collect();
        assert_eq!(pairs, [(".M", b"a b".as_slice()), ("??", b"new file"), ("UU", b"both")]);
    }
}
