//! The team's policy as the trunk has it, and what it asks of a landing.

use crate::domain::Barred;
use crate::domain::Judged;
use crate::domain::Oid;
use crate::domain::POLICY;
use crate::domain::Policy;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Standing;
use crate::domain::Subject;
use crate::domain::Token;
use crate::domain::may_judge;
use crate::domain::may_land;
use crate::domain::quoted;
use crate::state::DeltaRecord;
use crate::state::LIST_LANES;
use crate::state::View;
use crate::verbs::candidate::Source;
use crate::verbs::kinds;
use crate::verbs::session::Session;
use crate::verbs::trust;
use bstr::ByteSlice;

/// The policy at the tip of the trunk, or of `onto` where nobody knows which branch that is: never a worker's.
fn read(session: &Session<'_>, view: &View, onto: &RefName) -> Result<(Policy, RefName)> {
    let trunk = session.trunk_for(view, onto);
    let tree = session.repo.objects.tree_of(session.branch_tip(view, &trunk)?)?;
    Ok((read_at(session, tree, trunk.short())?, trunk))
}

/// The policy in the tree of the branch `trunk`.
fn read_at(session: &Session<'_>, tree: Oid, trunk: &str) -> Result<Policy> {
    parse(&text_at(session, tree)?, trunk)
}

fn text_at(session: &Session<'_>, tree: Oid) -> Result<Vec<u8>> {
    let objects = &session.repo.objects;
    objects.entry_at(tree, POLICY.into())?.map_or(Ok(Vec::new()), |(_, blob)| objects.blob(blob))
}

fn parse(text: &[u8], trunk: &str) -> Result<Policy> {
    Policy::parse(text).map_err(|why| {
        Refusal::new(Token::BadPolicy, format!("{POLICY} of {trunk} cannot be read"))
            .lines(why.lines().map(ToOwned::to_owned))
            .show(format!("git show {trunk}:{POLICY}"))
            .next("correct it there; nothing starts, lands or is judged meanwhile")
            .into()
    })
}

/// Whether workers, gates and checks may run in a jail only.
pub fn requires_jail(session: &Session<'_>, view: &View) -> Result<bool> {
    let Some(tree) = kinds::trunk_tree(session, view)? else { return Ok(false) };
    Ok(read_at(session, tree, session.trunk(view)?.short())?.require_jail)
}

/// The text of the policy at the tip of the trunk and what it makes run, if it makes anything run.
pub fn that_runs(session: &Session<'_>, view: &View) -> Result<Option<(String, Vec<String>)>> {
    let Some(tree) = kinds::trunk_tree(session, view)? else { return Ok(None) };
    let text = text_at(session, tree)?;
    // One that cannot be read makes nothing run, and is refused where it counts.
    let commands = Policy::parse(&text).map(|policy| policy.commands()).unwrap_or_default();
    Ok((!commands.is_empty()).then(|| (text.to_str_lossy().into_owned(), commands)))
}

/// What the policy in `tree` of the branch `trunk` wants to pass. Nothing of it is run by who asks.
pub fn wanted_at(session: &Session<'_>, tree: Oid, trunk: &str) -> Result<Vec<String>> {
    Ok(read_at(session, tree, trunk)?.gates())
}

/// What the policy wants to pass before work moves `onto`: trusted, or a refusal.
pub fn gates(session: &Session<'_>, view: &View, onto: &RefName) -> Result<Vec<String>> {
    trusted(session, view, onto, |policy| policy.gates())
}

/// The checks that it gives to every worker: trusted, or a refusal.
pub fn checks(session: &Session<'_>, view: &View, onto: &RefName) -> Result<Vec<String>> {
    trusted(session, view, onto, |policy| policy.checks)
}

fn trusted(
    session: &Session<'_>,
    view: &View,
    onto: &RefName,
    wanted: impl FnOnce(Policy) -> Vec<String>,
) -> Result<Vec<String>> {
    let trunk = session.trunk_for(view, onto);
    let text = text_at(session, session.repo.objects.tree_of(session.branch_tip(view, &trunk)?)?)?;
    let policy = parse(&text, trunk.short())?;
    let commands = policy.commands();
    let wanted = wanted(policy);
    if !wanted.is_empty() {
        let what = format!("the policy of {} makes commands run", trunk.short());
        trust::refuse_untrusted(session, &trunk, POLICY, &text, &what, commands)?;
    }
    Ok(wanted)
}

