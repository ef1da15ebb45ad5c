//! Golden records: the bytes of version 1, made by the binary under a fixed clock and compared with the files
//! in `fixtures/state`. `SKEIN_GOLDEN=write` writes those of version 1 again. docs/schema.md documents each
//! key of each of them, and no other.

use crate::support::MOMENT;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;

const LANE: &str = "refs/skein/lane";

/// Where an object of a fixture is documented: file, pointer to it, heading of the section of its keys.
/// A list stands for each of its items.
const DOCUMENTED: &[(&str, &str, &[&str])] = &[
    ("worker", "", &["Worker record"]),
    ("worker", "/limits", &["The limits of a worker"]),
    ("worker-kind", "/kind", &["The kind of a worker"]),
    ("worker-kind", "/plans", &["The plans of a worker"]),
    ("worker-kind", "/plans/0/steps", &["The steps of a plan"]),
    ("worker-kind", "/plans/0/decided", &["The verdict on a plan"]),
    ("delta", "", &["Delta record"]),
    ("delta", "/net", &["Identities"]),
    ("delta", "/commits", &["The commits of a delta"]),
    ("delta", "/commits/0/identity", &["Identities"]),
    ("lane-intent", "", &["Lane records", "Intent and landing"]),
    ("lane-intent", "/delta", &["The delta of a landing"]),
    ("lane-landing", "", &["Lane records", "Intent and landing"]),
    ("lane-landing", "/delta", &["The delta of a landing"]),
    ("lane-landing-branch", "", &["Lane records", "Intent and landing"]),
    ("lane-abandoned", "", &["Lane records", "Abandoned"]),
    ("lane-undo", "", &["Lane records", "Undo and undone"]),
    ("lane-undone", "", &["Lane records", "Undo and undone"]),
    ("lane-rewritten", "", &["Lane records", "Rewritten"]),
    ("lane-evidence", "", &["Lane records", "Evidence"]),
    ("lane-verdict", "", &["Lane records", "Verdict"]),
    ("lane-verdict", "/risk", &["The risk of a delta"]),
    ("worker-judged", "/judged", &["A judgment on the record"]),
    ("candidate", "", &["Candidate record"]),
    ("candidate", "/landing", &["Intent and landing"]),
    ("candidate", "/landing/delta", &["The delta of a landing"]),
    ("note-landed", "", &["Notes"]),
    ("bundle", "", &["Bundles"]),
    ("bundle", "/delta", &["The delta of a bundle"]),
    ("bundle", "/papers", &["The papers of a bundle"]),
    ("doc", "", &["Session documents"]),
    ("doc", "/wrote", &["The newest write of a document"]),
    ("doc-turn", "", &["The turn of a document"]),
    ("doc-conflict", "", &["The conflict of a document"]),
    ("archive", "", &["Archives"]),
    ("archive", "/workers", &["An archived worker"]),
];

/// A repository in which every command has a second and a seed of its own.
struct Story {
    world: World,
    second: u64,
}

impl Story {
    fn new() -> Story {
        Story { world: World::new(), second: 0 }
    }

    fn skein(&mut self, args: &[&str], more: &[(&str, &str)]) -> Ran {
        self.second += 1;
        let clock = (MOMENT + self.second * 1000).to_string();
        let mut command = self.world.command(args);
        command.env("SKEIN_CLOCK", clock).env("SKEIN_SEED", self.second.to_string());
        ran(command.envs(more.iter().copied()).output().unwrap())
    }

    /// The same with standard input.
    fn fed(&mut self, args: &[&str], input: &str) -> Ran {
        self.second += 1;
        let clock = (MOMENT + self.second * 1000).to_string();
        let mut command = self.world.command(args);
        command.env("SKEIN_CLOCK", clock).env("SKEIN_SEED", self.second.to_string());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        ran(child.wait_with_output().unwrap())
    }

    /// The blob `path` of the commit at `name`.
    fn blob(&self, name: &str, path: &str) -> Vec<u8> {
        let found = self.world.try_git(["cat-file", "blob", &format!("{name}:{path}")]);
        assert!(found.status.success(), "{name}:{path}: {}", String::from_utf8_lossy(&found.stderr));
        found.stdout
    }

