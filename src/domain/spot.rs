//! Places in files that the output of compilers and test runners points at.

use regex::Regex;
use std::sync::LazyLock;

/// A line of a file, and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub path: String,
    pub line: u32,
    pub column: Option<u32>,
    pub says: String,
}

/// No reader looks at more of one output.
const MOST: usize = 10;

/// `path:line`, alone or before what is said; and as tracebacks have it.
static SPOT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) ^ \s* (?: --> \s* | at \s+ )? (?P<path> [\w./@+-]+ \. \w+ ) : (?P<line> [0-9]{1,7} )
                 (?: : (?P<column> [0-9]{1,5} ) )? (?: : \s* (?P<says> .* ) )? $
             | ^ \s* File \s " (?P<file> [^"]+ ) ", \s line \s (?P<at> [0-9]{1,7} )"#,
    )
    .ok()
});

/// The places that `output` names in files of a tree that stood at `root`; each once. Whether there is such a file is
/// for others to tell.
pub fn spots(output: &str, root: &str) -> Vec<Spot> {
    let Some(form) = SPOT.as_ref() else { return Vec::new() };
    let mut found: Vec<Spot> = Vec::new();
    let mut before = "";
    for line in output.lines() {
        if let Some(caught) = form.captures(line) {
            let text = |name: &str| caught.name(name).map(|m| m.as_str());
            let path = text("path").or(text("file")).unwrap_or_default();
            let path = path.strip_prefix(root).map_or(path, |path| path.trim_start_matches('/'));
            let number = text("line").or(text("at")).and_then(|n| n.parse().ok()).unwrap_or(1);
            // A pointer below a message says nothing itself.
            let says = text("says").filter(|says| !says.trim().is_empty()).unwrap_or(before);
            let spot = Spot {
                path: path.trim_start_matches("./").to_owned(),
                line: number,
                column: text("column").and_then(|n| n.parse().ok()),
                says: says.trim().to_owned(),
            };
            if !found.iter().any(|known| known.path == spot.path && known.line == spot.line) {
                found.push(spot);
            }
        }
        before = line;
        if found.len() == MOST {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_and_tracebacks_point_at_lines() {
        let said = "error[E0308]: mismatched types\n  --> src/main.rs:3:5\n   |\n\
                    /tmp/tree/a.c:7:2: error: no such thing\n  File \"/tmp/tree/t/x.py\", line 4\nat 12:30: noon\n\
                    ./b.txt:9: bad\nsrc/main.rs:3:5\nhttp://x.org:80/y\n";
        let spot = |path: &str, line, column, says: &str| Spot {
            path: path.to_owned(),
            line,
            column,
            says: says.to_owned(),
        };
        assert_eq!(
            spots(said, "/tmp/tree"),
            [
                spot("src/main.rs", 3, Some(5), "error[E0308]: mismatched types"),
                spot("a.c", 7, Some(2), "error: no such thing"),
                spot("t/x.py", 4, None, "/tmp/tree/a.c:7:2: error: no such thing"),
                spot("b.txt", 9, None, "bad"),
            ]
        );
        assert!(spots(&"a.b:1: x\n".repeat(50), "").len() == 1);
    }
}
