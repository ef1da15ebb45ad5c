//! A landing on a branch of a server: one push that states what it expects. Whether it happened is read from the server.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Edit;
use crate::plumbing::was_raced;
use crate::state::Move;
use crate::verbs::landing;
use crate::verbs::landing::Landings;
use crate::verbs::landing::Receipt;
use crate::verbs::server;
use crate::verbs::server::ServerBranch;

/// Moves the branch there. Neither a local branch nor a checkout is touched.
pub(super) fn integrate(held: &Landings<'_>, step: &Move, first: Option<Edit>) -> Result<()> {
    let session = held.session;
    let to = &step.landing;
    let server = server::of(session, &to.onto).ok_or_else(|| server::no_remote(&to.onto))?;
    let mut refs = session.repo.ref_session()?;
    let lane = landing::intend(held, &mut refs, first, step)?;
    crate::fault::point("landing: intent durable");
    let receipt = Receipt::prepare(held, lane, step).ok();
    let pushed = server.push(session, to.old, to.new);
    crate::fault::point("landing: pushed");
    // Where that fails nobody knows: the intent stays open, and the next verb looks again.
    let now = server.fetch(session)?;
    crate::fault::point("landing: seen");
    if !landing::holds(session, step, now)? {
        return Err(not_taken(held, step, &server, now, pushed));
    }
    landing::acknowledge(session, step)?;
    if landing::hand_out(held, &mut refs, receipt, step).is_err() {
        session.tell("the landing stands; its receipt is written by the next verb");
    }
    Ok(())
}

/// Closes the intent, and tells why the branch is not there.
fn not_taken(
    held: &Landings<'_>,
    step: &Move,
    server: &ServerBranch,
    now: Option<Oid>,
    pushed: Result<Option<String>>,
) -> Failure {
    let to = &step.landing;
    let (why, failure) = match pushed {
        _ if now != Some(to.old) => ("the branch did not move", landing::moved(to, now)),
        Ok(Some(words)) if was_raced(&words) => {
            ("another was moving the branch", with_words(landing::moved(to, now), &words))
        }
        Ok(words) => ("the server did not take it", refused(server, step, &words.unwrap_or_default())),
        Err(fault) => ("the branch did not move", fault),
    };
    if let Err(later) = landing::abandon(held, step.op, why) {
        held.session.tell(format!("the next verb tidies up: {later}"));
    }
    failure
}

fn refused(server: &ServerBranch, step: &Move, words: &str) -> Failure {
    let (remote, onto) = (&server.remote, &step.landing.onto);
    Refusal::new(Token::PushRefused, format!("the push to {} did not get through", onto.short()))
        .oid("it would be at", step.landing.new)
        .oid("it is at", step.landing.old)
        .lines(words.lines().map(ToOwned::to_owned))
        .show(format!(
            "git push --dry-run {remote} {}",
            quoted(format!("{}:{}", step.landing.new, server.branch))
        ))
        .next("do as those words say, then land it again; nothing has changed")
        .into()
}

/// Whether the branch holds what a dead process wanted to bring there; else why not.
pub fn look(held: &Landings<'_>, step: &Move) -> Result<std::result::Result<(), &'static str>> {
    let session = held.session;
    let to = &step.landing;
    let seen = session.repo.read_refs(&[&to.onto])?.pop().flatten();
    if landing::holds(session, step, seen)? {
        return Ok(Ok(()));
    }
    let Some(server) = server::of(session, &to.onto) else {
        return Ok(Err("its remote is not configured any more"));
    };
    let now = server.fetch(session).map_err(|failure| pending(failure, step))?;
    Ok(match landing::holds(session, step, now)? {
        true => Ok(()),
        false if now == Some(to.old) => Err(landing::DIED),
        false => Err(landing::SUPERSEDED),
    })
}

/// The same with what was said.
fn with_words(failure: Failure, words: &str) -> Failure {
    match failure {
        Failure::Refusal(refusal) => refusal.lines(words.lines().map(ToOwned::to_owned)).into(),
        fault => fault,
    }
}

/// Why nothing else lands meanwhile.
fn pending(failure: Failure, step: &Move) -> Failure {
    let (op, onto) = (step.op, step.landing.onto.short());
    with_words(
        failure,
        &format!(
            "operation {op} was cut short while it landed on {onto}: only the server knows whether it did"
        ),
    )
}
