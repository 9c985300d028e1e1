//! Why a body as a whole is no use.

/// The result of decoders.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a body as a whole is no use. What is wrong with one row is told in [`Rejected`](crate::Rejected) instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not in the format that it should be in: the client's fault (HTTP 400).
    #[error("not {what}: {detail}, at byte {at}")]
    Malformed {
        /// The format, as "a Loki push in JSON".
        what: &'static str,
        /// What was found.
        detail: String,
        /// Where, in bytes from the start of the body, as unpacked.
        at: usize,
    },
    /// It is over a limit (HTTP 413).
    #[error("over the limit {name} of {limit}: {detail}")]
    Limit {
        /// The option's name.
        name: &'static str,
        /// Its value.
        limit: usize,
        /// What is over it.
        detail: String,
    },
    /// A parameter of the request makes no sense (HTTP 400).
    #[error("the parameter {name}: {detail}")]
    Parameter {
        /// Its name.
        name: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl Error {
    pub(crate) fn malformed(what: &'static str, detail: impl std::fmt::Display, at: usize) -> Self {
        Self::Malformed { what, detail: detail.to_string(), at }
    }
}
