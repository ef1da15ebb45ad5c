//! A person, agents and commits in any order, on one document: no word of the person's is lost or doubled, each answer
//! is there once, what is known is what was sent with the answers to it. Every word is told apart from every other. The
//! seed of a round is its number; a failure tells it.

use crate::domain::dice::Xorshift;
use crate::domain::document::Knows;
use crate::domain::document::Mode;
use crate::domain::document::Patch;
use crate::domain::document::Rule;
use crate::domain::document::Since;
use crate::domain::document::Touched;
use crate::domain::document::apply;
use crate::domain::document::components;
use crate::domain::document::front;
use crate::domain::document::graft;
use crate::domain::document::known_after;
use crate::domain::document::merge;
use crate::domain::document::skeleton;
use crate::domain::document::to_commit;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// A turn that was sent.
struct Sent {
    /// Its number; 0 if nobody asked.
    turn: usize,
    before: String,
    known: Option<String>,
    /// The newest turn that was answered when it was sent.
    under: usize,
    /// What the branch had then.
    head: Option<String>,
}

/// An answer that is in.
struct Said {
    before: String,
    after: String,
    touched: Touched,
}

struct Scene {
    dice: Xorshift,
    seed: u64,
    file: String,
    /// What the file was before the newest edit, until somebody else writes.
    last: Option<String>,
    known: Option<String>,
    baseline: Option<String>,
    committed: Option<String>,
    /// How many turns there were then.
    committed_at: usize,
    /// What was sent, where that is what the branch had then.
    over: Option<String>,
    head: Option<String>,
    open: Vec<Sent>,
    turns: usize,
    /// The newest turn that is answered, and what was sent with it.
    under: (usize, String),
    said: Vec<Said>,
    words: usize,
    told: Vec<String>,
    /// What the branch had when a person moved lines of it.
    moved: BTreeSet<String>,
}

type Words = BTreeMap<String, usize>;

/// The words of a text that are told apart, with how often each stands there.
fn words(text: &str) -> Words {
    let mut words = Words::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        if word.len() > 2 && word.ends_with('q') && word[1..2].chars().all(|c| c.is_ascii_digit()) {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    words
}

fn count(words: &Words, word: &str) -> usize {
    words.get(word).copied().unwrap_or(0)
}

fn body<'t>(text: &'t str, name: &str) -> &'t str {
    components(text).unwrap().into_iter().find(|found| found.name == name).map_or("", |c| &text[c.body])
}

fn status(text: &str) -> &str {
    body(text, "status")
}

fn exchange(text: &str) -> &str {
    body(text, "exchange")
}

fn is_marker(line: &str) -> bool {
    line.starts_with("<!--") || line.starts_with("---") || line.starts_with("skein_doc")
}

