//! What can go wrong.

/// A query has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Running it failed: a limit, a block, or it was cancelled.
    #[error(transparent)]
    Run(#[from] duramen_query::Error),
    /// A stage failed for an entry that is to be counted, and nothing leaves it out.
    #[error(
        "pipeline error: '{error}' for series: '{labels}'. Use a label filter to intentionally skip this error. \
         (e.g | __error__!=\"{error}\"). To skip all potential errors you can match empty errors.(e.g __error__=\"\")"
    )]
    Pipeline {
        /// What `__error__` says.
        error: &'static str,
        /// The labels of the entry, as a selector.
        labels: String,
    },
    /// There are more series than there may be.
    #[error(
        "maximum of series ({limit}) reached for a single query: group them with by (…), or narrow the selector"
    )]
    SeriesLimit {
        /// The limit it ran into.
        limit: usize,
    },
    /// There are more steps than there may be.
    #[error(
        "exceeded maximum resolution of {limit} points per time series. Try increasing the value of the step parameter"
    )]
    StepLimit {
        /// The limit it ran into.
        limit: usize,
    },
    /// Series that must be one are several.
    #[error("{0}")]
    Matching(String),
}

/// The result of running a query.
pub type Result<T, E = Error> = std::result::Result<T, E>;
