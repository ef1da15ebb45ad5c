//! Three lists whose entries have names: front matter and list items. An entry is found again wherever it stands.

use std::collections::HashMap;

/// One entry of the merged list: its number in each of the three that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub base: Option<usize>,
    pub person: Option<usize>,
    pub agent: Option<usize>,
}

/// All entries that one side has, in the order of the result: also those that the other side took out. The person's
/// order stands, unless `either` and only the agent changed it. What both put in at one place: the agent's first.
pub fn join(base: &[u32], person: &[u32], agent: &[u32], either: bool) -> Vec<Entry> {
    let [old, mine, theirs] = [base, person, agent].map(places);
    let late = either && in_order(&old, person) && !in_order(&old, agent);
    let (spine, known, other) = if late { (agent, &theirs, person) } else { (person, &mine, agent) };
    // What only the other has, behind what it stands in there.
    let mut behind: HashMap<Option<usize>, Vec<u32>> = HashMap::new();
    let mut last = None;
    for id in other {
        match known.get(id) {
            Some(place) => last = Some(*place),
            None => behind.entry(last).or_default().push(*id),
        }
    }
    let mut order: Vec<u32> = Vec::new();
    let mut waiting = behind.remove(&None).unwrap_or_default();
    for (place, id) in spine.iter().enumerate() {
        if !late || old.contains_key(id) {
            order.append(&mut waiting);
        }
        order.push(*id);
        waiting.extend(behind.remove(&Some(place)).unwrap_or_default());
    }
    order.append(&mut waiting);
    let found = |places: &HashMap<u32, usize>, id: &u32| places.get(id).copied();
    let entry = |id| Entry { base: found(&old, id), person: found(&mine, id), agent: found(&theirs, id) };
    order.iter().map(entry).collect()
}

fn places(ids: &[u32]) -> HashMap<u32, usize> {
    ids.iter().enumerate().map(|(place, id)| (*id, place)).collect()
}

/// Whether what the side kept of the base stands in the order of the base.
fn in_order(base: &HashMap<u32, usize>, side: &[u32]) -> bool {
    side.iter().filter_map(|id| base.get(id)).is_sorted()
}

/// Numbers for names, the same for the same name. The second of one name in one list is another than the first.
#[derive(Default)]
pub struct Names<'a>(HashMap<(&'a str, usize), u32>);

impl<'a> Names<'a> {
    pub fn of(&mut self, names: impl Iterator<Item = &'a str>) -> Vec<u32> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        names
            .map(|name| {
                let times = seen.entry(name).or_default();
                *times += 1;
                let next = self.0.len() as u32;
                *self.0.entry((name, *times)).or_insert(next)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, person: &str, agent: &str, either: bool) -> String {
        let ids = |text: &str| -> Vec<u32> { text.bytes().map(u32::from).collect() };
        let (old, mine, theirs) = (ids(base), ids(person), ids(agent));
        let one =
            |entry: Entry| entry.person.map(|at| mine[at]).or(entry.agent.map(|at| theirs[at])).unwrap();
        join(&old, &mine, &theirs, either).into_iter().map(|entry| one(entry) as u8 as char).collect()
    }

    #[test]
    fn new_entries_stand_behind_what_they_stood_behind() {
        assert_eq!(joined("abc", "abpc", "aqbc", false), "aqbpc");
        assert_eq!(joined("ab", "abp", "abq", true), "abqp");
        assert_eq!(joined("ab", "pab", "qab", true), "qpab");
    }

    #[test]
    fn who_changed_the_order_has_it() {
        assert_eq!(joined("abc", "cab", "abcq", true), "cqab");
        assert_eq!(joined("abc", "abcp", "cab", true), "cpab");
        assert_eq!(joined("abc", "abcp", "cab", false), "abcp");
        assert_eq!(joined("abc", "bpac", "cbqa", true), "bqpac");
    }

    #[test]
    fn equal_names_are_told_apart() {
        let mut names = Names::default();
        assert_eq!(names.of(["x", "x", "y"].into_iter()), [0, 1, 2]);
        assert_eq!(names.of(["x", "y", "x", "x"].into_iter()), [0, 2, 1, 3]);
    }
}
