//! `doc commit` where git keeps things otherwise: other line ends, objects and refs, parts of a tree, other trees.

use crate::docworld::ANSWER;
use crate::docworld::DOC;
use crate::docworld::answered;
use crate::docworld::body;
use crate::docworld::commits::moves_alone;
use crate::docworld::commits::only_typing_is_left;
use crate::docworld::commits::oracle;
use crate::docworld::commits::ready;
use crate::docworld::feed;
use crate::docworld::send;
use crate::docworld::type_on;
use crate::matrix::knows_reftable;
use crate::support::World;

/// A document with the line ends of another system, committed twice.
fn with_crlf(world: &World) {
    let text = body("What is it?\n").replace('\n', "\r\n");
    world.write(DOC, &text);
    world.skein(&["doc", "claim", DOC]).ok();
    for (n, said) in ["It is a test.", "It is another one."].into_iter().enumerate() {
        type_on(world, DOC, &format!("More {n}?\r\n"));
        send(world, DOC);
        feed(world, &["doc", "respond", DOC], said).ok();
        let file = world.read(DOC);
        assert_eq!(file.matches('\n').count(), file.matches("\r\n").count(), "{file:?}");
        assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", file.replace("\r\n", "\n"));
        assert_eq!(world.git(["status", "--porcelain"]), "");
        assert_eq!(world.rev("HEAD^{tree}"), oracle(world, Some("HEAD^"), DOC, &file));
    }
    world.check();
}

#[test]
fn line_ends_that_git_converts_by_its_configuration() {
    let world = World::in_memory();
    world.git(["config", "core.autocrlf", "true"]);
    with_crlf(&world);
}

#[test]
fn line_ends_that_git_converts_by_attributes() {
    let world = World::in_memory();
    world.write(".gitattributes", "*.md text eol=crlf\n");
    world.commit("attributes");
    with_crlf(&world);
}

/// What a filter makes of it is committed, and status agrees.
#[test]
fn a_filter_of_the_person() {
    let world = World::in_memory();
    world.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    world.git(["config", "filter.up.smudge", "cat"]);
    world.write(".gitattributes", "*.md filter=up\n");
    world.commit("attributes");
    let (world, known, head) = ready(world);
    moves_alone(&world, DOC, &known, Some(&head));
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known.to_uppercase());
    only_typing_is_left(&world, DOC);
}

#[test]
fn a_sparse_checkout() {
    for index in ["--sparse-index", "--no-sparse-index"] {
        let world = World::in_memory();
        for path in ["in/1", "out/1", "out/deep/2"] {
            world.write(path, "x\n");
        }
        world.commit("folders");
        world.git(["sparse-checkout", "set", "--cone", index, "in"]);
        let path = "in/talk.md";
        let (known, head) = (answered(&world, path), world.head());
        moves_alone(&world, path, &known, Some(&head));
        only_typing_is_left(&world, path);
        assert!(!world.path("out").exists());
        assert!(world.git(["ls-tree", "-r", "--name-only", "HEAD"]).contains("out/deep/2"));
    }
}

/// In a folder that the checkout leaves out, a person may still have a document.
#[test]
fn outside_of_a_sparse_checkout() {
    for index in ["--sparse-index", "--no-sparse-index"] {
        let world = World::in_memory();
        world.write("in/1", "x\n");
        world.write("out/1", "x\n");
        world.commit("folders");
        world.git(["sparse-checkout", "set", "--cone", index, "in"]);
        let path = "out/talk.md";
        let (known, head) = (answered(&world, path), world.head());
        world.skein(&["doc", "commit", path]).ok();
        assert_eq!(world.rev("HEAD^{tree}"), oracle(&world, Some(&head), path, &known));
        assert_eq!(world.lines(&["diff-tree", "-r", "--name-only", &head, "HEAD"]), [path]);
        assert_eq!(world.git(["diff", "--cached", "--name-only"]), "", "{index}");
        world.check();
    }
}

#[test]
fn in_a_submodule() {
    let mut world = World::in_memory();
    let lib = world.root().join("lib");
    world.git(["clone", "-q", ".", lib.to_str().unwrap()]);
    world.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "sub"]);
    world.commit("submodule");
    let above = (world.head(), world.git(["ls-files", "--stage"]));
    // Nobody says which repository it is but the folder that the document is in.
    let path = "sub/talk.md";
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.invalid")] {
        world.git(["-C", "sub", "config", key, value]);
    }
    let head = world.git(["-C", "sub", "rev-parse", "HEAD"]);
    let known = answered(&world, path);
    world.skein(&["doc", "commit", path]).ok();
    assert_eq!((world.head(), world.git(["ls-files", "--stage"])), above);
    assert!(world.git(["for-each-ref", "refs/skein"]).is_empty());
    world.cwd = world.path("sub");
    assert_eq!(world.rev("HEAD^"), head);
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known);
    only_typing_is_left(&world, DOC);
}

#[test]
fn in_a_linked_worktree() {
    let mut world = World::in_memory();
    world.git(["switch", "-qc", "desk"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    let seen = |world: &World| {
        (world.picture(&["main"]), world.git(["-C", world.repo.to_str().unwrap(), "status", "--porcelain"]))
    };
    let before = seen(&world);
    let linked = world.root().join("linked");
    let desk = std::mem::replace(&mut world.repo, linked.clone());
    world.cwd = linked;
    let (known, head) = (answered(&world, DOC), world.head());
    world.skein(&["doc", "commit", DOC]).ok();
    assert_eq!((world.rev("main^"), world.rev("desk")), (head.clone(), head));
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known);
    only_typing_is_left(&world, DOC);
    (world.repo, world.cwd) = (desk.clone(), desk);
    assert_eq!(seen(&world), before);
}

#[test]
fn other_objects_and_other_refs() {
    let git = std::env::var("SKEIN_TEST_GIT").unwrap_or_else(|_| "git".to_owned());
    let mut formats = vec![vec!["--object-format=sha256"]];
    if knows_reftable(&git) {
        formats.push(vec!["--ref-format=reftable"]);
        formats.push(vec!["--object-format=sha256", "--ref-format=reftable"]);
    }
    for format in formats {
        let (world, known, head) = ready(World::with_formats(&format));
        moves_alone(&world, DOC, &known, Some(&head));
        only_typing_is_left(&world, DOC);
        world.git(["switch", "-q", "--detach"]);
        send(&world, DOC);
        feed(&world, &["doc", "respond", DOC], ANSWER).ok();
        assert_eq!(world.rev("HEAD~2"), head, "{format:?}");
        assert_eq!(world.rev("main"), world.rev("HEAD~1"), "{format:?}");
        assert_eq!(world.git(["status", "--porcelain"]), "", "{format:?}");
    }
}
