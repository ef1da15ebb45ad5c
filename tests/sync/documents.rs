//! Documents that are written in several clones.

use crate::docworld::body;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use crate::sync::cloned;
use crate::sync::served;
use crate::sync::shared;
use std::io::Write;
use std::process::Stdio;

const DOC: &str = "talk.md";

/// One clone, by its folder.
pub struct At<'w> {
    pub world: &'w World,
    pub clone: &'static str,
}

impl At<'_> {
    pub fn doc(&self, verb: &str, more: &[&str]) -> Ran {
        self.world.skein_in(self.clone, &[&["doc", verb, DOC], more].concat())
    }

    pub fn fed(&self, verb: &str, input: &str) -> Ran {
        let to = self.world.root().join(self.clone).display().to_string();
        let mut command = self.world.command(&["-C", &to, "doc", verb, DOC]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        ran(child.wait_with_output().unwrap())
    }

    pub fn file(&self) -> String {
        std::fs::read_to_string(self.world.root().join(self.clone).join(DOC)).unwrap()
    }

    pub fn put(&self, text: &str) {
        std::fs::write(self.world.root().join(self.clone).join(DOC), text).unwrap();
    }

    /// Types lines at the end of the talk.
    pub fn types(&self, text: &str) {
        let end = "<!-- /agent:exchange -->";
        self.put(&self.file().replace(end, &format!("{text}\n{end}")));
    }

    pub fn asks(&self, text: &str) {
        self.types(text);
        self.doc("preflight", &[]).ok();
    }

    pub fn sync(&self) -> Ran {
        self.world.skein_in(self.clone, &["sync"])
    }

    /// What all know of it.
    pub fn known(&self) -> String {
        let refs = self.world.git_in(self.clone, &["for-each-ref", "--format=%(refname)", "refs/skein/doc"]);
        self.world.git_in(self.clone, &["cat-file", "-p", &format!("{}:text", refs.trim())])
    }

    pub fn turns(&self) -> usize {
        let shown = self.world.skein_in(self.clone, &["doc", "turns", DOC, "--json"]).ok().json();
        shown["result"]["turns"].as_array().unwrap().len()
    }
}

/// A document that was begun in one clone, committed and taken over by the other.
pub fn begun(world: &World) -> (At<'_>, At<'_>) {
    let (one, other) = (At { world, clone: "repo" }, At { world, clone: "other" });
    one.put(&body(""));
    one.doc("claim", &[]).ok();
    one.asks("First?");
    one.fed("respond", "Begun.").ok();
    world.git(["push", "-q", "origin", "main"]);
    one.sync().ok();
    cloned(world, "other");
    other.sync().ok();
    assert_eq!(other.file(), one.file());
    (one, other)
}

/// Syncs until nobody has anything to say.
fn settle(clones: &[&At<'_>]) {
    for _ in 0..4 {
        clones.iter().for_each(|clone| drop(clone.sync().ok()));
    }
    clones.iter().for_each(|clone| assert_eq!(clone.sync().ok().out, "in step with origin\n"));
}

#[test]
fn a_document_that_two_clones_write_is_one_and_nobodys_text_is_lost() {
    let world = served();
    let (one, other) = begun(&world);
    one.asks("What does one say?");
    one.fed("write", "One says yes.").ok();
    other.asks("What does the other say?");
    other.fed("write", "The other says no.").ok();
    one.types("Not sent by one");
    other.types("Not sent by the other");
    settle(&[&one, &other]);

    assert_eq!(one.known(), other.known());
    for said in [
        "First?",
        "Begun.",
        "What does one say?",
        "One says yes.",
        "What does the other say?",
        "The other says no.",
    ] {
        for text in [one.known(), one.file(), other.file()] {
            assert_eq!(text.matches(said).count(), 1, "{said} in\n{text}");
        }
    }
    assert!(one.file().contains("Not sent by one") && other.file().contains("Not sent by the other"));
    let fresh = |at: &At<'_>| -> Vec<String> {
        let shown = at.doc("diff", &[]).ok().out;
        let new = shown
            .lines()
            .filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---"));
        new.filter(|l| l.len() > 1).map(str::to_owned).collect()
    };
    assert_eq!(fresh(&one), ["+Not sent by one"]);
    assert_eq!(fresh(&other), ["+Not sent by the other"]);
    assert_eq!((one.turns(), other.turns()), (3, 3));
    assert_eq!(shared(&world, "repo"), shared(&world, "other"));

    // And it goes on from there.
    one.doc("preflight", &[]).ok();
    one.fed("respond", "Heard.").ok();
    settle(&[&one, &other]);
    assert!(other.file().contains("Heard.") && other.file().contains("Not sent by the other"));
    one.doc("show", &["--verify"]).ok();
    world.skein(&["fsck"]).ok();
    world.skein_in("other", &["fsck"]).ok();
}

#[test]
fn where_two_change_one_line_one_stands_and_the_other_is_kept() {
    let world = served();
    let (one, other) = begun(&world);
    one.put(&one.file().replace("Begun.", "Begun early."));
    one.doc("preflight", &[]).ok();
    one.fed("write", "Noted early.").ok();
    other.put(&other.file().replace("Begun.", "Ended late."));
    other.doc("preflight", &[]).ok();
    other.fed("write", "Noted late.").ok();
    settle(&[&one, &other]);
    assert_eq!(one.known(), other.known());
    let kept = other.doc("conflicts", &["--json"]).code(1).out + &one.known();
    for word in ["early", "late", "Noted early.", "Noted late."] {
        assert!(kept.contains(word), "{word} is lost:\n{kept}");
    }
    assert_eq!(shared(&world, "repo"), shared(&world, "other"));
}