    fn only_ref(&self, below: &str) -> String {
        let listed = self.world.git(["for-each-ref", "--format=%(refname)", below]);
        assert_eq!(listed.lines().count(), 1, "{listed}");
        listed
    }

    /// The newest record of each kind on the lane.
    fn lane(&self) -> BTreeMap<String, Vec<u8>> {
        let lane = self.only_ref(LANE);
        let mut found = BTreeMap::new();
        for commit in self.world.git(["rev-list", "--first-parent", &lane]).lines() {
            if !self.world.try_git(["cat-file", "-e", &format!("{commit}:record.json")]).status.success() {
                break;
            }
            let bytes = self.blob(commit, "record.json");
            let kind = parse(&bytes)["kind"].as_str().unwrap().to_owned();
            found.entry(kind).or_insert(bytes);
        }
        found
    }
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// One record of each kind, as the binary writes them.
fn records() -> BTreeMap<&'static str, Vec<u8>> {
    let mut story = Story::new();
    let mut found = BTreeMap::new();

    // One whole file at once and no commit: there is one snapshot, whenever it is taken.
    let script = "echo text >$TMPDIR/skein-golden.$$ && mv $TMPDIR/skein-golden.$$ c.txt";
    let args = ["dispatch", "--wait", "--name", "draft", "--path", "*.txt", "--timeout", "1m", "--silence"];
    let rest = ["30s", "--done-pattern", "^done$", "Write c.txt", "--", "sh", "-c", script];
    story.skein(&[&args[..], &rest[..]].concat(), &[]).code(3);
    found.insert("worker", story.blob(&story.only_ref("refs/skein/worker"), "record.json"));

    let script = "sed s/1/one/ a.txt >new && mv new a.txt && git commit -qam one && \
                  sed s/2/two/ a.txt >new && mv new a.txt && git commit -qam two";
    story.skein(&["dispatch", "--wait", "--name", "fix", "Name numbers", "--", "sh", "-c", script], &[]).ok();
    story.skein(&["candidate", "create", "fix"], &[]).ok();
    story.skein(&["candidate", "admit", "fix", "--gate", "grep -c one a.txt"], &[]).ok();
    let ulid = story.world.ulid("fix");
    found.insert("delta", story.blob(&format!("refs/skein/worker/{ulid}"), "delta/1/delta.json"));
    found.insert("candidate", story.blob(&story.only_ref("refs/skein-local/candidate"), "record.json"));
    story.skein(&["candidate", "integrate", "fix"], &[]).ok();
    let note = story.world.git(["notes", "--ref=skein/landed", "list", "main"]);
    found.insert("note-landed", story.world.try_git(["cat-file", "blob", &note]).stdout);
    let mut lane = story.lane();
    found.insert("lane-intent", lane.remove("intent").unwrap());
    found.insert("lane-landing", lane.remove("landing").unwrap());
    let evidence = String::from_utf8(lane.remove("evidence").unwrap()).unwrap();
    found.insert("lane-evidence", without_millis(&evidence).into_bytes());

    // A process that dies between its intent and the move of the branch; the next one abandons for it.
    story.world.git(["branch", "topic"]);
    story.world.git(["checkout", "--quiet", "topic"]);
    story.world.write("b.txt", "bb\n");
    story.world.commit("topic");
    strike(&mut story, &["land", "topic"], "landing: intent durable");
    story.skein(&["land", "topic"], &[]).ok();
    let mut lane = story.lane();
    found.insert("lane-abandoned", lane.remove("abandoned").unwrap());
    found.insert("lane-landing-branch", lane.remove("landing").unwrap());
    story.skein(&["undo"], &[]).ok();
    let mut lane = story.lane();
    found.insert("lane-undo", lane.remove("undo").unwrap());
    found.insert("lane-undone", lane.remove("undone").unwrap());

    story.skein(&["reap", "fix", "--yes"], &[]).ok();
    found.insert("archive", story.blob(&story.only_ref("refs/skein/archive"), "index.json"));

