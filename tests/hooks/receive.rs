//! `pre-receive` on a bare server: the trunk gets what was gated, and a person can sign for the rest.

use crate::hooks::has_reftables;
use crate::hooks::says_no;
use crate::support::World;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

/// A server with our hook, and the trunk of `world` on it.
fn server(world: &World, options: &[&str]) -> PathBuf {
    let path = world.root().join("my server.git");
    let text = path.to_str().unwrap();
    world.git([&["init", "-q", "--bare", "--initial-branch=main"], options, &[text]].concat());
    let ran = world.skein(&["-C", text, "hooks", "install"]).ok();
    assert!(ran.out.contains("pre-receive") && !ran.out.contains("pre-push"), "{}", ran.out);
    world.git(["remote", "add", "origin", text]);
    world.git(["push", "-q", "origin", "main"]);
    path
}

fn lands(world: &World, name: &str, gate: Option<&str>) {
    world.worker(name, &format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}-1; echo 2 >>{name}.txt; git commit -qam {name}-2"));
    let gate: Vec<&str> = gate.map(|gate| vec!["--gate", gate]).unwrap_or_default();
    world.skein(&[&["land", name], &gate[..]].concat()).ok();
}

const LANES: &str = "refs/skein/lane/*:refs/skein/lane/*";

fn push(world: &World, args: &[&str]) -> Output {
    world.try_git([&["push", "origin"], args].concat())
}

#[track_caller]
fn refused(world: &World, args: &[&str], word: &str) {
    let before = world.git(["ls-remote", "origin", "refs/heads/main"]);
    let ran = push(world, args);
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && says_no(&text, "unproven") && text.contains(word), "{text}");
    assert_eq!(world.git(["ls-remote", "origin", "refs/heads/main"]), before);
}

#[track_caller]
fn accepted(world: &World, args: &[&str]) -> String {
    let ran = push(world, args);
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{text}");
    text
}

fn judges(options: &[&str]) {
    let world = World::with_formats(options);
    server(&world, options);
    lands(&world, "one", Some("true"));
    refused(&world, &["main"], "no lane here has a landing of it");
    // In one push with the proof, which is then in quarantine still.
    accepted(&world, &["main", LANES]);
    lands(&world, "ungated", None);
    refused(&world, &["main", LANES], "no gate has passed on its tree");
    world.skein(&["undo"]).ok();
    // The lane first, by itself; then the trunk.
    lands(&world, "two", Some("test -f two.txt"));
    accepted(&world, &[LANES]);
    refused(&world, &["main~1:main"], "no lane here has a landing of it");
    accepted(&world, &["main"]);
    world.commit("by hand");
    refused(&world, &["main", LANES], "no lane here has a landing of it");
    accepted(&world, &["main:refs/heads/topic"]);
    refused(&world, &["+main~3:main"], "would lose commits");
    refused(&world, &[":main"], "would be deleted");
}

#[test]
fn the_trunk_gets_what_was_gated() {
    judges(&[]);
}

#[test]
fn in_sha256_and_reftables_too() {
    judges(&["--object-format=sha256"]);
    if has_reftables() {
        judges(&["--ref-format=reftable"]);
    }
}

#[test]
fn what_the_policy_of_the_trunk_wants_has_to_have_passed() {
    let world = World::new();
    world.git(["branch", "lax"]);
    world.write(".skein/policy.toml", "gate = ['test -f two.txt']\n");
    world.commit("policy");
    server(&world, &[]);
    // A clone that takes another branch for the trunk hears another policy, or none.
    world.git(["config", "skein.trunk", "lax"]);
    let args = ["dispatch", "--wait", "--base", "main", "--onto", "main", "--name"];
    let script = |name: &str| format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}");
    let lands = |name: &str, gate: &str| {
        world.skein(&[&args[..], &[name, name, "--", "sh", "-c", &script(name)]].concat()).ok();
        world.skein(&["land", name, "--onto", "main", "--gate", gate]).ok();
    };
    lands("one", "true");
    refused(&world, &["main", LANES], "test -f two.txt has not run on its tree");
    lands("two", "test -f two.txt");
    // The first landing is still there, and still not proven.
    refused(&world, &["main", LANES], "test -f two.txt has not run on its tree");
    world.git(["reset", "-q", "--hard", "origin/main"]);
    world.skein(&[&args[..], &["alone", "alone", "--", "sh", "-c", &script("two")]].concat()).ok();
    world.skein(&["land", "alone", "--onto", "main", "--gate", "test -f two.txt"]).ok();
    accepted(&world, &["main", LANES]);
}

#[test]
fn a_person_can_sign_for_it() {
    let world = World::new();
    let server = server(&world, &[]);
    let key = world.root().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
        .arg(&key)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = world.root().join("allowed");
    fs::write(&allowed, format!("ada@example.invalid {public}")).unwrap();
    let on_server = |key: &str, value: &str| {
        world.git(["-C", server.to_str().unwrap(), "config", key, value]);
    };
    on_server("receive.advertisePushOptions", "true");
    on_server("receive.certNonceSeed", "a seed");
    on_server("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap());
    for (key, value) in [("gpg.format", "ssh"), ("user.signingKey", key.to_str().unwrap())] {
        world.git(["config", key, value]);
    }
    world.commit("by hand");
    refused(&world, &["-o", "skein-override=hotfix", "main"], "nothing proves");
    refused(&world, &["--signed", "main"], "nothing proves");
    refused(&world, &["--signed", "-o", "skein-override=", "main"], "nothing proves");
    let text = accepted(&world, &["--signed", "-o", "skein-override=hotfix for 1.2", "main"]);
    assert!(
        text.contains("main is accepted without proof, signed by ada@example.invalid: hotfix for 1.2"),
        "{text}"
    );
    // Nor does it take a policy that can be read.
    world.write(".skein/policy.toml", "gate = 1\n");
    world.commit("a policy that nobody can read");
    accepted(&world, &["--signed", "-o", "skein-override=broken", "main"]);
    world.write(".skein/policy.toml", "");
    world.commit("mended");
    let ran = push(&world, &["main"]);
    assert!(!ran.status.success() && says_no(&String::from_utf8_lossy(&ran.stderr), "bad-policy"), "{ran:?}");
    accepted(&world, &["--signed", "-o", "skein-override=mended", "main"]);
    world.commit("by hand again");
    fs::write(&allowed, "").unwrap();
    refused(&world, &["--signed", "-o", "skein-override=x", "main"], "nothing proves");
}
