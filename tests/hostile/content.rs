//! What comes in with a worker's own files and commits.

use super::Case;
use super::Want;

pub(super) const fn lands(
    name: &'static str,
    does: &'static str,
    has: &'static [&'static str],
    script: &'static str,
) -> Case {
    Case { name, does, script, agent: "", has, jailed: Want::Lands, free: Want::Lands }
}

pub(super) const fn refused(
    name: &'static str,
    does: &'static str,
    token: &'static str,
    script: &'static str,
) -> Case {
    let want = Want::Refused(token);
    Case { name, does, script, agent: "", has: &[], jailed: want, free: want }
}

/// Of objects that git's own check refuses. Without a jail they are in the store already.
pub(super) const fn crafted(name: &'static str, does: &'static str, script: &'static str) -> Case {
    Case { jailed: Want::Refused("quarantined"), ..refused(name, does, "bad-path", script) }
}

pub const CASES: &[Case] = &[
    lands(
        "dotgit",
        "puts a repository with commands of its own in the place of its `.git`",
        &["a.txt"],
        "rm -f .git && git init -q . && git config core.fsmonitor '{canary}'; echo x >> a.txt",
    ),
    lands(
        "repoint",
        "points its `.git` file at a folder with commands of its own",
        &["a.txt"],
        "git init -q --bare evil.ign; git -C evil.ign config core.fsmonitor '{canary}'; git -C evil.ign config core.bare false
        echo gitdir: $PWD/evil.ign > .git; echo x >> a.txt",
    ),
    lands(
        "bare",
        "leaves a bare repository with commands of its own in the tree",
        &["inner/config"],
        "git init -q --bare inner; git -C inner config core.fsmonitor '{canary}'; rm -rf inner/hooks inner/info",
    ),
    lands(
        "nested",
        "leaves a nested repository with commands of its own",
        &["nested/f"],
        "git init -q nested; echo x > nested/f; git -C nested add f; git -C nested commit -qm n
        git -C nested config core.fsmonitor '{canary}'",
    ),
    refused(
        "gitlink",
        "commits a nested repository as a submodule",
        "gitlink",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),nested && git commit -qm link || exit 1",
    ),
    lands(
        "skip",
        "hides a change from its git by `--skip-worktree`",
        &["a.txt", "b.txt"],
        "git update-index --skip-worktree a.txt; git update-index --assume-unchanged b.txt; echo x >> a.txt; echo x >> b.txt",
    ),
    lands("union", "commits `merge=union` and `-diff`", &["a.txt"], "echo '*.txt merge=union -diff' > .gitattributes; git add .gitattributes; echo x >> a.txt; git commit -qam x"),
    lands("noeol", "leaves trailing blanks, CRLF and bytes that are no text", &["wild"], "printf 'a  \\r\\n\\000\\377b\\n' > wild"),
    refused("eol", "leaves `eol=crlf` in its attributes", "filter-changed", "echo '*.txt eol=crlf' > .gitattributes; printf 'x\\r\\n' >> a.txt"),
    refused("ident", "leaves `ident` in its attributes", "filter-changed", "echo '* ident' > .gitattributes; echo '$Id: evil $' >> a.txt"),
    refused("encoding", "leaves `working-tree-encoding` in its attributes", "filter-changed", "echo '*.txt working-tree-encoding=UTF-16' > .gitattributes; echo x >> a.txt"),
    refused("lfs", "leaves `filter=lfs` in its attributes", "filter-changed", "mkdir sub; echo '* filter=lfs' > sub/.gitattributes; echo x > sub/f"),
    refused("link", "commits a link to a file of your home", "bad-path", "ln -s {home}/.profile STATUS.md; git add STATUS.md; git commit -qm link"),
    refused("climb", "leaves a link that climbs out of the tree", "bad-path", "mkdir d; ln -s ../../sib/s d/up"),
    lands("swap", "puts a link in the place of a folder while it is read", &["d/f"],
        "mkdir d; echo x > d/f; git add d; git commit -qm d
        for i in 1 2 3 4 5 6 7 8 9; do mv d e; ln -s {home} d; sleep 0.03; rm d; mv e d; done"),
    crafted("git-folder", "commits a tree with a folder `.git` of hooks",
        "o=$(echo '{canary}' | git hash-object -w --stdin); t=$(printf '100755 blob %s\\tpost-checkout\\n' $o | git mktree); t=$(printf '040000 tree %s\\thooks\\n' $t | git mktree)
        t=$(printf '040000 tree %s\\t.git\\n' $t | git mktree); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    crafted("dots", "commits a tree with a folder `..`",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tx\\n' $o | git mktree)
        t=$(printf '040000 tree %s\\t..\\n' $t | git mktree); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    crafted("short-name", "commits a file `git~1`",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tgit~1\\n' $o | git mktree)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    crafted("folded-git", "commits a folder `.GIT`, and one that some systems take for `.git`",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tconfig\\n' $o | git mktree)
        t=$(printf '040000 tree %s\\t.GIT\\n040000 tree %s\\t.g\\342\\200\\214it\\n' $t $t | git mktree); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    crafted("beyond", "commits a link to your home and a folder of the same name, with a file in it",
        "o=$(printf {home} | git hash-object -w --stdin); f=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tx\\n' $f | git mktree)
        t=$(printf '120000 blob %s\\td\\n040000 tree %s\\td\\n' $o $t | git mktree); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    lands("reserved", "commits names that one system keeps for devices and streams (`CON`, `aux.txt`, `a:b`)", &["CON", "a:b"],
        "echo x > CON; echo x > aux.txt; echo x > a:b; git add .; git commit -qm x"),
    refused("noname", "commits a file without a name, and one twice", "quarantined",
        "o=$(echo x | git hash-object -w --stdin); raw() { printf \"100644 $1\\0\"; printf \"$(echo $o | sed 's/../\\\\x&/g')\"; }
        t=$( (raw ''; raw f; raw f) | git hash-object -w -t tree --literally --stdin)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    refused("composed", "commits two names that are one where letters are composed", "bad-path",
        "echo x > $(printf 'e\\314\\201'); echo y > $(printf '\\303\\251'); git add .; git commit -qm x"),
    refused("attributes-link", "commits `.gitattributes` as a link", "bad-path", "echo '* filter=e' > real; ln -s ../real .gitattributes; git add .; git commit -qm x"),
    refused("escape-name", "commits a file whose name steers a terminal", "bad-path", "f=$(printf 'a\\033[8mb'); echo x > \"$f\"; git add \"$f\"; git commit -qm x"),
    refused("collision", "commits `A.txt` beside `a.txt`", "bad-path", "echo x > A.txt; git add A.txt; git commit -qm x"),
    refused("backslash", "commits a file with a backslash in its name", "bad-path", "echo x > 'x\\y'; git add .; git commit -qm x"),
    lands("message", "writes a message and an author that steer a terminal", &["ok-message"],
        "m=$(printf 'evil \\033[8m\\033]0;title\\007\\rgone'); git commit -q --amend -m \"$m\" --author \"$(printf 'A\\033[8m') <a@b>\""),
    Case { jailed: Want::Refused("quarantined"), ..lands("nul", "hides words of its message behind a NUL", &["ok-nul"],
        "c=$( (git cat-file commit HEAD; printf 'seen\\0hidden\\n') | git hash-object -w -t commit --literally --stdin); git update-ref --no-deref HEAD $c") },
    lands("output", "prints what steers a terminal, and much of it", &["ok-output"], "printf '\\033]52;c;ZXZpbA==\\007\\033[2J\\r\\000'; head -c 200000 /dev/zero | tr '\\0' '\\033'"),
    lands("trailers", "writes trailers of the tool's own into its message", &["ok-trailers"],
        "git commit -q --amend -m 'x' -m 'Skein-Op: 01kdvxqg000000000000000000
Skein-Worker: 01kdvxqg000000000000000000'"),
    lands("zeros", "leaves a file of 1 GiB", &["ok-zeros"], "truncate -s 1G zeros"),
    lands("pipes", "leaves pipes, sockets and files that it may not read", &["ok-pipes"], "mkfifo p; echo x > locked; chmod 0 locked; mkdir shut; echo x > shut/f; chmod 0 shut; chmod 700 shut"),
    refused("bomb", "commits a tree of 10^9 files", "quarantined",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tf0\\n' $o | git mktree)
        for n in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\td%s\\n' $t $i; done | git mktree); done
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m bomb $t)"),
    refused("foreign", "merges a branch that is not of its base", "foreign-merge", "git merge -q other -m merge"),
    refused("orphan", "commits without its base", "base-moved", "git checkout -q --orphan x; git commit -qm x; h=$(git rev-parse HEAD); git checkout -q --detach $h; git branch -q -D x"),
    refused("agents", "changes what steers the next agent (`AGENTS.md`, `.mcp.json`)", "forbidden-path", "echo evil > AGENTS.md; echo '{}' > .mcp.json; git add .; git commit -qm x"),
    refused("ci", "changes what CI runs", "forbidden-path", "mkdir -p .github/workflows; echo x > .github/workflows/x.yml; git add .; git commit -qm x"),
    refused("modules", "commits `.gitmodules` with a command for a path", "forbidden-path", "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = -u./x\\n\\tupdate = !{canary}\\n' > .gitmodules; git add .; git commit -qm x"),
    lands("daemon", "leaves a process that writes later", &["ok-daemon"], "(setsid sh -c 'sleep 3; echo late > late; {canary}' >/dev/null 2>&1 &)"),
    lands("verbs", "gives the orchestrator's verbs itself", &["ok-verbs"], "! {exe} land --all; ! {exe} land {name}; ! {exe} reap --all --yes; ! {exe} dispatch t -- {canary}; ! {exe} undo"),
    Case { jailed: Want::Gate, free: Want::Gate, ..lands("gate", "writes a program that the gate runs, such as a test or `build.rs`", &[], "echo '{canary}; true' > check.sh; git add check.sh; git commit -qm check") },
];
