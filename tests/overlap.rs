//! Workers that are at work on the same lines: what is seen of it, and who is told.

use crate::support::World;
use crate::support::acts::until;
use serde_json::json;
use std::fs;

/// A worker that commits what `script` does.
fn works(world: &World, name: &str, script: &str) {
    world.worker(name, &format!("{script}\ngit add -A && git commit -qm {name}"));
}

/// `one` and `two` on the same line, `three` two lines further, `far` at the other end, `alone` elsewhere.
fn crowd() -> World {
    let world = World::new();
    works(&world, "one", "sed -i 's/line 1/one/' a.txt");
    works(&world, "two", "sed -i 's/line 1/two/' a.txt; echo two > b.txt");
    works(&world, "three", "sed -i '4i three' a.txt");
    works(&world, "alone", "echo alone > new.txt");
    world.worker("idle", "true");
    world
}

#[test]
fn pairs_are_told_with_their_lines_and_what_a_merge_says() {
    let world = crowd();
    let before = world.git(["for-each-ref"]);
    let ran = world.skein(&["overlap"]).code(1);
    assert_eq!(
        ran.out,
        "one and two\n  contested  a.txt (line 1 and line 1)\n  merge: conflict in a.txt\n\
         one and three\n  adjacent   a.txt (line 1 and after line 3, 2 lines apart)\n  merge: clean\n\
         two and three\n  adjacent   a.txt (line 1 and after line 3, 2 lines apart)\n  merge: clean\n"
    );
    let one = world.skein(&["overlap", "three", "--json"]).ok().json()["result"].clone();
    assert_eq!(one["workers"].as_array().unwrap().len(), 4, "idle has no work");
    assert_eq!(one["pairs"].as_array().unwrap().len(), 2);
    let pair = &one["pairs"][0];
    assert_eq!(
        pair["paths"],
        json!([{ "path": "a.txt", "nearness": "adjacent", "gap": 2, "lines": [[1, 1], [4, 3]] }])
    );
    let theirs = world.git(["merge-tree", "--write-tree", &tip(&world, "one"), &tip(&world, "three")]);
    assert_eq!(pair["merged"], theirs, "git comes to the same tree");
    assert_eq!(world.git(["for-each-ref"]), before, "it only looks");

    let said = world.skein(&["status"]).ok().out;
    assert!(said.contains("one meets two in a.txt: conflicts\n"), "{said}");
    assert!(said.contains("one meets three in a.txt: adjacent\n") && !said.contains("alone meets"), "{said}");
    let card = world.skein(&["show", "two"]).ok().out;
    assert!(card.contains("  meets     one in a.txt: conflicts\n"), "{card}");

    let ran = world.skein(&["land", "one"]).ok();
    assert!(ran.err.contains("overlap: two (ready) changes a.txt too: conflicts\n"), "{}", ran.err);
    assert!(!ran.err.contains("alone"), "{}", ran.err);
    let said = world.skein(&["overlap"]).ok().out;
    assert!(!said.contains("one"), "what has landed is in nobody's way as a worker: {said}");
    world.skein(&["land", "two"]).code(3);
    assert_eq!(world.skein(&["overlap", "alone"]).ok().out.lines().count(), 1);
    world.skein(&["overlap", "nobody"]).refused("no-such-worker", 1);
    world.check();
}

fn tip(world: &World, name: &str) -> String {
    world.field(name, "head").as_str().unwrap().to_owned()
}

