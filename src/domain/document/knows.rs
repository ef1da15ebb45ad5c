//! What an agent knows of a document once its answer is in it.

use crate::domain::document::Malformed;
use crate::domain::document::Touched;
use crate::domain::document::components;
use crate::domain::document::front;
use crate::domain::document::graft;
use crate::domain::document::merge;
use crate::domain::document::skeleton;
use std::borrow::Cow;

/// What others have said since a turn was sent, and before its answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// Nobody asked for this answer.
    Unasked,
    /// No turn was answered. This was known, if anything was.
    Nothing(Option<String>),
    /// The newest of those that were answered is older than this one; this is what was known then but for its answer.
    Older(String),
    /// A newer one was answered.
    Newer,
}

/// What the agent knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knows {
    pub text: String,
    /// The same without the answer, where this is the newest turn that is answered.
    pub under: Option<String>,
}

/// What the agent knows once its answer is in: `now` is what is known now, and the answer makes `after` of `before`.
/// What was said since stays, and what a person has sent is known as it was sent.
pub fn known_after(
    since: &Since,
    now: Option<&str>,
    (before, after): (&str, &str),
    touched: &Touched,
) -> Result<Knows, Malformed> {
    let grafted = |onto: &str| graft(before, onto, after, touched).map(|grafted| grafted.text);
    let (then, now) = match (since, now) {
        (Since::Unasked | Since::Newer, now) => {
            let text = now.map_or_else(|| Ok(after.to_owned()), grafted)?;
            return Ok(Knows { text, under: None });
        }
        (Since::Nothing(Some(then)), Some(now)) if then != now => (then, now),
        (Since::Nothing(None), Some(now)) => (&skeleton(before, front(before)?.body)?, now),
        (Since::Older(under), Some(now)) => (under, now),
        _ => return Ok(Knows { text: after.to_owned(), under: Some(before.to_owned()) }),
    };
    let under = merge(then, before, now).text;
    // It must be one that an answer can go into.
    components(&under)?;
    Ok(Knows { text: grafted(&under)?, under: Some(under) })
}

/// What is committed: what the branch has, `theirs`, with what is known now and was not in `base`. What a person has
/// committed meanwhile stays; where that may be made of what was `sent`, it is measured by this. Git may keep it with
/// other line endings than the file has.
pub fn to_commit(base: Option<&str>, sent: Option<&str>, theirs: Option<&str>, known: String) -> String {
    let (Some(base), Some(theirs)) = (base, theirs) else { return known };
    let theirs = like(theirs, &known);
    if theirs == like(base, &known) {
        return known;
    }
    merge(&like(sent.unwrap_or(base), &known), &theirs, &known).text
}

/// `text` with the line endings of `other`.
fn like<'t>(text: &'t str, other: &str) -> Cow<'t, str> {
    if other.contains("\r\n") && !text.contains('\r') {
        text.replace('\n', "\r\n").into()
    } else {
        text.into()
    }
}
