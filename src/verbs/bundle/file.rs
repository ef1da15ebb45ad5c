//! Bundles as files: out, and in by way of a quarantine.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::host::Env;
use crate::host::Scratch;
use crate::plumbing::BundleFile;
use crate::plumbing::Edit;
use crate::plumbing::Git;
use crate::plumbing::Moved;
use crate::plumbing::Quota;
use crate::plumbing::Repo;
use crate::plumbing::Unpacked;
use crate::state::Bundle;
use crate::state::Draft;
use crate::state::LIST_BUNDLES;
use crate::state::Unsound;
use crate::state::bundle_ref;
use crate::state::read_bundle;
use crate::verbs::bundle::Row;
use crate::verbs::bundle::find;
use crate::verbs::bundle::no_such;
use crate::verbs::bundle::row;
use crate::verbs::init;
use crate::verbs::session::Session;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Serialize)]
pub struct Exported {
    #[serde(flatten)]
    pub row: Row,
    #[serde(serialize_with = "crate::verbs::path_as_text")]
    pub file: PathBuf,
    pub size: u64,
    /// The commit that a repository must have to take it in; none if nothing.
    pub needs: Option<Oid>,
}

#[derive(Debug, Serialize)]
pub struct Imported {
    #[serde(flatten)]
    pub row: Row,
    /// It was here before.
    pub already: bool,
}

/// Writes a saved bundle to a new file; `whole`: with the history of its base.
pub fn export(session: &Session<'_>, name: &str, path: &Path, whole: bool) -> Result<Exported> {
    session.refuse_in_worker("bundle export")?;
    let view = session.view()?;
    let bundle = find(session, &view, name)?.ok_or_else(|| no_such(name))?;
    let needs = bundle.needs().filter(|_| !whole);
    let name = bundle_ref(bundle.record.bundle)?;
    let path = &crate::host::resolved(path);
    let made =
        crate::host::create(path, |file| session.repo.write_bundle_file(&name, bundle.commit, needs, file))?;
    let Some(size) = made else {
        return Err(Refusal::new(Token::FileExists, format!("{} is there already", path.display()))
            .show(format!("ls -l {}", quoted(path)))
            .next("choose another name, or move the file away")
            .into());
    };
    Ok(Exported { row: row(session, &view, &bundle), file: path.to_owned(), size, needs })
}

/// A file that was looked at, in a folder that goes with it.
pub struct Checked {
    pub bundle: Bundle,
    pub unpacked: Unpacked,
    pub needs: Option<Oid>,
    _folder: Scratch,
}

/// Opens the file at `path` and looks at all that it says. In a repository that is to take it in (`needed`), nothing
/// that it builds on may be missing.
pub fn check(
    env: &Env,
    repo: Option<&Repo>,
    path: &Path,
    expect: Option<&str>,
    needed: bool,
) -> Result<Checked> {
    let file = BundleFile::open(path)?;
    let header = file.header.clone();
    if let Some(repo) = repo.filter(|_| needed) {
        refuse_unfit(repo, &file, path)?;
    }
    let beside = repo.filter(|repo| repo.objects.format() == header.format);
    let folder = Scratch::new(env, "skein-bundle-")?;
    let unpacked = file.unpack(&Git::new(env.iter()), folder.path(), beside, needed)?;
    crate::fault::point("bundle: file unpacked");
    let bundle = match read_bundle(&unpacked.objects, header.tip, true) {
        Ok(Ok(bundle)) => bundle,
        Ok(Err(Unsound::Changed(what))) => return Err(changed(path, &what, header.tip)),
        Ok(Err(Unsound::Unknown(why))) => {
            return Err(Refusal::new(
                Token::UnknownRecord,
                format!("{} cannot be read: {why}", path.display()),
            )
            .show(format!("git bundle list-heads {}", quoted(path)))
            .next("use a newer git-skein")
            .into());
        }
        // What a sound one has is in it.
        Err(Failure::Fault(fault)) => return Err(changed(path, &fault.to_string(), header.tip)),
        Err(refused) => return Err(refused),
    };
    if bundle_ref(bundle.record.bundle)? != header.name {
        return Err(changed(path, "its ref has another name than it says", header.tip));
    }
    if header.needs.is_some() && header.needs != bundle.needs() {
        return Err(changed(path, "it builds on another commit than it says", header.tip));
    }
    if let Some(expect) = expect {
        refuse_unexpected(path, header.tip, expect)?;
    }
    Ok(Checked { bundle, unpacked, needs: header.needs, _folder: folder })
}

