//! Each shape in each format of objects and of refs.

use crate::matrix::knows_reftable;
use crate::matrix::not_here;
use crate::shapes::bare;
use crate::shapes::linked;
use crate::shapes::round;
use crate::shapes::sparse;
use crate::shapes::stores::cloned;
use crate::shapes::stores::with_history;
use crate::shapes::with_submodule;
use crate::support::World;

/// Makes a world one of a shape.
type Shape = fn(World) -> World;

const SHAPES: [(&str, Shape); 7] = [
    ("bare", bare),
    ("linked", linked),
    ("submodule", with_submodule),
    ("sparse", |world| sparse(world, false)),
    ("sparse index", |world| sparse(world, true)),
    ("shallow", |world| cloned(with_history(world), &["--depth", "1"])),
    ("partial", |world| cloned(with_history(world), &["--filter=blob:none"])),
];

fn all(hash: &str, refs: &str) {
    let git = std::env::var("SKEIN_TEST_GIT").unwrap_or_else(|_| "git".to_owned());
    if refs != "files" && !knows_reftable(&git) {
        return not_here(&format!("shapes in {hash}, {refs}"), "no git here knows that format");
    }
    for (name, shape) in SHAPES {
        let format = format!("--object-format={hash}");
        let world = match refs {
            "files" => World::with_formats(&[&format]),
            _ => World::with_formats(&[&format, "--ref-format=reftable"]),
        };
        // A clone is made in the same format.
        let world = shape(world.env("GIT_DEFAULT_REF_FORMAT", refs));
        let objects = world.git(["rev-parse", "--show-object-format"]);
        let common = world.git(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let tables = std::path::Path::new(&common).join("reftable").is_dir();
        assert_eq!((objects.as_str(), tables), (hash, refs == "reftable"), "{name}");
        round(&world, "one");
    }
}

#[test]
fn shapes_in_sha1_and_files() {
    all("sha1", "files");
}

#[test]
fn shapes_in_sha1_and_reftables() {
    all("sha1", "reftable");
}

#[test]
fn shapes_in_sha256_and_files() {
    all("sha256", "files");
}

#[test]
fn shapes_in_sha256_and_reftables() {
    all("sha256", "reftable");
}
