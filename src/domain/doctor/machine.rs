//! The git and the disk at hand, and how the repository is stored.

use crate::domain::doctor::Facts;
use crate::domain::doctor::Finding;
use crate::domain::doctor::Level;
use crate::domain::quoted;

/// The oldest git that every verb works with.
const OLDEST: (u32, u32) = (2, 39);

/// What newer versions of git can do, and what is lost without it.
const FEATURES: &[(&str, (u32, u32))] =
    &[("merge-tree --write-tree", (2, 38)), ("reftable", (2, 45)), ("worktree --relative-paths", (2, 48))];

/// Below this no verb that writes begins; see `no-space`.
const NO_ROOM: u64 = 16 << 20;
const LITTLE_ROOM: u64 = 1 << 30;
const FEW_INODES: u64 = 1000;

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub fn git(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let found = version(&facts.git).unwrap_or_default();
    if found < OLDEST {
        let says = format!("git {} is older than {}.{}", facts.git, OLDEST.0, OLDEST.1);
        return vec![
            Finding::problem(check, says).show("git version").next("install a newer git, first in PATH"),
        ];
    }
    let lacks: Vec<&str> = FEATURES.iter().filter(|(_, since)| found < *since).map(|(f, _)| *f).collect();
    let lacks = if lacks.is_empty() { String::new() } else { format!(", without {}", lacks.join(", ")) };
    vec![Finding::ok(check, format!("git {}{lacks}", facts.git)).show("git version")]
}

pub fn file_system(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let place = quoted(&facts.common);
    let show = format!("df -T {place}");
    let mut found = vec![match facts.file_system {
        Some(name @ ("nfs" | "smb" | "fuse" | "9p")) => Finding::warning(
            check,
            format!("the repository is on {name}: locks and syncs may not hold there"),
        )
        .show(show)
        .next("work in a clone on a disk of this machine"),
        Some(name @ ("tmpfs" | "ramfs")) => {
            Finding::note(check, format!("the repository is on {name}: a power cut takes all of it"))
                .show(show)
        }
        Some(name @ "overlay") => {
            let says = format!("the repository is on {name}: it goes with its container");
            Finding::note(check, says).show(show)
        }
        Some(name) => Finding::ok(check, format!("the repository is on {name}")).show(show),
        None => Finding::note(check, "the kind of file system is unknown").show(show),
    }];
    let told = facts.config.is_true("core.ignorecase");
    match facts.folds_case {
        Some(true) if told => found.push(
            Finding::note(check, "names here that differ only in case are one file")
                .show("git config --get core.ignoreCase"),
        ),
        Some(folds) if folds != told => {
            let is =
                if folds { "are one file, but git was not told" } else { "are two, but git was told other" };
            found.push(
                Finding::warning(check, format!("names that differ only in case {is}"))
                    .show("git config --get core.ignoreCase")
                    .next(format!("git config core.ignoreCase {folds}")),
            );
        }
        _ => {}
    }
    found
}

pub fn space(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let place = quoted(&facts.common);
    let mut found = Vec::new();
    let says = format!("{} MiB are free where the repository is", facts.free_bytes >> 20);
    let room = match facts.free_bytes {
        0..NO_ROOM => Finding::problem(check, format!("only {says}; no verb that writes begins")),
        NO_ROOM..LITTLE_ROOM => Finding::warning(check, format!("only {says}")),
        _ => Finding::ok(check, says),
    };
    let tight = room.level > Level::Note;
    found.push(room.show(format!("df -h {place}")).next(if tight { "make room" } else { "" }));
    if let Some(left) = facts.free_inodes.filter(|n| *n < FEW_INODES) {
        found.push(
            Finding::problem(check, format!("only {left} more files can be made where the repository is"))
                .show(format!("df -i {place}"))
                .next("delete files there; worktrees hold many"),
        );
    }
    found
}

pub fn history(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.shallow {
        return vec![Finding::ok(check, "history is whole")];
    }
    let says = "history is cut off (shallow): what landed before the cut is unknown";
    vec![
        Finding::note(check, says)
            .show("git rev-parse --is-shallow-repository")
            .next("git fetch --unshallow"),
    ]
}

pub fn partial_clone(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let from = facts.config.promisors();
    if from.is_empty() {
        return vec![Finding::ok(check, "all objects are here")];
    }
    let says =
        format!("a partial clone of {}: what was not fetched cannot be merged or proven", from.join(", "));
    vec![
        Finding::note(check, says)
            .show("git rev-list --objects --all --missing=print --quiet | head")
            .next("fetch the rest: git fetch --refetch --no-filter"),
    ]
}

pub fn formats(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let hash = if facts.sha256 { "sha256" } else { "sha1" };
    let refs = if facts.reftable { "reftable" } else { "files" };
    let mut found = vec![
        Finding::ok(check, format!("objects are {hash}, refs are {refs}"))
            .show("git rev-parse --show-object-format --show-ref-format"),
    ];
    if facts.reftable && facts.config.get("reftable.locktimeout").is_none() {
        let says = "your own git waits only 100 ms for the lock of the reftable; ours waits 10 s";
        found.push(
            Finding::note(check, says)
                .show("git config --get reftable.lockTimeout")
                .next("git config reftable.lockTimeout 10000"),
        );
    }
    found
}
