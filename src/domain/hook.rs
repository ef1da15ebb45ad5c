//! The hooks of git that the program answers to, and what a process below a worker may move.

use crate::domain::Oid;
use serde::Serialize;
use std::collections::HashSet;

/// One of them, by the name that git gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    ReferenceTransaction,
    PreCommit,
    PostRewrite,
    PostMerge,
    PrePush,
    PreReceive,
}

impl Hook {
    /// Those of a repository that people and workers are at work in.
    pub const CLIENT: &'static [Hook] =
        &[Hook::ReferenceTransaction, Hook::PreCommit, Hook::PostRewrite, Hook::PostMerge, Hook::PrePush];

    /// Those of a bare one that others push to.
    pub const SERVER: &'static [Hook] = &[Hook::PreReceive];

    /// Those for a repository that is `bare` or not.
    pub fn of(bare: bool) -> &'static [Hook] {
        if bare { Hook::SERVER } else { Hook::CLIENT }
    }

    pub fn all() -> impl Iterator<Item = Hook> {
        Hook::CLIENT.iter().chain(Hook::SERVER).copied()
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Hook::ReferenceTransaction => "reference-transaction",
            Hook::PreCommit => "pre-commit",
            Hook::PostRewrite => "post-rewrite",
            Hook::PostMerge => "post-merge",
            Hook::PrePush => "pre-push",
            Hook::PreReceive => "pre-receive",
        }
    }

    pub fn parse(name: &str) -> Option<Hook> {
        Hook::all().find(|hook| hook.as_str() == name)
    }

    /// Whether git heeds how it ends.
    pub fn guards(self) -> bool {
        !matches!(self, Hook::PostRewrite | Hook::PostMerge)
    }
}

/// The first version of git that reads hooks from its configuration.
const CONFIGURED: (u32, u32) = (2, 54);

/// Whether git of this version, as it states it, runs hooks that its configuration names.
pub fn reads_configured_hooks(version: &str) -> bool {
    let mut numbers = version.split(['.', ' ']).map(|part| part.parse::<u32>().unwrap_or_default());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= CONFIGURED
}

/// What stands where a hook of ours belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub file: Stands,
    /// A hook that was there before is set aside.
    pub aside: bool,
    /// And it is the very file that stands there, or has the same bytes and permissions.
    pub same: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stands {
    #[default]
    Nothing,
    /// Ours, just as it would be written now.
    Ours,
    /// Ours, of another version or for another program.
    Older,
    /// Somebody else's.
    Foreign,
}

/// What is done with one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Leave,
    Write,
    /// The one that is there is set aside first.
    SetAsideAndWrite,
    /// Ours goes, and the one that was set aside comes back.
    BringBack,
    Remove,
    /// Only what was set aside goes: the same stands in its place.
    Forget,
    /// Two hooks of others, and only one place.
    Refuse,
}

impl Found {
    pub fn to_install(&self) -> Step {
        match (self.file, self.aside) {
            (Stands::Ours, _) => Step::Leave,
            (Stands::Nothing | Stands::Older, _) => Step::Write,
            (Stands::Foreign, false) => Step::SetAsideAndWrite,
            (Stands::Foreign, true) if self.same => Step::Write,
            (Stands::Foreign, true) => Step::Refuse,
        }
    }

    pub fn to_uninstall(&self) -> Step {
        match (self.file, self.aside) {
            (Stands::Foreign, true) if self.same => Step::Forget,
            (Stands::Foreign, true) => Step::Refuse,
            (_, true) => Step::BringBack,
            (Stands::Ours | Stands::Older, false) => Step::Remove,
            (Stands::Nothing | Stands::Foreign, false) => Step::Leave,
        }
    }
}

/// Whether git would have written this line to mark a conflict. One of `=` alone may be a heading.
pub fn marks_conflict(line: &[u8]) -> bool {
    ["<<<<<<<", ">>>>>>>", "|||||||"].iter().any(|mark| {
        line.strip_prefix(mark.as_bytes())
            .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')))
    })
}

