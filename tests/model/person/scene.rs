//! What is known of a sequence so far, and the two ways to go on: a person does something, or the tool does.

use super::look;
use super::look::Look;
use super::look::Move;
use crate::model::truth;
use crate::support::MOMENT;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use git2::Oid;
use git2::Repository;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

pub const DOC: &str = "talk.md";

/// A landing that was acknowledged.
#[derive(Debug, Clone)]
pub struct Ack {
    pub name: String,
    pub op: String,
    pub onto: String,
    pub old: Oid,
    pub new: Oid,
    /// The tip of the worker then.
    tip: Option<Oid>,
}

pub struct Scene {
    pub world: World,
    /// The step that is being made.
    pub step: String,
    /// The injected clock, in milliseconds.
    pub now: u64,
    /// Workers by handle, with the place where each was put last.
    pub workers: Vec<(String, PathBuf)>,
    /// Workers of the other clone.
    pub foreign: Vec<String>,
    pub acks: Vec<Ack>,
    /// Tips and snapshots of workers that the tool has had.
    kept: BTreeMap<Oid, String>,
    fresh: u64,
    /// Done while a verb runs, by nobody who is known: what this breaks must be seen.
    pub meanwhile: Option<fn(&World)>,
}

/// Each move of a branch that a result tells of, wherever it stands in it.
fn moves(said: &Value, found: &mut Vec<Value>) {
    match said {
        Value::Array(all) => all.iter().for_each(|one| moves(one, found)),
        Value::Object(all) => {
            let has = |key: &str| all.contains_key(key);
            if has("onto")
                && has("old")
                && has("new")
                && has("op")
                && all.get("already") == Some(&false.into())
            {
                found.push(said.clone());
            }
            all.values().for_each(|one| moves(one, found));
        }
        _ => {}
    }
}

/// Whether it is said why nothing, or not all, was done.
fn reasoned(said: &Value) -> bool {
    match said {
        Value::Array(all) => all.iter().any(reasoned),
        Value::Object(all) => {
            let token = all.get("token").and_then(Value::as_str).unwrap_or_default();
            (!token.is_empty() && token != "fault") || all.values().any(reasoned)
        }
        _ => false,
    }
}

impl Scene {
    pub fn of(world: World) -> Scene {
        // A copy still names the server of the first.
        for clone in ["repo", "other"] {
            world.git_in(clone, &["remote", "set-url", "origin", &crate::sync::server(&world)]);
        }
        Scene {
            world,
            step: String::new(),
            now: MOMENT,
            workers: Vec::new(),
            foreign: Vec::new(),
            acks: Vec::new(),
            kept: BTreeMap::new(),
            fresh: 0,
            meanwhile: None,
        }
    }

    pub fn repo(&self) -> Repository {
        Repository::open(&self.world.repo).unwrap()
    }

    pub fn look(&self) -> Look {
        Look::at(&self.world.repo)
    }

    /// A word that stands nowhere else.
    pub fn word(&mut self) -> String {
        self.fresh += 1;
        format!("word{}", self.fresh)
    }

    /// By git, as a person: it may refuse.
    pub fn git(&self, args: &[&str]) -> bool {
        self.world.try_git(args).status.success()
    }

