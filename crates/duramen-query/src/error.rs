//! What can go wrong: the text is no query, or running it fails.

use std::fmt;

/// How many characters of a long line are shown before and after the place.
const SHOWN_CHARS: usize = 60;

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
    /// An error at a byte offset into a query's text, with what to write instead (or nothing).
    pub fn new(text: &str, position: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut position = position.min(text.len());
        while !text.is_char_boundary(position) {
            position -= 1;
        }
        let start = text[..position].rfind('\n').map_or(0, |i| i + 1);
        let end = text[position..].find('\n').map_or(text.len(), |i| position + i);
        let (before, after) = (&text[start..position], &text[position..end]);
        let cut = before.chars().count().saturating_sub(SHOWN_CHARS);
        let shown = before.chars().skip(cut).chain(after.chars().take(SHOWN_CHARS));
        let shown = shown.map(|c| if c.is_control() { ' ' } else { c });
        let ellipsis = |cut: bool| if cut { "…" } else { "" };
        let line: String = ellipsis(cut > 0).chars().chain(shown).collect();
        let column = before.chars().count() - cut + usize::from(cut > 0);
        let line = line + ellipsis(after.chars().nth(SHOWN_CHARS).is_some());
        Self { message: message.into(), position, hint: hint.into(), line, column }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  {}", self.line)?;
        write!(f, "  {:width$}^", "", width = self.column)?;
        // What the first line says already need not be said again.
        if self.hint.is_empty() || self.message.contains(&self.hint) {
            Ok(())
        } else {
            write!(f, " {}", self.hint)
        }
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
         (a shorter _time range, more filters, `limit N` on the pipe, fewer `by` fields), or raise the limit \
         (memory_limit_bytes, --max-memory)"
    )]
    MemoryLimit {
        /// The limit it ran into.
        limit_bytes: usize,
        /// What wanted the memory.
        what: &'static str,
    },
    /// It looked at more rows than it may.
    #[error(
        "the query looks at more than its limit of {limit_rows} rows: narrow it (a shorter _time range, a stream, a \
         word that few rows have), or raise the limit (max_rows_scanned, --max-rows)"
    )]
    RowLimit {
        /// The limit it ran into.
        limit_rows: u64,
    },
    /// It took longer than it may.
    #[error("the query takes longer than its limit of {limit:?}: narrow it, or raise the limit (--timeout)")]
    TimeLimit {
        /// The limit it ran into.
        limit: std::time::Duration,
    },
    /// One block alone cannot be asked, because another query must be answered first.
    #[error("the filter depends on another query: run it as a query of its own")]
    Subquery,
    /// The caller cancelled the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// It is none of those that are soon answered by what is open ([`Cancel::brief`](crate::Cancel::brief)).
    #[error("the query cannot be answered at once: run it where it may take longer")]
    NotBrief,
}

/// The result of running a query.
pub type Result<T, E = Error> = std::result::Result<T, E>;
