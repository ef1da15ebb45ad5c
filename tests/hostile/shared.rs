//! What all worktrees of a repository share, and what lies beside them.

use super::Case;
use super::Want;

pub(super) const fn told(
    name: &'static str,
    does: &'static str,
    what: &'static str,
    script: &'static str,
) -> Case {
    Case { name, does, script, agent: "", has: &[], jailed: Want::Lands, free: Want::Told(what) }
}

pub(super) const fn unseen(
    name: &'static str,
    does: &'static str,
    why: &'static str,
    script: &'static str,
) -> Case {
    Case { name, does, script, agent: "", has: &[], jailed: Want::Lands, free: Want::Unseen(why) }
}

/// Says no more until a person has mended it.
pub(super) const fn stops(
    name: &'static str,
    does: &'static str,
    token: &'static str,
    script: &'static str,
) -> Case {
    Case { name, does, script, agent: "", has: &[], jailed: Want::Lands, free: Want::Stops(token) }
}

pub const CASES: &[Case] = &[
    told("fsmonitor", "sets `core.fsmonitor` to a command", "config", "git config core.fsmonitor '{canary}'"),
    told("external", "sets `diff.external` to a command", "config", "git config diff.external '{canary}'"),
    told(
        "textconv",
        "commits `diff=e` and sets `diff.e.textconv`, `diff.e.command`",
        "config",
        "echo '*.txt diff=e' > .gitattributes; echo x >> a.txt; git commit -qam x; git add .gitattributes; git commit -qm y
        git config diff.e.textconv '{canary};cat'; git config diff.e.command '{canary}'",
    ),
    Case {
        jailed: Want::Refused("filter-changed"),
        ..told(
        "clean",
        "leaves `filter=e` and sets `filter.e.clean`",
        "config",
        "echo '*.txt filter=e' > .gitattributes; echo x >> a.txt; git config filter.e.clean '{canary};cat'",
    ) },
    told(
        "smudge",
        "commits `filter=e` and sets `filter.e.smudge`, `filter.e.clean`",
        "config",
        "echo '*.txt filter=e' > .gitattributes; git add .gitattributes; echo x >> a.txt; git commit -qam x
        git config filter.e.smudge '{canary};cat'; git config filter.e.clean '{canary};cat'",
    ),
    told(
        "process",
        "commits `filter=e` and sets `filter.e.process`",
        "config",
        "echo '*.txt filter=e' > .gitattributes; git add .gitattributes; echo x >> a.txt; git commit -qam x
        git config filter.e.process '{canary}'",
    ),
    told(
        "attributes",
        "sets `filter.e` and says `filter=e` in `info/attributes`",
        "info/attributes",
        "git config filter.e.smudge '{canary};cat'; git config filter.e.clean '{canary};cat'
        d=$(git rev-parse --git-common-dir); mkdir -p $d/info; echo '* filter=e' > $d/info/attributes",
    ),
    told(
        "hookspath",
        "points `core.hooksPath` at hooks of its own",
        "config",
        "mkdir h; for n in reference-transaction post-index-change post-checkout pre-commit pre-push post-commit
        do printf '#!/bin/sh\\n{canary}\\n' > h/$n; chmod +x h/$n; done; git config core.hooksPath $PWD/h",
    ),
    told(
        "hooks",
        "writes files into the repository's `hooks`",
        "hook post-checkout",
        "d=$(git rev-parse --git-common-dir)/hooks; mkdir -p $d; for n in pre-commit post-index-change post-checkout reference-transaction
        do printf '#!/bin/sh\\n{canary}\\n' > $d/$n; chmod +x $d/$n; done",
    ),
    told(
        "merge",
        "commits `merge=e` and sets `merge.e.driver`",
        "config",
        "echo '*.txt merge=e' > .gitattributes; git add .gitattributes; echo x >> a.txt; git commit -qam x
        git config merge.e.driver '{canary}'; git config merge.default e",
    ),
    told(
        "programs",
        "sets ssh, credential, gpg, pager, editor, trailer and alias commands",
        "config",
        "git config core.sshCommand '{canary}'; git config credential.helper '!{canary}'; git config gpg.program '{root}/x'
        printf '#!/bin/sh\\n{canary}\\n' > x; chmod +x x; git config gpg.program $PWD/x; git config commit.gpgSign true
        git config core.pager '{canary}'; git config core.editor '{canary}'; git config trailer.Skein-Op.command '{canary}'
        git config alias.status '!{canary}'; git config alias.worktree '!{canary}'; git config uploadpack.packObjectsHook '{canary}'",
    ),
    told(
        "remote",
        "adds a remote that is a command (`ext::`) and promises objects",
        "config",
        "git config protocol.ext.allow always; git config remote.origin.url 'ext::sh -c {canary}'
        git config remote.origin.promisor true; git config url.ext::x.insteadOf https://",
    ),
    told(
        "include",
        "includes a file of its worktree in the configuration",
        "config",
        "printf '[core]\\n\\tfsmonitor = {canary}\\n' > inc; git config include.path $PWD/inc",
    ),
    told(
        "display",
        "sets `diff.noprefix`, `color.ui`, `apply.whitespace`, `core.quotePath`",
        "config",
        "git config diff.noprefix true; git config color.ui always; git config apply.whitespace fix; git config core.quotePath false
        git config diff.renames copies; git config core.autocrlf true",
    ),
    told(
        "exclude",
        "hides files by `info/exclude`",
        "info/exclude",
        "d=$(git rev-parse --git-common-dir)/info; mkdir -p $d; echo '*.new' >> $d/exclude; echo hid > hid.new",
    ),
    told(
        "excludesfile",
        "hides files by `core.excludesFile`",
        "config",
        "echo '*.new' > ex; git config core.excludesFile $PWD/ex; echo hid > hid.new",
    ),
    told("worktree", "sets `core.worktree`", "config", "git config core.worktree {home}"),
    told(
        "init",
        "runs `git init` on its own admin folder, which sets `core.bare`",
        "config",
        "d=$(git rev-parse --git-dir); GIT_DIR=$d git init -q; git config core.bare true",
    ),
    told(
        "checkout",
        "writes a file into the main checkout",
        "a.txt",
        "echo evil > {repo}/a.txt; echo evil > {repo}/build.rs",
    ),
    told(
        "stage",
        "takes a file out of the main checkout's index",
        "b.txt",
        "unset GIT_DIR; git -C {repo} rm -q --cached b.txt",
    ),
    told(
        "trunk",
        "moves the trunk to its own commit",
        "branch refs/heads/main",
        "git update-ref refs/heads/main HEAD",
    ),
    told("stash", "leaves an entry on the shared stash", "stash", "echo x >> a.txt; git stash -q"),
    told(
        "replace",
        "replaces the base by another commit (`git replace`)",
        "refs/replace",
        "git replace HEAD~1 HEAD",
    ),
    told(
        "grafts",
        "invents an ancestry in `info/grafts`",
        "info/grafts",
        "d=$(git rev-parse --git-common-dir)/info; mkdir -p $d; git rev-parse HEAD > $d/grafts",
    ),
    told(
        "shallow",
        "cuts history off in `shallow`",
        "shallow",
        "git rev-parse HEAD~1 > $(git rev-parse --git-common-dir)/shallow",
    ),
    Case {
        jailed: Want::Refused("quarantined"),
        ..told(
        "alternates",
        "names another store in `objects/info/alternates`",
        "alternates",
        "o=$(git rev-parse --git-common-dir)/objects; mkdir -p $o/info elsewhere/pack; echo $PWD/elsewhere >> $o/info/alternates",
    ) },
    told(
        "global",
        "sets `core.fsmonitor` in your own `~/.gitconfig`",
        ".gitconfig",
        "git config --global core.fsmonitor '{canary}'; git config --global diff.external '{canary}'",
    ),
    told(
        "evidence",
        "sets `core.fsmonitor` and removes what was noted before its start",
        "config",
        "git config core.fsmonitor '{canary}'; rm -f $(git rev-parse --git-common-dir)/skein/run/$SKEIN_WORKER/outside.json",
    ),
    told(
        "killer",
        "sets `core.fsmonitor` and kills its supervisor",
        "config",
        "git config core.fsmonitor '{canary}'; kill -9 $PPID; sleep 5",
    ),
    unseen(
        "tag",
        "makes a tag, branches and refs with names that mislead (`main`, `HEAD`, `--output=x`)",
        "the refs; full names are used, and its work lands on the real branch",
        "git tag main HEAD~1; git update-ref refs/heads/HEAD HEAD~1; git update-ref refs/heads/refs/heads/main HEAD~1
        git update-ref refs/heads/--output=x HEAD; git update-ref refs/main HEAD~1",
    ),
    unseen(
        "notes",
        "writes notes of its own",
        "the notes are there",
        "git notes add -m evil HEAD~1",
    ),
    stops(
        "symref",
        "makes the tool's own notes a symbolic ref to the trunk",
        "refs-squatted",
        "git symbolic-ref refs/notes/skein/landed refs/heads/main; git symbolic-ref refs/notes/odd refs/heads/main",
    ),
    stops(
        "squat",
        "makes a ref where the tool's folders of refs are",
        "refs-squatted",
        "git update-ref refs/skein-remote HEAD; git update-ref refs/skein-local/candidate HEAD; git update-ref refs/odd HEAD",
    ),
    stops(
        "syntax",
        "breaks the configuration",
        "not-a-repository",
        "echo '[' >> $(git rev-parse --git-common-dir)/config",
    ),
    stops(
        "extension",
        "says in the configuration that the repository has an unknown format",
        "old-git",
        "git config extensions.evil true; git config core.repositoryFormatVersion 1",
    ),
    unseen(
        "sibling",
        "removes another worker's worktree",
        "the worktree is gone; that worker's work is kept in its refs",
        "git worktree remove -f -f {sib}; rm -rf {sib}",
    ),
    unseen(
        "poison",
        "writes into another worker's worktree",
        "the file is in that worker's work then",
        "echo evil > {sib}/s",
    ),
    unseen(
        "parent",
        "leaves `.cargo/config.toml` and `.envrc` above the worktrees",
        "the folder is outside the repository",
        "mkdir -p ../.cargo; echo '[build]' > ../.cargo/config.toml; echo '{canary}' > ../.envrc",
    ),
    unseen(
        "profile",
        "writes your `~/.profile`",
        "the file is outside the repository",
        "echo '{canary}' >> {home}/.profile",
    ),
    unseen("gc", "collects garbage and packs refs", "the refs are packed; nothing is lost", "git gc -q --prune=now; git update-ref refs/heads/packed HEAD~1; git pack-refs --all"),
];
