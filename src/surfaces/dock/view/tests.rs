use super::*;
use crate::domain::Decision;
use crate::domain::WorkerId;
use crate::surfaces::dock::act::Act;
use crate::surfaces::dock::act::Said;
use crate::surfaces::dock::keys::Intent;
use crate::surfaces::dock::look::Detail;
use crate::surfaces::dock::look::Sight;
use crate::surfaces::dock::model::Effect;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn id(n: u64) -> WorkerId {
    WorkerId::from_parts(n, 1)
}

fn item(n: u64, handle: &str, waits: bool, words: &str) -> Item {
    let (style, board) = (GOOD, None);
    Item { worker: id(n), handle: handle.to_owned(), waits, words: words.to_owned(), style, board }
}

fn detail(n: u64, text: &str, subject: &str) -> Detail {
    let options = vec!["blue".to_owned(), "red".to_owned()];
    Detail {
        worker: id(n),
        part: Part::Card,
        text: text.to_owned(),
        subject: Some(subject.to_owned()),
        options,
    }
}

fn sight() -> Sight {
    Sight {
        items: vec![
            item(1, "asks", true, "asks 2m"),
            item(2, "fix-auth", true, "verdict 5m"),
            item(3, "runs", false, "live"),
        ],
        unreadable: 0,
        detail: Some(detail(1, "asks 01\n  outcome   needs-input\n", "q1")),
        failed: None,
    }
}

fn model() -> Model {
    let mut model = Model::new("repo".to_owned(), None, true);
    assert_eq!(
        model.see(sight()),
        Some(Effect::Look),
        "the first one is selected, and what is of it is wished"
    );
    model
}

fn drawn(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

#[test]
fn list_and_card_stand_beside_each_other_where_there_is_room() {
    let rows = drawn(&model(), 80, 24);
    assert_eq!(rows[0], "skein  repo  3 workers, 2 waiting");
    for (y, want) in [
        "inbox                     | card of asks  q1",
        "> asks            asks 2m | asks 01",
        "  fix-auth     verdict 5m |   outcome   needs-input",
        "workers                   |",
        "  runs               live |",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(rows[y + 1], *want);
    }
    assert_eq!(
        rows[23], "a accept x reject v revise n answer t retry s stop l land u resume ? help q quit",
        "all of it at 80 columns"
    );
}

#[test]
fn long_lines_are_broken_at_blanks() {
    let mut model = model();
    let text = format!("  task      {}\n{}\nend\n", "word ".repeat(14), "x".repeat(60));
    model.see(Sight { detail: Some(detail(1, &text, "q1")), ..sight() });
    let rows = drawn(&model, 80, 24);
    let right: Vec<&str> = rows[2..8].iter().map(|row| row.get(28..).unwrap_or_default()).collect();
    let (long, rest) = ("x".repeat(52), "x".repeat(8));
    assert_eq!(
        right,
        [
            "  task      word word word word word word word word",
            "    word word word word word word",
            &long,
            &format!("    {rest}"),
            "end",
            "",
        ]
    );
}

#[test]
fn on_a_small_screen_they_take_turns() {
    let mut model = model();
    let rows = drawn(&model, 40, 10);
    assert_eq!((rows[2].as_str(), rows.len()), ("> asks                           asks 2m", 10));
    model.want(Intent::Open);
    assert_eq!(drawn(&model, 40, 10)[1..3], ["card of asks  q1", "asks 01"]);
    model.want(Intent::Back);
    model.want(Intent::Move(isize::MAX));
    assert_eq!(drawn(&model, 40, 4)[1..3], ["workers", "> runs                              live"]);
    for (width, height) in [(1, 1), (9, 3), (10, 3), (10, 2), (63, 3), (64, 3), (300, 3), (12, 100)] {
        for act in [None, Some(Act::Land), Some(Act::Verdict(Decision::Answer))] {
            let mut model = self::model();
            act.and_then(|act| model.want(Intent::Begin(act)));
            drawn(&model, width, height);
        }
    }
}

#[test]
fn the_command_is_shown_before_it_runs() {
    let mut model = model();
    model.want(Intent::Begin(Act::Verdict(Decision::Answer)));
    model.want(Intent::Move(1));
    model.want(Intent::Move(1));
    model.want(Intent::Type("as\nyou like".to_owned()));
    let command = "git skein verdict asks answer --option 2 -m 'as you like' --delta q1";
    let rows = drawn(&model, 80, 24);
    assert!(rows.contains(&format!("$ {command}")) && rows.contains(&"> 2. red".to_owned()), "{rows:?}");
    assert!(rows.contains(&"message> as you like_".to_owned()), "{rows:?}");
    let rows = drawn(&model, 40, 10);
    let joined = rows.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(command), "{rows:?}");
    let Some(Effect::Run(words)) = model.want(Intent::Run) else { panic!("nothing runs") };
    assert_eq!(command_line(&words), command);
    assert_eq!(model.want(Intent::Run), None, "it runs but once");
    model.tell("told meanwhile".to_owned());
    assert!(drawn(&model, 80, 24).contains(&"told meanwhile".to_owned()));
    model.end(Said { text: "refused: x: y\nsee:  z\n".to_owned(), code: 4 });
    let rows = drawn(&model, 80, 24);
    let want = [format!("$ {command}"), "told meanwhile".into(), "refused: x: y".into(), "see:  z".into()];
    assert_eq!((&rows[1..5], rows[5].as_str()), (&want[..], "(exit code 4)"));
}

