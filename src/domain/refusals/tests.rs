use super::*;

#[test]
fn every_token_is_explained_once_and_whole() {
    let all = || REFUSALS.iter().flat_map(|(_, some)| *some);
    for token in Token::ALL {
        assert_eq!(all().filter(|e| e.token == *token).count(), 1, "{}", token.as_str());
    }
    for e in all() {
        assert!([e.means, e.show, e.next].iter().all(|t| !t.trim().is_empty()), "{}", e.token.as_str());
    }
    assert_eq!(all().count(), Token::ALL.len());
}
