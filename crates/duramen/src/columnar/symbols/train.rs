//! Which symbols a text wants: what stood beside each other often is one symbol in the next round.

use super::{Encoder, MAX_SYMBOLS, Symbol, SymbolTable};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// In so many rounds a symbol grows from one byte to the most it may have, and is seen once more. Each looks at one in so many
/// pieces of the sample: what is frequent shows in few, and the first rounds take the most time.
const ROUNDS: [usize; 5] = [8, 8, 4, 2, 1];
const PIECE_BYTES: usize = 2 << 10;
/// What comes less often is not worth its place in the table.
const LEAST_COUNT: u32 = 3;
/// How many symbols begin with the same two bytes. The encoder compares them one by one; more are mostly pairs of words, and cost
/// more of its time than they save bytes.
const MAX_ALIKE: usize = 24;

/// The symbols that write a text like this one with the fewest codes, as far as counting tells.
pub(crate) fn train(sample: &[u8]) -> SymbolTable {
    let mut symbols = Vec::new();
    for one_in in ROUNDS {
        let pieces = sample.chunks(PIECE_BYTES).step_by(one_in);
        symbols = better(&symbols, &pieces.flatten().copied().collect::<Vec<u8>>());
    }
    // The best come first, so that those that are copied most lie together in memory.
    SymbolTable::new(&symbols)
}

/// The best of these symbols and of pairs of them, single bytes included.
fn better(symbols: &[Symbol], sample: &[u8]) -> Vec<Symbol> {
    let mut counts: HashMap<Symbol, u32, FixedState> = HashMap::default();
    let mut last: Option<Symbol> = None;
    Encoder::of(symbols).for_each_code(sample, |_code, symbol| {
        if symbol.len > 1 {
            *counts.entry(symbol).or_default() += 1;
        }
        if let Some(pair) = last.and_then(|last| last.followed_by(&symbol)) {
            *counts.entry(pair).or_default() += 1;
        }
        last = Some(symbol);
    });
    let worth = |(symbol, count): (Symbol, u32)| {
        (count >= LEAST_COUNT).then(|| (u64::from(count) * u64::from(symbol.len), symbol))
    };
    let mut found: Vec<(u64, Symbol)> = counts.into_iter().filter_map(worth).collect();
    found.sort_unstable_by_key(|(worth, symbol)| (u64::MAX - worth, symbol.bytes, symbol.len));
    let mut alike: HashMap<[u8; 2], usize, FixedState> = HashMap::default();
    found.retain(|(_, symbol)| {
        let count = alike.entry([symbol.bytes[0], symbol.bytes[1]]).or_default();
        *count += 1;
        *count <= MAX_ALIKE
    });
    found.truncate(MAX_SYMBOLS);
    found.into_iter().map(|(_, symbol)| symbol).collect()
}
