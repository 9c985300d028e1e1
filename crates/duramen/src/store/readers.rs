//! The readers' generation: which of two locks readers share, so that a file that has left the manifest goes in the end,
//! though there never is a moment at which nobody reads.
//!
//! A table's file must stay while somebody may open it who has seen it in the manifest. The locks `READERS` (generation
//! even) and `READERS.odd` say who may; the manifest's value `readers` says whose turn it is.
//!
//! ```text
//! a reader                                          the keeper, for files that have left the manifest
//! 1  shares the lock of generation g                a  once since it became keeper, and since each turn: the lock of
//! 2  lists the segments, reads the manifest            the other generation was free for a moment
//! 3  g is the manifest's: goes on                   b  the lock of the manifest's generation is free for a moment:
//!    it is not: lets go, and begins again with the     they go; else
//!    manifest's                                     c  writes the other generation into the manifest: a turn; and when
//! 4  lets go after the last table is read              the old one's lock has been free for a moment (a), they go
//! ```
//!
//! Why that is safe: who has passed step 3 has held the lock of the generation that was the manifest's when it read its
//! tables' names there. So who may open a file that had left the manifest before a turn held the lock of the generation
//! before the turn, or of one before that; of the latter nobody is left, which is what (a) is for. Who comes later reads
//! a manifest that does not name the file. A moment is enough for the same reason: who takes the lock after it reads the
//! manifest after it.
//!
//! Why it ends: after a turn nobody passes step 3 with the old generation, so its readers only become fewer. A turn is
//! taken only when the one before has ended, so that two locks are enough. Readers never wait for the keeper for longer
//! than it tries a lock, nor the keeper for readers at all: each of its steps tries again.
//!
//! Locks fall with their processes, so a reader that dies lets go. A keeper that dies between the steps has lost nothing:
//! the next one finds the files that no manifest names, takes none of (a) for granted, and begins. If a loss of power
//! undoes a turn, there are no readers; if a failed write does, whoever saw it holds the other generation's lock, which
//! the next keeper asks for at (a).

use crate::error::{Error, Result};
use duramen_engine::manifest::State;

/// The manifest's value: one byte, 0 (even) or 1 (odd); even without it.
const KEY: &[u8] = b"readers";

/// Which lock readers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Generation {
    /// `READERS`.
    #[default]
    Even,
    /// `READERS.odd`.
    Odd,
}

impl Generation {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Even, Self::Odd];

    /// Whose turn it is.
    ///
    /// # Errors
    /// [`Error::Decode`] if the manifest says something else than we know.
    pub(crate) fn of(state: &State) -> Result<Self> {
        match state.values.get(KEY).map(Vec::as_slice) {
            None | Some([0]) => Ok(Self::Even),
            Some([1]) => Ok(Self::Odd),
            Some(other) => Err(Error::decode("the readers' generation", format!("{other:?} is none"))),
        }
    }

    /// What the manifest has to say for it to be this one's turn.
    pub(crate) fn value(self) -> (Vec<u8>, Vec<u8>) {
        (KEY.to_vec(), vec![self as u8])
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_whose_turn_it_is() {
        let mut state = State::default();
        assert_eq!(Generation::of(&state).unwrap(), Generation::Even, "an older store's");
        for generation in Generation::ALL {
            state.values.extend([generation.value()]);
            assert_eq!(Generation::of(&state).unwrap(), generation);
            assert_ne!(generation.other(), generation);
        }
        for wrong in [&b""[..], b"\x02", b"\0\0"] {
            state.values.insert(KEY.to_vec(), wrong.to_vec());
            assert!(Generation::of(&state).unwrap_err().to_string().contains("generation"));
        }
    }
}
