//! Damages, each made by hand, and the code that names each; that a sound repository has none, and that what can
//! be made again is made again to the byte.

mod damage;

use crate::support::Ran;
use crate::support::World;
use damage::DAMAGES;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// After a walk through everything that leaves a record: workers with one and with two deltas, one that is only
/// kept, a candidate that waits, a verdict, landings of all sorts, one undone and landed again.
fn walked() -> World {
    let world = World::new();
    world.worker(
        "fix",
        "sed -i s/1/one/ a.txt && git commit -qam one && sed -i s/2/two/ a.txt && git commit -qam two; exit 1",
    );
    // A run that fails freezes nothing: the delta is in its newest record.
    world.skein(&["land", "fix", "--any-outcome", "--gate", "grep -q one a.txt"]).ok();
    world.skein(&["undo"]).ok();
    world.skein(&["land", "fix", "--any-outcome", "--squash"]).ok();
    world.worker("more", "echo 1 > more.txt && git add -A && git commit -qm more; echo 2 > left.txt");
    world.skein(&["import", "more", "--any-outcome", "--into", "coord"]).ok();
    world.skein(&["import", "more", "--any-outcome", "--uncommitted"]).ok();
    world.worker("wait", "echo w > wait.txt && git add -A && git commit -qm wait");
    world.skein(&["verdict", "wait", "accept"]).ok();
    world.skein(&["land", "coord"]).ok();
    world.skein(&["candidate", "create", "wait"]).ok();
    world.skein(&["bundle", "save", "wait"]).ok();
    let kind = world.root().join("home/config/git-skein/kinds");
    fs::create_dir_all(&kind).unwrap();
    fs::write(kind.join("careful.md"), "---\nforbid: [b.txt]\n---\n").unwrap();
    let script = "echo d > draft.txt; git skein worker plan --goal g --step 'x -- n' --verify y";
    let kind = ["dispatch", "--wait", "--kind", "careful", "--name", "draft", "draft"];
    world.skein(&[&kind[..], &["--", "sh", "-c", script]].concat()).code(3);
    world
}

fn findings(world: &World) -> (Ran, Vec<Value>) {
    let ran = world.skein(&["fsck", "--json"]);
    let found = ran.json()["result"]["findings"].as_array().unwrap_or_else(|| panic!("{ran:?}")).clone();
    (ran, found)
}

/// Every file with its bytes, and when it was last written.
fn files(dir: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if meta.is_dir() {
            files(&path, all);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        all.insert(path.display().to_string(), format!("{:?} {bytes:?}", meta.modified()));
    }
}

#[test]
fn a_sound_repository_has_no_findings_and_is_only_read() {
    let empty = World::new();
    assert_eq!(findings(&empty).1, Vec::<Value>::new());
    assert!(!empty.path(".git/skein").exists());
    let world = walked();
    let picture = || {
        let mut all = BTreeMap::new();
        files(&world.root(), &mut all);
        all
    };
    let before = picture();
    let (ran, found) = findings(&world);
    assert_eq!(found, Vec::<Value>::new());
    assert!(ran.ok().json()["result"]["records"].as_u64().unwrap() > 20);
    assert!(world.skein(&["fsck"]).ok().out.starts_with("sound: 0 errors, 0 warnings (4 workers"));
    let after = picture();
    let changed: Vec<_> = after.iter().filter(|(path, what)| before.get(*path) != Some(what)).collect();
    assert_eq!((changed, before.len()), (Vec::new(), after.len()));
    // Packed and pruned as hard as git can, it says the same.
    world.git(["gc", "--quiet", "--prune=now"]);
    world.git(["pack-refs", "--all"]);
    assert_eq!(findings(&world).1, Vec::<Value>::new());
}

/// The codes as they are declared, each with its level.
fn codes() -> BTreeMap<String, String> {
    let source = include_str!("../src/state/fsck/finding.rs");
    let table = source.split("\ncodes! {").nth(1).unwrap().split("\n}").next().unwrap();
    let line = |l: &str| {
        let (name, level) = l.trim().strip_suffix(';')?.rsplit_once(' ')?;
        Some((name.split('"').nth(1)?.to_owned(), level.to_lowercase()))
    };
    let codes: BTreeMap<String, String> = table.lines().filter_map(line).collect();
    assert!(codes.len() > 30, "{codes:?}");
    codes
}

#[test]
fn each_code_is_documented_and_no_other() {
    let row = |l: &str| {
        let mut cells = l.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).skip(1);
        Some((cells.next()?, cells.next()?))
            .filter(|(_, level)| ["error", "warning"].contains(&level.as_str()))
    };
    let documented: BTreeMap<String, String> =
        include_str!("../docs/fsck.md").lines().filter_map(row).collect();
    assert_eq!(documented, codes());
}

