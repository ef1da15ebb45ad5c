//! How far a worker is shut in, and whether that is far enough.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use serde::Deserialize;
use serde::Serialize;

/// What a process is shut in by. The stronger one is the greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jail {
    /// It can write wherever the person can.
    #[default]
    None,
    /// bubblewrap: its own worktree is all that it can write, and its git is its own.
    Bwrap,
}

impl Jail {
    pub fn is_none(&self) -> bool {
        *self == Jail::None
    }

    pub fn word(self) -> &'static str {
        match self {
            Jail::None => "none",
            Jail::Bwrap => "bwrap",
        }
    }
}

/// What was asked for, in `skein.jail` or for one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wish {
    /// The strongest that there is.
    #[default]
    Auto,
    Exactly(Jail),
}

impl Wish {
    /// From `auto`, `bwrap` or `none`.
    pub fn parse(word: &str) -> Result<Wish> {
        match word {
            "auto" => Ok(Wish::Auto),
            "bwrap" => Ok(Wish::Exactly(Jail::Bwrap)),
            "none" => Ok(Wish::Exactly(Jail::None)),
            other => Err(Refusal::new(Token::NoJail, format!("there is no jail named {other:?}"))
                .show("git config --get-all skein.jail")
                .next("say auto, bwrap or none")
                .into()),
        }
    }
}

/// The level to run at. `cannot` says why bubblewrap does not work here, if it does not; `require` is the
/// least that will do.
pub fn level(wish: Wish, require: Option<Jail>, cannot: Option<&str>) -> Result<Jail> {
    let level = match (wish, cannot) {
        (Wish::Exactly(Jail::None), _) | (Wish::Auto, Some(_)) => Jail::None,
        (_, None) => Jail::Bwrap,
        (Wish::Exactly(Jail::Bwrap), Some(why)) => return Err(no_jail("bwrap was asked for", Some(why))),
    };
    match require {
        Some(least) if level < least => {
            Err(no_jail(&format!("{} is required, and this would be {}", least.word(), level.word()), cannot))
        }
        _ => Ok(level),
    }
}

/// A plain command that makes a jail, or says why it cannot.
pub const TRY_JAIL: &str = "bwrap --ro-bind / / --unshare-user true";

fn no_jail(what: &str, why: Option<&str>) -> crate::domain::Failure {
    Refusal::new(Token::NoJail, format!("the worker cannot be shut in: {what}"))
        .lines(why.map(ToOwned::to_owned))
        .show(TRY_JAIL)
        .next("install bubblewrap, or let it run free with --jail none")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_that_works_unless_told_otherwise() {
        let free = Wish::Exactly(Jail::None);
        let shut = Wish::Exactly(Jail::Bwrap);
        let token = |r: Result<Jail>| r.unwrap_err().token();
        assert_eq!(level(Wish::Auto, None, None).unwrap(), Jail::Bwrap);
        assert_eq!(level(Wish::Auto, None, Some("no")).unwrap(), Jail::None);
        assert_eq!(level(free, None, None).unwrap(), Jail::None);
        assert_eq!(level(shut, Some(Jail::Bwrap), None).unwrap(), Jail::Bwrap);
        assert_eq!(token(level(shut, None, Some("no"))), Some(Token::NoJail));
        assert_eq!(token(level(Wish::Auto, Some(Jail::Bwrap), Some("no"))), Some(Token::NoJail));
        assert_eq!(token(level(free, Some(Jail::Bwrap), None)), Some(Token::NoJail));
        assert_eq!(Wish::parse("auto").unwrap(), Wish::Auto);
        assert!(Wish::parse("Bwrap").is_err());
    }
}
