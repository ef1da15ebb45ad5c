//! A worker's own `.git` file, its admin folder and its index.

use super::Case;
use super::content::lands;
use super::content::refused;
use super::shared::told;
use super::shared::unseen;

pub const CASES: &[Case] = &[
    lands(
        "locks",
        "leaves `index.lock`, `HEAD.lock` and a lock on its worktree",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); : > $d/index.lock; : > $d/HEAD.lock; echo mine > $d/locked",
    ),
    lands(
        "index-noise",
        "writes noise into its index",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); head -c 5000 /dev/urandom > $d/index",
    ),
    lands(
        "index-split",
        "splits its index and removes the part that is shared",
        &["a.txt"],
        "echo x >> a.txt; git update-index --split-index; git add a.txt; d=$(git rev-parse --git-dir); rm -f $d/sharedindex.*",
    ),
    lands(
        "racy",
        "changes a file and gives it the size and the time that it had",
        &["a.txt"],
        "cp -p a.txt ../{name}.ign 2>/dev/null || cp -p a.txt /tmp/kept; k=../{name}.ign; test -e $k || k=/tmp/kept
        tr 'a-z' 'b-za' < $k > new; cat new > a.txt; touch -r $k a.txt; rm new $k; git update-index -q --refresh",
    ),
    lands(
        "future",
        "gives its files times that are far off",
        &["a.txt"],
        "echo x >> a.txt; touch -d 2200-01-01 a.txt; touch -d 1902-01-01 b.txt; git add a.txt; touch -d 2200-01-01 $(git rev-parse --git-dir)/index",
    ),
    lands(
        "rebase",
        "leaves a rebase half done, with commands that are to be run",
        &["ok-rebase"],
        "d=$(git rev-parse --git-dir)/rebase-merge; mkdir $d; echo 'exec {canary}' > $d/git-rebase-todo; : > $d/interactive
        echo 'detached HEAD' > $d/head-name; git rev-parse HEAD | tee $d/onto > $d/orig-head; echo 1 > $d/msgnum; echo 1 > $d/end",
    ),
    lands(
        "merging",
        "says that it is in the middle of a merge with a branch that is not of its base",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); git rev-parse other > $d/MERGE_HEAD; echo evil > $d/MERGE_MSG; echo no-ff > $d/MERGE_MODE",
    ),
    lands(
        "own-config",
        "leaves a `config.worktree` with commands in its admin folder",
        &["a.txt"],
        "printf '[core]\\n\\tfsmonitor = {canary}\\n\\tworktree = {home}\\n' > $(git rev-parse --git-dir)/config.worktree; echo x >> a.txt",
    ),
    lands(
        "commondir",
        "points its admin folder at a repository with commands of its own",
        &["a.txt"],
        "git init -q --bare evil.ign; git -C evil.ign config core.fsmonitor '{canary}'; git -C evil.ign config core.bare false
        echo x >> a.txt; d=$(git rev-parse --git-dir); echo $PWD/evil.ign > $d/commondir",
    ),
    lands(
        "gitdir",
        "registers another worker's worktree as its own",
        &["ok-gitdir"],
        "d=$(git rev-parse --git-dir); echo {sib}/.git > $d/gitdir",
    ),
    lands(
        "gitdir-main",
        "registers the main checkout as its own worktree",
        &["ok-gitdir-main"],
        "d=$(git rev-parse --git-dir); echo {repo}/.git > $d/gitdir",
    ),
    lands(
        "gitfile-link",
        "puts a link to the repository's folder in the place of its `.git` file",
        &["a.txt"],
        "echo x >> a.txt; rm -f .git; ln -s {repo}/.git .git",
    ),
    lands(
        "gitfile-pipe",
        "puts a pipe in the place of its `.git` file",
        &["a.txt"],
        "echo x >> a.txt; rm -f .git && mkfifo .git",
    ),
    lands(
        "gitfile-sibling",
        "points its `.git` file at another worker's admin folder",
        &["a.txt"],
        "echo x >> a.txt; echo 'gitdir: {repo}/.git/worktrees/sib' > .git",
    ),
    lands(
        "head-noise",
        "writes noise into its `HEAD`",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); head -c 300 /dev/urandom > $d/HEAD",
    ),
    lands(
        "head-loop",
        "makes its `HEAD` a symbolic ref to itself",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); mkdir -p $d/refs/worktree; echo 'ref: refs/worktree/b' > $d/refs/worktree/a
        echo 'ref: refs/worktree/a' > $d/refs/worktree/b; echo 'ref: refs/worktree/a' > $d/HEAD",
    ),
    lands(
        "head-link",
        "puts a link to the trunk's ref in the place of its `HEAD`",
        &["a.txt"],
        "echo x >> a.txt; d=$(git rev-parse --git-dir); rm $d/HEAD; ln -s {repo}/.git/refs/heads/main $d/HEAD",
    ),
    refused(
        "head-tree",
        "sets its `HEAD` to a tree",
        "quarantined",
        "echo x >> a.txt; d=$(git rev-parse --git-dir); t=$(git rev-parse 'HEAD^{tree}'); echo $t > $d/HEAD",
    ),
    refused(
        "head-absent",
        "sets its `HEAD` to a commit that nobody has",
        "quarantined",
        "echo x >> a.txt; d=$(git rev-parse --git-dir); echo 0123456789012345678901234567890123456789 > $d/HEAD",
    ),
    refused(
        "head-empty",
        "leaves no byte in the object of its commit, as a power cut may",
        "quarantined",
        "h=$(git rev-parse HEAD); f=$(git rev-parse --git-path objects)/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-)
        rm -f $f; : > $f",
    ),
    lands(
        "logs-gone",
        "throws its commit away and removes the log of where it was",
        &["a.txt"],
        "echo x >> a.txt; git reset -q --soft HEAD~1; rm -rf $(git rev-parse --git-dir)/logs; mkfifo $(git rev-parse --git-dir)/logs",
    ),
    lands(
        "logs-noise",
        "writes noise and other people's commits into the log of its `HEAD`",
        &["a.txt"],
        "echo x >> a.txt; l=$(git rev-parse --git-dir)/logs/HEAD; head -c 3000 /dev/urandom >> $l
        printf '\\n%s %s A <a> 1 +0000\\tx\\n' $(git rev-parse HEAD other HEAD HEAD:a.txt HEAD 'HEAD^{tree}') >> $l; printf 'no line' >> $l",
    ),
    lands(
        "admin-gone",
        "removes its own admin folder",
        &["a.txt"],
        "echo x >> a.txt; rm -rf $(git rev-parse --git-dir)",
    ),
    lands(
        "tree-gone",
        "commits, and removes its own worktree",
        &[],
        "test -e {repo}/a.txt && rm -rf $PWD",
    ),
    unseen(
        "tree-link",
        "commits, and puts a link to the main checkout in the place of its worktree",
        "the folder stands beside its place",
        "mv $PWD $PWD.gone && ln -s {repo} $PWD || :",
    ),
    told(
        "on-trunk",
        "puts its `HEAD` on the trunk and commits there",
        "branch refs/heads/main",
        "git symbolic-ref HEAD refs/heads/main; echo x >> a.txt; git commit -qam x",
    ),
    unseen(
        "on-branch",
        "works on a new branch that is named like its worker",
        "the branch is there",
        "git checkout -q -b skein/{name}; echo x >> a.txt; git commit -qam x",
    ),
    told(
        "sparse",
        "hides files by a sparse checkout",
        "config",
        "git sparse-checkout set --no-cone 'ok-*'",
    ),
    unseen(
        "extra",
        "makes a further worktree beside the others, and a branch for it",
        "the worktree and the branch are there",
        "git worktree add -q -b further {repo}.skein/further HEAD~1",
    ),
    unseen(
        "prune",
        "makes git forget another worker's worktree",
        "the worktree is gone; that worker's work is kept in its refs",
        "rm -f {sib}/.git; git worktree prune --expire=now",
    ),
];
