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

/// A trunk that has gone on for a while since `fix` was dispatched. `gone` landed on it and was taken back.
fn long(format: &str) -> World {
    let world = World::in_memory().env("SKEIN_CLOCK", &MOMENT.to_string());
    if format != "sha1" {
        fs::remove_dir_all(world.repo.join(".git")).unwrap();
        world.git(["init", "--quiet", "--template=", "--initial-branch=main", "--object-format", format]);
        world.git(["config", "user.name", "Ada"]);
        world.git(["config", "user.email", "ada@example.invalid"]);
        world.commit("base");
    }
    world.worker("fix", "sed -i s/5/five/ a.txt && git commit -qam five");
    world.worker("gone", "echo gone > gone.txt && git add -A && git commit -qm gone");
    world.skein(&["land", "gone"]).ok();
    world.git(["rm", "--quiet", "gone.txt"]);
    world.commit("taken back");
    grow(&world, 40);
    world
}

/// So many more commits on the trunk, which change nothing.
fn grow(world: &World, count: usize) {
    for n in 0..count {
        let tree = world.rev("HEAD^{tree}");
        let next = world.git(["commit-tree", "-p", "HEAD", "-m", &n.to_string(), &tree]);
        world.git(["update-ref", "HEAD", &next]);
    }
}

/// The files of commits in the cache.
fn graphs(world: &World) -> Vec<PathBuf> {
    let files = fs::read_dir(world.repo.join(".git/skein/cache")).into_iter().flatten();
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("commits-"))
        .collect()
}

fn graph(world: &World) -> PathBuf {
    let graphs = graphs(world);
    assert_eq!(graphs.len(), 1, "{graphs:?}");
    graphs[0].clone()
}

fn verdicts(world: &World) -> Vec<(i32, String)> {
    ["fix", "gone"].map(|name| world.skein(&["landed", name, "--json"])).map(|r| (r.code, r.out)).to_vec()
}

