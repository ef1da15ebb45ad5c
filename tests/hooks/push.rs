//! `pre-push`: names what nobody has judged, where it is asked to, and never fails for a reason of ours.

use crate::hooks::guarded;
use crate::support::World;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

fn server(world: &World) -> PathBuf {
    let path = world.root().join("server.git");
    world.git(["init", "-q", "--bare", path.to_str().unwrap()]);
    world.git(["remote", "add", "origin", path.to_str().unwrap()]);
    path
}

fn lands(world: &World, name: &str, accept: bool) -> String {
    world.worker(name, &format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}"));
    let args = ["land", name, "--accept"];
    world.skein(if accept { &args } else { &args[..2] }).ok();
    world.head()
}

fn push(world: &World) -> Output {
    world.try_git(["push", "origin", "main"])
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn debt_is_named_or_refused_where_that_is_asked_for() {
    let world = guarded();
    server(&world);
    world.git(["push", "-q", "origin", "main"]);
    lands(&world, "judged", true);
    let owed = lands(&world, "unjudged", false);
    world.git(["config", "skein.debtGate", "refuse"]);
    let ran = push(&world);
    let text = said(&ran);
    assert!(!ran.status.success() && text.contains("refused: unjudged:"), "{text}");
    assert!(text.contains(&owed[..10]) && text.contains("git skein verdict unjudged"), "{text}");
    assert!(!text.contains(" judged:"), "{text}");
    // Other branches, and our own refs, hold no such work or are no branches.
    world.git(["push", "-q", "origin", "main~2:refs/heads/old", "refs/skein/*:refs/skein/*"]);
    world.git(["config", "skein.debtGate", "warn"]);
    let ran = push(&world);
    assert!(ran.status.success() && said(&ran).contains("pushed without a verdict:"), "{}", said(&ran));
    world.git(["push", "-q", world.root().join("server.git").to_str().unwrap(), "main~2:refs/heads/old"]);
    // What the other side has is not pushed again.
    world.git(["config", "skein.debtGate", "refuse"]);
    world.commit("mine");
    let ran = push(&world);
    assert!(ran.status.success() && !said(&ran).contains("git-skein"), "{}", said(&ran));
    world.git(["push", "-q", "origin", "main:refs/heads/another"]);
}

#[test]
fn it_is_off_unless_asked_for() {
    let world = guarded();
    server(&world);
    lands(&world, "unjudged", false);
    let ran = push(&world);
    assert!(ran.status.success() && !said(&ran).contains("git-skein"), "{}", said(&ran));
    world.git(["config", "skein.debtGate", "perhaps"]);
    world.commit("more");
    let ran = push(&world);
    assert!(ran.status.success() && said(&ran).contains("neither off, warn nor refuse"), "{}", said(&ran));
}

#[test]
fn damage_of_ours_fails_no_push() {
    let world = guarded();
    server(&world);
    lands(&world, "unjudged", false);
    world.git(["config", "skein.debtGate", "refuse"]);
    world.git(["update-ref", "-d", "refs/skein/format/1"]);
    let ran = push(&world);
    assert!(ran.status.success() && said(&ran).contains("cannot be told"), "{}", said(&ran));
    world.commit("more");
    let lane = world.git(["for-each-ref", "--format=%(objectname)", "refs/skein/lane"]);
    let object = world.path(&format!(".git/objects/{}/{}", &lane[..2], &lane[2..]));
    fs::remove_file(object).unwrap();
    let ran = push(&world);
    assert!(ran.status.success() && said(&ran).contains("cannot be told"), "{}", said(&ran));
}
