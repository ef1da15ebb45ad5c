//! What an agent knows of a document once its answer is in it.

use crate::domain::document::Malformed;
use crate::domain::document::Touched;
use crate::domain::document::graft;
use crate::domain::document::merge;

/// What the agent knew when it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'t> {
    /// Nobody asked.
    No,
    /// This, if anything was sent before.
    With(Option<&'t str>),
}

/// What is known now is `now`; the answer makes `after` of `before`. Others may have answered since it was asked: what
/// they said stays known, too.
pub fn known_after(
    asked: Asked<'_>,
    now: Option<&str>,
    (before, after): (&str, &str),
    touched: &Touched,
) -> Result<String, Malformed> {
    match (asked, now) {
        (Asked::No, Some(now)) => graft(before, now, after, touched).map(|grafted| grafted.text),
        (Asked::With(then), Some(now)) if then != Some(now) => {
            Ok(merge(then.unwrap_or_default(), now, after).text)
        }
        _ => Ok(after.to_owned()),
    }
}
