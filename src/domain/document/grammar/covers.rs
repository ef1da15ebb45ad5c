//! Where a document is code or a quote, by CommonMark.

use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Fence,
    /// Indented, or within a line.
    Code,
    Quote,
}

/// Bytes that hide markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    pub at: Range<usize>,
    pub kind: Kind,
    /// It stands in a list.
    deep: bool,
}

impl Cover {
    /// A fence that the end of the text ends. One in a list ends where the list does.
    pub fn is_open_in(&self, text: &str) -> bool {
        if self.kind != Kind::Fence || self.deep || !text[self.at.end..].trim().is_empty() {
            return false;
        }
        let block = text[self.at.start..].trim_end_matches(['\n', '\r']);
        let fence = fence(block);
        let Some((_, last)) = block.rsplit_once(['\n', '\r']) else { return true };
        let close = last.trim_start_matches(' ');
        let tail = close.trim_start_matches(fence.chars().next().unwrap_or('`'));
        last.len() - close.len() > 3 || close.len() - tail.len() < fence.len() || !tail.trim().is_empty()
    }
}

/// The characters that open the fenced block.
fn fence(block: &str) -> &str {
    let block = block.trim_start_matches(' ');
    let mark = block.chars().next().unwrap_or('`');
    &block[..block.len() - block.trim_start_matches(mark).len()]
}

/// All that hides markers from `from` on, each of the outermost once, in order.
pub fn covers(text: &str, from: usize) -> Vec<Cover> {
    let mut found: Vec<Cover> = Vec::new();
    let mut lists = 0_usize;
    let mut until = from;
    for (event, at) in Parser::new(&text[from..]).into_offset_iter() {
        let kind = match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => Kind::Fence,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) | Event::Code(_) => Kind::Code,
            Event::Start(Tag::BlockQuote(_)) => Kind::Quote,
            Event::Start(Tag::List(_)) => {
                lists += 1;
                continue;
            }
            Event::End(TagEnd::List(_)) => {
                lists = lists.saturating_sub(1);
                continue;
            }
            _ => continue,
        };
        let at = at.start + from..at.end + from;
        if at.start >= until {
            until = at.end;
            found.push(Cover { at, kind, deep: lists > 0 });
        }
    }
    found
}

/// What hides the byte `at`.
pub fn over(covers: &[Cover], at: usize) -> Option<&Cover> {
    let next = covers.partition_point(|cover| cover.at.start <= at);
    covers[..next].last().filter(|cover| at < cover.at.end)
}

/// The fence that ends the code at the end of `text`, if nothing else does.
pub fn open_fence(text: &str) -> Option<String> {
    let covers = covers(text, 0);
    let last = covers.last().filter(|last| last.is_open_in(text))?;
    Some(fence(&text[last.at.start..]).to_owned())
}
