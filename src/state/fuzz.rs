//! What is held against any bytes that stand in our refs: each function panics where a reader of this room breaks its
//! promise. Built for fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "that it fails is what it is for")]

use crate::domain::RefName;
use crate::plumbing::Commit;
use crate::plumbing::Objects;
use crate::state::bundle::BundleRecord;
use crate::state::bundle::read_bundle;
use crate::state::document::ConflictRecord;
use crate::state::document::DocRecord;
use crate::state::document::TurnRecord;
use crate::state::draft::AUTHOR;
use crate::state::fsck;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::queue::BriefRecord;
use crate::state::queue::LeaseRecord;
use crate::state::record::CandidateRecord;
use crate::state::record::DeltaRecord;
use crate::state::record::Entry;
use crate::state::record::FoldedIndex;
use crate::state::record::LandedNote;
use crate::state::record::LaneRecord;
use crate::state::record::Read;
use crate::state::record::WorkerRecord;
use crate::state::record::decode;
use crate::state::record::encode;
use crate::state::record::encode_line;
use crate::state::seal::Seal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A record that is understood is written and read the same, and written the same again.
fn record<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) -> Option<T> {
    let Read::Known(found) = decode::<T>(bytes) else { return None };
    let again = encode(&found).unwrap();
    let read = decode::<T>(&again);
    assert_eq!(read, Read::Known(decode::<T>(bytes).known()?));
    assert_eq!(encode(&read.known()?).unwrap(), again);
    let line = encode_line(&found).unwrap();
    assert!(!line.contains('\n') && decode::<T>(line.as_bytes()) == Read::Known(decode::<T>(bytes).known()?));
    Some(found)
}

impl<T> Read<T> {
    fn known(self) -> Option<T> {
        match self {
            Read::Known(record) => Some(record),
            Read::Unknown(_) => None,
        }
    }
}

/// Of workers, their deltas and what is to land of them.
pub fn worker_record(bytes: &[u8]) {
    record::<WorkerRecord>(bytes);
    record::<DeltaRecord>(bytes);
    record::<CandidateRecord>(bytes);
    record::<FoldedIndex>(bytes);
}

/// Of lanes: landings, undos, evidence, verdicts.
pub fn lane_record(bytes: &[u8]) {
    let Some(lane) = record::<LaneRecord>(bytes) else { return };
    assert!(!lane.to_string().is_empty());
    if let Entry::Evidence(evidence) = &lane.entry {
        assert!(!evidence.is_pass(false) || evidence.is_pass(true));
        assert!(!evidence.ended().is_empty());
    }
}

/// Of session documents.
pub fn document_record(bytes: &[u8]) {
    record::<DocRecord>(bytes);
    record::<TurnRecord>(bytes);
    record::<ConflictRecord>(bytes);
}

/// Of briefs that wait on a remote, and of who has taken one.
pub fn queue_record(bytes: &[u8]) {
    record::<BriefRecord>(bytes);
    record::<LeaseRecord>(bytes);
}

/// The text of a note, line by line.
pub fn note_lines(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        let note = record::<LandedNote>(line.as_bytes());
        assert_eq!(fsck::op_of(line), note.map(|note| note.op));
        assert!(fsck::op_of(line).is_none() || fsck::version_of(line) == Some(1));
    }
}

/// The seal of a file in the cache.
pub fn seal(bytes: &[u8]) {
    let Some(seal) = Seal::parse(bytes) else { return };
    assert_eq!(Seal::parse(seal.text().as_bytes()), Some(seal.clone()));
    assert!(!seal.digest.contains(['/', '.']), "it is the name of a file");
    assert_ne!(Seal::of(bytes, Vec::new()).digest, seal.digest);
}

/// The names of our refs, one a line.
pub fn ref_names(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        let Ok(name) = RefName::new(line) else { continue };
        let Some(ours) = names::parse(&name) else { continue };
        let again = match &ours {
            Ours::Format => names::format(),
            Ours::Worker(id) => names::worker(*id),
            Ours::Lane(clone) => names::lane(clone),
            Ours::Bundle(id) => names::bundle(*id),
            Ours::Document(id) => names::document(*id),
            Ours::Queued(id) => names::queued(*id),
            Ours::Lease(name) => names::lease(name),
            Ours::Head(id) => names::head(*id),
            Ours::Wip(id) => names::wip(*id),
            Ours::Candidate(op) => names::candidate(*op),
            Ours::LandedNotes => names::landed_notes(),
            Ours::Seen(id) => names::seen(*id),
            Ours::Commits => names::commits(),
            Ours::Archive(_) | Ours::Kept(_) | Ours::Reserved => continue,
        };
        let again = again.unwrap();
        assert_eq!(names::parse(&again), Some(ours));
        // Two refs for one thing would be two truths.
        assert_eq!(again, name, "{line}");
    }
}

/// The record of a bundle, in a commit that has no other paper: it is sound only if it says just that.
pub fn bundle(bytes: &[u8]) {
    record::<BundleRecord>(bytes);
    thread_local! {
        static DIR: tempfile::TempDir = tempfile::tempdir().unwrap();
    }
    DIR.with(|dir| {
        let objects = Objects::open(dir.path(), "sha1").unwrap().scratch().unwrap();
        let blob = objects.write_blob(bytes).unwrap();
        let file = ("bundle.json".into(), Some((crate::domain::Mode::File, blob)));
        let tree = objects.edit_tree(objects.empty_tree(), [file]).unwrap();
        let commit = Commit::by(AUTHOR, 7, tree, Vec::new(), "bundle: x\n");
        let oid = objects.write_commit(&commit).unwrap();
        if let Ok(sound) = read_bundle(&objects, oid, true).unwrap() {
            assert!(sound.record.papers.is_empty() && sound.record.delta.is_none() && !sound.against_base);
            assert_eq!(encode(&sound.record).unwrap(), bytes);
        }
    });
}
