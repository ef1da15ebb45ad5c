//! Files of git bundles: one commit by its name, with what it has and its base has not. A file is hostile: it is
//! unpacked in a folder of its own, by git's own checks, before anything of it comes into a repository.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::disk;
use crate::plumbing::durable;
use crate::plumbing::git::Call;
use crate::plumbing::git::Git;
use crate::plumbing::git::git_dir;
use crate::plumbing::objects::Objects;
use crate::plumbing::private::quoted_store;
use crate::plumbing::quota::Quota;
use crate::plumbing::quota::within;
use crate::plumbing::repo::Repo;
use crate::plumbing::store::Lack;
use bstr::ByteSlice;
use rustix::fs::OFlags;
use std::fs;
use std::fs::File;
use std::io;
use std::io::ErrorKind;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

/// Of the lines before the pack.
const HEADER: usize = 4096;

/// Of a whole file.
const MOST: u64 = 512 << 20;

/// A file with a sound header.
pub struct BundleFile {
    file: File,
    path: PathBuf,
    len: u64,
    pub header: Header,
}

/// What stands before the pack: one ref, and at most one commit that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub format: &'static str,
    pub needs: Option<Oid>,
    pub tip: Oid,
    pub name: RefName,
    /// Where the pack begins.
    pack: u64,
}

/// The objects of a file, in a folder of their own, beside those of a repository if there is one.
pub struct Unpacked {
    pub objects: Objects,
    dir: PathBuf,
}

impl Header {
    pub(super) fn text(&self) -> String {
        let needs = self.needs.map(|oid| format!("-{oid}\n")).unwrap_or_default();
        let signature = match self.format {
            "sha256" => "# v3 git bundle\n@object-format=sha256\n",
            _ => "# v2 git bundle\n",
        };
        format!("{signature}{needs}{} {}\n\n", self.tip, self.name)
    }

    /// The header of a file that begins with `bytes`; else whether it is one of git's at all.
    pub(super) fn parse(bytes: &[u8]) -> std::result::Result<Header, bool> {
        let version =
            ["# v2 git bundle\n", "# v3 git bundle\n"].iter().position(|v| bytes.starts_with(v.as_bytes()));
        let version = version.ok_or(false)?;
        let end = bytes.find("\n\n").ok_or(true)?;
        let text = bytes[..end].to_str().map_err(|_| true)?;
        let mut lines = text.lines().skip(1).peekable();
        let mut format = "sha1";
        while let Some(said) = lines.next_if(|line| version == 1 && line.starts_with('@')) {
            format = match said {
                "@object-format=sha1" => "sha1",
                "@object-format=sha256" => "sha256",
                _ => return Err(true),
            };
        }
        // git puts the subject of the commit behind its id.
        let oid = |text: &str| {
            let word = text.split(' ').next()?;
            let oid: Oid = word.parse().ok()?;
            let is_long = format == "sha256";
            (oid.to_string() == word && (oid.as_bytes().len() == 32) == is_long).then_some(oid)
        };
        let needs = lines
            .next_if(|line| line.starts_with('-'))
            .map(|line| oid(&line[1..]).ok_or(true))
            .transpose()?;
        let (tip, name) = lines.next().and_then(|line| line.split_once(' ')).ok_or(true)?;
        let name = RefName::new(name).map_err(|_| true)?;
        match (oid(tip), lines.next()) {
            (Some(tip), None) => Ok(Header { format, needs, tip, name, pack: end as u64 + 2 }),
            _ => Err(true),
        }
    }
}

