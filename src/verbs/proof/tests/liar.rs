//! git's own commit-graph is believed only where a lie costs nothing.

use crate::domain::Verdict;
use crate::plumbing::CommitGraph;
use crate::plumbing::Objects;
use crate::plumbing::oracle::git;
use crate::verbs::proof::Question;
use crate::verbs::proof::answer;
use crate::verbs::proof::prove_by;
use std::path::Path;
use std::rc::Rc;

fn commit(dir: &Path, tree: &str, parent: Option<&str>, date: u32) -> String {
    let mut args = vec!["-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "x", tree];
    args.extend(parent.iter().flat_map(|parent| ["-p", parent]));
    let header = String::from_utf8(git(dir, &args, b"")).unwrap();
    // Its own time, so that two of the same change are two.
    let raw = String::from_utf8(git(dir, &["cat-file", "commit", header.trim()], b"")).unwrap();
    let dated: Vec<String> = raw
        .lines()
        .map(|line| match line.split_once("> ") {
            Some((who, _)) => format!("{who}> {date} +0000"),
            None => line.to_owned(),
        })
        .collect();
    let args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    String::from_utf8(git(dir, &args, (dated.join("\n") + "\n").as_bytes())).unwrap().trim().to_owned()
}

fn tree(dir: &Path, files: &[(&str, &str)]) -> String {
    let mut listing = String::new();
    for (name, content) in files {
        let oid = git(dir, &["hash-object", "-w", "--stdin"], content.as_bytes());
        listing += &format!("100644 blob {}\t{name}\n", String::from_utf8(oid).unwrap().trim());
    }
    String::from_utf8(git(dir, &["mktree"], listing.as_bytes())).unwrap().trim().to_owned()
}

#[test]
fn a_graph_that_gives_the_trunk_another_past_lands_nothing() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    git(dir, &["init", "--quiet", "--bare", "."], b"");
    let base = commit(dir, &tree(dir, &[("a", "1\n"), ("b", "1\n")]), None, 1_767_225_600);
    let changed = tree(dir, &[("a", "2\n"), ("b", "1\n")]);
    let fork = commit(dir, &changed, Some(&base), 1_767_225_700);
    let twin = commit(dir, &changed, Some(&base), 1_767_225_800);
    let trunk = commit(dir, &tree(dir, &[("a", "1\n"), ("b", "2\n")]), Some(&base), 1_767_225_900);
    let all = [&base, &fork, &twin, &trunk].map(String::as_str).join("\n");
    let args = ["commit-graph", "write", "--changed-paths", "--stdin-commits"];
    git(dir, &args, all.as_bytes());
    let mut sorted = [&base, &fork, &twin, &trunk];
    sorted.sort();
    let place_of = |oid: &String| sorted.iter().position(|o| *o == oid).unwrap();
    let file = dir.join("objects/info/commit-graph");
    let mut bytes = std::fs::read(&file).unwrap();
    let chunk = bytes.windows(4).position(|name| name == b"CDAT").unwrap();
    let data = u64::from_be_bytes(*bytes[chunk + 4..].first_chunk().unwrap()) as usize;
    let parent = data + place_of(&trunk) * 36 + 20;
    bytes[parent..parent + 4].copy_from_slice(&(place_of(&twin) as u32).to_be_bytes());
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, bytes).unwrap();

    let objects = Objects::open(&dir.join("objects"), "sha1").unwrap();
    let [base, tip, onto] = [&base, &fork, &trunk].map(|oid| oid.parse().unwrap());
    let question =
        Question { base, committed: None, tip, onto, shallow: false, receipts: Vec::new(), trunk: None };
    let graph = Rc::new(CommitGraph::default().beside_git_at_once(&objects));
    let lied_to = answer(&objects, &graph, &question).unwrap();
    assert!(matches!(lied_to.verdict, Verdict::Landed { .. }), "the lie works: {:?}", lied_to.verdict);
    let asked = prove_by(&objects, &graph, &question).unwrap();
    assert!(matches!(asked.verdict, Verdict::NotLanded { .. }), "{:?}", asked.verdict);
}
