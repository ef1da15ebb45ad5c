//! Which paths may enter the trunk: rules that hold on every system that may ever check it out, not only
//! on the one at hand. Git's own checks are weaker where its configuration says so; these are not.

use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::BTreeMap;
use unicode_normalization::UnicodeNormalization;

/// The longest path that a tree may hold.
pub const MAX_PATH: usize = 4096;

/// Says why `path` may not enter the trunk.
pub fn check_path(path: &BStr) -> std::result::Result<(), &'static str> {
    if path.len() > MAX_PATH {
        return Err("it is longer than 4096 bytes");
    }
    path.split_str("/").try_for_each(|name| check_name(name.as_bstr()))?;
    for c in path.chars() {
        if c.is_control() {
            return Err("it has a control character");
        }
        if is_bidi(c) {
            return Err("it has a character that turns the direction of text");
        }
    }
    Ok(())
}

fn check_name(name: &BStr) -> std::result::Result<(), &'static str> {
    match name.as_bytes() {
        b"" => Err("it has an empty component"),
        b"." => Err("it has the component ."),
        b".." => Err("it has the component .."),
        _ if is_dot_git(name) => Err("it has a component that some systems read as .git"),
        _ if name.contains(&b'\\') => Err("it has a backslash"),
        _ => Ok(()),
    }
}

/// True if some file system opens `.git` when asked for `name`: case, ignored code points (HFS+), trailing
/// dots and spaces, short names and streams (NTFS).
pub fn is_dot_git(name: &BStr) -> bool {
    spelled(name, |stem| stem == ".git" || stem == "git~1")
}

