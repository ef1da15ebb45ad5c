//! The blocks of an answer on their way into the components of a text.

use crate::domain::Result;
use crate::domain::document::Answer;
use crate::domain::document::Component;
use crate::domain::document::Format;
use crate::domain::document::Patch;
use crate::domain::document::Touched;
use crate::domain::document::Unpatched;
use crate::domain::document::append_answer;
use crate::domain::document::apply;
use crate::domain::document::components;
use crate::domain::document::rule;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::rules::Rules;
use crate::verbs::session::Session;

/// Why a block for a component that was there goes nowhere.
pub const REMOVED: &str = "it was removed meanwhile";

/// What an answer makes of a text.
pub struct Made {
    pub after: String,
    pub touched: Touched,
    pub patched: Vec<String>,
    pub refused: Vec<(String, String)>,
}

/// Where the blocks of an answer go.
pub struct Target<'a, 's> {
    pub session: &'a Session<'s>,
    pub held: &'a Held,
    pub rules: &'a Rules,
    pub stamp: &'a str,
}

/// What the answer makes of `before`.
pub fn make(to: &Target<'_, '_>, before: &str, parsed: &Answer) -> Result<Made> {
    let mut made = Made {
        after: before.to_owned(),
        touched: Touched::Nothing,
        patched: Vec::new(),
        refused: Vec::new(),
    };
    for patch in &parsed.patches {
        put(&mut made, patch, to)?;
    }
    if parsed.rest.is_empty() {
        return Ok(made);
    }
    let open = &to.held.open;
    let named = components(&made.after).map_err(|why| malformed(&open.place, &why))?;
    let home = ["exchange", "output"].iter().find(|home| named.iter().any(|found| found.name == **home));
    match home {
        Some(home) if open.front.fields.format == Format::Template => {
            let rest = Patch { component: (*home).to_owned(), content: parsed.rest.clone() };
            put(&mut made, &rest, to)?;
        }
        _ => {
            made.after = append_answer(&made.after, &parsed.rest);
            made.touched = Touched::Whole;
            made.patched.push("the end".to_owned());
        }
    }
    Ok(made)
}

fn put(made: &mut Made, patch: &Patch, to: &Target<'_, '_>) -> Result<()> {
    let (session, rules, open) = (to.session, to.rules, &to.held.open);
    let name = patch.component.clone();
    let found = components(&made.after).unwrap_or_default().into_iter().find(|found| found.name == name);
    // What the person has taken out takes nothing, and nothing is known of it.
    let is_gone = |now: Vec<Component>| now.iter().all(|now| now.name != name);
    if found.is_some() && components(&open.text).is_ok_and(is_gone) {
        made.refused.push((name, REMOVED.to_owned()));
        return Ok(());
    }
    let rule = found.map(|found| rule(&found, rules.of(&name)));
    let mut patch = patch.clone();
    if let Some(rule) = &rule {
        patch.content = rules.prepared(session, open, (&name, rule), &patch.content)?;
    }
    let stamped = rule.as_ref().filter(|rule| rule.timestamp).map(|_| to.stamp);
    match apply(&made.after, &patch, &rule.unwrap_or_default(), stamped) {
        Ok(after) => {
            made.after = after;
            made.touched = std::mem::take(&mut made.touched).and(Touched::Components(vec![name.clone()]));
            if !made.patched.contains(&name) {
                made.patched.push(name);
            }
        }
        Err(why) => made.refused.push((name, said(&why))),
    }
    Ok(())
}

fn said(why: &Unpatched) -> String {
    match why {
        Unpatched::Unknown { names } if names.is_empty() => "the document has no components".to_owned(),
        Unpatched::Unknown { names } => format!("there is no such component; there are {}", names.join(", ")),
        Unpatched::Escapes => "its content has the marker of a component in it".to_owned(),
        Unpatched::Breaks(why) => format!("the document would not parse: {}", why.says),
    }
}

/// Starts the commands that are told of what went in. It has, whatever becomes of them.
pub fn tell_of(session: &Session<'_>, open: &Open, rules: &Rules, patched: &[String]) {
    let found = components(&open.text).unwrap_or_default();
    for component in found.iter().filter(|found| patched.contains(&found.name)) {
        let name = &component.name;
        if let Some(command) = rule(component, rules.of(name)).post_patch
            && let Err(failure) = rules.told(session, open, name, &command)
        {
            session.tell(format!("post_patch of {name}: {failure}"));
        }
    }
}