    story.skein(&["verdict", "draft", "accept", "-m", "fine"], &[]).ok();
    found.insert("worker-judged", story.blob(&story.only_ref("refs/skein/worker"), "record.json"));
    let verdict = String::from_utf8(story.lane().remove("verdict").unwrap()).unwrap();
    found.insert("lane-verdict", without_record(&verdict).into_bytes());
    story.world.git(["checkout", "--quiet", "main"]);
    story.world.kind("planner", "---\nplan_gate: true\nforbid: [b.txt]\nbudget: 2.5\n---\nPlan it.\n");
    let script =
        "git skein worker plan --goal 'A file n' --step 'Write it -- n' --verify 'cat n' --risk 'None'";
    let args = ["dispatch", "--wait", "--kind", "planner", "--name", "p", "p", "--", "sh", "-c", script];
    story.skein(&args, &[]).code(3);
    // It dies before the worker goes on.
    let fault = ("SKEIN_FAULT", "plan: verdict recorded:1:kill");
    story.skein(&["plan", "p", "approve", "-m", "Do it"], &[fault]);
    let ulid = story.world.ulid("p");
    found.insert("worker-kind", story.blob(&format!("refs/skein/worker/{ulid}"), "record.json"));

    // Evidence has the time that a command took.
    story.skein(&["bundle", "save", "fix", "--without", "evidence,messages"], &[]).ok();
    let bundle = story.blob(&story.only_ref("refs/skein/bundle"), "bundle.json");
    found.insert("bundle", without_record(&String::from_utf8(bundle).unwrap()).into_bytes());

    let plan = |status: &str| {
        format!(
            "---\nskein_doc: 01k00000000000000000000d0c\n---\n\n<!-- agent:status -->\n{status}\n<!-- /agent:status -->\n"
        )
    };
    story.world.write("plan.md", &plan("idle"));
    story.skein(&["doc", "preflight", "plan.md"], &[]).ok();
    story.world.write("plan.md", &plan("blocked"));
    let answer = "<!-- patch:status -->\nclosed\n<!-- /patch:status -->\n";
    let args = ["doc", "write", "plan.md", "--origin", "test", "--agent", "pi", "--model", "m"];
    story.fed(&args, answer).code(3);
    let doc = story.only_ref("refs/skein/doc");
    found.insert("doc", story.blob(&doc, "meta.json"));
    found.insert("doc-turn", story.blob(&doc, "turns/0/01/meta.json"));
    found.insert("doc-conflict", story.blob(&doc, "conflicts/1.json"));

    // As if somebody had amended what landed.
    let noted = story.world.lines(&["notes", "--ref=skein/landed", "list"]);
    let landed = noted[0].split(' ').nth(1).unwrap();
    let [parent, tree] = ["^", "^{tree}"].map(|of| format!("{landed}{of}"));
    let amended = story.world.git(["commit-tree", "-p", &parent, "-m", "other words", &tree]);
    let pair = format!("{landed} {amended}\n");
    let rewritten = story.fed(&["hook", "post-rewrite", "-", "amend"], &pair).ok();
    assert!(rewritten.err.contains("came along"), "{rewritten:?}");
    found.insert("lane-rewritten", story.lane().remove("rewritten").unwrap());
    found
}

/// Kills the command at the failpoint `name`, wherever that stands among all of them.
fn strike(story: &mut Story, args: &[&str], name: &str) {
    let mark = story.world.root().join("mark");
    for k in 1..100 {
        let fault = format!("point:{k}:kill");
        story.second -= u64::from(k > 1);
        story.skein(args, &[("SKEIN_FAULT", &fault), ("SKEIN_FAULT_MARK", mark.to_str().unwrap())]);
        if fs::read_to_string(&mark).is_ok_and(|struck| struck == name) {
            return;
        }
    }
    panic!("{name} was not crossed");
}

/// How long a command ran is the one fact that no clock can fix.
fn without_millis(text: &str) -> String {
    let line =
        |l: &str| if l.contains("\"millis\": ") { "  \"millis\": 0,\n".to_owned() } else { format!("{l}\n") };
    text.lines().map(line).collect()
}

/// In the tree of that commit is what the supervisor saw, in its own time.
fn without_record(text: &str) -> String {
    let at = text.split_once("\"record\": \"").unwrap().1.split('"').next().unwrap();
    text.replace(at, &"0".repeat(at.len()))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/state")
}

