//! The frame, made of the model and of nothing else.

use crate::surfaces::dock::act::Entry;
use crate::surfaces::dock::act::line as command_line;
use crate::surfaces::dock::ansi;
use crate::surfaces::dock::keys::KEYS;
use crate::surfaces::dock::look::Item;
use crate::surfaces::dock::look::Part;
use crate::surfaces::dock::model::Model;
use crate::surfaces::dock::model::Over;
use crate::surfaces::style;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::paint;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::style::Modifier;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::text::Span;
use ratatui::widgets::Clear;
use ratatui::widgets::Paragraph;

/// From here on list and card stand beside each other.
const WIDE: u16 = 64;

pub fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    if area.height < 3 || area.width < 10 {
        put(frame, area, vec![Line::from("no room")]);
    } else {
        put(frame, row(0, 1), vec![title(model, area.width)]);
        body(frame, row(1, area.height - 2), model);
        put(frame, row(area.height - 1, 1), vec![footer(model, area.width)]);
    }
    if !model.colour {
        for cell in &mut frame.buffer_mut().content {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
    }
}

fn put(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>) {
    frame.render_widget(Paragraph::new(lines), area);
}

fn title(model: &Model, width: u16) -> Line<'static> {
    let items = &model.sight.items;
    let waiting = items.iter().filter(|item| item.waits).count();
    let mut text = format!("skein  {}  ", style::line(&model.repo));
    text.push_str(&match (model.looked, items.len()) {
        (false, _) => "looking".to_owned(),
        (true, 0) => "no workers".to_owned(),
        (true, all) => format!("{}, {waiting} waiting", count(all, "worker")),
    });
    if model.sight.unreadable > 0 {
        text.push_str(&format!(", {} unreadable", model.sight.unreadable));
    }
    if model.sight.failed.is_some() {
        text.push_str(", cannot look");
    }
    let mut line = Line::styled(fitted(&text, width), Modifier::REVERSED);
    line.spans.iter_mut().for_each(|span| span.style = span.style.add_modifier(Modifier::BOLD));
    line
}

fn footer(model: &Model, width: u16) -> Line<'static> {
    let keys = match &model.over {
        Over::Entry(_) => "Enter runs it   Esc leaves it".to_owned(),
        Over::Running { .. } => "it runs; ctrl-c leaves without waiting".to_owned(),
        Over::Help | Over::Said { .. } => "Enter goes back   j k space b scroll".to_owned(),
        Over::Nothing if width < WIDE => "? help  q quit  Enter card  Esc list".to_owned(),
        Over::Nothing => {
            let key = |(key, word, _): &(char, &str, _)| format!("{key} {word}");
            let keys: Vec<_> = KEYS.iter().filter(|(key, ..)| !"codp".contains(*key)).map(key).collect();
            let wide = keys.join("  ");
            if wide.len() > usize::from(width) { keys.join(" ") } else { wide }
        }
    };
    Line::styled(fitted(&keys, width), Modifier::REVERSED)
}

/// Cut or filled to `width` columns.
fn fitted(text: &str, width: u16) -> String {
    let mut out = String::new();
    let mut used = 0;
    for c in style::line(text).chars() {
        let wide = columns(c);
        if used + wide > usize::from(width) {
            break;
        }
        out.push(c);
        used += wide;
    }
    out.extend(std::iter::repeat_n(' ', usize::from(width) - used));
    out
}

fn columns(c: char) -> usize {
    if c.is_ascii() { 1 } else { Span::raw(c.to_string()).width() }
}

