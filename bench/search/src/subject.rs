//! What is measured: lines, and questions about them.

use crate::question::Question;
use std::path::PathBuf;

/// A file of lines, and what is asked about them.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) file: PathBuf,
    pub(crate) count: u64,
    /// Parameters of the request that inserts lines.
    pub(crate) insert: &'static str,
    pub(crate) questions: Vec<Question>,
    /// The lines are somebody's own: the report shows no values of them.
    pub(crate) is_foreign: bool,
}
