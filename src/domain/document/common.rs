//! What two texts share.

use similar::ChangeTag;
use similar::TextDiff;

/// The lines that both have, in their order. Merged from there, nothing of either goes. Lines end as they do where
/// texts are merged: a carriage return alone ends none.
pub fn common(one: &str, other: &str) -> String {
    let [one, other] = [one, other].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let diff = TextDiff::from_slices(&one, &other);
    let equal = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Equal);
    equal.map(|change| change.value()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::document::merge;

    #[test]
    fn a_carriage_return_ends_no_line() {
        assert_eq!(common("a\rc\n", "x\nc\n"), "");
    }

    #[test]
    fn merged_from_what_they_share_nothing_goes() {
        let (one, other) = ("a\nb\nc\n", "a\nx\nc\ny\n");
        assert_eq!(common(one, other), "a\nc\n");
        let merged = merge(&common(one, other), one, other).text;
        for line in one.lines().chain(other.lines()) {
            assert_eq!(merged.lines().filter(|l| *l == line).count(), 1, "{line} in {merged}");
        }
    }
}
