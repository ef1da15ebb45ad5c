//! How far a reader of the stream of events has come, as a word that it can give back.

use crate::domain::Oid;
use crate::domain::WorkerId;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What it begins with: the version of its form.
const FORM: &str = "1";

/// What was told of each source of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    pub workers: BTreeMap<WorkerId, Place>,
    /// The newest record of each lane.
    pub lanes: BTreeMap<String, Oid>,
    /// The newest commit of each archive.
    pub archives: BTreeMap<String, Oid>,
}

/// What was told of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The newest record.
    pub record: Option<Oid>,
    /// Bytes of its events.
    pub bytes: u64,
    /// The newest snapshot.
    pub snapshot: Option<Oid>,
}

/// Where a stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// With what happens from now on.
    Now,
    Cursor(Box<Cursor>),
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FORM}")?;
        let named = |oid: &Option<Oid>| oid.map_or_else(|| "-".to_owned(), |oid| oid.to_string());
        for (id, place) in &self.workers {
            write!(f, ",w:{id}:{}:{}:{}", named(&place.record), place.bytes, named(&place.snapshot))?;
        }
        for (tag, places) in [("l", &self.lanes), ("a", &self.archives)] {
            for (name, oid) in places {
                write!(f, ",{tag}:{name}:{oid}")?;
            }
        }
        Ok(())
    }
}

impl Cursor {
    fn take(&mut self, part: &str) -> Option<()> {
        let fields: Vec<&str> = part.split(':').collect();
        let oid = |text: &str| match text {
            "-" => Some(None),
            oid => oid.parse().ok().map(Some),
        };
        match fields.as_slice() {
            ["w", id, record, bytes, snapshot] => {
                let place =
                    Place { record: oid(record)?, bytes: bytes.parse().ok()?, snapshot: oid(snapshot)? };
                self.workers.insert(id.parse().ok()?, place);
            }
            ["l", name, at] => drop(self.lanes.insert((*name).to_owned(), at.parse().ok()?)),
            ["a", name, at] => drop(self.archives.insert((*name).to_owned(), at.parse().ok()?)),
            _ => return None,
        }
        Some(())
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(word: &str) -> Result<Since, String> {
        if word == "now" {
            return Ok(Since::Now);
        }
        let mut parts = word.split(',');
        let mut cursor = Cursor::default();
        let known = parts.next() == Some(FORM) && parts.all(|part| cursor.take(part).is_some());
        match known {
            true => Ok(Since::Cursor(Box::new(cursor))),
            false => Err("give `now`, or a cursor as a line of the stream had it".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let (one, two): (Oid, Oid) = ("1".repeat(40).parse().unwrap(), "2".repeat(64).parse().unwrap());
        let mut cursor = Cursor::default();
        assert_eq!(cursor.to_string().parse(), Ok(Since::Cursor(Box::new(cursor.clone()))));
        cursor.workers.insert(WorkerId::from_parts(1, 2), Place::default());
        let place = Place { record: Some(one), bytes: 77, snapshot: Some(two) };
        cursor.workers.insert(WorkerId::from_parts(3, 4), place);
        cursor.lanes.insert("c".into(), one);
        cursor.archives.insert("c-2026-01".into(), two);
        let word = cursor.to_string();
        assert_eq!(word.parse(), Ok(Since::Cursor(Box::new(cursor))));
        assert_eq!("now".parse(), Ok(Since::Now));
        for odd in ["", "2", "1,", "1,w:x:-:0:-", "1,l:c", "then", &word[..word.len() - 1]] {
            assert!(odd.parse::<Since>().is_err(), "{odd}");
        }
    }
}
