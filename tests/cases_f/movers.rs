//! A trunk that moves while a landing is under way.

use crate::support::World;

/// A gate that moves the trunk as often as the file beside the repository says, each time to another tree.
fn mover(world: &World, times: u32) -> String {
    let count = world.root().join("count");
    std::fs::write(&count, format!("{times}\n")).unwrap();
    let (count, main) = (count.display(), world.repo.display());
    format!(
        "n=$(cat {count}); test $n -eq 0 && exit 0; echo $((n - 1)) > {count}; \
         cd {main} && echo $n > moved-$n && git add moved-$n && git commit -qm moved-$n"
    )
}

/// A worker's landing with a trunk that moves under it.
fn land(world: &World, moves: u32, retries: &str) -> (String, crate::support::Ran) {
    world.worker("w", "echo w > b.txt && git commit -qam w");
    let gate = mover(world, moves);
    let ran = world.skein(&["land", "w", "--retries", retries, "--gate", &gate]);
    (gate, ran)
}

/// The trunk's history is all the moves and then the landing: nothing was lost.
fn assert_all_there(world: &World, moves: u32) {
    let mut want: Vec<String> = vec!["w".into()];
    want.extend((1..=moves).map(|n| format!("moved-{n}")));
    want.push("base".into());
    assert_eq!(world.lines(&["log", "--format=%s", "main"]), want);
    assert_eq!(world.read("b.txt"), "w\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!(world.local_refs("candidate"), Vec::<String>::new());
    world.check();
}

#[test]
fn f17_a_trunk_that_stays_or_moves_a_few_times_is_landed_on() {
    for moves in [0, 1, 5] {
        let world = World::new();
        land(&world, moves, "10").1.ok();
        assert_all_there(&world, moves);
    }
}

#[test]
fn f17_a_trunk_that_moves_too_often_keeps_a_rebuilt_candidate() {
    let world = World::new();
    let (gate, ran) = land(&world, 5, "2");
    ran.refused("trunk-moved", 4);
    assert_eq!(world.lines(&["log", "--format=%s", "main"]), ["moved-3", "moved-4", "moved-5", "base"]);
    let kept = world.local_refs("candidate");
    assert_eq!(kept.len(), 1, "{kept:?}");
    let candidate = format!("{}^1", kept[0]);
    assert_eq!(world.git(["log", "-2", "--format=%s", &candidate]), "w\nmoved-4", "built again each time");
    world.skein(&["land", "w", "--retries", "10", "--gate", &gate]).ok();
    assert_all_there(&world, 5);
}

#[test]
fn f17_a_kept_candidate_goes_with_the_landing_however_that_comes() {
    let world = World::new();
    land(&world, 1, "0").1.refused("trunk-moved", 4);
    assert_eq!(world.local_refs("candidate").len(), 1);
    world.skein(&["land", "w", "--dry-run"]).ok();
    assert_eq!(world.local_refs("candidate").len(), 1, "a rehearsal drops nothing");
    world.skein(&["land", "w"]).ok();
    assert_all_there(&world, 1);
}