/// What a landing brought to a branch, and what its tree lacks to be proven.
#[derive(Debug, Clone, Default)]
pub struct Brought {
    pub commits: Vec<Oid>,
    pub lacks: Vec<String>,
}

/// Which of the commits that are new on a branch no landing proves, and why.
pub fn unproven(new: &[Oid], landings: &[Brought]) -> Vec<(Oid, String)> {
    let why = |commit: &Oid| {
        let mut of_it = landings.iter().filter(|landing| landing.commits.contains(commit)).peekable();
        if of_it.peek().is_none() {
            return Some("no lane here has a landing of it".to_owned());
        }
        let lacks: Vec<&Vec<String>> = of_it.map(|landing| &landing.lacks).collect();
        let proven = lacks.iter().any(|lacks| lacks.is_empty());
        (!proven).then(|| lacks.into_iter().flatten().cloned().collect::<Vec<_>>().join("; "))
    };
    new.iter().filter_map(|commit| Some((*commit, why(commit)?))).collect()
}

/// What stands before the reason, in the option of a push by which a person says that it is to be accepted.
const OVERRIDE: &str = "skein-override=";

/// The reason why a person wants a push to be accepted as it is: it counts where it is signed, git finds the signature
/// good and knows whose it is, and it was made for this very push. Of a key of ssh that is nobody's, git says that it is
/// good, too.
pub fn overridden<'o>(
    (signature, signer): (Option<&str>, Option<&str>),
    nonce: Option<&str>,
    options: impl IntoIterator<Item = &'o str>,
) -> Option<&'o str> {
    let reason = options.into_iter().find_map(|option| option.strip_prefix(OVERRIDE));
    let known = signature == Some("G") && signer.is_some_and(|who| !who.trim().is_empty());
    reason.map(str::trim).filter(|text| !text.is_empty() && known && nonce == Some("OK"))
}

/// Refs that each worktree has for itself.
const OWN: &[&str] = &["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// What a transaction of refs would move that no worker may: `lines` are `<old> <new> <ref>` as git gives them.
/// In its `own` worktree that is all but a `HEAD` that stays detached and the refs that are the worktree's
/// alone; anywhere else it is everything.
pub fn fenced(lines: &[u8], own: bool) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let new = words.nth(1).unwrap_or_default();
        let name = String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
        let attaches = new.starts_with(b"ref:");
        if !(own && is_own(&name) && !(attaches && name == "HEAD")) && seen.insert(name.clone()) {
            found.push(name);
        }
    }
    found
}

