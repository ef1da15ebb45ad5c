//! `pre-receive`, on a server: the trunk moves only to commits that lanes prove. It judges, and runs nothing; a person
//! can sign that it is to be accepted all the same.

use crate::domain::Brought;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::mask;
use crate::domain::overridden;
use crate::domain::unproven;
use crate::host::Env;
use crate::host::Scratch;
use crate::state::LANES;
use crate::state::Ledger;
use crate::state::Proofs;
use crate::state::View;
use crate::state::lane_of;
use crate::state::lanes;
use crate::verbs::hooks::Input;
use crate::verbs::policy;
use crate::verbs::session::Session;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Commits that a refusal names.
const MOST: usize = 10;

/// One ref that is pushed.
pub(super) struct Update {
    pub(super) old: Option<Oid>,
    pub(super) new: Option<Oid>,
    pub(super) name: RefName,
}

pub fn run(env: &Env, input: &mut Input, tell: &dyn Fn(&str)) -> Result<()> {
    let updates: Vec<Update> = String::from_utf8_lossy(input.read()?).lines().filter_map(parse).collect();
    let mut session = Session::open(env, env.cwd(), tell)?;
    let Some(trunk) = trunk(&session)? else { return Ok(()) };
    // Where there was none there is nothing to keep in order yet.
    let Some((update, old)) = updates.iter().find(|u| u.name == trunk).and_then(|u| Some((u, u.old?))) else {
        return Ok(());
    };
    let scratch = Scratch::new(env, "skein-receive-")?;
    let incoming = incoming(env, &session);
    if !incoming.is_empty() {
        let way = scratch.path().join("objects");
        let list: Vec<u8> =
            incoming.iter().flat_map(|dir| [dir.as_os_str().as_bytes(), b"\n"].concat()).collect();
        crate::host::make_dir(&way.join("info"))?;
        crate::host::make_dir(&way.join("pack"))?;
        crate::host::put(&way.join("info/alternates"), &list)?;
        session.repo.read_through(&way)?;
    }
    let failure = match judge(&session, &trunk, (old, update.new), &updates) {
        Ok(None) => return Ok(()),
        Ok(Some(refusal)) => refusal.into(),
        Err(failure) => failure,
    };
    let word = |name: &str| env.get(name).and_then(OsStr::to_str);
    let options = options(env);
    let signed = (word("GIT_PUSH_CERT_STATUS"), word("GIT_PUSH_CERT_SIGNER"));
    let nonce = word("GIT_PUSH_CERT_NONCE_STATUS");
    match overridden(signed, nonce, options.iter().map(String::as_str)) {
        Some(reason) => {
            let who = signed.1.unwrap_or_default();
            tell(&format!("{} is accepted without proof, signed by {who}: {reason}", trunk.short()));
            Ok(())
        }
        None => Err(failure),
    }
}

/// The branch that is kept: by `skein.trunk`, else the one that a clone checks out.
fn trunk(session: &Session<'_>) -> Result<Option<RefName>> {
    match session.config.get("skein.trunk") {
        Some(name) => RefName::branch(name).map(Some),
        None => session.repo.main_branch(),
    }
}

/// Where the objects are that are pushed, and those that they build on.
fn incoming(env: &Env, session: &Session<'_>) -> Vec<PathBuf> {
    let Some(quarantine) = env.get("GIT_QUARANTINE_PATH") else { return Vec::new() };
    let own = session.repo.dirs.common.join("objects");
    let other = env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES").into_iter().flat_map(std::env::split_paths);
    let dirs = [PathBuf::from(quarantine), own].into_iter().chain(other);
    let dirs = dirs.map(|dir| env.cwd().join(dir)).filter_map(|dir| dir.canonicalize().ok());
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        if !found.contains(&dir) {
            found.push(dir);
        }
    }
    found
}

