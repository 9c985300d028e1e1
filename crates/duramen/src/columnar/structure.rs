//! What all columns of a block need: times, identities, streams, levels.
//!
//! ```text
//! times             integers, one a row, ascending
//! writers           integers, one a row; unsigned 64-bit numbers as the signed ones of the same bits
//! sequence numbers  likewise
//! in text:
//!   streams         count varint, then each: labels varint, then per label, by name:
//!                   name (counted), value (counted), kind u8
//! stream of a row   integers, one a row
//! levels            0: each is what the text of the column `level` means; or 1, integers, one a slot
//! ```

use super::bytes::{bad, put_bytes, put_varint};
use super::columnize::{Columnizer, Form, MESSAGE, slots};
use super::ints;
use super::labels::{Label, StreamTable};
use super::streams::{Part, Streams};
use crate::block::names;
use crate::column::bit;
use crate::error::Result;
use crate::value::Level;
use std::sync::Arc;

/// What all columns need.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) times: Arc<Vec<i64>>,
    pub(crate) writers: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
    pub(crate) streams: StreamTable,
    /// One a slot, unless they follow from the column.
    pub(crate) levels: Option<Vec<i64>>,
}

/// Writes the structure of the rows.
pub(crate) fn encode(c: &Columnizer, out: &mut Streams) {
    ints::encode(&c.times, out);
    ints::encode(&c.writers, out);
    ints::encode(&c.seqs, out);
    encode_streams(&c.streams, out);
    let stream_of_row: Vec<i64> = c.stream_of_row.iter().map(|&s| i64::from(s)).collect();
    ints::encode(&stream_of_row, out);
    if levels_follow_from_text(c) {
        out.meta.push(0);
    } else {
        out.meta.push(1);
        let levels: Vec<i64> = c.levels.iter().map(|&l| i64::from(l)).collect();
        ints::encode(&levels, out);
    }
}

fn encode_streams(streams: &StreamTable, out: &mut Streams) {
    put_varint(&mut out.text, streams.sets.len() as u64);
    for set in &streams.sets {
        put_varint(&mut out.text, set.len() as u64);
        for label in set {
            put_bytes(&mut out.text, label.name.as_bytes());
            put_bytes(&mut out.text, label.value.as_bytes());
            out.text.push(label.kind);
        }
    }
}

/// Whether each entry's level is what its `level` field's text means.
fn levels_follow_from_text(c: &Columnizer) -> bool {
    if c.streams.names().any(|name| name == names::LEVEL) {
        return false;
    }
    let Some(column) = c.columns().get(MESSAGE + 1) else { return false };
    if !matches!(column.form, Form::Dictionary | Form::Empty) {
        return false;
    }
    let meaning: Vec<u8> = (0..column.texts.len())
        .map(|i| level_of(&String::from_utf8_lossy(column.texts.get(i))) as u8)
        .collect();
    let rows = c.levels.len();
    let all = column.present.is_empty();
    let mut i = 0;
    (0..rows).all(|slot| {
        let has = if all { slot < column.count } else { bit(&column.present, slot) };
        let expected = if has {
            i += 1;
            meaning[column.codes[i - 1] as usize]
        } else {
            Level::Unknown as u8
        };
        c.levels[slot] == expected
    })
}

/// What the text of a `level` field means.
pub(crate) fn level_of(text: &str) -> Level {
    Level::parse(text).unwrap_or(Level::Unknown)
}

/// Reads the structure of `rows` rows.
pub(crate) fn decode(part: &mut Part<'_>, rows: usize) -> Result<Structure> {
    let times = ints::decode(part, rows)?;
    if times.windows(2).any(|w| w[0] > w[1]) {
        return Err(bad("its times are not in order"));
    }
    let writers = ints::decode(part, rows)?;
    let seqs = ints::decode(part, rows)?;
    let mut sets = Vec::new();
    for _ in 0..part.text.count(rows)? {
        let mut set = Vec::new();
        for _ in 0..part.text.count(crate::entry::MAX_FIELDS)? {
            let name = part.text.str()?.into();
            let value = part.text.str()?.into();
            set.push(Label { name, value, kind: part.text.u8()? });
        }
        sets.push(set);
    }
    let mut counts = vec![0u32; sets.len()];
    let mut stream_of_row = Vec::with_capacity(rows);
    for n in ints::decode(part, rows)? {
        let code = u32::try_from(n).map_err(|_| bad("there is no such stream"))?;
        *counts.get_mut(code as usize).ok_or_else(|| bad("there is no such stream"))? += 1;
        stream_of_row.push(code);
    }
    let (order, slot_ends) = slots(&stream_of_row, &counts);
    let levels = match part.meta.u8()? {
        0 => None,
        1 => Some(ints::decode(part, rows)?),
        _ => return Err(bad("an encoding of levels is unknown")),
    };
    let streams = StreamTable { sets, slot_ends, order, rows };
    Ok(Structure { times: Arc::new(times), writers, seqs, streams, levels })
}
