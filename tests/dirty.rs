//! Workers that start from what is not committed: they see it, and only what they change beyond it lands.

use crate::support::World;
use serde_json::Value;
use std::fs;

/// A person in the middle of something: a changed, a staged, a deleted and two new files.
fn busy() -> World {
    let world = World::new();
    world.write("gone.txt", "gone\n");
    world.write("staged.txt", "old\n");
    world.commit("more");
    world.write("b.txt", "mine\n");
    world.write("staged.txt", "staged\n");
    world.git(["add", "staged.txt"]);
    world.git(["rm", "--quiet", "gone.txt"]);
    world.write("new/deep.txt", "new\n");
    world.write("new.txt", "new\n");
    world.write("x.ign", "ignored\n");
    world
}

fn dispatch(world: &World, name: &str, script: &str) -> Value {
    let args = ["dispatch", "--json", "--with-dirty", "--name", name, name, "--", "sh", "-c", script];
    let said = world.skein(&args).ok().json();
    world.skein(&["wait", name]).ok();
    said["result"].clone()
}

fn landed(world: &World, name: &str) -> (i32, Value) {
    let ran = world.skein(&["landed", name, "--json"]);
    (ran.code, ran.json()["result"]["verdict"]["verdict"].clone())
}

const WORK: &str = "cat b.txt staged.txt new.txt new/deep.txt > seen && test ! -e gone.txt && test ! -e x.ign \
                    && sed -i s/5/five/ a.txt && git add -A && git commit -qm work";

#[test]
fn the_worker_sees_it_and_only_its_own_work_lands() {
    let world = busy();
    world.git(["stash", "push", "--quiet", "b.txt"]);
    world.write("b.txt", "mine\n");
    let (before, index, head) = (world.picture(&[]), world.git(["ls-files", "-s"]), world.head());
    let said = dispatch(&world, "fix", WORK);
    assert_eq!((world.picture(&[]), world.git(["ls-files", "-s"])), (before, index));
    let taken: Vec<&str> =
        said["with_dirty"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    assert_eq!(taken, ["b.txt", "gone.txt", "new.txt", "new/deep.txt", "staged.txt"]);
    assert_eq!(
        (&said["left_out"], &said["behind"], &said["ahead"]),
        (&serde_json::json!([]), &0.into(), &0.into())
    );
    let base = said["base"].as_str().unwrap();
    assert_eq!(said["committed_base"], head.as_str());
    assert_eq!(world.rev(&format!("{base}^")), head);
    // The tree is what git would commit.
    world.git(["stash", "push", "--quiet", "--include-untracked"]);
    assert_eq!(world.rev(&format!("{base}:new/deep.txt")), world.rev("stash^3:new/deep.txt"));
    assert_eq!(world.rev(&format!("{base}:b.txt")), world.rev("stash:b.txt"));
    world.git(["stash", "pop", "--quiet", "--index"]);

    world.collect_garbage();
    assert_eq!(landed(&world, "fix"), (1, "not-landed".into()));
    assert_eq!(world.field("fix", "behind"), 0);
    let done = world.skein(&["land", "fix", "--json"]).ok().json();
    assert_eq!((&done["result"]["match"], &done["result"]["paths"]), (&"exact".into(), &2.into()));
    assert_eq!(world.git(["diff", "--name-only", &head, "main"]), "a.txt\nseen");
    assert_eq!(world.git(["show", "main:seen"]), "mine\nstaged\nnew\nnew");
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
    assert_eq!(world.skein(&["land", "fix", "--json"]).ok().json()["result"]["already"], true);
    // What the person had is still there, uncommitted.
    assert_eq!((world.read("b.txt").as_str(), world.read("new.txt").as_str()), ("mine\n", "new\n"));
    assert_eq!(world.git(["diff", "--cached", "--name-only"]), "gone.txt\nstaged.txt");
    world.commit("mine");
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
    world.check();
}

#[test]
fn landed_is_right_however_it_came_home() {
    let world = busy();
    dispatch(&world, "fix", WORK);
    // Somebody takes over the change by hand, as one commit of theirs among others.
    world.git(["stash", "push", "--quiet", "--include-untracked"]);
    world.commit("other");
    let tip = world.field("fix", "head").as_str().unwrap().to_owned();
    world.git(["cherry-pick", &tip]);
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
    world.git(["revert", "--no-edit", "HEAD"]);
    let again = world.skein(&["landed", "fix", "--json"]).code(1).json();
    assert_eq!(again["result"]["verdict"]["presence"], "reverted");
}

#[test]
fn to_take_uncommitted_changes_back_is_no_landing() {
    let world = busy();
    world.write("other.txt", "1\n");
    dispatch(&world, "fix", "rm new.txt && git checkout -q HEAD^ b.txt && git add -A && git commit -qm undo");
    assert_eq!(landed(&world, "fix"), (1, "not-landed".into()));
    world.git(["commit", "--quiet", "--allow-empty", "-m", "other"]);
    assert_eq!(landed(&world, "fix"), (1, "not-landed".into()));
    // On the trunk nothing would change.
    world.skein(&["land", "fix", "--onto", "main"]).refused("empty", 1);
}

#[test]
fn work_on_uncommitted_lines_waits_for_them() {
    let world = busy();
    dispatch(&world, "fix", "echo theirs >> b.txt && echo theirs >> new.txt && git commit -qam work");
    let ran = world.skein(&["land", "fix"]).refused("conflict", 3);
    assert!(ran.err.contains("uncommitted changes of yours"), "{}", ran.err);
    assert!(ran.err.contains("  b.txt\n") && ran.err.contains("  new.txt\n"), "{}", ran.err);
    assert_eq!(landed(&world, "fix"), (1, "not-landed".into()));
    world.commit("mine");
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.read("b.txt"), "mine\ntheirs\n");
    assert_eq!(world.read("new.txt"), "new\ntheirs\n");
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
    world.check();
}

