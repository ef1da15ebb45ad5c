//! What a bundle holds, saved or in a file, in a repository or in none; and whether it is as it was written.

use crate::domain::BundleId;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Part;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::host::Env;
use crate::plumbing::Objects;
use crate::plumbing::Repo;
use crate::state::Bundle;
use crate::state::BundledDelta;
use crate::state::Evidence;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::Paper;
use crate::state::Verdict;
use crate::verbs::bundle::file;
use crate::verbs::bundle::find;
use crate::verbs::bundle::read;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Serialize;
use std::path::Path;

/// A bundle that is sound.
#[derive(Debug, Serialize)]
pub struct Opened {
    /// The id of its commit, which stands for all of it. It was computed from what is there.
    pub verified: Oid,
    pub bundle: BundleId,
    pub worker: WorkerId,
    pub handle: Handle,
    pub task: String,
    pub outcome: Outcome,
    pub at: i64,
    pub base: Oid,
    pub base_name: String,
    pub parts: Vec<Part>,
    pub papers: Vec<Paper>,
    /// It is saved here under its id.
    pub saved: bool,
    /// The commit that a repository must have to take its file in.
    pub needs: Option<Oid>,
    pub brief: Option<String>,
    pub delta: Option<BundledDelta>,
    /// The base was at hand, and the delta makes the very change that it says.
    pub against_base: bool,
    /// The commits of the delta, oldest first.
    pub commits: Vec<Commit>,
    pub verdicts: Vec<Given>,
    pub evidence: Vec<Ran>,
    pub said: Said,
    /// The one paper that was asked for, with its text.
    pub paper: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Commit {
    pub oid: Oid,
    pub author: String,
    pub subject: String,
}

#[derive(Debug, Serialize)]
pub struct Given {
    pub at: i64,
    #[serde(flatten)]
    pub verdict: Verdict,
}

#[derive(Debug, Serialize)]
pub struct Ran {
    pub at: i64,
    /// The paper with its output.
    pub output: String,
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// What the worker asked, was told and claims.
#[derive(Debug, Default, Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Said {
    pub claim: Option<crate::domain::protocol::Claim>,
    pub messages: Vec<crate::domain::protocol::Message>,
    pub questions: Vec<crate::domain::protocol::Question>,
}

/// Opens what `name` means: a saved bundle, else the file at `cwd/name`.
pub fn show(
    session: &Session<'_>,
    name: &str,
    cwd: &Path,
    expect: Option<&str>,
    paper: Option<&str>,
) -> Result<Opened> {
    let view = session.view()?;
    let saved = if name.contains('/') { None } else { find(session, &view, name)? };
    if let Some(bundle) = saved {
        if let Some(expect) = expect {
            file::refuse_unexpected(Path::new(name), bundle.commit, expect)?;
        }
        let bundle = read(session, bundle.record.bundle, bundle.commit, true)?;
        let needs = bundle.needs();
        return opened(&session.repo.objects, &bundle, true, needs, paper);
    }
    in_file(session.env, Some(&session.repo), &cwd.join(name), expect, paper)
        .map(|opened| Opened { saved: view.bundles.get(&opened.bundle) == Some(&opened.verified), ..opened })
}

/// Opens a file where there is no repository.
pub fn show_outside(
    env: &Env,
    name: &str,
    cwd: &Path,
    expect: Option<&str>,
    paper: Option<&str>,
) -> Result<Opened> {
    in_file(env, None, &cwd.join(name), expect, paper)
}

fn in_file(
    env: &Env,
    repo: Option<&Repo>,
    path: &Path,
    expect: Option<&str>,
    paper: Option<&str>,
) -> Result<Opened> {
    let checked = file::check(env, repo, path, expect, false)?;
    opened(&checked.unpacked.objects, &checked.bundle, false, checked.needs, paper)
}

fn opened(
    objects: &Objects,
    bundle: &Bundle,
    saved: bool,
    needs: Option<Oid>,
    paper: Option<&str>,
) -> Result<Opened> {
    let record = bundle.record.clone();
    let text = |path: &str| -> Result<Option<String>> {
        Ok(bundle.paper(objects, path)?.map(|bytes| bytes.to_str_lossy().into_owned()))
    };
    let paper = match paper {
        None => None,
        Some(path) => Some(text(path)?.ok_or_else(|| no_such_paper(bundle, path))?),
    };
    let delta = bundle.delta(objects)?;
    let commit = |c: &crate::state::DeltaCommit| Commit {
        oid: c.oid,
        author: c.author.clone(),
        subject: c.subject.clone(),
    };
    let mut verdicts = Vec::new();
    for (_, LaneRecord { at, entry, .. }) in bundle.lane_records(objects, Part::Verdicts)? {
        if let LaneEntry::Verdict(verdict) = entry {
            verdicts.push(Given { at, verdict });
        }
    }
    let mut evidence = Vec::new();
    for (path, LaneRecord { at, entry, .. }) in bundle.lane_records(objects, Part::Evidence)? {
        if let LaneEntry::Evidence(ran) = entry {
            evidence.push(Ran { at, output: path.replace(".json", ".txt"), evidence: ran });
        }
    }
    let said = bundle.paper(objects, "messages/messages.json")?.unwrap_or_default();
    Ok(Opened {
        verified: bundle.commit,
        bundle: record.bundle,
        worker: record.worker,
        handle: record.handle,
        task: record.task,
        outcome: record.outcome,
        at: record.at,
        base: record.base,
        base_name: record.base_name,
        parts: record.parts,
        papers: record.papers,
        saved,
        needs,
        brief: text("brief/brief.md")?,
        delta: record.delta,
        against_base: bundle.against_base,
        commits: delta.iter().flat_map(|delta| delta.commits.iter().map(commit)).collect(),
        verdicts,
        evidence,
        said: serde_json::from_slice(&said).unwrap_or_default(),
        paper,
    })
}

fn no_such_paper(bundle: &Bundle, path: &str) -> Refusal {
    Refusal::new(Token::NoSuchBundle, format!("the bundle has no paper {path:?}"))
        .lines(bundle.record.papers.iter().map(|paper| paper.path.clone()))
        .show("git show <commit>:bundle.json")
        .next("name one of those")
}
