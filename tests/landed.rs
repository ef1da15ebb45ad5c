//! `git skein landed` through the built binary: the stories of the oracle's unit tests, and histories with a
//! receipt, which are made by real landings.

mod corpus;
mod matrix;

use crate::support::World;

#[test]
fn a_landing_is_proven_by_its_receipt_until_it_is_taken_back() {
    let world = World::new();
    world.worker("fix", "sed -i s/5/five/ a.txt && git commit -qam five");
    // Context moves, so that no digest and no patch id of the landed commit is that of the worker's.
    world.write("a.txt", &world.read("a.txt").replace("line 3", "drei"));
    world.commit("near");
    let landed = world.skein(&["land", "fix", "--json"]).ok().json()["result"].clone();
    assert_eq!(landed["match"], "adjusted");
    let proof = |world: &World| world.skein(&["landed", "fix", "--json"]).json()["result"]["verdict"].clone();
    assert_eq!((&proof(&world)["proof"], &proof(&world)["presence"]), (&"receipt".into(), &"yes".into()));
    world.write("a.txt", &world.read("a.txt").replace("five", "fuenf"));
    world.commit("later work");
    assert_eq!(proof(&world)["presence"], "changed");
    world.skein(&["landed", "fix"]).ok();
    world.git(["reset", "--quiet", "--hard", "HEAD^"]);
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(proof(&world)["presence"], "reverted");
    world.skein(&["landed", "fix"]).code(1);
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(proof(&world)["presence"], "yes");
}

#[test]
fn a_forged_trailer_is_no_receipt() {
    let world = World::new();
    world.worker("fix", "sed -i s/5/five/ a.txt && git commit -qam five");
    let message = format!("forged\n\nSkein-Worker: {}\nSkein-Delta: 1 abc\nSkein-Op: x\n", world.ulid("fix"));
    world.commit(&message);
    world.skein(&["landed", "fix"]).code(1);
}

#[test]
fn a_cut_history_is_unknown_and_nothing_is_fetched() {
    let world = World::new();
    for n in 0..4 {
        world.write("n.txt", &n.to_string());
        world.commit("more");
    }
    let url = format!("file://{}", world.repo.display());
    world.git(["clone", "--quiet", "--depth=2", &url, "../shallow"]);
    let mut shallow = world;
    shallow.cwd = shallow.root().join("shallow");
    shallow.git(["config", "user.name", "Ada"]);
    shallow.git(["config", "user.email", "ada@example.invalid"]);
    shallow.git(["switch", "--quiet", "--create", "work"]);
    std::fs::write(shallow.cwd.join("w.txt"), "w\n").unwrap();
    shallow.git(["add", "--all"]);
    shallow.git(["commit", "--quiet", "-m", "work"]);
    let said = shallow.skein(&["landed", "work", "--onto", "main"]);
    assert_eq!(said.code, 128, "{said:?}");
    assert!(said.out.contains("shallow"), "{said:?}");
}

#[test]
fn the_answer_of_git_cherry_stands_below_ours() {
    let world = World::new();
    world.git(["switch", "--quiet", "--create", "work"]);
    world.write("a.txt", "five\n");
    let first = world.commit("five");
    world.write("b.txt", "six\n");
    let second = world.commit("six");
    world.git(["switch", "--quiet", "main"]);
    world.git(["cherry-pick", &first]);
    world.git(["revert", "--no-edit", "HEAD"]);
    let said = world.skein(&["landed", "work", "--by", "cherry"]).code(1);
    let below = format!("git cherry says not landed\n  - {first}\n  + {second}\n");
    assert!(said.out.starts_with("partial: ") && said.out.ends_with(&below), "{said:?}");
    let lines = world.skein(&["landed", "work", "--by", "cherry", "--porcelain"]).code(1).out;
    assert!(lines.ends_with(&format!("cherry\t-\t{first}\ncherry\t+\t{second}\n")), "{lines}");
    // What git cherry calls landed was taken back; our exit code stays.
    let said = world.skein(&["landed", &first, "--by", "cherry"]).code(1);
    assert!(said.out.starts_with("reverted: "), "{said:?}");
    assert!(said.out.ends_with(&format!("git cherry says landed\n  - {first}\n")), "{said:?}");
}

