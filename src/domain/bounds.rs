//! How much of the machine one process of a worker or a gate may take.

use crate::domain::Config;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use serde::Deserialize;
use serde::Serialize;

/// The settings, in the order of [`Bounds`].
const KEYS: [&str; 3] = ["skein.limitMemory", "skein.limitProcesses", "skein.limitFile"];

/// What is not named is not bounded by us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Bytes of address space of one process.
    pub memory: Option<u64>,
    /// Processes of the user who runs it, counted by the kernel.
    pub processes: Option<u64>,
    /// Bytes of one file that is written.
    pub file: Option<u64>,
}

impl Bounds {
    /// As the person's configuration says.
    pub fn of(config: &Config) -> Result<Bounds> {
        let read = |key: &str| match config.get(&key.to_ascii_lowercase()) {
            Some(text) => number(text).map(Some).ok_or_else(|| bad(key, text)),
            None => Ok(None),
        };
        let [memory, processes, file] = KEYS;
        Ok(Bounds { memory: read(memory)?, processes: read(processes)?, file: read(file)? })
    }

    /// How many workers may be active at once, if the person says.
    pub fn active(config: &Config) -> Result<Option<usize>> {
        let Some(text) = config.get(&ACTIVE.to_ascii_lowercase()) else { return Ok(None) };
        let most = number(text).and_then(|most| usize::try_from(most).ok());
        most.map(Some).ok_or_else(|| bad(ACTIVE, text))
    }

    /// As one word, for a command line.
    pub fn word(&self) -> String {
        let all = [self.memory, self.processes, self.file];
        all.map(|bound| bound.map(|n| n.to_string()).unwrap_or_default()).join(",")
    }

    /// From [`Bounds::word`].
    pub fn from_word(word: &str) -> Option<Bounds> {
        let read = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        let mut all = word.split(',').map(read);
        Some(Bounds { memory: all.next()??, processes: all.next()??, file: all.next()?? })
    }
}

const ACTIVE: &str = "skein.maxActive";

/// Refuses one more worker beside the `active` ones, by their names. It has to be asked for again: nothing waits.
pub fn refuse_active(most: Option<usize>, active: &[String]) -> Result<()> {
    let Some(most) = most.filter(|most| active.len() >= *most) else { return Ok(()) };
    let says = match active.len() {
        1 => format!("1 worker is active, and {ACTIVE} is {most}"),
        n => format!("{n} workers are active, and {ACTIVE} is {most}"),
    };
    Err(Refusal::new(Token::TooMany, says)
        .lines(active.to_vec())
        .show(format!("git config --get {ACTIVE}"))
        .next("git skein wait, until one has ended; then give the same command again")
        .into())
}

/// A whole number above 0, with git's own units: k, m and g are powers of 1024.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let shift = match text.chars().next_back()?.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { text.get(..text.len() - 1)? };
    let whole = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok())??;
    whole.checked_mul(1 << shift).filter(|n| *n > 0)
}

fn bad(key: &str, text: &str) -> crate::domain::Failure {
    Refusal::new(Token::BadLimit, format!("{key} is {text:?}, which is no limit"))
        .show(format!("git config --show-origin --get-all {key}"))
        .next("give a whole number above 0, with k, m or g for powers of 1024, or unset it")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        for (text, want) in [
            ("1", Some(1)),
            ("2k", Some(2048)),
            ("3M", Some(3 << 20)),
            (" 4g ", Some(4 << 30)),
            ("0", None),
            ("", None),
            ("k", None),
            ("-1", None),
            ("+1", None),
            ("1.5g", None),
            ("1t", None),
            ("1é", None),
            ("20000000000g", None),
        ] {
            assert_eq!(number(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_word_says_them_all() {
        for bounds in [
            Bounds::default(),
            Bounds { memory: Some(1), processes: None, file: Some(3) },
            Bounds { memory: None, processes: Some(2), file: None },
        ] {
            assert_eq!(Bounds::from_word(&bounds.word()), Some(bounds));
        }
        assert_eq!(Bounds::from_word("1,2"), None);
        assert_eq!(Bounds::from_word("1,x,2"), None);
    }
}
