//! What configuration does to refs of ours.

use crate::domain::Config;
use crate::domain::doctor::Facts;
use crate::domain::doctor::Finding;
use crate::domain::quoted;

/// Where refs of ours are.
#[derive(Debug, Clone, Default)]
pub struct Ours {
    /// Prefixes without a final slash.
    pub namespaces: &'static [&'static str],
    /// Patterns that hide all of them, for `log.excludeDecoration` and for `git log --exclude`.
    pub hidden: &'static [&'static str],
    /// There are any.
    pub any: bool,
}

/// Whether `pattern`, one side of a refspec, may name a ref below `space`.
fn covers(pattern: &str, space: &str) -> bool {
    let space = format!("{space}/");
    match pattern.split_once('*') {
        Some((start, _)) => space.starts_with(start) || start.starts_with(&space),
        None => pattern.starts_with(&space),
    }
}

pub fn refspecs(check: &'static str, facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let ours = |side: &str| facts.ours.namespaces.iter().any(|space| covers(side, space));
    for (remote, spec) in facts.config.named("remote", "fetch") {
        let Some((_, to)) = spec.split_once(':') else { continue };
        let show = format!("git config --get-all 'remote.{remote}.fetch'");
        let next = format!(
            "give it a place of its own: git config --replace-all 'remote.{remote}.fetch' \
             '+refs/heads/*:refs/remotes/{remote}/*'"
        );
        let what = format!("a fetch from {remote} by {spec}");
        if ours(to) {
            let says = format!("{what} overwrites the refs of this program, and with --prune deletes them");
            found.push(Finding::problem(check, says).show(show).next(next));
        } else if covers(to, "refs/heads") && spec.starts_with('+') {
            let says = format!("{what} overwrites local branches, also those that work has landed on");
            found.push(Finding::warning(check, says).show(show).next(next));
        } else if covers(to, "refs/heads") {
            found.push(Finding::note(check, format!("{what} moves local branches")).show(show));
        }
    }
    let mirrors = facts.config.named("remote", "mirror").into_iter().filter(|(_, v)| *v == "true");
    let pushes = facts.config.named("remote", "push").into_iter().filter(|(_, spec)| {
        let spec = spec.trim_start_matches('+');
        ours(spec.split_once(':').map_or(spec, |(from, _)| from))
    });
    for (remote, how) in mirrors.map(|(r, _)| (r, "mirror")).chain(pushes.map(|(r, _)| (r, "push"))) {
        let says =
            format!("a push to {remote} sends the refs of this program, also those that stay in this clone");
        found.push(
            Finding::warning(check, says)
                .show(format!("git config --get-all {}", quoted(format!("remote.{remote}.{how}"))))
                .next(format!(
                    "push branches only: git config --unset-all {}, then name what you push",
                    quoted(format!("remote.{remote}.{how}"))
                )),
        );
    }
    if found.is_empty() {
        found.push(Finding::ok(check, "no refspec writes where this program does"));
    }
    found
}

/// git leaves all names but the usual ones out of its decorations by itself, until the person asks for all
/// of them or excludes some: then the whole default is gone.
pub fn log(check: &'static str, facts: &Facts) -> Vec<Finding> {
    if !facts.ours.any {
        return vec![Finding::ok(check, "there are no refs of this program that git log could show")];
    }
    let exclude: String = facts.ours.hidden.iter().map(|p| format!(" --exclude='{p}'")).collect();
    let idiom = format!("to list commits without ours: git log --single-worktree{exclude} --all");
    let missing = facts.ours.undecorated(&facts.config);
    if missing.is_empty() {
        return vec![Finding::ok(check, format!("git log names no ref of this program; {idiom}"))];
    }
    let commands: Vec<String> =
        missing.iter().map(|p| format!("git config --add log.excludeDecoration '{p}'")).collect();
    let says = "git log --decorate names the refs of this program beside commits";
    vec![
        Finding::note(check, says)
            .show("git log --all --oneline --decorate")
            .next(format!("git skein doctor --fix does: {}; {idiom}", commands.join(" && "))),
    ]
}

impl Ours {
    /// The values that `log.excludeDecoration` lacks so that git log names none of our refs.
    pub fn undecorated(&self, config: &Config) -> Vec<&'static str> {
        let hidden: Vec<&str> = config.all("log.excludedecoration").collect();
        let all = config.get("log.initialdecorationset") == Some("all");
        if !self.any || (hidden.is_empty() && !all) {
            return Vec::new();
        }
        self.hidden.iter().filter(|pattern| !hidden.contains(pattern)).copied().collect()
    }
}
