//! Secrets are masked before anything is hashed: an object in a repository cannot be unpublished.

use regex::Regex;
use std::sync::LazyLock;

/// Well-known shapes of keys, and values that follow a telling name.
static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<key> (?i: [\w-]* (?: token | secret | passw(?:or)?d | api[_-]?key | credential ) [\w-]* )
                 (?: \s*[=:]\s* | \s+ ) ["']? ) (?P<value> [^\s"']{6,} )
        | (?P<shape> \b (?: sk-[\w-]{16,} | gh[pousr]_\w{20,} | github_pat_\w{20,} | xox[abprs]-[\w-]{10,}
                     | AKIA[0-9A-Z]{16} | eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+ ) )
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
}
