//! Codes to text.

use super::super::bytes::bad;
use super::{BYTES, CODE_BITS, CODES, MAX_SYMBOL_BYTES, SymbolTable};
use crate::error::Result;
use duramen_engine::memory;

/// Codes that are undone at once, and how many bytes they take.
const AT_ONCE: usize = 8;
const BYTES_AT_ONCE: usize = AT_ONCE * CODE_BITS as usize / 8;
/// Two codes are so many bytes; one is one less.
const BYTES_OF_TWO: usize = 3;
/// How many bytes they stand for at most.
const ROOM_AT_ONCE: usize = AT_ONCE * MAX_SYMBOL_BYTES;

impl SymbolTable {
    /// Undoes [`super::Encoder::encode`] of a text of so many bytes. Allocates no more than so many codes can stand for.
    ///
    /// # Errors
    /// As [`SymbolTable::decode`].
    pub(crate) fn text(&self, codes: &[u8], len: usize) -> Result<Vec<u8>> {
        if len > codes.len().saturating_mul(MAX_SYMBOL_BYTES) {
            return Err(bad("symbols stand for less than the text"));
        }
        let mut text = memory::zeros(len);
        self.decode(codes, &mut text)?;
        Ok(text)
    }

    /// Undoes [`super::Encoder::encode`] of a text that is as long as `text`.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if the codes stand for another number of bytes, or have no symbol.
    pub(crate) fn decode(&self, codes: &[u8], text: &mut [u8]) -> Result<()> {
        match self.decode_until(codes, text.len(), text)? {
            (end, true) if end == text.len() => Ok(()),
            (_, true) => Err(bad("symbols stand for less than the text")),
            (_, false) => Err(bad("symbols stand for more than the text")),
        }
    }

    /// Undoes so much of it that there are at least `enough` bytes, or all. The bytes of `text` behind them mean nothing.
    ///
    /// # Errors
    /// As [`SymbolTable::decode`], as far as it comes.
    pub(crate) fn decode_start(&self, codes: &[u8], enough: usize, text: &mut [u8]) -> Result<()> {
        let enough = enough.min(text.len());
        match self.decode_until(codes, enough, text)? {
            (end, _) if end >= enough => Ok(()),
            _ => Err(bad("symbols stand for less than the text")),
        }
    }

    /// Undoes codes until there are `enough` bytes. Says how many there are, and whether that was the last code.
    fn decode_until(&self, codes: &[u8], enough: usize, text: &mut [u8]) -> Result<(usize, bool)> {
        if codes.len() % BYTES_OF_TWO == 1 {
            return Err(bad("a code is cut off"));
        }
        let mut at = 0;
        let mut most = 0;
        let mut groups = codes.chunks_exact(BYTES_AT_ONCE);
        let mut rest = codes;
        // Each symbol is copied with all its room, which the next one is written over: as long as there is room for all.
        for group in &mut groups {
            if at >= enough {
                break;
            }
            let room = text.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<ROOM_AT_ONCE>());
            let Some(room) = room else { break };
            let mut end = 0;
            for code in eight_codes(group) {
                let (bytes, len) = self.symbol(code);
                room[end..end + MAX_SYMBOL_BYTES].copy_from_slice(&bytes.to_le_bytes());
                end += len;
                most = most.max(code);
            }
            at += end;
            rest = &rest[BYTES_AT_ONCE..];
        }
        let count = rest.len() * 8 / CODE_BITS as usize;
        let mut done = 0;
        while done < count && at < enough {
            let i = done;
            let start = i * CODE_BITS as usize / 8;
            let pair = u16::from_le_bytes([rest[start], rest[start + 1]]);
            let code = if i % 2 == 0 { pair & (CODES as u16 - 1) } else { pair >> 4 };
            let (bytes, len) = self.symbol(code);
            let place = text.get_mut(at..at + len);
            let place = place.ok_or_else(|| bad("symbols stand for more than the text"))?;
            place.copy_from_slice(&bytes.to_le_bytes()[..len]);
            at += len;
            most = most.max(code);
            done += 1;
        }
        if usize::from(most) >= BYTES + self.symbols {
            return Err(bad("a symbol is not in the table"));
        }
        Ok((at, done == count))
    }

    #[inline]
    fn symbol(&self, code: u16) -> (u128, usize) {
        let code = usize::from(code) % CODES;
        (self.bytes[code], self.lens[code].into())
    }
}

/// The codes of [`BYTES_AT_ONCE`].
fn eight_codes(group: &[u8]) -> [u16; AT_ONCE] {
    let word = |from: usize| group[from..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // The first word ends 4 bits into the sixth code; the second begins 32 bits after the first.
    let (low, high) = (word(0), word(4));
    std::array::from_fn(|i| {
        let bits = if i < 5 { low >> (12 * i) } else { high >> (12 * i - 32) };
        bits as u16 & (CODES as u16 - 1)
    })
}
