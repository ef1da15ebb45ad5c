//! Random forks and trunks. A model that knows every line of every trunk state judges the oracle, and git
//! judges the merge test.

use super::git;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::Verdict;
use crate::plumbing::Commit;
use crate::plumbing::CommitGraph;
use crate::plumbing::GraphEntry;
use crate::plumbing::History;
use crate::plumbing::Objects;
use crate::verbs::proof::Question;
use crate::verbs::proof::contain::Delta;
use crate::verbs::proof::contain::Tester;
use crate::verbs::proof::prove;
use std::rc::Rc;

/// A generator whose whole state is its seed (Knuth's MMIX constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Path, mode and text.
type File = (String, Mode, String);
type Files = Vec<File>;

struct Repo {
    dir: tempfile::TempDir,
    objects: Objects,
}

impl Repo {
    fn new() -> Repo {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "--bare", "."], b"");
        let objects = Objects::open(&dir.path().join("objects"), "sha1").unwrap();
        Repo { dir, objects }
    }

    fn tree(&self, files: &[File]) -> Oid {
        let edits: Vec<_> = files
            .iter()
            .map(|(path, mode, text)| {
                (path.as_str().into(), Some((*mode, self.objects.write_blob(text.as_bytes()).unwrap())))
            })
            .collect();
        self.objects.edit_tree(self.objects.empty_tree(), edits).unwrap()
    }

    fn commit(&self, tree: Oid, parents: &[Oid]) -> Oid {
        let who = bstr::BString::from("A U Thor <a@example.com> 1700000000 +0000");
        let commit = Commit {
            tree,
            parents: parents.to_vec(),
            author: who.clone(),
            committer: who,
            encoding: None,
            message: "random\n".into(),
        };
        self.objects.write_commit(&commit).unwrap()
    }
}

const LINES: usize = 24;

/// The value of every line; two files of twelve lines.
type State = Vec<usize>;

fn tree(repo: &Repo, state: &State) -> Oid {
    let text = |half: &[usize], at: usize| -> String {
        half.iter().enumerate().map(|(n, v)| format!("line {} says {v}\n", at + n)).collect()
    };
    let (a, b) = state.split_at(LINES / 2);
    repo.tree(&[("a".into(), Mode::File, text(a, 0)), ("b".into(), Mode::File, text(b, LINES / 2))])
}

struct Tale {
    question: Question,
    /// Trunk states since the one that the fork's last own commit knew, that one first.
    trunk: Vec<State>,
    /// As of that commit.
    fork: State,
    took_trunk_in: bool,
}

/// A fork that edits lines and sometimes takes the trunk in, and a trunk that picks, squashes, reverts,
/// overwrites and goes its own way.
fn tell(repo: &Repo, dice: &mut Dice) -> Tale {
    let base: State = vec![0; LINES];
    let start = repo.commit(tree(repo, &base), &[]);
    let (mut fork, mut tip, mut trunk, mut onto) = (base.clone(), start, base.clone(), start);
    let (mut merged, mut history) = (base.clone(), vec![base.clone()]);
    let (mut known, mut known_at_step, mut at_step) = (0, 0, base.clone());
    let mut steps: Vec<Vec<usize>> = Vec::new();
    let mut took_trunk_in = false;
    for round in 1..12 {
        match dice.roll(9) {
            0 | 1 => {
                let touched: Vec<usize> = (0..=dice.roll(2)).map(|_| dice.roll(LINES)).collect();
                for line in &touched {
                    fork[*line] =
                        if merged[*line] != 0 && dice.roll(2) == 0 { 0 } else { 100 + dice.roll(2) };
                }
                tip = repo.commit(tree(repo, &fork), &[tip]);
                steps.push(touched);
                (known_at_step, at_step) = (known, fork.clone());
                continue;
            }
            2 if dice.roll(2) == 0 && onto != start => {
                for line in 0..LINES {
                    if fork[line] == merged[line] {
                        fork[line] = trunk[line];
                    }
                }
                tip = repo.commit(tree(repo, &fork), &[tip, onto]);
                merged.clone_from(&trunk);
                known = history.len() - 1;
                took_trunk_in = true;
                continue;
            }
            3 | 4 if !steps.is_empty() => {
                let lines = steps[dice.roll(steps.len())].clone();
                lines.iter().for_each(|line| trunk[*line] = fork[*line]);
            }
            5 => steps.iter().flatten().for_each(|line| trunk[*line] = fork[*line]),
            6 if !steps.is_empty() => {
                let lines = steps[dice.roll(steps.len())].clone();
                lines.iter().for_each(|line| trunk[*line] = 0);
            }
            7 => steps.iter().flatten().for_each(|line| trunk[*line] = merged[*line]),
            _ => trunk[dice.roll(LINES)] = round,
        }
        onto = repo.commit(tree(repo, &trunk), &[onto]);
        history.push(trunk.clone());
    }
    let question = Question {
        base: start,
        committed: None,
        tip,
        onto,
        shallow: false,
        receipts: Vec::new(),
        trunk: None,
    };
    Tale { question, trunk: history.split_off(known_at_step), fork: at_step, took_trunk_in }
}

