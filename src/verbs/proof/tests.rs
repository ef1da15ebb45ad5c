//! The oracle against histories made by real git. The first test is the promise: no false "landed".
#![expect(clippy::disallowed_methods, reason = "the histories of these tests are made by git and by hand")]

mod around;
mod kinds;
mod liar;
mod needless;
mod plain;
mod random;
mod story;
mod takeback;
mod tricks;
mod trunkin;
mod world;

use crate::domain::Unknown;
use crate::domain::Verdict;
use crate::plumbing::oracle::git;
use crate::verbs::proof::base_of;
use needless::NEEDLESS;
use std::rc::Rc;
use story::Story;
use story::Truth;
use story::doc;
use world::World;
use world::told;

/// One history: `B..S` is asked against `T`.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub truth: Truth,
    /// The verdict with its proof, and after `@` the commit that it names.
    pub want: &'static str,
    /// What git's own tools say, where it is wrong or instructive: the signs of `git cherry`, or `merged`.
    pub git: &'static str,
    pub tell: fn(&mut Story),
}

fn case(
    name: &'static str,
    truth: Truth,
    want: &'static str,
    git: &'static str,
    tell: fn(&mut Story),
) -> Case {
    Case { name, truth, want, git, tell }
}

fn all() -> Vec<Case> {
    let tables = [plain::cases, takeback::cases, tricks::cases, trunkin::cases, around::cases, kinds::cases];
    tables.iter().flat_map(|table| table()).collect()
}

#[test]
fn never_a_false_landed() {
    let cases = all();
    assert!(cases.len() >= 280, "{}", cases.len());
    let wrong: Vec<String> = cases.iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong about the answers to one case.
fn check(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    for format in ["sha1", "sha256"] {
        let world = World::tell(case.tell, format);
        let answer = world.ask();
        if world::is_false_landed(&answer.verdict, case.truth) {
            wrong.push(format!("{}: FALSE LANDED", case.name));
        }
        let (want, at) = case.want.split_once(" @").unwrap_or((case.want, ""));
        let fits_at = match &answer.verdict {
            Verdict::Landed { at: found, .. } => at.is_empty() || world.is(at, *found),
            _ => at.is_empty(),
        };
        if told(&answer.verdict) != want || !fits_at {
            let named = |text: String| {
                world.oids.iter().fold(text, |t, (name, oid)| t.replace(&oid.to_string(), name))
            };
            let tried: Vec<String> = answer.explain.iter().map(|l| named(format!("\n    {l:?}"))).collect();
            let got = named(format!("{:?}", answer.verdict));
            wrong.push(format!("{}: want {}, got {got}{}", case.name, case.want, tried.concat()));
        }
        if !case.git.is_empty() && format == "sha1" {
            let says = match case.git {
                "merged" if world.merged() => "merged".to_owned(),
                "merged" => String::new(),
                _ => world.cherry(),
            };
            if says != case.git {
                wrong.push(format!("{}: git says {says:?}, not {:?}", case.name, case.git));
            }
        }
    }
    wrong
}

#[test]
fn every_needless_no_is_listed_and_names_are_unique() {
    let cases = all();
    let landed = |c: &Case| c.want.starts_with("landed");
    let needless: Vec<&str> =
        cases.iter().filter(|c| c.truth == Truth::In && !landed(c)).map(|c| c.name).collect();
    for name in &needless {
        assert!(NEEDLESS.iter().any(|n| n.0 == *name), "{name:?} is a needless no that is not listed");
    }
    for (name, _) in NEEDLESS {
        assert!(needless.contains(name), "{name:?} is listed, and is no needless no");
    }
    let mut names: Vec<&str> = cases.iter().map(|c| c.name).collect();
    names.sort_unstable();
    let twice: Vec<&[&str]> = names.windows(2).filter(|w| w[0] == w[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn every_proof_and_verdict_has_cases() {
    let cases = all();
    for kind in [
        "landed receipt",
        "landed ancestor",
        "landed exact",
        "landed range",
        "landed contained",
        "landed, changed since",
        "reverted",
        "partial",
        "not-landed",
        "empty",
        "unknown",
    ] {
        let count = cases.iter().filter(|c| c.want.starts_with(kind)).count();
        assert!(count >= 2, "{kind}: {count}");
    }
}

#[test]
fn nothing_is_written() {
    let world = World::tell(
        |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(15, "fifteen")]))]);
        },
        "sha1",
    );
    let count = |w: &World| git(w.dir.path(), &["count-objects", "-v"], b"");
    let before = count(&world);
    assert_eq!(told(&world.ask().verdict), "not-landed");
    assert_eq!(count(&world), before);
}

#[test]
fn similar_pairs_are_named() {
    let world = World::tell(
        |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "    b()")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "  b()")]))]);
        },
        "sha1",
    );
    let similar = vec![(world.oid("S"), world.oid("T"))];
    assert_eq!(world.ask().verdict, Verdict::NotLanded { similar });
}

#[test]
fn partial_lists_what_is_found_and_missing() {
    let world = World::tell(
        |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["f1"], &[("b", "2\n")]);
            s.commit("S", &["f2"], &[("c", "2\n")]);
            s.commit("t1", &["B"], &[("a", "2\n")]);
            s.commit("T", &["t1"], &[("c", "2\n")]);
        },
        "sha1",
    );
    let [f1, f2, s] = ["f1", "f2", "S"].map(|n| world.oid(n));
    assert_eq!(world.ask().verdict, Verdict::Partial { missing: vec![f2], found: vec![f1, s] });
}

#[test]
fn explain_tells_what_was_tried() {
    let world = World::tell(
        |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("T", &["B"], &[("a", "2\n"), ("b", "2\n")]);
        },
        "sha1",
    );
    let tried: Vec<(&str, bool)> = world.ask().explain.iter().map(|l| (l.test, l.holds)).collect();
    let want =
        [("ancestor", false), ("contained", true), ("exact", false), ("range", true), ("presence", true)];
    assert_eq!(tried, want);
}

#[test]
fn a_plain_revision_has_a_base() {
    let world = World::tell(
        |s| {
            s.commit("R", &[], &[("a", "1\n")]);
            s.commit("B", &["R"], &[("a", "2\n")]);
            s.commit("S", &["B"], &[("a", "3\n")]);
            s.commit("T", &["B"], &[("b", "3\n")]);
            s.commit("M1", &["S", "T"], &[("b", "3\n")]);
            s.commit("M2", &["T", "S"], &[("a", "3\n")]);
            s.commit("X", &[], &[("x", "1\n")]);
        },
        "sha1",
    );
    for graph in [vec![Rc::default()], world.graphs()].concat() {
        let base = |rev: &str, onto: &str| {
            let found = base_of(&world.objects, &graph, world.oid(rev), world.oid(onto)).unwrap();
            found.map(|left| left.base)
        };
        assert_eq!(base("S", "T"), Ok(world.oid("B")));
        assert_eq!(base("B", "T"), Ok(world.oid("R")));
        assert_eq!(base("M1", "T"), Ok(world.oid("T")));
        assert_eq!(base("R", "T"), Err(Unknown::Root));
        assert_eq!(base("X", "T"), Err(Unknown::Unrelated));
        assert_eq!(base("M1", "M2"), Err(Unknown::ManyBases));
    }
}
