//! Refusals around bundles.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const BUNDLES: &[Explained] = &[
    Explained {
        token: Token::BadBundle,
        means: "The file is no bundle of this program: no regular file, too large, another form, or objects that git does not take",
        show: "`git bundle verify <file>`",
        next: "Ask for the file again, made by `git skein bundle export`",
    },
    Explained {
        token: Token::BundleChanged,
        means: "The bundle is not as it was written: cut short, altered, or another one than was expected or is saved here under its id",
        show: "`git bundle list-heads <file>`, `git for-each-ref refs/skein/bundle`",
        next: "Do not use it; ask for the file again",
    },
    Explained {
        token: Token::BundleUnfit,
        means: "The commit that the bundle builds on is not in this repository, or the repository has another object format",
        show: "`git bundle verify <file>`",
        next: "Fetch that commit, or have it exported with `--whole`; `git skein bundle show <file>` needs neither",
    },
    Explained {
        token: Token::NoSuchBundle,
        means: "No bundle that is saved here has this id, or is of this worker; or it is not loaded, or has no such paper",
        show: "`git for-each-ref refs/skein/bundle`",
        next: "`git skein bundle list` shows them",
    },
    Explained {
        token: Token::AmbiguousBundle,
        means: "The name fits more than one bundle",
        show: "`git for-each-ref refs/skein/bundle`",
        next: "Give more of the id",
    },
    Explained {
        token: Token::BundleLoaded,
        means: "The bundle is loaded for a worker that was not given it yet",
        show: "`git show refs/skein/worker/<id>:record.json`: `loaded`",
        next: "`git skein bundle unload <worker> <bundle>`, then delete it",
    },
    Explained {
        token: Token::BundleUsed,
        means: "The worker was given the bundle already, so it cannot be taken away",
        show: "`git show refs/skein/worker/<id>:record.json`: `loaded`",
        next: "Nothing to do: it is given once",
    },
    Explained {
        token: Token::FileExists,
        means: "A file of that name is there already",
        show: "`ls -l <file>` (git takes no part in it)",
        next: "Choose another name, or move the file away",
    },
];
