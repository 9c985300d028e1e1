//! Free text as symbols: strings of a few characters that come again and again, each with a number of 12 bits.
//!
//! Text of words and numbers in no order holds little that a compressor finds: it counts letters, and undoes that letter by
//! letter. A table of what is frequent (`er`, `connection `, `3f`) takes as few bytes, and its codes are undone by copying. (P.
//! Boncz, T. Neumann, V. Leis: FSST, VLDB 2020; here with longer codes and symbols, since a column shares one table.)
//!
//! ```text
//! table   count varint (at most 3,840); how long each symbol is, u8 (2 to 16); the bytes of all
//! text    a code of 12 bits for each piece (`bitpack`): below 256 that byte, else symbol code - 256
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `train` | which symbols a text wants |
//! | `encode` | text to codes: always the longest symbol |
//! | `decode` | codes to text |

mod decode;
mod encode;
mod train;

use super::bytes::{Reader, bad, put_varint};
use crate::error::Result;
pub(crate) use encode::Encoder;
pub(crate) use train::train;

/// How many bits a code has.
const CODE_BITS: u32 = 12;
/// How many codes there are.
const CODES: usize = 1 << CODE_BITS;
/// The codes of the single bytes, which are no symbols: so any text can be written.
const BYTES: usize = 256;
/// How many symbols a table has at most.
const MAX_SYMBOLS: usize = CODES - BYTES;
/// How long a symbol is at most.
const MAX_SYMBOL_BYTES: usize = 16;

/// What a code stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Symbol {
    bytes: [u8; MAX_SYMBOL_BYTES],
    len: u8,
}

impl Symbol {
    fn of(text: &[u8]) -> Self {
        let mut symbol = Self { len: text.len() as u8, ..Self::default() };
        symbol.bytes[..text.len()].copy_from_slice(text);
        symbol
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Both, one after the other, if that is no longer than a symbol may be.
    fn followed_by(&self, next: &Self) -> Option<Self> {
        let len = self.len + next.len;
        let mut bytes = self.bytes;
        bytes.get_mut(self.len.into()..len.into())?.copy_from_slice(next.text());
        Some(Self { bytes, len })
    }
}

/// What each code of a column's text stands for.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    /// First the single bytes, then the symbols, then such as stand for nothing. Apart from their lengths: so each is copied
    /// from one place.
    bytes: Box<[u128; CODES]>,
    lens: Box<[u8; CODES]>,
    symbols: usize,
}

impl SymbolTable {
    fn new(symbols: &[Symbol]) -> Self {
        let symbols = &symbols[..symbols.len().min(MAX_SYMBOLS)];
        let mut table =
            Self { bytes: Box::new([0; CODES]), lens: Box::new([0; CODES]), symbols: symbols.len() };
        let single = (0..=u8::MAX).map(|byte| Symbol::of(&[byte]));
        for (code, symbol) in single.chain(symbols.iter().copied()).enumerate() {
            table.bytes[code] = u128::from_le_bytes(symbol.bytes);
            table.lens[code] = symbol.len;
        }
        table
    }

    fn symbols(&self) -> Vec<Symbol> {
        let all = self.bytes.iter().zip(self.lens.iter()).skip(BYTES).take(self.symbols);
        all.map(|(bytes, &len)| Symbol { bytes: bytes.to_le_bytes(), len }).collect()
    }