impl BundleFile {
    /// Opens the file at `path`, a regular one.
    pub fn open(path: &Path) -> Result<BundleFile> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = crate::fault::file()
            .and_then(|()| File::options().read(true).custom_flags(flags.bits() as i32).open(path))
            .and_then(|file| file.metadata().map(|meta| (file, meta)));
        let (file, meta) = match opened {
            Ok(opened) => opened,
            Err(e)
                if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                    || e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
            {
                return Err(bad(path, &format!("it cannot be opened: {e}"), Vec::new()));
            }
            Err(e) => return Err(disk::io(format!("opening {}", path.display()), e)),
        };
        if !meta.is_file() {
            return Err(bad(path, "it is no regular file", Vec::new()));
        }
        if meta.len() > MOST {
            return Err(bad(path, &format!("it has more than {MOST} bytes"), Vec::new()));
        }
        let mut head = vec![0; HEADER.min(usize::try_from(meta.len()).unwrap_or(HEADER))];
        file.read_exact_at(&mut head, 0).map_err(|e| disk::io(format!("reading {}", path.display()), e))?;
        match Header::parse(&head) {
            Ok(header) => Ok(BundleFile { file, path: path.to_owned(), len: meta.len(), header }),
            Err(true) => Err(changed(path, "its header is not one of ours", Vec::new())),
            Err(false) => Err(bad(path, "it does not begin as one", Vec::new())),
        }
    }

    /// Unpacks it in the empty folder `dir`. Beside a repository of the same object format the objects of that are at
    /// hand; where they are `needed`, nothing may be missing.
    pub fn unpack(&self, git: &Git, dir: &Path, beside: Option<&Repo>, needed: bool) -> Result<Unpacked> {
        let failed = |e| disk::io(format!("writing to {}", dir.display()), e);
        let quota = Quota::default();
        lay_out(dir, self.header.format).map_err(failed)?;
        let mut input = self.file.try_clone().map_err(failed)?;
        input.seek(SeekFrom::Start(self.header.pack)).map_err(failed)?;
        let most = format!("--max-input-size={MOST}");
        let check = if needed { "--strict" } else { "--fsck-objects" };
        let call = Call::new([git_dir(dir)])
            .args(&["-c", "core.bigFileThreshold=16m", "-c", "core.fsync=none"])
            .args(&["index-pack", "--stdin", check, &most]);
        let call = match beside {
            Some(repo) => call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted_store(repo.objects.dir())),
            None => call,
        };
        let read = git.run_from(&call, input)?;
        if read.code < 0 {
            return Err(Failure::fault("unpacking a bundle", read.words()));
        }
        if !read.ok() {
            let words: Vec<String> = read.words().lines().map(ToOwned::to_owned).collect();
            return Err(match words.iter().any(|line| line.contains("unresolved delta")) {
                true => bad(&self.path, "its objects lean on others that it does not have", words),
                false => changed(&self.path, "git does not take its objects", words),
            });
        }
        let name = read.text().lines().next().and_then(|line| Some(line.split_once('\t')?.1.to_owned()));
        if name.as_deref() != Some(&self.trailer()?) {
            return Err(changed(&self.path, "something follows its objects", Vec::new()));
        }
        let form = "--batch-check=%(objectsize) %(objectname)";
        let list =
            Call::new([git_dir(dir)]).args(&["cat-file", "--batch-all-objects", "--unordered", form]).reads();
        let listed = git.expect(&list)?.stdout;
        let mut sizes = Vec::new();
        for line in listed.to_str_lossy().lines() {
            let (size, oid) = line.split_once(' ').unwrap_or_default();
            sizes.push((size.parse().unwrap_or(u64::MAX), oid.to_owned()));
        }
        if sizes.len() > quota.objects {
            return Err(bad(
                &self.path,
                &format!("{} objects are more than {}", sizes.len(), quota.objects),
                Vec::new(),
            ));
        }
        let oids = sizes.iter().map(|(_, oid)| oid.parse()).collect::<Result<Vec<Oid>>>()?;
        within(sizes.into_iter(), &quota).map_err(|refusal| bad(&self.path, &refusal.says, Vec::new()))?;
        if let Some(repo) = beside {
            let store = repo.objects.dir().canonicalize().unwrap_or_else(|_| repo.objects.dir().to_owned());
            // Through a link: a name with a colon or a line feed has no place in that file.
            symlink(store, dir.join("store"))
                .and_then(|()| put(&dir.join("objects/info/alternates"), "../store\n"))
                .map_err(failed)?;
        }
        let objects = Objects::lacking(&dir.join("objects"), self.header.format, Lack::default())?;
        if !oids.contains(&self.header.tip) {
            return Err(changed(&self.path, "the commit that it names is not in it", Vec::new()));
        }
        Ok(Unpacked { objects, dir: dir.to_owned() })
    }

    /// The last bytes of the file: the name that git gives to a pack which ends here.
    fn trailer(&self) -> Result<String> {
        let mut bytes = vec![0; if self.header.format == "sha256" { 32 } else { 20 }];
        let at = self.len.saturating_sub(bytes.len() as u64);
        let read = self.file.read_exact_at(&mut bytes, at);
        read.map_err(|e| disk::io(format!("reading {}", self.path.display()), e))?;
        Ok(crate::domain::hex(&bytes))
    }
}

