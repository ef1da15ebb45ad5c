//! Repositories of every shape: where they lie, how their parts lie apart, what their files are called and
//! what stands between a file and its blob. Each has a short round in it, or the part that matters.

mod copies;
mod files;
mod formats;
mod names;
pub mod stores;

use crate::support::World;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A worker's day, seen from where the person stands: its work comes home, the checkout is clean and has it.
#[track_caller]
pub fn round(world: &World, name: &str) {
    let old = world.rev("refs/heads/main");
    let script = format!(
        "echo {name} >>a.txt && git commit -qam {name} && mkdir -p d && echo n >d/{name}.new && git add d && git commit -qm more && echo left >left"
    );
    world.worker(name, &script);
    let row = world.skein(&["show", name, "--json"]).ok().json();
    assert_eq!(row["result"]["outcome"], "ready", "{row}");
    assert_eq!(row["result"]["commits"], 2, "{row}");
    world.skein(&["land", name, "--gate", &format!("test -f d/{name}.new")]).ok();
    assert_eq!(world.rev("refs/heads/main~2"), old);
    assert_eq!(world.git(["show", &format!("main:d/{name}.new")]), "n");
    world.skein(&["landed", name]).ok();
    world.skein(&["status"]).ok();
    world.skein(&["log"]).ok();
    let checked_out = world.try_git(["symbolic-ref", "HEAD"]).stdout == b"refs/heads/main\n";
    if checked_out && world.git(["rev-parse", "--is-bare-repository"]) == "false" {
        assert_eq!(world.git(["status", "--porcelain"]), "");
        let top = world.git(["rev-parse", "--show-toplevel"]);
        assert_eq!(fs::read_to_string(Path::new(&top).join(format!("d/{name}.new"))).unwrap(), "n\n");
    }
    world.check();
}

/// A path as the words of a command want it.
pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Runs git with `file` transport allowed, as no clone of a submodule is by default.
pub fn allowing_files(world: &World, args: &[&str]) {
    world.git([&["-c", "protocol.file.allow=always"], args].concat());
}

/// The world's repository is from now on a bare clone of it.
fn bare(mut world: World) -> World {
    let bare = world.root().join("bare.git");
    world.git(["clone", "-q", "--bare", ".", &text(&bare)]);
    (world.repo, world.cwd) = (bare.clone(), bare);
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world
}

