//! What all peers can do.

use crate::Result;
use crate::question::{Answer, Question};
use std::path::Path;

/// A system under test.
pub(crate) trait Peer {
    fn name(&self) -> &'static str;

    /// Its version and settings: a sentence for the report, or nothing if whoever started it knows.
    fn about(&self) -> String;

    /// Takes the lines; nothing if there is nothing to load.
    fn load(&mut self, lines: &Path) -> Result<Option<Load>>;

    /// Answers; nothing if it cannot.
    fn ask(&mut self, question: &Question) -> Result<Option<Answer>>;

    /// Ends, and is ready again with none of its files in the page cache and nothing asked yet.
    fn start_cold(&mut self) -> Result<()>;
}

/// What loading took.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) wall_s: f64,
    pub(crate) raw_bytes: u64,
    /// Merges included.
    pub(crate) cpu_s: f64,
    pub(crate) peak_bytes: u64,
    /// Resident afterwards, and how much of it belongs to no file; nothing for who is no process of its own.
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) anonymous_bytes: Option<u64>,
    pub(crate) disk_bytes: u64,
    /// After a stop, which writes everything out and gives back what was reserved; nothing if there was none.
    pub(crate) stopped_bytes: Option<u64>,
}

impl<P: Peer> Peer for &mut P {
    fn name(&self) -> &'static str {
        P::name(self)
    }

    fn about(&self) -> String {
        P::about(self)
    }

    fn load(&mut self, lines: &Path) -> Result<Option<Load>> {
        P::load(self, lines)
    }

    fn ask(&mut self, question: &Question) -> Result<Option<Answer>> {
        P::ask(self, question)
    }

    fn start_cold(&mut self) -> Result<()> {
        P::start_cold(self)
    }
}
