//! Plans: what a worker means to do, laid out before it does it. A decision is on one exact version of it.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Globs;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::mask;
use crate::domain::sha256;
use bstr::ByteSlice;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A plan as a worker lays it out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub goal: String,
    pub steps: Vec<Step>,
    pub verification: Vec<String>,
    #[serde(default)]
    pub risks: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub text: String,
    /// Globs of the files that it touches.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// A plan on the record. Its number counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidOut {
    pub n: u32,
    /// SHA-256 of what it says.
    pub id: String,
    pub goal: String,
    pub steps: Vec<Step>,
    pub verification: Vec<String>,
    pub risks: Vec<String>,
    pub at: i64,
    pub decided: Option<Decided>,
}

/// What a person said of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub verdict: Verdict,
    pub by: String,
    pub at: i64,
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Approve,
    Reject,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Approve => "approved",
            Verdict::Reject => "rejected",
        }
    }
}

impl Plan {
    /// From the command line: the paths of a step stand behind its last ` -- `.
    pub fn step(text: &str) -> Step {
        match text.rsplit_once(" -- ") {
            Some((text, paths)) => Step {
                text: text.trim().to_owned(),
                paths: paths.split_whitespace().map(ToOwned::to_owned).collect(),
            },
            None => Step { text: text.trim().to_owned(), paths: Vec::new() },
        }
    }

    /// Every text in it, with what it is.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let goal = [("the goal", self.goal.as_str())].into_iter();
        let steps = self.steps.iter().map(|step| ("a step", step.text.as_str()));
        let paths = self.steps.iter().flat_map(|step| &step.paths).map(|path| ("a path", path.as_str()));
        let verification = self.verification.iter().map(|text| ("a verification", text.as_str()));
        let risks = self.risks.iter().map(|text| ("a risk", text.as_str()));
        goal.chain(steps).chain(paths).chain(verification).chain(risks)
    }

    /// What it lacks to be decided on.
    pub fn lacks(&self) -> Option<&'static str> {
        match self {
            plan if plan.steps.is_empty() => Some("it has no step"),
            plan if plan.steps.iter().all(|step| step.paths.is_empty()) => {
                Some("no step names the paths that it touches: --step '<what> -- <path>…'")
            }
            plan if plan.verification.is_empty() => Some("it does not say how it will be verified: --verify"),
            _ => None,
        }
    }

    fn id(&self) -> String {
        sha256(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// As it stands on the record, secrets masked: the plan number `n`.
    pub fn laid_out(&self, n: u32, at: i64) -> LaidOut {
        let all = |texts: &[String]| texts.iter().map(|text| mask(text)).collect::<Vec<_>>();
        let step = |step: &Step| Step { text: mask(&step.text), paths: all(&step.paths) };
        let plan = Plan {
            goal: mask(&self.goal),
            steps: self.steps.iter().map(step).collect(),
            verification: all(&self.verification),
            risks: all(&self.risks),
        };
        let id = plan.id();
        let Plan { goal, steps, verification, risks } = plan;
        LaidOut { n, id, goal, steps, verification, risks, at, decided: None }
    }
}

impl LaidOut {
    pub fn is_approved(&self) -> bool {
        self.decided.as_ref().is_some_and(|decided| decided.verdict == Verdict::Approve)
    }

    /// Whether it says what it said when it got its id.
    pub fn is_genuine(&self) -> bool {
        let plan = Plan {
            goal: self.goal.clone(),
            steps: self.steps.clone(),
            verification: self.verification.clone(),
            risks: self.risks.clone(),
        };
        plan.id() == self.id
    }

    /// What of its id people are shown.
    pub fn short(&self) -> &str {
        self.id.get(..12).unwrap_or(&self.id)
    }

    /// How the changes stand to it.
    pub fn against(&self, changes: &[Change]) -> Result<Against> {
        let globs = || self.steps.iter().flat_map(|step| &step.paths).map(String::as_str);
        let all = Globs::new(globs())?;
        let text = |change: &Change| change.path.to_str_lossy().into_owned();
        let (planned, off_plan): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| all.covers(change.path.as_bstr()));
        let mut untouched = Vec::new();
        for glob in globs() {
            let one = Globs::new([glob])?;
            let touched = planned.iter().any(|change| one.covers(change.path.as_bstr()));
            if !touched && !untouched.iter().any(|known| known == glob) {
                untouched.push(glob.to_owned());
            }
        }
        Ok(Against {
            planned: planned.into_iter().map(text).collect(),
            off_plan: off_plan.into_iter().map(text).collect(),
            untouched,
        })
    }
}