/// `main` is checked out beside the repository, where the person stands.
fn linked(mut world: World) -> World {
    world.git(["switch", "-qc", "desk"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    world.cwd = world.root().join("linked");
    world
}

#[test]
fn a_bare_repository() {
    let world = bare(World::in_memory());
    round(&world, "one");
    round(&world, "two");
}

#[test]
fn a_linked_worktree_as_the_place_to_stand() {
    let world = linked(World::in_memory());
    round(&world, "one");
    assert!(!world.path("d").exists(), "the main checkout is on another branch");
}

#[test]
fn relative_links_between_a_repository_and_its_worktrees() {
    let world = World::in_memory();
    world.git(["config", "worktree.useRelativePaths", "true"]);
    round(&world, "one");
    // The same without a git that writes them: links as such a git leaves them.
    world.worker("two", "echo two >two; git add two; git commit -qm two");
    let tree = world.worktree("two");
    let admin = world.common().join("worktrees").join(tree.file_name().unwrap());
    fs::write(admin.join("gitdir"), "../../../../repo.skein/two/.git\n").unwrap();
    fs::write(tree.join(".git"), "gitdir: ../../repo/.git/worktrees/two\n").unwrap();
    assert_eq!(world.worktree("two"), tree);
    fs::write(tree.join("later"), "l\n").unwrap();
    world.skein(&["land", "two", "--gate", "true"]).ok();
    assert_eq!(world.field("two", "files"), 2, "it is still looked at");
    world.skein(&["landed", "two"]).ok();
    world.check();
}

#[test]
fn a_git_folder_apart_from_its_files() {
    let world = World::in_memory();
    let apart = world.root().join("apart.git");
    world.git(["init", "-q", "--separate-git-dir", &text(&apart)]);
    assert!(world.path(".git").is_file());
    round(&world, "one");
}

#[test]
fn a_repository_reached_through_a_link() {
    let mut world = World::in_memory();
    let link = world.root().join("link");
    symlink(&world.repo, &link).unwrap();
    world.cwd = link;
    round(&world, "one");
    let mut inside = world;
    fs::create_dir(inside.path("sub")).unwrap();
    inside.cwd = inside.root().join("link/sub");
    round(&inside, "two");
}

#[test]
fn worktrees_on_another_file_system() {
    // The repository is on the disk, its worktrees are in memory.
    let world = World::new();
    let memory = Path::new("/dev/shm");
    let Ok(folder) = tempfile::tempdir_in(memory) else {
        return crate::matrix::not_here("worktrees on another file system", "there is no /dev/shm");
    };
    let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap());
    if device(folder.path()) == device(&world.repo) {
        return crate::matrix::not_here("worktrees on another file system", "it is the same one");
    }
    world.git(["config", "skein.worktreeDir", &text(folder.path())]);
    round(&world, "one");
    assert!(world.worktree("one").starts_with(folder.path()));
}

#[test]
fn no_home_and_a_home_that_cannot_be_written() {
    let world = World::in_memory().env("HOME", "/nonexistent").env("XDG_CONFIG_HOME", "/nonexistent/x");
    round(&world, "one");
    let world = World::in_memory();
    let shell = |words: &str| {
        let mut skein = world.command(&[]);
        let exe = skein.get_program().to_owned();
        skein = world.command(&words.split(' ').collect::<Vec<_>>());
        skein.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
        assert_eq!(skein.get_program(), exe);
        crate::support::ran(skein.output().unwrap()).ok()
    };
    shell("dispatch --wait --name w w -- true");
    shell("status");
    let done = world.command(&["dispatch", "--wait", "--name", "x", "x", "--", "sh", "-c", "echo x >x"]);
    let mut done = done;
    crate::support::ran(done.env_remove("HOME").env_remove("XDG_CONFIG_HOME").output().unwrap());
    shell("land x");
    shell("landed x");
    assert_eq!(world.read("x"), "x\n");
}

#[test]
fn a_checkout_on_no_branch() {
    let world = World::in_memory();
    world.git(["checkout", "-q", "--detach"]);
    let head = world.head();
    round(&world, "one");
    assert_eq!(world.head(), head);
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn a_git_folder_and_files_named_by_the_environment() {
    let world = World::in_memory();
    let (git, tree) = (text(&world.path(".git")), text(&world.repo));
    let mut world = world.env("GIT_DIR", &git).env("GIT_WORK_TREE", &tree);
    world.cwd = world.root();
    let old = world.rev("main");
    world.worker("one", "echo one >one; git add one; git commit -qm one");
    world.skein(&["land", "one", "--gate", "test -f one"]).ok();
    assert_eq!((world.rev("main^"), world.read("one")), (old, "one\n".into()));
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}

/// A project with the submodule `sub`.
fn with_submodule(world: World) -> World {
    let lib = world.root().join("lib");
    world.git(["clone", "-q", ".", &text(&lib)]);
    allowing_files(&world, &["submodule", "--quiet", "add", "../lib", "sub"]);
    world.commit("submodule");
    world
}

#[test]
fn inside_a_submodule() {
    let mut world = with_submodule(World::in_memory());
    let above = world.rev("main");
    world.cwd = world.path("sub");
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world.repo = world.cwd.clone();
    round(&world, "one");
    assert!(world.worktree("one").exists());
    world.cwd = world.root().join("repo");
    assert_eq!(world.rev("main"), above);
    assert!(world.git(["for-each-ref", "refs/skein"]).is_empty(), "the project above knows nothing of it");
}

#[test]
fn a_project_with_submodules() {
    let world = with_submodule(World::in_memory());
    round(&world, "one");
    // Changed there by the person: it stays, and hinders nobody.
    world.git([
        "-C",
        "sub",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    assert_eq!(world.git(["status", "--porcelain"]), " M sub");
    let sub = world.git(["-C", "sub", "rev-parse", "HEAD"]);
    world.worker("two", "echo two >two; git add two; git commit -qm two");
    world.skein(&["land", "two"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), " M sub");
    assert_eq!(world.git(["-C", "sub", "rev-parse", "HEAD"]), sub);
    world.git(["-C", "sub", "checkout", "-q", "HEAD~1"]);
    // A worker that moves it: by decision of the person only.
    world.worker("three", &format!("git update-index --cacheinfo 160000,{sub},sub; git commit -qm moved"));
    world.skein(&["land", "three"]).refused("gitlink", 1);
    world.git(["config", "skein.allowGitlinks", "true"]);
    world.skein(&["land", "three"]).ok();
    assert_eq!(world.git(["rev-parse", "main:sub"]), sub);
    assert_eq!(
        world.git(["status", "--porcelain"]),
        " M sub",
        "its checkout follows by git submodule update"
    );
    world.skein(&["landed", "three"]).ok();
    world.check();
}

/// `main` with folders `in` and `out`, of which only `in` is checked out.
fn sparse(world: World, index: bool) -> World {
    for path in ["in/1", "out/1", "out/deep/2"] {
        world.write(path, "x\n");
    }
    world.commit("folders");
    let kind = if index { "--sparse-index" } else { "--no-sparse-index" };
    world.git(["sparse-checkout", "set", "--cone", kind, "in", "d"]);
    assert!(!world.path("out").exists());
    world
}

fn sparse_round(world: &World) {
    round(world, "one");
    world.worker("two", "git sparse-checkout disable 2>&1; echo 2 >>out/1; echo 2 >>in/1; git rm -q out/deep/2; echo n >out/new; git add -A; git commit -qm two");
    world.skein(&["land", "two"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(!world.path("out").exists(), "it is still left out");
    assert_eq!(world.read("in/1"), "x\n2\n");
    assert_eq!(world.git(["show", "main:out/new"]), "n");
    assert_eq!(world.lines(&["ls-tree", "-r", "--name-only", "main", "out"]), ["out/1", "out/new"]);
    world.check();
}

#[test]
fn a_sparse_checkout() {
    sparse_round(&sparse(World::in_memory(), false));
}

#[test]
fn a_sparse_index() {
    sparse_round(&sparse(World::in_memory(), true));
}

#[test]
fn a_split_index() {
    let world = World::in_memory();
    world.git(["config", "core.splitIndex", "true"]);
    world.git(["update-index", "--split-index"]);
    assert!(
        fs::read_dir(world.path(".git"))
            .unwrap()
            .flatten()
            .any(|e| e.file_name().to_string_lossy().starts_with("sharedindex"))
    );
    world.write("b.txt", "mine\n");
    world.worker("over", "echo over >>b.txt; git commit -qam over");
    world.skein(&["land", "over"]).refused("dirty-overlap", 1);
    world.git(["checkout", "-q", "b.txt"]);
    round(&world, "one");
    world.skein(&["land", "over"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}
