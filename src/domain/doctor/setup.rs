//! The machine, git and its configuration.

use crate::domain::doctor::Facts;
use crate::domain::doctor::Finding;

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
    let place = facts.common.display();
    let show = format!("df -T '{place}'");
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
    let place = facts.common.display();
    let mut found = Vec::new();
    let says = format!("{} MiB are free where the repository is", facts.free_bytes >> 20);
    let room = match facts.free_bytes {
        0..NO_ROOM => Finding::problem(check, format!("only {says}; no verb that writes begins")),
        NO_ROOM..LITTLE_ROOM => Finding::warning(check, format!("only {says}")),
        _ => Finding::ok(check, says),
    };
    let tight = room.level > super::Level::Note;
    found.push(room.show(format!("df -h '{place}'")).next(if tight { "make room" } else { "" }));
    if let Some(left) = facts.free_inodes.filter(|n| *n < FEW_INODES) {
        found.push(
            Finding::problem(check, format!("only {left} more files can be made where the repository is"))
                .show(format!("df -i '{place}'"))
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
    let remotes = facts.config.named("remote", "promisor");
    let mut from: Vec<&str> = remotes.into_iter().filter(|(_, v)| *v != "false").map(|(r, _)| r).collect();
    from.extend(facts.config.get("extensions.partialclone").filter(|r| !from.contains(r)));
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

pub fn bare(check: &'static str, facts: &Facts) -> Vec<Finding> {
    match (facts.bare, facts.has_tree) {
        (true, true) => vec![
            Finding::problem(check, "core.bare is true, but the repository has a working tree")
                .show("git config --show-origin --get core.bare")
                .next("git config core.bare false"),
        ],
        (true, false) => vec![Finding::ok(check, "a bare repository")],
        _ => vec![Finding::ok(check, "a repository with a working tree")],
    }
}

pub fn worktree(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let Some(path) = facts.config.get("core.worktree") else {
        return vec![Finding::ok(check, "core.worktree is not set")];
    };
    let show = "git config --show-origin --get core.worktree";
    vec![if facts.core_worktree_there {
        Finding::note(check, format!("core.worktree is {path}: git works there from anywhere")).show(show)
    } else {
        Finding::problem(check, format!("core.worktree is {path}, and there is no such folder"))
            .show(show)
            .next("git config --unset core.worktree")
    }]
}

pub fn hooks(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let Some(path) = facts.config.get("core.hookspath").filter(|p| !p.is_empty()) else {
        return vec![Finding::ok(check, "hooks are where git looks for them")];
    };
    let relative = !path.starts_with(['/', '~']) && !path.starts_with("%(prefix)");
    if !relative || facts.hooks_tracked {
        return vec![Finding::ok(check, format!("hooks are in {path}, and workers have them"))];
    }
    let says =
        format!("core.hooksPath is {path}, which is not in the trunk: in a worker's worktree no hook runs");
    vec![
        Finding::warning(check, says)
            .show("git config --show-origin --get core.hooksPath")
            .next("let a gate check what the hooks do (--gate), or give an absolute path"),
    ]
}

pub fn identity(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.identity {
        return vec![Finding::ok(check, "git knows who you are").show("git var GIT_COMMITTER_IDENT")];
    }
    vec![
        Finding::problem(check, "git does not know who you are, and a landing is committed by you")
            .show("git var GIT_COMMITTER_IDENT")
            .next("git config --global user.name '…' && git config --global user.email '…'"),
    ]
}

pub fn signing(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.config.is_true("commit.gpgsign") {
        return vec![Finding::ok(check, "commits are not to be signed")];
    }
    vec![
        Finding::note(check, "commit.gpgSign is set, but landings are not signed yet")
            .show("git config --show-origin --get commit.gpgSign"),
    ]
}

/// A note that lists what configuration names, or that there is none.
fn listed(check: &'static str, names: Vec<&str>, none: &str, says: &str, show: &str) -> Vec<Finding> {
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return vec![Finding::ok(check, none)];
    }
    vec![Finding::note(check, says).lines(names).show(show)]
}

pub fn filters(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let of = |last| facts.config.named("filter", last).into_iter().map(|(name, _)| name);
    listed(
        check,
        of("clean").chain(of("smudge")).chain(of("process")).collect(),
        "no filter is configured",
        "filters are configured; none runs for snapshots and landings, so files that they make (git-lfs) are \
         taken as they stand",
        "git config --get-regexp '^filter\\.'",
    )
}

pub fn merge_drivers(check: &'static str, facts: &Facts) -> Vec<Finding> {
    listed(
        check,
        facts.config.named("merge", "driver").into_iter().map(|(name, _)| name).collect(),
        "no merge driver is configured",
        "merge drivers are configured; landings do not run them",
        "git config --get-regexp '^merge\\..*\\.driver$'",
    )
}

pub fn submodules(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.modules {
        return vec![Finding::ok(check, "no submodules")];
    }
    let says =
        "there are submodules: they are empty in a worker's worktree, and a delta that moves one is refused";
    vec![Finding::note(check, says).show("git submodule status")]
}

pub fn sparse(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.config.is_true("core.sparsecheckout") {
        return vec![Finding::ok(check, "the checkout is whole")];
    }
    vec![Finding::note(check, "the checkout is sparse").show("git sparse-checkout list")]
}

pub fn alternates(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.alternates.is_empty() {
        return vec![Finding::ok(check, "all objects are the repository's own")];
    }
    vec![
        Finding::note(check, "objects are borrowed: if they are collected there, they are lost here")
            .lines(facts.alternates.clone())
            .show("git count-objects -v")
            .next("to own them: git repack -a -d, then remove objects/info/alternates"),
    ]
}

pub fn replacements(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.replaced == 0 && !facts.grafts {
        return vec![Finding::ok(check, "no object is replaced")];
    }
    let what = if facts.grafts { "info/grafts" } else { "refs/replace" };
    let says = format!("history is changed by {what}: your git sees it, this program does not");
    vec![Finding::note(check, says).show("git replace --list").next("git replace -d <object> ends one")]
}

pub fn worktree_config(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.config.is_true("extensions.worktreeconfig") {
        return vec![Finding::ok(check, "all worktrees have one configuration")];
    }
    let says = "each worktree may have a configuration of its own: this program reads the shared one";
    vec![Finding::note(check, says).show("git config --list --show-scope")]
}

pub fn safe_directory(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if facts.config.all("safe.directory").any(|d| d == "*") {
        let says = "safe.directory is *: git trusts every repository, whoever owns it";
        return vec![
            Finding::note(check, says)
                .show("git config --show-origin --get-all safe.directory")
                .next("name the folders instead"),
        ];
    }
    if facts.foreign {
        let says = "the repository belongs to another user; git may refuse it elsewhere";
        return vec![Finding::note(check, says).show(format!("ls -ld '{}'", facts.common.display()))];
    }
    vec![Finding::ok(check, "the repository is yours")]
}
