//! What `git cherry` answers wrongly, in both directions.

use crate::support::World;

/// A branch `fork` at the tip of main, checked out.
fn fork(world: &World) -> String {
    world.git(["checkout", "--quiet", "-b", "fork"]);
    world.head()
}

fn back(world: &World) {
    world.git(["checkout", "--quiet", "main"]);
}

/// The marks that `git cherry` gives the commits of the fork.
fn cherry(world: &World) -> String {
    world.lines(&["cherry", "main", "fork"]).iter().map(|l| l[..1].to_owned()).collect()
}

fn line(n: u32, text: &str) -> String {
    (1..=9).map(|i| if i == n { format!("{text}\n") } else { format!("line {i}\n") }).collect()
}

#[test]
fn x01_squash_then_later_work_is_landed() {
    let world = World::new();
    let base = fork(&world);
    world.write("a.txt", &line(2, "two"));
    world.commit("one");
    world.write("a.txt", &line(2, "TWO"));
    world.write("new.txt", "new\n");
    world.commit("two");
    back(&world);
    world.git(["merge", "--quiet", "--squash", "fork"]);
    let squash = world.commit("squashed");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!((code, &verdict["presence"]), (0, &"yes".into()), "{verdict}");
    world.write("a.txt", &line(2, "later"));
    world.commit("the same line again");
    assert_eq!(cherry(&world), "++");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!(code, 0, "{verdict}");
    let want = serde_json::json!(
        {"verdict": "landed", "proof": "range", "at": squash, "presence": "changed"});
    assert_eq!(verdict, want);
}

#[test]
fn x02_landed_then_reverted_is_not_there() {
    let world = World::new();
    let base = fork(&world);
    world.write("a.txt", &line(2, "two"));
    world.commit("one");
    back(&world);
    world.write("b.txt", "other\n");
    world.commit("other");
    world.git(["cherry-pick", "fork"]);
    assert_eq!(world.landed("fork", &base).0, 0);
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(cherry(&world), "-");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!((code, &verdict["presence"]), (1, &"reverted".into()), "{verdict}");
    // Landed once more, it is there again.
    world.git(["cherry-pick", "fork"]);
    assert_eq!(world.landed("fork", &base).0, 0);
}

#[test]
fn x03_a_merge_with_a_file_of_its_own_is_not_landed() {
    let world = World::new();
    let base = fork(&world);
    world.write("one.txt", "one\n");
    let one = world.commit("one");
    world.git(["checkout", "--quiet", "-b", "side", &base]);
    world.write("two.txt", "two\n");
    let two = world.commit("two");
    world.git(["checkout", "--quiet", "fork"]);
    world.git(["merge", "--quiet", "--no-commit", "--no-ff", "side"]);
    world.write("extra.txt", "only here\n");
    let merge = world.commit("merged, with a file of its own");
    back(&world);
    world.git(["cherry-pick", &one, &two]);
    assert_eq!(cherry(&world), "--");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!((code, &verdict["verdict"]), (1, &"partial".into()), "{verdict}");
    assert_eq!(verdict["missing"], serde_json::json!([merge]));
}

#[test]
fn x04_the_same_words_at_another_indent_are_not_landed() {
    let world = World::new();
    world.write("x.py", "def f(a):\n    if a:\n        a += 1\n    return a\n");
    world.commit("python");
    let base = fork(&world);
    world.write("x.py", "def f(a):\n    if a:\n        a += 1\n        a *= 2\n    return a\n");
    let mine = world.commit("inside the if");
    back(&world);
    world.write("x.py", "def f(a):\n    if a:\n        a += 1\n    a *= 2\n    return a\n");
    let theirs = world.commit("outside the if");
    assert_eq!(cherry(&world), "-");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!((code, &verdict["verdict"]), (1, &"not-landed".into()), "{verdict}");
    assert_eq!(verdict["similar"], serde_json::json!([[mine, theirs]]));
}

#[test]
fn x05_empty_commits_prove_nothing_and_modes_and_binaries_count() {
    let world = World::new();
    world.write("bin", "\0\u{1}base");
    world.commit("binary");
    let base = fork(&world);
    let empty = world.commit("nothing");
    back(&world);
    world.commit("nothing, by somebody else");
    assert_eq!(cherry(&world), "-");
    let (code, verdict) = world.landed(&empty, &base);
    assert_eq!((code, &verdict["verdict"]), (1, &"empty".into()), "{verdict}");

    for (branch, file, content) in [("mode", "a.txt", None), ("binary", "bin", Some("\0\u{1}fork"))] {
        world.git(["checkout", "--quiet", "-b", branch, &base]);
        match content {
            Some(content) => world.write(file, content),
            None => drop(world.git(["update-index", "--chmod=+x", file])),
        }
        match content {
            Some(_) => drop(world.commit(branch)),
            None => drop(world.git(["commit", "--quiet", "-m", branch])),
        }
        world.git(["reset", "--quiet", "--hard"]);
        back(&world);
        // The same kind of change that is not the same change.
        match content {
            Some(_) => world.write("bin", "\0\u{1}main"),
            None => world.write("b.txt", "other\n"),
        }
        world.commit("something like it");
        let (code, verdict) = world.landed(branch, &base);
        assert_eq!((code, &verdict["verdict"]), (1, &"not-landed".into()), "{branch}: {verdict}");
        let tip = world.rev(branch);
        world.git(["checkout", "--quiet", &tip, "--", file]);
        world.commit("as in the fork");
        let (code, verdict) = world.landed(branch, &base);
        assert_eq!((code, &verdict["verdict"]), (0, &"landed".into()), "{branch}: {verdict}");
    }
}

#[test]
fn x06_a_clean_pick_beside_an_edit_of_its_context_is_landed() {
    let world = World::new();
    let base = fork(&world);
    world.write("a.txt", &line(5, "five"));
    world.commit("five");
    back(&world);
    world.write("a.txt", &line(7, "seven"));
    world.commit("within the context");
    world.git(["cherry-pick", "fork"]);
    assert_eq!(cherry(&world), "+");
    let adds = world.git(["merge-tree", "--write-tree", "main", "fork"]);
    assert_eq!(adds, world.rev("main^{tree}"));
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!(code, 0, "{verdict}");
    assert_eq!((&verdict["proof"], &verdict["presence"]), (&"contained".into(), &"yes".into()));
}

#[test]
fn x07_two_of_three_landed_names_the_third() {
    let world = World::new();
    let base = fork(&world);
    let mut commits = Vec::new();
    for name in ["one", "two", "three"] {
        world.write(name, name);
        commits.push(world.commit(name));
    }
    back(&world);
    world.git(["cherry-pick", &commits[0], &commits[1]]);
    assert_eq!(cherry(&world), "--+");
    let (code, verdict) = world.landed("fork", &base);
    assert_eq!((code, &verdict["verdict"]), (1, &"partial".into()), "{verdict}");
    assert_eq!(verdict["missing"], serde_json::json!([commits[2]]));
    assert_eq!(verdict["found"], serde_json::json!([commits[0], commits[1]]));
    let said = world.skein(&["landed", "fork", "--base", &base]).code(1);
    assert!(said.out.contains(&commits[2][..10]), "{}", said.out);
}
