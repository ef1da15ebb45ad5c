//! What two texts share.

use similar::ChangeTag;
use similar::TextDiff;

/// The lines that both have, in their order. Merged from there, nothing of either goes.
pub fn common(one: &str, other: &str) -> String {
    let diff = TextDiff::from_lines(one, other);
    let equal = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Equal);
    equal.map(|change| change.value().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::document::merge;

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
