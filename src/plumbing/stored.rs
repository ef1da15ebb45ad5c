//! Files as git stores them, from files as they stand on the disk: line ends, encodings, `$Id$` and the clean
//! filters of the person. git itself converts, in a folder that holds nothing but these files: the attributes
//! are those of a tree that the caller names, the configuration is the person's, and no file, attribute or
//! setting of a worker has a say.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::plumbing::attributes::Deciding;
use crate::plumbing::attributes::is_attributes;
use crate::plumbing::capture::index_at;
use crate::plumbing::dirty::terminated;
use crate::plumbing::disk;
use crate::plumbing::git::Call;
use crate::plumbing::git::Output;
use crate::plumbing::git::git_dir;
use crate::plumbing::git::work_tree;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use crate::plumbing::repo::Repo;
use crate::plumbing::store::Lack;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

/// What of the person's own settings can make a file another one in git.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `core.autocrlf` is on in some way.
    pub autocrlf: bool,
    /// Their attribute files, as they are.
    pub attributes: Vec<BString>,
    /// What the filters are started through.
    pub walls: Vec<OsString>,
}

/// What is to be converted.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// A tree: where it differs from `head`, the files are as they stand on the disk.
    pub disk: Oid,
    /// The tree of the commit that the files are changes of.
    pub head: Oid,
    /// The tree whose attributes count.
    pub rules: Oid,
}

impl Repo {
    /// Whether any file could be stored otherwise than it stands on the disk.
    pub fn may_convert(&self, objects: &Objects, asked: Asked, settings: &Settings) -> Result<bool> {
        if asked.disk == asked.head {
            return Ok(false);
        }
        if settings.autocrlf {
            return Ok(true);
        }
        let mut files = settings.attributes.clone();
        for (_, oid) in objects.attribute_files(asked.rules)? {
            files.push(objects.blob(oid)?.into());
        }
        let deciding = Deciding::with_macros_of(&files);
        Ok(files.iter().any(|file| !deciding.lines(file).is_empty()))
    }

    /// The tree `asked.disk` with its files as git stores them, written through `objects`. `scratch` is an
    /// empty folder. A filter that fails though it is required is a refusal, as it is in git.
    pub fn stored(
        &self,
        objects: &Objects,
        asked: Asked,
        settings: &Settings,
        scratch: &Path,
    ) -> Result<Oid> {
        let changes = objects.diff_trees(asked.head, asked.disk)?;
        let files = changes.iter().filter(|c| file(c.new).is_some());
        let (own, files): (Vec<&Change>, Vec<&Change>) = files.partition(|c| is_attributes(c.path.as_bstr()));
        let bench = Bench { repo: self, objects, scratch, walls: &settings.walls };
        bench.set_up(asked, &changes)?;
        let mut edits = bench.convert(&files)?;
        // In the folder they rule themselves; as long as they say what the base says, that is all the same.
        let changed = objects.rules_changed(asked.rules, asked.disk, &settings.attributes)?;
        let own: Vec<&Change> = own.into_iter().filter(|c| !changed.contains(&c.path)).collect();
        edits.extend(bench.convert(&own)?);
        objects.edit_tree(asked.disk, edits)
    }
}

fn file(entry: Option<Entry>) -> Option<Entry> {
    entry.filter(|(mode, _)| matches!(mode, Mode::File | Mode::Executable))
}

/// A folder with a working tree, an index and objects of its own.
struct Bench<'a> {
    repo: &'a Repo,
    objects: &'a Objects,
    scratch: &'a Path,
    walls: &'a [OsString],
}

