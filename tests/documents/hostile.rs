//! What a repository, a crash or a person does that nobody expects.

use super::Doc;
use super::exchange;
use std::fs;
use std::os::unix::fs::symlink;

/// Where the new text of `t.md` lies until it takes its place.
const BESIDE: &str = ".t.md.skein~";

#[test]
fn a_link_where_the_new_text_would_lie_is_refused_and_never_followed() {
    for (target, there) in [("victim", true), ("../victim", true), ("newfile", false)] {
        let doc = Doc::new(&exchange("Q?\n"));
        let target = doc.world.path(".").join(target);
        if there {
            fs::write(&target, "precious\n").unwrap();
        }
        doc.send();
        symlink(&target, doc.world.path(BESIDE)).unwrap();
        let (text, step) = (doc.text(), doc.step());
        for (verb, more) in [("write", &[][..]), ("respond", &[]), ("recover", &[]), ("claim", &["--new"])] {
            doc.fed(verb, more, "A.\n").refused("file-exists", 1);
            assert_eq!(fs::read_to_string(&target).ok(), there.then(|| "precious\n".to_owned()), "{verb}");
            assert!(fs::symlink_metadata(doc.world.path("t.md")).unwrap().is_file(), "{verb}");
            assert_eq!((doc.text(), doc.step()), (text.clone(), step.clone()), "{verb}");
        }
        fs::remove_file(doc.world.path(BESIDE)).unwrap();
        doc.respond("A.\n");
        let _ = fs::remove_file(&target);
        doc.is(&exchange("Q?\n\nA.\n\n"));
    }
}

/// A file with a second name: the other name keeps what it has.
#[test]
fn a_second_name_of_another_file_is_not_written_through() {
    let doc = Doc::new("# T\n");
    doc.world.write("other.txt", "precious\n");
    fs::hard_link(doc.world.path("other.txt"), doc.world.path(BESIDE)).unwrap();
    doc.run("claim", &[]).ok();
    assert_eq!(doc.world.read("other.txt"), "precious\n");
    doc.tidy();
}
