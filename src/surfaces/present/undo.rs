//! Rendering of `undo`.

use crate::surfaces::present::Page;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::undo::Undone;

impl Page {
    pub fn undo(done: &Undone, json: bool) -> Page {
        Page::of("undo", done, json, text)
    }
}

fn text(u: &Undone) -> String {
    let word = match (u.already, u.dry_run, u.forward) {
        (true, _, false) => "already undone",
        (true, _, true) => "already put back",
        (_, true, false) => "would undo",
        (_, true, true) => "would put back",
        (_, _, false) => "undone",
        (_, _, true) => "put back",
    };
    let (commits, paths) = (count(u.commits, "commit"), count(u.paths, "path"));
    format!(
        "{}: {} on {} ({commits}, {paths})\n  {}..{}\n  operation {} takes back {}\n",
        paint(GOOD, word),
        line(&u.name),
        u.onto.short(),
        u.old.short(),
        u.new,
        u.op,
        u.undoes
    )
}
