//! Front matter: what stands between two lines `---` at the beginning of a text, as YAML.

use crate::domain::tasks::limit;
use serde_json::Map;
use serde_json::Value;

/// What stood in front, key by key, as long as nobody has taken it.
#[derive(Debug, Default)]
pub struct Front(Map<String, Value>);

type Read<T> = std::result::Result<T, String>;

/// The front matter of `text`, and what follows on it. Without any the whole text follows.
pub fn split(text: &str) -> Read<(Front, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else { return Ok((Front::default(), text)) };
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            let front = text.get(first.len()..end).unwrap_or_default();
            return Ok((parse(front)?, text.get(end + line.len()..).unwrap_or_default()));
        }
        end += line.len();
    }
    Err("its front matter does not end: there is no second line ---".to_owned())
}

fn parse(yaml: &str) -> Read<Front> {
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Front::default());
    }
    let read: std::result::Result<Map<String, Value>, _> = serde_saphyr::from_str(yaml);
    read.map(Front).map_err(|e| {
        let says = e.to_string();
        format!("its front matter: {}", says.lines().next().unwrap_or_default())
    })
}

impl Front {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, key: &str) -> Read<Option<String>> {
        self.take(key).map(|value| word(key, &value)).transpose()
    }

    pub fn truth(&mut self, key: &str) -> Read<bool> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(_) => Err(format!("{key}: say true or false")),
        }
    }

    /// A list of texts; one by itself is a list too.
    pub fn list(&mut self, key: &str) -> Read<Vec<String>> {
        let items = match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(one) => vec![one],
        };
        items.iter().map(|item| word(key, item)).collect()
    }

    /// A name, or the words of a command.
    pub fn command(&mut self, key: &str) -> Read<(Option<String>, Vec<String>)> {
        match self.take(key) {
            Some(Value::Array(words)) if !words.is_empty() => {
                let words: Vec<String> = words.iter().map(|item| word(key, item)).collect::<Read<_>>()?;
                Ok((None, words))
            }
            Some(value) => Ok((Some(word(key, &value)?), Vec::new())),
            None => Ok((None, Vec::new())),
        }
    }

    /// How deep: `true` is one level.
    pub fn depth(&mut self, key: &str) -> Read<Option<u32>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(may)) => Ok(Some(u32::from(may))),
            Some(value) => {
                let depth = value.as_u64().and_then(|depth| u32::try_from(depth).ok());
                depth.map(Some).ok_or_else(|| format!("{key}: say true, false or a number"))
            }
        }
    }

    pub fn time(&mut self, key: &str) -> Read<Option<u64>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        limit(&text).map(|time| Some(time.as_secs().max(1))).map_err(|why| format!("{key}: {why}"))
    }

    /// Dollars, as cents.
    pub fn money(&mut self, key: &str) -> Read<Option<u64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let cents = value.as_f64().map(|dollars| (dollars * 100.0).round());
        let cents = cents.filter(|cents| (1.0..1e12).contains(cents));
        cents
            .map(|cents| Some(cents as u64))
            .ok_or_else(|| format!("{key}: give a number of dollars above 0"))
    }

    /// The keys that nobody has taken.
    pub fn rest(self) -> Vec<String> {
        self.0.into_iter().map(|(key, _)| key).collect()
    }
}

fn word(key: &str, value: &Value) -> Read<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{key}: a text is wanted")),
    }
}
