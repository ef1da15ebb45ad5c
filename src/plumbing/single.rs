//! One path of a worktree: what `HEAD` and the index have there, and one commit of it alone, made without an index.

use crate::domain::Config;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::git::Call;
use crate::plumbing::git::git_dir;
use crate::plumbing::index_entry::IndexFile;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use gix::index::entry::Flags;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files that can say how a path is converted between index and file.
const ATTRIBUTES: &str = ".gitattributes";

impl Repo {
    /// The branch that the worktree has checked out, born or not; none where its `HEAD` is detached.
    pub fn branch_of(&self, admin: &Admin) -> Result<Option<RefName>> {
        if !self.is_reftable() {
            return crate::plumbing::worktree::branch_at(&admin.dir);
        }
        let call = Call::new([git_dir(&admin.dir)]).args(&["symbolic-ref", "--quiet", "HEAD"]);
        let found = self.git.run(&call.reads())?;
        if found.ok() { RefName::new(found.text().trim()).map(Some) } else { Ok(None) }
    }

    /// Moves the detached `HEAD` of the worktree from `old` to `new`. False if it was elsewhere.
    pub fn move_detached(&self, admin: &Admin, new: Oid, old: Oid, why: &str) -> Result<bool> {
        let (new, old) = (new.to_string(), old.to_string());
        let args = ["update-ref", "--no-deref", "--create-reflog", "-m", why, "HEAD", &new, &old];
        Ok(self.git.run(&in_worktree(admin, &args))?.ok())
    }

    /// Makes `branch` where the worktree's `HEAD` is, and checks it out: no file and no index entry changes. The inner
    /// error is git's own.
    pub fn switch_new(&self, admin: &Admin, branch: &RefName) -> Result<std::result::Result<(), String>> {
        let switched =
            self.git.run(&in_worktree(admin, &["switch", "--quiet", "--no-guess", "-c", branch.short()]))?;
        if switched.ok() {
            return Ok(Ok(()));
        }
        let there =
            self.git.run(&in_worktree(admin, &["switch", "--quiet", "--no-guess", branch.short()]))?;
        Ok(if there.ok() { Ok(()) } else { Err(there.words()) })
    }

    /// Runs a hook of the person's in the worktree, if there is one, with an index that holds `tree`, made at `index`. The
    /// inner error is what it said.
    pub fn run_hook(
        &self,
        admin: &Admin,
        hook: &str,
        (index, tree): (&Path, Oid),
        args: &[&str],
    ) -> Result<std::result::Result<(), String>> {
        self.git
            .expect(&in_worktree(admin, &["read-tree", &tree.to_string()]).env("GIT_INDEX_FILE", index))?;
        let call = in_worktree(admin, &["hook", "run", "--ignore-missing", hook, "--"]).args(args);
        let ran = self.git.run(&call.env("GIT_INDEX_FILE", index).unpinned().for_person())?;
        Ok(if ran.ok() { Ok(()) } else { Err(ran.words()) })
    }

    /// The commits that change `path`, newest first, renames followed, each with what the path was called in it.
    pub fn commits_of(&self, admin: &Admin, path: &BStr) -> Result<Vec<(Oid, BString)>> {
        if self.head_of(admin)?.is_none() {
            return Ok(Vec::new());
        }
        let args = ["log", "--follow", "--no-show-signature", "--name-only", "-z", "--format=%x00%H", "--"];
        let call = in_worktree(admin, &args).arg(std::ffi::OsStr::from_bytes(path));
        // A name may look like a pattern.
        let call = call.env("GIT_LITERAL_PATHSPECS", "1");
        let said = self.git.expect(&call.reads())?.stdout;
        Ok(named(&said, path))
    }

