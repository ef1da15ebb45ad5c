//! The cases in which all of the work is on the trunk and the verdict does not say so, with the reason. A
//! new one fails the tests until it stands here: each costs a person a look, or is worth a better proof.

pub const NEEDLESS: &[(&str, &str)] = &[
    ("renamed, then landed at the new path", "without a receipt nothing ties the new path to the old one"),
    ("landed by a union driver", "attributes and drivers are not believed, and plain merging conflicts"),
    ("a hook formatted the work as it landed", "the trunk has other bytes than the fork"),
    ("line ends converted as it landed", "the trunk has other bytes than the fork"),
    ("squashed, and a person resolved a conflict", "the trunk has other lines than the fork"),
];
