//! Bundles: that each is what its record says.

use crate::domain::BundleId;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::state::bundle::BundleRecord;
use crate::state::bundle::Unsound;
use crate::state::bundle::read_bundle;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;

impl Audit<'_> {
    pub(super) fn bundle(&mut self, name: &RefName, id: BundleId, at: Oid) {
        let Some(commit) = self.read(name, |repo| repo.objects.commit(at)) else { return };
        let Some(record) = self.record::<BundleRecord>(name, at, commit.tree, "bundle.json") else { return };
        if record.bundle != id {
            self.on_commit(Code::BundleDiffers, name, at, format!("it is bundle {}", record.bundle));
        }
        match self.read(name, |repo| read_bundle(&repo.objects, at, true)) {
            Some(Err(Unsound::Changed(what) | Unsound::Unknown(what))) => {
                self.on_commit(Code::BundleDiffers, name, at, what);
            }
            Some(Ok(found)) if record.delta.is_some() && !found.against_base => {
                self.on_commit(Code::Unreadable, name, at, "the base of its delta is missing");
            }
            _ => {}
        }
    }
}
