//! What `pre-commit` refuses in a worker, and lets pass elsewhere.

use crate::hooks::guarded;
use crate::hooks::left;
use crate::hooks::says_no;
use crate::support::World;

/// Runs `script` in a worker that may be seen as `options` say; gives what it wrote to `out.ign` and `err.ign`.
fn said(world: &World, name: &str, options: &[&str], script: &str) -> (String, String) {
    let script = format!(
        "try() {{ git commit -qm \"$1\" 2>>err.ign && echo \"$1 yes\" >>out.ign || {{ echo \"$1 no\" >>out.ign; git reset -q --hard; }}; }}\n{script}"
    );
    let args =
        [&["dispatch", "--wait", "--name", name], options, &[name, "--", "sh", "-c", &script]].concat();
    let ran = world.skein(&args);
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    (left(world, name, "out.ign"), left(world, name, "err.ign"))
}

#[test]
fn forbidden_paths_and_marks_of_conflicts_are_refused() {
    let world = guarded();
    world.write("marked.txt", "<<<<<<< kept\n=======\n>>>>>>> as it is\n");
    world.commit("marked");
    let script = "\
        mkdir .claude; echo x >.claude/settings; git add .claude; try forbidden\n\
        printf 'a\\n<<<<<<< HEAD\\nb\\n=======\\nc\\n>>>>>>> x\\n' >m.txt; git add m.txt; try conflict\n\
        echo more >>marked.txt; git add marked.txt; try marked-before\n\
        printf 'Title\\n=======\\n' >t.md; git add t.md; try heading\n\
        truncate -s 105000000 big.bin; git add big.bin; try large\n\
        ln -s /etc/passwd link; git add link; try leaves\n\
        echo 1 >>a.txt; git commit -qam plain && echo plain yes >>out.ign\n\
        echo 2 >>a.txt; echo 3 >>b.txt; git commit -qm part a.txt && echo part yes >>out.ign";
    let (out, err) = said(&world, "w", &[], script);
    let want = "forbidden no\nconflict no\nmarked-before yes\nheading yes\nlarge no\nleaves no\nplain yes\npart yes\n";
    assert_eq!(out, want, "{err}");
    for (token, part) in [
        ("forbidden-path", ".claude/settings"),
        ("conflict-markers", "m.txt:2"),
        ("too-large", "big.bin: 100 MiB"),
        ("bad-path", "link: the link leaves the tree"),
    ] {
        assert!(says_no(&err, token) && err.contains(part), "{token}: {err}");
    }
}

#[test]
fn paths_of_others_are_refused_with_their_owner() {
    let world = guarded();
    world
        .skein(&["dispatch", "--name", "owner", "--path", "docs", "owner", "--", "sh", "-c", "sleep 60"])
        .ok();
    let script = "\
        mkdir docs; echo x >docs/a.md; echo y >>a.txt; git add docs a.txt; try owned\n\
        echo y >>a.txt; git add a.txt; try declared\n\
        echo y >>b.txt; git add b.txt; try undeclared";
    let (out, err) = said(&world, "w", &["--path", "a.txt"], script);
    assert_eq!(out, "owned no\ndeclared yes\nundeclared yes\n", "{err}");
    assert!(says_no(&err, "undeclared") && err.contains("docs/a.md: declared by owner"), "{err}");
    assert!(err.contains("not declared, and reported when this is imported: b.txt"), "{err}");
    world.skein(&["stop", "owner"]).ok();
}

#[test]
fn what_a_kind_forbids_is_refused() {
    let world = World::new();
    world.write(".skein/kinds/careful.md", "---\ndescription: careful\nforbid: [b.txt]\n---\nBe careful.\n");
    world.commit("kind");
    world.skein(&["hooks", "install"]).ok();
    let script = "echo y >>b.txt; git add b.txt; try forbidden\necho y >>a.txt; git add a.txt; try free";
    let (out, err) = said(&world, "w", &["--kind", "careful"], script);
    assert_eq!(out, "forbidden no\nfree yes\n", "{err}");
    assert!(err.contains("refused: forbidden-path:") && err.contains("b.txt"), "{err}");
}

#[test]
fn a_person_commits_what_they_like() {
    let world = guarded();
    world.worker("w", "echo 1 >>a.txt; git commit -qam one");
    world.write(".claude/settings", "x\n");
    world.write("m.txt", "<<<<<<< HEAD\n>>>>>>> x\n");
    world.commit("mine");
    let there = world.worktree("w");
    std::fs::write(there.join("m.txt"), "<<<<<<< HEAD\n").unwrap();
    world.git(["-C", there.to_str().unwrap(), "add", "m.txt"]);
    world.git(["-C", there.to_str().unwrap(), "commit", "-qm", "a person in a worker's worktree"]);
}