/// True if git refuses to check `name` out as a symlink: `.gitmodules` in any spelling.
pub fn is_dot_gitmodules(name: &BStr) -> bool {
    spelled(name, |stem| {
        stem == ".gitmodules"
            || matches!(stem, "gitmod~1" | "gitmod~2" | "gitmod~3" | "gitmod~4")
            || stem.strip_prefix("gi7eba~").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Undoes what HFS+ and NTFS overlook in a name, then asks `is`.
fn spelled(name: &BStr, is: impl Fn(&str) -> bool) -> bool {
    // Every spelling begins with a dot or a g, or with code points that are not ASCII.
    if !matches!(name.first(), Some(b'.' | b'g' | b'G' | 0x80..)) {
        return false;
    }
    let folded: String = name.chars().filter(|c| !is_ignorable(*c)).map(|c| c.to_ascii_lowercase()).collect();
    // A backslash ends a component on Windows, a colon begins the name of a stream.
    let stem = folded.split(['\\', ':']).next().unwrap_or_default();
    is(stem.trim_end_matches([' ', '.']))
}

/// The code points that HFS+ does not see in a name.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || is_ignorable(c)
}

/// Pairs of paths, or of folders that lead to them, that a file system may take for one: equal but for case
/// or for the way their accents are composed. Each colliding path is paired with the first of its kind.
pub fn collisions<'a>(paths: impl IntoIterator<Item = &'a BStr>) -> Vec<(BString, BString)> {
    let mut first: BTreeMap<BString, &BStr> = BTreeMap::new();
    let mut pairs = Vec::new();
    let mut sorted: Vec<&BStr> = paths.into_iter().collect();
    sorted.sort_unstable();
    let mut previous: &BStr = b"".as_bstr();
    for path in sorted {
        let ends = path.find_iter(b"/").chain([path.len()]);
        for prefix in ends.map(|end| path[..end].as_bstr()) {
            // Sorted, so a folder's paths follow one another: its name was looked at with the first.
            let again =
                previous.strip_prefix(prefix.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'));
            if again {
                continue;
            }
            let kept = *first.entry(folded(prefix)).or_insert(prefix);
            if kept != prefix {
                pairs.push((kept.to_owned(), prefix.to_owned()));
            }
        }
        previous = path;
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// One form for all names that a file system may take for the same. It folds more than any of them does.
pub fn folded(path: &BStr) -> BString {
    match path.to_str() {
        Ok(text) if text.is_ascii() => text.to_ascii_lowercase().into(),
        Ok(text) => {
            let seen = text.nfd().filter(|c| !is_ignorable(*c));
            let lower = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            lower.nfd().collect::<String>().into()
        }
        Err(_) => path.to_ascii_lowercase().into(),
    }
}

/// True if the symlink at `path` leaves the tree or enters a repository's own folder. A `..` behind a name
/// counts as leaving: the name may itself be a link, and then nobody can say where `..` leads.
pub fn link_escapes(path: &BStr, target: &BStr) -> bool {
    let drive = matches!(target.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if target.is_empty() || drive || target.starts_with(b"/") || target.contains(&b'\\') {
        return true;
    }
    let mut above = path.find_iter(b"/").count();
    let mut named = false;
    for name in target.split_str("/") {
        match name {
            b"" | b"." => {}
            b".." if named || above == 0 => return true,
            b".." => above -= 1,
            name if is_dot_git(name.as_bstr()) => return true,
            _ => named = true,
        }
    }
    false
}

/// `prefix` and `path` as git writes them (`quote_c_style`): in quotes if a byte of `path` is not printable
/// ASCII, a quote or a backslash.
pub fn c_quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |b: u8| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\';
    if path.iter().copied().all(plain) {
        return [prefix, path].concat();
    }
    let mut name = [b"\"", prefix].concat();
    for &byte in path {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            _ if plain(byte) => {
                name.push(byte);
                continue;
            }
            _ => {
                name.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        name.extend_from_slice(&[b'\\', letter]);
    }
    name.push(b'"');
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_may_enter() {
        for path in [
            "a",
            "a/b",
            ".gitignore",
            ".github/x",
            "git",
            "git~2",
            "a.git",
            ".git-x",
            "..a",
            "a..",
            "ä/ß",
            "a b",
            "...",
            ".gitmodules",
            "gitgub~1",
        ] {
            assert_eq!(check_path(path.into()), Ok(()), "{path}");
        }
        assert_eq!(check_path(b"latin-\xe9".as_bstr()), Ok(()));
    }

    #[test]
    fn paths_that_may_not() {
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "a/./b",
            "..",
            "a/../b",
            ".git",
            ".GIT/x",
            "a/.gIt",
            ".git.",
            ".git ",
            ".git . ",
            "git~1",
            "GIT~1/x",
            ".git::$INDEX_ALLOCATION/x",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{206a}t/x",
            "a\\b",
            ".git\\x",
            "a\nb",
            "a\u{1b}[0m",
            "a\u{7f}",
            "a\u{85}b",
            "a\u{202e}b",
            "a\u{2066}b",
            "a\u{200f}",
            "a\u{61c}",
        ] {
            assert!(check_path(path.into()).is_err(), "{path:?}");
        }
        assert!(check_path("a/".repeat(2048).as_str().into()).is_err());
        assert!(check_path("a".repeat(4097).as_str().into()).is_err());
    }

    #[test]
    fn modules_file_in_any_spelling() {
        for name in
            [".gitmodules", ".GitModules", ".gitmodules .", "GITMOD~1", "gi7eba~12", ".git\u{200c}modules"]
        {
            assert!(is_dot_gitmodules(name.into()), "{name}");
        }
        for name in [".gitmodule", "gitmod~5", "gitmodules", ".gitignore"] {
            assert!(!is_dot_gitmodules(name.into()), "{name}");
        }
    }

    fn pairs(paths: &[&str]) -> Vec<(String, String)> {
        collisions(paths.iter().map(|p| BStr::new(*p)))
            .into_iter()
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .collect()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.into(), b.into())
    }

    #[test]
    fn names_that_meet_on_some_file_system() {
        assert_eq!(pairs(&["a", "b", "a.b/c", "ab", "a-b"]), []);
        assert_eq!(
            pairs(&["readme", "README", "Readme"]),
            [pair("README", "Readme"), pair("README", "readme")]
        );
        assert_eq!(pairs(&["Dir/x", "dir/y", "Dir/z"]), [pair("Dir", "dir")]);
        // A link `A` beside a folder `a` is how a checkout was made to write outside.
        assert_eq!(pairs(&["A", "a/post-checkout"]), [pair("A", "a")]);
        assert_eq!(pairs(&["caf\u{e9}", "cafe\u{301}"]), [pair("cafe\u{301}", "caf\u{e9}")]);
        assert_eq!(pairs(&["\u{c9}", "e\u{301}"]), [pair("e\u{301}", "\u{c9}")]);
        assert_eq!(pairs(&["straße", "STRASSE"]), [pair("STRASSE", "straße")]);
        assert_eq!(pairs(&["a\u{200c}", "a"]), [pair("a", "a\u{200c}")]);
        assert_eq!(pairs(&["x/a", "x/A", "x!", "X/b"]), [pair("X", "x"), pair("x/A", "x/a")]);
        let odd = collisions([b"\xffA".as_bstr(), b"\xffa".as_bstr()]);
        assert_eq!(odd, [(BString::from(b"\xffA"), BString::from(b"\xffa"))]);
    }

    #[test]
    fn links_that_leave() {
        for (path, target) in
            [("a", "b"), ("a", "./b/c"), ("a/b", "../c"), ("a/b/c", "../../d"), ("a", "b//c"), ("a", "..b")]
        {
            assert!(!link_escapes(path.into(), target.into()), "{path} -> {target}");
        }
        for (path, target) in [
            ("a", ""),
            ("a", "/etc"),
            ("a", ".."),
            ("a/b", "../.."),
            ("a/b", ".././../c"),
            ("a/b", "c/../../../d"),
            ("a/b", "c/../d"),
            ("a", ".git/hooks"),
            ("a/b", "../.GIT"),
            ("a", "c:x"),
            ("a", "\\\\host\\x"),
        ] {
            assert!(link_escapes(path.into(), target.into()), "{path} -> {target}");
        }
    }

    #[test]
    fn paths_are_quoted_as_git_does() {
        for (bytes, want) in [
            (&b"a b/~c"[..], "a b/~c"),
            (b"", ""),
            (b"a\tb\nc", "\"a\\tb\\nc\""),
            (b"q\"\\", "\"q\\\"\\\\\""),
            (b"\x01\x7f\xc3\xa9", "\"\\001\\177\\303\\251\""),
            (b"\x07\x08\x0b\x0c\r", "\"\\a\\b\\v\\f\\r\""),
        ] {
            assert_eq!(String::from_utf8(c_quoted(b"", bytes)).unwrap(), want);
        }
    }
}
