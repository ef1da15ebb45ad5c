//! What a person has typed within lines that are to be taken out again.

use crate::domain::document::components;
use similar::DiffOp;
use similar::TextDiff;

/// `base` and what was made of it, `after`, both with the lines that stand in `person` within those that `after` takes
/// out of `base`. So these stay, and no more than what was in `base` goes.
pub fn with_typed(base: &str, person: &str, after: &str) -> (String, String) {
    let [lines, mine, kept] =
        [base, person, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let typed = TextDiff::from_slices(&lines, &mine).ops().to_vec();
    let gone = TextDiff::from_slices(&lines, &kept).ops().to_vec();
    let (mut with, mut without) = (lines.clone(), kept.clone());
    // From the end, so that what comes before stays where it is.
    for op in typed.iter().rev() {
        let DiffOp::Insert { old_index, new_index, new_len } = *op else { continue };
        let within = gone.iter().find_map(|op| match *op {
            DiffOp::Delete { old_index: from, old_len, new_index }
                if from < old_index && old_index < from + old_len =>
            {
                Some(new_index)
            }
            _ => None,
        });
        if let Some(at) = within {
            let words = &mine[new_index..new_index + new_len];
            with.splice(old_index..old_index, words.iter().copied());
            without.splice(at..at, words.iter().copied());
        }
    }
    let (with, without) = (with.concat(), without.concat());
    // A marker alone would be no document.
    match components(&with).is_ok() && components(&without).is_ok() {
        true => (with, without),
        false => (base.to_owned(), after.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_within_stays() {
        let (base, after) = ("q\n\nA\nB\n\nend\n", "q\nend\n");
        let (with, without) = with_typed(base, "top\nq\n\nA\none\ntwo\nB\nthree\n\nend\n", after);
        assert_eq!(with, "q\n\nA\none\ntwo\nB\nthree\n\nend\n");
        assert_eq!(without, "q\none\ntwo\nthree\nend\n");
        // What only touches it needs nothing.
        let same = (base.to_owned(), after.to_owned());
        assert_eq!(with_typed(base, "q\nx\n\nA\nB\n\ny\nend\n", after), same);
        assert_eq!(with_typed(base, "q\n\nA, mine\nB\n\nend\n", after), same);
    }
}
