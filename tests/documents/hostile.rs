//! What a repository, a crash or a person does that nobody expects.

use super::Doc;
use super::ID;
use super::block;
use super::exchange;
use super::with_status;
use crate::support::World;
use std::fs;
use std::os::unix::fs::symlink;

/// Where the new text of `t.md` lies until it takes its place.
const BESIDE: &str = ".t.md.skein~";

#[test]
fn a_link_where_the_new_text_would_lie_is_refused_and_never_followed() {
    for (target, there) in [("victim", true), ("../victim", true), ("newfile", false)] {
        let doc = Doc::new(&exchange("Q?\n"));
        let target = doc.world.path(".").join(target);
        if there {
            fs::write(&target, "precious\n").unwrap();
        }
        doc.send();
        symlink(&target, doc.world.path(BESIDE)).unwrap();
        let (text, step) = (doc.text(), doc.step());
        for (verb, more) in [("write", &[][..]), ("respond", &[]), ("recover", &[]), ("claim", &["--new"])] {
            doc.fed(verb, more, "A.\n").refused("file-exists", 1);
            assert_eq!(fs::read_to_string(&target).ok(), there.then(|| "precious\n".to_owned()), "{verb}");
            assert!(fs::symlink_metadata(doc.world.path("t.md")).unwrap().is_file(), "{verb}");
            assert_eq!((doc.text(), doc.step()), (text.clone(), step.clone()), "{verb}");
        }
        fs::remove_file(doc.world.path(BESIDE)).unwrap();
        doc.respond("A.\n");
        let _ = fs::remove_file(&target);
        doc.is(&exchange("Q?\n\nA.\n\n"));
    }
}

/// A file with a second name: the other name keeps what it has.
#[test]
fn a_second_name_of_another_file_is_not_written_through() {
    let doc = Doc::new("# T\n");
    doc.world.write("other.txt", "precious\n");
    fs::hard_link(doc.world.path("other.txt"), doc.world.path(BESIDE)).unwrap();
    doc.run("claim", &[]).ok();
    assert_eq!(doc.world.read("other.txt"), "precious\n");
    doc.tidy();
}

/// After a reset nothing is known, whatever is done to the text.
#[test]
fn a_turn_taken_back_after_a_reset_commits_nothing() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    let head = doc.world.head();
    doc.run("reset", &[]).ok();
    for (verb, said) in [("turn undo", "Q?\n"), ("turn redo", "Q?\n\nA.\n\n")] {
        doc.run(verb, &["1"]).ok();
        assert_eq!(doc.text(), exchange(said));
        doc.run("commit", &[]).ok();
        assert_eq!(doc.world.head(), head, "{verb}");
        assert!(
            !doc.world.try_git(["cat-file", "-e", &format!("refs/skein/doc/{ID}:text")]).status.success()
        );
    }
    doc.change("A.", "A. More?");
    doc.send();
    doc.respond("B.\n");
    doc.is(&exchange("Q?\n\nA. More?\n\nB.\n\n"));
}

#[test]
fn a_conflict_resolved_after_a_reset_commits_nothing() {
    let doc = Doc::new(&with_status("red\n", "Q?\n"));
    doc.send();
    doc.change("red", "blue");
    doc.fed("write", &[], &block("status", "green")).code(3);
    doc.run("commit", &[]).ok();
    let head = doc.world.head();
    doc.run("reset", &[]).ok();
    doc.run("resolve", &["1", "--theirs"]).ok();
    assert_eq!(doc.text(), with_status("green\n", "Q?\n"));
    doc.run("commit", &[]).ok();
    assert_eq!(doc.world.head(), head);
    doc.tidy();
}

