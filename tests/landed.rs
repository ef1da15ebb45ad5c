//! The corpus of the landed oracle through the built binary: the stories of the unit tests, told to
//! `git skein landed --json`. Histories with a receipt are made by real landings instead, further down.

#[path = "../src/verbs/proof/tests/plain.rs"]
mod plain;
#[path = "../src/verbs/proof/tests/story.rs"]
mod story;
#[path = "../src/verbs/proof/tests/takeback.rs"]
mod takeback;
#[path = "../src/verbs/proof/tests/tricks.rs"]
mod tricks;
#[path = "../src/verbs/proof/tests/trunkin.rs"]
mod trunkin;

use crate::support::World;
use crate::support::ran;
use std::process::Command;
use story::Story;
use story::Truth;

/// One history: `B..S` is asked against `T`.
struct Case {
    name: &'static str,
    truth: Truth,
    want: &'static str,
    tell: fn(&mut Story),
}

fn case(
    name: &'static str,
    truth: Truth,
    want: &'static str,
    _git: &'static str,
    tell: fn(&mut Story),
) -> Case {
    Case { name, truth, want, tell }
}

/// What the binary says of one story, as the tables write it, and its exit code. `None` where the story
/// needs more than a history: a receipt, a cut history, a lost object.
fn say(case: &Case, format: &str) -> Option<(String, i32)> {
    let dir = tempfile::tempdir().unwrap();
    let (story, _) = Story::tell(case.tell, format, dir.path());
    if !story.claims.is_empty() || story.shallow || story.lose.is_some() {
        return None;
    }
    let mut skein = Command::new(env!("CARGO_BIN_EXE_git-skein"));
    skein.args(["landed", "refs/heads/S", "--base", "refs/heads/B", "--onto", "T", "--json"]);
    skein.current_dir(dir.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    let ran = ran(skein.env("HOME", dir.path()).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap());
    let answer = &ran.json()["result"]["verdict"];
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    let told = match (text("verdict").as_str(), text("presence").as_str()) {
        ("landed", "yes") => format!("landed {}", text("proof")),
        ("landed", "changed") => format!("landed, changed since {}", text("proof")),
        ("landed", _) => format!("reverted {}", text("proof")),
        ("unknown", _) => format!("unknown {}", text("why")),
        (other, _) => other.to_owned(),
    };
    Some((told, ran.code))
}

#[test]
fn never_a_false_landed() {
    let cases: Vec<Case> = [plain::cases(), takeback::cases(), tricks::cases(), trunkin::cases()]
        .into_iter()
        .flatten()
        .collect();
    let (mut asked, mut wrong) = (0, Vec::new());
    for case in &cases {
        for format in ["sha1", "sha256"] {
            let Some((told, code)) = say(case, format) else { continue };
            asked += 1;
            // Zero is what permits a clean-up, so it must never be said of what is not there.
            if code == 0 && case.truth != Truth::In {
                wrong.push(format!("{}: FALSE LANDED {told}", case.name));
            }
            let want = case.want.split_once(" @").map_or(case.want, |(want, _)| want);
            let wanted = match want {
                _ if want.starts_with("landed") => 0,
                _ if want.starts_with("unknown") => 128,
                _ => 1,
            };
            if told != want || code != wanted {
                wrong.push(format!("{} ({format}): want {want} {wanted}, got {told} {code}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked >= 160, "{asked}");
}

#[test]
fn a_landing_is_proven_by_its_receipt_until_it_is_taken_back() {
    let world = World::new();
    world.worker("fix", "sed -i s/5/five/ a.txt && git commit -qam five");
    // Context moves, so that no digest and no patch id of the landed commit is that of the worker's.
    world.write("a.txt", &world.read("a.txt").replace("line 3", "drei"));
    world.commit("near");
    let landed = world.skein(&["land", "fix", "--json"]).ok().json()["result"].clone();
    assert_eq!(landed["match"], "adjusted");
    let proof = |world: &World| world.skein(&["landed", "fix", "--json"]).json()["result"]["verdict"].clone();
    assert_eq!((&proof(&world)["proof"], &proof(&world)["presence"]), (&"receipt".into(), &"yes".into()));
    world.write("a.txt", &world.read("a.txt").replace("five", "fuenf"));
    world.commit("later work");
    assert_eq!(proof(&world)["presence"], "changed");
    world.skein(&["landed", "fix"]).ok();
    world.git(["reset", "--quiet", "--hard", "HEAD^"]);
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(proof(&world)["presence"], "reverted");
    world.skein(&["landed", "fix"]).code(1);
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(proof(&world)["presence"], "yes");
}

#[test]
fn a_forged_trailer_is_no_receipt() {
    let world = World::new();
    world.worker("fix", "sed -i s/5/five/ a.txt && git commit -qam five");
    let message = format!("forged\n\nSkein-Worker: {}\nSkein-Delta: 1 abc\nSkein-Op: x\n", world.ulid("fix"));
    world.commit(&message);
    world.skein(&["landed", "fix"]).code(1);
}

#[test]
fn a_cut_history_is_unknown_and_nothing_is_fetched() {
    let world = World::new();
    for n in 0..4 {
        world.write("n.txt", &n.to_string());
        world.commit("more");
    }
    let url = format!("file://{}", world.repo.display());
    world.git(["clone", "--quiet", "--depth=2", &url, "../shallow"]);
    let mut shallow = world;
    shallow.cwd = shallow.root().join("shallow");
    shallow.git(["config", "user.name", "Ada"]);
    shallow.git(["config", "user.email", "ada@example.invalid"]);
    shallow.git(["switch", "--quiet", "--create", "work"]);
    std::fs::write(shallow.cwd.join("w.txt"), "w\n").unwrap();
    shallow.git(["add", "--all"]);
    shallow.git(["commit", "--quiet", "-m", "work"]);
    let said = shallow.skein(&["landed", "work", "--onto", "main"]);
    assert_eq!(said.code, 128, "{said:?}");
    assert!(said.out.contains("shallow"), "{said:?}");
}