/// A worktree's own: `HEAD`, `ORIG_HEAD` and the like, which have no folder, and some that have.
fn is_own(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c == '_';
    (!name.is_empty() && name.chars().all(plain)) || OWN.iter().any(|space| name.starts_with(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for hook in Hook::all() {
            assert_eq!(Hook::parse(hook.as_str()), Some(hook));
            assert_eq!(serde_json::to_string(&hook).unwrap(), format!("{:?}", hook.as_str()));
        }
        assert_eq!(Hook::parse("commit-msg"), None);
    }

    #[test]
    fn no_hook_of_others_is_lost() {
        for (file, aside, same, install, uninstall) in [
            (Stands::Nothing, false, false, Step::Write, Step::Leave),
            (Stands::Nothing, true, false, Step::Write, Step::BringBack),
            (Stands::Ours, false, false, Step::Leave, Step::Remove),
            (Stands::Ours, true, false, Step::Leave, Step::BringBack),
            (Stands::Older, true, false, Step::Write, Step::BringBack),
            (Stands::Foreign, false, false, Step::SetAsideAndWrite, Step::Leave),
            (Stands::Foreign, true, true, Step::Write, Step::Forget),
            (Stands::Foreign, true, false, Step::Refuse, Step::Refuse),
        ] {
            let found = Found { file, aside, same };
            assert_eq!((found.to_install(), found.to_uninstall()), (install, uninstall), "{found:?}");
        }
    }

    #[test]
    fn marks_of_a_conflict_are_told_from_other_lines() {
        for (line, want) in [
            ("<<<<<<< HEAD", true),
            (">>>>>>> theirs", true),
            ("||||||| base", true),
            (">>>>>>>\r", true),
            ("=======", false),
            ("<<<<<<<<", false),
            (" <<<<<<< HEAD", false),
        ] {
            assert_eq!(marks_conflict(line.as_bytes()), want, "{line}");
        }
    }

    #[test]
    fn only_a_landing_that_lacks_nothing_proves_a_commit() {
        let oid = |byte: u8| Oid::from_bytes(&[byte; 20]).unwrap();
        let brought = |commits: &[u8], lacks: &[&str]| Brought {
            commits: commits.iter().map(|byte| oid(*byte)).collect(),
            lacks: lacks.iter().map(|text| (*text).to_owned()).collect(),
        };
        let landings =
            [brought(&[1, 2], &[]), brought(&[3], &["no gate"]), brought(&[4], &["x"]), brought(&[4], &[])];
        let found = unproven(&[1, 2, 3, 4, 5].map(oid), &landings);
        let found: Vec<(Oid, &str)> = found.iter().map(|(at, why)| (*at, why.as_str())).collect();
        assert_eq!(found, [(oid(3), "no gate"), (oid(5), "no lane here has a landing of it")]);
    }

    #[test]
    fn only_a_good_signature_of_this_push_overrides() {
        let said = ["other", "skein-override= hotfix "];
        assert_eq!(overridden((Some("G"), Some("ada")), Some("OK"), said), Some("hotfix"));
        for (signature, nonce) in [
            (None, None),
            (Some("G"), None),
            (Some("G"), Some("SLOP")),
            (Some("U"), Some("OK")),
            (Some("B"), Some("OK")),
            (Some("N"), Some("OK")),
        ] {
            assert_eq!(overridden((signature, Some("ada")), nonce, said), None, "{signature:?} {nonce:?}");
        }
        let good = (Some("G"), Some("ada"));
        assert_eq!(overridden((Some("G"), Some("")), Some("OK"), said), None);
        assert_eq!(overridden((Some("G"), None), Some("OK"), said), None);
        assert_eq!(overridden(good, Some("OK"), ["skein-override= "]), None);
        assert_eq!(overridden(good, Some("OK"), ["skein-override"]), None);
    }

    #[test]
    fn the_version_decides() {
        for (version, want) in [
            ("2.47.3", false),
            ("2.39.5 (Apple Git-154)", false),
            ("2.53.9", false),
            ("2.54.0", true),
            ("2.54.0-rc1", true),
            ("2.55", true),
            ("3.0.1", true),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(reads_configured_hooks(version), want, "{version}");
        }
    }

    #[test]
    fn what_the_fence_blocks_and_passes() {
        let (a, z) = ("a".repeat(40), "0".repeat(40));
        for (new, name, passes) in [
            (&a, "HEAD", true),
            (&a, "ORIG_HEAD", true),
            (&z, "AUTO_MERGE", true),
            (&z, "CHERRY_PICK_HEAD", true),
            (&a, "refs/bisect/bad", true),
            (&a, "refs/worktree/x", true),
            (&a, "refs/rewritten/onto", true),
            (&"ref:refs/heads/main".to_owned(), "HEAD", false),
            (&a, "refs/heads/main", false),
            (&z, "refs/heads/gone", false),
            (&a, "refs/tags/v1", false),
            (&a, "refs/stash", false),
            (&a, "refs/remotes/origin/main", false),
            (&a, "refs/notes/commits", false),
            (&a, "refs/replace/x", false),
            (&a, "refs/skein/x", false),
            (&a, "main-worktree/HEAD", false),
            (&a, "worktrees/other/HEAD", false),
            (&a, "", false),
        ] {
            let line = format!("{z} {new} {name}\n");
            assert_eq!(fenced(line.as_bytes(), true).is_empty(), passes, "{line}");
            assert_eq!(fenced(line.as_bytes(), false), [name], "{line}");
        }
        assert!(fenced(b"", false).is_empty());
        let twice = format!("{z} {a} refs/heads/x\n{z} {a} refs/heads/x\n{z} {a} HEAD\n");
        assert_eq!(fenced(twice.as_bytes(), true), ["refs/heads/x"]);
    }
}
