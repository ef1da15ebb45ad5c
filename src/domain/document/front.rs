//! The front matter of a document, read as YAML and edited as lines.

mod edit;

#[cfg(test)]
mod tests;

use super::Malformed;
use super::lines;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use std::ops::Range;

pub use edit::set;

/// How a document grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// The answer goes to the end, below a heading.
    Append,
    /// It goes into components.
    #[default]
    Template,
}

/// How both sides come together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    Merge,
    #[default]
    Crdt,
}

/// What the front matter says of the session. Keys that mean nothing here are left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    pub skein_doc: Option<String>,
    pub session: Option<String>,
    pub format: Format,
    pub write: Strategy,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub branch: Option<String>,
    pub claude_args: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Front {
    /// Where the text begins that is not front matter.
    pub body: usize,
    pub fields: Fields,
}

/// The lines between the fences, and the byte behind the second one.
struct Block {
    yaml: Range<usize>,
    body: usize,
}

const BOM: &str = "\u{feff}";

/// Reads what stands between a first line `---` and the next line `---` or `...`. A first line `---` without a second
/// one is a thematic break.
pub fn front(text: &str) -> Result<Front, Malformed> {
    let Some(block) = block(text) else { return Ok(Front { body: bom(text), fields: Fields::default() }) };
    let fields = fields(&text[block.yaml])?;
    Ok(Front { body: block.body, fields })
}

/// Where the front matter ends, whatever it says.
pub fn body(text: &str) -> usize {
    block(text).map_or(bom(text), |block| block.body)
}

fn bom(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

fn block(text: &str) -> Option<Block> {
    let start = bom(text);
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.ends_with('\n') && line.trim_end() == "---")?;
    let mut at = start + first.len();
    let yaml = at;
    for line in lines {
        let end = at + line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return Some(Block { yaml: yaml..at, body: end });
        }
        at = end;
    }
    None
}

/// The keys that mean something. Each may be any value, so that a wrong one is named.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Known {
    skein_doc: Option<Value>,
    agent_doc_session: Option<Value>,
    session: Option<Value>,
    agent_doc_format: Option<Value>,
    agent_doc_write: Option<Value>,
    agent_doc_mode: Option<Value>,
    mode: Option<Value>,
    response_mode: Option<Value>,
    agent: Option<Value>,
    model: Option<Value>,
    branch: Option<Value>,
    claude_args: Option<Value>,
}

/// `yaml` as `T`, which is empty if nothing is said. Its first line is the second of the document.
fn parse<T: Default + for<'de> Deserialize<'de>>(yaml: &str) -> Result<T, Malformed> {
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(T::default());
    }
    // YAML 1.2, as the tools read it that write such documents: `on` and `y` are texts.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|e| {
        let line = e.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
        let says = e.without_snippet().to_string();
        let says = says.lines().next().unwrap_or_default();
        Malformed { line: line + 1, says: format!("the front matter is no YAML that can be read: {says}") }
    })
}

fn map(yaml: &str) -> Result<Map<String, Value>, Malformed> {
    parse(yaml)
}

fn fields(yaml: &str) -> Result<Fields, Malformed> {
    let known: Known = parse(yaml)?;
    let text = |key: &str, value: &Option<Value>| text(yaml, key, value);
    let format = text("agent_doc_format", &known.agent_doc_format)?;
    let write = text("agent_doc_write", &known.agent_doc_write)?;
    let modes = [
        ("agent_doc_mode", text("agent_doc_mode", &known.agent_doc_mode)?),
        ("mode", text("mode", &known.mode)?),
        ("response_mode", text("response_mode", &known.response_mode)?),
    ];
    let mode = modes.into_iter().find_map(|(key, mode)| mode.map(|mode| (key, mode)));
    let mode = match mode.as_ref().map(|(key, mode)| (*key, mode.as_str())) {
        None => None,
        Some((_, "append" | "inline")) => Some(Format::Append),
        Some((_, "template" | "stream")) => Some(Format::Template),
        Some(("agent_doc_mode", _)) => {
            return Err(wrong(yaml, "agent_doc_mode", "append, template or stream"));
        }
        // So common a word may be another tool's.
        Some(_) => None,
    };
    let format = match format.as_deref() {
        None => mode.unwrap_or_default(),
        Some("append" | "inline") => Format::Append,
        Some("template") => Format::Template,
        Some(_) => return Err(wrong(yaml, "agent_doc_format", "inline, append or template")),
    };
    let write = match write.as_deref() {
        None | Some("crdt") => Strategy::Crdt,
        Some("merge") => Strategy::Merge,
        Some(_) => return Err(wrong(yaml, "agent_doc_write", "merge or crdt")),
    };
    let session = text("agent_doc_session", &known.agent_doc_session)?;
    let older = text("session", &known.session)?;
    Ok(Fields {
        skein_doc: text("skein_doc", &known.skein_doc)?,
        session: session.or(older),
        format,
        write,
        agent: text("agent", &known.agent)?,
        model: text("model", &known.model)?,
        branch: text("branch", &known.branch)?,
        claude_args: text("claude_args", &known.claude_args)?,
    })
}

/// A text; a number is its digits as they stand. Nothing, and an empty text, is none.
fn text(yaml: &str, key: &str, value: &Option<Value>) -> Result<Option<String>, Malformed> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        Some(Value::Number(number)) => {
            let stands = edit::entry(yaml, key).map(|entry| yaml[entry.value].to_owned());
            Ok(Some(stands.unwrap_or_else(|| number.to_string())))
        }
        Some(_) => Err(wrong(yaml, key, "a text")),
    }
}

fn wrong(yaml: &str, key: &str, wanted: &str) -> Malformed {
    let at = edit::entry(yaml, key).map_or(0, |entry| entry.line.start);
    Malformed { line: lines::number(yaml, at) + 1, says: format!("{key}: {wanted} is wanted") }
}
