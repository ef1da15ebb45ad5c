//! What only spares work may be damaged, forged, old or gone: no answer changes.

use crate::support::MOMENT;
use crate::support::World;
use std::fs;
use std::path::PathBuf;

/// What may befall a file of the cache, and what then stands there.
type Damage = (&'static str, fn(&[u8]) -> Vec<u8>);

fn damages() -> Vec<Damage> {
    let mut damages: Vec<Damage> = vec![
        ("empty", |_| Vec::new()),
        ("its first line alone", |b| b[..b.iter().position(|b| *b == b'\n').unwrap() + 1].to_vec()),
        ("another version", |b| [b"skein 2", &b[7..]].concat()),
        ("cut in the middle", |b| b[..b.len() / 2].to_vec()),
        ("cut by a byte", |b| b[..b.len() - 1].to_vec()),
        ("something after it", |b| [b, b"more"].concat()),
        ("its first half twice", |b| [&b[..b.len() / 2], b].concat()),
        ("zeros, as after a power cut", |b| vec![0; b.len()]),
        ("ones", |b| vec![0xff; b.len()]),
    ];
    damages.extend([
        ("every 7th byte flipped", (|b: &[u8]| flip(b, 7)) as fn(&[u8]) -> Vec<u8>),
        ("every 1009th byte flipped", |b| flip(b, 1009)),
    ]);
    damages
}

fn flip(bytes: &[u8], step: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.iter_mut().step_by(step).for_each(|b| *b ^= 0x41);
    bytes
}

fn cache(world: &World, name: &str) -> PathBuf {
    world.repo.join(".git/skein/cache").join(name)
}

/// Five workers, each a little commit, and a cache of their records.
fn crowd() -> World {
    let world = World::in_memory().env("SKEIN_CLOCK", &MOMENT.to_string());
    world.skein(&["init"]).ok();
    let names: Vec<String> = (1..=5).map(|n| format!("w{n}")).collect();
    let script = "date > n && git add n && git commit -qm n";
    let dispatch =
        |n: &'_ String| ["dispatch", "--wait", "--name", n, n, "--", "sh", "-c", script].map(str::to_owned);
    let commands: Vec<[String; 9]> = names.iter().map(dispatch).collect();
    world.at_once(&commands.iter().map(|c| c.iter().map(String::as_str).collect()).collect::<Vec<_>>());
    world.skein(&["import", "w1"]).ok();
    world
}

fn answers(world: &World) -> Vec<(i32, String, String)> {
    let ask = |args: &[&str]| {
        let ran = world.skein(args);
        (ran.code, ran.out, ran.err)
    };
    vec![ask(&["status", "--json"]), ask(&["landed", "w2", "--json"])]
}

#[test]
fn a_bad_cache_of_records_changes_no_answer() {
    let world = crowd();
    let path = cache(&world, "records");
    let good = fs::read(&path).unwrap();
    assert!(bstr::ByteSlice::find(&good[..], b"\"handle\": \"w3\"").is_some(), "w3 is not in it");
    fs::remove_file(&path).unwrap();
    let want = answers(&world);
    assert!(want.first().is_some_and(|(code, _, _)| *code == 0), "{want:?}");
    fs::write(&path, &good).unwrap();
    assert_eq!(answers(&world), want, "as it was written");
    let forged: Damage =
        ("a forged record", |b| bstr::ByteSlice::replace(b, b"\"handle\": \"w3\"", b"\"handle\": \"w9\""));
    for (what, damage) in damages().into_iter().chain([forged]) {
        fs::write(&path, damage(&good)).unwrap();
        assert_eq!(answers(&world), want, "{what}");
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(answers(&world), want, "a folder");
    world.skein(&["import", "w2"]).ok();
    world.check();
}

#[test]
fn a_cache_does_not_stand_in_for_what_the_store_has_lost() {
    let world = crowd();
    let blob = world.rev(&format!("refs/skein/worker/{}:record.json", world.ulid("w3")));
    let loose = world.repo.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let kept = fs::read(&loose).unwrap();
    fs::remove_file(&loose).unwrap();
    let with = world.skein(&["status"]);
    fs::remove_file(cache(&world, "records")).unwrap();
    let without = world.skein(&["status"]);
    assert_eq!((with.code, &with.err), (without.code, &without.err));
    assert_eq!(with.code, 128, "{with:?}");
    fs::write(&loose, kept).unwrap();
    world.skein(&["status"]).ok();
}

#[test]
fn reading_verbs_write_no_cache() {
    let world = crowd();
    fs::remove_dir_all(world.repo.join(".git/skein/cache")).unwrap();
    answers(&world);
    assert!(!world.repo.join(".git/skein/cache").exists());
    world.skein(&["import", "w2"]).ok();
    assert!(cache(&world, "records").is_file());
}
