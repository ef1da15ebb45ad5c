//! What is on the screen, and how it changes by what a person wants and by what was seen. Nothing is read or done here.

use crate::domain::Decision;
use crate::domain::WorkerId;
use crate::surfaces::dock::act::Act;
use crate::surfaces::dock::act::Entry;
use crate::surfaces::dock::act::Said;
use crate::surfaces::dock::act::line;
use crate::surfaces::dock::keys::Intent;
use crate::surfaces::dock::keys::Mode;
use crate::surfaces::dock::look::Detail;
use crate::surfaces::dock::look::Item;
use crate::surfaces::dock::look::Part;
use crate::surfaces::dock::look::Sight;
use crate::surfaces::dock::look::Wish;
use crate::surfaces::style::safe;

/// Lines of a page, whatever the size of the screen: something is seen twice, and nothing never.
const PAGE: isize = 5;

#[derive(Debug, Default)]
pub struct Model {
    /// Its name for the title.
    pub repo: String,
    /// The folder that `-C` named, for the commands.
    pub dir: Option<String>,
    pub colour: bool,
    pub sight: Sight,
    /// Whether there was a look.
    pub looked: bool,
    pub selected: Option<WorkerId>,
    /// Where it stood in the list.
    at: usize,
    pub part: Part,
    /// Where list and card have no room beside each other, the card is shown.
    pub opened: bool,
    pub scroll: usize,
    pub over: Over,
}

/// What lies over it.
#[derive(Debug, Default)]
pub enum Over {
    #[default]
    Nothing,
    Help,
    Entry(Entry),
    Running {
        command: String,
        told: Vec<String>,
    },
    Said {
        command: String,
        said: Said,
    },
}

/// What is to be done outside.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    Run(Vec<String>),
    /// Look again, as is wished now.
    Look,
    Suspend,
    Redraw,
    Quit,
    Leave,
}

impl Model {
    pub fn new(repo: String, dir: Option<String>, colour: bool) -> Model {
        Model { repo, dir, colour, ..Model::default() }
    }

    pub fn mode(&self) -> Mode {
        match self.over {
            Over::Nothing => Mode::List,
            Over::Entry(_) => Mode::Entry,
            Over::Running { .. } => Mode::Running,
            Over::Help | Over::Said { .. } => Mode::Reading,
        }
    }

    pub fn wish(&self) -> Wish {
        Wish { worker: self.selected, part: self.part }
    }

    /// What was read of the selected worker.
    pub fn detail(&self) -> Option<&Detail> {
        self.sight.detail.as_ref().filter(|d| Some(d.worker) == self.selected && d.part == self.part)
    }

    /// Takes what was seen. The selection stays with its worker; if that has gone, with its place.
    pub fn see(&mut self, sight: Sight) -> Option<Effect> {
        self.looked = true;
        if sight.failed.is_some() {
            // What was seen before is not less true.
            self.sight.failed = sight.failed;
            return None;
        }
        self.sight = sight;
        let was = self.selected;
        let place = self.sight.items.iter().position(|item| Some(item.worker) == was);
        self.at = place.unwrap_or(self.at.min(self.sight.items.len().saturating_sub(1)));
        self.selected = self.sight.items.get(self.at).map(|item| item.worker);
        if self.selected != was {
            self.scroll = 0;
        }
        let wanting = self.selected.is_some() && self.detail().is_none();
        (self.selected != was || wanting).then_some(Effect::Look)
    }

    /// Whether what is being decided is not what there is now. It would be refused.
    pub fn is_stale(&self, entry: &Entry) -> bool {
        let now = self.sight.detail.as_ref().filter(|d| d.worker == entry.worker);
        matches!(entry.act, Act::Verdict(_)) && now.is_some_and(|now| now.subject != entry.subject)
    }

    /// A command says something while it runs.
    pub fn tell(&mut self, said: String) {
        if let Over::Running { told, .. } = &mut self.over {
            told.push(safe(&said));
        }
    }

    /// A command has ended.
    pub fn end(&mut self, mut said: Said) -> Option<Effect> {
        if let Over::Running { command, told } = std::mem::take(&mut self.over) {
            let before: String = told.iter().map(|line| format!("{line}\n")).collect();
            said.text.insert_str(0, &before);
            self.over = Over::Said { command, said };
            self.scroll = 0;
        }
        Some(Effect::Look)
    }

