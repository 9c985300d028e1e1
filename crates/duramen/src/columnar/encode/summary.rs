//! What an encoder tells about the block it wrote.

use super::super::directory::{Directory, Form, Location};
use super::super::table_fields::FewValues;
use super::super::table_streams::StreamRows;
use super::super::table_times::TimeCounts;
use crate::block::names;
use crate::error::Result;
use crate::value::ValueKind;
use duramen_engine::sstable::{ChunkHandle, ChunkSink};

/// What became of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Where its directory is: what [`super::super::TableBlock::open`] needs.
    pub directory: ChunkHandle,
    /// How many rows it has.
    pub rows: usize,
    /// The earliest time stamp, ns since the epoch.
    pub min_time: i64,
    /// The latest.
    pub max_time: i64,
    /// The bytes of the lines its rows were read from; of rows that never were lines, what they would have
    /// as NDJSON (escapes not counted).
    pub raw_bytes: u64,
    /// Its fields, `_msg` and `level` among them if any row has them; stream fields are not.
    pub fields: Vec<FieldSummary>,
    /// How many rows each step of time has; nothing, if those would be too many.
    pub times: Option<TimeCounts>,
    /// Where its bytes are.
    pub sizes: BlockSizes,
    /// How many chunks it has, the directory included.
    pub chunks: usize,
    /// The parts of its filter of words, which are not written yet; none, if it has no words.
    pub(crate) filter: Vec<Vec<u8>>,
    /// Whether that has all words of messages: they are texts, if there are any, and no label has their name.
    pub(crate) has_words_of_messages: bool,
    /// Its filter of grams.
    pub(crate) grams: Option<ChunkHandle>,
    /// The names of the fields that make its streams, ascending.
    pub(crate) label_names: Vec<String>,
    /// Its streams; nothing, if those of a copied block cannot be read.
    pub(crate) streams: Option<StreamRows>,
}

impl EncodedBlock {
    /// Writes the filter of words, which a table has behind all of its blocks, and says where its parts are: what
    /// [`super::super::TableBlock::open`] needs, too.
    ///
    /// # Errors
    /// What `sink` says.
    pub fn write_filter(&self, sink: &mut dyn ChunkSink) -> Result<Vec<ChunkHandle>> {
        self.filter.iter().map(|part| Ok(sink.add_chunk(part)?)).collect()
    }
}

/// One field of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSummary {
    /// Its name.
    pub name: String,
    /// How many rows have it.
    pub rows: usize,
    /// The kind of its values; [`ValueKind::String`] where they differ.
    pub kind: ValueKind,
    /// Its values and how many rows have each, if they are few and short: all other rows have none.
    pub few_values: Option<FewValues>,
    /// The bytes its values take; those in shared chunks in proportion, names not counted.
    pub stored_bytes: u64,
}

/// The stored bytes of a block by what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSizes {
    /// Times, identities, streams, levels, and which rows have which fields.
    pub structure_bytes: u64,
    /// The columns.
    pub column_bytes: u64,
    /// The filters of words and of grams.
    pub filter_bytes: u64,
    /// The directory.
    pub directory_bytes: u64,
}

/// A bundle that is in the making or written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BundleSizes {
    pub(super) handle: Option<ChunkHandle>,
    pub(super) plain: [usize; 4],
    pub(super) stored: [usize; 4],
}

/// What a table tells of a block.
pub(super) struct Told {
    /// The values of each column, where they are few.
    pub(super) few_values: Vec<Option<FewValues>>,
    pub(super) times: Option<TimeCounts>,
}

/// Sums up what was written.
pub(super) fn summary(
    directory: Directory,
    handle: ChunkHandle,
    filter: Vec<Vec<u8>>,
    bundles: &[BundleSizes],
    streams: Option<StreamRows>,
    told: Told,
) -> EncodedBlock {
    // What a part takes of a bundle: of each stream, in proportion.
    let share =
        |at: &Location| -> u64 {
            let b = &bundles[at.bundle];
            (0..4)
                .map(|i| {
                    if b.plain[i] == 0 {
                        0
                    } else {
                        at.lens[i] as u64 * b.stored[i] as u64 / b.plain[i] as u64
                    }
                })
                .sum()
        };
    let structure_bytes = share(&directory.structure) + directory.maps.iter().map(share).sum::<u64>();
    let bundle_bytes: u64 = directory.bundles.iter().map(|b| u64::from(b.len)).sum();
    let lens = directory
        .grams
        .iter()
        .map(|grams| u64::from(grams.len))
        .chain(filter.iter().map(|part| part.len() as u64));
    let (filter_chunks, filter_bytes) = (lens.clone().count(), lens.sum());
    let fields = directory
        .columns
        .iter()
        .zip(told.few_values)
        .map(|(column, few_values)| FieldSummary {
            few_values,
            name: column.name.clone(),
            rows: column.count,
            kind: column.kind.and_then(ValueKind::from_u8).unwrap_or(ValueKind::String),
            stored_bytes: column.form.locations().map(share).sum(),
        })
        .collect();
    let message = directory.columns.iter().find(|column| column.name == names::MESSAGE);
    let has_words_of_messages = message.is_none_or(|message| matches!(message.form, Form::Texts { .. }))
        && !directory.label_names.iter().any(|name| name == names::MESSAGE);
    EncodedBlock {
        directory: handle,
        rows: directory.rows,
        min_time: directory.min_time,
        max_time: directory.max_time,
        raw_bytes: directory.raw_bytes,
        fields,
        times: told.times,
        filter,
        has_words_of_messages,
        grams: directory.grams,
        label_names: directory.label_names,
        streams,
        chunks: directory.bundles.len() + 1 + filter_chunks,
        sizes: BlockSizes {
            structure_bytes,
            column_bytes: bundle_bytes.saturating_sub(structure_bytes),
            filter_bytes,
            directory_bytes: u64::from(handle.len),
        },
    }
}
