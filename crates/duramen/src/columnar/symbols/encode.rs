//! Text to codes.

use super::{BYTES, MAX_SYMBOL_BYTES, Symbol, SymbolTable};

/// Finds the longest symbol that a text begins with.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// Symbols with their codes: by their first two bytes, the longest first.
    sorted: Vec<Sought>,
    /// Where in `sorted` those with these first two bytes begin.
    starts: Vec<u16>,
}

/// A symbol as it is compared.
#[derive(Clone, Copy, Debug)]
struct Sought {
    bytes: u128,
    code: u16,
    len: u8,
}

impl Sought {
    fn new(symbol: &Symbol, code: u16) -> Self {
        Self { bytes: u128::from_le_bytes(symbol.bytes), code, len: symbol.len }
    }

    fn first_two(self) -> usize {
        self.bytes as usize & 0xffff
    }
}

impl Encoder {
    pub(crate) fn new(table: &SymbolTable) -> Self {
        Self::of(&table.symbols())
    }

    /// One for these, of which each has two bytes at least. The first has the code that comes after those of the bytes.
    pub(super) fn of(symbols: &[Symbol]) -> Self {
        let with_code = |(i, symbol)| Sought::new(symbol, (BYTES + i) as u16);
        let mut sorted: Vec<Sought> = symbols.iter().enumerate().map(with_code).collect();
        sorted.sort_unstable_by_key(|sought| (sought.first_two(), u8::MAX - sought.len, sought.bytes));
        let mut starts = vec![0; (1 << 16) + 1];
        sorted.iter().for_each(|sought| starts[sought.first_two() + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        Self { sorted, starts }
    }

    /// Appends the codes of a text, packed.
    pub(crate) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut first = None;
        self.for_each_code(text, |code, _| match first.take() {
            None => first = Some(code),
            Some(first) => {
                let pair = u32::from(first) | u32::from(code) << 12;
                out.extend_from_slice(&pair.to_le_bytes()[..3]);
            }
        });
        if let Some(last) = first {
            out.extend_from_slice(&last.to_le_bytes());
        }
    }

    /// Calls `f` with each code, and with what it stands for.
    pub(super) fn for_each_code(&self, text: &[u8], mut f: impl FnMut(u16, Symbol)) {
        let mut rest = text;
        while let [first, ..] = rest {
            let mut bytes = [0; MAX_SYMBOL_BYTES];
            let room = rest.len().min(MAX_SYMBOL_BYTES);
            match rest.first_chunk() {
                Some(next) => bytes = *next,
                None => bytes[..room].copy_from_slice(rest),
            }
            let next = u128::from_le_bytes(bytes);
            let two = next as usize & 0xffff;
            let (start, end) = (usize::from(self.starts[two]), usize::from(self.starts[two + 1]));
            let fits = |s: &&Sought| {
                (next ^ s.bytes).trailing_zeros() >= 8 * u32::from(s.len) && usize::from(s.len) <= room
            };
            let (code, len) = match self.sorted[start..end].iter().find(fits) {
                Some(sought) => (sought.code, sought.len),
                None => (u16::from(*first), 1),
            };
            let kept = u128::MAX >> (8 * (MAX_SYMBOL_BYTES - usize::from(len)));
            f(code, Symbol { bytes: (next & kept).to_le_bytes(), len });
            rest = &rest[usize::from(len)..];
        }
    }
}
