//! What a key means, by what is on the screen.

use crate::domain::Decision;
use crate::surfaces::dock::act::Act;
use crate::surfaces::dock::look::Part;
use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyEventKind;
use crossterm::event::KeyModifiers;

/// What takes the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    List,
    /// A command is being made.
    Entry,
    /// A command runs.
    Running,
    /// There is something to read.
    Reading,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Down the list, or the options of a question.
    Move(isize),
    /// Through the text beside it.
    Scroll(isize),
    /// A screen of it.
    Page(isize),
    Show(Part),
    /// From the list to the card and back, where both have no room.
    Open,
    Back,
    Begin(Act),
    Type(String),
    Erase,
    EraseAll,
    Run,
    Help,
    Quit,
    /// Quit though a command runs.
    Leave,
    Suspend,
    Redraw,
}

/// All keys of the list but those that move, with what they do in a few words.
pub const KEYS: &[(char, &str, Intent)] = &[
    ('a', "accept", Intent::Begin(Act::Verdict(Decision::Accept))),
    ('x', "reject", Intent::Begin(Act::Verdict(Decision::Reject))),
    ('v', "revise", Intent::Begin(Act::Verdict(Decision::Revise))),
    ('n', "answer", Intent::Begin(Act::Verdict(Decision::Answer))),
    ('t', "retry", Intent::Begin(Act::Verdict(Decision::Retry))),
    ('s', "stop", Intent::Begin(Act::Verdict(Decision::Stop))),
    ('l', "land", Intent::Begin(Act::Land)),
    ('u', "resume", Intent::Begin(Act::Resume)),
    ('c', "card", Intent::Show(Part::Card)),
    ('d', "diff", Intent::Show(Part::Diff)),
    ('o', "output", Intent::Show(Part::Log)),
    ('p', "peek", Intent::Show(Part::Peek)),
    ('?', "help", Intent::Help),
    ('q', "quit", Intent::Quit),
];

pub fn intent(mode: Mode, key: &KeyEvent) -> Option<Intent> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return held(mode, key.code);
    }
    match mode {
        Mode::List => listed(key.code),
        Mode::Entry => typed(key.code),
        Mode::Running => None,
        Mode::Reading => read(key.code),
    }
}

/// With control held.
fn held(mode: Mode, code: KeyCode) -> Option<Intent> {
    match (mode, code) {
        (_, KeyCode::Char('z')) => Some(Intent::Suspend),
        (_, KeyCode::Char('l')) => Some(Intent::Redraw),
        (Mode::List, KeyCode::Char('c')) => Some(Intent::Quit),
        (Mode::Running, KeyCode::Char('c')) => Some(Intent::Leave),
        (_, KeyCode::Char('c')) => Some(Intent::Back),
        (Mode::Entry, KeyCode::Char('u')) => Some(Intent::EraseAll),
        (Mode::Entry, KeyCode::Char('h')) => Some(Intent::Erase),
        (Mode::List | Mode::Reading, KeyCode::Char('d' | 'f')) => Some(Intent::Page(1)),
        (Mode::List | Mode::Reading, KeyCode::Char('u' | 'b')) => Some(Intent::Page(-1)),
        _ => None,
    }
}

fn listed(code: KeyCode) -> Option<Intent> {
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => Intent::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Intent::Move(1),
        KeyCode::Home | KeyCode::Char('g') => Intent::Move(isize::MIN),
        KeyCode::End | KeyCode::Char('G') => Intent::Move(isize::MAX),
        KeyCode::Char('K') => Intent::Scroll(-1),
        KeyCode::Char('J') => Intent::Scroll(1),
        KeyCode::PageUp | KeyCode::Char('b') => Intent::Page(-1),
        KeyCode::PageDown | KeyCode::Char(' ') => Intent::Page(1),
        KeyCode::Enter | KeyCode::Right => Intent::Open,
        KeyCode::Esc | KeyCode::Left => Intent::Back,
        KeyCode::Char(c) => {
            return KEYS.iter().find(|(key, ..)| *key == c).map(|(.., intent)| intent.clone());
        }
        _ => return None,
    })
}

fn typed(code: KeyCode) -> Option<Intent> {
    Some(match code {
        KeyCode::Up => Intent::Move(-1),
        KeyCode::Down => Intent::Move(1),
        KeyCode::Enter => Intent::Run,
        KeyCode::Esc => Intent::Back,
        KeyCode::Backspace => Intent::Erase,
        KeyCode::Char(c) => Intent::Type(c.to_string()),
        _ => return None,
    })
}

fn read(code: KeyCode) -> Option<Intent> {
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => Intent::Scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => Intent::Scroll(1),
        KeyCode::PageUp | KeyCode::Char('b') => Intent::Page(-1),
        KeyCode::PageDown | KeyCode::Char(' ') => Intent::Page(1),
        KeyCode::Enter | KeyCode::Esc | KeyCode::Char('q' | '?') => Intent::Back,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: KeyModifiers = KeyModifiers::NONE;
    const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

    #[test]
    fn a_key_means_one_thing() {
        let mut keys: Vec<char> = KEYS.iter().map(|(key, ..)| *key).chain("kjgGKJb ".chars()).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
        let accept = Intent::Begin(Act::Verdict(Decision::Accept));
        for (mode, code, held, want) in [
            (Mode::List, KeyCode::Char('a'), NONE, Some(accept)),
            (Mode::List, KeyCode::Char('a'), CONTROL, None),
            (Mode::List, KeyCode::Char('z'), NONE, None),
            (Mode::List, KeyCode::Char('c'), CONTROL, Some(Intent::Quit)),
            (Mode::List, KeyCode::Down, NONE, Some(Intent::Move(1))),
            (Mode::Entry, KeyCode::Char('q'), NONE, Some(Intent::Type("q".to_owned()))),
            (Mode::Entry, KeyCode::Char('c'), CONTROL, Some(Intent::Back)),
            (Mode::Entry, KeyCode::Enter, NONE, Some(Intent::Run)),
            (Mode::Running, KeyCode::Char('q'), NONE, None),
            (Mode::Running, KeyCode::Enter, NONE, None),
            (Mode::Running, KeyCode::Char('c'), CONTROL, Some(Intent::Leave)),
            (Mode::Reading, KeyCode::Char('a'), NONE, None),
            (Mode::Reading, KeyCode::Char('q'), NONE, Some(Intent::Back)),
            (Mode::Reading, KeyCode::Char('z'), CONTROL, Some(Intent::Suspend)),
        ] {
            assert_eq!(intent(mode, &KeyEvent::new(code, held)), want, "{mode:?} {code:?}");
        }
        let let_go = KeyEvent::new_with_kind(KeyCode::Enter, NONE, KeyEventKind::Release);
        assert_eq!(intent(Mode::Entry, &let_go), None);
    }

    #[test]
    fn each_verdict_has_a_key() {
        use Decision::*;
        for verb in [Accept, Reject, Revise, Answer, Retry, Stop] {
            assert!(KEYS.iter().any(|(.., intent)| *intent == Intent::Begin(Act::Verdict(verb))), "{verb}");
        }
    }
}
