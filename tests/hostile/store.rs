//! The store of objects, refs, the main checkout and what the tool keeps.

use super::Case;
use super::content::lands;
use super::shared::told;
use super::shared::unseen;

pub const CASES: &[Case] = &[
    told("own-rules", "says `filter=e` in your own `~/.config/git/attributes`", "attributes",
        "mkdir -p {home}/config/git; echo '* filter=e' >> {home}/config/git/attributes"),
    told("own-xdg", "sets `core.fsmonitor` in your own `~/.config/git/config`", "config",
        "mkdir -p {home}/config/git; git config -f {home}/config/git/config core.fsmonitor '{canary}'"),
    told("worktree-config", "has git read a `config.worktree` of commands in the main checkout", "config",
        "git config extensions.worktreeConfig true; git config -f $(git rev-parse --git-common-dir)/config.worktree core.fsmonitor '{canary}'"),
    told("include-if", "includes configuration where the branch is the trunk", "config",
        "printf '[core]\\n\\tfsmonitor = {canary}\\n\\tsshCommand = {canary}\\n' > inc; git config includeIf.onbranch:main.path $PWD/inc"),
    told("template", "sets templates, shell and sequence editors, filters of diffs and commands for alternates", "config",
        "mkdir -p t/hooks; printf '#!/bin/sh\\n{canary}\\n' > t/hooks/post-checkout; chmod +x t/hooks/post-checkout; git config init.templateDir $PWD/t
        git config sequence.editor '{canary}'; git config interactive.diffFilter '{canary}'; git config core.alternateRefsCommand '{canary}'
        git config core.askPass '{canary}'; git config core.gitProxy '{canary}'; git config gpg.ssh.defaultKeyCommand '{canary}'"),
    told("submodule", "registers a submodule whose update is a command", "config",
        "git config submodule.x.url {repo}; git config submodule.x.update '!{canary}'; git config submodule.x.active true; git config submodule.recurse true"),
    told("tool-config", "sets the tool's own settings: no jail, its own gate, paths that are allowed", "config",
        "git config skein.jail none; git config --add skein.allow '**'; git config skein.gate '{canary}'; git config skein.outside warn"),
    told("flags", "writes into the main checkout and hides it there by `--assume-unchanged`", "a.txt",
        "git -C {repo} update-index --assume-unchanged a.txt; echo evil > {repo}/a.txt"),
    told("flags-skip", "writes into the main checkout and hides it there by `--skip-worktree`", "b.txt",
        "git -C {repo} update-index --skip-worktree b.txt; echo evil > {repo}/b.txt"),
    told("mode", "makes a file of the main checkout a program", "a.txt", "chmod +x {repo}/a.txt"),
    told("swapped", "puts a link in the place of a file of the main checkout", "b.txt", "ln -sf {home}/.profile {repo}/b.txt"),
    told("away", "puts the main checkout on another commit", "a.txt",
        "echo x >> a.txt; git commit -qam x; git rev-parse HEAD > {repo}/.git/HEAD"),
    told("back", "moves the trunk to a commit of somebody else", "foreign", "git update-ref refs/heads/main refs/heads/other"),
    told("by-proc", "reaches the main checkout by way of another process's root folder", "a.txt",
        "echo evil > /proc/$PPID/root{repo}/a.txt"),
    told("namespace", "makes itself root of a user namespace of its own to undo what holds it", "a.txt",
        "unshare -Urm sh -c 'mount -o remount,bind,rw / ; umount -l {repo}; echo evil > {repo}/a.txt' 2>/dev/null || echo evil > {repo}/a.txt"),
    told("hook-link", "puts a link in the place of the folder of hooks", "hook",
        "d=$(git rev-parse --git-common-dir); mkdir h; for n in reference-transaction post-checkout; do printf '#!/bin/sh\\n{canary}\\n' > h/$n; chmod +x h/$n; done
        rm -rf $d/hooks; ln -s $PWD/h $d/hooks"),
    unseen("main-branch", "puts the main checkout on a branch of its own at the same commit", "the main checkout's branch",
        "git update-ref refs/heads/trap refs/heads/main; echo 'ref: refs/heads/trap' > {repo}/.git/HEAD"),
    unseen("branch-gone", "removes a branch that is not its own", "the branch is gone", "git branch -q -D other"),
    unseen("logs-all", "removes the logs of all refs", "the logs are gone", "git reflog expire --expire=now --all; rm -rf $(git rev-parse --git-common-dir)/logs"),
    unseen("ref-broken", "leaves a ref that names nothing, and one whose name steers a terminal", "the refs are there",
        "d=$(git rev-parse --git-common-dir)/refs/heads; printf '%040d\\n' 0 > $d/zero; git rev-parse HEAD > \"$d/$(printf 'a\\033[8mb')\""),
    unseen("pushed", "pushes a branch into the repository by its path", "the branch is there",
        "git push -q {repo} HEAD:refs/heads/pushed"),
    unseen("ref-lock", "leaves a lock on the configuration", "the lock is there",
        "d=$(git rev-parse --git-common-dir); : > $d/config.lock"),
    lands("graph", "leaves noise for git's commit graph", &["ok-graph"],
        "o=$(git rev-parse --git-common-dir)/objects; mkdir -p $o/info $o/pack; head -c 2000 /dev/urandom > $o/info/commit-graph"),
    lands("pack", "leaves a pack of noise", &["ok-pack"],
        "o=$(git rev-parse --git-common-dir)/objects/pack; mkdir -p $o; n=pack-0123456789012345678901234567890123456789; head -c 2000 /dev/urandom > $o/$n.pack; head -c 2000 /dev/urandom > $o/$n.idx; : > $o/$n.promisor"),
    lands("tool-refs", "moves another worker's refs to its own commit", &["ok-tool-refs"],
        "git for-each-ref --format='%(refname)' refs/skein-local | grep -v $SKEIN_WORKER | while read r; do git update-ref $r HEAD; done"),
    lands("tool-refs-gone", "removes the tool's refs of another worker", &["ok-tool-refs-gone"],
        "git for-each-ref --format='%(refname)' refs/skein refs/skein-local | grep -v -e $SKEIN_WORKER -e format | while read r; do git update-ref -d $r; done"),
    lands("landed", "says in the tool's notes that its commit has landed", &["ok-landed"],
        "git notes --ref skein/landed add -f -m '{\"op\":\"evil\"}' HEAD"),
    lands("run-links", "puts links to your home in the place of what the tool writes for it", &["ok-run-links"],
        "cd $(dirname $SKEIN_BRIEF) && for f in log brief.md supervisor.log exit report.json; do rm -f $f; ln -s {home}/.profile $f; done"),
    lands("requests", "leaves requests that are links, pipes and noise, its own and in another worker's name", &["ok-requests"],
        "cd $SKEIN_OUTBOX; ln -s {home}/.profile a.json; mkfifo b.json; head -c 3000 /dev/urandom > c.json; mkdir d.json
        for o in ../../*/outbox; do echo '{\"say\":\"evil\"}' > $o/e.json; done"),
];
