//! The terminal: taken, and given back as it was, whatever ends the program.

use crossterm::cursor::Show;
use crossterm::event::DisableBracketedPaste;
use crossterm::event::EnableBracketedPaste;
use crossterm::execute;
use crossterm::terminal::EnterAlternateScreen;
use crossterm::terminal::LeaveAlternateScreen;
use crossterm::terminal::disable_raw_mode;
use crossterm::terminal::enable_raw_mode;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back when it goes.
pub struct Screen;

impl Screen {
    /// Takes the terminal. A panic of any thread gives it back before it says anything.
    pub fn take() -> io::Result<Screen> {
        let said = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            said(panic);
        }));
        let screen = Screen;
        enter()?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

pub fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// May be called again, and where nothing was taken. A terminal that has gone away needs nothing.
pub fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show).ok();
        disable_raw_mode().ok();
    }
}

/// Whether there still is one. Reading one that has gone away need not fail.
pub fn is_there() -> bool {
    rustix::termios::tcgetattr(io::stdin()).is_ok()
}

/// Whether it is ours to draw on.
pub fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Stops, with all that the shell has started for this command, as ctrl-z does elsewhere; comes back when it is
/// continued. A shell that stops nothing lets it go on.
pub fn suspend() -> io::Result<()> {
    leave();
    rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
    // It is not said when a signal to oneself arrives.
    std::thread::sleep(std::time::Duration::from_millis(50));
    enter()
}
