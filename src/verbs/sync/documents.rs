//! Documents: whoever writes one writes its ref.

use crate::domain::Result;
use crate::domain::sync::Shared;
use crate::domain::sync::Step;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Both;
use crate::state::Draft;
use crate::verbs::session::Session;
use crate::verbs::sync::Exchanged;

/// Brings what the remote has of a document here.
pub fn take(session: &Session<'_>, both: &Both) -> Result<Option<Exchanged>> {
    if both.step() != Step::Take {
        return Ok(None);
    }
    let repo = &session.repo;
    let edit = Edit { name: both.name.clone(), old: both.here, new: both.there };
    if Draft::new(repo).put(edit).publish()? != Moved::Done {
        return Ok(None);
    }
    Ok(Some(Exchanged { name: both.name.clone(), what: both.what(repo)?, old: both.here, new: both.there }))
}

/// `skein.syncDocuments` says whether documents leave this clone.
pub fn may_be_given(session: &Session<'_>, both: &Both) -> bool {
    let kept =
        session.config.get("skein.syncdocuments").is_some() && !session.config.is_true("skein.syncdocuments");
    both.shared != Shared::Document || !kept
}
