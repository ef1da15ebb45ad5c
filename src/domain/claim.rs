//! What a worker may touch: globs it declared, and paths that steer people's tools and so need a person.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use bstr::BStr;
use bstr::ByteSlice;
use globset::Glob;
use globset::GlobBuilder;
use globset::GlobSet;
use globset::GlobSetBuilder;

/// Files that instruct agents, run in CI or hold our policy. A worker that changes one steers what others
/// run tomorrow; `skein.allow` lets a glob through.
pub const PROTECTED: &[&str] = &[
    ".skein/**",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    "**/GEMINI.md",
    ".claude/**",
    ".codex/**",
    ".gemini/**",
    ".opencode/**",
    ".cursor/**",
    ".cursorrules",
    ".mcp.json",
    ".github/workflows/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    ".buildkite/**",
    "Jenkinsfile",
    ".gitmodules",
];

/// A set of path globs: `*` stays within a folder, `**` does not, and a folder stands for all below it.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Globs> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let bare = pattern.trim_end_matches('/');
            set.add(glob(bare)?).add(glob(&format!("{bare}/**"))?);
        }
        set.build().map(Globs).map_err(|e| bad("", &e))
    }

    pub fn covers(&self, path: &BStr) -> bool {
        self.0.is_match(path.to_str_lossy().as_ref())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn glob(pattern: &str) -> Result<Glob> {
    GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| bad(pattern, &e))
}

fn bad(pattern: &str, error: &globset::Error) -> crate::domain::Failure {
    Refusal::new(Token::BadPattern, format!("{pattern:?} is not a path pattern: {}", error.kind()))
        .show(format!("git ls-files -- ':(glob){pattern}'"))
        .next("use * within a folder and ** across folders, as in 'src/**/*.rs'")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_cover_files_and_folders() -> Result<()> {
        let globs = Globs::new(["src/*.rs", "docs", "a/**/b"])?;
        for (path, want) in [
            ("src/a.rs", true),
            ("src/x/a.rs", false),
            ("docs/a/b.md", true),
            ("docs", true),
            ("docs2", false),
            ("a/b", true),
            ("a/x/y/b", true),
        ] {
            assert_eq!(globs.covers(path.into()), want, "{path}");
        }
        assert!(Globs::new(["a[".to_owned().as_str()]).is_err());
        let protected = Globs::new(PROTECTED.iter().copied())?;
        assert!(protected.covers("sub/CLAUDE.md".into()) && protected.covers("CLAUDE.md".into()));
        Ok(())
    }
}
