//! What every refusal means. `help refusals` and docs/refusals.md are made from this table.

mod bundles;
mod documents;
mod hooks;
mod remotes;
mod undo;
mod verdicts;
mod workers;

use crate::domain::Token;

/// One refusal for people. Names that a message fills in stand as `<…>`; what is code stands in backticks.
#[derive(Debug, Clone, Copy)]
pub struct Explained {
    pub token: Token,
    pub means: &'static str,
    /// A plain command that shows the same.
    pub show: &'static str,
    pub next: &'static str,
}

/// All of them, below the headings that they stand under.
pub const REFUSALS: &[(&str, &[Explained])] = &[
    (
        "The repository and its state",
        &[
            Explained {
                token: Token::NotARepository,
                means: "There is no git repository here, or git does not trust its owner",
                show: "`git rev-parse --git-common-dir`",
                next: "Go into a repository, or name one with `-C`",
            },
            Explained {
                token: Token::OldGit,
                means: "The first git of `PATH` is too old for the format of this repository",
                show: "`git --version` and `git config -f <config> --get-regexp '^extensions\\.'`",
                next: "Put a newer git first in `PATH`; reftables want 2.45",
            },
            Explained {
                token: Token::StateCorrupt,
                means: "There are workers or lanes, but not `refs/skein/format/1`: refs of this repository were lost",
                show: "`git for-each-ref refs/skein` and `git fsck`",
                next: "Do not delete anything; restore the refs from a backup or from another clone",
            },
            Explained {
                token: Token::RefBroken,
                means: "The file of a ref holds no object id, as after a power cut; git itself leaves such a ref out",
                show: "`git for-each-ref <ref>` and `git fsck`",
                next: "Move the file away, and make the ref anew from its log",
            },
            Explained {
                token: Token::RefsSquatted,
                means: "A symbolic ref, an object of another kind, or a ref that this version does not know, stands below a name of the tool",
                show: "`git for-each-ref refs/skein refs/skein-local refs/notes/skein`",
                next: "Look at it, then delete it with `git update-ref --no-deref -d <ref>`",
            },
            Explained {
                token: Token::NoSpace,
                means: "The disk or a quota is full",
                show: "`git count-objects -v -H`",
                next: "Make room, then give the same command again",
            },
            Explained {
                token: Token::ObjectsMissing,
                means: "A partial clone needs objects that it left with its remote, and cannot fetch them",
                show: "`git rev-list --objects --missing=print --all`",
                next: "Make the remote reachable, then give the same command again",
            },
            Explained {
                token: Token::Shallow,
                means: "A shallow clone ends before what is needed, and nothing more can be fetched",
                show: "`git rev-parse --is-shallow-repository`",
                next: "`git fetch --unshallow`, then give the same command again",
            },
            Explained {
                token: Token::ReadOnly,
                means: "The repository cannot be written: rights, or a file system mounted read-only",
                show: "`git rev-parse --git-common-dir`",
                next: "Give yourself write access to that folder; reading verbs still work",
            },
            Explained {
                token: Token::UnknownRecord,
                means: "A record has a version that this program does not know",
                show: "`git show <ref>:record.json`",
                next: "Use a newer git-skein; the record stays as it is",
            },
            Explained {
                token: Token::RecordMoved,
                means: "Another process wrote the same record in between",
                show: "`git for-each-ref refs/skein`",
                next: "Do the same again",
            },
            Explained {
                token: Token::Busy,
                means: "Another git-skein holds the lock that is needed",
                show: "`fuser -v <lock>` (git takes no part in it)",
                next: "Try again when it has ended",
            },
            Explained {
                token: Token::IndexLocked,
                means: "Another program holds the index of the checkout that has to move",
                show: "`git -C <checkout> status`",
                next: "Let that program end; if none runs, remove its `index.lock` yourself",
            },
            Explained {
                token: Token::RefLocked,
                means: "Another git holds refs that have to move, or died and left its locks",
                show: "`fuser -v <lock>`",
                next: "`git skein doctor` tells who holds them; if nobody does, remove them",
            },
            Explained {
                token: Token::TimedOut,
                means: "The time limit of this command passed; what it waited for goes on",
                show: "`git for-each-ref refs/skein/worker`",
                next: "Wait again, or with a longer `--timeout`",
            },
        ],
    ),
    (
        "Names and revisions",
        &[
            Explained {
                token: Token::NoTrunk,
                means: "No branch could be found that work should land on",
                show: "`git branch --list`",
                next: "Name one with `--onto`, or set `git config skein.trunk <branch>`",
            },
            Explained {
                token: Token::UnbornTrunk,
                means: "The trunk has no commit yet",
                show: "`git rev-parse --verify refs/heads/<trunk>`",
                next: "Make a first commit on it",
            },
            Explained {
                token: Token::NotABranch,
                means: "The name is no local branch: a tag, a remote branch, or a detached HEAD",
                show: "`git show-ref --verify refs/heads/<name>`",
                next: "Name a local branch, or make one with `git branch`",
            },
            Explained {
                token: Token::BadBase,
                means: "The base does not exist, or is not a commit; or there is no checkout for `--with-dirty`",
                show: "`git cat-file -t <base>`",
                next: "Name a commit with `--base`",
            },
            Explained {
                token: Token::BadRevision,
                means: "A revision does not name one commit",
                show: "`git rev-parse --verify '<rev>^{commit}'`",
                next: "Give a full object id or a branch",
            },
            Explained {
                token: Token::BadName,
                means: "A name breaks the rules for handles or refs",
                show: "`git check-ref-format --branch <name>`",
                next: "Use lower-case letters, digits and hyphens for a handle",
            },
            Explained {
                token: Token::NameTaken,
                means: "An open worker with another task has the name that `dispatch --name` asks for",
                show: "`git show refs/skein/worker/<id>:record.json`",
                next: "Choose another name, or close that worker: `git skein reap <worker>`",
            },
            Explained {
                token: Token::BadPattern,
                means: "A glob or a regular expression cannot be read",
                show: "`git ls-files ':(glob)<pattern>'`",
                next: "Correct the pattern; the message points at the place",
            },
            Explained {
                token: Token::NoSuchWorker,
                means: "No worker has this handle, id or prefix",
                show: "`git for-each-ref refs/skein/worker`",
                next: "List all with `git skein status`",
            },
            Explained {
                token: Token::AmbiguousWorker,
                means: "More than one worker has this prefix",
                show: "`git for-each-ref 'refs/skein/worker/<prefix>*'`",
                next: "Give more letters, or the whole id",
            },
            Explained {
                token: Token::Archived,
                means: "The worker is closed: only an archive has it",
                show: "`git for-each-ref refs/skein/archive`",
                next: "Open it again with `git skein restore <worker>`",
            },
        ],
    ),
    ("Other repositories", remotes::REMOTES),
    ("Dispatch", workers::DISPATCH),
    ("Speaking as a worker, and to one", workers::SPEAKING),
    (
        "Import",
        &[
            Explained {
                token: Token::StillRunning,
                means: "The worker has not ended, or this cannot be ruled out",
                show: "`git -C <worktree> status`",
                next: "`git skein wait <worker>` or `git skein stop <worker>`",
            },
            Explained {
                token: Token::NotReady,
                means: "The worker failed, runs out of sight, or waits for a person",
                show: "`git show refs/skein/worker/<id>:record.json`",
                next: "Look with `git skein show <worker>`; to take its work all the same, add `--any-outcome`",
            },
            Explained {
                token: Token::OutsideChanged,
                means: "Something outside the worktree changed while the worker ran",
                show: "`git status`, `git config --list --local`, `git reflog`",
                next: "Look at the names that are listed; if the changes are yours, add `--any-outcome`; see [security](security.md)",
            },
            Explained {
                token: Token::BaseMoved,
                means: "The recorded base is not an ancestor of the worker's tip",
                show: "`git merge-base --is-ancestor <base> <tip>`",
                next: "Look at what the worker did; dispatch again from the new base",
            },
            Explained {
                token: Token::ForeignMerge,
                means: "The worker merged commits that do not come from its base",
                show: "`git log --merges <base>..<tip>`",
                next: "Dispatch again from the commit that it wanted, with `--base`",
            },
            Explained {
                token: Token::Empty,
                means: "The delta or the merge of the branch changes nothing, or the branch holds all of it already",
                show: "`git diff --stat <base> <tip>`",
                next: "Nothing to do: `git skein show --log <worker>` shows what it did, `git skein landed --explain <worker>` where it is",
            },
            Explained {
                token: Token::Reverted,
                means: "The work landed and was taken back since: it does not land again by itself",
                show: "`git log --oneline <landing>..<branch>`, `git skein landed --explain <worker>`",
                next: "`git revert` the commit that took it back, or dispatch the task again",
            },
            Explained {
                token: Token::ForbiddenPath,
                means: "The delta touches files that steer agents, CI or policy",
                show: "`git diff --raw --no-renames <base> <tip>`",
                next: "If that was the task, allow it: `git config --add skein.allow '<glob>'`",
            },
            Explained {
                token: Token::OnlyReads,
                means: "A worker whose kind only reads has changed files",
                show: "`git diff --raw --no-renames <base> <tip>`",
                next: "Give the task to a worker of a kind that may change files; `git skein kinds` lists them",
            },
            Explained {
                token: Token::BadPath,
                means: "A path is unsafe on some system: `.git` in some spelling, control characters, a backslash, a name that folds onto another, a link that leaves the tree",
                show: "`git ls-tree -r -z <tip>`",
                next: "Rename it in the worker's worktree and import again",
            },
            Explained {
                token: Token::TooLarge,
                means: "The working tree holds too much to be captured: more than 2 GiB, or more than 200,000 changed files and folders; for `--with-dirty` also one file of more than 100 MiB. Or `.worktreeinclude` names more than 1 GiB or 10,000 files",
                show: "`git -C <worktree> status --short`",
                next: "Take files out of the worktree, or let a `.gitignore` name them",
            },
            Explained {
                token: Token::Quarantined,
                means: "What a worker committed does not come in: it breaks git's rules for objects, is too much, or is not all there",
                show: "`git --git-dir=<common>/skein/private/<worker>/worktrees/<name> log HEAD` (in its own jail, if you do not trust it)",
                next: "Its working tree is in its snapshot, `git skein restore <worker>`; what it committed stays where it is",
            },
            Explained {
                token: Token::GitlinkRefused,
                means: "The delta changes a submodule, or holds a nested repository as one",
                show: "`git diff --raw --no-renames <base> <tip>` shows mode 160000",
                next: "If that was the task, allow it: `git config skein.allowGitlinks true`",
            },
            Explained {
                token: Token::FilterChanged,
                means: "The working tree was to be taken in, and its attributes say another way of storing files than those of the base: `filter`, `text`, `eol`, `crlf`, `ident` or `working-tree-encoding`",
                show: "`git -C <worktree> diff <base> -- ':(glob)**/.gitattributes'`, and `git -C <worktree> status --short -uall` for new ones",
                next: "If that was the task, commit in the worktree what is to be taken, then import again: what is committed is taken as it is",
            },
            Explained {
                token: Token::FilterFailed,
                means: "Git does not store a file as it stands: a filter that is required failed, `core.safecrlf` forbids its line ends, or it is not in its `working-tree-encoding`",
                show: "`git -C <worktree> add --dry-run --all`",
                next: "Mend what git names, then do the same again; the snapshot has the file byte for byte",
            },
            Explained {
                token: Token::NotExact,
                means: "`--exact` was asked for, and the merged change would differ from the delta",
                show: "`git range-diff <base>..<tip> <old>..<new>`",
                next: "Leave `--exact` out, or dispatch again from the branch's tip",
            },
            Explained {
                token: Token::Conflict,
                means: "The delta and the branch change the same lines; or it builds on uncommitted changes in its base that the branch does not have",
                show: "`git diff <base> <onto> -- <path>` beside `git diff <base> <tip> -- <path>`",
                next: "Resolve it in a worktree of your own, or dispatch again from the branch's tip",
            },
            Explained {
                token: Token::ConflictMidway,
                means: "The whole delta merges, but one of its commits alone does not",
                show: "`git log --reverse <base>..<tip>`",
                next: "Add `--squash`",
            },
            Explained {
                token: Token::KeepsCommits,
                means: "A branch was to be squashed: it keeps its commits, only workers are squashed",
                show: "`git log --oneline <target>..<branch>`",
                next: "Land it without `--squash`, or make one commit of it first, with `git rebase -i`",
            },
        ],
    ),
    (
        "Landing",
        &[
            Explained {
                token: Token::NoCandidate,
                means: "There is no candidate for this work and branch",
                show: "`git for-each-ref refs/skein-local/candidate`",
                next: "`git skein candidate create`",
            },
            Explained {
                token: Token::CandidateExists,
                means: "Another candidate is open for this branch",
                show: "`git for-each-ref refs/skein-local/candidate`",
                next: "Finish it, or replace it with `--supersede`",
            },
            Explained {
                token: Token::CandidateStale,
                means: "The candidate was built on a tip that the branch no longer has",
                show: "`git merge-base --is-ancestor <branch> <candidate>` exits with 1",
                next: "`git skein candidate create --supersede <name>`",
            },
            Explained {
                token: Token::NotAdmitted,
                means: "The gate has not passed on this candidate's tree",
                show: "`git show <candidate-ref>:record.json`",
                next: "`git skein candidate admit`",
            },
            Explained {
                token: Token::TrunkMoved,
                means: "Another writer moved the branch each time that it was tried",
                show: "`git log <old>..<branch>`",
                next: "Give the same command again, or more `--retries`",
            },
            Explained {
                token: Token::GateFailed,
                means: "A gate command did not exit with 0",
                show: "`git show <lane-commit>:output`",
                next: "Read the output, correct the work, import and land again",
            },
            Explained {
                token: Token::GateDirtied,
                means: "A gate command changed the tree that it checked, or checked out another",
                show: "`<command>; git status` in a checkout of the candidate",
                next: "Make the command check only, or commit what it writes",
            },
            Explained {
                token: Token::NoTests,
                means: "A check ended well, and its test runner says that it ran no test: that proves nothing",
                show: "`<command>` in a checkout of the candidate",
                next: "Make the command run tests, or allow it with `--allow-empty`",
            },
            Explained {
                token: Token::NoEvidence,
                means: "Nothing is recorded that was run on the tree of that commit",
                show: "`git log --format='%h %s' refs/skein/lane/<clone>`",
                next: "Name a commit that was gated, or run something on it: `git skein check W`",
            },
            Explained {
                token: Token::DirtyOverlap,
                means: "The branch is checked out, and a file that must change has changes of yours",
                show: "`git -C <checkout> diff HEAD --name-only`",
                next: "Commit that file or put its changes aside, then land again",
            },
            Explained {
                token: Token::InTheWay,
                means: "An untracked or ignored file or folder stands where the landing writes",
                show: "`git -C <checkout> status --ignored`",
                next: "Move it away, then land again",
            },
            Explained {
                token: Token::OperationInProgress,
                means: "A merge, rebase, cherry-pick or bisect is under way in that checkout",
                show: "`git -C <checkout> status`",
                next: "Finish or abort it, then land again",
            },
            Explained {
                token: Token::CheckedOutTwice,
                means: "The branch is checked out in more than one worktree",
                show: "`git worktree list`",
                next: "Switch all but one of them to another branch",
            },
            Explained {
                token: Token::WronglyBare,
                means: "`core.bare` is true, but the repository has a working tree with the branch checked out, which would stay behind",
                show: "`git config --show-origin --get core.bare`",
                next: "`git config core.bare false`",
            },
        ],
    ),
    ("Verdicts", verdicts::VERDICTS),
    ("Bundles", bundles::BUNDLES),
    ("Documents", documents::DOCUMENTS),
    ("Undo", undo::UNDO),
    ("Hooks", hooks::HOOKS),
];

pub fn explained(token: Token) -> Option<&'static Explained> {
    REFUSALS.iter().flat_map(|(_, some)| *some).find(|e| e.token == token)
}

#[cfg(test)]
mod tests;