#[test]
fn each_damage_is_named() {
    let sound = walked();
    let mut wrong = Vec::new();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for (what, damage, want) in DAMAGES {
        let world = sound.copy();
        damage(&world);
        let (ran, found) = findings(&world);
        let codes: BTreeSet<&str> = found.iter().map(|f| f["code"].as_str().unwrap()).collect();
        let error = found.iter().any(|f| f["level"] == "error");
        if codes != want.iter().copied().collect() || ran.code != i32::from(error) {
            wrong.push(format!("{what}: exit {}, {found:#?}", ran.code));
        }
        for key in ["name", "says", "show", "next"] {
            assert!(
                found.iter().all(|f| f[key].as_str().is_some_and(|s| !s.is_empty())),
                "{what}: {found:?}"
            );
        }
        named.extend(codes.into_iter().map(str::to_owned));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(named, codes().into_keys().collect(), "each code has a damage");
}

#[test]
fn a_repository_that_cannot_be_listed_is_a_fault() {
    let world = walked();
    fs::write(world.path(".git/refs/skein/worker/x"), "garbage\n").unwrap();
    world.skein(&["fsck"]).code(128);
    World::new().skein(&["-C", "/", "fsck"]).code(128);
}

#[test]
fn what_follows_from_the_rest_is_made_again() {
    let world = walked();
    let notes = world.rev("refs/notes/skein/landed^{tree}");
    let main = world.rev("main");
    let head = format!("refs/skein-local/head/{}", world.ulid("wait"));
    let kept = world.rev(&head);
    let refs = || world.git(["for-each-ref"]);
    let before = refs();
    world.skein(&["fsck", "--rebuild"]).ok();
    assert_eq!(refs(), before, "nothing was wrong");

    world.git(["update-ref", "-d", "refs/notes/skein/landed"]);
    world.git(["update-ref", "-d", &head]);
    fs::create_dir_all(world.path(".git/skein/cache/x")).unwrap();
    let text = world.skein(&["fsck"]).code(1).out;
    assert!(text.contains("note-missing: refs/notes/skein/landed") && text.contains("damaged: "), "{text}");
    let said = world.skein(&["fsck", "--rebuild"]).ok();
    for part in
        ["made refs/notes/skein/landed again", &format!("made {head} again"), "skein/cache", "sound: "]
    {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    assert_eq!((world.rev("refs/notes/skein/landed^{tree}"), world.rev(&head)), (notes.clone(), kept));
    assert!(!world.path(".git/skein/cache").exists());

    // Lines of ours that are wrong go, lines of other clones stay, and git's own way to store notes is one.
    let foreign = r#"{"at":1,"base":"0000000000000000000000000000000000000000","delta":1,"onto":"refs/heads/main","op":"01kdvdngtr2zjtt1gp5d70xd0f","raw":"","v":1,"worker":"01kdvdngtr2zjtt1gp5d70xd0f"}"#;
    let newer = r#"{"op":"x","v":2}"#;
    world.git([
        "notes",
        "--ref=skein/landed",
        "add",
        "-f",
        "-m",
        &format!("mine\n{foreign}\n{newer}"),
        &main,
    ]);
    world.git(["notes", "--ref=skein/landed", "remove", "main^"]);
    world.skein(&["fsck"]).code(1);
    let old = world.rev("refs/notes/skein/landed");
    let said = world.skein(&["fsck", "--rebuild"]).ok();
    assert!(said.out.contains("note-unproven") && said.out.contains("unknown-version"), "{said:?}");
    assert_eq!(world.rev("refs/notes/skein/landed^"), old, "what was there stays in its history");
    let on_main = world.git(["notes", "--ref=skein/landed", "show", &main]);
    let lines: Vec<&str> = on_main.lines().collect();
    assert!(lines.contains(&foreign) && lines.contains(&newer) && !on_main.contains("mine"), "{on_main}");
    world.git(["notes", "--ref=skein/landed", "remove", &main]);
    world.skein(&["fsck", "--rebuild"]).ok();
    assert_eq!(world.rev("refs/notes/skein/landed^{tree}"), notes);
    world.check();
}

#[test]
fn rebuilding_is_not_for_workers_nor_for_what_was_lost() {
    let world = walked();
    let inside = world.command(&["fsck", "--rebuild"]).env("SKEIN_WORKER", "x").output().unwrap();
    crate::support::ran(inside).refused("in-worker", 1);
    world.git(["update-ref", "-d", "refs/skein/format/1"]);
    world.skein(&["fsck", "--rebuild"]).refused("state-corrupt", 128);
}