    fn command(&mut self, clone: &str, args: &[String]) -> Command {
        self.now += 1000;
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&words);
        command.env("SKEIN_CLOCK", self.now.to_string()).current_dir(self.world.root().join(clone));
        command
    }

    /// Verbs at once, each with `--json`. Whatever they did is held against what they said.
    pub fn tool(&mut self, verbs: &[Vec<String>]) -> Result<Vec<Ran>, String> {
        let before = self.look();
        let stood = self.standing();
        let mut children = Vec::new();
        for verb in verbs {
            let mut command = self.command("repo", &told_in_json(verb));
            children.push(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        }
        let said: Vec<Ran> = children.into_iter().map(|c| ran(c.wait_with_output().unwrap())).collect();
        if let Some(meanwhile) = self.meanwhile {
            meanwhile(&self.world);
        }
        self.heard(verbs, &said, before, stood).map_err(|why| format!("{why}\n   {verbs:?}\n   {said:?}"))?;
        Ok(said)
    }

    /// One verb.
    pub fn verb(&mut self, words: &[&str]) -> Result<Ran, String> {
        let words = words.iter().map(|w| (*w).to_owned()).collect();
        Ok(self.tool(&[words])?.remove(0))
    }

    /// One verb in the other clone. It has nothing of the person's.
    pub fn other(&mut self, words: &[&str]) -> Result<Ran, String> {
        let args: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let ran = ran(self.command("other", &told_in_json(&args)).output().unwrap());
        sane(&args, &ran)?;
        for told in told(&ran) {
            self.acknowledge(&told);
        }
        Ok(ran)
    }

    /// The document's verbs change it, and no other file; what is answered is committed before the next is sent. What the
    /// person has in it stays.
    pub fn doc(&mut self, verb: &str, input: &str) -> Result<(), String> {
        let (before, lines) = (self.look(), self.look().text(DOC));
        let args: Vec<String> = ["doc", verb, DOC, "--json"].iter().map(|w| (*w).to_owned()).collect();
        let mut command = self.command("repo", &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
        let ran = ran(child.wait_with_output().unwrap());
        sane(&args, &ran)?;
        let after = self.look();
        let gone = lines.lines().find(|line| line.starts_with("word") && !after.text(DOC).contains(line));
        if let Some(gone) = gone {
            return Err(format!("{gone:?} was in {DOC}: {ran:?}"));
        }
        let (mut want, repo) = (before.clone(), self.repo());
        let branch = before.branch().unwrap_or_default().to_owned();
        if let (Some(old), Some(new)) = (before.refs.get(&branch), after.refs.get(&branch)) {
            if old != new && (verb == "write" || ran.code != 0 || !only_the_document(&repo, *old, *new)) {
                return Err(format!("{branch} went from {old} to {new}: {ran:?}"));
            }
            want.refs.insert(branch, *new);
        }
        match want.but(DOC).differs(&after.but(DOC)) {
            Some(why) => Err(format!("{why}: {ran:?}")),
            None => Ok(()),
        }
    }

    fn heard(
        &mut self,
        verbs: &[Vec<String>],
        said: &[Ran],
        before: Look,
        stood: Vec<Ack>,
    ) -> Result<(), String> {
        let (mut moved, mut undone) = (Vec::new(), BTreeSet::new());
        for (verb, ran) in verbs.iter().zip(said) {
            sane(verb, ran)?;
            for told in told(ran) {
                let oid = |key: &str| Oid::from_str(told[key].as_str().unwrap()).unwrap();
                moved.push(Move { onto: text(&told, "onto"), old: oid("old"), new: oid("new") });
                match told.get("undoes") {
                    Some(op) => drop(undone.insert(op.as_str().unwrap().to_owned())),
                    None => self.acknowledge(&told),
                }
            }
        }
        let repo = self.repo();
        let want = before.after(&repo, &moved)?;
        if let Some(why) = want.differs(&self.look()) {
            return Err(why);
        }
        let stands: BTreeSet<String> = self.standing().into_iter().map(|ack| ack.op).collect();
        let taken_back = |ack: &Ack| {
            let came_with = |with: &Ack| {
                undone.contains(&with.op)
                    && with.onto == ack.onto
                    && with.old != ack.new
                    && !repo.graph_descendant_of(with.old, ack.new).unwrap_or(true)
            };
            // Or a branch that had it already brought it back, and went again.
            undone.contains(&ack.op) || stood.iter().any(came_with)
        };
        if let Some(lost) = stood.iter().find(|ack| !stands.contains(&ack.op) && !taken_back(ack)) {
            return Err(format!("the landing of {} is gone from {}", lost.name, lost.onto));
        }
        self.learn(&repo);
        self.all_kept(&repo)
    }

    fn acknowledge(&mut self, told: &Value) {
        let name = text(told, "name");
        let head = format!("refs/skein-local/head/{}", self.id(&name).unwrap_or_default());
        let oid = |key: &str| Oid::from_str(told[key].as_str().unwrap()).unwrap();
        let tip = self.repo().refname_to_id(&head).ok();
        let (op, onto) = (text(told, "op"), text(told, "onto"));
        self.acks.push(Ack { name, op, onto, old: oid("old"), new: oid("new"), tip });
    }

    /// The id of a worker, from its record, read by git.
    fn id(&self, handle: &str) -> Option<String> {
        let repo = self.repo();
        let records =
            look::refs(&repo).into_iter().filter(|(name, _)| name.starts_with("refs/skein/worker/"));
        let mut ids = records.filter_map(|(name, oid)| {
            let tree = repo.find_commit(oid).ok()?.tree().ok()?;
            let blob = repo.find_blob(tree.get_name("record.json")?.id()).ok()?;
            let record: Value = serde_json::from_slice(blob.content()).ok()?;
            (record["handle"] == handle).then(|| name.rsplit('/').next().unwrap().to_owned())
        });
        ids.next()
    }

    /// The landings that the branches have which they were acknowledged on.
    fn standing(&self) -> Vec<Ack> {
        let stands = |ack: &&Ack| {
            let (folder, name) = match ack.onto.strip_prefix("refs/remotes/origin/") {
                Some(name) => (self.world.root().join("server.git"), format!("refs/heads/{name}")),
                None => (self.world.repo.clone(), ack.onto.clone()),
            };
            has(&Repository::open(folder).unwrap(), &name, ack.new)
        };
        self.acks.iter().filter(stands).cloned().collect()
    }

    /// Tips and snapshots that the tool has now are its to keep.
    fn learn(&mut self, repo: &Repository) {
        for (name, oid) in look::refs(repo) {
            let local = name.strip_prefix("refs/skein-local/").unwrap_or_default();
            if local.starts_with("head/") || local.starts_with("wip/") {
                self.kept.entry(oid).or_insert_with(|| format!("{local} at {}", self.step));
            }
        }
    }

    fn all_kept(&self, repo: &Repository) -> Result<(), String> {
        let reached = look::reached(repo);
        match self.kept.iter().find(|(oid, _)| !reached.contains(oid)) {
            Some((oid, what)) => Err(format!("{oid}, {what}, is in no ref of the tool's")),
            None => Ok(()),
        }
    }

    pub fn place(&self, n: u64) -> Option<(String, PathBuf)> {
        let len = self.workers.len() as u64;
        (len > 0).then(|| self.workers[(n % len) as usize].clone())
    }

    /// A worker of either clone.
    pub fn any(&self, n: u64) -> String {
        let all: Vec<&String> = self.workers.iter().map(|w| &w.0).chain(&self.foreign).collect();
        all.get((n % all.len().max(1) as u64) as usize).map_or("nobody".to_owned(), |name| (*name).clone())
    }

    /// The whole, when all is over.
    pub fn end(&mut self) -> Result<(), String> {
        let sound = self.verb(&["fsck"])?;
        if sound.code != 0 {
            return Err(format!("not sound: {sound:?}"));
        }
        let repo = self.repo();
        self.all_kept(&repo)?;
        for name in self.workers.iter().map(|w| w.0.clone()).collect::<Vec<_>>() {
            let ran = self.verb(&["landed", &name, "--onto", "main"])?;
            self.judge(&repo, &name, &ran).map_err(|why| format!("{name}: {why}: {ran:?}"))?;
        }
        // What died with its folder keeps nobody from a sound store.
        self.world.check();
        Ok(())
    }

    /// `landed` is never said of what is not there, and is said of each landing that stands.
    fn judge(&self, repo: &Repository, name: &str, ran: &Ran) -> Result<(), String> {
        let said = ran.json()["result"].clone();
        let verdict = &said["verdict"];
        let oid = |value: &Value| Oid::from_str(value.as_str().unwrap_or_default()).ok();
        let stands =
            |ack: &&Ack| ack.name == name && ack.onto == "refs/heads/main" && has(repo, &ack.onto, ack.new);
        let acks: Vec<&Ack> = self.acks.iter().filter(stands).collect();
        let tip = oid(&said["tip"]);
        let due = acks.iter().any(|ack| ack.tip.is_some() && ack.tip == tip);
        if due && verdict["verdict"] != "landed" {
            return Err("it was acknowledged, and main has it".into());
        }
        if ran.code != 0 {
            return Ok(());
        }
        let (base, tip) = (oid(&said["base"]).ok_or("no base")?, tip.ok_or("no tip")?);
        let proof = verdict["proof"].as_str().unwrap_or_default();
        let trunk = repo.refname_to_id("refs/heads/main").unwrap();
        let proven = match proof {
            "receipt" => acks.iter().any(|ack| oid(&verdict["at"]) == Some(ack.new)),
            proof => truth::proven(repo, [base, tip, trunk], proof),
        };
        if proven { Ok(()) } else { Err(format!("FALSE LANDED: no {proof} to be found")) }
    }
}

/// What stands behind `--` is the agent's.
fn told_in_json(verb: &[String]) -> Vec<String> {
    [&verb[..1], &["--json".to_owned()], &verb[1..]].concat()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Whether the branch has the commit.
fn has(repo: &Repository, branch: &str, commit: Oid) -> bool {
    let Ok(tip) = repo.refname_to_id(branch) else { return false };
    tip == commit || repo.graph_descendant_of(tip, commit).unwrap_or(false)
}

/// The moves that a verb tells of.
fn told(ran: &Ran) -> Vec<Value> {
    let mut found = Vec::new();
    if let Ok(said) = serde_json::from_str::<Value>(&ran.out) {
        moves(&said["result"], &mut found);
    }
    found
}

/// It ended as verbs end: done, or with a "no" that has a name.
fn sane(verb: &[String], ran: &Ran) -> Result<(), String> {
    let known = [0, 1, 3, 4, 5, 75, 128].contains(&ran.code) && !ran.err.contains("panicked");
    let answers = ["landed", "reap", "status", "dispatch"].contains(&verb[0].as_str());
    let said: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let why = ran.code == 0 || reasoned(&said) || (answers && said.get("result").is_some());
    if known && why { Ok(()) } else { Err(format!("no way to end: {verb:?} {ran:?}")) }
}

/// Whether the one commit between them changes the document and nothing else.
fn only_the_document(repo: &Repository, old: Oid, new: Oid) -> bool {
    let commit = repo.find_commit(new).unwrap();
    let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree().unwrap();
    let diff = repo.diff_tree_to_tree(Some(&tree(old)), Some(&tree(new)), None).unwrap();
    commit.parent_id(0).ok() == Some(old)
        && diff.deltas().all(|d| d.new_file().path() == Some(Path::new(DOC)))
}