    /// Appends the table.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let symbols = self.symbols();
        put_varint(out, symbols.len() as u64);
        out.extend(symbols.iter().map(|symbol| symbol.len));
        symbols.iter().for_each(|symbol| out.extend_from_slice(symbol.text()));
    }

    /// Reads what [`SymbolTable::write`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if it makes no sense.
    pub(crate) fn read(table: &[u8]) -> Result<Self> {
        let mut r = Reader::new(table);
        let count = r.count(MAX_SYMBOLS)?;
        let lens = r.take(count)?;
        if !lens.iter().all(|&len| (2..=MAX_SYMBOL_BYTES).contains(&usize::from(len))) {
            return Err(bad("a symbol is too short or too long"));
        }
        let mut rest = r.rest();
        if rest.len() != lens.iter().map(|&len| usize::from(len)).sum() {
            return Err(bad("symbols are not as long as all of them together"));
        }
        let mut table = Self::new(&[]);
        table.symbols = count;
        table.lens[BYTES..][..count].copy_from_slice(lens);
        for (bytes, &len) in table.bytes[BYTES..].iter_mut().zip(lens) {
            // Most have others behind them: all room is copied, and what is not theirs taken away.
            *bytes = match rest.first_chunk() {
                Some(room) => {
                    u128::from_le_bytes(*room) & (u128::MAX >> (8 * (MAX_SYMBOL_BYTES - usize::from(len))))
                }
                None => u128::from_le_bytes(Symbol::of(&rest[..len.into()]).bytes),
            };
            rest = &rest[len.into()..];
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], table: &SymbolTable) -> usize {
        let mut written = Vec::new();
        table.write(&mut written);
        let read = SymbolTable::read(&written).unwrap();
        assert_eq!(read.symbols(), table.symbols());
        let mut codes = Vec::new();
        Encoder::new(table).encode(text, &mut codes);
        let mut plain = vec![0; text.len()];
        read.decode(&codes, &mut plain).unwrap();
        assert_eq!(plain, text);
        for enough in (0..text.len()).step_by(text.len() / 50 + 1).chain([text.len(), usize::MAX]) {
            let mut start = vec![0; text.len()];
            read.decode_start(&codes, enough, &mut start).unwrap();
            let enough = enough.min(text.len());
            assert_eq!(start[..enough], text[..enough]);
        }
        for len in [text.len().saturating_sub(1), text.len() + 1] {
            let refused = read.decode(&codes, &mut vec![0; len]);
            assert!(text.is_empty() || refused.unwrap_err().is_corruption());
        }
        codes.len()
    }

    fn words(bytes: usize) -> Vec<u8> {
        let words = ["connection ", "to ", "database ", "refused ", "after ", "retry ", "ü ", "\u{10348} "];
        let mut state = 1u64;
        let mut text = Vec::new();
        while text.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match state >> 61 {
                7 => text.extend_from_slice(format!("{:08x} ", state as u32).as_bytes()),
                n => text.extend_from_slice(words[n as usize].as_bytes()),
            }
        }
        text.truncate(bytes);
        text
    }

    #[test]
    fn what_comes_again_becomes_symbols() {
        let text = words(100_000);
        let table = train(&text);
        let has = |symbol: &Symbol| symbol.text().windows(11).any(|part| part == b"connection ");
        assert!(table.symbols().iter().any(has), "{}", table.symbols);
        let bytes = check(&text, &table);
        assert!(bytes * 3 < text.len(), "{bytes}");
        // Another text of the kind takes as little.
        let other = words(250_000);
        let bytes = check(&other[100_000..], &table);
        assert!(bytes * 3 < other.len() - 100_000, "{bytes}");
    }

    #[test]
    fn any_text_can_be_written_with_any_table() {
        let table = train(&words(100_000));
        let all: Vec<u8> = (0..=255).collect();
        for text in [&[][..], b"c", b"connection", b"connection to", &all, &[0; 1000]] {
            check(text, &table);
            check(text, &train(text));
            check(text, &SymbolTable::new(&[]));
        }
    }

    #[test]
    fn what_no_encoder_writes_is_refused() {
        let read = |bytes: &[u8]| SymbolTable::read(bytes).map(|table| table.symbols);
        assert_eq!(read(&[0]).unwrap(), 0);
        assert_eq!(read(&[1, 2, b'a', b'b']).unwrap(), 1);
        for table in [&[][..], &[1], &[1, 2, b'a'], &[1, 1, b'a'], &[1, 17], &[0x81, 0x1e], &[0, 0]] {
            assert!(read(table).unwrap_err().is_corruption(), "{table:?}");
        }
        let table = SymbolTable::new(&[Symbol::of(b"ab")]);
        let decoded = |codes: &[u64], len: usize| {
            let mut packed = Vec::new();
            super::super::bitpack::pack(codes.iter().copied(), CODE_BITS, &mut packed);
            let mut plain = vec![0; len];
            table.decode(&packed, &mut plain).map(|()| plain)
        };
        assert_eq!(decoded(&[256, 97], 3).unwrap(), b"aba");
        assert!(decoded(&[257, 97], 1).unwrap_err().is_corruption(), "no such symbol");
        let many = [[97; 700].as_slice(), &[4095], &[97; 700]].concat();
        assert!(decoded(&many, 1400).unwrap_err().is_corruption(), "no such symbol");
        assert!(decoded(&[256, 97], 4).unwrap_err().is_corruption());
        assert!(decoded(&[256, 97], 2).unwrap_err().is_corruption());
        assert!(decoded(&[256; 1000], 1999).unwrap_err().is_corruption());
        let mut packed = Vec::new();
        super::super::bitpack::pack([256, 257, 97, 97].into_iter(), CODE_BITS, &mut packed);
        let start = |enough| table.decode_start(&packed, enough, &mut [0; 9]);
        assert!(
            start(2).is_ok() && start(3).unwrap_err().is_corruption(),
            "what comes later is not looked at"
        );
        assert!(start(9).unwrap_err().is_corruption());
        assert!(table.decode(&[97], &mut []).unwrap_err().is_corruption(), "half a code");
        assert!(table.text(&[0, 0], usize::MAX).unwrap_err().is_corruption(), "nothing is allocated for it");
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back(text: Vec<u8>, of: Vec<u8>) {
            check(&text, &train(&text));
            check(&text, &train(&of));
        }

        #[test]
        fn texts_of_few_letters_come_back(text in "[ab ]{0,400}", of in "[ab ]{0,400}") {
            check(text.as_bytes(), &train(of.as_bytes()));
        }
    }
}
