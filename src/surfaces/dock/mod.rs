//! `dock`: all workers, what waits, and the card of one, in the whole terminal. `look` reads, `view` draws, `keys` says
//! what a key means, `model` is what is on the screen, `act` is the plain command behind a key, `run` goes round.

mod act;
mod ansi;
#[cfg(feature = "fuzz")]
pub use ansi::lines as ansi_lines;
mod keys;
mod look;
mod model;
mod run;
mod screen;
mod view;

pub use run::run;
