//! The first bytes of an input, which tell of the rest.

use crate::detect::DETECT_BYTES;

/// Gathers the first [`DETECT_BYTES`] of an input. Where it comes as it is written, a single line may be all there is when it
/// first rests: then what comes tells more, until there is enough.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    is_done: bool,
    /// How many bytes there were when they were looked at.
    looked_at: usize,
}

impl Head {
    /// Of an input that is read from somewhere in its middle.
    pub fn passed() -> Self {
        Self { is_done: true, ..Self::default() }
    }

    /// Takes what belongs to it of the next bytes and says how many those are.
    pub fn gather(&mut self, chunk: &[u8]) -> usize {
        if self.is_done {
            return 0;
        }
        let len = chunk.len().min(DETECT_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&chunk[..len]);
        len
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there is so much more than the last time that was looked that it is worth another look: an eighth, so that a
    /// line at a time costs no look at everything before it.
    pub fn tells_more(&mut self) -> bool {
        let tells = self.is_full() || self.bytes.len() >= self.looked_at + self.looked_at / 8;
        if tells {
            self.looked_at = self.bytes.len();
        }
        tells
    }

    /// Whether nothing more belongs to it.
    pub fn is_full(&self) -> bool {
        self.is_done || self.bytes.len() == DETECT_BYTES
    }

    /// Gives its memory back if nothing more belongs to it.
    pub fn done_if_full(&mut self) {
        if self.is_full() {
            *self = Self::passed();
        }
    }
}