/// Changed paths that a plan names, those that it does not, and what it names that has not changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Against {
    pub planned: Vec<String>,
    pub off_plan: Vec<String>,
    pub untouched: Vec<String>,
}

/// Whose plans they are: its handle, and the ref of its record.
#[derive(Debug, Clone)]
pub struct Whose {
    pub handle: String,
    pub record: String,
}

/// Which of the plans of `whose` a verdict is on: the newest, which is the one with id `asked` or a verdict is on
/// another one. `late` is what was changed before; that is approved by nobody.
pub fn decide(
    whose: &Whose,
    plans: &[LaidOut],
    asked: Option<&str>,
    verdict: Verdict,
    late: &[String],
) -> Result<usize> {
    let handle = &whose.handle;
    let last = plans.len().checked_sub(1).ok_or_else(|| none(whose, None))?;
    let meant = match asked {
        None => last,
        Some(id) if id.len() < 4 => return Err(none(whose, asked)),
        Some(id) => {
            plans.iter().rposition(|plan| plan.id.starts_with(id)).ok_or_else(|| none(whose, asked))?
        }
    };
    let newest = &plans[last];
    if meant != last {
        return Err(Refusal::new(Token::PlanMoved, format!("{handle} has laid out another plan since"))
            .lines([format!("asked for: {}", plans[meant].short()), format!("newest: {}", newest.short())])
            .show(format!("git log -2 {}", whose.record))
            .next(format!("read the newest one, git skein plan {handle}, and decide that"))
            .into());
    }
    if let Some(decided) = &newest.decided {
        return Err(already(whose, newest, decided.verdict));
    }
    if verdict == Verdict::Approve && !late.is_empty() {
        return Err(refuse_late(handle, late));
    }
    Ok(last)
}

/// The refusal of a plan that comes when files have changed already.
pub fn refuse_late(handle: &str, late: &[String]) -> Failure {
    Refusal::new(Token::PlanLate, format!("{handle} has changed files before its plan was approved"))
        .lines(late.iter().cloned())
        .show("git status; git log -3 # both in its worktree")
        .next("put the files back there, then plan again; or dispatch another worker")
        .into()
}

/// The refusal of what needs an approved plan.
pub fn refuse_unplanned(handle: &str, lines: Vec<String>) -> Failure {
    Refusal::new(Token::PlanFirst, format!("{handle} has no plan that a person has approved"))
        .lines(lines)
        .show("git status")
        .next("lay one out: git skein worker plan; a person approves it: git skein plan <worker> approve")
        .into()
}

pub fn already(whose: &Whose, plan: &LaidOut, verdict: Verdict) -> Failure {
    let handle = &whose.handle;
    Refusal::new(Token::PlanDecided, format!("the plan of {handle} was {} already", verdict.word()))
        .lines([format!("{}: {}", plan.short(), plan.goal)])
        .show(format!("git log -2 {}", whose.record))
        .next(format!(
            "git skein plan {handle} shows what was decided; git skein tell {handle} says more to it"
        ))
        .into()
}

