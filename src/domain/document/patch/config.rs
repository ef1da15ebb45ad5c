//! What is done with a patch, by the marker, by the configuration and by the name of the component.

use super::Mode;
use super::Rule;
use crate::domain::document::Component;
use crate::domain::document::Malformed;
use crate::domain::document::lines;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the configuration says of one component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Configured {
    pub patch: Option<Mode>,
    /// An older name of `patch`, which comes first.
    pub mode: Option<Mode>,
    pub timestamp: Option<bool>,
    pub max_entries: Option<usize>,
    pub max_lines: Option<usize>,
    pub pre_patch: Option<String>,
    pub post_patch: Option<String>,
}

/// Components whose text grows, as paragraphs.
const GROWING: &[&str] = &["exchange", "findings"];

/// Reads `components.toml`: a table for each component.
pub fn rules(toml: &str) -> Result<BTreeMap<String, Configured>, Malformed> {
    toml::from_str(toml).map_err(|e| {
        let line = e.span().map_or(1, |span| lines::number(toml, span.start.min(toml.len())));
        Malformed { line, says: e.message().to_owned() }
    })
}

/// What its marker says comes before what is configured, and that before what its name means.
pub fn rule(component: &Component, configured: Option<&Configured>) -> Rule {
    let none = Configured::default();
    let configured = configured.unwrap_or(&none);
    let inline = ["patch", "mode"].iter().find_map(|key| component.attr(key).and_then(mode));
    let built_in = if is_growing(&component.name) { Mode::Append } else { Mode::Replace };
    let max_lines = component.attr("max_lines").and_then(|lines| lines.parse().ok());
    Rule {
        mode: inline.or(configured.patch).or(configured.mode).unwrap_or(built_in),
        timestamp: configured.timestamp.unwrap_or_default(),
        max_entries: configured.max_entries.unwrap_or_default(),
        max_lines: max_lines.or(configured.max_lines).unwrap_or_default(),
        pre_patch: configured.pre_patch.clone(),
        post_patch: configured.post_patch.clone(),
    }
}

pub fn is_growing(name: &str) -> bool {
    GROWING.contains(&name)
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "replace" => Some(Mode::Replace),
        "append" => Some(Mode::Append),
        "prepend" => Some(Mode::Prepend),
        _ => None,
    }
}