#[test]
fn a_file_that_the_person_still_edits_is_not_overwritten() {
    let world = World::new();
    world.write("a.txt", &world.read("a.txt").replace("line 1\n", "mine\n"));
    dispatch(&world, "fix", "sed -i s/9/nine/ a.txt && git commit -qam work");
    world.skein(&["land", "fix"]).refused("dirty-overlap", 1);
    assert!(world.read("a.txt").starts_with("mine\n"));
    world.git(["switch", "--quiet", "--create", "side"]);
    world.skein(&["land", "fix"]).ok();
    assert!(world.git(["show", "main:a.txt"]).starts_with("line 1\n"));
    assert!(world.git(["show", "main:a.txt"]).ends_with("line nine"));
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
}

#[test]
fn the_base_is_the_checkout_one_stands_in() {
    let mut world = busy();
    let main = world.head();
    world.git(["worktree", "add", "--quiet", "-b", "side", "../side"]);
    world.cwd = world.root().join("side");
    fs::write(world.cwd.join("side.txt"), "side\n").unwrap();
    world.git(["commit", "--quiet", "--allow-empty", "-m", "side"]);
    let said = dispatch(
        &world,
        "fix",
        "test -e side.txt && test ! -e new.txt && echo w > w && git add w && git commit -qm w",
    );
    assert_eq!((&said["base_name"], &said["ahead"]), (&"side".into(), &1.into()));
    assert_eq!(said["with_dirty"], serde_json::json!(["side.txt"]));
    assert_eq!(said["left_out"].as_array().unwrap().len(), 5, "{said}");
    // Its commit is not on the trunk: that cannot be answered. What lands is the worker's work alone.
    assert_eq!(landed(&world, "fix"), (128, "unknown".into()));
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.git(["diff", "--name-only", &main, "main"]), "w");
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
}

#[test]
fn without_changes_it_is_the_commit_itself() {
    let world = World::new();
    let said = dispatch(&world, "fix", "echo w > w && git add w && git commit -qm w");
    assert_eq!((&said["base"], &said["committed_base"]), (&world.head().into(), &Value::Null));
    let usage = world.skein(&["dispatch", "--with-dirty", "--base", "main", "t", "--", "true"]);
    assert_eq!(usage.code, 129);
}

#[test]
fn belts_hold_on_such_a_base_too() {
    let world = busy();
    world.git(["branch", "later"]);
    dispatch(&world, "rebased", "git reset -q --soft HEAD^ && git commit -qm swallowed");
    world.skein(&["import", "rebased"]).refused("base-moved", 1);
    let said = world.skein(&["status"]).ok();
    assert!(said.out.contains("rebased"));
}

