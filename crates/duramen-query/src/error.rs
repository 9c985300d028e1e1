//! What can go wrong: the text is no query, or running it fails.

use std::fmt;

/// The text is not a query. Its [`Display`](fmt::Display) shows the line, a caret under the place, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Where: a byte offset into the query, on a character boundary, at most its length.
    pub position: usize,
    /// What to write instead.
    pub hint: String,
    line: String,
    column: usize,
}

impl ParseError {
    pub(crate) fn new(
        text: &str,
        position: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let mut position = position.min(text.len());
        while !text.is_char_boundary(position) {
            position -= 1;
        }
        let start = text[..position].rfind('\n').map_or(0, |i| i + 1);
        let end = text[position..].find('\n').map_or(text.len(), |i| position + i);
        let visible = |s: &str| s.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        Self {
            message: message.into(),
            position,
            hint: hint.into(),
            line: visible(&text[start..end]),
            column: text[start..position].chars().count(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  {}", self.line)?;
        write!(f, "  {:width$}^", "", width = self.column)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " {}", self.hint) }
    }
}

impl std::error::Error for ParseError {}

/// Running a query failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A block could not be read.
    #[error(transparent)]
    Block(#[from] duramen::Error),
    /// Sorting or grouping needs more memory than the query may use.
    #[error(
        "the query needs more than its limit of {limit_bytes} bytes of memory for {what}: narrow it \
         (a shorter _time range, more filters, `limit N` on the pipe, fewer `by` fields) or raise the limit"
    )]
    MemoryLimit {
        /// The limit it ran into.
        limit_bytes: usize,
        /// What wanted the memory.
        what: &'static str,
    },
    /// The caller cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
}

/// The result of running a query.
pub type Result<T, E = Error> = std::result::Result<T, E>;