/// Refuses a person whom the policy does not let judge work for `onto`. Keys of it that mean nothing are named.
pub fn refuse_actor(session: &Session<'_>, view: &View, onto: &RefName, actor: &str) -> Result<()> {
    let (policy, trunk) = read(session, view, onto)?;
    for key in policy.unknown() {
        session.tell(format!("{POLICY} of {}: {key} is not known here", trunk.short()));
    }
    if may_judge(&policy.verdict_actors, actor) {
        return Ok(());
    }
    Err(not_an_actor(&policy, &trunk, format!("{actor} is none of those who may judge")))
}

fn not_an_actor(policy: &Policy, trunk: &RefName, says: String) -> crate::domain::Failure {
    Refusal::new(Token::MayNotJudge, says)
        .lines(policy.verdict_actors.iter().cloned())
        .show(format!("git show {}", quoted(format!("{}:{POLICY}", trunk.short()))))
        .next("let one of those decide")
        .into()
}

/// Refuses work that was rejected, or that nobody has accepted where that is asked for. Gives the delta on which the
/// verdict was given that it lands by, if that is another one with the same changes.
pub fn refuse_unjudged(
    session: &Session<'_>,
    view: &View,
    source: &Source,
    onto: &RefName,
) -> Result<Option<u32>> {
    let Source::Delta { handle, delta } = source else { return Ok(None) };
    let Some(worker) = view.workers.iter().find(|w| w.id == delta.worker) else { return Ok(None) };
    let (policy, trunk) = read(session, view, onto)?;
    let required = policy.require_verdict || session.config.is_true("skein.requireverdict");
    let subject = Subject::Delta(delta.n, delta.net.raw.clone());
    match may_land(&worker.record.judged, &subject, required, &policy.verdict_actors) {
        Ok(Some(Standing { judged, carried: true })) => Ok(judged.delta),
        Ok(_) => Ok(None),
        Err(Barred::Rejected(judged)) => Err(rejected(handle, &judged)),
        Err(Barred::Unjudged(before)) => Err(not_accepted(handle, delta, before.as_deref())),
        Err(Barred::Actor(judged)) => {
            let says = format!("{} accepted {handle}, and may not by the policy of now", judged.actor);
            Err(not_an_actor(&policy, &trunk, says))
        }
    }
}

/// The same, and says by which verdict it lands.
pub fn heed(session: &Session<'_>, view: &View, source: &Source, onto: &RefName) -> Result<()> {
    if let Some(n) = refuse_unjudged(session, view, source, onto)? {
        let handle = source.name();
        session.tell(format!("{handle}: the verdict on delta {n} carries over, the changes are the same"));
    }
    Ok(())
}

fn rejected(handle: &str, judged: &Judged) -> crate::domain::Failure {
    let verb = judged.verb;
    Refusal::new(Token::Rejected, format!("the verdict of {} on {handle} is: {verb}", judged.actor))
        .lines([format!("operation {}", judged.op)])
        .show(LIST_LANES)
        .next(format!("leave it, or accept it after all: git skein verdict {handle} accept"))
        .into()
}

fn not_accepted(handle: &str, delta: &DeltaRecord, before: Option<&Judged>) -> crate::domain::Failure {
    let refusal = match before {
        None => Refusal::new(Token::NotAccepted, format!("nobody has judged {handle} delta {}", delta.n))
            .show(format!("git log --stat {}..{}", delta.base, delta.tip)),
        Some(judged) => {
            let says = format!("what was judged of {handle} last ({}) is not what would land", judged.verb);
            Refusal::new(Token::NotAccepted, says).show(since(judged, delta))
        }
    };
    refusal
        .oid("it would land", delta.tip)
        .next(format!("git skein verdict {handle} shows its card; then git skein land --accept {handle}"))
        .into()
}

/// The command that shows what became of what was judged.
pub fn since(judged: &Judged, delta: &DeltaRecord) -> String {
    let base = delta.base;
    match judged.tip {
        Some(tip) => format!("git range-diff {base}..{tip} {base}..{}", delta.tip),
        None => format!("git log --stat {base}..{}", delta.tip),
    }
}
