//! A told story as the oracle sees it.

use super::git;
use super::story::Story;
use super::story::Truth;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::RawDigest;
use crate::domain::Verdict;
use crate::plumbing::CommitGraph;
use crate::plumbing::GraphEntry;
use crate::plumbing::Objects;
use crate::verbs::proof::Answer;
use crate::verbs::proof::Question;
use crate::verbs::proof::Receipt;
use crate::verbs::proof::prove;
use crate::verbs::proof::prove_by;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::rc::Rc;

pub struct World {
    pub objects: Objects,
    pub dir: tempfile::TempDir,
    pub oids: HashMap<String, Oid>,
    story: Story,
}

impl World {
    pub fn tell(tell: fn(&mut Story), format: &str) -> World {
        let dir = tempfile::tempdir().unwrap();
        let (story, names) = Story::tell(tell, format, dir.path());
        let oids: HashMap<String, Oid> = names.into_iter().map(|(n, o)| (n, o.parse().unwrap())).collect();
        World { objects: Objects::open(&dir.path().join("objects"), format).unwrap(), dir, oids, story }
    }

    pub fn oid(&self, name: &str) -> Oid {
        self.oids[name]
    }

    fn raw(&self, span: &[String; 2]) -> RawDigest {
        let [from, to] = span.each_ref().map(|n| self.objects.tree_of(self.oids[n]).unwrap());
        RawDigest::of(&self.objects.diff_trees(from, to).unwrap())
    }

    pub fn question(&self) -> Question {
        let receipts = self
            .story
            .claims
            .iter()
            .map(|(landed, trunk, raw, delta)| Receipt {
                landed: landed.iter().map(|(a, b)| (self.oids[a], self.oids[b])).collect(),
                old: self.oids[&trunk[0]],
                new: self.oids[&trunk[1]],
                landed_raw: self.raw(raw),
                delta_raw: self.raw(delta),
            })
            .collect();
        let [base, tip, onto] = ["B", "S", "T"].map(|n| self.oids[n]);
        Question { base, committed: None, tip, onto, shallow: self.story.shallow, receipts, trunk: None }
    }

    /// Graphs of all its commits, and of half of them; where nothing is cut off, with git's own beside.
    pub fn graphs(&self) -> Vec<Rc<CommitGraph>> {
        let oids: BTreeSet<Oid> = self.oids.values().copied().collect();
        let read = |oid: Oid| Some((oid, GraphEntry::read(&self.objects, oid).ok()?));
        let all: Vec<(Oid, GraphEntry)> = oids.into_iter().filter_map(read).collect();
        let half = all.clone().into_iter().step_by(2).collect();
        let graph = |entries: Vec<(Oid, GraphEntry)>| {
            let file = CommitGraph::file(&entries, &self.objects);
            let graph = CommitGraph::parse(file, &self.objects).unwrap();
            let mut kept = graph.entries().unwrap();
            kept.sort_by_key(|(oid, _)| *oid);
            assert_eq!(kept, entries);
            graph
        };
        let mut graphs = vec![graph(all), graph(half)];
        if !self.story.shallow {
            let tips: Vec<String> = self.oids.values().map(Oid::to_string).collect();
            let args = ["commit-graph", "write", "--changed-paths", "--stdin-commits"];
            git(self.dir.path(), &args, tips.join("\n").as_bytes());
            graphs.push(CommitGraph::default().beside_git_at_once(&self.objects));
        }
        graphs.into_iter().map(Rc::new).collect()
    }

    /// The answer, which is the same with a graph and without.
    pub fn ask(&self) -> Answer {
        let question = self.question();
        let answer = prove(&self.objects, &question).unwrap();
        for graph in self.graphs() {
            let with = prove_by(&self.objects, &graph, &question).unwrap();
            assert_eq!((&with.verdict, &with.explain), (&answer.verdict, &answer.explain));
        }
        answer
    }

    /// The names of `oid`: two names may be the same commit.
    pub fn is(&self, name: &str, oid: Oid) -> bool {
        self.oids.get(name) == Some(&oid)
    }

    /// The signs of `git cherry T S B`, oldest first.
    pub fn cherry(&self) -> String {
        let out = git(self.dir.path(), &["cherry", "T", "S", "B"], b"");
        String::from_utf8(out).unwrap().lines().map(|l| &l[..1]).collect()
    }

    /// Whether `git branch --merged T` lists S.
    pub fn merged(&self) -> bool {
        let out = git(self.dir.path(), &["branch", "--merged", "T", "--format=%(refname)"], b"");
        String::from_utf8(out).unwrap().lines().any(|l| l == "refs/heads/S")
    }
}

/// The verdict as the tables write it: word, then proof or reason.
pub fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Landed { proof, .. } => format!("{} {}", verdict.word(), proof.as_str()),
        Verdict::Unknown { why, .. } => format!("unknown {}", why.as_str()),
        _ => verdict.word().to_owned(),
    }
}

/// Whether `verdict` permits what only `truth == In` may permit.
pub fn is_false_landed(verdict: &Verdict, truth: Truth) -> bool {
    matches!(verdict, Verdict::Landed { presence: Presence::Yes | Presence::Changed, .. })
        && truth != Truth::In
}