    /// Does what is wanted, as far as it is to be done here.
    pub fn want(&mut self, intent: Intent) -> Option<Effect> {
        match intent {
            Intent::Move(by) => return self.go(by),
            Intent::Scroll(by) => self.scroll(by),
            Intent::Page(by) => self.scroll(by.saturating_mul(PAGE)),
            Intent::Show(part) => {
                (self.part, self.scroll, self.opened) = (part, 0, true);
                return Some(Effect::Look);
            }
            Intent::Open => self.opened = true,
            Intent::Back => match self.over {
                Over::Nothing => self.opened = false,
                _ => (self.over, self.scroll) = (Over::Nothing, 0),
            },
            Intent::Begin(act) => return self.begin(act),
            Intent::Type(text) => self.type_in(&text),
            Intent::Erase => {
                if let Over::Entry(entry) = &mut self.over {
                    entry.text.pop();
                }
            }
            Intent::EraseAll => {
                if let Over::Entry(entry) = &mut self.over {
                    entry.text.clear();
                }
            }
            Intent::Run => return self.run(),
            Intent::Help => (self.over, self.scroll) = (Over::Help, 0),
            Intent::Quit => return Some(Effect::Quit),
            Intent::Leave => return Some(Effect::Leave),
            Intent::Suspend => return Some(Effect::Suspend),
            Intent::Redraw => return Some(Effect::Redraw),
        }
        None
    }

    fn go(&mut self, by: isize) -> Option<Effect> {
        if let Over::Entry(entry) = &mut self.over {
            // Before the first option is none.
            let at = entry.option.unwrap_or_default();
            let at = at.saturating_add_signed(by).min(entry.options.len());
            entry.option = (at > 0).then_some(at);
            return None;
        }
        self.at = self.at.saturating_add_signed(by).min(self.sight.items.len().saturating_sub(1));
        self.selected = self.sight.items.get(self.at).map(|item| item.worker);
        self.scroll = 0;
        Some(Effect::Look)
    }

    /// Text that is followed begins at its end: there, up is further away.
    fn scroll(&mut self, by: isize) {
        let (lines, by) = match &self.over {
            Over::Said { said, .. } => (said.text.lines().count(), by),
            Over::Help => (usize::MAX, by),
            _ => {
                let lines = self.detail().map_or(0, |detail| detail.text.lines().count());
                (lines, if self.part.is_followed() { by.saturating_neg() } else { by })
            }
        };
        self.scroll = self.scroll.saturating_add_signed(by).min(lines.saturating_sub(1));
    }

    fn begin(&mut self, act: Act) -> Option<Effect> {
        let item = self.item()?;
        let asked = self.sight.detail.as_ref().filter(|detail| detail.worker == item.worker);
        let answers = act == Act::Verdict(Decision::Answer);
        let entry = Entry {
            act,
            worker: item.worker,
            handle: item.handle.clone(),
            // Before the card was read nothing was seen that a verdict could be bound to.
            subject: asked?.subject.clone(),
            text: String::new(),
            options: if answers { asked?.options.clone() } else { Vec::new() },
            option: None,
        };
        self.over = Over::Entry(entry);
        None
    }

    pub fn item(&self) -> Option<&Item> {
        self.sight.items.iter().find(|item| Some(item.worker) == self.selected)
    }

    /// A line feed would end the line on which the command is shown, and so would no other control character help.
    fn type_in(&mut self, text: &str) {
        if let Over::Entry(entry) = &mut self.over
            && entry.act.speaks()
        {
            entry.text.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
    }

    fn run(&mut self) -> Option<Effect> {
        let Over::Entry(entry) = &self.over else { return None };
        let words = entry.words(self.dir.as_deref());
        let there = |item: &Item| item.worker == entry.worker && item.handle == entry.handle;
        if !self.sight.items.iter().any(there) {
            // Another one may have its handle by now.
            let text = format!("{} is not there any more; nothing was run\n", entry.handle);
            self.over = Over::Said { command: line(&words), said: Said { text, code: 1 } };
            return None;
        }
        self.over = Over::Running { command: line(&words), told: Vec::new() };
        Some(Effect::Run(words))
    }
}
