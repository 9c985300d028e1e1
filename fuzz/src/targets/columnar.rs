//! A column block's chunks, as a table may hold them: everything that can be asked of them is.
//!
//! ```text
//! input   part * 1..=32     each a chunk (see `crate::input`); the first is the directory, and a chunk's offset is its
//!                           number, so that chunks may become longer and shorter
//! ```

use super::Seed;
use crate::input::{parts, put_part};
use duramen::block::{Block, LengthUnit};
use duramen::column::IntText;
use duramen::columnar::{BlockEncoder, EncodeOptions, Row, TableBlock};
use duramen::{EntryBuf, EntryRef, Level, Value, token};
use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
use duramen_engine::{Error, Result};
use std::sync::Arc;

/// Chunks, found by their number.
#[derive(Debug, Default)]
pub(super) struct Chunks(Vec<Vec<u8>>);

impl ChunkSink for Chunks {
    fn add_chunk(&mut self, bytes: &[u8]) -> Result<ChunkHandle> {
        self.0.push(bytes.to_vec());
        // The directory, which comes last, is to be the first part.
        Ok(ChunkHandle { offset: self.0.len() as u64, len: bytes.len() as u32 })
    }
}

impl ChunkSource for Chunks {
    fn read_chunk(&self, handle: ChunkHandle) -> Result<Vec<u8>> {
        let chunk = usize::try_from(handle.offset).ok().and_then(|number| self.0.get(number));
        chunk.cloned().ok_or_else(|| Error::InvalidArgument("there is no such chunk".into()))
    }
}

/// Tries an input.
pub fn run(input: &[u8]) {
    let chunks = Chunks(parts(input, 32).into_iter().map(<[u8]>::to_vec).collect());
    let directory = ChunkHandle { offset: 0, len: 0 };
    let Ok(block) = TableBlock::open(Arc::new(chunks), directory, &[]) else { return };
    let _any = (block.min_time(), block.max_time(), block.raw_bytes());
    let _any = (block.times(), block.levels(), block.stream_field_names(), block.identity(0));
    let names = block.field_names().unwrap_or_default();
    let mut digits = IntText::default();
    for name in names.iter().map(String::as_str).chain(["_stream", "level", "no such field"]) {
        let _any = (block.may_contain_words(name, &[token::hash("error"), 1]), block.int_range(name));
        let _lens = (block.lengths(name, LengthUnit::Bytes), block.lengths(name, LengthUnit::Chars));
        let _any = block.column_at(name, &[5]);
        if let Ok(Some(column)) = block.column_on_pages(name, true) {
            let _texts: Vec<_> =
                (0..column.pages()).map(|page| column.read(page, None, Vec::new())).collect();
            let _places: Vec<_> =
                (0..block.rows()).map(|row| column.place(column.order().slot(row))).collect();
        }
        if let Ok(Some(column)) = block.column(name) {
            assert_eq!(column.rows, block.rows());
            for row in 0..block.rows() {
                let _any = column.text(row, &mut digits);
                let _any = column.kind_at(column.slot(row));
            }
        }
    }
}

/// Blocks of every encoding, not compressed: what is behind the compression is to be tried.
pub fn seeds() -> Vec<Seed> {
    [("texts", 60), ("few", 3), ("numbers", 40)]
        .into_iter()
        .map(|(name, rows)| (name.to_owned(), seed(name, rows)))
        .collect()
}

fn seed(name: &str, rows: u32) -> Vec<u8> {
    let mut buf = EntryBuf::new(["app", "host"]);
    let entries: Vec<Vec<u8>> = (0..rows).map(|n| entry(&mut buf, name, n).to_vec()).collect();
    let row = |(n, entry)| Row { entry: EntryRef::decode(entry).unwrap(), writer: 1, seq: n };
    let rows: Vec<Row<'_>> = (0u64..).zip(entries.iter().map(Vec::as_slice)).map(row).collect();
    let mut chunks = Chunks::default();
    let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
    let encoded = encoder.encode(&rows, &mut chunks).unwrap();
    let number = encoded.directory.offset as usize - 1;
    let mut input = Vec::new();
    put_part(&mut input, &plain_directory(&chunks.0[number]));
    for (_, chunk) in chunks.0.iter().enumerate().filter(|(i, _)| *i != number) {
        // The word filter, which is no bundle, is stored as it is.
        put_part(&mut input, &plain_bundle(chunk).unwrap_or_else(|| chunk.clone()));
    }
    input
}

