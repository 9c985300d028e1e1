//! Rows into blocks: streams of one kind that have enough of them get blocks of their own, and those that have little
//! share blocks with neighbours by name.
//!
//! So alike texts lie together, and a question about one program, or for a word that only one writes, opens the blocks of
//! that program alone. Streams of one kind stay together in order of time: they often speak of the same things.

use crate::columnar::{MAX_BLOCK_ROWS, TARGET_BLOCK_RAW_BYTES, is_enough};
use crate::entry::EntryRef;
use crate::error::Result;
use crate::store::kind::{Kinds, SAMPLE};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// A row to be put into a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The number of its stream, as [`stream_number`] gives it.
    pub(super) stream: u32,
    /// How many bytes its entry has.
    pub(super) bytes: u32,
}

/// The number of the stream of entries that are of none, and of no other.
pub(super) const NO_STREAM: u32 = 0;

/// Tells streams apart, but for few that share a number by chance: those share blocks.
pub(super) fn stream_number(stream_bytes: &[u8]) -> u32 {
    if stream_bytes.is_empty() {
        return NO_STREAM;
    }
    (FixedState::default().hash_one(stream_bytes) as u32).max(NO_STREAM + 1)
}

/// Whether so many rows are enough to cut blocks from that need not be cut again: a third of what a block may have. Of a write
/// buffer of a server each thread that flushes has more, and what comes in so fast is not encoded twice.
pub(super) fn are_enough(rows: u64, raw_bytes: u64) -> bool {
    raw_bytes >= TARGET_BLOCK_RAW_BYTES / 3 || rows >= MAX_BLOCK_ROWS as u64 / 3
}

/// Rows that become a block, by their places among all rows, ascending.
pub(super) type BlockRows = Vec<u32>;

/// How much there is of something.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    rows: usize,
    bytes: u64,
}

impl Size {
    fn with(self, more: Self) -> Self {
        Self { rows: self.rows + more.rows, bytes: self.bytes + more.bytes }
    }

    fn fits_a_block(self) -> bool {
        self.rows <= MAX_BLOCK_ROWS && self.bytes <= TARGET_BLOCK_RAW_BYTES
    }
}

/// Cuts rows, which are in order of time, into blocks. `entry` gives that of a row. The blocks of one kind come in order of
/// time.
///
/// # Errors
/// What `entry` said.
pub(super) fn cut<'r>(rows: &[Piece], entry: impl Fn(u32) -> Result<EntryRef<'r>>) -> Result<Vec<BlockRows>> {
    let (streams, stream_of_row) = streams_of(rows);
    if let [only] = &streams[..] {
        return Ok(pieces(rows, (0..rows.len() as u32).collect(), only.size));
    }
    // Those with most rows first: they say best what kinds there are.
    let mut by_size: Vec<usize> = (0..streams.len()).collect();
    by_size.sort_by_key(|&i| std::cmp::Reverse(streams[i].size.rows));
    let mut kinds = Kinds::default();
    let mut piles: Vec<Pile> = Vec::new();
    let mut pile_of = vec![0; streams.len()];
    for i in by_size {
        let stream = &streams[i];
        let pile = kinds.group_of(stream.first.iter().map(|&row| entry(row)))?;
        pile_of[i] = pile;
        if pile == piles.len() {
            piles.push(Pile {
                name: entry(stream.first[0])?.stream_bytes(),
                size: Size::default(),
                group: 0,
            });
        }
        piles[pile].size = piles[pile].size.with(stream.size);
    }
    let groups = group(&mut piles);
    let mut rows_of: Vec<BlockRows> = groups.iter().map(|size| Vec::with_capacity(size.rows)).collect();
    for (row, stream) in (0..).zip(stream_of_row) {
        rows_of[piles[pile_of[stream as usize]].group].push(row);
    }
    Ok(rows_of.into_iter().zip(groups).flat_map(|(of_group, size)| pieces(rows, of_group, size)).collect())
}

/// The rows of streams of one kind.
struct Pile<'r> {
    /// What neighbours are told by: the bytes of a stream's fields.
    name: &'r [u8],
    size: Size,
    /// Those of a group share blocks.
    group: usize,
}

