//! A repository: where it is, its objects, and the git that acts on it.

use crate::domain::Config;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::discover;
use crate::plumbing::discover::SystemNote;
use crate::plumbing::durable;
use crate::plumbing::git::Call;
use crate::plumbing::git::Git;
use crate::plumbing::git::git_dir;
use crate::plumbing::objects::Kind;
use crate::plumbing::objects::Objects;
use crate::plumbing::store::Lack;
use crate::plumbing::store::Origin;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// Where a repository keeps its parts; all paths are absolute.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// The git folder of this worktree.
    pub git: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
    /// The working tree the person stands in, if any.
    pub work_tree: Option<PathBuf>,
    /// The repository itself has no working tree.
    pub bare: bool,
}

pub struct Repo {
    pub dirs: Dirs,
    pub objects: Objects,
    pub(super) git: Git,
    reftable: bool,
}

impl Repo {
    /// The repository that git finds from `cwd`, with the person's `GIT_DIR` and the like, and its
    /// configuration. `note` says where, below a shared git folder, [`Repo::system_note`] is kept.
    pub fn discover(cwd: &Path, git: Git, note: &dyn Fn(&Path) -> PathBuf) -> Result<(Repo, Config)> {
        if !cwd.is_dir() {
            return Err(Refusal::new(Token::NotARepository, format!("there is no folder {}", cwd.display()))
                .show(format!("git -C {} rev-parse --git-dir", quoted(cwd)))
                .next("give a folder of a repository with -C")
                .into());
        }
        match discover::plainly(cwd, &git, note) {
            Some((dirs, config)) => Repo::of(dirs, "sha1", config, git),
            None => Repo::asked_for(cwd, git),
        }
    }

    /// As git itself says.
    pub(super) fn asked_for(cwd: &Path, git: Git) -> Result<(Repo, Config)> {
        let call = Call::new([
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--show-object-format",
            "--git-dir",
            APART,
            "--git-common-dir",
            APART,
            "--show-toplevel",
        ]);
        let call = call.dir(cwd).for_person().reads();
        let listing = config_call().dir(cwd);
        let asked = (git.start(&call)?, git.start(&listing)?);
        let found = git.finish(&call, asked.0)?;
        let listed = git.finish(&listing, asked.1)?;
        let Some(said) = Said::parse(&found.stdout) else { return Err(unread(cwd, &found.words())) };
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        let config = whole(&git, &git.expected(&listing, listed)?.stdout, &own_call().dir(cwd))?;
        let dirs = Dirs {
            git: path(said.git_dir),
            common: path(said.common),
            work_tree: said.top.filter(|_| found.ok()).map(path),
            bare: said.bare == b"true",
        };
        let (mut repo, mut config) = Repo::of(dirs, &said.format.to_str_lossy(), config, git)?;
        if repo.dirs.git != repo.dirs.common {
            // What this worktree alone has set is not the repository's.
            if config.is_true("extensions.worktreeconfig") {
                config = repo.config()?;
            }
            // A linked worktree of a bare repository is not bare, its repository is.
            repo.dirs.bare = config.is_true("core.bare");
        }
        Ok((repo, config))
    }

    fn of(dirs: Dirs, format: &str, config: Config, mut git: Git) -> Result<(Repo, Config)> {
        git.quieten(config.named("hook", "command").into_iter().map(|(name, _)| name));
        let lack = lack(&dirs.common, &git, &config);
        let objects = Objects::lacking(&dirs.common.join("objects"), format, lack)?;
        let reftable = dirs.common.join("reftable").is_dir();
        Ok((Repo { dirs, objects, git, reftable }, config))
    }

    /// What spares the next command two git processes: to be kept at `path`, unless what is there still holds.
    pub fn system_note(&self, path: &Path) -> Option<Vec<u8>> {
        SystemNote::renewed(path, &self.git)
    }

    /// Whether references live in reftables rather than in files.
    pub fn is_reftable(&self) -> bool {
        self.reftable
    }

    /// A call on the shared part of the repository.
    pub(super) fn call<'a>(&self, args: &[&str]) -> Call<'a> {
        Call::new([git_dir(&self.dirs.common)]).args(args)
    }

    /// The commit that `rev` names, in the person's own reading (their worktree's `HEAD`, say). Whole ids and names of
    /// branches are looked up here; git is asked about the rest.
    pub fn resolve_commit(&self, rev: &str) -> Result<Option<Oid>> {
        let width = self.objects.width();
        let whole = rev.parse().ok().filter(|oid: &Oid| oid.as_bytes().len() == width);
        let known = whole.or_else(|| self.named(rev));
        if let Some(oid) = known
            && let Ok(Some((Kind::Commit, _))) = self.objects.try_read(oid)
        {
            return Ok(known);
        }
        self.resolve_any(&format!("{rev}^{{commit}}"))
    }