#[test]
fn no_document_is_made_where_none_can_be() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    let world = &doc.world;
    for folder in ["nested", "kept"] {
        fs::create_dir(world.path(folder)).unwrap();
    }
    world.git(["init", "-q", "nested"]);
    symlink(world.path("../elsewhere"), world.path("link")).unwrap();
    fs::create_dir(world.path("../elsewhere")).unwrap();
    for file in ["../outside.md", ".git/x.md", ".git/refs/x.md", "nested/x.md", "link/x.md"] {
        doc.run("turn fork", &["1", file]).refused("outside-worktree", 1);
        assert!(!world.path(file).exists(), "{file}");
    }
    for file in [".git/x.md", ".git/refs/x.md"] {
        world.skein(&["doc", "init", file]).refused("outside-worktree", 1);
        assert!(!world.path(file).exists(), "{file}");
    }
    doc.run("turn fork", &["1", "kept/fork.md"]).ok();
    world.skein(&["doc", "init", "kept/new.md"]).ok();
}

/// What is only meant to be added is not staged: the person's next commit must not take the document away again.
#[test]
fn a_document_that_is_meant_to_be_added_stays_in_the_next_commit() {
    for version in ["2", "4"] {
        let doc = Doc::in_world(World::in_memory(), "t.md");
        doc.put(&exchange("Q?\n"));
        doc.world.git(["add", "-N", "t.md"]);
        doc.world.git(["update-index", "--index-version", version]);
        doc.send();
        doc.respond("A.\n");
        doc.is(&exchange("Q?\n\nA.\n\n"));
        doc.world.write("b.txt", "mine\n");
        doc.world.git(["add", "b.txt"]);
        doc.world.git(["commit", "-qm", "mine"]);
        doc.is(&exchange("Q?\n\nA.\n\n"));
    }
}

#[test]
fn what_git_is_not_to_look_at_stays_so() {
    for (flag, shown) in [("--assume-unchanged", "h t.md"), ("--skip-worktree", "S t.md")] {
        for version in ["2", "4"] {
            let doc = Doc::new(&exchange("Q?\n"));
            doc.world.git(["update-index", flag, "t.md"]);
            doc.world.git(["update-index", "--index-version", version]);
            doc.send();
            doc.respond("A.\n");
            assert_eq!(doc.world.git(["ls-files", "-v", "t.md"]), shown, "version {version}");
            doc.is(&exchange("Q?\n\nA.\n\n"));
            assert_eq!(doc.blob(":t.md"), doc.text());
        }
    }
}

