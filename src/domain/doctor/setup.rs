//! What is configured, and what that means for workers and landings.

use crate::domain::TRY_JAIL;
use crate::domain::doctor::Facts;
use crate::domain::doctor::Finding;
use crate::domain::quoted;

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

/// The folder in a working tree that `core.hooksPath` names, if it is relative: then each worktree has its
/// own, or none.
pub fn hooks_inside(path: &str) -> Option<&str> {
    let elsewhere = path.is_empty() || path.starts_with(['/', '~']) || path.starts_with("%(prefix)");
    (!elsewhere).then(|| path.strip_prefix("./").unwrap_or(path).trim_end_matches('/'))
}

pub fn hooks(check: &'static str, facts: &Facts) -> Vec<Finding> {
    [reach(check, facts), ours(check, facts)].concat()
}

/// Whether those that `git skein hooks install` made still do what they are there for.
fn ours(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let troubles = [
        (&facts.hooks_gone, "hooks of git-skein start a program that is gone, and check nothing"),
        (
            &facts.hooks_replaced,
            "hooks of git-skein were replaced or taken away, and others of it are in place",
        ),
    ];
    let found = troubles.into_iter().filter(|(lines, _)| !lines.is_empty());
    found
        .map(|(lines, says)| {
            Finding::warning(check, says)
                .lines(lines.clone())
                .show("ls -l \"$(git rev-parse --git-path hooks)\"")
                .next("git skein hooks install puts them back, git skein hooks uninstall takes all away")
        })
        .collect()
}

/// Whether hooks run in the worktrees of workers.
fn reach(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let Some(path) = facts.config.get("core.hookspath").filter(|p| !p.is_empty()) else {
        return vec![Finding::ok(check, "hooks are where git looks for them")];
    };
    if hooks_inside(path).is_none() || facts.hooks_tracked {
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

pub fn jail(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let wish = facts.config.get("skein.jail").unwrap_or("auto");
    let Some(why) = facts.no_jail.as_deref().filter(|_| wish != "none") else {
        let says =
            if wish == "none" { "skein.jail is none: workers run as you" } else { "workers run in a jail" };
        return vec![Finding::ok(check, says).show("git config --get skein.jail")];
    };
    let found = match wish {
        "bwrap" => Finding::problem(check, format!("skein.jail is bwrap, and no jail can be made: {why}")),
        _ => Finding::note(check, format!("workers run as you, no jail can be made: {why}")),
    };
    vec![found.show(TRY_JAIL).next("install bubblewrap")]
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
        return vec![Finding::note(check, says).show(format!("ls -ld {}", quoted(&facts.common)))];
    }
    vec![Finding::ok(check, "the repository is yours")]
}
