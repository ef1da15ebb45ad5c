//! Secrets are masked before anything is hashed: an object in a repository cannot be unpublished.

use regex::Regex;
use std::sync::LazyLock;

/// Well-known shapes of keys, and values that follow a telling name. Words are of ASCII: those of all scripts, twenty in
/// a row, cost more to prepare than a landing.
static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<key> (?i-u: [\w-]* (?: token | secret | passw(?:or)?d | api[_-]?key | credential ) [\w-]* )
                 (?: \s*[=:]\s* | \s+ ) ["']? ) (?P<value> [^\s"']{6,} )
        | (?P<shape> (?-u: \b (?: sk-[\w-]{16,} | gh[pousr]_\w{20,} | github_pat_\w{20,} | xox[abprs]-[\w-]{10,}
                     | AKIA[0-9A-Z]{16} | eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+ ) ) )
        "#,
    )
    .ok()
});

/// `text` with every value that looks like a secret replaced by `***`.
pub fn mask(text: &str) -> String {
    let Some(secret) = SECRET.as_ref() else { return text.to_owned() };
    secret
        .replace_all(text, |found: &regex::Captures<'_>| match found.name("key") {
            Some(key) => format!("{}***", key.as_str()),
            None => "***".to_owned(),
        })
        .into_owned()
}

/// `text` with other words for places of one machine, the longest first. What only begins like one is not it.
pub fn without_places(text: &str, places: &[(String, &str)]) -> String {
    let mut places: Vec<&(String, &str)> = places.iter().filter(|(place, _)| place.len() > 1).collect();
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
    let mut text = text.to_owned();
    for (place, word) in places {
        let mut rest = std::mem::take(&mut text);
        while let Some(at) = rest.find(place.as_str()) {
            let after = rest.split_off(at).split_off(place.len());
            let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            text.push_str(&rest);
            text.push_str(if goes_on { place } else { word });
            rest = after;
        }
        text.push_str(&rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_values_and_keeps_words() {
        for (input, want) in [
            ("run --api-key=abcdef123 now", "run --api-key=*** now"),
            ("OPENAI_API_KEY: 'abcdef123'", "OPENAI_API_KEY: '***'"),
            ("use sk-abcdefghijklmnopqrst here", "use *** here"),
            ("fix the login page", "fix the login page"),
        ] {
            assert_eq!(mask(input), want);
        }
    }

    #[test]
    fn places_of_a_machine_have_other_words() {
        let places = [
            ("/home/ada".to_owned(), "~"),
            ("/home/ada/repo".to_owned(), "<checkout>"),
            ("/".to_owned(), "x"),
        ];
        let text = "in /home/ada/repo/a.c, /home/ada/repo-2 and /home/ada: no /home/adam";
        assert_eq!(without_places(text, &places), "in <checkout>/a.c, ~/repo-2 and ~: no /home/adam");
    }
}