#[test]
fn what_was_seen_is_decided_though_the_card_changes() {
    let mut model = model();
    model.want(Intent::Move(1));
    model.see(Sight { detail: Some(detail(2, "fix-auth", "1:aaa")), ..sight() });
    model.want(Intent::Begin(Act::Verdict(Decision::Accept)));
    let mut moved = Sight { detail: Some(detail(2, "fix-auth", "2:bbb")), ..sight() };
    moved.items.rotate_left(1);
    model.see(moved);
    assert_eq!(model.selected, Some(id(2)), "the selection stays with its worker");
    let rows = drawn(&model, 80, 24);
    assert!(rows.contains(&"the card has changed: now it is 2:bbb".to_owned()), "{rows:?}");
    assert!(rows.contains(&"$ git skein verdict fix-auth accept --delta 1:aaa".to_owned()), "{rows:?}");
    let mut gone = sight();
    gone.items.remove(1);
    model.see(gone);
    assert_eq!(model.want(Intent::Run), None);
    let said = drawn(&model, 80, 24)[2].clone();
    assert_eq!(said, "fix-auth is not there any more; nothing was run");
}

#[test]
fn nothing_is_decided_before_the_card_was_read() {
    let mut model = model();
    model.want(Intent::Move(1));
    model.want(Intent::Begin(Act::Verdict(Decision::Accept)));
    assert_eq!(drawn(&model, 80, 24)[22], "                          |");
    assert!(matches!(model.over, Over::Nothing));
}

#[test]
fn a_look_that_fails_leaves_what_was_seen() {
    let mut model = model();
    assert_eq!(model.see(Sight { failed: Some("fault: x\n".to_owned()), ..Sight::default() }), None);
    let rows = drawn(&model, 80, 24);
    assert_eq!(rows[0], "skein  repo  3 workers, 2 waiting, cannot look");
    assert!(rows[2].ends_with("| fault: x"), "{rows:?}");
}

#[test]
fn what_a_worker_wrote_steers_nothing() {
    let bad = "a\x1b[2J\u{202e}\r\u{9b}31m\x07";
    let mut model = model();
    let mut seen = sight();
    seen.items[0].board = Some(bad.to_owned());
    seen.items[0].words = bad.to_owned();
    let mut text = detail(1, &format!("{bad}\n").repeat(3), bad);
    text.options = vec![bad.to_owned()];
    seen.detail = Some(text);
    model.see(seen);
    model.want(Intent::Begin(Act::Verdict(Decision::Answer)));
    model.want(Intent::Type(bad.to_owned()));
    let all = drawn(&model, 120, 30).concat();
    assert!(all.contains("a\\u{1b}[2J\\u{202e}"), "{all}");
    assert!(!all.chars().any(style::steers), "{all}");
    model.want(Intent::Run);
    model.tell("\x1b[31mred\x1b[0m".to_owned());
    assert!(drawn(&model, 120, 30).concat().contains("\\u{1b}[31mred"));
    model.end(Said { text: bad.to_owned(), code: 0 });
    let all = drawn(&model, 120, 30).concat();
    assert!(all.contains("\\u{1b}[31mred") && !all.chars().any(style::steers), "{all}");
}

#[test]
fn without_colour_there_is_none() {
    let mut model = model();
    model.colour = false;
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut coloured = |model: &Model| {
        terminal.draw(|frame| draw(frame, model)).unwrap();
        terminal.backend().buffer().content.iter().any(|cell| cell.fg != Color::Reset)
    };
    assert!(!coloured(&model));
    model.colour = true;
    assert!(coloured(&model));
}
