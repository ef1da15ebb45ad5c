//! What the output of a check says of itself: how many tests ran, and with what tools.

use regex::bytes::Regex;

/// What test runners print of how many tests they ran. Each alternative has one group, a number; an empty one is
/// none at all.
const COUNTS: &str = concat!(
    r"(?m)",
    // Rust: libtest, nextest.
    r"^test result: \w+\. (\d+) passed; 0 failed|Summary \[.*\] *(\d+) tests? run:",
    // Python: pytest, unittest.
    r"|^=+ .*?(\d+) passed.* in [0-9.]+s|^(\d+) passed in [0-9.]+s|()no tests ran in|^Ran (\d+) tests? in ",
    // Go.
    r"|^ok +\S+\s+(?:[0-9.]+s|\(cached\))()  \[no tests to run\]|^\?\s+\S+\s+\[no test files\]()",
    // JavaScript: jest, vitest, mocha, node.
    r"|^Tests: +.*?(\d+) total|^ +Tests +(\d+) passed|()No tests? (?:found|files found)|^ +(\d+) passing",
    r"|^(?:#|ℹ) tests (\d+)$",
    // TAP, and make's with it.
    r"|^1\.\.(\d+)",
    // Java, Ruby, PHP, CTest, .NET.
    r"|^(?:\[.*\] )?Tests run: (\d+)|^(\d+) examples?, |^OK \((\d+) tests?|()No tests executed!",
    r"|tests passed, \d+ tests? failed out of (\d+)|()No tests were found|Passed: +(\d+)",
);

/// How many tests a check's output says that it ran; `None` where no test runner spoke, as for a build.
pub fn tests_run(output: &[u8]) -> Option<u64> {
    let counts = Regex::new(COUNTS).ok()?;
    let mut sum = None;
    for found in counts.captures_iter(output) {
        let group = found.iter().skip(1).flatten().next();
        let text = group.map(|group| String::from_utf8_lossy(group.as_bytes()).into_owned());
        let count: u64 = text.and_then(|text| text.parse().ok()).unwrap_or(0);
        sum = Some(sum.unwrap_or(0_u64).saturating_add(count));
    }
    sum.or_else(|| has_passed_without_count(output).then_some(1))
}

/// Go names a package that passed, and no number.
fn has_passed_without_count(output: &[u8]) -> bool {
    Regex::new(r"(?m)^ok +\t?\S+\s+(?:[0-9.]+s|\(cached\))$").is_ok_and(|ok| ok.is_match(output))
}

/// Programs whose version explains a result, and how each is asked for it.
const TOOLS: &[(&str, &str)] = &[
    ("bun", "--version"),
    ("cargo", "--version"),
    ("clang", "--version"),
    ("cmake", "--version"),
    ("deno", "--version"),
    ("dotnet", "--version"),
    ("eslint", "--version"),
    ("g++", "--version"),
    ("gcc", "--version"),
    ("git", "--version"),
    ("go", "version"),
    ("gradle", "--version"),
    ("java", "-version"),
    ("jest", "--version"),
    ("make", "--version"),
    ("mvn", "--version"),
    ("mypy", "--version"),
    ("node", "--version"),
    ("npm", "--version"),
    ("php", "--version"),
    ("pnpm", "--version"),
    ("pytest", "--version"),
    ("python", "--version"),
    ("python3", "--version"),
    ("ruby", "--version"),
    ("ruff", "--version"),
    ("rustc", "--version"),
    ("swift", "--version"),
    ("tox", "--version"),
    ("tsc", "--version"),
    ("yarn", "--version"),
    ("zig", "version"),
];

/// The tools that are named in a command, each with the argument that makes it say its version. Nothing else is
/// run for its version: a script of the project could do anything.
pub fn tools_of(command: &str) -> Vec<(&'static str, &'static str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-_./".contains(c);
    let words: Vec<&str> = command.split(|c| !is_part(c)).collect();
    TOOLS.iter().filter(|(tool, _)| words.contains(tool)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_runners_are_understood() {
        for (output, want) in [
            ("", None),
            ("compiled 12 files\n", None),
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: ok. 0 passed; 0 failed; 0\n",
                Some(3),
            ),
            ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", Some(0)),
            ("     Summary [   0.012s] 7 tests run: 7 passed\n", Some(7)),
            ("===== 4 passed, 1 skipped in 0.12s =====\n", Some(4)),
            ("12 passed in 0.10s\n", Some(12)),
            ("===== no tests ran in 0.01s =====\n", Some(0)),
            ("Ran 0 tests in 0.000s\n\nOK\n", Some(0)),
            ("ok  \texample.invalid/a\t0.003s\n", Some(1)),
            ("?   \texample.invalid/a\t[no test files]\n", Some(0)),
            ("Tests:       5 passed, 5 total\n", Some(5)),
            ("No tests found, exiting with code 0\n", Some(0)),
            ("  9 passing (12ms)\n", Some(9)),
            ("# tests 6\n# pass 6\n", Some(6)),
            ("TAP version 13\n1..2\nok 1\nok 2\n", Some(2)),
            ("1..0\n", Some(0)),
            ("[INFO] Tests run: 8, Failures: 0\n", Some(8)),
            ("5 examples, 0 failures\n", Some(5)),
            ("OK (3 tests, 4 assertions)\n", Some(3)),
            ("100% tests passed, 0 tests failed out of 11\n", Some(11)),
        ] {
            assert_eq!(tests_run(output.as_bytes()), want, "{output:?}");
        }
    }

    #[test]
    fn only_known_tools_are_asked() {
        let names = |command| tools_of(command).iter().map(|(tool, _)| *tool).collect::<Vec<_>>();
        assert_eq!(names("cargo test && make lint"), ["cargo", "make"]);
        assert_eq!(names("./cargo test; mycargo; cargo-x"), [""; 0]);
        assert_eq!(names("A=1 python3 -m pytest"), ["pytest", "python3"]);
    }
}