/// Refuses a commit that is not the one of this whole id.
pub fn refuse_unexpected(path: &Path, tip: Oid, expect: &str) -> Result<()> {
    let Ok(wanted) = expect.parse::<Oid>() else {
        return Err(Refusal::new(Token::BadRevision, format!("{expect:?} is no whole id of a commit"))
            .show(format!("git bundle list-heads {}", quoted(path)))
            .next("give the whole id, as export has printed it")
            .into());
    };
    if wanted == tip {
        return Ok(());
    }
    Err(Refusal::new(Token::BundleChanged, format!("{} is another bundle than was expected", path.display()))
        .oid("expected", wanted)
        .oid("it is", tip)
        .show(format!("git bundle list-heads {}", quoted(path)))
        .next("do not use it; ask for the file again")
        .into())
}

fn refuse_unfit(repo: &Repo, file: &BundleFile, path: &Path) -> Result<()> {
    let unfit = |says: String| {
        Refusal::new(Token::BundleUnfit, says).show(format!("git bundle verify {}", quoted(path)))
    };
    let (theirs, ours) = (file.header.format, repo.objects.format());
    if theirs != ours {
        return Err(unfit(format!("{} has objects of {theirs}, this repository of {ours}", path.display()))
            .next("git skein bundle show reads it all the same")
            .into());
    }
    match file.header.needs {
        Some(base) if !repo.objects.exists(base) => Err(unfit(format!(
            "{} builds on a commit that is not here",
            path.display()
        ))
        .oid("it needs", base)
        .next("fetch that commit, or have it exported with --whole; git skein bundle show needs neither")
        .into()),
        _ => Ok(()),
    }
}

fn changed(path: &Path, what: &str, tip: Oid) -> Failure {
    Refusal::new(Token::BundleChanged, format!("{} is not as it was written: {what}", path.display()))
        .oid("its commit", tip)
        .show(format!("git bundle list-heads {}", quoted(path)))
        .next("do not use it; ask for the file again")
        .into()
}

/// Takes in the file at `path`. Of the refs only that of the bundle is made.
pub fn import(session: &mut Session<'_>, path: &Path, expect: Option<&str>) -> Result<Imported> {
    session.refuse_in_worker("bundle import")?;
    init::ensure(session)?;
    let (bundle, already) = take_in(session, path, expect)?;
    Ok(Imported { row: row(session, &session.view()?, &bundle), already })
}

/// The bundle in the file at `path`, which is saved here from now on; and whether it was before.
pub fn take_in(session: &Session<'_>, path: &Path, expect: Option<&str>) -> Result<(Bundle, bool)> {
    let repo = &session.repo;
    let checked = check(session.env, Some(repo), path, expect, true)?;
    let Checked { bundle, unpacked, .. } = &checked;
    let (id, commit) = (bundle.record.bundle, bundle.commit);
    let another = |here: Oid| -> Failure {
        let says = format!("{} is not the bundle {id} that is saved here", path.display());
        Refusal::new(Token::BundleChanged, says)
            .oid("saved here", here)
            .oid("in the file", commit)
            .show(LIST_BUNDLES)
            .next("keep the one that you know; look at both with git skein bundle show")
            .into()
    };
    let mark = format!("git-skein {id}");
    match session.view()?.bundles.get(&id) {
        Some(here) if *here == commit => {
            repo.let_go_of(&mark)?;
            return Ok((bundle.clone(), true));
        }
        Some(here) => return Err(another(*here)),
        None => {}
    }
    refuse_monstrous(&checked, path)?;
    session.refuse_full()?;
    let known = bundle.needs().filter(|base| repo.objects.exists(*base));
    repo.take_bundle(unpacked, commit, known, &mark)?;
    crate::fault::point("bundle: objects taken in");
    let origin = session.local.origin(id);
    crate::host::make_dir(origin.parent().unwrap_or(&origin))?;
    if crate::host::read_optional(&origin)?.is_none_or(|noted| noted.is_empty()) {
        crate::host::add_to(&origin, crate::host::resolved(path).as_os_str().as_bytes())?;
    }
    match Draft::new(repo).put(Edit::create(bundle_ref(id)?, commit)).publish()? {
        Moved::Done => {}
        Moved::Lost(now) => return Err(another(now.into_iter().find_map(|(_, oid)| oid).unwrap_or(commit))),
    }
    repo.let_go_of(&mark)?;
    Ok((bundle.clone(), false))
}

/// Refuses trees that would not be a sane number of files.
fn refuse_monstrous(checked: &Checked, path: &Path) -> Result<()> {
    let (objects, quota) = (&checked.unpacked.objects, Quota::default());
    let frozen = checked.bundle.delta(objects)?.map(|delta| delta.commits).unwrap_or_default();
    let trees = frozen.iter().map(|commit| objects.tree_of(commit.oid)).collect::<Result<Vec<Oid>>>()?;
    let Some(tree) = objects.beyond(&trees, quota.depth, quota.files)? else { return Ok(()) };
    let says = format!("{} is no bundle of ours: a tree in it has too many files or folders", path.display());
    Err(Refusal::new(Token::BadBundle, says)
        .oid("the tree", tree)
        .show(format!("git bundle verify {}", quoted(path)))
        .next("ask for another one")
        .into())
}
