//! Every writing verb, struck at every place between two durable steps.

mod scenes;
mod state;
mod sweep;
