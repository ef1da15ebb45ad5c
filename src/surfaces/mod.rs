//! What people and programs see: the command line and its rendering.

mod ci;
mod cli;
mod demo;
mod dock;
mod hooks;
mod mcp;
mod present;
mod style;

pub use cli::main;