#[test]
fn a_turn_that_is_open_in_both_waits_for_one_of_them() {
    let world = served();
    let (one, other) = begun(&world);
    one.asks("Open in one?");
    other.asks("Open in the other?");
    one.sync().ok();
    let told = other.sync().code(1);
    assert!(told.out.contains("a turn is open here, and one in another clone"), "{}", told.out);
    other.fed("write", "Answered there.").ok();
    other.sync().ok();
    one.fed("write", "Answered here.").ok();
    settle(&[&one, &other]);
    assert_eq!(one.known(), other.known());
    for said in ["Open in one?", "Open in the other?", "Answered here.", "Answered there."] {
        assert_eq!(one.known().matches(said).count(), 1, "{said} in\n{}", one.known());
        assert_eq!(other.file().matches(said).count(), 1, "{said} in\n{}", other.file());
    }
}

#[test]
fn documents_stay_here_where_a_person_says_so() {
    let world = served();
    let one = At { world: &world, clone: "repo" };
    one.put(&body("Secret\n"));
    one.doc("claim", &[]).ok();
    one.doc("preflight", &[]).ok();
    world.git(["config", "skein.syncDocuments", "false"]);
    one.sync().ok();
    assert_eq!(world.git_in("server.git", &["for-each-ref", "refs/skein/doc"]), "");
    world.git(["config", "skein.syncDocuments", "true"]);
    assert!(one.sync().ok().out.contains("gave document talk.md"));
}

/// What one clone has written, before the other syncs.
fn further(one: &At<'_>) {
    one.asks("Second?");
    one.fed("respond", "Said second.").ok();
    one.sync().ok();
}

/// Nothing that the other wrote reads as deleted, and all of it is in the file once.
#[track_caller]
fn has_all(at: &At<'_>) {
    at.doc("preflight", &[]).ok();
    for said in ["First?", "Begun.", "Second?", "Said second."] {
        assert_eq!(at.known().matches(said).count(), 1, "{said} in\n{}", at.known());
        assert_eq!(at.file().matches(said).count(), 1, "{said} in\n{}", at.file());
    }
    at.sync().ok();
    assert!(at.known().contains("Said second."), "{}", at.known());
}

#[test]
fn a_file_that_was_not_here_takes_in_what_came_meanwhile() {
    type Act = fn(&World, &At<'_>);
    let cases: [(&str, Act); 4] = [
        ("another branch", |world, other| {
            world.git_in("other", &["checkout", "-q", "-b", "old", "HEAD~1"]);
            other.sync().ok();
            world.git_in("other", &["checkout", "-q", "main"]);
        }),
        ("another name", |world, other| {
            let to = world.root().join("other");
            std::fs::rename(to.join(DOC), to.join("r.md")).unwrap();
            other.sync().ok();
            std::fs::rename(to.join("r.md"), to.join(DOC)).unwrap();
        }),
        ("deleted and back", |world, other| {
            std::fs::remove_file(world.root().join("other").join(DOC)).unwrap();
            other.sync().ok();
            world.git_in("other", &["checkout", "-q", "--", DOC]);
        }),
        ("synced before it was pulled", |world, _| {
            world.git_in("other", &["checkout", "-q", "--detach", "HEAD~1"]);
            let late = At { world, clone: "late" };
            cloned(world, "late");
            world.git_in("late", &["checkout", "-q", "-B", "main", "HEAD~1"]);
            late.sync().ok();
            world.git_in("late", &["merge", "-q", "--ff-only", "origin/main"]);
            has_all(&late);
        }),
    ];
    for (name, act) in cases {
        let world = served();
        let (one, other) = begun(&world);
        further(&one);
        act(&world, &other);
        if name != "synced before it was pulled" {
            has_all(&other);
        }
        one.sync().ok();
        assert!(one.known().contains("Said second."), "{name}:\n{}", one.known());
    }
}

#[test]
fn what_came_by_a_branch_alone_stays() {
    let world = served();
    let one = At { world: &world, clone: "repo" };
    one.put(&body(""));
    one.doc("claim", &[]).ok();
    one.asks("First?");
    one.fed("respond", "Begun.").ok();
    one.sync().ok();
    one.types("Typed and committed");
    world.git(["commit", "-qam", "typed"]);
    world.git(["push", "-q", "origin", "main"]);
    cloned(&world, "other");
    let other = At { world: &world, clone: "other" };
    other.sync().ok();
    assert!(other.file().contains("Typed and committed"), "{}", other.file());
    assert_eq!(other.file(), one.file());
}

#[test]
fn turns_are_told_apart_by_what_they_are_and_not_by_their_number() {
    let world = served();
    let (one, other) = begun(&world);
    cloned(&world, "third");
    let third = At { world: &world, clone: "third" };
    third.sync().ok();
    for round in 0..3 {
        for (name, at) in [("a", &one), ("b", &other), ("c", &third)] {
            at.asks(&format!("{name}{round}?"));
            at.fed("write", &format!("Answer {name}{round}.")).ok();
        }
        one.sync().ok();
        // It has brought both together, and the remote has not got it.
        world.git_in("third", &["config", "remote.origin.pushurl", "/nowhere/at/all"]);
        third.sync();
        world.git_in("third", &["config", "--unset", "remote.origin.pushurl"]);
        other.sync().ok();
        third.sync().ok();
        settle(&[&one, &other, &third]);
        for at in [&one, &other, &third] {
            assert_eq!(at.turns(), 1 + 3 * (round + 1), "{} in round {round}", at.clone);
        }
    }
    assert_eq!((one.known(), one.known()), (other.known(), third.known()));
    for name in ["a", "b", "c"] {
        for round in 0..3 {
            assert_eq!(one.known().matches(&format!("Answer {name}{round}.")).count(), 1, "{}", one.known());
        }
    }
}
