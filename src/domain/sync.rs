//! What a clone and a remote do with one ref that both may have. Each kind of ref has one rule, and none of them
//! takes anything away that the other does not have.

/// What a shared ref is, as far as its owner counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// The sentinel: the same everywhere.
    Sentinel,
    /// Written by one clone alone: lanes, archives, workers.
    Of(Whose),
    /// Never changed once it is there.
    Fixed,
    /// Written by everybody, merged by what is in it.
    Document,
    /// Made from the lanes.
    Notes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Ours,
    Theirs,
}

/// How what is here stands to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Same,
    /// Only here.
    Here,
    /// Only there.
    There,
    /// What is here goes on from what is there.
    Ahead,
    /// What is there goes on from what is here.
    Behind,
    /// Each has what the other has not.
    Apart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// The ref here moves to what is there.
    Take,
    /// What is here is given.
    Give,
    /// Both are brought together here, and given.
    Merge,
    /// Two have written what only one may write.
    Forked,
    /// Its worker is closed, and the archive has all of it: the ref here goes.
    Drop,
    /// The same for the ref there.
    Withdraw,
}

/// What to do about a ref. `closed` is whose archive has the worker that the ref is of, with all that the ref says.
pub fn step(shared: Shared, standing: Standing, closed: Option<Whose>) -> Step {
    use Standing::*;
    match (shared, standing) {
        (Shared::Of(whose), standing) if closed.is_some() => step_closed(whose, standing, closed),
        (_, Same) => Step::Nothing,
        // A clone that was made anew from a backup takes its own back.
        (_, There | Behind) => Step::Take,
        (Shared::Of(Whose::Theirs), Here | Ahead) => Step::Nothing,
        (_, Here | Ahead) => Step::Give,
        (Shared::Document | Shared::Notes, Apart) => Step::Merge,
        (Shared::Sentinel | Shared::Of(_) | Shared::Fixed, Apart) => Step::Forked,
    }
}

/// Whoever closed a worker withdraws its ref; the others let go of theirs when they have the archive.
fn step_closed(whose: Whose, standing: Standing, closed: Option<Whose>) -> Step {
    let here = !matches!(standing, Standing::There);
    match (here, closed) {
        // Opened again: the archive only looks as if it had all, for its record has not moved yet.
        (true, Some(Whose::Ours)) => step(Shared::Of(whose), standing, None),
        (true, _) if whose == Whose::Theirs => Step::Drop,
        (true, _) => Step::Nothing,
        (false, Some(Whose::Ours)) => Step::Withdraw,
        (false, _) => Step::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Standing; 6] =
        [Standing::Same, Standing::Here, Standing::There, Standing::Ahead, Standing::Behind, Standing::Apart];

    fn row(shared: Shared, closed: Option<Whose>) -> [Step; 6] {
        ALL.map(|standing| step(shared, standing, closed))
    }

    #[test]
    fn each_kind_of_ref_has_one_rule() {
        use Step::*;
        let ours = [Nothing, Give, Take, Give, Take, Forked];
        assert_eq!(row(Shared::Sentinel, None), ours);
        assert_eq!(row(Shared::Fixed, None), ours);
        assert_eq!(row(Shared::Of(Whose::Ours), None), ours);
        assert_eq!(row(Shared::Of(Whose::Theirs), None), [Nothing, Nothing, Take, Nothing, Take, Forked]);
        assert_eq!(row(Shared::Document, None), [Nothing, Give, Take, Give, Take, Merge]);
        assert_eq!(row(Shared::Notes, None), [Nothing, Give, Take, Give, Take, Merge]);
    }

    #[test]
    fn a_closed_worker_is_withdrawn_by_whoever_closed_it() {
        use Step::*;
        let [ours, theirs] = [Some(Whose::Ours), Some(Whose::Theirs)];
        assert_eq!(row(Shared::Of(Whose::Ours), ours), [Nothing, Give, Withdraw, Give, Take, Forked]);
        assert_eq!(row(Shared::Of(Whose::Theirs), theirs), [Drop, Drop, Nothing, Drop, Drop, Drop]);
        // Another clone closed our worker: the worktree is here, so it is for us to let go of it.
        assert_eq!(row(Shared::Of(Whose::Ours), theirs), [Nothing; 6]);
    }
}
