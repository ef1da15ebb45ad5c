//! A shallow clone that does not go back far enough: what is needed is fetched, or named. Only verbs that write fetch.

use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::state::Ledger;
use crate::state::View;
use crate::verbs::candidate::Source;
use crate::verbs::session::Session;

/// How many generations are fetched at first, how many times as many each time after, and how often before all are.
const FIRST: u32 = 50;
const MORE: u32 = 4;
const TRIES: u32 = 4;

/// Fetches more history until `enough` says that it goes back far enough to `reach` something, or all of it is here.
/// True if anything was fetched: what was read before may be otherwise now.
fn until(
    session: &mut Session<'_>,
    reach: &str,
    enough: &dyn Fn(&Session<'_>) -> Result<bool>,
) -> Result<bool> {
    if !session.repo.is_shallow() || enough(session)? {
        return Ok(false);
    }
    let Some(remote) = session.remote() else {
        return Err(cut_off(reach, "there is no remote to fetch it from"));
    };
    if session.dry {
        return Err(cut_off(reach, "a rehearsal fetches nothing"));
    }
    let (mut fetched, mut by) = (0, Some(FIRST));
    for turn in 1.. {
        match session.repo.deepen(&session.config, &remote, by)? {
            Ok(count) => fetched += count,
            Err(words) => {
                return Err(cut_off(reach, words.lines().next_back().unwrap_or("git could not fetch")));
            }
        }
        crate::fault::point("deepen: history fetched");
        if !session.repo.is_shallow() || enough(session)? {
            break;
        }
        by = by.map(|by| by.saturating_mul(MORE)).filter(|_| turn < TRIES);
    }
    session.tell(format!("fetched {fetched} commits of {remote} to reach {reach}"));
    Ok(true)
}

fn cut_off(reach: &str, why: &str) -> crate::domain::Failure {
    Refusal::new(Token::Shallow, format!("this clone is shallow, and its history ends before {reach}"))
        .lines([why.to_owned()])
        .show("git rev-parse --is-shallow-repository")
        .next("git fetch --unshallow, or clone it whole; then try again")
        .into()
}

/// For `dispatch --base`: history that reaches `rev`.
pub fn for_base(session: &mut Session<'_>, rev: &str) -> Result<()> {
    // What looks like a name of a ref is not found by a longer history.
    let whole = rev.parse::<Oid>().ok();
    let hex = rev.len() >= 4 && rev.bytes().all(|b| b.is_ascii_hexdigit());
    if !session.repo.is_shallow() || !hex && !rev.contains(['~', '^']) {
        return Ok(());
    }
    let known = |session: &Session<'_>| Ok(session.repo.resolve_commit(rev)?.is_some());
    until(session, &format!("{rev:?}"), &known)?;
    let missing = !known(session)?;
    if let (Some(oid), Some(remote), true) = (whole, session.remote(), missing) {
        // It may lie on no line that is here at all. If it is nowhere, the caller says so.
        let _ = session.repo.fetch_commit(&remote, oid)?;
    }
    Ok(())
}

/// For what freezes or lands `name`: all of a worker's work, down to its base.
pub fn for_worker(session: &mut Session<'_>, view: View, name: &str) -> Result<View> {
    let whole = |session: &Session<'_>, view: &View| -> Result<bool> {
        let Ok(worker) = view.meant(&session.repo, name) else { return Ok(true) };
        let objects = &session.repo.objects;
        let base = worker.record.base;
        Ok(!worker.is_away && objects.exists(base) && objects.is_ancestor(base, worker.tip())?)
    };
    if !session.repo.is_shallow() || whole(session, &view)? {
        return Ok(view);
    }
    let reach = format!("the base of {name}");
    until(session, &reach, &|session| whole(session, &session.view()?))?;
    session.view()
}

/// For what moves `onto` to hold `source`: where the two parted, and what has landed before. True if more is known now
/// than `view` tells.
pub fn for_landing(session: &mut Session<'_>, view: &View, source: &Source, onto: &RefName) -> Result<bool> {
    if !session.repo.is_shallow() {
        return Ok(false);
    }
    let tip = session.branch_tip(view, onto)?;
    let reach = match source {
        Source::Branch { name, .. } => format!("where {} and {} parted", name.short(), onto.short()),
        Source::Delta { handle, .. } => format!("the landing of {handle}"),
    };
    let enough = |session: &Session<'_>| match source {
        Source::Branch { tip: of, .. } => Ok(!session.repo.objects.merge_bases(tip, *of)?.is_empty()),
        Source::Delta { delta, .. } => {
            let ledger = Ledger::load(&session.repo, view)?;
            for (_, _, landing) in ledger.landings.iter().filter(|(_, _, l)| l.onto == *onto) {
                let same = landing.delta.as_ref().is_some_and(|d| d.worker == delta.worker);
                if same && !session.repo.objects.is_ancestor(landing.new, tip)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    };
    until(session, &reach, &enough)
}

/// The same for all open workers at once: what each of them was made of, and what of it is on `onto`.
pub fn for_all(session: &mut Session<'_>, mut view: View, onto: &RefName) -> Result<View> {
    if !session.repo.is_shallow() {
        return Ok(view);
    }
    let ready = view.workers.iter().filter(|worker| worker.record.outcome == Outcome::Ready);
    for id in ready.map(|worker| worker.id.to_string()).collect::<Vec<String>>() {
        view = for_worker(session, view, &id)?;
    }
    let tip = session.branch_tip(&view, onto)?;
    let enough = |session: &Session<'_>| -> Result<bool> {
        let ledger = Ledger::load(&session.repo, &view)?;
        for (_, landing, delta) in ledger.deltas().filter(|(_, landing, _)| landing.onto == *onto) {
            let open = view.workers.iter().any(|worker| worker.id == delta.worker);
            if open && !session.repo.objects.is_ancestor(landing.new, tip)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if until(session, "what has landed", &enough)? { session.view() } else { Ok(view) }
}
