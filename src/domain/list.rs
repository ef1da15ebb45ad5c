//! Lists in a sentence.

/// The first `most` of many names, and how many more there are.
pub fn some_of(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let left = names.len().saturating_sub(most);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    names.take(most).collect::<Vec<_>>().join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let some = |all: &[&str]| some_of(all.iter().map(|name| (*name).to_owned()), 2);
        let want = ["", "a", "a, b", "a, b and 1 more"];
        let lists = [&[][..], &["a"], &["a", "b"], &["a", "b", "c"]];
        assert_eq!(lists.map(some), want);
    }
}
