//! What a jailed worker commits comes in only through git's own checks and within limits.

use super::possible;
use crate::support::World;
use std::time::Instant;

/// A worker whose commit must not come in, though its files are kept.
fn refused(script: &str, says: &str) {
    let world = World::new();
    let script = format!("set -e; echo kept > kept; {script}");
    world.shut_in("w", &script);
    let flags = world.field("w", "flags").to_string();
    assert!(flags.contains("quarantined"), "{flags}: {}", world.skein(&["show", "--log", "w"]).out);
    let reason = world.field("w", "reason").to_string();
    assert!(reason.contains("quarantined: what the worker committed does not come in: "), "{reason}");
    let started = Instant::now();
    let ran = world.skein(&["land", "--any-outcome", "w"]).refused("quarantined", 1);
    // Far more than it takes, and far less than to unpack what is refused.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    assert!(ran.err.contains(says), "{}", ran.err);
    let id = world.ulid("w");
    assert_eq!(world.git(["show", &format!("refs/skein-local/wip/{id}:kept")]), "kept");
    // What it refused is not lost: nothing cleans it away.
    world.skein(&["reap", "--yes", "--include-unlanded", "w"]);
    assert!(world.path(".git/skein/private").join(&id).join("objects").is_dir());
    assert_eq!(world.git(["rev-parse", "main"]), world.head());
    world.git(["fsck"]);
}

#[test]
fn a_huge_file_of_zeros_stays_out() {
    if possible() {
        refused("truncate -s 1G zeros; git add zeros; git commit -qm big; rm zeros", "bytes");
    }
}

#[test]
fn a_tree_bomb_stays_out() {
    if possible() {
        let bomb = "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tf0\\n' $o | git mktree)
            for n in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\td%s\\n' $t $i; done | git mktree); done
            c=$(git commit-tree -p HEAD -m bomb $t); git update-ref --no-deref HEAD $c";
        refused(bomb, "too many files");
    }
}

#[test]
fn a_tree_that_git_would_not_check_out_stays_out() {
    if possible() {
        let evil = "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\thooks\\n' $o | git mktree)
            t=$(printf '040000 tree %s\\t.git\\n' $t | git mktree); c=$(git commit-tree -p HEAD -m evil $t)
            git update-ref --no-deref HEAD $c";
        refused(evil, "git refuses its objects");
    }
}

#[test]
fn a_store_that_names_another_one_stays_out() {
    if possible() {
        let evil = "git commit -q --allow-empty -m one; d=$(git rev-parse --git-common-dir)
            echo /elsewhere/objects >> $d/objects/info/alternates";
        refused(evil, "names another one");
    }
}

#[test]
fn a_head_that_is_nowhere_stays_out() {
    if possible() {
        let evil = "d=$(git rev-parse --git-dir); echo 1234567890123456789012345678901234567890 > $d/HEAD";
        refused(evil, "not there");
    }
}