fn none(whose: &Whose, asked: Option<&str>) -> Failure {
    let handle = &whose.handle;
    let says = match asked {
        Some(id) => format!("{handle} has laid out no plan {id:?}"),
        None => format!("{handle} has laid out no plan"),
    };
    Refusal::new(Token::NoPlan, says)
        .show(format!("git show {}:record.json", whose.record))
        .next(match asked {
            Some(_) => format!("git skein plan {handle} shows the newest one, with its id"),
            None => format!("git skein show {handle} tells what it is at; a worker lays a plan out with git skein worker plan"),
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(verdicts: &[Option<Verdict>]) -> Vec<LaidOut> {
        let one = |(n, verdict): (usize, &Option<Verdict>)| {
            let plan = Plan { goal: format!("goal {n}"), ..Plan::default() };
            let decided = verdict.map(|verdict| Decided { verdict, by: String::new(), at: 0, text: None });
            LaidOut { decided, ..plan.laid_out(n as u32 + 1, 0) }
        };
        verdicts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_verdict_is_on_the_newest_version_and_no_other() {
        let whose = Whose { handle: "w".into(), record: "r".into() };
        let (yes, no) = (Some(Verdict::Approve), Some(Verdict::Reject));
        let late = ["a".to_owned()];
        for (given, asked, late, want) in [
            (&[][..], None, &[][..], Err(Token::NoPlan)),
            (&[None], None, &[], Ok(0)),
            (&[None], Some(0), &[], Ok(0)),
            (&[None, None], Some(1), &[], Ok(1)),
            (&[None, None], Some(0), &[], Err(Token::PlanMoved)),
            (&[no, None], Some(0), &[], Err(Token::PlanMoved)),
            (&[no], None, &[], Err(Token::PlanDecided)),
            (&[yes], None, &[], Err(Token::PlanDecided)),
            (&[None], None, &late, Err(Token::PlanLate)),
        ] {
            let plans = plans(given);
            let id = asked.map(|n: usize| plans[n].id.clone());
            let got = decide(&whose, &plans, id.as_deref(), Verdict::Approve, late);
            assert_eq!(got.map_err(|failure| failure.token().unwrap()), want, "{given:?} {asked:?}");
        }
        let plans = plans(&[None]);
        assert_eq!(decide(&whose, &plans, None, Verdict::Reject, &late).unwrap(), 0);
        for id in ["", "abc", "zzzz"] {
            assert!(decide(&whose, &plans, Some(id), Verdict::Reject, &[]).is_err(), "{id}");
        }
    }

    #[test]
    fn any_other_word_is_another_plan() {
        let plan =
            Plan { goal: "g".into(), steps: vec![Plan::step("Cut it -- src/** a.rs")], ..Plan::default() };
        assert_eq!(
            plan.steps[0],
            Step { text: "Cut it".into(), paths: vec!["src/**".into(), "a.rs".into()] }
        );
        let other = Plan { risks: vec!["r".into()], ..plan.clone() };
        assert_eq!(plan.laid_out(1, 0).id, plan.laid_out(2, 9).id);
        assert!(plan.laid_out(1, 0).is_genuine());
        assert!(!LaidOut { goal: "h".into(), ..plan.laid_out(1, 0) }.is_genuine());
        assert_ne!(plan.laid_out(1, 0).id, other.laid_out(1, 0).id);
        assert_eq!(Plan::step("Only words").paths.len(), 0);
    }

    #[test]
    fn changes_are_on_it_or_off_it() {
        let steps = vec![Plan::step("x -- src/** a.rs"), Plan::step("y -- docs a.rs")];
        let plan = Plan { steps, ..Plan::default() }.laid_out(1, 0);
        let change = |path: &str| Change { path: path.into(), old: None, new: None };
        let against = plan.against(&[change("src/x/y"), change("b.rs")]).unwrap();
        assert_eq!(against.planned, ["src/x/y"]);
        assert_eq!(against.off_plan, ["b.rs"]);
        assert_eq!(against.untouched, ["a.rs", "docs"]);
    }
}