/// A filter of the person's that turns what git has into what the file has, and back.
#[test]
fn what_git_has_in_another_form_is_merged_as_the_file_has_it() {
    let text = exchange("Q?\n");
    let rotten = |text: &str| {
        let turn = |c: char| match c {
            'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
            'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
            c => c,
        };
        text.chars().map(turn).collect::<String>()
    };
    let doc = Doc::in_world(World::in_memory(), "t.md");
    let world = &doc.world;
    for way in ["clean", "smudge"] {
        world.git(["config", &format!("filter.rot.{way}"), "tr a-zA-Z n-za-mN-ZA-M"]);
    }
    world.write(".gitattributes", "*.md filter=rot\n");
    doc.put(&text);
    world.commit("the document");
    assert_eq!(doc.head(), rotten(&text));
    doc.send();
    doc.respond("A.\n");
    assert_eq!(doc.head(), rotten(&exchange("Q?\n\nA.\n\n")));
    // Nobody asked.
    doc.respond("A note.\n");
    let noted = exchange("Q?\n\nA.\n\nA note.\n\n");
    assert_eq!((doc.text(), doc.head()), (noted.clone(), rotten(&noted)));
    // The person has committed meanwhile, before the answer and after it was sent.
    doc.send_after(&noted.replace("# T", "# Title").replace("A note.\n", "A note.\n\nMore?\n"));
    world.write("t.md", &doc.text().replace("# Title", "# Title, mine"));
    world.git(["commit", "-qam", "mine"]);
    doc.respond("B.\n");
    let last = exchange("Q?\n\nA.\n\nA note.\n\nMore?\n\nB.\n\n").replace("# T", "# Title, mine");
    assert_eq!((doc.text(), doc.head()), (last.clone(), rotten(&last)));
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// A world in which the newest write died at this point of it.
fn died(doc: &Doc, point: &str, answer: &str) {
    let mut command = doc.command("write", &[]);
    command.env("SKEIN_FAULT", format!("{point}:1:kill"));
    super::fed(command, answer);
    assert!(doc.world.path(BESIDE).exists(), "{point} was not reached");
}

/// An editor saved after the file was read and before it was replaced, and the write died before it saw that.
#[test]
fn what_was_saved_while_a_write_died_comes_back() {
    let said = |said: &str| with_status("red\n", said);
    let doc = Doc::new(&said("Q?\n"));
    doc.send();
    died(&doc, "document: swapped", "A.\n");
    fs::write(doc.world.path(BESIDE), said("Q?\nKEYSTROKES\n")).unwrap();
    doc.run("recover", &[]).ok();
    assert_eq!(doc.text(), said("Q?\n\nA.\n\nKEYSTROKES\n"));
    doc.run("commit", &[]).ok();
    assert_eq!(doc.head(), said("Q?\n\nA.\n\n"));
    doc.tidy();
    // On the same words: the person's stand.
    doc.send();
    died(&doc, "document: swapped", &block("status", "green"));
    fs::write(doc.world.path(BESIDE), doc.text().replace("green", "blue")).unwrap();
    doc.run("recover", &[]).ok();
    assert!(doc.text().contains("blue\n"), "{}", doc.text());
    assert!(doc.run("conflicts", &[]).out.contains("green"));
    doc.tidy();
}

/// The file was written since, too: both are kept, and what is told of them stays true.
#[test]
fn what_was_saved_while_a_write_died_is_kept_where_it_cannot_come_back() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    died(&doc, "document: swapped", "A.\n");
    fs::write(doc.world.path(BESIDE), exchange("Q?\nKEYSTROKES\n")).unwrap();
    doc.change("# T\n", "# Title\n");
    let text = doc.text();
    let told = doc.run("recover", &[]).ok().err;
    assert_eq!(doc.text(), text);
    doc.world.git(["gc", "-q", "--prune=now"]);
    let named = told.split("git cat-file -p ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert_eq!(doc.blob(&named), exchange("Q?\nKEYSTROKES\n"), "{told}");
    doc.tidy();
}

/// The step is published, and before the file is replaced the person writes the same words.
#[test]
fn a_conflict_that_comes_up_while_a_write_is_finished_is_recorded() {
    let doc = Doc::new(&with_status("build is red\n", "Q?\n"));
    doc.send();
    died(&doc, "document: step published", &block("status", "build is green"));
    doc.change("red", "blue");
    let told = doc.run("recover", &[]).ok().err;
    assert!(told.contains("git skein doc conflicts t.md"), "{told}");
    assert_eq!(doc.text(), with_status("build is blue\n", "Q?\n"));
    let found = doc.run("conflicts", &["--json"]).json()["result"]["conflicts"].clone();
    assert_eq!((&found[0]["turn"], found.as_array().unwrap().len()), (&1.into(), 1), "{found}");
    assert_eq!(found[0]["agent"], "build is green\n");
    doc.run("resolve", &["1", "--theirs"]).ok();
    assert_eq!(doc.text(), with_status("build is green\n", "Q?\n"));
    doc.tidy();
}

/// One that was recorded before it died is not recorded again.
#[test]
fn a_conflict_on_the_record_is_there_once() {
    let doc = Doc::new(&with_status("build is red\n", "Q?\n"));
    doc.send();
    doc.change("red", "blue");
    died(&doc, "document: step published", &(block("status", "build is green") + "\nA.\n"));
    doc.change("Q?\n", "Q?\nMore?\n");
    doc.run("recover", &[]).ok();
    assert_eq!(doc.text(), with_status("build is blue\n", "Q?\n\nA.\n\nMore?\n"));
    let found = doc.run("conflicts", &["--json"]).json()["result"]["conflicts"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    doc.tidy();
}