    /// The files of the worktree that have `word` in them, by their path below its top, but for ignored ones.
    pub fn files_that_say(&self, admin: &Admin, word: &str) -> Result<Vec<String>> {
        let args = ["grep", "-lzFI", "--no-color", "--untracked", "-e", word, "--"];
        let said = self.git.run(&in_worktree(admin, &args).reads())?.stdout;
        Ok(said
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| name.to_str_lossy().into_owned())
            .collect())
    }

    /// A remote-tracking ref that has `commit`, if there is any.
    pub fn on_a_remote(&self, commit: Oid) -> Result<Option<String>> {
        let contains = format!("--contains={commit}");
        let args = ["for-each-ref", "--count=1", "--format=%(refname:short)", &contains, "refs/remotes"];
        let said = self.git.expect(&self.call(&args).reads())?.text();
        Ok(Some(said.trim().to_owned()).filter(|name| !name.is_empty()))
    }

    /// Whether anything may convert the content of `path` on its way into the repository.
    pub fn may_convert_path(&self, admin: &Admin, path: &BStr, config: &Config, home: Option<&Path>) -> bool {
        let set = config.get("core.autocrlf").is_some_and(|value| value != "false")
            || config.get("core.attributesfile").is_some()
            || self.git.person("GIT_ATTR_SOURCE").is_some();
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let mut folders = path.ancestors().skip(1).map(|folder| admin.path.join(folder).join(ATTRIBUTES));
        set || folders.any(|file| file.exists())
            || self.dirs.common.join("info/attributes").exists()
            || home.is_some_and(|home| home.join("attributes").exists())
            || Path::new("/etc/gitattributes").exists()
    }

    /// Writes `bytes` as git would take them in from a file at `path`.
    pub fn write_converted(&self, admin: &Admin, path: &BStr, bytes: &[u8]) -> Result<Oid> {
        let text = path.to_str_lossy();
        let call = in_worktree(admin, &["hash-object", "-w", "--stdin", "--path", &text]).stdin(bytes);
        let oid = self.git.expect(&call)?.text().trim().parse()?;
        self.objects.count_as_written(vec![oid]);
        Ok(oid)
    }

    /// What blob `oid` would be in a file at `path`.
    pub fn read_converted(&self, admin: &Admin, path: &BStr, oid: Oid) -> Result<Vec<u8>> {
        let path = format!("--path={}", path.to_str_lossy());
        let call = in_worktree(admin, &["cat-file", "--filters", &path, &oid.to_string()]);
        Ok(self.git.expect(&call)?.stdout)
    }

    /// What the index of the worktree has at `path`, which is nothing where that is only meant to be added; `None` where
    /// it cannot be told plainly: several stages, a folder in its place, an index of a kind that is not read here.
    pub fn indexed_at(&self, admin: &Admin, path: &BStr) -> Result<Option<Option<(Mode, Oid)>>> {
        let file = admin.dir.join("index");
        let bytes = match std::fs::read(&file) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Some(None)),
            read => read.map_err(|e| disk::io(format!("reading {}", file.display()), e))?,
        };
        Ok(match IndexFile::read(&bytes, self.objects.width(), path) {
            Some(index) => index.entry(),
            None => self.listed_at(&file, path),
        })
    }

    /// An index of any kind that git writes. Its checksum is not looked at: git does not, either.
    pub(super) fn whole_index(&self, file: &Path) -> Option<gix::index::File> {
        let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
        gix::index::File::at(file, self.objects.hash, true, options).ok()
    }

    fn listed_at(&self, file: &Path, path: &BStr) -> Option<Option<(Mode, Oid)>> {
        let index = self.whole_index(file)?;
        let range = index.entry_range(path);
        match range {
            None => Some(None),
            Some(range) if range.len() == 1 => {
                let entry = &index.entries()[range.start];
                if entry.flags.contains(Flags::INTENT_TO_ADD) {
                    return Some(None);
                }
                let mode = Mode::of_octal(entry.mode.bits())?;
                Some(Some((mode, crate::plumbing::objects::oid_of(&entry.id))))
            }
            Some(_) => None,
        }
    }

    /// What `update-index` is told to keep of the entry at `path`: that git is not to look at the file.
    pub(super) fn flags_at(&self, admin: &Admin, path: &BStr) -> Vec<&'static str> {
        let index = self.whole_index(&admin.dir.join("index"));
        let flags = index.and_then(|index| index.entry_by_path(path).map(|entry| entry.flags));
        let kept = [(Flags::ASSUME_VALID, "--assume-unchanged"), (Flags::SKIP_WORKTREE, "--skip-worktree")];
        kept.into_iter()
            .filter(|(flag, _)| flags.is_some_and(|has| has.contains(*flag)))
            .map(|(_, word)| word)
            .collect()
    }

    /// A commit object that git signs as the person has set it up. The inner error is git's own.
    pub fn commit_signed(
        &self,
        tree: Oid,
        parents: &[Oid],
        message: &str,
        who: &str,
        at: i64,
    ) -> Result<std::result::Result<Oid, String>> {
        let (name, mail) = who.rsplit_once(" <").unwrap_or((who, ""));
        let (tree, date) = (tree.to_string(), format!("{at} +0000"));
        let mut call = self.call(&["commit-tree", "-S", &tree]).for_person().stdin(message.as_bytes());
        for parent in parents {
            call = call.args(&["-p", &parent.to_string()]);
        }
        for (key, value) in [("NAME", name), ("EMAIL", mail.trim_end_matches('>')), ("DATE", date.as_str())] {
            call = call.env(&format!("GIT_AUTHOR_{key}"), value).env(&format!("GIT_COMMITTER_{key}"), value);
        }
        let made = self.git.run(&call)?;
        if !made.ok() {
            return Ok(Err(made.words()));
        }
        let oid = made.text().trim().parse().map_err(|_| Failure::fault("signing a commit", made.words()))?;
        self.objects.count_as_written(vec![oid]);
        Ok(Ok(oid))
    }
}

/// What `log --name-only -z --format=%x00%H` says of `path`: NUL, id, NUL; then line feed, name, NUL.
pub(super) fn named(said: &[u8], path: &BStr) -> Vec<(Oid, BString)> {
    let mut found: Vec<(Oid, BString)> = Vec::new();
    for field in said.split(|byte| *byte == 0) {
        // A name may look like an id.
        match (field.strip_prefix(b"\n"), found.last_mut()) {
            (Some(called), Some((_, name))) if !called.is_empty() => *name = called.into(),
            (Some(_), _) => {}
            (None, _) => {
                let oid = field.to_str().ok().and_then(|text| text.parse::<Oid>().ok());
                found.extend(oid.map(|oid| (oid, path.into())));
            }
        }
    }
    found
}