fn entry<'a>(buf: &'a mut EntryBuf, name: &str, n: u32) -> &'a [u8] {
    let time = 1_718_452_800_000_000_000 + i64::from(n) * 1_000_003;
    buf.start(time).level(Level::from_u8(n as u8 % 5).unwrap_or_default()).raw_len(100);
    buf.field("app", ["web", "db"][n as usize % 2]).field("host", "web-1");
    match name {
        "texts" => {
            let (id, path) = (
                format!("{:016x}", u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                format!("/api/v1/items/{n}"),
            );
            let address = format!("10.0.{}.{}", n % 7, n * 3 % 256);
            let stamp = format!("2024-06-15T12:00:{:02}.{:03}Z", n % 60, n * 7 % 1000);
            buf.message(&format!("{stamp} GET {path} from {address} took {} ms trace={id}", n * 13 % 997));
            buf.field("path", path.as_str()).field("trace", id.as_str()).field("client", address.as_str());
            buf.field("at", stamp.as_str()).field("status", [200, 404, 500][n as usize % 3]);
            if n.is_multiple_of(4) {
                buf.field_same_as_message("msg").field("rare", format!("only {n}").as_str());
            }
        }
        "numbers" => {
            buf.message("tick")
                .field("n", i64::from(n) * 1_000)
                .field("same", 5)
                .field("wide", i64::MIN + i64::from(n));
            buf.field("x", f64::from(n) / 4.0).field("decimal", format!("{}.{:02}", n, n * 7 % 100).as_str());
            buf.field("mixed", if n.is_multiple_of(2) { Value::Int(1) } else { Value::Str("one") });
            buf.field("bool", n.is_multiple_of(3))
                .field("null", Value::Null)
                .field("json", Value::Json("[1]"));
        }
        _ => drop(buf.message("hello")),
    }
    buf.finish().unwrap()
}

/// A directory chunk, stored.
fn plain_directory(chunk: &[u8]) -> Vec<u8> {
    let mut rest = &chunk[1..];
    let len = varint(&mut rest).unwrap();
    let plain = if chunk[0] == 0 { rest.to_vec() } else { zstd::bulk::decompress(rest, len).unwrap() };
    let mut out = vec![0];
    put_varint(&mut out, plain.len());
    out.extend(plain);
    out
}

/// A bundle's chunk with its four streams stored. Another chunk as it is.
fn plain_bundle(chunk: &[u8]) -> Option<Vec<u8>> {
    let mut rest = chunk;
    let mut heads = Vec::new();
    for _ in 0..4 {
        let (method, after) = rest.split_first()?;
        rest = after;
        heads.push((*method, varint(&mut rest)?, varint(&mut rest)?));
    }
    if heads.iter().map(|head| head.2).sum::<usize>() != rest.len() {
        return Some(chunk.to_vec());
    }
    let (mut out, mut body) = (Vec::new(), Vec::new());
    for (method, plain_len, stored_len) in heads {
        let (stored, after) = rest.split_at(stored_len);
        rest = after;
        let plain =
            if method == 0 { stored.to_vec() } else { zstd::bulk::decompress(stored, plain_len).ok()? };
        out.push(0);
        put_varint(&mut out, plain.len());
        put_varint(&mut out, plain.len());
        body.extend(plain);
    }
    out.extend(body);
    Some(out)
}

fn varint(rest: &mut &[u8]) -> Option<usize> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 || shift > 56 {
            return Some(value);
        }
    }
}

fn put_varint(out: &mut Vec<u8>, mut n: usize) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
