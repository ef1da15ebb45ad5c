//! `land --all`: the plan, then each landing.

use crate::domain::Exit;
use crate::domain::Token;
use crate::surfaces::present::Page;
use crate::surfaces::present::envelope;
use crate::surfaces::present::funnel::landing;
use crate::surfaces::present::funnel::landing_case;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::land_all::Landings;
use crate::verbs::land_all::Plan;

impl Page {
    /// The plan alone: what `--dry-run` gives, and what is shown before the first landing.
    pub fn land_plan(plan: &Plan, json: bool) -> Page {
        Page::of("land", &serde_json::json!({ "plan": plan }), json, |_| text(plan)).ending(exit(plan))
    }

    /// All that was done, for programs. A person has seen it already, so only the exit code is new.
    pub fn land_all(plan: &Plan, landings: &Landings, json: bool) -> Page {
        let mut code = exit(plan);
        for failure in landings.iter().filter_map(|(_, result)| result.as_ref().err()) {
            // What one before it brought already is no failure of this one.
            let empty = failure.token() == Some(Token::Empty);
            if !empty && failure.exit().code() > code.code() {
                code = failure.exit();
            }
        }
        let landed = landings.iter().filter(|(_, result)| result.is_ok()).count();
        let out = if json {
            let values: Vec<_> = landings.iter().map(|(name, result)| landing(name, result)).collect();
            envelope("land", "result", &serde_json::json!({ "plan": plan, "landings": values }))
        } else {
            let all = count(plan.order.len() + plan.last.len(), "worker");
            format!("{landed} of {all} landed on {}\n", plan.onto.short())
        };
        let cases = landings.iter().map(|(name, result)| landing_case(name, result)).collect();
        Page::text(out).ending(code).telling(cases)
    }
}

/// A worker that could not be taken is a "no"; one with nothing to land is not.
fn exit(plan: &Plan) -> Exit {
    if plan.left_out.iter().any(|left| left.token.is_some()) { Exit::No } else { Exit::Done }
}

fn text(plan: &Plan) -> String {
    let head = format!("{} on {}", count(plan.order.len(), "landing"), plan.onto.short());
    let mut text = format!("{} {}\n", paint(BOLD, &head), paint(DIM, &plan.tip.short()));
    for (at, name) in plan.order.iter().enumerate() {
        text.push_str(&format!("  {} {}\n", at + 1, line(name)));
    }
    for blocked in &plan.last {
        let (by, paths) = (blocked.by.join(", "), blocked.paths.join(", "));
        let what = format!("{}: conflicts with {by} in {paths}", blocked.name);
        text.push_str(&format!("  {} {}\n", paint(WARN, "last"), line(&what)));
    }
    for left in &plan.left_out {
        text.push_str(&format!("  {} {}: {}\n", paint(DIM, "not"), line(&left.name), line(&left.why)));
    }
    text
}
