use super::*;

fn claim(summary: &str, evidence: &[&str]) -> Call {
    let evidence = evidence.iter().map(|e| (*e).to_owned()).collect();
    Call::Done(Claim { outcome: Claimed::Complete, summary: summary.into(), evidence })
}

#[test]
fn a_claim_is_more_than_a_word() {
    let good = "make test: 12 passed";
    for (summary, evidence) in [
        ("", &[good][..]),
        ("done", &[good]),
        ("The task is done.", &[good]),
        ("All tests passed successfully!", &[good]),
        ("Login fixed", &[good]),
        ("Sessions now expire after an hour", &[]),
        ("Sessions now expire after an hour", &["ok"]),
        ("Sessions now expire after an hour", &[good, "tests pass"]),
        ("Sessions now expire after an hour", &["login.rs"]),
    ] {
        let no = check(&claim(summary, evidence)).unwrap_err();
        assert_eq!(no.token(), Some(Token::Vague), "{summary:?} {evidence:?}");
    }
    check(&claim("Sessions now expire after an hour", &[good])).unwrap();
}

#[test]
fn texts_have_a_length() {
    for text in ["", "  \n", &"x".repeat(LONGEST + 1)] {
        let no = check(&Call::Note(Text { text: text.to_owned() })).unwrap_err();
        assert_eq!(no.token(), Some(Token::BadCall));
    }
}

#[test]
fn what_is_no_request_is_refused() {
    for bytes in [
        &b""[..],
        b"{",
        b"\xff",
        br#"{"v":1}"#,
        br#"{"v":2,"call":{"verb":"note","text":"x"}}"#,
        br#"{"v":1,"call":{"verb":"land","text":"x"}}"#,
        br#"{"v":1,"call":{"verb":"note","text":"x","id":"other"}}"#,
        br#"{"v":1,"call":{"verb":"commit","message":"x"}}"#,
    ] {
        assert_eq!(heard(bytes).unwrap_err().token(), Some(Token::BadCall), "{bytes:?}");
    }
    heard(br#"{"v":1,"call":{"verb":"todo","add":["one"]}}"#).unwrap();
}

#[test]
fn a_list_changes_as_a_whole_or_not() {
    let mut talk = Talk::default();
    talk.change(&Todo { add: vec!["one".into(), "two".into()], ..Todo::default() }).unwrap();
    talk.change(&Todo { check: vec![2], ..Todo::default() }).unwrap();
    assert!(talk.change(&Todo { check: vec![1, 3], ..Todo::default() }).is_err());
    assert!(talk.change(&Todo { check: vec![0], ..Todo::default() }).is_err());
    assert_eq!(talk.todos.iter().map(|i| i.done).collect::<Vec<_>>(), [false, true]);
    talk.change(&Todo { set: true, add: vec!["new".into()], ..Todo::default() }).unwrap();
    assert_eq!(talk.todos.len(), 1);
}