#[test]
fn records_of_version_1_keep_their_bytes() {
    let made = records();
    let folder = fixtures().join("v1");
    if std::env::var("SKEIN_GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::create_dir_all(&folder).unwrap();
        made.iter().for_each(|(name, bytes)| fs::write(folder.join(format!("{name}.json")), bytes).unwrap());
    }
    let names: BTreeSet<String> = made.keys().map(|name| format!("{name}.json")).collect();
    let listed = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(names, listed.collect(), "one fixture for each kind of record");
    for (name, bytes) in made {
        let golden = fs::read(folder.join(format!("{name}.json"))).unwrap();
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        assert_eq!(text(&bytes), text(&golden), "{name}.json; SKEIN_GOLDEN=write takes the new bytes");
    }
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let doc = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema.md")).unwrap();
    let mut unseen: BTreeSet<String> = fs::read_dir(fixtures().join("v1"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    for (file, pointer, headings) in DOCUMENTED {
        let name = format!("{file}.json");
        let record = parse(&fs::read(fixtures().join("v1").join(&name)).unwrap());
        unseen.remove(&name);
        let found = record.pointer(pointer).unwrap_or_else(|| panic!("{name} has no {pointer}"));
        let items = found.as_array().cloned().unwrap_or_else(|| vec![found.clone()]);
        assert!(!items.is_empty(), "{name}{pointer} is empty and shows nothing");
        let want: BTreeSet<String> = headings.iter().flat_map(|h| keys(&doc, h)).collect();
        for item in items {
            let have: BTreeSet<String> = item.as_object().unwrap().keys().cloned().collect();
            assert_eq!(have, want, "{name}{pointer} beside {headings:?} of docs/schema.md");
        }
    }
    assert!(unseen.is_empty(), "no section for {unseen:?}");
}

/// The keys in the tables under `heading`, up to the next heading.
fn keys(doc: &str, heading: &str) -> BTreeSet<String> {
    let is = |line: &str| line.starts_with('#') && line.trim_start_matches('#').trim() == heading;
    let mut lines = doc.lines().skip_while(|l| !is(l)).skip(1).take_while(|l| !l.starts_with('#'));
    let mut found = BTreeSet::new();
    while let Some(line) = lines.next() {
        if line.starts_with("| key |") {
            let rows = lines.by_ref().skip(1).take_while(|l| l.starts_with('|'));
            for row in rows {
                let first = row.split('|').nth(1).unwrap_or_default();
                found.extend(first.split('`').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
    assert!(!found.is_empty(), "no table of keys under {heading:?}");
    found
}

#[test]
fn a_table_of_keys_is_read() {
    let doc = "## One\n\n| key | type |\n|---|---|\n| `a`, `b` | x |\n\n| other |\n|---|\n| `c` |\n\n### Two\n\n\
               | key |\n|---|\n| `d` |\n";
    assert_eq!(keys(doc, "One"), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert_eq!(keys(doc, "Two"), BTreeSet::from(["d".to_owned()]));
}

/// A worker that a later version recorded is listed with the reason, nothing decides on it, nothing rewrites it.
#[test]
fn a_record_of_version_2_is_listed_and_never_rewritten() {
    let world = World::new();
    world.worker("one", "echo x >x && git add x && git commit -qm x");
    let file = fixtures().join("v2/worker.json");
    let ulid = parse(&fs::read(&file).unwrap())["worker"].as_str().unwrap().to_owned();
    let blob = world.git(["hash-object", "-w", "--no-filters", file.to_str().unwrap()]);
    world.git(["update-index", "--add", "--cacheinfo", &format!("100644,{blob},record.json")]);
    let tree = world.git(["write-tree", "--missing-ok"]);
    world.git(["reset", "--quiet"]);
    let commit = world.git(["commit-tree", "-m", "later", &tree]);
    let name = format!("refs/skein/worker/{ulid}");
    world.git(["update-ref", &name, &commit]);

    let status = world.skein(&["status"]).ok().out;
    assert!(status.contains(&format!("{ulid} version 2 is not known here")), "{status}");
    let listed = world.skein(&["status", "--json"]).ok().json();
    assert_eq!(listed["result"]["unreadable"][0]["worker"], ulid.as_str());
    for verb in [&["show"][..], &["land"], &["import"], &["stop"], &["candidate", "create"]] {
        world.skein(&[verb, &[&ulid]].concat()).refused("unknown-record", 1);
    }
    world.worker("two", "echo y >y && git add y && git commit -qm y");
    world.skein(&["land", "one", "two"]).ok();
    assert_eq!(world.rev(&name), commit);
    world.check();
}
