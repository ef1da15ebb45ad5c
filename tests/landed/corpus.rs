//! The corpus of the landed oracle, told to the built binary and to git's own tools.

#[path = "../../src/verbs/proof/tests/around.rs"]
mod around;
#[path = "../../src/verbs/proof/tests/kinds.rs"]
mod kinds;
#[path = "../../src/verbs/proof/tests/needless.rs"]
mod needless;
#[path = "../../src/plumbing/oracle.rs"]
mod oracle;
#[path = "../../src/verbs/proof/tests/plain.rs"]
mod plain;
#[path = "../../src/verbs/proof/tests/story.rs"]
mod story;
#[path = "../../src/verbs/proof/tests/takeback.rs"]
mod takeback;
#[path = "../../src/verbs/proof/tests/tricks.rs"]
mod tricks;
#[path = "../../src/verbs/proof/tests/trunkin.rs"]
mod trunkin;

use crate::support::ran;
use oracle::git;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

pub use needless::NEEDLESS;
pub use story::Story;
pub use story::Truth;

/// One history: `B..S` is asked against `T`.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub truth: Truth,
    pub want: &'static str,
    tell: fn(&mut Story),
}

impl Case {
    /// The verdict that the tables want, without the commit.
    pub fn verdict(&self) -> &'static str {
        self.want.split_once(" @").map_or(self.want, |(want, _)| want)
    }
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

/// A case with what everybody says of it.
pub struct Heard {
    pub case: Case,
    /// Verdict and exit code of the binary. `None` where the story has a receipt: no lane holds it.
    pub ours: Option<(String, i32)>,
    /// The signs of `git cherry` as `--by cherry` shows them.
    pub shown: String,
    /// The signs that `git cherry` prints by itself, or `failed`.
    pub cherry: String,
    /// `git merge-base --is-ancestor`.
    pub merged: bool,
    /// Whether worktrunk takes the branch for integrated, if `SKEIN_WORKTRUNK` says where that is.
    pub integrated: Option<bool>,
    /// Replacements or grafts make git's own tools see another history.
    pub disguised: bool,
}

/// The whole corpus, heard once; every other case in sha256.
pub fn heard() -> &'static [Heard] {
    static HEARD: OnceLock<Vec<Heard>> = OnceLock::new();
    HEARD.get_or_init(|| {
        let tables =
            [plain::cases, takeback::cases, tricks::cases, trunkin::cases, around::cases, kinds::cases];
        let cases: Vec<Case> = tables.iter().flat_map(|table| table()).collect();
        let hear_all = |cases: &[Case], first: usize| -> Vec<Heard> {
            let format = |n: usize| if (first + n).is_multiple_of(2) { "sha1" } else { "sha256" };
            cases.iter().enumerate().map(|(n, case)| hear(case, format(n))).collect()
        };
        let (one, two) = cases.split_at(cases.len() / 2);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| hear_all(two, one.len()));
            let mut heard = hear_all(one, 0);
            heard.extend(other.join().unwrap());
            heard
        })
    })
}

fn hear(case: &Case, format: &str) -> Heard {
    let dir = tempfile::tempdir().unwrap();
    let (story, _) = Story::tell(case.tell, format, dir.path());
    let git = |args: &[&str]| ran(bare("git", dir.path()).args(args).output().unwrap());
    let cherry = git(&["cherry", "T", "S", "B"]);
    let mut heard = Heard {
        case: case.clone(),
        ours: None,
        shown: String::new(),
        cherry: match cherry.code {
            0 => cherry.out.lines().map(|l| &l[..1]).collect(),
            _ => "failed".to_owned(),
        },
        merged: git(&["merge-base", "--is-ancestor", "S", "T"]).code == 0,
        integrated: std::env::var("SKEIN_WORKTRUNK").ok().map(|wt| integrated(&wt, dir.path())),
        disguised: story.replace.is_some() || story.graft.is_some(),
    };
    if story.claims.is_empty() {
        let args =
            ["landed", "refs/heads/S", "--base", "refs/heads/B", "--onto", "T", "--by", "cherry", "--json"];
        let ran = ran(bare(env!("CARGO_BIN_EXE_git-skein"), dir.path()).args(args).output().unwrap());
        let result = &ran.json()["result"];
        heard.ours = Some((told(&result["verdict"]), ran.code));
        heard.shown = signs(&result["cherry"]);
    }
    heard
}

