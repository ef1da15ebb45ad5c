//! The arguments of `queue` and `runner`.

use clap::Args;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Queue {
    /// List what waits, oldest first, and who runs it.
    List {
        /// The remote; else that of `skein.remote`, origin, or the only one.
        remote: Option<String>,
    },
    /// Take a brief out of the queue. If it is being run, that goes on, and the result comes all the same.
    Drop {
        /// The id of the brief, or its first letters.
        id: String,
        /// The remote; else that of `skein.remote`, origin, or the only one.
        #[arg(long, value_name = "REMOTE")]
        remote: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Runner {
    /// The remote; else that of `skein.remote`, origin, or the only one.
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Take what is there, wait for it, and end. What others hold is waited for only until they are seen to live.
    #[arg(long)]
    pub once: bool,
    /// At most N workers at a time; else as many as there are processors.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Take only briefs with this label; without it only those that have none.
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
}
