//! `.worktreeinclude`: files that git ignores but an agent needs (`.env`, local settings) are copied from the main
//! checkout into a new worktree. Only what git ignores on both sides is copied: what a base does not ignore would
//! look like work of the worker, and could land.

use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::host::Carried;
use crate::host::Scratch;
use crate::plumbing::Admin;
use crate::verbs::session::Session;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const NAME: &str = ".worktreeinclude";

const IN_PLACE: &str = "the base has something in its place";

/// What one dispatch copies at most.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 1 << 30;

/// What was copied into a new worktree, and what was named but not copied.
#[derive(Debug, Default, Serialize)]
pub struct Included {
    pub copied: Vec<String>,
    pub bytes: u64,
    /// Path and reason.
    pub skipped: Vec<(String, &'static str)>,
}

/// The files to copy, before anything is made.
#[derive(Default)]
pub struct Wanted {
    main: Option<Admin>,
    paths: Vec<BString>,
    skipped: Vec<(String, &'static str)>,
}

impl Wanted {
    /// What the rules at the root of `base` name in the main checkout; without such a file there, those of an
    /// untracked one in the main checkout. Too much is refused.
    pub fn look(session: &Session<'_>, base: Oid) -> Result<Wanted> {
        let main = session.repo.worktrees()?.into_iter().next();
        let Some(main) = main.filter(|w| !w.bare && w.path != session.repo.dirs.common) else {
            return Ok(Wanted::default());
        };
        let admin = main.admin();
        let Some(rules) = rules(session, base, &admin)? else { return Ok(Wanted::default()) };
        let scratch = Scratch::new(session.env, "skein-include-")?;
        let file = scratch.path().join("rules");
        crate::host::put(&file, &rules)?;
        let named = session.repo.untracked_named(&admin, &file)?;
        let (folders, files): (Vec<BString>, Vec<BString>) =
            named.into_iter().partition(|path| path.ends_with(b"/"));
        let mut skipped: Vec<(String, &'static str)> =
            folders.iter().map(|path| (text(path), "a repository of its own")).collect();
        let paths = session.repo.ignored_among(&admin, &files)?;
        let ignored: HashSet<&BString> = paths.iter().collect();
        let open = files.iter().filter(|f| !ignored.contains(f));
        skipped.extend(open.map(|f| (text(f), "git does not ignore it")));
        let wanted = Wanted { main: Some(admin), paths, skipped };
        wanted.refuse_large()?;
        Ok(wanted)
    }

    fn refuse_large(&self) -> Result<()> {
        let Some(main) = &self.main else { return Ok(()) };
        let mut sizes: Vec<(u64, &BString)> =
            self.paths.iter().map(|path| (size(&main.path, path), path)).collect();
        let bytes: u64 = sizes.iter().map(|(size, _)| size).sum();
        if self.paths.len() <= MOST_FILES && bytes <= MOST_BYTES {
            return Ok(());
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let says = format!(
            "{NAME} names {} files of {} MiB; {MOST_FILES} files and {} MiB are copied at most",
            self.paths.len(),
            bytes >> 20,
            MOST_BYTES >> 20
        );
        Err(Refusal::new(Token::TooLarge, says)
            .lines(sizes.iter().take(10).map(|(size, path)| format!("{} KiB {}", size >> 10, text(path))))
            .show(format!("git ls-files --others --ignored --exclude-from={NAME}"))
            .next(format!("name less in {NAME}; what can be made again is better made by the agent"))
            .into())
    }

    /// Copies them into the worktree `admin`, where nobody works yet.
    pub fn copy(&self, session: &Session<'_>, admin: &Admin) -> Result<Included> {
        let mut done = Included { skipped: self.skipped.clone(), ..Included::default() };
        let Some(main) = self.main.as_ref().filter(|_| !self.paths.is_empty()) else { return Ok(done) };
        // git does not answer for a path behind a link.
        let (linked, paths): (Vec<BString>, Vec<BString>) =
            self.paths.iter().cloned().partition(|path| is_behind_link(&admin.path, path));
        done.skipped.extend(linked.iter().map(|path| (text(path), IN_PLACE)));
        let ignored: HashSet<BString> = session.repo.ignored_among(admin, &paths)?.into_iter().collect();
        for path in &paths {
            if !ignored.contains(path) {
                done.skipped.push((text(path), "the base does not ignore it"));
                continue;
            }
            match crate::host::carry(&main.path, &admin.path, Path::new(OsStr::from_bytes(path)))? {
                Carried::Copied => {
                    done.bytes += size(&admin.path, path);
                    done.copied.push(text(path));
                }
                Carried::InTheWay => done.skipped.push((text(path), IN_PLACE)),
                Carried::NotAFile => done.skipped.push((text(path), "no regular file, or behind a link")),
                Carried::Gone => {}
            }
        }
        Ok(done)
    }
}

fn rules(session: &Session<'_>, base: Oid, main: &Admin) -> Result<Option<Vec<u8>>> {
    let objects = &session.repo.objects;
    if let Some((mode, oid)) = objects.entry_at(objects.tree_of(base)?, NAME.into())? {
        // A link is no rules, and what it points at is none of ours.
        return match mode {
            Mode::File | Mode::Executable => objects.blob(oid).map(Some),
            Mode::Link | Mode::Gitlink => Ok(None),
        };
    }
    let Some(found) = crate::host::read_here(&main.path, NAME)? else { return Ok(None) };
    let tracked = session.repo.indexed(main)?.iter().any(|path| path == NAME);
    Ok(Some(found).filter(|_| !tracked))
}

fn is_behind_link(root: &Path, path: &BString) -> bool {
    let folders = path.find_iter("/").map(|end| root.join(OsStr::from_bytes(&path[..end])));
    folders.into_iter().any(|folder| folder.is_symlink())
}

fn size(root: &Path, path: &BString) -> u64 {
    std::fs::symlink_metadata(root.join(OsStr::from_bytes(path))).map_or(0, |m| m.len())
}

fn text(path: &BString) -> String {
    path.to_str_lossy().into_owned()
}