#[test]
fn a_bad_graph_of_commits_changes_no_answer() {
    for format in ["sha1", "sha256"] {
        let world = long(format);
        let want = verdicts(&world);
        assert!(want[0].1.contains("not-landed") && want[1].1.contains("reverted"), "{want:?}");
        world.skein(&["init"]).ok();
        let path = graph(&world);
        let good = fs::read(&path).unwrap();
        assert_eq!(verdicts(&world), want, "as it was written");
        let other = long(format);
        other.git(["commit", "--quiet", "--allow-empty", "-m", "another trunk"]);
        other.skein(&["init"]).ok();
        let foreign = fs::read(graph(&other)).unwrap();
        let bad = damages().into_iter().map(|(what, damage)| (what, damage(&good)));
        for (what, bytes) in bad.chain([("of another repository", foreign)]) {
            fs::write(&path, bytes).unwrap();
            assert_eq!(verdicts(&world), want, "{what}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(verdicts(&world), want, "a folder");
        world.skein(&["init"]).ok();
        assert_eq!(verdicts(&world), want, "made again");
    }
}

/// A file that is what a graph looks like, and says that the trunk has what it has not.
#[test]
fn a_forged_graph_lands_nothing() {
    let world = long("sha1");
    world.skein(&["init"]).ok();
    let (path, fix) = (graph(&world), world.rev(&format!("refs/skein-local/head/{}", world.ulid("fix"))));
    let want = verdicts(&world);
    assert_eq!(want[0].0, 1, "{want:?}");
    // Its commits are told by their ids: one of the trunk's is now the worker's.
    let mut file = fs::read(&path).unwrap();
    let ids = 36;
    let hex = |at: usize| -> String { file[at..at + 20].iter().map(|b| format!("{b:02x}")).collect() };
    let trunk = world.git(["rev-list", "main"]);
    assert!(trunk.contains(&hex(ids)), "the first id is not where this test looks for it");
    let bytes: Vec<u8> = (0..20).map(|n| u8::from_str_radix(&fix[2 * n..2 * n + 2], 16).unwrap()).collect();
    let first = ids;
    file.splice(first..first + 20, bytes);
    fs::write(&path, &file).unwrap();
    assert_eq!(verdicts(&world), want);
    // Nor does it help to say so in the name, or to have a ref of ours name what is no seal.
    fs::write(world.repo.join(".git/skein/cache/commits-0000000000000000"), &file).unwrap();
    assert_eq!(verdicts(&world), want);
    let blob = world.git(["rev-parse", "main:a.txt"]);
    world.git(["update-ref", "refs/skein-local/cache/commits", &blob]);
    assert_eq!(verdicts(&world), want);
    world.skein(&["status"]).ok();
    world.skein(&["init"]).ok();
    assert_eq!(verdicts(&world), want);
    world.check();
}

#[test]
fn a_graph_does_not_outlive_the_history_it_was_made_of() {
    let world = long("sha1");
    world.skein(&["init"]).ok();
    assert!(verdicts(&world)[1].1.contains("reverted"));
    let old = graph(&world);
    let base = world.field("fix", "base");
    world.git(["reset", "--quiet", "--hard", base.as_str().unwrap()]);
    world.commit("another history");
    // The landing of `gone` is in the graph, and no longer on the trunk.
    assert!(verdicts(&world)[1].1.contains("not-landed"), "{:?}", verdicts(&world));
    world.git(["branch", "second"]);
    world.write("a.txt", &world.read("a.txt").replace('5', "five"));
    world.commit("by hand");
    world.skein(&["init"]).ok();
    assert_ne!(graph(&world), old);
    world.skein(&["landed", "fix"]).ok();
    world.skein(&["landed", "fix", "--onto", "second"]).code(1);
}

#[test]
fn writing_verbs_extend_the_graph_and_reading_verbs_do_not() {
    let world = long("sha1");
    world.skein(&["landed", "fix"]).code(1);
    world.skein(&["status"]).ok();
    assert!(graphs(&world).is_empty());
    world.skein(&["import", "fix"]).ok();
    let first = graph(&world);
    world.skein(&["import", "fix"]).ok();
    assert_eq!(graph(&world), first, "for few commits it is not written again");
    grow(&world, 40);
    world.skein(&["land", "--dry-run", "fix"]);
    assert_eq!(graph(&world), first, "a rehearsal writes nothing");
    world.worker("more", "echo more > more.txt && git add -A && git commit -qm more");
    assert_ne!(graph(&world), first);
    for verb in ["fsck", "doctor"] {
        world.skein(&[verb]).ok();
    }
    world.check();
}

/// A shallow clone ends somewhere else tomorrow, so that what is known of its commits is not kept.
#[test]
fn a_shallow_clone_keeps_no_graph() {
    let world = long("sha1");
    let shallow = world.root().join("shallow");
    let from = format!("file://{}", world.repo.display());
    world.git(["clone", "--quiet", "--template=", "--depth", "2", &from, shallow.to_str().unwrap()]);
    let run = |args: &[&str]| {
        let ran = world.command(args).current_dir(&shallow).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    run(&["dispatch", "--wait", "--base", "HEAD", "--name", "w", "t", "--", "true"]);
    let git = |args: &[&str]| world.git([&["-C", shallow.to_str().unwrap()], args].concat());
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.invalid"]);
    for n in 0..40 {
        let next = git(&["commit-tree", "-p", "HEAD", "-m", &n.to_string(), "HEAD^{tree}"]);
        git(&["update-ref", "HEAD", &next]);
    }
    run(&["init"]);
    assert_eq!(git(&["for-each-ref", "refs/skein-local/cache"]), "");
    git(&["fetch", "--quiet", "--unshallow"]);
    run(&["init"]);
    assert!(git(&["for-each-ref", "refs/skein-local/cache"]).contains("refs/skein-local/cache/commits"));
}
