//! Names that cannot be invalid: object ids, ref names, worker ids and handles.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Token;
use serde::Deserialize;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// An object id of either hash: 20 bytes (sha1) or 32 (sha256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid {
    len: u8,
    bytes: [u8; 32],
}

impl Oid {
    /// Panics never: `None` unless `raw` has the length of a known hash.
    pub fn from_bytes(raw: &[u8]) -> Option<Oid> {
        if raw.len() != 20 && raw.len() != 32 {
            return None;
        }
        let mut bytes = [0; 32];
        bytes[..raw.len()].copy_from_slice(raw);
        Some(Oid { len: raw.len() as u8, bytes })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    pub fn is_null(&self) -> bool {
        self.as_bytes().iter().all(|b| *b == 0)
    }

    /// The all-zero id of the same hash: "no object" in a ref update.
    pub fn null_like(self) -> Oid {
        Oid { len: self.len, bytes: [0; 32] }
    }

    /// The first ten hex digits, for people.
    pub fn short(&self) -> String {
        let mut hex = self.to_string();
        hex.truncate(10);
        hex
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Oid {
    type Err = Failure;

    fn from_str(hex: &str) -> Result<Oid, Failure> {
        let bad = || Failure::fault("reading an object id", format!("{hex:?} is not one"));
        // A number may have a sign, and a digit of an id is none.
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) || !hex.len().is_multiple_of(2) {
            return Err(bad());
        }
        let raw: Option<Vec<u8>> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).ok()).collect();
        raw.and_then(|raw| Oid::from_bytes(&raw)).ok_or_else(bad)
    }
}

impl Serialize for Oid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Oid, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom(format!("{text:?} is not an object id")))
    }
}

/// Where git notes what the branches of remotes were when they were seen last.
const TRACKING: &str = "refs/remotes/";

/// A full ref name (`refs/...`) that git accepts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RefName(String);

impl RefName {
    /// The rules of git-check-ref-format(1), for a full name.
    pub fn new(name: impl Into<String>) -> Result<RefName, Failure> {
        let name = name.into();
        let component = |c: &str| {
            !c.is_empty()
                && !c.starts_with('.')
                && !c.ends_with(".lock")
                && !c.contains("..")
                && !c.contains("@{")
        };
        let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\\x7f".contains(c);
        let fine = name.starts_with("refs/")
            && name.split('/').count() > 1
            && name.split('/').all(component)
            && !name.contains(forbidden)
            && !name.ends_with('.');
        if fine {
            return Ok(RefName(name));
        }
        Err(Refusal::new(Token::BadName, format!("{name:?} is not a full ref name that git accepts"))
            .show("git check-ref-format --normalize <name>")
            .next("give a branch name such as main, or a full name such as refs/heads/main")
            .into())
    }

    /// The branch `name` given as `main` or `refs/heads/main`.
    pub fn branch(name: &str) -> Result<RefName, Failure> {
        if name.starts_with("refs/heads/") {
            RefName::new(name)
        } else {
            RefName::new(format!("refs/heads/{name}"))
        }
    }

    /// The same, or a branch of a server by its whole name, `refs/remotes/origin/main`.
    pub fn target(name: &str) -> Result<RefName, Failure> {
        if name.starts_with(TRACKING) { RefName::new(name) } else { RefName::branch(name) }
    }

    /// Whether it stands here for a branch of a server.
    pub fn is_tracking(&self) -> bool {
        self.0.starts_with(TRACKING)
    }

    /// Whether both are the branch of one name, here or on a server. Which part of a name is that of the remote only
    /// the configuration knows: this may be true of too many.
    pub fn may_be_one_branch(&self, other: &RefName) -> bool {
        let ends = |long: &RefName, short: &RefName| {
            long.is_tracking() && !short.is_tracking() && long.0.ends_with(&format!("/{}", short.short()))
        };
        self == other || ends(self, other) || ends(other, self)
    }