#[test]
fn random_histories_are_never_falsely_landed() {
    let repo = Repo::new();
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..300 {
        let tale = tell(&repo, &mut Dice(seed));
        let answer = prove(&repo.objects, &tale.question).unwrap();
        *counts.entry(super::world::told(&answer.verdict)).or_insert(0) += 1;
        let root = &tale.trunk[0];
        let tip = tale.trunk.last().unwrap();
        let net: Vec<usize> = (0..LINES).filter(|l| tale.fork[*l] != root[*l]).collect();
        let told = || format!("seed {seed}: {:?}\nnet lines {net:?}\n{:#?}", answer.verdict, answer.explain);
        if let Verdict::Landed { presence, .. } = answer.verdict {
            let was = |line: &usize| tale.trunk[1..].iter().any(|s| s[*line] == tale.fork[*line]);
            assert!(net.iter().all(was), "not all of it was ever there: {}", told());
            let is = |line: &usize| tip[*line] == tale.fork[*line];
            assert!(presence != Presence::Yes || net.iter().all(is), "not all of it is there: {}", told());
            let back =
                !tale.took_trunk_in && !net.is_empty() && net.iter().all(|line| tip[*line] == root[*line]);
            assert!(!back || presence == Presence::Reverted, "all of it was taken back: {}", told());
        }
    }
    println!("{counts:?}");
    for kind in
        ["landed exact", "landed range", "landed contained", "reverted exact", "partial", "not-landed"]
    {
        assert!(counts.contains_key(kind), "no {kind} among {counts:?}");
    }
}

/// What is read on the way to a base is the trunk after it, whatever of it and of the fork the graph has.
#[test]
fn a_trunk_that_was_read_on_the_way_to_the_base_is_the_trunk_after_it() {
    let repo = Repo::new();
    let mut found = 0;
    for seed in 0..200 {
        let tale = tell(&repo, &mut Dice(seed));
        let (tip, onto) = (tale.question.tip, tale.question.onto);
        let known = repo.objects.between(tale.question.base, onto).unwrap();
        for some in [&known[..], &known[..known.len() / 2], &known[known.len() / 2..]] {
            let entries: Vec<(Oid, GraphEntry)> = [tale.question.base]
                .iter()
                .chain(some)
                .map(|oid| (*oid, GraphEntry::read(&repo.objects, *oid).unwrap()))
                .collect();
            let file = CommitGraph::file(&entries, &repo.objects);
            let graph = Rc::new(CommitGraph::parse(file, &repo.objects).unwrap());
            let Some((base, history)) = History::after_fork(&repo.objects, &graph, onto, tip).unwrap() else {
                continue;
            };
            found += 1;
            assert_eq!(repo.objects.merge_bases(tip, onto).unwrap(), [base], "seed {seed}");
            let plain = History::read(&repo.objects, &Rc::default(), base, onto).unwrap();
            let sorted = |history: &History| {
                let mut oids = history.oids().unwrap();
                oids.sort();
                oids
            };
            assert_eq!(sorted(&history), sorted(&plain), "seed {seed}");
        }
    }
    assert!(found > 50, "{found}");
}

