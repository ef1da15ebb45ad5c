//! Workers that meet in the same files.

use crate::domain::Exit;
use crate::domain::Nearness;
use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::overlap::Found;
use crate::verbs::overlap::Neighbour;
use crate::verbs::overlap::Pair;
use crate::verbs::overlap::Path;

impl Page {
    pub fn overlap(found: &Found, json: bool) -> Page {
        let exit = if found.pairs.iter().any(Pair::is_in_the_way) { Exit::No } else { Exit::Done };
        Page::of("overlap", found, json, text).ending(exit)
    }
}

fn text(found: &Found) -> String {
    let looked = count(found.workers.len(), "worker");
    if found.pairs.is_empty() {
        return format!("no two change the same files ({looked} with work that has not landed)\n");
    }
    found.pairs.iter().map(pair).collect()
}

fn pair(pair: &Pair) -> String {
    let [one, other] = &pair.workers;
    let mut text = format!("{} and {}\n", paint(BOLD, one.as_str()), paint(BOLD, other.as_str()));
    for path in &pair.paths {
        text.push_str(&format!("  {:<10} {}{}\n", path.nearness.word(), line(&path.path), lines(path)));
    }
    text.push_str(&match pair.conflicts.as_slice() {
        [] => format!("  {} clean\n", paint(GOOD, "merge:")),
        paths => format!("  {} conflict in {}\n", paint(BAD, "merge:"), line(&paths.join(", "))),
    });
    if let Some(gate) = &pair.gate {
        match &gate.says {
            None => text.push_str(&format!("  {} passed on both together\n", paint(GOOD, "gate: "))),
            Some(says) => text.push_str(&format!("  {} {}\n", paint(BAD, "gate: "), line(says))),
        }
        for said in &gate.output {
            text.push_str(&format!("    {}\n", line(said)));
        }
    }
    text
}

fn lines(path: &Path) -> String {
    let Some([one, other]) = path.lines else { return String::new() };
    let gap = match path.gap {
        Some(gap) if path.nearness == Nearness::Adjacent => {
            format!(", {} apart", count(gap as usize, "line"))
        }
        _ => String::new(),
    };
    format!(" ({} and {}{gap})", place(one), place(other))
}

fn place((first, last): (u32, u32)) -> String {
    match last {
        _ if last < first => format!("after line {last}"),
        _ if last == first => format!("line {first}"),
        _ => format!("lines {first}-{last}"),
    }
}

/// Whom a worker meets, in a few words.
pub(super) fn neighbour(other: &Neighbour) -> String {
    let paths = match other.paths.as_slice() {
        [path] => line(path),
        paths => count(paths.len(), "file"),
    };
    let how = paint(if other.conflict { BAD } else { WARN }, other.how());
    format!("{} in {paths}: {how}", other.handle)
}
