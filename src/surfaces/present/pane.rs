//! Pages of the verbs for tmux.

use crate::surfaces::present::Page;
use crate::surfaces::style::line;
use crate::surfaces::style::safe;
use crate::verbs::pane::Attached;
use crate::verbs::pane::Peeked;
use bstr::ByteSlice;

impl Page {
    pub fn peeked(peeked: &Peeked, json: bool) -> Page {
        Page::of("peek", peeked, json, |p| safe(&p.screen.to_str_lossy()))
    }

    pub fn attached(attached: &Attached, json: bool) -> Page {
        Page::of(
            "attach",
            attached,
            json,
            |a| if a.switched { String::new() } else { line(&a.command) + "\n" },
        )
    }
}
