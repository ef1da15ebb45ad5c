//! What can be wrong, made by git and git2, beside the codes that must name it: those and no others.

use crate::support::World;
use git2::Oid;
use git2::Repository;
use git2::Signature;
use git2::Time;
use git2::build::TreeUpdateBuilder;
use serde_json::Value;
use serde_json::json;
use std::fs;

type Damage = fn(&World);

const STRANGER: &str = "01kdvdngtr2zjtt1gp5d70xd0f";

fn open(world: &World) -> Repository {
    Repository::open(&world.repo).unwrap()
}

fn worker(world: &World, handle: &str) -> String {
    format!("refs/skein/worker/{}", world.ulid(handle))
}

fn head(world: &World, handle: &str) -> String {
    format!("refs/skein-local/head/{}", world.ulid(handle))
}

fn only(world: &World, below: &str) -> String {
    world.git(["for-each-ref", "--format=%(refname)", below])
}

fn lane(world: &World) -> String {
    only(world, "refs/skein/lane")
}

/// A commit of ours with `files` of `base`'s tree replaced or, for none, removed.
fn record(repo: &Repository, base: Option<Oid>, files: &[(&str, Option<Vec<u8>>)], parents: &[Oid]) -> Oid {
    let empty = repo.find_tree(repo.treebuilder(None).unwrap().write().unwrap()).unwrap();
    let tree = base.map_or(empty, |c| repo.find_commit(c).unwrap().tree().unwrap());
    let mut update = TreeUpdateBuilder::new();
    for (path, bytes) in files {
        match bytes {
            Some(bytes) => update.upsert(*path, repo.blob(bytes).unwrap(), git2::FileMode::Blob),
            None => update.remove(*path),
        };
    }
    let tree = repo.find_tree(update.create_updated(repo, &tree).unwrap()).unwrap();
    let us = Signature::new("git-skein", "skein@git-skein.invalid", &Time::new(0, 0)).unwrap();
    let parents: Vec<_> = parents.iter().map(|p| repo.find_commit(*p).unwrap()).collect();
    repo.commit(None, &us, &us, "damaged\n", &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
}

fn put(repo: &Repository, name: &str, at: Oid) {
    repo.reference(name, at, true, "damage").unwrap();
}

fn at(repo: &Repository, name: &str) -> Oid {
    repo.refname_to_id(name).unwrap()
}

fn blob(repo: &Repository, commit: Oid, path: &str) -> Vec<u8> {
    let tree = repo.find_commit(commit).unwrap().tree().unwrap();
    repo.find_blob(tree.get_path(path.as_ref()).unwrap().id()).unwrap().content().to_vec()
}

fn value(repo: &Repository, commit: Oid, path: &str) -> Value {
    serde_json::from_slice(&blob(repo, commit, path)).unwrap()
}

fn canonical(value: &Value) -> Vec<u8> {
    (serde_json::to_string_pretty(value).unwrap() + "\n").into_bytes()
}

/// The newest commit of `name` again, with another `path` and the same parents.
fn amend(world: &World, name: &str, path: &str, edit: impl Fn(Vec<u8>) -> Option<Vec<u8>>) {
    let repo = open(world);
    let tip = at(&repo, name);
    let parents: Vec<Oid> = repo.find_commit(tip).unwrap().parent_ids().collect();
    let bytes = edit(blob(&repo, tip, path));
    put(&repo, name, record(&repo, Some(tip), &[(path, bytes)], &parents));
}

fn amend_json(world: &World, name: &str, path: &str, edit: impl Fn(&mut Value)) {
    amend(world, name, path, |bytes| {
        let mut value = serde_json::from_slice(&bytes).unwrap();
        edit(&mut value);
        Some(canonical(&value))
    });
}

/// The newest commit of `name` again, with other parents.
fn reparent(world: &World, name: &str, parents: impl Fn(Vec<Oid>) -> Vec<Oid>) {
    let repo = open(world);
    let tip = at(&repo, name);
    let now: Vec<Oid> = repo.find_commit(tip).unwrap().parent_ids().collect();
    put(&repo, name, record(&repo, Some(tip), &[], &parents(now)));
}

/// One record more on the lane.
fn append(world: &World, record_: &Value, keeps: &[&str]) {
    let (repo, lane) = (open(world), lane(world));
    let keeps = keeps.iter().map(|o| o.parse().unwrap());
    let parents: Vec<Oid> = [at(&repo, &lane)].into_iter().chain(keeps).collect();
    put(&repo, &lane, record(&repo, None, &[("record.json", Some(canonical(record_)))], &parents));
}

/// The newest record of `kind` on the lane.
fn newest(world: &World, kind: &str) -> Value {
    let repo = open(world);
    let mut next = at(&repo, &lane(world));
    loop {
        let found = value(&repo, next, "record.json");
        if found["kind"] == kind {
            return found;
        }
        next = repo.find_commit(next).unwrap().parent_id(0).unwrap();
    }
}

/// A landing that never was, announced and done, as `edit` has it.
fn land(world: &World, edit: impl Fn(&mut Value)) {
    let mut record = newest(world, "landing");
    while record["delta"].is_null() {
        record = delta_landing(world);
    }
    record["op"] = STRANGER.into();
    edit(&mut record);
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let (new, tip) = (text(&record["new"]), text(&record["delta"]["tip"]));
    record["kind"] = "intent".into();
    append(world, &record, &[&new, &tip]);
    record["kind"] = "landing".into();
    append(world, &record, &[&new]);
}

/// The newest landing of a delta.
fn delta_landing(world: &World) -> Value {
    let repo = open(world);
    let mut next = at(&repo, &lane(world));
    loop {
        let found = value(&repo, next, "record.json");
        if found["kind"] == "landing" && !found["delta"].is_null() {
            return found;
        }
        next = repo.find_commit(next).unwrap().parent_id(0).unwrap();
    }
}

fn notes(world: &World, args: &[&str]) {
    world.git([&["notes", "--ref=skein/landed"], args].concat());
}

/// The object is gone from the disk. Nothing is packed in these worlds.
fn prune(world: &World, rev: &str) {
    let oid = world.rev(rev);
    fs::remove_file(world.path(&format!(".git/objects/{}/{}", &oid[..2], &oid[2..]))).unwrap();
}

pub const DAMAGES: &[(&str, Damage, &[&str])] = &[
    ("nothing", |_| {}, &[]),
    // Refs.
    ("sentinel deleted", |w| drop(w.git(["update-ref", "-d", "refs/skein/format/1"])), &["sentinel-missing"]),
    (
        "sentinel with files",
        |w| drop(w.git(["update-ref", "refs/skein/format/1", "main"])),
        &["sentinel-altered"],
    ),
    ("a ref of no such name", |w| drop(w.git(["update-ref", "refs/skein/nonsense", "main"])), &["stray-ref"]),
    (
        "a worker that is no id",
        |w| drop(w.git(["update-ref", "refs/skein/worker/me", "main"])),
        &["stray-ref"],
    ),
    (
        "a symbolic lane",
        |w| drop(w.git(["symbolic-ref", "refs/skein/lane/abc", "refs/heads/main"])),
        &["symbolic-ref"],
    ),
    (
        "a symbolic ref to nothing",
        |w| drop(w.git(["symbolic-ref", &format!("refs/skein-local/wip/{STRANGER}"), "refs/heads/none"])),
        &["symbolic-ref"],
    ),
    (
        "symbolic notes",
        |w| drop(w.git(["symbolic-ref", "refs/notes/skein/landed", "refs/heads/main"])),
        &["symbolic-ref"],
    ),
    (
        "a worker at a blob",
        |w| drop(w.git(["update-ref", &format!("refs/skein/worker/{STRANGER}"), "main:a.txt"])),
        &["not-a-commit"],
    ),
    // Objects.
    ("the newest record is gone", |w| prune(w, &worker(w, "wait")), &["unreadable"]),
    ("an old record is gone", |w| prune(w, &format!("{}~1", worker(w, "draft"))), &["unreadable"]),
    ("a blob of a record", |w| prune(w, &format!("{}:record.json", worker(w, "draft"))), &["unreadable"]),
    ("a blob of a delta", |w| prune(w, "refs/heads/main:more.txt"), &["unreadable"]),
    ("a commit of a lane", |w| prune(w, &format!("{}~3", lane(w))), &["unreadable"]),
    (
        "the blob of a note",
        |w| {
            let listed = w.git(["notes", "--ref=skein/landed", "list"]);
            prune(w, listed.split(' ').next().unwrap());
        },
        &["unreadable"],
    ),
    // Records.
    (
        "a later version",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["v"] = 2.into()),
        &["unknown-version"],
    ),
    (
        "a later version on the lane",
        |w| amend_json(w, &lane(w), "record.json", |r| r["v"] = 2.into()),
        &["unknown-version"],
    ),
    (
        "no JSON",
        |w| amend(w, &worker(w, "draft"), "record.json", |_| Some(b"{".to_vec())),
        &["record-damaged"],
    ),
    ("no record", |w| amend(w, &worker(w, "draft"), "record.json", |_| None), &["record-damaged"]),
    (
        "a key less",
        |w| {
            amend_json(w, &worker(w, "draft"), "record.json", |r| {
                drop(r.as_object_mut().unwrap().remove("base"))
            });
        },
        &["record-damaged"],
    ),
    (
        "on one line",
        |w| {
            amend(w, &worker(w, "draft"), "record.json", |b| {
                Some(serde_json::from_slice::<Value>(&b).unwrap().to_string().into_bytes())
            });
        },
        &["not-canonical"],
    ),
    (
        "a key more",
        |w| amend_json(w, &lane(w), "record.json", |r| r["note"] = "x".into()),
        &["not-canonical"],
    ),
    (
        "a process id",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["pid"] = 7.into()),
        &["machine-fact"],
    ),
    (
        "a host, deep inside",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["limits"]["host"] = "x".into()),
        &["machine-fact"],
    ),
    (
        "another worker's record",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["worker"] = STRANGER.into()),
        &["record-differs"],
    ),
    (
        "another base",
        |w| {
            let other = w.rev("main^");
            amend_json(w, &worker(w, "draft"), "record.json", |r| r["base"] = other.clone().into());
        },
        &["record-differs"],
    ),
    (
        "a delta that was not frozen",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["deltas"] = 2.into()),
        &["record-differs", "delta-missing"],
    ),
    ("no kind", |w| amend(w, &worker(w, "draft"), "kind.md", |_| None), &["file-missing"]),
    (
        "another kind",
        |w| amend(w, &worker(w, "draft"), "kind.md", |_| Some(b"Do what you like.\n".to_vec())),
        &["record-differs"],
    ),
    (
        "a kind that binds less",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["kind"]["forbid"] = json!([])),
        &["record-differs"],
    ),
    (
        "a plan of other words",
        |w| amend_json(w, &worker(w, "draft"), "record.json", |r| r["plans"][0]["goal"] = "all".into()),
        &["record-differs"],
    ),
    ("no brief", |w| amend(w, &worker(w, "draft"), "brief.md", |_| None), &["file-missing"]),
    (
        "no output",
        |w| {
            let mut evidence = newest(w, "evidence");
            evidence["exit"] = 1.into();
            append(w, &evidence, &[]);
        },
        &["file-missing"],
    ),
    // Chains.
    (
        "a record of a person's making",
        |w| {
            let name = worker(w, "draft");
            let commit = w.git(["commit-tree", "-p", &name, "-m", "mine", &format!("{name}^{{tree}}")]);
            w.git(["update-ref", &name, &commit]);
        },
        &["chain-broken"],
    ),
    (
        "a parent more",
        |w| {
            reparent(w, &worker(w, "draft"), |mut p| {
                p.push(at(&open(w), "refs/heads/main"));
                p
            })
        },
        &["chain-broken"],
    ),
    (
        "the past cut off",
        |w| reparent(w, &worker(w, "draft"), |_| vec![at(&open(w), "refs/heads/main")]),
        &["chain-broken"],
    ),
    (
        "a lane that forgets what it keeps",
        |w| {
            w.skein(&["undo"]).ok();
            reparent(w, &lane(w), |p| p[..1].to_vec());
        },
        &["chain-broken"],
    ),
    // Deltas.
    (
        "the newest record without its delta",
        |w| amend(w, &worker(w, "more"), "delta/1/delta.json", |_| None),
        &["delta-missing"],
    ),
    (
        "a delta written again",
        |w| amend_json(w, &worker(w, "more"), "delta/1/delta.json", |d| d["created"] = 1.into()),
        &["delta-altered"],
    ),
    (
        "a delta whose tip nothing keeps",
        |w| reparent(w, &worker(w, "fix"), |p| p[..1].to_vec()),
        &["delta-unkept"],
    ),
    (
        "a delta of another digest",
        |w| amend_json(w, &worker(w, "fix"), "delta/1/delta.json", |d| d["net"]["raw"] = "00".into()),
        &["delta-differs"],
    ),
    (
        "a delta with a commit less",
        |w| {
            amend_json(w, &worker(w, "fix"), "delta/1/delta.json", |d| {
                d["commits"].as_array_mut().unwrap().remove(0);
            });
        },
        &["delta-differs"],
    ),
    (
        "a delta of another tree",
        |w| {
            let tree = w.rev("main^{tree}");
            amend_json(w, &worker(w, "fix"), "delta/1/delta.json", |d| d["tree"] = tree.clone().into());
        },
        &["delta-differs"],
    ),
    (
        "a delta of another number",
        |w| amend_json(w, &worker(w, "fix"), "delta/1/delta.json", |d| d["n"] = 2.into()),
        &["delta-differs"],
    ),
    // Lanes.
    (
        "a landing that was cut short",
        |w| {
            let mut land = w.command(&["land", "wait"]);
            land.env("SKEIN_FAULT", "landing: intent durable:1:kill").output().unwrap();
        },
        &["move-open"],
    ),
    (
        "a landing that nothing ended",
        |w| {
            let mut intent = newest(w, "intent");
            let new = intent["new"].as_str().unwrap().to_owned();
            append(w, &intent, &[&new]);
            intent["op"] = STRANGER.into();
            append(w, &intent, &[&new]);
        },
        &["move-unended", "move-open"],
    ),
    (
        "a landing that nothing announced",
        |w| {
            let mut landing = newest(w, "landing");
            landing["op"] = STRANGER.into();
            append(w, &landing, &[landing["new"].as_str().unwrap()]);
        },
        &["move-unannounced"],
    ),
    (
        "an end of nothing",
        |w| append(w, &json!({"v": 1, "kind": "abandoned", "op": STRANGER, "at": 1, "why": "x"}), &[]),
        &["move-unannounced"],
    ),
    (
        "a landing that is not as announced",
        |w| amend_json(w, &lane(w), "record.json", |r| r["at"] = 1.into()),
        &["move-differs"],
    ),
    (
        "a landing that says another digest",
        |w| land(w, |r| r["delta"]["landed_raw"] = "00".into()),
        &["move-differs", "note-missing"],
    ),
    (
        "a landing that says another delta",
        |w| land(w, |r| r["delta"]["raw"] = "00".into()),
        &["move-differs", "note-missing"],
    ),
    (
        "a landing backwards",
        |w| {
            land(w, |r| {
                let old = r["old"].clone();
                r["old"] = r["new"].clone();
                r["new"] = old;
            });
        },
        &["move-differs", "note-missing"],
    ),
    (
        "an undo of nothing",
        |w| {
            w.skein(&["undo"]).ok();
            let mut undone = newest(w, "undone");
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            let (old, new) = (text(&undone["old"]), text(&undone["new"]));
            undone["undoes"] = STRANGER.into();
            undone["op"] = STRANGER.into();
            undone["kind"] = "undo".into();
            append(w, &undone, &[&new, &old]);
            undone["kind"] = "undone".into();
            append(w, &undone, &[&new]);
        },
        &["move-differs"],
    ),
    (
        "a verdict on another delta",
        |w| {
            let mut verdict = newest(w, "verdict");
            verdict["raw"] = "00".into();
            append(w, &verdict, &[verdict["tip"].as_str().unwrap()]);
        },
        &["verdict-differs"],
    ),
    (
        "a judgment that is on no lane",
        |w| amend_json(w, &worker(w, "wait"), "record.json", |r| r["judged"][0]["op"] = STRANGER.into()),
        &["verdict-differs"],
    ),
    // Notes.
    ("no notes", |w| drop(w.git(["update-ref", "-d", "refs/notes/skein/landed"])), &["note-missing"]),
    ("a note less", |w| notes(w, &["remove", "coord"]), &["note-missing"]),
    (
        "another line in its place",
        |w| {
            let line = w.git(["notes", "--ref=skein/landed", "show", "coord"]);
            notes(w, &["add", "-f", "-m", &line.replace("\"delta\":1", "\"delta\":2"), "coord"]);
        },
        &["note-altered"],
    ),
    ("the same note elsewhere", |w| notes(w, &["copy", "coord", "main^^"]), &["note-extra"]),
    ("words in a note", |w| notes(w, &["append", "-m", "mine", "coord"]), &["note-damaged"]),
    (
        "a line of another clone",
        |w| {
            let line = w.git(["notes", "--ref=skein/landed", "show", "coord"]);
            let mut line: Value = serde_json::from_str(&line).unwrap();
            line["op"] = STRANGER.into();
            notes(w, &["append", "-m", &line.to_string(), "coord"]);
        },
        &["note-unproven"],
    ),
    (
        "a line of a later version",
        |w| notes(w, &["append", "-m", "{\"v\":2}", "coord"]),
        &["unknown-version"],
    ),
    // Candidates.
    (
        "a candidate under another name",
        |w| {
            let at = w.rev(&only(w, "refs/skein-local/candidate"));
            w.git(["update-ref", &format!("refs/skein-local/candidate/{STRANGER}"), &at]);
        },
        &["candidate-differs"],
    ),
    (
        "a candidate of another digest",
        |w| {
            amend_json(w, &only(w, "refs/skein-local/candidate"), "record.json", |r| {
                r["landing"]["delta"]["raw"] = "00".into();
            });
        },
        &["candidate-differs"],
    ),
    (
        "a candidate that its record does not keep",
        |w| reparent(w, &only(w, "refs/skein-local/candidate"), |p| p[1..].to_vec()),
        &["chain-broken"],
    ),
    // Bundles.
    (
        "a bundle under another name",
        |w| {
            let at = w.rev(&only(w, "refs/skein/bundle"));
            w.git(["update-ref", &format!("refs/skein/bundle/{STRANGER}"), &at]);
        },
        &["bundle-differs"],
    ),
    (
        "a bundle with another brief",
        |w| amend(w, &only(w, "refs/skein/bundle"), "brief/brief.md", |_| Some(b"another".to_vec())),
        &["bundle-differs"],
    ),
    (
        "a bundle of another digest",
        |w| amend_json(w, &only(w, "refs/skein/bundle"), "bundle.json", |r| r["delta"]["raw"] = "00".into()),
        &["bundle-differs"],
    ),
    (
        "a bundle that its commit does not keep",
        |w| reparent(w, &only(w, "refs/skein/bundle"), |_| Vec::new()),
        &["bundle-differs"],
    ),
    // Keep-refs, worktrees, local files.
    (
        "no keep-ref, but a delta",
        |w| drop(w.git(["update-ref", "-d", &head(w, "wait")])),
        &["keep-ref-missing"],
    ),
    (
        "a snapshot let go",
        |w| {
            let wip = format!("refs/skein-local/wip/{}", w.ulid("draft"));
            w.git(["update-ref", "-d", &wip]);
        },
        &["keep-ref-lacks"],
    ),
    (
        "a keep-ref of nobody",
        |w| drop(w.git(["update-ref", &format!("refs/skein-local/head/{STRANGER}"), "main"])),
        &["keep-ref-stray"],
    ),
    (
        "a worktree of nobody",
        |w| {
            let reason = format!("git-skein worker {STRANGER}");
            w.git(["worktree", "add", "--quiet", "--detach", "--lock", "--reason", &reason, "../stray"]);
        },
        &["worktree-stray"],
    ),
    ("a worktree deleted", |w| fs::remove_dir_all(w.worktree("draft")).unwrap(), &["worktree-missing"]),
    (
        "an index locked by the dead",
        |w| fs::write(w.path(".git/index.lock"), format!("git-skein landing {STRANGER}\n")).unwrap(),
        &["lock-stale"],
    ),
    (
        "a gate of the dead",
        |w| fs::create_dir_all(w.path(&format!(".git/skein/run/gate-{STRANGER}"))).unwrap(),
        &["lock-stale"],
    ),
    (
        "a run of nobody",
        |w| fs::create_dir_all(w.path(&format!(".git/skein/run/{STRANGER}"))).unwrap(),
        &["run-stray"],
    ),
];