#[test]
fn filters_and_line_endings_of_the_person_count() {
    let world = World::new();
    world.git(["config", "core.autocrlf", "true"]);
    world.git(["config", "filter.fake.clean", "tr a-z A-Z"]);
    world.git(["config", "filter.fake.smudge", "tr A-Z a-z"]);
    world.write(".gitattributes", "*.fake filter=fake -text\n");
    world.commit("filters");
    world.write("b.txt", "b\r\nmore\r\n");
    world.write("x.fake", "quiet\n");
    let said = dispatch(
        &world,
        "fix",
        "cat x.fake > seen; git status --porcelain > clean; git add -A; git commit -qm w",
    );
    let base = said["base"].as_str().unwrap();
    assert_eq!(world.git(["show", &format!("{base}:x.fake")]), "QUIET");
    assert_eq!(world.git(["cat-file", "blob", &format!("{base}:b.txt")]), "b\nmore");
    let worktree = world.worktree("fix");
    assert_eq!(fs::read_to_string(worktree.join("seen")).unwrap(), "quiet\n");
    assert_eq!(
        fs::read_to_string(worktree.join("clean")).unwrap().replace("?? seen\n", "").trim(),
        "?? clean"
    );
}

#[test]
fn too_much_is_refused_before_anything_is_made() {
    let world = World::new();
    let file = fs::File::create(world.path("huge.bin")).unwrap();
    file.set_len(101 << 20).unwrap();
    let ran = world.skein(&["dispatch", "--with-dirty", "t", "--", "true"]).refused("too-large", 1);
    assert!(ran.err.contains("huge.bin") && ran.err.contains("100 MiB"), "{}", ran.err);
    assert!(world.git(["for-each-ref", "refs/skein"]).is_empty());
    let mut world = world;
    world.git(["clone", "--quiet", "--bare", ".", "../bare.git"]);
    world.cwd = world.root().join("bare.git");
    world.skein(&["dispatch", "--with-dirty", "t", "--", "true"]).refused("bad-base", 1);
}

/// With files that git ignores; `rules` is the `.worktreeinclude`.
fn including(rules: &str) -> World {
    let world = World::new();
    world.write(".gitignore", "*.ign\nignored/\n.env*\n!.env.example\nlib/\n");
    world.write(".env.example", "KEY=\n");
    world.write(".worktreeinclude", rules);
    world.commit("rules");
    world.write(".env", "KEY=1\n");
    world.write(".env.local", "KEY=2\n");
    world.write("pkg/.env", "KEY=3\n");
    world.write("ignored/deep/file", "deep\n");
    world.write("x.ign", "no\n");
    world
}

fn included(world: &World, name: &str, script: &str) -> (Vec<String>, Value) {
    let args = ["dispatch", "--json", "--name", name, name, "--", "sh", "-c", script];
    let said = world.skein(&args).ok().json()["result"]["included"].clone();
    world.skein(&["wait", name]);
    let copied = said["copied"].as_array().unwrap().iter();
    (copied.map(|p| p.as_str().unwrap().to_owned()).collect(), said)
}