/// What `wt list` says of the branch: that it may be removed, since its content is in the default branch. It wants a
/// worktree to stand in.
fn integrated(wt: &str, dir: &Path) -> bool {
    let git = |args: &[&str]| ran(bare("git", dir).args(args).output().unwrap()).ok();
    git(&["symbolic-ref", "HEAD", "refs/heads/T"]);
    git(&["config", "worktrunk.default-branch", "T"]);
    git(&["worktree", "add", "--quiet", "--no-checkout", "beside", "T"]);
    let said = ran(bare(wt, dir).args(["list", "--branches", "--format=json"]).output().unwrap()).json();
    let rows = said.as_array().or_else(|| said["items"].as_array()).unwrap();
    let row = rows.iter().find(|row| row["branch"] == "S").unwrap_or_else(|| panic!("no S: {said}"));
    ["empty", "integrated"].iter().any(|state| row["main_state"] == *state)
}

fn bare(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    command
}

/// A verdict as the tables write it.
fn told(verdict: &serde_json::Value) -> String {
    let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    match (text("verdict").as_str(), text("presence").as_str()) {
        ("landed", "yes") => format!("landed {}", text("proof")),
        ("landed", "changed") => format!("landed, changed since {}", text("proof")),
        ("landed", _) => format!("reverted {}", text("proof")),
        ("unknown", _) => format!("unknown {}", text("why")),
        (other, _) => other.to_owned(),
    }
}

/// The field `cherry` as signs; its own word must say the same.
fn signs(cherry: &serde_json::Value) -> String {
    let commits = cherry["commits"].as_array().cloned().unwrap_or_default();
    let signs: String = commits.iter().map(|c| if c["upstream"] == true { '-' } else { '+' }).collect();
    let word = cherry["says"].as_str().unwrap();
    let fits = match word {
        "landed" => !signs.is_empty() && !signs.contains('+'),
        "not-landed" => signs.contains('+'),
        _ => signs.is_empty(),
    };
    assert!(fits, "{cherry}");
    if word == "failed" { word.to_owned() } else { signs }
}

#[test]
fn never_a_false_landed() {
    let (mut asked, mut wrong) = (0, Vec::new());
    for Heard { case, ours, .. } in heard() {
        let Some((told, code)) = ours else { continue };
        asked += 1;
        // Zero is what permits a clean-up, so it must never be said of what is not there.
        if *code == 0 && case.truth != Truth::In {
            wrong.push(format!("{}: FALSE LANDED {told}", case.name));
        }
        let wanted = match case.verdict() {
            want if want.starts_with("landed") => 0,
            want if want.starts_with("unknown") => 128,
            _ => 1,
        };
        if told != case.verdict() || *code != wanted {
            wrong.push(format!("{}: want {} {wanted}, got {told} {code}", case.name, case.verdict()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked >= 280, "{asked}");
}

#[test]
fn by_cherry_shows_what_git_cherry_says() {
    let (mut agree, mut hidden) = (0, 0);
    for h in heard().iter().filter(|h| h.ours.is_some()) {
        if h.disguised {
            // Replacements and grafts are not believed, here neither.
            hidden += usize::from(h.shown != h.cherry);
            continue;
        }
        assert_eq!(h.shown, h.cherry, "{}", h.case.name);
        agree += 1;
    }
    assert!(agree >= 270 && hidden >= 2, "{agree} {hidden}");
}
