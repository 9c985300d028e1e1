//! What all columns of a block need: times, identities, streams, levels.
//!
//! ```text
//! times             integers, one a row, ascending
//! writers           integers, one a row; unsigned 64-bit numbers as the signed ones of the same bits
//! sequence numbers  likewise
//! stream of a row   integers, one a row
//! levels            0: each is what the text of the column `level` means; or 1, integers, one a slot
//! ```
//!
//! The label sets of the streams are a part of their own, so that a query for words need not read the rest:
//!
//! ```text
//! in text:          count varint, then each: labels varint, then per label, by name:
//!                   name (counted), value (counted), kind u8
//! ```

use super::bytes::{bad, put_bytes, put_varint};
use super::chosen::Chosen;
use super::columnize::{Columnizer, Form, MESSAGE, slots};
use super::ints;
use super::labels::{Label, LabelSet, StreamTable};
use super::streams::{Part, Streams};
use crate::block::names;
use crate::column::{Order, bit};
use crate::error::Result;
use crate::value::Level;

/// Writes the structure of the rows.
pub(crate) fn encode(c: &Columnizer, out: &mut Streams) {
    ints::encode(&c.times, out);
    ints::encode(&c.writers, out);
    ints::encode(&c.seqs, out);
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

/// Writes the label sets.
pub(crate) fn encode_label_sets(streams: &StreamTable, out: &mut Streams) {
    put_varint(&mut out.text, streams.sets.len() as u64);
    for set in &*streams.sets {
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

// Each of these takes the part from its front, and passes over what it does not read: a query that asks for words
// needs no times, and one that counts needs no identities.

/// The times of `rows` rows.
pub(crate) fn times(part: &mut Part<'_>, rows: usize) -> Result<Vec<i64>> {
    let times = ints::decode(part, rows)?;
    if times.windows(2).any(|w| w[0] > w[1]) {
        return Err(bad("its times are not in order"));
    }
    Ok(times)
}

/// Which writer wrote each row, and as its how-manieth.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) writers: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
}

/// The identities of the rows.
pub(crate) fn identities(part: &mut Part<'_>, rows: usize) -> Result<Identities> {
    ints::skip(part, rows)?;
    Ok(Identities { writers: ints::decode(part, rows)?, seqs: ints::decode(part, rows)? })
}

/// The distinct label sets.
pub(crate) fn label_sets(part: &mut Part<'_>, rows: usize) -> Result<Vec<LabelSet>> {
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
    Ok(sets)
}

/// How many label sets there are.
pub(crate) fn stream_count(label_sets: &mut Part<'_>, rows: usize) -> Result<usize> {
    label_sets.text.count(rows)
}

/// How rows lead to slots, of so many streams, and where the slots of each end.
pub(crate) fn order(part: &mut Part<'_>, rows: usize, streams: usize) -> Result<(Order, Vec<u32>)> {
    skip_to_streams(part, rows)?;
    let end = u32::try_from(streams).unwrap_or(u32::MAX);
    let stream_of_row = ints::decode_below(part, Chosen::all(rows), end)?;
    let stream_of_row = stream_of_row.ok_or_else(|| bad("there is no such stream"))?;
    let mut counts = vec![0u32; streams];
    stream_of_row.iter().for_each(|&stream| counts[stream as usize] += 1);
    let (order, slot_ends) = slots(&stream_of_row, &counts);
    Ok((order.into(), slot_ends))
}

/// The level of each slot, unless they follow from the column.
pub(crate) fn levels(part: &mut Part<'_>, rows: usize) -> Result<Option<Vec<i64>>> {
    skip_to_streams(part, rows)?;
    ints::skip(part, rows)?;
    match part.meta.u8()? {
        0 => Ok(None),
        1 => Ok(Some(ints::decode(part, rows)?)),
        _ => Err(bad("an encoding of levels is unknown")),
    }
}

/// Times, writers and sequence numbers.
fn skip_to_streams(part: &mut Part<'_>, rows: usize) -> Result<()> {
    (0..3).try_for_each(|_| ints::skip(part, rows))
}