#[test]
fn a_gate_finds_what_merges_and_does_not_work() {
    let world = World::new();
    world.write("lib.sh", "greet() { echo hello; }\n");
    world.write("main.sh", ". ./lib.sh\ngreet\n");
    world.commit("program");
    works(&world, "rename", "sed -i s/greet/welcome/ lib.sh main.sh");
    works(&world, "caller", "printf '. ./lib.sh\\ngreet\\n' > other.sh");
    works(&world, "words", "echo words > words.txt");
    assert_eq!(world.skein(&["overlap"]).ok().out.lines().count(), 1, "they share no file");
    let gate = "for f in main.sh other.sh; do test ! -e $f || sh -e $f || exit 1; done";
    let ran = world.skein(&["overlap", "--gate", gate, "--json"]).code(1).json();
    let pairs = ran["result"]["pairs"].as_array().unwrap();
    let told: Vec<(String, bool)> =
        pairs.iter().map(|p| (p["workers"].to_string(), p["gate"]["passed"].as_bool().unwrap())).collect();
    let want =
        [(r#"["rename","caller"]"#, false), (r#"["rename","words"]"#, true), (r#"["caller","words"]"#, true)];
    assert_eq!(told, want.map(|(pair, passed)| (pair.to_owned(), passed)));
    let text = world.skein(&["overlap", "--gate", gate]).code(1).out;
    assert!(text.contains("gate:  passed on both together") && text.contains("greet"), "{text}");
    // What passed is evidence on that very tree: it is not run again.
    let tree = pairs[1]["merged"].as_str().unwrap();
    let log = world.skein(&["log", "--json"]).ok().out;
    assert_eq!(log.matches(tree).count(), 1, "{log}");
    world.check();
}

#[test]
fn a_name_of_a_file_is_nothing_but_a_name() {
    let world = World::new();
    for name in ["one", "two"] {
        works(&world, name, &format!("printf '{name}\\n' > \"$(printf 'x\\nlanded: all of it')\""));
    }
    let ran = world.skein(&["land", "one", "--dry-run"]);
    assert!(!ran.err.lines().any(|line| line.starts_with("landed:")), "{}", ran.err);
    let said = world.skein(&["overlap"]).code(1).out + &world.skein(&["status"]).ok().out;
    assert!(!said.lines().any(|line| line.starts_with("landed:")) && said.contains("contested"), "{said}");
}

#[test]
fn what_builds_on_another_does_not_meet_it() {
    let world = World::new();
    works(&world, "below", "sed -i 's/line 1/below/' a.txt");
    let script = "sed -i 's/below/above/' a.txt; git commit -qam above";
    world
        .skein(&[
            "dispatch",
            "--wait",
            "--base",
            &tip(&world, "below"),
            "--name",
            "above",
            "t",
            "--",
            "sh",
            "-c",
            script,
        ])
        .ok();
    world.skein(&["overlap"]).ok();
    assert_eq!(world.skein(&["overlap", "--json"]).ok().json()["result"]["pairs"], json!([]));
}

#[test]
fn the_second_is_told_when_it_comes_to_the_lines_of_the_first() {
    let world = World::new();
    let begin = |name: &str, first: &str| {
        let script = format!(
            "until [ -e go.ign ]; do sleep 0.02; done; {first}; touch done.ign; until [ -e end.ign ]; do sleep 0.05; done"
        );
        world.skein(&["dispatch", "--name", name, name, "--", "sh", "-c", &script]).ok();
    };
    begin("first", "sed -i 's/line 1/first/' a.txt");
    begin("second", "sed -i 's/line 1/second/' a.txt");
    let mut watch = world.command(&["overlap", "--watch"]);
    let pictures = world.root().join("pictures");
    let mut watch = watch.stdout(fs::File::create(&pictures).unwrap()).spawn().unwrap();
    let go = |name: &str| {
        fs::write(world.worktree(name).join("go.ign"), "").unwrap();
        until("it has written", || world.worktree(name).join("done.ign").exists());
    };
    go("first");
    let snapshot = |name: &str| world.skein(&["show", "--diff", name]).ok().out;
    until("the first is seen", || snapshot("first").contains("+first"));
    go("second");
    let messages =
        |name: &str| world.skein(&["show", "--json", name]).ok().json()["result"]["messages"].clone();
    until("the second is told", || messages("second").is_array());
    let told = messages("second");
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.starts_with("worker first has changed the same lines before you: a.txt."), "{told}");
    let seen = || fs::read_to_string(&pictures).unwrap();
    until("who watches sees it", || {
        seen().contains("first and second\n  contested  a.txt (line 1 and line 1)\n")
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(seen().starts_with("no two change the same files"), "{}", seen());
    // A change of the first does not make it the second, nor is anything told twice.
    fs::write(world.worktree("first").join("more"), "").unwrap();
    fs::write(world.worktree("second").join("more"), "").unwrap();
    until("both are seen again", || ["first", "second"].iter().all(|n| snapshot(n).contains("b/more")));
    for name in ["first", "second"] {
        fs::write(world.worktree(name).join("end.ign"), "").unwrap();
    }
    world.skein(&["wait"]);
    assert!(messages("first").is_null(), "{}", messages("first"));
    assert_eq!(messages("second").as_array().unwrap().len(), 1);
    let events = world.skein(&["events"]).ok().out;
    assert_eq!(events.matches("\"kind\":\"overlap\"").count(), 1, "{events}");
    world.check();
}