fn body(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    match &model.over {
        Over::Help => return read(frame, area, &help(), model.scroll, false),
        Over::Running { command, told } => {
            let told: String = told.iter().map(|line| format!("{line}\n")).collect();
            let text = format!("{}\n{told}", prompt(command));
            return read(
                frame,
                area,
                &text,
                text.lines().count().saturating_sub(usize::from(area.height)),
                false,
            );
        }
        Over::Said { command, said } => {
            let end = match said.code {
                0 => String::new(),
                code => paint(WARN, &format!("(exit code {code})")) + "\n",
            };
            let text = format!("{}\n{}{end}", prompt(command), said.text);
            return read(frame, area, &text, model.scroll, false);
        }
        Over::Nothing | Over::Entry(_) => {}
    }
    let mut above = area;
    if let Over::Entry(entry) = &model.over {
        let lines = made(entry, model, area.width);
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
        above.height = area.height - height;
        let below = Rect { y: area.y + above.height, height, ..area };
        // The end of it is where one types.
        let from = lines.len() - usize::from(height);
        frame.render_widget(Clear, below);
        put(frame, below, lines[from..].to_vec());
    }
    if above.height == 0 {
        return;
    }
    if area.width < WIDE {
        if model.opened {
            detail(frame, above, model)
        } else {
            list(frame, above, model)
        }
        return;
    }
    let left = (area.width / 3).clamp(24, 44);
    list(frame, Rect { width: left - 1, ..above }, model);
    let bar = Rect { x: area.x + left, width: 1, ..above };
    put(frame, bar, vec![Line::from("|"); usize::from(above.height)]);
    let right = Rect { x: area.x + left + 2, width: area.width - left - 2, ..above };
    detail(frame, right, model);
}

fn prompt(command: &str) -> String {
    format!("{} {}", paint(DIM, "$"), paint(BOLD, &style::line(command)))
}

/// The list, around what is selected.
fn list(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let mut lines = Vec::new();
    let mut selected = 0;
    let mut heading = None;
    for item in &model.sight.items {
        if heading != Some(item.waits) {
            heading = Some(item.waits);
            let words = if item.waits { "inbox" } else { "workers" };
            lines.push(Line::styled(words, Modifier::DIM));
        }
        let chosen = Some(item.worker) == model.selected;
        if chosen {
            selected = lines.len();
        }
        lines.push(entry(item, chosen, area.width));
    }
    if lines.is_empty() && model.looked {
        lines = ansi::lines(model.sight.failed.as_deref().unwrap_or("git skein dispatch makes a worker"));
    }
    let height = usize::from(area.height);
    let from = (selected + 1).saturating_sub(height);
    put(frame, area, lines.into_iter().skip(from).take(height).collect());
}

fn entry(item: &Item, chosen: bool, width: u16) -> Line<'static> {
    let width = usize::from(width);
    let words = style::line(&item.words);
    let right = words.chars().map(columns).sum::<usize>().min(width / 2);
    let left = width.saturating_sub(right + 3);
    let fit = |text: &str, width: usize| fitted(text, u16::try_from(width).unwrap_or(u16::MAX));
    let name = format!("{} {} ", if chosen { ">" } else { " " }, fit(&item.handle, left));
    let spans = vec![Span::raw(name), Span::styled(fit(&words, right), ansi::style(item.style))];
    let line = Line::from(spans);
    if chosen { line.patch_style(Modifier::REVERSED) } else { line }
}

/// What is shown of the selected worker.
fn detail(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let Some(item) = model.item() else { return };
    // What a verdict would be bound to, before what may not fit below it.
    let subject = model.detail().and_then(|detail| detail.subject.clone());
    let more = [subject, item.board.clone()].into_iter().flatten();
    let more: String = more.map(|text| format!("  {}", style::line(&text))).collect();
    let head = format!("{} of {}{more}", model.part.word(), item.handle);
    let head = Line::styled(fitted(&head, area.width), Modifier::BOLD);
    put(frame, Rect { height: 1, ..area }, vec![head]);
    let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let text = match (&model.sight.failed, model.detail()) {
        (Some(failed), _) => failed,
        (None, Some(detail)) => &detail.text,
        (None, None) => return put(frame, below, vec![Line::styled("looking", Modifier::DIM)]),
    };
    if !model.part.is_followed() {
        return read(frame, below, text, model.scroll, model.part != Part::Card);
    }
    let end = text.lines().count().saturating_sub(model.scroll);
    read(frame, below, text, end.saturating_sub(usize::from(below.height)), true);
}