impl Scene {
    fn new(seed: u64) -> Scene {
        let mut scene = Scene {
            dice: Xorshift((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            seed,
            file: String::new(),
            last: None,
            known: None,
            baseline: None,
            committed: None,
            committed_at: 0,
            over: None,
            head: None,
            open: Vec::new(),
            turns: 0,
            under: (0, String::new()),
            said: Vec::new(),
            words: 0,
            told: Vec::new(),
            moved: BTreeSet::new(),
        };
        let [one, two, three] = [(); 3].map(|()| scene.word('h'));
        scene.file = format!(
            "---\nskein_doc: x\n---\n# Talk\n\n<!-- agent:status -->\nstate {one} is {two}\nsame\n<!-- /agent:status -->\n\n<!-- agent:exchange -->\nfirst {three} asked\n<!-- /agent:exchange -->\n"
        );
        if scene.dice.roll(2) == 0 {
            scene.head = Some(scene.file.clone());
        }
        scene
    }

    fn word(&mut self, who: char) -> String {
        self.words += 1;
        format!("{who}{}q", self.words)
    }

    fn tell(&mut self, what: &str) {
        let text = format!("{what}\n{}", self.file);
        self.told.push(text);
    }

    #[track_caller]
    fn must(&self, holds: bool, what: impl FnOnce() -> String) {
        assert!(holds, "seed {}: {}\n{}", self.seed, what(), self.told.join("\n======== "));
    }

    /// One edit by hand.
    fn edit(&mut self) {
        let before = self.file.clone();
        let mut lines: Vec<String> = self.file.split_inclusive('\n').map(str::to_owned).collect();
        // Behind the front matter, up to the end.
        let at = 3 + self.dice.roll(lines.len() - 2);
        let end =
            (at..lines.len()).take(1 + self.dice.roll(3)).take_while(|n| !is_marker(&lines[*n])).count();
        let some = at..at + end;
        let what = self.dice.roll(8);
        match what {
            0 | 1 => {
                let line = self.line();
                lines.insert(at, line);
            }
            2 => drop(lines.drain(some)),
            3 => {
                let block: Vec<String> = lines.drain(some).collect();
                let to = 3 + self.dice.roll(lines.len() - 2);
                lines.splice(to..to, block);
            }
            4 => {
                let paste = ["\n".to_owned(), self.line(), self.line(), "same\n".to_owned(), "\n".to_owned()];
                lines.splice(at..at, paste);
            }
            5 if end > 0 => {
                let text = lines.drain(some).collect::<String>();
                let gap = self.dice.pick(&["\n", " ", "  \n"]);
                let text = text.split_whitespace().collect::<Vec<_>>().join(gap);
                lines.insert(at, format!("{text}\n"));
            }
            6 if end > 0 => {
                let word = self.word('h');
                let old = lines[at].split_whitespace().last().unwrap_or("").to_owned();
                if !old.is_empty() {
                    lines[at] = lines[at].replacen(&old, &word, 1);
                }
            }
            7 => {
                if let Some(last) = self.last.take() {
                    self.file = last;
                    self.tell("undone by hand");
                }
                return;
            }
            _ => return,
        }
        let text = lines.concat();
        // A person may break a document; that is told elsewhere.
        if components(&text).is_ok_and(|found| found.len() == 2) {
            (self.file, self.last) = (text, Some(before));
            if what == 3 {
                self.moved.extend(words(self.head.as_deref().unwrap_or_default()).into_keys());
            }
            self.tell(["typed", "typed", "deleted", "moved", "pasted", "reformatted", "retyped"][what]);
        }
    }

    fn line(&mut self) -> String {
        let [one, two] = [(); 2].map(|()| self.word('h'));
        match self.dice.roll(4) {
            0 => format!("- [ ] {one}\n"),
            1 => format!("{one}\n"),
            _ => format!("words {one} and {two} more\n"),
        }
    }

    fn send(&mut self) {
        self.baseline = Some(self.file.clone());
        self.turns += 1;
        let (before, known) = (self.file.clone(), self.known.clone());
        let head = self.head.clone();
        self.open.push(Sent { turn: self.turns, before, known, under: self.under.0, head });
        self.tell("sent");
    }

    /// An answer in one or several pieces, to a turn that waits for one, or to none.
    fn answer(&mut self) {
        let sent = if self.open.is_empty() || self.dice.roll(8) == 0 {
            let before = match &self.known {
                Some(known) => known.clone(),
                None => skeleton(&self.file, front(&self.file).unwrap().body).unwrap(),
            };
            Sent { turn: 0, before, known: self.known.clone(), under: 0, head: None }
        } else {
            let at = self.dice.roll(self.open.len());
            self.open.remove(at)
        };
        let (mut after, mut touched) = (sent.before.clone(), Touched::Nothing);
        for _ in 0..=self.dice.roll(2) {
            let [one, two] = [(); 2].map(|()| self.word('a'));
            let (name, mode, content) = match self.dice.roll(6) {
                0 => ("status", Mode::Replace, format!("state {one} is {two}\n")),
                1 => {
                    let old = status(&after).split_whitespace().next_back().unwrap_or("none").to_owned();
                    ("status", Mode::Replace, status(&after).replacen(&old, &one, 1))
                }
                _ => ("exchange", Mode::Append, format!("says {one}\nand {two}\n")),
            };
            let patch = Patch { component: name.to_owned(), content };
            let rule = Rule { mode, ..Rule::default() };
            let Ok(made) = apply(&after, &patch, &rule, None) else { continue };
            after = made;
            touched = touched.and(Touched::Components(vec![name.to_owned()]));
        }
        self.put(&sent, &after, &touched);
        self.said.push(Said { before: sent.before, after, touched });
    }

    fn put(&mut self, sent: &Sent, after: &str, touched: &Touched) {
        let was = words(&self.file);
        let grafted = graft(&sent.before, &self.file, after, touched).unwrap();
        let (old, new) = (self.file.clone(), grafted.text.clone());
        self.told.push(format!("before\n{}======== after\n{after}", sent.before));
        self.file = new.clone();
        self.tell("answered");
        let now = words(&new);
        let (before, made) = (words(&sent.before), words(after));
        let apart = |word: &str| grafted.clashes.iter().any(|(_, clash)| clash.agent.contains(word));
        for word in was.keys().filter(|word| count(&made, word) >= count(&before, word)) {
            self.must(count(&now, word) == count(&was, word), || format!("{word} of {old:?}"));
        }
        for word in now.keys() {
            self.must(count(&now, word) <= count(&was, word).max(1), || format!("{word} is doubled"));
        }
        for word in made.keys().filter(|word| count(&before, word) == 0) {
            self.must(count(&now, word) == 1 || apart(word), || format!("{word} of the answer is not there"));
        }
        // Where lines were taken away, those that came in their place may be taken for their new version.
        let added = *touched == Touched::Components(vec!["exchange".to_owned()]);
        if added && exchange(&old).contains(exchange(&sent.before)) {
            let again = graft(&sent.before, &new, after, touched).unwrap().text;
            self.must(again == new, || format!("merged again: {again:?}"));
        }
        self.know(sent, after, touched);
        self.last = None;
    }

    /// What was sent, with the answer; and whatever others have said meanwhile.
    fn know(&mut self, sent: &Sent, after: &str, touched: &Touched) {
        let (newest, text) = self.under.clone();
        let since = match sent.turn {
            0 => Since::Unasked,
            _ if newest == sent.under => Since::Nothing(sent.known.clone()),
            turn if newest < turn => Since::Older(text),
            _ => Since::Newer,
        };
        let now = self.known.clone();
        if sent.turn == 0 && now.is_none() {
            self.committed = Some(sent.before.clone());
        }
        let Knows { text: known, under } =
            known_after(&since, now.as_deref(), (&sent.before, after), touched).unwrap();
        if let Some(under) = under {
            self.under = (sent.turn, under);
            if self.committed_at < sent.turn {
                self.over = Some(sent.before.clone());
            }
            match (&sent.head, &self.committed) {
                (Some(head), _) if self.committed_at < sent.turn => {
                    self.committed = Some(head.clone());
                }
                (head, Some(known)) if self.committed_at >= sent.turn && newest == 0 => {
                    let head = head.as_ref().unwrap_or(&sent.before);
                    let bones = skeleton(&sent.before, front(&sent.before).unwrap().body).unwrap();
                    self.committed = Some(to_commit(Some(&bones), None, Some(head), known.clone()));
                }
                _ => {}
            }
        }
        let alone = now == sent.known;
        self.must(!alone || known == after, || format!("nobody else wrote, and known is\n{known}"));
        let (was, said, old) = (words(now.as_deref().unwrap_or("")), words(after), words(&sent.before));
        for (word, times) in words(&known) {
            let fine = times <= count(&was, &word).max(count(&said, &word)).max(count(&old, &word));
            self.must(fine, || format!("{word} is known {times} times\n{known}"));
        }
        // Answers that are no more than added are all known.
        if *touched == Touched::Components(vec!["exchange".to_owned()]) {
            let known = words(&known);
            for word in said.keys().filter(|word| count(&old, word) == 0) {
                self.must(count(&known, word) == 1, || format!("{word} is not known"));
            }
        }
        self.known = Some(known);
    }

    /// Takes an answer back: it goes, and no other word.
    fn take_back(&mut self) {
        let Some(last) = self.said.pop() else { return };
        let was = words(&self.file);
        let grafted = graft(&last.after, &self.file, &last.before, &last.touched).unwrap();
        self.told.push(format!("before\n{}======== after\n{}", last.before, last.after));
        self.file = grafted.text.clone();
        self.tell("taken back");
        let now = words(&self.file);
        let (before, after) = (words(&last.before), words(&last.after));
        for word in was.keys().filter(|word| count(&before, word) >= count(&after, word)) {
            self.must(count(&now, word) >= count(&was, word), || format!("{word} went, too"));
        }
        let stays = |word: &str| grafted.clashes.iter().any(|(_, clash)| clash.base.contains(word));
        for word in after.keys().filter(|word| count(&before, word) == 0) {
            // Where a person has moved or copied it, or written into its line, it is theirs.
            let moved = count(&was, word) != 1;
            self.must(count(&now, word) <= count(&was, word) || stays(word) || moved, || {
                format!("{word} is there")
            });
        }
        if let Some(known) = &self.known {
            self.known = Some(graft(&last.after, known, &last.before, &last.touched).unwrap().text);
        }
        self.last = None;
    }

    /// By hand, of the whole file; or of what is known.
    fn commit(&mut self) {
        // By hand, where all that was answered is committed: an answer that a person has written into is theirs.
        if self.dice.roll(3) == 0 && self.committed == self.known {
            self.head = Some(self.file.clone());
            return self.tell("committed by hand");
        }
        let Some(known) = self.known.clone().filter(|known| self.committed.as_ref() != Some(known)) else {
            return;
        };
        let base = self.committed.clone().or(self.baseline.clone());
        let text = to_commit(base.as_deref(), self.over.as_deref(), self.head.as_deref(), known.clone());
        self.told.push(format!("base\n{base:?}\nhead\n{:?}\nknown\n{known}", self.head));
        let (made, agent) = (words(&text), words(&known));
        let head = self.head.clone().unwrap_or_default();
        let person = words(&head);
        for (word, times) in &made {
            // A line that was committed in its old place, and sent in its new one, may be committed in both: which of the
            // two a merge that knows neither is to take is not told.
            let twice = self.moved.contains(word) && count(&agent, word) == 1 && count(&person, word) == 1;
            let most = count(&agent, word).max(count(&person, word)) + usize::from(twice);
            self.must(*times <= most, || format!("{word} is committed {times} times\n{text}"));
        }
        if let Some(base) = base.filter(|_| self.head.is_some()) {
            let base = if head == base { base } else { self.over.clone().unwrap_or(base) };
            let old = words(&base);
            let clashed = !merge(&base, &head, &known).clashes.is_empty();
            let new = person.keys().chain(agent.keys().filter(|_| !clashed));
            for word in new.filter(|word| count(&old, word) == 0) {
                self.must(count(&made, word) > 0, || format!("{word} is not committed\n{text}"));
            }
        } else {
            self.must(text == known, || format!("committed is not what is known\n{text}"));
        }
        self.must(to_commit(Some(&known), None, Some(&text), known.clone()) == text, || {
            "not the same again".to_owned()
        });
        self.over = None;
        (self.head, self.committed, self.committed_at) = (Some(text), Some(known), self.turns);
        self.tell("committed");
    }

    fn play(&mut self) {
        for _ in 0..2 + self.dice.roll(8) {
            match self.dice.roll(10) {
                0..=3 => self.edit(),
                4 | 5 => self.send(),
                6 | 7 => self.answer(),
                8 => self.commit(),
                _ if self.dice.roll(3) == 0 => self.take_back(),
                _ => self.edit(),
            }
        }
        // In the end all turns are answered.
        while !self.open.is_empty() {
            self.answer();
        }
        self.commit();
        let known: BTreeSet<String> =
            self.known.as_deref().map(words).unwrap_or_default().into_keys().collect();
        let sent = self.told.join("\n");
        assert!(known.iter().all(|word| sent.contains(word.as_str())));
    }
}

/// Plays the round `seed`.
pub fn interleaved(seed: u64) {
    Scene::new(seed).play();
}