impl Repo {
    /// Writes the bundle of commit `tip` as `name` to `file`: what it has, without what `base` has.
    pub fn write_bundle_file(
        &self,
        name: &RefName,
        tip: Oid,
        base: Option<Oid>,
        mut file: File,
    ) -> Result<()> {
        let header = Header { format: self.objects.format(), needs: base, tip, name: name.clone(), pack: 0 };
        let failed = |e| disk::io("writing a bundle", e);
        file.write_all(header.text().as_bytes()).map_err(failed)?;
        let asked = [Some(format!("{tip}\n")), base.map(|oid| format!("^{oid}\n"))];
        let asked: String = asked.into_iter().flatten().collect();
        // Whole objects: who has nothing else can read them.
        let pack = self.call(&["pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"]).reads();
        let packed = self.git.run_into(&pack.stdin(asked.as_bytes()), file)?;
        match packed.ok() {
            true => Ok(()),
            false => Err(disk::git("packing a bundle", &packed.words())),
        }
    }

    /// Takes the objects of a bundle into the repository's own store. Until a ref names them a pack is kept as `mark`
    /// says; [`Repo::let_go_of`] ends that.
    /// Only what `tip` has and `base` has not comes in.
    pub fn take_bundle(&self, from: &Unpacked, tip: Oid, base: Option<Oid>, mark: &str) -> Result<()> {
        let ends: String =
            [Some(format!("{tip}\n")), base.map(|oid| format!("^{oid}\n"))].into_iter().flatten().collect();
        let list = Call::new([git_dir(&from.dir)])
            .args(&["rev-list", "--objects", "--no-object-names", "--stdin"])
            .reads();
        let listed = self.git.expect(&list.stdin(ends.as_bytes()))?.stdout;
        let oids = listed.to_str_lossy().lines().map(str::parse).collect::<Result<Vec<Oid>>>()?;
        let pack =
            Call::new([git_dir(&from.dir)]).args(&["pack-objects", "-q", "--stdout", "--window=0"]).reads();
        let (gave, took, kept) = self.take_pack(pack, &listed, mark)?;
        if let Some(failed) = [gave, took].iter().find(|ended| !ended.ok()) {
            return Err(disk::git("taking in a bundle", &failed.words()));
        }
        if kept {
            durable::sync(&self.objects.dir().join("pack"))?;
        }
        self.objects.count_as_written(oids);
        Ok(())
    }
}

/// A git folder with nothing in it.
fn lay_out(dir: &Path, format: &str) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    put(&dir.join("HEAD"), "ref: refs/heads/none\n")?;
    let config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = ";
    put(&dir.join("config"), &format!("{config}{format}\n"))
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    crate::fault::file()?;
    File::create_new(path)?.write_all(text.as_bytes())
}

fn bad(path: &Path, why: &str, lines: Vec<String>) -> Failure {
    refusal(Token::BadBundle, path, format!("{} is no bundle of ours: {why}", path.display()), lines)
        .next("ask for the file again, made by git skein bundle export")
        .into()
}

fn changed(path: &Path, why: &str, lines: Vec<String>) -> Failure {
    refusal(Token::BundleChanged, path, format!("{} is not as it was written: {why}", path.display()), lines)
        .next("do not use it; ask for the file again")
        .into()
}

fn refusal(token: Token, path: &Path, says: String, lines: Vec<String>) -> Refusal {
    Refusal::new(token, says).lines(lines).show(format!("git bundle verify {}", quoted(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_no_other_is() {
        let oid = |byte, len| Oid::from_bytes(&vec![byte; len]).unwrap();
        let name = RefName::new("refs/x/bundle/1").unwrap();
        for (format, len) in [("sha1", 20), ("sha256", 32)] {
            for needs in [None, Some(oid(1, len))] {
                let mut header = Header { format, needs, tip: oid(2, len), name: name.clone(), pack: 0 };
                let text = header.text();
                header.pack = text.len() as u64;
                assert_eq!(Header::parse(text.as_bytes()), Ok(header), "{text}");
            }
        }
        let good = Header { format: "sha1", needs: Some(oid(1, 20)), tip: oid(2, 20), name, pack: 0 }.text();
        let more = good.replace("\n-", "\n-0303030303030303030303030303030303030303 more\n-");
        for bad in [
            &good[..good.len() - 1],
            &good.replace("01", "0g"),
            &good.replace("-01", "-0A"),
            &more,
            &good.replace("refs/", "/"),
            &good.replace("\n\n", "\nx y\n\n"),
        ] {
            assert_eq!(Header::parse(bad.as_bytes()), Err(true), "{bad}");
        }
        for other in ["", "PACK", "# v4 git bundle\n\n"] {
            assert_eq!(Header::parse(other.as_bytes()), Err(false), "{other}");
        }
        assert!(Header::parse(good.replace("v2", "v3").as_bytes()).is_ok());
    }
}
