//! Completions, made from the declarations of the command line.

use crate::surfaces::cli::command;
use crate::surfaces::present::Page;
use clap_complete::Shell;

const PROGRAM: &str = "git-skein";

/// git's own completion calls `_git_<verb>` with its picture of the command line in `words`, `cword`, `cur`
/// and `prev`. The one that is generated wants the words from `git-skein` on.
const BASH_GIT: &str = r#"
_git_skein() {
    local at=1
    while [[ $at -lt $cword && ${words[at]} != skein ]]; do at=$((at + 1)); done
    local COMP_WORDS=(git-skein "${words[@]:at+1}")
    local COMP_CWORD=$((cword - at))
    _git__skein git-skein "$cur" "$prev"
}
"#;

impl Page {
    /// In zsh and fish, `git skein` is completed by what completes `git-skein`.
    pub fn completions(shell: Shell, json: bool) -> Page {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command(), PROGRAM, &mut text);
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if shell == Shell::Bash {
            // The generator spells a program with a hyphen in two ways, and then never finds its verbs' options.
            text = text.replace("git__subcmd__skein", "git__skein");
            text.push_str(BASH_GIT);
        }
        Page::of("completions", &text, json, String::clone)
    }
}
