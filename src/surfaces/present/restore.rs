//! A worktree that is there again.

use crate::surfaces::present::Page;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::restore::Restored;

impl Page {
    pub fn restore(done: &Restored, json: bool) -> Page {
        Page::of("restore", done, json, |r| {
            let what = if r.copy { "copied" } else { "restored" };
            let open = if r.reopened { ", open again" } else { "" };
            format!(
                "{}: {}{open}\n  worktree  {}\n  head      {} ({} not committed)\n",
                paint(GOOD, what),
                r.handle,
                line(&r.worktree.display().to_string()),
                r.head.short(),
                count(r.leftovers, "path")
            )
        })
    }
}