#[test]
fn ignored_files_come_along_if_asked_for_and_never_land() {
    let world = including(".env*\n!.env.local\nignored/deep/\na.txt\nuntracked.txt\n");
    world.write("untracked.txt", "mine\n");
    let script = "cat .env pkg/.env ignored/deep/file > seen && echo changed >> .env && git add -A && git commit -qm w";
    let (copied, said) = included(&world, "fix", script);
    assert_eq!(copied, [".env", "ignored/deep/file", "pkg/.env"]);
    assert_eq!(said["skipped"], serde_json::json!([["untracked.txt", "git does not ignore it"]]));
    assert_eq!(said["bytes"], 17);
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.git(["diff", "--name-only", "main^", "main"]), "seen");
    assert_eq!(world.read("seen"), "KEY=1\nKEY=3\ndeep\n");
    assert_eq!(world.read(".env"), "KEY=1\n");
    let imported = world.skein(&["import", "fix", "--json"]).ok().json();
    assert_eq!(
        (&imported["result"]["ignored"], &imported["result"]["leftovers"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let text = world.skein(&["dispatch", "again", "--", "true"]).ok().out;
    assert!(
        text.contains("included  .env, ignored/deep/file, pkg/.env")
            && text.contains("not included: untracked.txt"),
        "{text}"
    );
}

#[test]
fn without_rules_nothing_comes_along_and_untracked_rules_count() {
    let world = World::new();
    world.write("x.ign", "x\n");
    assert!(included(&world, "one", "test ! -e x.ign").0.is_empty());
    world.write(".worktreeinclude", "*.ign\n");
    assert_eq!(included(&world, "two", "test -e x.ign").0, ["x.ign"]);
    assert_eq!(world.field("two", "outcome"), "ready");
}

#[test]
fn nothing_is_copied_over_through_or_beside() {
    let world = including("*.ign\nlib/\nlink.ign\n");
    // At the base a link stands where the main checkout has a folder, and a file where it has another.
    let away = world.root().join("away");
    fs::create_dir(&away).unwrap();
    std::os::unix::fs::symlink("../../away", world.path("lib")).unwrap();
    world.write("kept.ign", "base\n");
    world.write(".gitignore", "*.ign\nlib/\n");
    world.git(["add", "--all", "--force", "lib", "kept.ign", ".gitignore"]);
    let base = world.commit("links");
    fs::remove_file(world.path("lib")).unwrap();
    world.git(["rm", "--quiet", "--cached", "lib", "kept.ign"]);
    world.git(["commit", "--quiet", "-m", "no links"]);
    world.write("lib/planted", "planted\n");
    world.write("kept.ign", "mine\n");
    std::os::unix::fs::symlink("b.txt", world.path("link.ign")).unwrap();
    world.git(["init", "--quiet", "nested.ign"]);
    let args = ["dispatch", "--json", "--base", &base, "--name", "fix", "t", "--", "true"];
    let said = world.skein(&args).ok().json()["result"]["included"].clone();
    assert_eq!(said["copied"], serde_json::json!(["x.ign"]), "{said}");
    let skipped = said["skipped"].to_string();
    for path in ["lib/planted", "kept.ign", "link.ign"] {
        assert!(skipped.contains(path), "{path}: {skipped}");
    }
    assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(world.root().join("repo.skein/fix/kept.ign")).unwrap(), "base\n");
}

#[test]
fn what_the_base_does_not_ignore_stays_at_home() {
    let world = including(".env*\n");
    let old = world.rev("HEAD^");
    let args = ["dispatch", "--json", "--base", &old, "--name", "fix", "t", "--", "true"];
    fs::remove_file(world.path(".worktreeinclude")).unwrap();
    world.git(["rm", "--quiet", "--cached", ".worktreeinclude"]);
    world.write(".worktreeinclude", ".env*\n");
    let said = world.skein(&args).ok().json()["result"]["included"].clone();
    assert_eq!(said["copied"], serde_json::json!([]));
    assert!(said["skipped"].to_string().contains("the base does not ignore it"), "{said}");
}

#[test]
fn too_much_to_bring_along_is_refused() {
    let world = including("*.ign\n");
    fs::File::create(world.path("huge.ign")).unwrap().set_len((1 << 30) + 1).unwrap();
    let ran = world.skein(&["dispatch", "t", "--", "true"]).refused("too-large", 1);
    assert!(ran.err.contains("huge.ign") && ran.err.contains("1024 MiB are copied at most"), "{}", ran.err);
    assert!(world.git(["for-each-ref", "refs/skein"]).is_empty());
}

/// A submodule is an empty folder in a new worktree, as git makes it; a worker that fills it changes nothing.
#[test]
fn submodules_are_left_empty_and_untouched() {
    let world = World::new();
    world.git(["init", "--quiet", "../lib"]);
    let lib = world.root().join("lib");
    let lib = lib.to_str().unwrap();
    world.git([
        "-C",
        lib,
        "-c",
        "user.name=L",
        "-c",
        "user.email=l@x",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "lib",
    ]);
    world.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib"]);
    world.commit("submodule");
    let script = "test -d lib && test -z \"$(ls -A lib)\" && \
                  git -c protocol.file.allow=always submodule --quiet update --init && test -e lib/.git && \
                  echo w > w && git add w && git commit -qm w";
    world.worker("fix", script);
    assert_eq!(world.field("fix", "outcome"), "ready", "{}", world.skein(&["show", "fix", "--log"]).out);
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.git(["diff", "--name-only", "main^", "main"]), "w");
}

/// A step that only touches what the trunk never had is left out; the others land one by one.
#[test]
fn steps_on_uncommitted_files_alone_do_not_land() {
    let world = busy();
    let script = "git rm -q new.txt && git commit -qm removed && echo 1 > one && git add one && git commit -qm one && \
                  git mv new/deep.txt new/moved.txt && git commit -qm moved && echo 2 > two && git add two && git commit -qm two";
    dispatch(&world, "fix", script);
    assert_eq!(landed(&world, "fix"), (1, "not-landed".into()));
    let base = world.head();
    let done = world.skein(&["land", "fix", "--json"]);
    // A renamed file of the person's is gone from where they left it, so that is for them to say.
    let refused = done.refused("conflict", 3);
    assert!(refused.err.contains("uncommitted changes of yours"), "{}", refused.err);
    let world = busy();
    dispatch(
        &world,
        "fix",
        &script.replace("git mv new/deep.txt new/moved.txt && git commit -qm moved && ", ""),
    );
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.lines(&["log", "--reverse", "--format=%s", &format!("{base}..main")]), ["one", "two"]);
    assert_eq!(landed(&world, "fix"), (0, "landed".into()));
    assert_eq!(world.read("new.txt"), "new\n");
}

