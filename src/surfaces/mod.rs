//! What people and programs see: the command line and its rendering.

mod ci;
mod cli;
mod demo;
mod dock;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod hooks;
mod mcp;
mod present;
mod style;

pub use cli::main;
