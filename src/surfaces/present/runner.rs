//! What waits in a queue, and what a runner did.

use crate::surfaces::present::Page;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::queue::Changed;
use crate::verbs::queue::Listed;
use crate::verbs::queue::Waiting;
use crate::verbs::runner::Ran;

impl Page {
    pub fn queued(done: &Changed, json: bool) -> Page {
        Page::of("dispatch", done, json, |done| {
            let (brief, remote) = (&done.brief.brief, line(&done.remote));
            let base = done
                .brief
                .record
                .as_ref()
                .map(|r| format!("  base {} {}\n", r.base.short(), line(&r.base_name)));
            format!("{}: {brief} on {remote}\n{}", paint(GOOD, "queued"), base.unwrap_or_default())
        })
    }

    pub fn queue(listed: &Listed, json: bool) -> Page {
        Page::of("queue", listed, json, |listed| {
            if listed.briefs.is_empty() {
                return format!("nothing waits on {}\n", line(&listed.remote));
            }
            listed.briefs.iter().map(waiting).collect()
        })
    }

    pub fn dropped(done: &Changed, json: bool) -> Page {
        Page::of("queue", done, json, |done| {
            let held = done.brief.held.as_ref().map(|clone| {
                format!(
                    "  {}: clone {} runs it, and its result comes all the same\n",
                    paint(WARN, "held"),
                    line(clone)
                )
            });
            format!("dropped {}\n{}", done.brief.brief, held.unwrap_or_default())
        })
    }

    pub fn ran(ran: &Ran, json: bool) -> Page {
        Page::of("runner", ran, json, text)
    }
}

fn waiting(one: &Waiting) -> String {
    let Some(record) = &one.record else {
        return format!("{}  this version cannot read it\n", one.brief);
    };
    let label = record.label.as_ref().map(|label| format!(" [{}]", line(label))).unwrap_or_default();
    let held = one.held.as_ref().map(|clone| paint(DIM, &format!(", held by clone {}", line(clone))));
    let (task, onto) = (line(&record.task), record.onto.short());
    format!("{}{label}  {task} (for {}{})\n", one.brief, line(onto), held.unwrap_or_default())
}

fn text(ran: &Ran) -> String {
    if ran.results.is_empty() && ran.left.is_empty() {
        return format!("nothing to do on {}\n", line(&ran.remote));
    }
    let mut text = String::new();
    for done in &ran.results {
        let late = if done.late { ", a second result" } else { "" };
        text.push_str(&format!("{}  {} is {}{late}\n", done.brief, done.handle, done.outcome.word()));
    }
    for left in &ran.left {
        text.push_str(&format!("{}  {}: {}\n", left.brief, paint(WARN, "left"), line(&left.why)));
    }
    text + &format!("{}, {} left\n", count(ran.results.len(), "result"), ran.left.len())
}
