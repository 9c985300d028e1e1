//! Entries to a column block and back: a block in memory and one that was encoded say the same of all rows.
//!
//! ```text
//! input   how often all entries come (0..8) u8 | entry * n, one after another
//! ```

use super::Seed;
use super::columnar::Chunks;
use crate::input::flags;
use duramen::block::Block;
use duramen::column::IntText;
use duramen::columnar::{BlockEncoder, EncodeOptions, MemoryBlock, Row, TableBlock};
use duramen::{EntryRef, Level, token};
use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
use duramen_formats::{EntryReader, ReaderOptions};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

/// The most entries that an input is taken to have.
const MOST: usize = 512;

/// Chunks that are written, and read where they were written to.
#[derive(Debug, Default)]
struct Written(Mutex<Chunks>);

impl ChunkSink for Written {
    fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
        self.0.get_mut().unwrap().add_chunk(bytes).map(|at| ChunkHandle { offset: at.offset - 1, ..at })
    }
}

impl ChunkSource for Written {
    fn read_chunk(&self, handle: ChunkHandle) -> duramen_engine::Result<Vec<u8>> {
        self.0.lock().unwrap().read_chunk(handle)
    }
}

/// Tries an input.
pub fn run(input: &[u8]) {
    let (times, mut input) = flags(input);
    let mut entries = Vec::new();
    while entries.len() < MOST
        && let Ok((entry, len)) = EntryRef::decode_first(input)
    {
        entries.push(entry);
        input = &input[len..];
    }
    let entries = entries.repeat(usize::from(times % 8) + 1);
    let mut rows: Vec<Row<'_>> =
        (0u64..).zip(&entries).map(|(n, entry)| Row { entry: *entry, writer: n % 3, seq: n / 3 }).collect();
    rows.sort_by_key(|row| (row.entry.time, row.writer, row.seq));
    let memory = MemoryBlock::build(&rows);
    let mut chunks = Written::default();
    let encoded = BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows, &mut chunks);
    assert_eq!(memory.is_ok(), encoded.is_ok(), "{memory:?} {encoded:?}");
    let (Ok(memory), Ok(encoded)) = (memory, encoded) else { return };
    let filters = encoded.write_filter(&mut chunks).unwrap();
    let table = TableBlock::open(Arc::new(chunks), encoded.directory, &filters).unwrap();
    let levels: Vec<Level> = rows.iter().map(|row| row.entry.level).collect();
    assert_eq!(table.levels().unwrap(), levels);
    assert_eq!(*table.times().unwrap(), rows.iter().map(|row| row.entry.time).collect::<Vec<_>>());
    assert_eq!(memory.times().unwrap(), table.times().unwrap());
    assert_eq!(memory.raw_bytes(), table.raw_bytes());
    let names = table.field_names().unwrap();
    assert_eq!(memory.field_names().unwrap(), names);
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(table.identity(n).unwrap(), (row.writer, row.seq));
    }
    for name in names.iter().map(String::as_str).chain(["_stream", "_msg"]) {
        same_column(&memory, &table, name);
    }
}

fn same_column(memory: &dyn Block, table: &dyn Block, name: &str) {
    let (a, b) = (memory.column(name).unwrap(), table.column(name).unwrap());
    assert_eq!(a.is_some(), b.is_some(), "{name:?}");
    let (Some(a), Some(b)) = (a, b) else { return };
    let (mut digits, mut others) = (IntText::default(), IntText::default());
    for row in 0..table.rows() {
        let (expected, found) = (a.text(row, &mut digits), b.text(row, &mut others));
        assert_eq!(expected, found, "{name:?} in row {row}");
        if let Some(text) = found {
            assert_eq!(a.kind_at(a.slot(row)), b.kind_at(b.slot(row)), "kind of {name:?} in row {row}");
            let words: Vec<u64> = token::words(text).map(token::hash).collect();
            assert!(table.may_contain_words(name, &words).unwrap(), "{name:?} is said not to have {text:?}");
        }
    }
}

/// Entries as they are read from generated logs.
pub fn seeds() -> Vec<Seed> {
    super::lines::samples()
        .into_iter()
        .map(|(name, text)| {
            let mut options = ReaderOptions::new(1_718_452_800_000_000_000);
            options.stream_fields = vec!["app".into(), "host".into()];
            let mut reader = EntryReader::new(options);
            let mut input = vec![0];
            let mut sink = |entry: &[u8], _: Level, _: u64| {
                input.extend_from_slice(entry);
                Ok::<(), Infallible>(())
            };
            reader.feed(&text, &mut sink).unwrap();
            reader.finish(&mut sink).unwrap();
            (name, input)
        })
        .collect()
}
