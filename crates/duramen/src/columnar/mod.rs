//! Column blocks: how rows lie on disk, and how they come back.
//!
//! A block is some thousand rows in order of (time, writer, sequence number), split into columns: each field
//! of the sender's is one, the message is one. A column is encoded as what it turns out to be (one text, few
//! texts, integers, texts of one pattern) and then compressed; small columns share a chunk. A *directory*
//! says where everything is, so that a query reads the columns it names and no others; a filter over all words
//! says which blocks cannot match.
//!
//! | file | what it is |
//! |---|---|
//! | `columnize` | rows to columns in memory |
//! | `encode` | [`BlockEncoder`]: columns to chunks |
//! | `table` | [`TableBlock`]: chunks to columns, as a query asks for them |
//! | `memory` | [`MemoryBlock`]: rows that are not in a table yet, as a block |
//! | `directory` | the bytes of the directory |
//! | `structure` | what all columns need: times, identities, streams, levels |
//! | `labels` | streams: sets of stream fields, kept once |
//! | `row_slots` | which rows have which slots, and which are of which streams |
//! | `table_fields` | which fields a table's blocks have, and how many rows each of few values |
//! | `table_times` | how many rows each step of time has, by level |
//! | `table_streams` | which streams a table's blocks have, and how many rows of each |
//! | `presence` | which rows have a field |
//! | `leaf` | encodings of texts |
//! | `template`, `timetext` | texts of few patterns; time stamps in text |
//! | `references` | which texts repeat the values of other fields |
//! | `ints` | encodings of integers |
//! | `keyed` | integers that mostly follow from those of another column |
//! | `bitpack` | integers of a fixed width in bits |
//! | `compress`, `repeats` | zstd, and how much of its time a text is worth |
//! | `symbols` | free text as codes of what is frequent in it |
//! | `streams` | the four byte streams of a chunk, compressed |
//! | `filter`, `words` | which words a block has |
//! | `grams` | what may be in the midst of its words |
//! | `chosen` | which values of a sequence are decoded: all, or some |
//! | `texts` | many texts in one buffer |
//! | `paged` | a column of texts that is read page by page |
//! | `bytes` | variable-length integers, bounds-checked reading |

mod bitpack;
mod bytes;
mod chosen;
mod columnize;
mod compress;
mod directory;
mod encode;
mod filter;
mod grams;
mod ints;
mod keyed;
mod labels;
mod leaf;
mod memory;
mod paged;
mod presence;
mod references;
mod repeats;
mod row_slots;
mod streams;
mod structure;
mod symbols;
mod table;
mod table_fields;
mod table_streams;
mod table_times;
mod template;
mod texts;
mod timetext;
mod words;

pub(crate) use columnize::streams_of;
pub(crate) use compress::unpacked;
pub use encode::{BlockEncoder, BlockSizes, EncodeOptions, EncodedBlock, FieldSummary};
pub(crate) use filter::{WordFilter, one_of_each_part, part_of as filter_part, parts_of as filter_parts};
pub(crate) use labels::{StreamTable, are_wanted, texts};
pub use memory::MemoryBlock;
pub(crate) use memory::{field_names, plain_column};
pub use paged::{PagedColumn, Place};
pub use table::TableBlock;
pub(crate) use table::{Forgotten, PartId, QueryClock};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use table_fields::look_at_all as look_at_all_fields;
pub use table_fields::{FewValues, MAX_TABLE_FIELDS_BYTES};
pub(crate) use table_fields::{TableFields, TableFieldsBuilder};
pub(crate) use table_streams::TableStreamsBuilder;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use table_streams::fuzzing;
pub use table_streams::{BlockStreams, MAX_TABLE_STREAMS_BYTES, TableLabel, TableStreams};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use table_times::look_at_all as look_at_all_times;
pub use table_times::{MAX_TABLE_TIMES_BYTES, TimeCounts};
pub(crate) use table_times::{TableTimes, TableTimesBuilder};
pub(crate) use timetext::date_of;

use crate::entry::EntryRef;

/// The most rows that a block may have. Whoever cuts blocks should stop at [`MAX_BLOCK_ROWS`].
pub const MAX_ROWS: usize = 1 << 20;
/// How many rows a block should have at most.
pub const MAX_BLOCK_ROWS: usize = 32 << 10;
/// How many bytes of raw lines a block should have: large enough to compress well, small enough to be
/// decoded at once by every thread of a query.
pub const TARGET_BLOCK_RAW_BYTES: u64 = 16 << 20;

/// How many rows times columns a block may have at most: as much memory as a decoded block takes, for a column has a slot for every
/// row, and as much work as finding out which columns are alike. Rows with names of fields of their own, as where an identifier
/// is made a name, get blocks of few rows; a row alone may have as many fields as an entry may.
pub const MAX_BLOCK_CELLS: usize = 16 << 20;

/// Whether so much is worth a block of its own where it is of another kind than the rest: an eighth of what one may have.
pub(crate) fn is_enough(rows: usize, raw_bytes: u64) -> bool {
    rows * 8 >= MAX_BLOCK_ROWS || raw_bytes * 8 >= TARGET_BLOCK_RAW_BYTES
}

/// Whether a block of so much is large enough whatever it holds: half of what it may have.
pub(crate) fn is_large(rows: usize, raw_bytes: u64) -> bool {
    rows * 2 >= MAX_BLOCK_ROWS || raw_bytes * 2 >= TARGET_BLOCK_RAW_BYTES
}

/// Whether a block has so little that it is opened soon, and filters need not tell very well whether to; and a table, that
/// compressing it well takes little time.
pub(crate) fn is_small(rows: usize, raw_bytes: u64) -> bool {
    rows * 8 < MAX_BLOCK_ROWS && raw_bytes * 4 < TARGET_BLOCK_RAW_BYTES
}

/// One row of a block to be.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The entry.
    pub entry: EntryRef<'a>,
    /// Which writer wrote it.
    pub writer: u64,
    /// As its how-manieth.
    pub seq: u64,
}