/// Where our merge test holds, git's own three-way merge must add nothing.
#[test]
fn the_merge_test_is_never_laxer_than_git() {
    let repo = Repo::new();
    let mut tester = Tester::new(&repo.objects);
    let (mut asked, mut held) = (String::new(), Vec::new());
    let mut dice = Dice(7);
    for _ in 0..1500 {
        let base = files(&mut dice, None);
        let tip = files(&mut dice, Some((&base, &base)));
        // Often half of the fork's changes, so that the answer is not always no.
        let at = files(&mut dice, Some((&base, &tip)));
        let [b, s, u] = [&base, &tip, &at].map(|f| repo.tree(f));
        let delta = Delta::between(&repo.objects, b, s).unwrap();
        if tester.holds(&delta, u).unwrap().is_ok() {
            let [b, s, u] = [b, s, u].map(|tree| repo.commit(tree, &[]));
            asked += &format!("{b} -- {u} {s}\n");
            held.push((
                repo.objects.tree_of(u).unwrap(),
                format!("base {base:?}\ntip  {tip:?}\nat   {at:?}"),
            ));
        }
    }
    assert!(held.len() > 50, "{}", held.len());
    let out =
        git(repo.dir.path(), &["merge-tree", "--stdin", "--allow-unrelated-histories"], asked.as_bytes());
    let merged: Vec<&str> = std::str::from_utf8(&out).unwrap().split('\0').collect();
    let answers: Vec<(&str, &str)> = merged
        .windows(2)
        .filter(|w| matches!(w[0], "0" | "1") && w[1].len() == 40)
        .map(|w| (w[0], w[1]))
        .collect();
    assert_eq!(answers.len(), held.len());
    let mut conflicts = 0;
    for ((clean, tree), (want, what)) in answers.iter().zip(&held) {
        // Where equal lines can be matched in two ways git may see a conflict; it never merges to more.
        conflicts += usize::from(*clean == "0");
        assert!(*clean == "0" || *tree == want.to_string(), "{what}");
    }
    assert!(conflicts * 50 < held.len(), "{conflicts} of {}", held.len());
}

/// Random files; or a base's files with some edits, some of them those of `like`.
fn files(dice: &mut Dice, from: Option<(&Files, &Files)>) -> Files {
    let Some((base, like)) = from else {
        return (0..3)
            .map(|n| {
                let text: String = (0..8).map(|_| format!("{}\n", dice.roll(40))).collect();
                (format!("f{n}"), Mode::File, text)
            })
            .collect();
    };
    let mut files = if dice.roll(3) > 0 { like.clone() } else { base.clone() };
    for _ in 0..dice.roll(3) {
        if files.is_empty() {
            break;
        }
        let at = dice.roll(files.len());
        match dice.roll(8) {
            0 => drop(files.remove(at)),
            1 => files[at].1 = Mode::Executable,
            2 => files[at].0 = format!("f{}", dice.roll(6)),
            _ => {
                let mut lines: Vec<String> = files[at].2.lines().map(|l| format!("{l}\n")).collect();
                let line = dice.roll(lines.len() + 1);
                match dice.roll(3) {
                    0 if line < lines.len() => drop(lines.remove(line)),
                    1 if line < lines.len() => lines[line] = format!("{}\n", dice.roll(40)),
                    _ => lines.insert(line, format!("{}\n", dice.roll(40))),
                }
                files[at].2 = lines.concat();
            }
        }
    }
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    files
}