/// Says which piles share blocks, and how much each group has.
fn group(piles: &mut [Pile<'_>]) -> Vec<Size> {
    let mut by_name: Vec<&mut Pile<'_>> = piles.iter_mut().collect();
    by_name.sort_unstable_by_key(|pile| pile.name);
    let mut groups: Vec<Size> = Vec::new();
    let mut shared: Option<usize> = None;
    for pile in by_name {
        let is_alone = is_enough(pile.size.rows, pile.size.bytes);
        let fits = |group: &usize| groups[*group].with(pile.size).fits_a_block();
        let group = if is_alone { None } else { shared.filter(fits) };
        pile.group = group.unwrap_or_else(|| {
            groups.push(Size::default());
            groups.len() - 1
        });
        if !is_alone {
            shared = Some(pile.group);
        }
        groups[pile.group] = groups[pile.group].with(pile.size);
    }
    groups
}

/// A stream among rows.
struct Stream {
    /// Its first rows.
    first: Vec<u32>,
    size: Size,
}

/// The streams, and which of them each row is of.
fn streams_of(rows: &[Piece]) -> (Vec<Stream>, Vec<u32>) {
    let mut index: HashMap<u32, u32, FixedState> = HashMap::default();
    let mut streams: Vec<Stream> = Vec::new();
    let mut stream_of_row = Vec::with_capacity(rows.len());
    for (row, piece) in (0..).zip(rows) {
        let number = *index.entry(piece.stream).or_insert_with(|| {
            streams.push(Stream { first: Vec::new(), size: Size::default() });
            streams.len() as u32 - 1
        });
        let stream = &mut streams[number as usize];
        stream.size = stream.size.with(Size { rows: 1, bytes: u64::from(piece.bytes) });
        if stream.first.len() < SAMPLE {
            stream.first.push(row);
        }
        stream_of_row.push(number);
    }
    (streams, stream_of_row)
}

/// Cuts rows into as few blocks as their number and the bytes of their entries allow, all of about the same size: none
/// should be so small that a merge has to encode it again.
fn pieces(rows: &[Piece], of_group: BlockRows, size: Size) -> Vec<BlockRows> {
    if size.fits_a_block() {
        return vec![of_group];
    }
    let by_rows = size.rows.div_ceil(MAX_BLOCK_ROWS);
    let by_bytes = size.bytes.div_ceil(TARGET_BLOCK_RAW_BYTES);
    let (mut most_rows, mut most_bytes) = (MAX_BLOCK_ROWS, TARGET_BLOCK_RAW_BYTES);
    if by_rows as u64 >= by_bytes {
        most_rows = size.rows.div_ceil(by_rows.max(1));
    } else {
        most_bytes = size.bytes.div_ceil(by_bytes.max(1));
    }
    let mut blocks = Vec::new();
    let (mut block, mut bytes) = (Vec::new(), 0);
    for row in of_group {
        if !block.is_empty() && (block.len() >= most_rows || bytes >= most_bytes) {
            blocks.push(std::mem::take(&mut block));
            bytes = 0;
        }
        block.push(row);
        bytes += u64::from(rows[row as usize].bytes);
    }
    blocks.push(block);
    blocks
}

/// The same blocks in the order of their first rows, as a table has them.
pub(super) fn in_order(mut blocks: Vec<BlockRows>) -> Vec<BlockRows> {
    blocks.sort_unstable_by_key(|block| block.first().copied());
    blocks
}

/// Puts the halves of a block, which has too many columns, back among those in order that are still to come.
pub(super) fn put_back_halves(to_come: &mut VecDeque<BlockRows>, mut block: BlockRows) {
    let half = block.split_off(block.len() / 2);
    for part in [half, block].into_iter().filter(|part| !part.is_empty()) {
        let at = to_come.partition_point(|other| other.first() < part.first());
        to_come.insert(at, part);
    }
}

/// What a row costs whoever encodes it, as if its entry had so many bytes more.
const ROW_BYTES: u64 = 64;

/// Shares blocks of these rows out into at most so many parts, each of neighbours, of about as much work.
pub(super) fn share_out(rows: &[Piece], blocks: Vec<BlockRows>, parts: usize) -> Vec<Vec<BlockRows>> {
    let work_of = |block: &BlockRows| -> u64 {
        block.iter().map(|&row| u64::from(rows[row as usize].bytes) + ROW_BYTES).sum()
    };
    let blocks: Vec<(u64, BlockRows)> = blocks.into_iter().map(|block| (work_of(&block), block)).collect();
    let all: u64 = blocks.iter().map(|(work, _)| work).sum();
    let share = all.div_ceil(parts.max(1) as u64).max(1);
    let mut shares: Vec<(u64, Vec<BlockRows>)> = Vec::new();
    let mut before = 0;
    for (work, block) in blocks {
        // A block belongs where its midst lies.
        let part = (before + work / 2) / share;
        before += work;
        match shares.last_mut() {
            Some((last, blocks)) if *last == part => blocks.push(block),
            _ => shares.push((part, vec![block])),
        }
    }
    shares.into_iter().map(|(_, blocks)| blocks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;

    /// One entry for each stream.
    fn entries(messages: &[&str]) -> Vec<Vec<u8>> {
        let mut buf = EntryBuf::new(["app"]);
        let entry = |(i, message): (i64, &&str)| {
            buf.start(i).message(message).field("app", i);
            buf.finish().unwrap().to_vec()
        };
        (0..).zip(messages).map(entry).collect()
    }

    /// Cuts rows of streams by what their lines say.
    fn blocks(rows: &[Piece], entries: &[Vec<u8>]) -> Vec<BlockRows> {
        let entry = |row: u32| EntryRef::decode(&entries[rows[row as usize].stream as usize]);
        let blocks = cut(rows, entry).unwrap();
        let mut all: Vec<u32> = blocks.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..rows.len() as u32), "each row once");
        for block in &blocks {
            assert!(block.is_sorted() && !block.is_empty());
            let bytes: u64 = block.iter().map(|&row| u64::from(rows[row as usize].bytes)).sum();
            assert!(block.len() <= MAX_BLOCK_ROWS && bytes <= 2 * TARGET_BLOCK_RAW_BYTES);
        }
        blocks
    }

    /// So many rows of each stream, in turns.
    fn in_turns(counts: &[usize], bytes: u32) -> Vec<Piece> {
        let most = counts.iter().copied().max().unwrap_or(0);
        let turn = |i| (0..).zip(counts).filter(move |(_, count)| i < **count);
        (0..most).flat_map(turn).map(|(stream, _)| Piece { stream, bytes }).collect()
    }

    const ENOUGH: usize = MAX_BLOCK_ROWS / 8;

    #[test]
    fn the_number_of_no_stream_is_no_streams() {
        assert_eq!(stream_number(&[]), NO_STREAM);
        assert!((0..100_000u32).all(|n| stream_number(&n.to_le_bytes()) != NO_STREAM));
    }

    #[test]
    fn kinds_with_enough_lines_have_blocks_of_their_own() {
        let entries =
            entries(&["get page 1", "query took 2 ms", "mail sent to a", "job 7 begins", "get page 2"]);
        let lens = |counts: &[usize], bytes| -> Vec<usize> {
            blocks(&in_turns(counts, bytes), &entries).iter().map(Vec::len).collect()
        };
        assert_eq!(lens(&[ENOUGH, ENOUGH], 100), [ENOUGH, ENOUGH]);
        assert_eq!(lens(&[ENOUGH - 1, ENOUGH], 100), [ENOUGH - 1, ENOUGH]);
        assert_eq!(lens(&[ENOUGH - 1, ENOUGH - 1], 100), [2 * ENOUGH - 2], "too few of each");
        assert_eq!(lens(&[50, 50], 64 << 10), [50, 50], "few, but long");
        assert_eq!(lens(&[10, ENOUGH, 10, 10], 100), [30, ENOUGH], "what is left shares a block");
        assert_eq!(lens(&[ENOUGH / 2, 0, 0, 0, ENOUGH / 2], 100), [ENOUGH], "one kind");
        let half = MAX_BLOCK_ROWS / 2 + 1;
        assert_eq!(lens(&[2 * half, ENOUGH], 100), [half, half, ENOUGH], "of about the same size");
        assert_eq!(lens(&[7], 100), [7]);
        assert_eq!(lens(&[], 100), [0; 0]);
    }

    #[test]
    fn many_small_streams_of_many_kinds_fill_blocks() {
        let letter = |i: u8| char::from(b'a' + i);
        let messages: Vec<String> =
            (0..100).map(|i| format!("{}{} said", letter(i / 26), letter(i % 26))).collect();
        let entries = entries(&messages.iter().map(String::as_str).collect::<Vec<_>>());
        let blocks = blocks(&in_turns(&[ENOUGH / 2; 100], 10), &entries);
        assert_eq!(blocks.len(), 7, "sixteen of them fit");
    }

    #[test]
    fn shares_are_of_neighbours_and_of_about_the_same_size() {
        // What is shared out: blocks of so many rows, each of so many bytes.
        let shares = |blocks: &[(usize, u32)], parts| -> Vec<Vec<usize>> {
            let mut rows = Vec::new();
            let mut block = |&(len, bytes): &(usize, u32)| {
                let first = rows.len() as u32;
                rows.extend((0..len).map(|_| Piece { stream: 1, bytes }));
                (first..rows.len() as u32).collect()
            };
            let blocks = blocks.iter().map(&mut block).collect();
            let shares = share_out(&rows, blocks, parts);
            shares.iter().map(|share| share.iter().map(Vec::len).collect()).collect()
        };
        let lens =
            |lens: &[usize], parts| shares(&lens.iter().map(|&len| (len, 50)).collect::<Vec<_>>(), parts);
        assert_eq!(lens(&[5, 5, 5, 5], 2), [[5, 5], [5, 5]]);
        assert_eq!(lens(&[5, 5, 5], 1), [[5, 5, 5]]);
        assert_eq!(lens(&[9, 1, 1, 1], 2), [vec![9], vec![1, 1, 1]]);
        assert_eq!(lens(&[3], 4), [[3]]);
        assert_eq!(lens(&[1, 1, 1], 0), [[1, 1, 1]]);
        assert!(lens(&[], 2).is_empty());
        assert_eq!(
            shares(&[(4, 1000), (9, 20), (20, 100)], 2),
            [vec![4], vec![9, 20]],
            "short rows cost less"
        );
    }
}