fn options(env: &Env) -> Vec<String> {
    let count = env.get("GIT_PUSH_OPTION_COUNT").and_then(|n| n.to_str()?.parse::<usize>().ok());
    let option = |n| Some(env.get(&format!("GIT_PUSH_OPTION_{n}"))?.to_string_lossy().into_owned());
    (0..count.unwrap_or_default().min(1000)).filter_map(option).collect()
}

fn judge(
    session: &Session<'_>,
    trunk: &RefName,
    (old, new): (Oid, Option<Oid>),
    updates: &[Update],
) -> Result<Option<Refusal>> {
    let objects = &session.repo.objects;
    let refused = |says: &str| {
        let says = format!("{} {says}", trunk.short());
        Refusal::new(Token::Unproven, says)
            .show(format!("git log {old}..{}", new.map_or_else(String::new, |new| new.to_string())))
            .next(format!(
                "push the lane along ('{LANES}/*'); or sign it: git push --signed -o skein-override='<reason>'"
            ))
    };
    let Some(new) = new else { return Ok(Some(refused("would be deleted"))) };
    if !objects.is_ancestor(old, new)? {
        return Ok(Some(refused("would lose commits that it has").oid("has", old).oid("would be", new)));
    }
    let mut view = View { lanes: lanes(&session.repo)?, ..View::default() };
    for update in updates {
        if let (Some(lane), Some(new)) = (lane_of(&update.name), update.new) {
            view.lanes.insert(lane, new);
        }
    }
    let wanted = policy::wanted_at(session, objects.tree_of(old)?, trunk.short())?;
    let commits = objects.between(old, new)?;
    let landings = brought(session, &view, trunk, &commits, &wanted)?;
    let found = unproven(&commits, &landings);
    if found.is_empty() {
        return Ok(None);
    }
    let more = found.len().saturating_sub(MOST);
    let lines = found.iter().take(MOST).map(|(commit, why)| format!("{}: {why}", commit.short()));
    let more = (more > 0).then(|| format!("and {more} more"));
    Ok(Some(refused("would get commits that nothing proves").lines(lines.chain(more))))
}

/// The landings on `trunk` among `commits`, each with what its tree lacks: the gates of the policy that the trunk has
/// now, and where it wants none, any that passed.
fn brought(
    session: &Session<'_>,
    view: &View,
    trunk: &RefName,
    commits: &[Oid],
    wanted: &[String],
) -> Result<Vec<Brought>> {
    let objects = &session.repo.objects;
    let ledger = Ledger::load(&session.repo, view)?;
    let proofs = Proofs::load(&session.repo, view)?;
    let mut found = Vec::new();
    for (op, _, landing) in &ledger.landings {
        if landing.onto != *trunk || !commits.contains(&landing.new) || ledger.is_taken_back(*op) {
            continue;
        }
        if !objects.exists(landing.old) {
            continue;
        }
        let tree = objects.tree_of(landing.new)?;
        let mut lacks = Vec::new();
        for command in wanted.iter().map(|command| mask(command)) {
            match proofs.on(tree, &command) {
                Some(evidence) if evidence.is_pass(false) => {}
                Some(evidence) => lacks.push(format!("{command}: {}", evidence.ended())),
                None => lacks.push(format!("{command} has not run on its tree")),
            }
        }
        if wanted.is_empty() && !proofs.of(tree).any(|evidence| evidence.is_pass(false)) {
            lacks.push("no gate has passed on its tree".to_owned());
        }
        found.push(Brought { commits: objects.between(landing.old, landing.new)?, lacks });
    }
    Ok(found)
}

pub(super) fn parse(line: &str) -> Option<Update> {
    let mut words = line.splitn(3, ' ');
    let mut oid = || words.next()?.parse::<Oid>().ok();
    let (old, new) = (oid()?, oid()?);
    let there = |oid: Oid| Some(oid).filter(|oid| *oid != oid.null_like());
    Some(Update { old: there(old), new: there(new), name: RefName::new(words.next()?).ok()? })
}