    /// A branch that is to be made: git makes none that reads as an option or as `HEAD`.
    pub fn new_branch(name: &str) -> Result<RefName, Failure> {
        let branch = RefName::branch(name)?;
        if !branch.short().starts_with('-') && branch.short() != "HEAD" {
            return Ok(branch);
        }
        Err(Refusal::new(Token::BadName, format!("{name:?} is no name for a new branch"))
            .show("git check-ref-format --branch <name>")
            .next("give another name")
            .into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as people say it: without `refs/heads/` or `refs/remotes/`.
    pub fn short(&self) -> &str {
        let short = self.0.strip_prefix("refs/heads/").or_else(|| self.0.strip_prefix(TRACKING));
        short.unwrap_or(&self.0)
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RefName {
    type Error = String;

    fn try_from(name: String) -> Result<RefName, String> {
        RefName::new(name.clone()).map_err(|_| format!("{name:?} is not a ref name"))
    }
}

impl From<RefName> for String {
    fn from(name: RefName) -> String {
        name.0
    }
}

/// The name of a remote, as configured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteName(String);

impl RemoteName {
    /// The rules of `git remote add`.
    pub fn new(name: &str) -> Result<RemoteName, Failure> {
        if RefName::new(format!("refs/remotes/{name}/x")).is_ok() && !name.starts_with('-') {
            return Ok(RemoteName(name.to_owned()));
        }
        Err(Refusal::new(Token::NoRemote, format!("{name:?} is not the name of a remote"))
            .show("git remote -v")
            .next("give its address a name: git remote add <name> <address>")
            .into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One component of a ref name that is this remote's alone: all but letters, digits, `-` and `_` as `%` and
    /// two hex digits.
    pub fn component(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let byte = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02x}") };
        self.0.bytes().map(byte).collect()
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Declares an identity that is a ULID, written in lower case so that no file system folds it.
macro_rules! ulid_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(ulid::Ulid);

        impl $name {
            /// From a time in milliseconds since the epoch and 80 bits that tell it apart.
            pub fn from_parts(millis: u64, distinct: u128) -> $name {
                $name(ulid::Ulid::from_parts(millis, distinct))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0.to_string().to_ascii_lowercase())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Failure;

            fn from_str(text: &str) -> Result<$name, Failure> {
                ulid::Ulid::from_string(text)
                    .map($name)
                    .map_err(|e| Failure::fault(format!("reading the identity {text:?}"), e))
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|_| serde::de::Error::custom(format!("{text:?} is not a ULID")))
            }
        }
    };
}

ulid_name! {
    /// The identity of one worker.
    WorkerId
}

impl WorkerId {
    /// Its time in milliseconds since the epoch.
    pub fn millis(self) -> u64 {
        self.0.timestamp_ms()
    }
}

ulid_name! {
    /// The identity of one operation.
    OpId
}

ulid_name! {
    /// The identity of one bundle.
    BundleId
}

ulid_name! {
    /// The identity of one brief in a queue.
    BriefId
}

ulid_name! {
    /// The identity of one session document.
    DocId
}

impl DocId {
    /// From a UUID, which is as long.
    pub fn from_uuid(text: &str) -> Option<DocId> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let whole = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let bits = u128::from_str_radix(&digits, 16).ok().filter(|_| whole)?;
        Some(DocId(ulid::Ulid::from_bytes(bits.to_be_bytes())))
    }
}

/// The name of a worker for people: lower-case words joined by hyphens, at most 40 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Handle(String);

impl Handle {
    const MAX: usize = 40;

    /// A handle as a person gave it.
    pub fn new(name: &str) -> Result<Handle, Failure> {
        let fine = !name.is_empty()
            && name.len() <= Self::MAX
            && !name.starts_with('-')
            && !name.ends_with('-')
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if fine {
            return Ok(Handle(name.to_owned()));
        }
        Err(Refusal::new(
            Token::BadName,
            format!(
                "{name:?} cannot be a handle: lower-case letters, digits and inner hyphens, at most 40 bytes"
            ),
        )
        .show("git check-ref-format --branch <name>")
        .next("choose another --name, such as fix-auth")
        .into())
    }

    /// The handle that a task suggests: its first words, or `worker`.
    pub fn from_task(task: &str) -> Handle {
        let line = task.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
        let mut slug = String::new();
        for word in line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
            if slug.len() + word.len() + 1 > 30 {
                break;
            }
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.push_str(&word.to_ascii_lowercase());
        }
        Handle(if slug.is_empty() { "worker".to_owned() } else { slug })
    }

    /// This handle, or the first of `name-2`, `name-3`, … that is not `taken`.
    pub fn unique(self, taken: impl Fn(&Handle) -> bool) -> Handle {
        if !taken(&self) {
            return self;
        }
        let stem: String = self.0.chars().take(Self::MAX - 6).collect();
        let numbered = |n: u32| Handle(format!("{stem}-{n}"));
        (2..).map(numbered).find(|h| !taken(h)).unwrap_or(self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Handle {
    type Error = String;

    fn try_from(name: String) -> Result<Handle, String> {
        Handle::new(&name).map_err(|_| format!("{name:?} is not a handle"))
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> String {
        handle.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_follow_git() {
        for good in ["refs/heads/main", "refs/heads/a/b.c", "refs/heads/--output=x", "refs/heads/é"] {
            assert!(RefName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "main",
            "refs/heads/",
            "refs/heads/a..b",
            "refs/heads/a.lock",
            "refs/heads/a b",
            "refs//x",
            "refs/x/.a",
        ] {
            assert!(RefName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn handles_come_from_tasks() {
        assert_eq!(Handle::from_task("Fix the auth bug!\nmore").as_str(), "fix-the-auth-bug");
        assert_eq!(Handle::from_task("\u{1f600}").as_str(), "worker");
        let taken = ["fix", "fix-2"];
        assert_eq!(Handle::from_task("fix").unique(|h| taken.contains(&h.as_str())).as_str(), "fix-3");
        assert!(Handle::new("--output=x").is_err());
    }

    #[test]
    fn oids_of_both_hashes() {
        let hex = "a".repeat(64);
        assert_eq!(hex.parse::<Oid>().map(|o| o.to_string()).ok(), Some(hex));
        assert!("abc".parse::<Oid>().is_err());
    }
}
