//! Answers that stand twice.

use super::front;
use super::grammar;
use super::grammar::Cover;
use super::grammar::over;
use super::lines;
use super::outline::headings;
use std::ops::Range;

/// The text without each block `### Re:` that says the same as the block right before it. A block ends before the next
/// heading that is no deeper, and before the marker of a component. Boundary markers neither count nor go. What is
/// fenced is no heading, so it begins no block.
pub fn dedupe(text: &str) -> String {
    let body = front::body(text);
    if text.matches("### Re:").nth(1).is_none() {
        return text.to_owned();
    }
    let covers = grammar::covers(text, body);
    let mut out = String::new();
    let mut at = 0;
    let mut last: Option<(usize, Vec<&str>)> = None;
    for block in blocks(text, body) {
        let (kept, said) = read(text, block.clone(), &covers);
        let is_next = last.as_ref().is_some_and(|(end, before)| *end == block.start && *before == said);
        if is_next {
            out.push_str(&text[at..block.start]);
            out.extend(kept);
            at = block.end;
        }
        last = Some((block.end, said));
    }
    out.push_str(&text[at..]);
    out
}

fn blocks(text: &str, body: usize) -> Vec<Range<usize>> {
    let headings = headings(text, body);
    let components = grammar::components(text).unwrap_or_default();
    let mut marks: Vec<usize> =
        components.iter().flat_map(|component| [component.open.start, component.close.start]).collect();
    marks.sort_unstable();
    let mut found = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        if heading.depth != 3 || !heading.text.starts_with("Re:") {
            continue;
        }
        let next = headings[index + 1..].iter().find(|next| next.depth <= 3);
        let next = next.map_or(text.len(), |next| next.at.start);
        let mark = marks.get(marks.partition_point(|mark| *mark < heading.at.end));
        let mark = mark.map_or(text.len(), |mark| lines::start(text, *mark));
        found.push(heading.at.start..next.min(mark));
    }
    found
}

/// The lines of a block that are boundary markers, and those that count.
fn read<'a>(text: &'a str, block: Range<usize>, covers: &[Cover]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut kept, mut said) = (Vec::new(), Vec::new());
    let mut at = block.start;
    for line in text[block].split_inclusive('\n') {
        let inner = line.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
        let is_boundary = inner.is_some_and(|inner| inner.trim().starts_with("agent:boundary:"));
        let mark = at + line.len() - line.trim_start().len();
        match is_boundary && over(covers, mark).is_none() {
            true => kept.push(line),
            false => said.push(line),
        }
        at += line.len();
    }
    while said.last().is_some_and(|line| lines::is_blank(line)) {
        said.pop();
    }
    let said = said.into_iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect();
    (kept, said)
}

#[cfg(test)]
mod tests {
    use super::dedupe;

    #[test]
    fn the_second_of_two_equal_answers_goes() {
        let once = "# T\n\n### Re: A\n\ntext\n\n";
        assert_eq!(dedupe(&format!("{once}### Re: A\n\ntext\n")), once);
        assert_eq!(dedupe(&format!("{once}### Re: A\n\ntext\n\n### Re: A\n\ntext")), once);
        assert_eq!(dedupe(once), once);
        let crlf = once.replace('\n', "\r\n");
        assert_eq!(dedupe(&format!("{crlf}### Re: A\r\n\r\ntext\r\n")), crlf);
    }

    #[test]
    fn what_differs_or_does_not_follow_stays() {
        for text in [
            "### Re: A\n\none\n\n### Re: A\n\ntwo\n",
            "### Re: A\n\none\n\n### Re: B\n\none\n",
            "### Re: A\n\none\n\n## User\n\nhm\n\n### Re: A\n\none\n",
            "### Re: A\n\none\n\nhm\n\n### Re: A\n\none\n",
            "- a\n- b\n\n- a\n- b\n\n### A\n\none\n\n### A\n\none\n",
            "```\n### Re: A\n\none\n\n### Re: A\n\none\n```\n",
            "~~~~\n### Re: A\n```\n### Re: A\n```\n~~~~\n\n    ### Re: A\n    ### Re: A\n",
            "> ### Re: A\n\n> ### Re: A\n",
        ] {
            assert_eq!(dedupe(text), text);
        }
    }

    #[test]
    fn boundaries_neither_count_nor_go() {
        let text = "<!-- agent:exchange -->\n### Re: A\n\none\n\n### Re: A\n\none\n<!-- agent:boundary:ab12 -->\n<!-- /agent:exchange -->\n\ntail\n";
        let once = "<!-- agent:exchange -->\n### Re: A\n\none\n\n<!-- agent:boundary:ab12 -->\n<!-- /agent:exchange -->\n\ntail\n";
        assert_eq!(dedupe(text), once);
        assert_eq!(dedupe(once), once);
        let shown = "### Re: A\n\n```\n<!-- agent:boundary:1 -->\n```\n";
        assert_eq!(dedupe(&shown.repeat(3)), shown);
        let other = format!("{shown}{}", shown.replace(":1", ":2"));
        assert_eq!(dedupe(&other), other);
    }
}