    /// What the ref with the short name `name` points at, by the order of gitrevisions(7). None if that is for git to
    /// tell: a name of one worktree alone, an expression, no ref at all.
    fn named(&self, name: &str) -> Option<Oid> {
        let of_a_worktree =
            ["bisect/", "worktree/", "rewritten/"].iter().any(|space| name.starts_with(space));
        if self.is_reftable() || of_a_worktree || name.contains('@') || self.dirs.git.join(name).exists() {
            return None;
        }
        let places =
            ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"].map(|place| format!("{place}{name}"));
        let names = places.into_iter().map(RefName::new).collect::<Result<Vec<RefName>>>().ok()?;
        let found = self.read_refs(&names.iter().collect::<Vec<&RefName>>()).ok()?;
        found.into_iter().flatten().next()
    }

    /// What `rev` names, of any kind.
    pub fn resolve_any(&self, rev: &str) -> Result<Option<Oid>> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", rev];
        let found = self.git.run(&Call::new([git_dir(&self.dirs.git)]).args(&args).reads())?;
        if found.ok() { found.text().parse().map(Some) } else { Ok(None) }
    }

    /// Whether history is cut off somewhere.
    pub fn is_shallow(&self) -> bool {
        self.dirs.common.join("shallow").is_file()
    }

    /// The person's configuration, all scopes, with `git -c` and the environment applied.
    pub fn config(&self) -> Result<Config> {
        let call = config_call().env("GIT_DIR", &self.dirs.common);
        whole(&self.git, &self.git.expect(&call)?.stdout, &own_call().env("GIT_DIR", &self.dirs.common))
    }

    /// Sets one key of the repository's own configuration.
    pub fn set_config(&self, key: &str, value: &str) -> Result<()> {
        self.write_config("--replace-all", key, value)
    }

    /// Adds a value to a key of it that may have several.
    pub fn add_config(&self, key: &str, value: &str) -> Result<()> {
        self.write_config("--add", key, value)
    }

    /// What the repository's own file says of a key, without what it includes.
    pub fn own_config(&self, key: &str) -> Result<Vec<String>> {
        let call = Call::new(["config", "--file"]).arg(self.dirs.common.join("config"));
        let said = self.git.expect(&call.args(&["--no-includes", "-z", "--get-all", key]).reads())?;
        let values = said.stdout.split(|byte| *byte == 0).filter(|value| !value.is_empty());
        Ok(values.map(|value| value.to_str_lossy().into_owned()).collect())
    }

    /// Removes a section of it, if it is there.
    pub fn drop_config(&self, section: &str) -> Result<()> {
        let file = self.dirs.common.join("config");
        self.git.run(&Call::new(["config", "--file"]).arg(&file).args(&["--remove-section", section]))?;
        durable::sync(&file)?;
        durable::sync(&self.dirs.common)
    }

    fn write_config(&self, how: &str, key: &str, value: &str) -> Result<()> {
        let file = self.dirs.common.join("config");
        self.git.expect(&Call::new(["config", "--file"]).arg(&file).args(&[how, key, value]))?;
        durable::sync(&file)?;
        durable::sync(&self.dirs.common)
    }

    /// How `branch` stands to its upstream, as git says it: `origin/main: ahead 1, behind 2`.
    pub fn upstream(&self, branch: &RefName) -> Result<Option<String>> {
        let format = "--format=%(upstream:short)%00%(upstream:track,nobracket)";
        let said = self.git.expect(&self.call(&["for-each-ref", format, branch.as_str()]).reads())?.text();
        let (name, track) = said.split_once('\0').unwrap_or_default();
        let track = if track.is_empty() { "up to date" } else { track };
        Ok((!name.is_empty()).then(|| format!("{name}: {track}")))
    }

    /// The committer's name and mail as git would state them, `Name <mail>`.
    pub fn identity(&self, config: &Config) -> Result<Option<String>> {
        let stated = |var: &str, keys: [&str; 2]| {
            let env = self.git.person(var).map(|v| v.to_string_lossy().into_owned());
            env.or_else(|| keys.iter().find_map(|k| config.get(k).map(ToOwned::to_owned)))
        };
        let name = stated("GIT_COMMITTER_NAME", ["committer.name", "user.name"]);
        let mail = stated("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"]);
        let plain = |text: &String| !text.trim().is_empty() && !text.contains(['<', '>', '\n']);
        if let (Some(name), Some(mail)) = (name.filter(plain), mail.filter(plain)) {
            return Ok(Some(format!("{} <{}>", name.trim(), mail.trim())));
        }
        // Anything less plain is git's to say.
        let found = self.git.run(&self.call(&["var", "GIT_COMMITTER_IDENT"]).for_person())?;
        let said = found.text();
        Ok(found.ok().then(|| said.rfind('>').map(|end| said[..=end].to_owned())).flatten())
    }

    /// Makes `oids` durable: those stored loosely are read back, re-hashed and synced with their folders.
    pub fn make_durable(&self, oids: &[Oid]) -> Result<()> {
        crate::plumbing::durable::objects(&self.objects, oids)
    }

    /// git syncs a reftable before it has written the end of it, without which it reads no ref at all any more: even where
    /// nobody waits for what was written, its table must not be lost by half.
    pub(super) fn complete_tables(&self) -> Result<()> {
        if self.reftable { crate::plumbing::durable::file_system(&self.dirs.common) } else { Ok(()) }
    }

    /// Makes the refs `names` durable, which git left written.
    pub fn make_refs_durable<'n>(&self, names: impl IntoIterator<Item = &'n RefName>) -> Result<()> {
        if self.reftable {
            return self.complete_tables();
        }
        crate::plumbing::durable::ref_folders(&self.dirs.common, names)
    }
}

