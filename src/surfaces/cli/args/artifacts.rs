//! Arguments of what workers have left.

use crate::verbs::artifacts::ArtifactKind;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;

#[derive(Debug, Args)]
pub struct Artifacts {
    /// A worker, by handle or id, open or closed.
    pub worker: String,
    /// The address of one, such as `c3`: all of it is shown.
    pub item: Option<String>,
    /// Only those of this kind.
    #[arg(long = "kind", value_name = "KIND", value_parser = kind())]
    pub kinds: Vec<ArtifactKind>,
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words that must all be there, in any case.
    #[arg(required = true)]
    pub words: Vec<String>,
    /// Only in those of this kind.
    #[arg(long = "kind", value_name = "KIND", value_parser = kind())]
    pub kinds: Vec<ArtifactKind>,
    /// At most so many.
    #[arg(short = 'n', value_name = "N", default_value_t = 50)]
    pub most: usize,
}

fn kind() -> impl TypedValueParser<Value = ArtifactKind> {
    let words = ArtifactKind::ALL.map(ArtifactKind::word);
    PossibleValuesParser::new(words).map(|word| {
        let of_that = |kind: &ArtifactKind| kind.word() == word;
        ArtifactKind::ALL.into_iter().find(of_that).unwrap_or(ArtifactKind::Prompt)
    })
}