/// One commit of several, whose digest its revert does not have: other work has changed the same file, it came in twice,
/// or the file has another name.
#[test]
fn a_commit_that_was_taken_back_is_not_called_landed() {
    let world = World::new();
    let base = world.head();
    world.git(["switch", "--quiet", "--create", "work"]);
    let edit = |path: &str, old: &str, new: &str| world.write(path, &world.read(path).replace(old, new));
    edit("a.txt", "line 2", "two");
    let first = world.commit("first");
    edit("a.txt", "line 8", "eight");
    world.commit("second");
    world.git(["mv", "b.txt", "c.txt"]);
    let tip = world.commit("third");
    let says = |start: &dyn Fn(), reverted: &dyn Fn() -> String| {
        world.git(["switch", "--quiet", "--force-create", "main", &base]);
        start();
        world.landed("work", &base).0 == 0 && {
            let commit = reverted();
            world.git(["revert", "--no-edit", &commit]);
            let (code, said) = world.landed("work", &base);
            (code, &said["presence"]) == (1, &"reverted".into())
        }
    };
    let by_subject =
        |subject: &str| world.git(["log", "-1", "--format=%H", &format!("--grep=^{subject}$"), "main"]);
    let pick = || drop(world.git(["cherry-pick", &format!("{base}..{tip}")]));
    assert!(says(&pick, &|| by_subject("first")), "picked one by one");
    let pick_and_merge = || {
        world.git(["cherry-pick", &first]);
        world.git(["merge", "--no-ff", "--no-edit", "work"]);
    };
    let picked = || world.git(["log", "-1", "--first-parent", "--format=%H", "--grep=^first$", "main"]);
    assert!(says(&pick_and_merge, &picked), "picked, then merged");
    let pick_and_rename = || {
        pick();
        world.git(["mv", "a.txt", "z.txt"]);
        world.commit("renamed");
    };
    assert!(says(&pick_and_rename, &|| by_subject("second")), "under another name");
    let pick_and_edit = || {
        pick();
        world.write("c.txt", "b\nand more\n");
        world.commit("edited");
    };
    assert!(!says(&pick_and_edit, &|| by_subject("edited")), "what the work did not do is no part of it");
}

/// Plain names are looked up without git; what git says of them is the law.
#[test]
fn a_name_means_what_it_means_to_git() {
    let mut worlds = vec![World::new()];
    if crate::matrix::knows_reftable("git") {
        worlds.push(World::with_formats(&["--ref-format=reftable"]));
    }
    for world in worlds {
        let mut commits = Vec::new();
        for n in ["one", "two", "three", "four", "five"] {
            world.write("n", n);
            world.commit(n);
            commits.push(world.rev("HEAD"));
        }
        let [one, two, three, four, five] = &commits[..] else { unreachable!() };
        let short = &three[..7];
        for (name, oid) in [
            ("refs/heads/both", one),
            ("refs/tags/both", two),
            ("refs/remotes/origin/far", three),
            ("refs/odd", four),
            (&format!("refs/heads/{short}"), five),
            (&format!("refs/heads/{one}"), five),
            ("refs/heads/config", four),
            ("refs/bisect/bad", three),
            ("refs/heads/refs/heads/main", two),
        ] {
            world.git(["update-ref", name, oid]);
        }
        world.git(["tag", "-a", "-m", "it", "kept", two]);
        world.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/far"]);
        let blob = world.rev("HEAD:n");
        world.git(["tag", "blob", &blob]);
        let mut names =
            vec!["both", "origin/far", "origin", "odd", short, one, "config", "bisect/bad", "kept"];
        names.extend([
            "refs/heads/main",
            "heads/both",
            "main",
            "@",
            "HEAD",
            "main~1",
            "two",
            "",
            "blob",
            &blob,
        ]);
        names.extend([
            "tags/both",
            "refs/heads/both^",
            ":/two",
            "refs/",
            "-x",
            "a b",
            "main@{0}",
            "/main",
            "../main",
        ]);
        for name in names {
            let asked = format!("{name}^{{commit}}");
            let git = world.try_git(["rev-parse", "-q", "--verify", "--end-of-options", &asked]);
            let git = git.status.success().then(|| String::from_utf8(git.stdout).unwrap().trim().to_owned());
            let ours = world.skein(&["landed", "--json", "--base", one, "--onto", "main", "--", name]).json();
            let ours = ours["result"]["tip"].as_str().map(ToOwned::to_owned);
            assert_eq!(ours, git, "{name:?}");
        }
    }
}