/// Lines of `text` from the one at `from` on, broken where they are too long, or else cut.
fn read(frame: &mut Frame<'_>, area: Rect, text: &str, from: usize, cut: bool) {
    let height = usize::from(area.height);
    let mut lines = Vec::new();
    // Of a long text only what is seen is looked at. No style of the renderer goes on beyond its line.
    let seen: Vec<&str> = text.lines().skip(from).take(height).collect();
    for line in ansi::lines(&seen.join("\n")) {
        if cut {
            lines.push(line);
        } else {
            lines.extend(broken(&line, usize::from(area.width)));
        }
    }
    lines.truncate(height);
    put(frame, area, lines);
}

/// The line as several ones, none wider than `width`, broken at blanks where there are some. The further ones are
/// indented a little.
fn broken(line: &Line<'static>, width: usize) -> Vec<Line<'static>> {
    let indent = if width > 20 { 4 } else { 0 };
    let all = line.spans.iter().flat_map(|span| span.content.chars().map(|c| (c, span.style)));
    let mut rest: Vec<(char, Style)> = all.collect();
    let mut lines = Vec::new();
    loop {
        let before = if lines.is_empty() { 0 } else { indent };
        let fits = fitting(&rest, width.saturating_sub(before));
        let next = rest.split_off(fits);
        let spans = rest.iter().map(|(c, style)| Span::styled(c.to_string(), *style));
        lines.push([Span::raw(" ".repeat(before))].into_iter().chain(spans).collect::<Line<'_>>());
        rest = next;
        if rest.is_empty() {
            return lines;
        }
    }
}

/// How many characters go onto a line, at least one.
fn fitting(text: &[(char, Style)], width: usize) -> usize {
    let mut used = 0;
    let wide = text.iter().position(|(c, _)| {
        used += columns(*c);
        used > width
    });
    let Some(end) = wide else { return text.len() };
    let blank = text[..end].iter().rposition(|(c, _)| *c == ' ').filter(|at| *at > end / 2);
    blank.map_or(end, |at| at + 1).max(1)
}

/// A command that is being made: what it says, what it chooses, and how it will run.
fn made(entry: &Entry, model: &Model, width: u16) -> Vec<Line<'static>> {
    let mut text = format!("{}\n", paint(DIM, &"-".repeat(usize::from(width))));
    if model.is_stale(entry) {
        let now = model.sight.detail.as_ref().and_then(|d| d.subject.clone()).unwrap_or_default();
        text.push_str(&paint(BAD, &format!("the card has changed: now it is {}", style::line(&now))));
        text.push('\n');
    }
    for (at, option) in entry.options.iter().enumerate() {
        let chosen = entry.option == Some(at + 1);
        let words = format!("{} {}. {}", if chosen { ">" } else { " " }, at + 1, style::line(option));
        text.push_str(&if chosen { paint(GOOD, &words) } else { words });
        text.push('\n');
    }
    if !entry.options.is_empty() {
        text.push_str(&paint(DIM, "up and down choose an option"));
        text.push('\n');
    }
    text.push_str(&format!("{}\n", prompt(&command_line(&entry.words(model.dir.as_deref())))));
    if entry.act.speaks() {
        text.push_str(&format!("message> {}_\n", style::line(&entry.text)));
    }
    ansi::lines(&text).iter().flat_map(|line| broken(line, usize::from(width))).collect()
}

fn help() -> String {
    let mut text = String::new();
    let mut key = |key: &str, what: &str| text.push_str(&format!("{:<10}{what}\n", key));
    key("j k", "down and up; also the arrows, g and G");
    key("Enter Esc", "to the card and back, on a small screen");
    key("space b", "a piece further and back; J and K by lines");
    for (name, word, _) in KEYS {
        key(&name.to_string(), word);
    }
    key("ctrl-z", "stops it; fg in the shell goes on");
    text.push_str("\nA verdict and its like show the command that they run, and wait for Enter.\n");
    text
}

#[cfg(test)]
mod tests;
