//! Round and round: what was heard changes what is shown, until it is enough.

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Env;
use crate::surfaces::dock::act;
use crate::surfaces::dock::act::Said;
use crate::surfaces::dock::keys;
use crate::surfaces::dock::keys::Intent;
use crate::surfaces::dock::look::Looker;
use crate::surfaces::dock::look::Sight;
use crate::surfaces::dock::look::Wish;
use crate::surfaces::dock::model::Effect;
use crate::surfaces::dock::model::Model;
use crate::surfaces::dock::screen;
use crate::surfaces::dock::screen::Screen;
use crate::surfaces::dock::view;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;
use crossterm::event;
use crossterm::event::Event;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::Signal;
use std::io;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::thread;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

/// What reaches it, from whichever thread.
enum Heard {
    Event(Event),
    Sight(Box<Sight>),
    /// A command says something.
    Told(String),
    /// A command has ended.
    Done(Said),
    /// It was stopped from outside, and goes on.
    Continued,
    /// It is asked to end.
    Ended,
    /// Nothing can be read from the terminal any more.
    NoKeys(io::Error),
    /// A thread has panicked, and said so.
    Broken,
}

pub fn run(env: &Env, session: &Session<'_>, dir: Option<&Path>, json: bool) -> Result<Page> {
    if json {
        return Ok(Page::inbox(&verbs::inbox::run(session)?, true));
    }
    let repo = verbs::dock::begin(session, io::stdin().is_terminal() && io::stdout().is_terminal())?;
    let cwd = dir.map_or_else(|| env.cwd().to_owned(), |dir| env.cwd().join(dir));
    let choice = anstream::AutoStream::choice(&io::stdout());
    let named = dir.map(|dir| dir.to_string_lossy().into_owned());
    let model = Model::new(repo, named, choice != anstream::ColorChoice::Never);
    let (say, heard) = mpsc::channel();
    let (wish, wishes) = mpsc::channel();
    signals(&say)?;
    let fault = |e: io::Error| Failure::fault("drawing on the terminal", e);
    let screen = Screen::take().map_err(fault)?;
    listen(&say);
    look(Looker { env: env.clone(), cwd }, wishes, &say);
    let ended = Round { env, model, say, wish }.go(&heard).map_err(fault);
    drop(screen);
    match ended? {
        Some(exit) => Ok(Page::nothing().ending(exit)),
        None => Err(Failure::fault("looking at the workers", "a thread of the view has panicked")),
    }
}

/// Says so if its thread panics, so that nobody waits for it.
struct Watched(Sender<Heard>);

impl Drop for Watched {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.send(Heard::Broken).ok();
        }
    }
}

fn listen(say: &Sender<Heard>) {
    let say = Watched(say.clone());
    thread::spawn(move || {
        loop {
            let heard = match event::read() {
                Ok(event) => Heard::Event(event),
                Err(error) => {
                    say.0.send(Heard::NoKeys(error)).ok();
                    return;
                }
            };
            if say.0.send(heard).is_err() {
                return;
            }
        }
    });
}

fn look(looker: Looker, wishes: Receiver<Wish>, say: &Sender<Heard>) {
    let say = Watched(say.clone());
    thread::spawn(move || looker.run(&wishes, |sight| say.0.send(Heard::Sight(Box::new(sight))).is_ok()));
}

/// From now on these signals are words, not the end.
fn signals(say: &Sender<Heard>) -> Result<()> {
    let fault = |e: io::Error| Failure::fault("listening to signals", e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fault)?;
    let inside = runtime.enter();
    let mut terminate = signal(SignalKind::terminate()).map_err(fault)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(fault)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
    let mut quit = signal(SignalKind::quit()).map_err(fault)?;
    let mut go_on = signal(SignalKind::from_raw(Signal::CONT.as_raw())).map_err(fault)?;
    drop(inside);
    let say = Watched(say.clone());
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let heard = tokio::select! {
                    _ = terminate.recv() => Heard::Ended,
                    _ = hangup.recv() => Heard::Ended,
                    _ = interrupt.recv() => Heard::Ended,
                    _ = quit.recv() => Heard::Ended,
                    _ = go_on.recv() => Heard::Continued,
                };
                if say.0.send(heard).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}

/// Draws all of it the next time. `clear` would ask the terminal where its cursor is, and the answer be taken for keys.
fn afresh(terminal: &mut Terminal<CrosstermBackend<io::Stdout>>) -> io::Result<()> {
    let size = terminal.size()?;
    terminal.resize(size.into())
}

struct Round<'e> {
    env: &'e Env,
    model: Model,
    say: Sender<Heard>,
    wish: Sender<Wish>,
}

impl Round<'_> {
    /// How it ended; `None` if a thread has panicked.
    fn go(&mut self, heard: &Receiver<Heard>) -> io::Result<Option<Exit>> {
        let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        afresh(&mut terminal)?;
        loop {
            if screen::is_taken() {
                terminal.draw(|frame| view::draw(frame, &self.model))?;
                crate::fault::point("dock: drawn");
            }
            let Ok(first) = heard.recv() else { return Ok(None) };
            for one in [first].into_iter().chain(heard.try_iter()) {
                let effect = match one {
                    Heard::Event(Event::Key(key)) => {
                        keys::intent(self.model.mode(), &key).and_then(|intent| self.model.want(intent))
                    }
                    Heard::Event(Event::Paste(text)) => self.model.want(Intent::Type(text)),
                    Heard::Event(_) => None,
                    Heard::Sight(_) if !screen::is_there() => return Ok(Some(Exit::Interrupted)),
                    Heard::Sight(sight) => self.model.see(*sight),
                    Heard::Told(line) => {
                        self.model.tell(line);
                        None
                    }
                    Heard::Done(said) => self.model.end(said),
                    Heard::Continued => {
                        // Whoever had the terminal meanwhile has set it as they like.
                        screen::leave();
                        screen::enter()?;
                        Some(Effect::Redraw)
                    }
                    Heard::Ended => return Ok(Some(Exit::Interrupted)),
                    Heard::NoKeys(error) => return Err(error),
                    Heard::Broken => return Ok(None),
                };
                match effect {
                    None => {}
                    Some(Effect::Look) => drop(self.wish.send(self.model.wish())),
                    Some(Effect::Run(words)) => self.start(words),
                    Some(Effect::Redraw) => afresh(&mut terminal)?,
                    Some(Effect::Suspend) => {
                        screen::suspend()?;
                        afresh(&mut terminal)?;
                    }
                    Some(Effect::Quit) => return Ok(Some(Exit::Done)),
                    Some(Effect::Leave) => return Ok(Some(Exit::Interrupted)),
                }
            }
        }
    }

    /// A gate may take its time, and keys and clock go on.
    fn start(&self, words: Vec<String>) {
        let (env, say) = (self.env.clone(), Watched(self.say.clone()));
        thread::spawn(move || {
            let tell = |line: &str| drop(say.0.send(Heard::Told(line.to_owned())));
            let said = act::carry_out(&env, &words, &tell);
            say.0.send(Heard::Done(said)).ok();
        });
    }
}
