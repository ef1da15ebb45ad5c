//! Trees, names and commits that are made by hand.

use super::Case;
use super::Want;
use super::content::crafted;
use super::content::lands;
use super::content::refused;

pub const CASES: &[Case] = &[
    refused(
        "bidi",
        "commits a file whose name is shown in another order than it is",
        "bad-path",
        "f=$(printf 'a\\342\\200\\256txt.sh'); echo x > \"$f\"; git add .; git commit -qm x",
    ),
    lands(
        "latin",
        "commits a file whose name is no UTF-8",
        &["ok-latin"],
        "f=$(printf 'a\\377b'); echo x > \"$f\"; git add .; git commit -qm x",
    ),
    lands(
        "options",
        "commits files whose names are options and patterns (`--output=x`, `:(top)`, `*`)",
        &["--output=x"],
        "echo x > --output=x; echo x > -rf; echo x > ':(top)x'; echo x > '*'; echo x > 'a b'; git add .; git commit -qm x",
    ),
    lands("long", "leaves a name of 255 bytes, 60 folders deep", &["deep"],
        "n=$(printf '%0255d' 0); p=deep; for i in $(seq 60); do p=$p/d; done; mkdir -p $p; echo x > $p/$n"),
    crafted("stream", "commits a folder that is `.git` where files have streams, and one with a dot behind",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tconfig\\n' $o | git mktree)
        t=$(printf '040000 tree %s\\t.git::$INDEX_ALLOCATION\\n040000 tree %s\\t.git.\\n' $t $t | git mktree); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    crafted(
        "slash",
        "commits a file with a slash in its name",

        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tf\\n' $o | git mktree)
        t=$(git cat-file tree $t | LC_ALL=C sed 's/100644 f/100644 ..\\/..\\/x/' | git hash-object -w -t tree --literally --stdin)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)",
    ),
    refused(
        "modes",
        "commits files with modes that git has not",
"gitlink",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\ta\\n100644 blob %s\\tb\\n100644 blob %s\\tc\\n' $o $o $o | git mktree)
        t=$(git cat-file tree $t | LC_ALL=C sed 's/100644 a/104755 a/;s/100644 b/10 b/;s/100644 c/20666 c/' | git hash-object -w -t tree --literally --stdin)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)",
    ),
    refused("missing", "commits a tree that names a file which nobody has", "quarantined",
        "t=$( (git ls-tree HEAD; printf '100644 blob 0123456789012345678901234567890123456789\\tgone\\n') | git mktree --missing)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)"),
    refused(
        "wrong-kind",
        "commits a folder that is a file",
        "quarantined",
        "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\ta\\n100644 blob %s\\tz\\n' $o $o | git mktree)
        t=$(git cat-file tree $t | LC_ALL=C sed 's/100644 z/40000 z/' | git hash-object -w -t tree --literally --stdin)
        git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m evil $t)",
    ),
    lands("setuid", "leaves a program with the bits for another user and for all to write", &["tool"],
        "echo x > tool; chmod 6777 tool"),
    lands("hardlink", "leaves a hard link to a file of your home", &["ok-hardlink"], "ln {home}/.profile mine"),
    lands("ignore-all", "hides what it leaves by `.gitignore`", &[".gitignore"], "echo 'hid*' > .gitignore; echo hid > hid"),
    lands("nested-ignore", "hides the file of ignored names among the ignored", &["ok-nested-ignore"], "mkdir d; echo '*' > d/.gitignore; echo hid > d/hid"),
    refused("policy", "writes the policy of the project, and a kind of worker", "forbidden-path",
        "mkdir -p .skein/kinds; echo 'gate = \"{canary}\"' > .skein/policy.toml; printf -- '---\\nchecks: [\"{canary}\"]\\n---\\n' > .skein/kinds/worker.md"),
    lands("export", "commits `export-subst` and `export-ignore`", &["ok-export"], "echo '* export-subst export-ignore' > .gitattributes; git add .; git commit -qm x"),
    lands("identity", "commits as somebody else, in another time", &["ok-identity"],
        "GIT_AUTHOR_NAME=Linus GIT_AUTHOR_EMAIL=l@x GIT_COMMITTER_NAME=Linus GIT_COMMITTER_EMAIL=l@x GIT_AUTHOR_DATE='@1 -0000' GIT_COMMITTER_DATE='@4102444800 +1400' git commit -q --amend --reset-author -m x"),
    lands("signature", "writes a signature and an encoding of its own into a commit", &["ok-signature"],
        "c=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n evil\\n -----END PGP SIGNATURE-----\\nencoding ISO-8859-7' | git hash-object -w -t commit --literally --stdin); git update-ref --no-deref HEAD $c"),
    refused("no-author", "commits without an author", "quarantined",
        "c=$(git cat-file commit HEAD | sed '/^author/d' | git hash-object -w -t commit --literally --stdin); git update-ref --no-deref HEAD $c"),
    Case { jailed: Want::Refused("quarantined"), ..lands("dates", "commits with a date that no clock can hold", &["ok-dates"],
        "c=$(git cat-file commit HEAD | sed 's/ [0-9]* +0000$/ 99999999999999999999 +9999/' | git hash-object -w -t commit --literally --stdin); git update-ref --no-deref HEAD $c") },
    lands("subject", "commits with a subject of 100 KiB, and one with none", &["ok-subject"],
        "head -c 100000 /dev/zero | tr '\\0' x | git commit -q --amend -F -; git commit -q --allow-empty --allow-empty-message -m ''"),
    lands("parents", "commits with 500 parents that are all the same one", &["ok-parents"],
        "p=$(git rev-parse HEAD); c=$( (git cat-file commit HEAD | sed -n 1p; i=0; while [ $i -lt 500 ]; do echo parent $p; i=$((i+1)); done
        git cat-file commit HEAD | sed -n '/^author/,$p') | git hash-object -w -t commit --literally --stdin); git update-ref --no-deref HEAD $c"),
    refused("octopus", "merges several branches at once, one of them of no common root", "foreign-merge",
        "c=$(git commit-tree -m root HEAD^{tree}); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -p other -p $c -m octopus HEAD^{tree})"),
    lands("root", "merges a history of no common root", &["ok-root"],
        "c=$(git commit-tree -m root HEAD^{tree}); git update-ref --no-deref HEAD $(git commit-tree -p HEAD -p $c -m root HEAD^{tree})"),
    refused("transplant", "moves its work onto another branch", "foreign-merge",
        "git rebase -q --onto other HEAD~1"),
    refused("amended", "commits its base anew, in its own words", "base-moved",
        "t=$(git rev-parse HEAD^{tree}); git checkout -q --detach HEAD~1; git commit -q --amend -m mine; git update-ref --no-deref HEAD $(git commit-tree -p HEAD -m x $t)"),
    lands("reverted", "takes its own work back and does it again in another way", &["ok-reverted"],
        "git revert --no-edit HEAD >/dev/null; git revert --no-edit HEAD >/dev/null; git merge -q --allow-unrelated-histories HEAD~1"),
    lands("churn", "leaves a process that writes its files while they are read", &["ok-churn"],
        "(setsid sh -c 'i=0; while [ $i -lt 300 ]; do echo $i > churn; mv churn churn2; mkdir -p churn; rmdir churn; i=$((i+1)); done' >/dev/null 2>&1 &)"),
    lands("flood", "prints 1 MiB in one line", &["ok-flood"], "head -c 1000000 /dev/zero | tr '\\0' x"),
    Case { jailed: Want::Lands, ..refused("signals", "asks its supervisor to end, in every way that can be asked", "not-ready",
        "for s in HUP INT QUIT USR1 USR2 ALRM PIPE; do kill -$s $PPID 2>/dev/null; done; sleep 0.1") },
    lands("empties", "removes all files, ignored names too", &["a.txt"], "git rm -rqf a.txt b.txt .gitignore; git commit -qm x"),
];
