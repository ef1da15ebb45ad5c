//! What an agent did to some text, done to another version of it: component by component, wherever these stand now.

use crate::domain::document::Malformed;
use crate::domain::document::grammar::Component;
use crate::domain::document::grammar::components;
use crate::domain::document::merge::Clash;
use crate::domain::document::merge::merge;
use serde::Deserialize;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// What part of a document was written to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touched {
    #[default]
    Nothing,
    /// These components, by name, and nothing else.
    Components(Vec<String>),
    Whole,
}

impl Touched {
    pub fn and(self, other: Touched) -> Touched {
        match (self, other) {
            (Touched::Nothing, other) | (other, Touched::Nothing) => other,
            (Touched::Components(mut names), Touched::Components(others)) => {
                names.extend(others.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
                Touched::Components(names)
            }
            _ => Touched::Whole,
        }
    }
}

/// A text with what the agent did.
#[derive(Debug, Default)]
pub struct Grafted {
    pub text: String,
    /// Where the person's words stand instead of the agent's, each with the component if it is in one.
    pub clashes: Vec<(Option<String>, Clash)>,
    /// Components that are not there any more.
    pub missing: Vec<String>,
}

/// `person` with what makes `agent` of `base`. The result has no more and no fewer components than `person`.
pub fn graft(base: &str, person: &str, agent: &str, touched: &Touched) -> Result<Grafted, Malformed> {
    let mut grafted = Grafted { text: person.to_owned(), ..Grafted::default() };
    let names = match touched {
        Touched::Nothing => return Ok(grafted),
        _ if base == agent => return Ok(grafted),
        _ if base == person => {
            // What goes into components was read when it was made.
            if *touched == Touched::Whole {
                components(agent)?;
            }
            return Ok(Grafted { text: agent.to_owned(), ..grafted });
        }
        Touched::Whole => {
            let merged = merge(base, person, agent);
            components(&merged.text)?;
            grafted.text = merged.text;
            grafted.clashes = merged.clashes.into_iter().map(|clash| (None, clash)).collect();
            return Ok(grafted);
        }
        Touched::Components(names) => names,
    };
    let before = components(person)?.len();
    let (mut base, mut agent) = (Cow::Borrowed(base), Cow::Borrowed(agent));
    for (name, is_within) in inner_first(&agent, names)? {
        let (Some(old), Some(new)) = (found(&base, name)?, found(&agent, name)?) else { continue };
        let Some(mine) = found(&grafted.text, name)? else {
            grafted.missing.push(name.to_owned());
            continue;
        };
        // Where a marker shares its line with the text in one of them, that belongs to what is compared.
        let shares = [&old, &new, &mine].iter().any(|found| found.body.start == found.open.end);
        let part = |found: &Component| if shares { between(found) } else { found.body.clone() };
        let range = part(&mine);
        let merged = merge(&base[part(&old)], &grafted.text[range.clone()], &agent[part(&new)]);
        let first = grafted.text[..range.start].bytes().filter(|b| *b == b'\n').count();
        grafted.text.replace_range(range, &merged.text);
        if is_within {
            // What it stands in does not meet it again.
            base.to_mut().replace_range(part(&old), &merged.text);
            agent.to_mut().replace_range(part(&new), &merged.text);
        }
        grafted.clashes.extend(merged.clashes.into_iter().map(|clash| {
            let line = clash.line + first;
            (Some(name.to_owned()), Clash { line, ..clash })
        }));
    }
    match components(&grafted.text)?.len() {
        now if now == before => Ok(grafted),
        _ => Err(Malformed { line: 1, says: "the answer would make or break components".to_owned() }),
    }
}

/// The names, those of components that stand in others of them first, and whether it is one of these.
fn inner_first<'n>(text: &str, names: &'n [String]) -> Result<Vec<(&'n str, bool)>, Malformed> {
    let all = components(text)?;
    let outer: Vec<&Component> = all.iter().filter(|found| names.contains(&found.name)).collect();
    let depth = |name: &str| {
        let holds = |one: &Component, other: &Component| {
            other.open.start < one.open.start && one.close.end <= other.close.start
        };
        let found = outer.iter().find(|found| found.name == name);
        found.map_or(0, |one| outer.iter().filter(|other| holds(one, other)).count())
    };
    let mut sorted: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), depth(name))).collect();
    sorted.sort_by_key(|(_, depth)| std::cmp::Reverse(*depth));
    Ok(sorted.into_iter().map(|(name, depth)| (name, depth > 0)).collect())
}

fn found(text: &str, name: &str) -> Result<Option<Component>, Malformed> {
    Ok(components(text)?.into_iter().find(|component| component.name == name))
}

/// All between its markers.
fn between(found: &Component) -> Range<usize> {
    found.open.end..found.close.start
}

/// `bones` with what stands in these components of `text`.
pub fn filled(bones: &str, text: &str, names: &[String]) -> Result<String, Malformed> {
    let mut filled = bones.to_owned();
    for name in names {
        if let (Some(bare), Some(full)) = (found(&filled, name)?, found(text, name)?) {
            filled.replace_range(between(&bare), &text[between(&full)]);
        }
    }
    Ok(filled)
}

/// A document of which nothing was sent yet: its front matter and its empty components.
pub fn skeleton(text: &str, front: usize) -> Result<String, Malformed> {
    let mut bones = text[..front].to_owned();
    let mut markers: Vec<Range<usize>> =
        components(text)?.into_iter().flat_map(|component| [component.open, component.close]).collect();
    markers.sort_by_key(|marker| marker.start);
    for (index, marker) in markers.iter().enumerate() {
        bones.push_str(&text[marker.clone()]);
        // Markers that share a line do so here.
        let next = markers.get(index + 1).and_then(|next| text.get(marker.end..next.start));
        let shares = next.is_some_and(|between| !between.contains('\n'));
        if !bones.ends_with('\n') && !shares {
            bones.push_str(if text[marker.end..].starts_with("\r\n") { "\r\n" } else { "\n" });
        }
    }
    Ok(bones)
}