/// git gives this back as it is, between paths that may have any byte but NUL in them.
const APART: &str = "--skein-apart";

/// What git says of a repository.
pub(super) struct Said<'s> {
    pub(super) bare: &'s [u8],
    pub(super) format: &'s [u8],
    pub(super) git_dir: &'s [u8],
    pub(super) common: &'s [u8],
    pub(super) top: Option<&'s [u8]>,
}

impl Said<'_> {
    pub(super) fn parse(bytes: &[u8]) -> Option<Said<'_>> {
        let (bare, rest) = bytes.split_once_str("\n")?;
        let (format, rest) = rest.split_once_str("\n")?;
        let apart = format!("\n{APART}\n");
        let mut paths = rest.splitn_str(3, &apart);
        let (git_dir, common) = (paths.next()?, paths.next()?);
        let top = paths.next().and_then(|top| top.strip_suffix(b"\n"));
        Some(Said { bare, format, git_dir, common, top })
    }
}

/// What a shallow or partial clone does not have.
pub(super) fn lack(common: &Path, git: &Git, config: &Config) -> Lack {
    let shallow = std::fs::read(common.join("shallow")).unwrap_or_default();
    let origin =
        (!config.promisors().is_empty()).then(|| Origin { git: git.clone(), common: common.to_owned() });
    Lack { ends: Lack::ends_in(&shallow), origin }
}

/// Why git does not read what it finds from `cwd`.
fn unread(cwd: &Path, words: &str) -> Failure {
    let beyond =
        ["unknown repository extension", "Expected git repo version", "invalid value for 'extensions."];
    if beyond.iter().any(|known| words.contains(known)) {
        let words: Vec<&str> = words.split_whitespace().collect();
        return Refusal::new(Token::OldGit, "the git in PATH is too old for the format of this repository")
            .lines([words.join(" ")])
            .show("git --version")
            .next("put a newer git first in PATH")
            .into();
    }
    let next = if words.contains("safe.") {
        "if you trust its owner, let git use it, as its words say; git help config explains safe.*"
    } else {
        "change into a repository, or give one with -C"
    };
    Refusal::new(Token::NotARepository, format!("git finds no repository: {words}"))
        .show(format!("git -C {} rev-parse --git-dir", quoted(cwd)))
        .next(next)
        .into()
}

fn config_call<'a>() -> Call<'a> {
    Call::new(["config", "--list", "-z", "--includes"]).for_person().reads().unpinned()
}

/// What was listed. Where git fails to see the repository for a moment it lists the person's own configuration, and
/// says nothing. Where the key is missing that whatever makes a repository writes, `own` is asked too.
fn whole(git: &Git, listed: &[u8], own: &Call<'_>) -> Result<Config> {
    let config = Config::parse(listed);
    if config.get("core.repositoryformatversion").is_none() {
        let own = Config::parse(&git.expect(own)?.stdout);
        if own.iter().any(|(key, value)| !config.all(key).any(|listed| listed == value)) {
            return Err(Failure::fault(
                "reading the configuration",
                "git did not see that of the repository",
            ));
        }
    }
    Ok(config)
}

/// Fails outside a repository.
fn own_call<'a>() -> Call<'a> {
    Call::new(["config", "--list", "--local", "-z"]).for_person().reads().unpinned()
}
