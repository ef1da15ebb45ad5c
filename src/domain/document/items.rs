//! Items of markdown lists: what their line is made of, and the merge of one.

use crate::domain::document::weave::Effort;
use crate::domain::document::words;

/// The line of an item. `lead` is indent, marker and spaces; `check` the box with its space, or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    pub lead: &'a str,
    pub check: &'a str,
    pub text: &'a str,
}

impl<'a> Item<'a> {
    /// `line` is without its end.
    pub fn of(line: &'a str) -> Option<Item<'a>> {
        let marker = line.len() - line.trim_start_matches([' ', '\t']).len();
        let rest = &line[marker..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = match rest.as_bytes().get(digits)? {
            b'-' | b'*' | b'+' if digits == 0 => 1,
            b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
            _ => return None,
        };
        let spaces = rest[after..].len() - rest[after..].trim_start_matches([' ', '\t']).len();
        if spaces == 0 && after < rest.len() {
            return None;
        }
        let (lead, rest) = line.split_at(marker + after + spaces);
        let boxed = ["[ ]", "[x]", "[X]"].iter().any(|check| rest.starts_with(check));
        let check = match rest.as_bytes().get(3) {
            Some(b' ') if boxed => 4,
            None if boxed => 3,
            _ => 0,
        };
        let (check, text) = rest.split_at(check);
        // A rule (`* * *`) is no item.
        let rule = text.bytes().all(|byte| matches!(byte, b'-' | b'*' | b'_' | b' ')) && text.len() > 1;
        (!rule).then_some(Item { lead, check, text })
    }

    /// Marker, box and text are values of their own; the text is merged by words. `None` where both set one of
    /// them differently, the marker aside: a number is the person's.
    pub fn merged(base: Item<'_>, person: Item<'_>, agent: Item<'_>, effort: &Effort) -> Option<String> {
        let lead = pick(base.lead, person.lead, agent.lead).unwrap_or(person.lead);
        let check = pick(base.check, person.check, agent.check)?;
        let whole = |text: &str| format!("{lead}{check}{text}");
        match pick(base.text, person.text, agent.text) {
            Some(text) => Some(whole(text)),
            None => words::merge(base.text, person.text, agent.text, effort).map(|text| whole(&text)),
        }
    }
}

/// A line that can be part of a list: an item, what is indented below one, or blank.
pub fn in_list(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.trim().is_empty() || Item::of(line).is_some()
}

/// One value of three. `None` if both sides changed it, and not alike.
pub fn pick<T: PartialEq>(base: T, person: T, agent: T) -> Option<T> {
    if person == agent || agent == base {
        Some(person)
    } else if person == base {
        Some(agent)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_items() {
        let parts = |line| Item::of(line).map(|item| [item.lead, item.check, item.text]);
        assert_eq!(parts("- a b"), Some(["- ", "", "a b"]));
        assert_eq!(parts("  12. [x] a"), Some(["  12. ", "[x] ", "a"]));
        assert_eq!(parts("* [ ]"), Some(["* ", "[ ]", ""]));
        assert_eq!(parts("- [link](x)"), Some(["- ", "", "[link](x)"]));
        assert_eq!(parts("- [x]é"), Some(["- ", "", "[x]é"]));
        for line in ["", "-a", "---", "* * *", "1 a", "a", "é- b", "1.5 x"] {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    #[test]
    fn each_value_of_an_item_has_its_own_merge() {
        let merged = |[base, person, agent]: [&str; 3]| {
            let item = |line| Item::of(line).unwrap();
            Item::merged(item(base), item(person), item(agent), &Effort::full())
        };
        let both = merged(["- [ ] buy milk", "- [ ] buy oat milk", "- [x] buy milk"]);
        assert_eq!(both.unwrap(), "- [x] buy oat milk");
        assert_eq!(merged(["- [ ] a", "* [ ] a", "- [x] a"]).unwrap(), "* [x] a");
        assert_eq!(merged(["1. a", "2. a", "3. a"]).unwrap(), "2. a");
        assert_eq!(merged(["- [ ] a", "- [x] a", "- [X] a"]), None);
        assert_eq!(merged(["- a", "- b", "- c"]), None);
    }
}