impl Bench<'_> {
    /// The index holds the attribute files of the rules, and the changed files as the commit has them: what had
    /// CRLF there keeps it under `core.autocrlf`.
    fn set_up(&self, asked: Asked, changes: &[Change]) -> Result<()> {
        let mut entries: BTreeMap<BString, Oid> = BTreeMap::new();
        for change in changes {
            entries.extend(file(change.old).map(|(_, oid)| (change.path.clone(), oid)));
        }
        entries.retain(|path, _| !is_attributes(path.as_bstr()));
        entries.extend(self.objects.attribute_files(asked.rules)?);
        let mut state = gix::index::State::new(self.objects.hash);
        for (path, oid) in &entries {
            state.dangerously_push_entry(
                gix::index::entry::Stat::default(),
                id(*oid),
                gix::index::entry::Flags::empty(),
                gix::index::entry::Mode::FILE,
                path.as_bstr(),
            );
        }
        state.sort_entries();
        let written = gix::index::File::from_state(state, self.index()).write(Default::default());
        written.map_err(|e| disk::gix("writing an index", e))?;
        let store = self.objects.dir().canonicalize().unwrap_or_else(|_| self.objects.dir().to_owned());
        let made = fs::create_dir_all(self.scratch.join("objects/info"))
            .and_then(|()| fs::create_dir(self.files()))
            // Through a link: a name with a colon or a line feed has no place in that file.
            .and_then(|()| symlink(store, self.scratch.join("store")))
            .and_then(|()| write_new(&self.scratch.join("objects/info/alternates"), b"../store\n"));
        made.map_err(|e| self.failed(e))
    }

    /// What of `files` git stores under another id.
    fn convert(&self, files: &[&Change]) -> Result<Vec<(BString, Option<Entry>)>> {
        let mut placed = Vec::new();
        for change in files {
            if let Some((_, oid)) = change.new
                && self.place(change.path.as_bstr(), &self.objects.blob(oid)?).map_err(|e| self.failed(e))?
            {
                placed.push(change.path.clone());
            }
        }
        if placed.is_empty() {
            return Ok(Vec::new());
        }
        let done = self.repo.git.run(&self.call().stdin(&terminated(&placed)))?;
        if !done.ok() {
            return Err(refused(&done));
        }
        let (index, _) = index_at(&self.index(), self.objects)?;
        let new = Objects::lacking(&self.scratch.join("objects"), self.objects.format(), Lack::default())?;
        let placed: HashSet<BString> = placed.into_iter().collect();
        let mut edits = Vec::new();
        for change in files.iter().filter(|c| placed.contains(&c.path)) {
            let Some((mode, oid)) = change.new else { continue };
            let entry = index.entry_by_path(change.path.as_bstr());
            // What git would not look at still has no time.
            let Some(entry) = entry.filter(|e| e.stat.mtime.secs != 0) else { continue };
            let stored = oid_of(&entry.id);
            if stored != oid {
                self.bring(&new, stored)?;
                edits.push((change.path.clone(), Some((mode, stored))));
            }
        }
        Ok(edits)
    }

    fn call(&self) -> Call<'_> {
        // Names are taken as they are, and nothing here has to outlive the power.
        let settings = [
            "core.fsync=none",
            "core.ignoreCase=false",
            "core.precomposeUnicode=false",
            "core.protectHFS=false",
            "core.protectNTFS=false",
            "core.sparseCheckout=false",
            "core.splitIndex=false",
            "core.untrackedCache=false",
        ];
        let words: Vec<&str> = settings.iter().flat_map(|s| ["-c", *s]).collect();
        let files = self.files();
        Call::new([git_dir(&self.repo.dirs.common), work_tree(&files)])
            .args(&words)
            .args(&["update-index", "-z", "--add", "--replace", "--stdin"])
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.scratch.join("objects"))
            .within(self.walls)
            .for_person()
    }

    /// Puts a file where git reads it. False if its name has no place in a working tree.
    fn place(&self, path: &BStr, bytes: &[u8]) -> io::Result<bool> {
        let fine =
            |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !crate::domain::is_dot_git(name.as_bstr());
        if !path.split_str("/").all(fine) {
            return Ok(false);
        }
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut held = rustix::fs::open(self.files(), folder, rustix::fs::Mode::empty())?;
        // Folder by folder: the whole of it may be too long for one name.
        let mut names = path.split_str("/").peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&held, name, new, rustix::fs::Mode::from(0o600))?;
                fs::File::from(file).write_all(bytes)?;
                break;
            }
            match rustix::fs::mkdirat(&held, name, rustix::fs::Mode::from(0o700)) {
                Err(errno) if errno != rustix::io::Errno::EXIST => return Err(errno.into()),
                _ => held = rustix::fs::openat(&held, name, folder, rustix::fs::Mode::empty())?,
            }
        }
        Ok(true)
    }

    /// Takes over the blob that git wrote here, unless the repository has it.
    fn bring(&self, new: &Objects, oid: Oid) -> Result<()> {
        if self.objects.exists(oid) {
            self.objects.count_as_written(vec![oid]);
            return Ok(());
        }
        match self.objects.write_blob(&new.blob(oid)?)? {
            found if found == oid => Ok(()),
            found => Err(Failure::fault("storing a file", format!("it is {found}, git says {oid}"))),
        }
    }

    fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }

    fn files(&self) -> PathBuf {
        self.scratch.join("files")
    }

    fn failed(&self, error: io::Error) -> Failure {
        disk::io(format!("writing to {}", self.scratch.display()), error)
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::File::create_new(path)?.write_all(bytes)
}

/// git would not store a file.
pub(super) fn refused(said: &Output) -> Failure {
    let words = said.words();
    if said.code < 0 {
        // Something ended it; of the file that says nothing.
        return Failure::fault("storing a file as git does", words);
    }
    if let Failure::Refusal(refusal) = disk::git("storing a file as git does", &words) {
        return refusal.into();
    }
    Refusal::new(Token::FilterFailed, "git does not store a file as it stands: a filter or a check failed")
        .lines(words.lines().map(ToOwned::to_owned))
        .show("git -C <worktree> add --dry-run --all")
        .next("mend what git names: the filter's command, the encoding or the line ends of the file")
        .into()
}