/// Large files under a filter: the worker sees the content, what lands is what the filter stored.
#[test]
fn filtered_files_come_home_as_they_are_stored() {
    let world = World::new();
    // As LFS does it: the store keeps a pointer, the content lies beside it.
    let store = world.root().join("store");
    fs::create_dir(&store).unwrap();
    let store = store.display();
    let clean = format!(
        "sh -c 'cat > {store}/tmp && id=$(git hash-object --no-filters {store}/tmp) && mv {store}/tmp {store}/$id && echo pointer $id'"
    );
    let smudge = format!("sh -c 'read word id && cat {store}/$id'");
    world.git(["config", "filter.big.clean", &clean]);
    world.git(["config", "filter.big.smudge", &smudge]);
    world.git(["config", "filter.big.required", "true"]);
    world.write(".gitattributes", "*.big filter=big -text\n");
    world.write("old.big", "old content\n");
    world.commit("big");
    world.worker("fix", "grep -q 'old content' old.big && echo 'new content' > new.big && git add new.big && git commit -qm new");
    assert_eq!(world.field("fix", "outcome"), "ready");
    let landed = world.skein(&["land", "fix", "--json"]).ok().json();
    assert_eq!(landed["result"]["paths"], 1);
    assert!(world.git(["show", "main:new.big"]).starts_with("pointer "));
    assert_eq!(world.read("new.big"), "new content\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// What git would commit is what goes in, whatever stands where.
#[test]
fn the_base_has_the_tree_that_git_would_commit() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.git(["init", "--quiet", "../lib"]);
    let lib = world.root().join("lib");
    let inside = |args: &[&str]| {
        let lib = lib.to_str().unwrap();
        world.git([&["-C", lib, "-c", "user.name=L", "-c", "user.email=l@x"], args].concat())
    };
    inside(&["commit", "--quiet", "--allow-empty", "-m", "lib"]);
    world.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib"]);
    for path in ["file", "folder/one", "folder/two", "script", "link", "renamed", "staged", "both"] {
        world.write(path, &format!("{path}\n"));
    }
    world.commit("all kinds");
    fs::remove_file(world.path("file")).unwrap();
    world.write("file/inside", "a folder now\n");
    fs::remove_dir_all(world.path("folder")).unwrap();
    world.write("folder", "a file now\n");
    fs::set_permissions(world.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(world.path("link")).unwrap();
    std::os::unix::fs::symlink("a.txt", world.path("link")).unwrap();
    world.git(["mv", "renamed", "moved"]);
    world.write("staged", "staged\n");
    world.git(["add", "staged"]);
    world.write("both", "staged\n");
    world.git(["add", "both"]);
    world.write("both", "and changed again\n");
    world.write("intended", "intended\n");
    world.git(["add", "--intent-to-add", "intended"]);
    world.write("odd \u{e9}\n\"name", "odd\n");
    world.write("lib/new", "inside the submodule\n");
    let (before, index) = (world.picture(&[]), fs::read(world.path(".git/index")).unwrap());
    let base = dispatch(&world, "fix", "true")["base"].as_str().unwrap().to_owned();
    assert_eq!((world.picture(&[]), fs::read(world.path(".git/index")).unwrap()), (before, index));
    world.git(["add", "--all"]);
    assert_eq!(world.rev(&format!("{base}^{{tree}}")), world.git(["write-tree"]));
}

#[test]
fn a_change_that_only_the_time_of_the_index_tells() {
    let world = World::new();
    world.git(["config", "core.trustCtime", "false"]);
    let at = |path: &str| {
        let file = fs::File::options().write(true).open(world.path(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600)).unwrap();
    };
    world.write("b.txt", "1\n");
    at("b.txt");
    world.commit("one");
    // As if all of it had happened in one second: same size, same time.
    world.write("b.txt", "2\n");
    at("b.txt");
    at(".git/index");
    let said = dispatch(&world, "fix", "test 2 = $(cat b.txt) && echo 3 >b.txt && git commit -qam 3");
    assert_eq!(said["with_dirty"], serde_json::json!(["b.txt"]));
    assert_eq!(world.git(["show", &format!("{}:b.txt", said["base"].as_str().unwrap())]), "2");
    assert_eq!(world.field("fix", "outcome"), "ready");
}
