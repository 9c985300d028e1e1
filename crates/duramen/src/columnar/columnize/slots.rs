//! Which slot each row gets: rows of one stream lie together, in time order.

use super::super::Row;
use super::super::labels::{Label, LabelSet, StreamTable};
use super::text_of;
use crate::column::IntText;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::Arc;

/// The first byte of CBOR's `undefined`.
const UNDEFINED: u8 = 0xf7;

/// Finds the streams of the rows; puts the number of each row's into `stream_of_row`, which is cleared first.
pub(crate) fn streams_of(rows: &[Row<'_>], stream_of_row: &mut Vec<u32>) -> StreamTable {
    let mut sets: Vec<LabelSet> = Vec::new();
    let mut index: HashMap<LabelSet, u32, FixedState> = HashMap::default();
    let mut by_bytes: HashMap<&[u8], u32, FixedState> = HashMap::default();
    let mut last: Option<(&[u8], u32)> = None;
    stream_of_row.clear();
    for row in rows {
        let bytes = row.entry.stream_bytes();
        // A value that refers to the message makes equal bytes differ in meaning.
        let refers = bytes.contains(&UNDEFINED);
        let code = match last {
            Some((b, code)) if b == bytes && !refers => code,
            _ => match by_bytes.get(bytes) {
                Some(&code) if !refers => code,
                _ => {
                    let set = label_set(row);
                    let code = *index.entry(set).or_insert_with_key(|set| {
                        sets.push(set.clone());
                        sets.len() as u32 - 1
                    });
                    by_bytes.insert(bytes, code);
                    code
                }
            },
        };
        last = Some((bytes, code));
        stream_of_row.push(code);
    }
    let sets = in_order(sets, stream_of_row);
    let mut counts = vec![0u32; sets.len()];
    for &code in &*stream_of_row {
        counts[code as usize] += 1;
    }
    let (order, slot_ends) = slots(stream_of_row, &counts);
    StreamTable { sets: Arc::new(sets), slot_ends, order: order.into(), rows: rows.len() }
}

/// The sets by their labels, so that streams which have much in common lie together.
fn in_order(sets: Vec<LabelSet>, stream_of_row: &mut [u32]) -> Vec<LabelSet> {
    let mut sorted: Vec<(LabelSet, usize)> = sets.into_iter().zip(0..).collect();
    sorted.sort_unstable();
    let mut numbers = vec![0; sorted.len()];
    sorted.iter().zip(0..).for_each(|(&(_, old), new)| numbers[old] = new);
    stream_of_row.iter_mut().for_each(|stream| *stream = numbers[*stream as usize]);
    sorted.into_iter().map(|(set, _)| set).collect()
}

/// The slot of each row, `None` if that is the row's number, and where each stream's slots end.
pub(crate) fn slots(stream_of_row: &[u32], counts: &[u32]) -> (Option<Arc<Vec<u32>>>, Vec<u32>) {
    let mut ends = Vec::with_capacity(counts.len());
    let mut next = Vec::with_capacity(counts.len());
    let mut total = 0;
    for &count in counts {
        next.push(total);
        total += count;
        ends.push(total);
    }
    if counts.len() <= 1 {
        return (None, ends);
    }
    let order = stream_of_row
        .iter()
        .map(|&code| {
            let slot = next[code as usize];
            next[code as usize] += 1;
            slot
        })
        .collect();
    (Some(Arc::new(order)), ends)
}

fn label_set(row: &Row<'_>) -> LabelSet {
    let mut set: LabelSet = Vec::new();
    let mut digits = IntText::default();
    for (name, value) in row.entry.stream() {
        let (text, kind) = text_of(value, &mut digits);
        let label = Label { name: name.into(), value: (&*text).into(), kind: kind as u8 };
        match set.binary_search_by(|l| (*l.name).cmp(name)) {
            Ok(at) => set[at] = label,
            Err(at) => set.insert(at, label),
        }
    }
    set
}
