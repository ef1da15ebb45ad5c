//! The open tasks of a document: list items with an empty box.

use pulldown_cmark::Event;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

/// The texts of the items with `[ ]`, in order, each with the lines that belong to it. Code and quotes have none.
pub fn tasks(text: &str) -> Vec<String> {
    let (mut found, mut items, mut quoted) = (Vec::new(), Vec::new(), 0_u32);
    for (event, at) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quoted += 1,
            Event::End(TagEnd::BlockQuote(_)) => quoted = quoted.saturating_sub(1),
            Event::Start(Tag::Item) => items.push((at, None)),
            Event::TaskListMarker(done) if quoted == 0 => {
                if let Some((_, open)) = items.last_mut().filter(|_| !done) {
                    *open = Some(at.end);
                }
            }
            Event::End(TagEnd::Item) => {
                if let Some((item, Some(from))) = items.pop() {
                    found.push((item.start, unindented(&text[from..item.end])));
                }
            }
            _ => {}
        }
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).collect()
}

/// An item's lines without what they are indented by in the list.
fn unindented(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default().trim().to_owned();
    let rest: Vec<&str> = lines.collect();
    let depth = |line: &&str| line.len() - line.trim_start().len();
    let least = rest.iter().filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    rest.iter().fold(first, |all, line| format!("{all}\n{}", line.get(least..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_boxes_are_tasks_and_nothing_else_is() {
        let text = "- [ ] one\n- [x] done\n- [ ] two\n  with more\n\n```\n- [ ] code\n```\n> - [ ] quoted\n\n1. [ ] three\n";
        assert_eq!(tasks(text), ["one", "two\nwith more", "three"]);
    }
}
