use super::*;

fn read(front: &str) -> Result<Kind> {
    Kind::parse("k", &format!("---\n{front}\n---\nBody.\n"))
}

#[test]
fn the_built_in_ones_are_read_and_make_nothing_run() {
    for (name, text) in BUILT_IN {
        let kind = Kind::parse(name, text).unwrap();
        assert!(!kind.makes_run() && kind.unknown.is_empty() && !kind.description.is_empty(), "{name}");
        assert_eq!(kind.read_only, *name == "scout");
        assert_eq!(kind.plan_gate, *name == "architect");
        assert_eq!(kind.told().is_empty(), *name == DEFAULT, "{name}");
    }
}

#[test]
fn every_key_is_read() {
    let kind = read(
        "name: k\ndescription: 'All: of it'\nagent: [sh, -c, 'true']\nread_only: true\nplan_gate: true\ncan_spawn: 2\n\
         decision_rights: [names, order]\npaths:\n  - src/**\nforbid: Cargo.lock\nchecks:\n- \"make test\"\n\
         timeout: 2h\nsilence: 90\nbudget: 1.5\ncolour: red",
    )
    .unwrap();
    assert_eq!(kind.argv, ["sh", "-c", "true"]);
    assert_eq!((kind.agent.as_deref(), kind.can_spawn), (None, Some(2)));
    assert_eq!((kind.timeout, kind.silence, kind.budget), (Some(7200), Some(90), Some(150)));
    assert_eq!(
        (kind.paths.len(), &kind.forbid[..], kind.checks.len()),
        (1, &["Cargo.lock".to_owned()][..], 1)
    );
    assert!(kind.read_only && kind.plan_gate && kind.makes_run());
    assert_eq!((kind.body.as_str(), &kind.unknown[..]), ("Body.", &["colour".to_owned()][..]));
    assert_eq!(kind.commands(), ["agent: sh -c true", "check: make test", "can_spawn: 2"]);
    assert!(kind.told().starts_with("- Change no file here") && kind.told().ends_with("\nBody.\n"));
}

#[test]
fn what_is_no_kind_is_refused() {
    for (front, why) in [
        ("agent: k", "names itself"),
        ("agent: nobody", "no agent is known"),
        ("agent: {a: b}", "a text is wanted"),
        ("name: other", "its file is named"),
        ("read_only: perhaps", "true or false"),
        ("can_spawn: -1", "a number"),
        ("paths: ['a[']", "paths"),
        ("timeout: 0", "timeout"),
        ("budget: -1", "dollars"),
        ("a: 1\na: 2", "front matter"),
        ("- a list", "front matter"),
        ("a: [", "front matter"),
    ] {
        let failure = read(front).unwrap_err();
        assert_eq!(failure.token(), Some(Token::BadKind), "{front}");
        assert!(failure.to_string().contains(why), "{front}: {failure}");
    }
    for (name, text) in [("k", "---\nname: k\n"), ("K k", "text"), ("../k", "text")] {
        assert_eq!(Kind::parse(name, text).unwrap_err().token(), Some(Token::BadKind), "{name}");
    }
    assert!(Kind::parse("k", &"x".repeat(LONGEST_KIND + 1)).is_err());
    assert_eq!(Kind::parse("k", "Only a text.").unwrap().told(), "\nOnly a text.\n");
    assert_eq!(Kind::parse("k", "---\n---\n").unwrap().body, "");
}
