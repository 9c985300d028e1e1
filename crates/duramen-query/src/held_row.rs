//! Rows that are held for later: the names of rows with the same fields are there once, and what a row has in them lies together.

use crate::row::ResultRow;
use duramen::ValueKind;
use std::sync::Arc;

type Names = Arc<[Box<str>]>;

/// A row that is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldRow {
    names: Names,
    /// Of each field the kind, how long its text is, seven bits a byte, and the text.
    values: Box<[u8]>,
    time: Option<i64>,
}

/// About how many bytes memory of so many takes, with what the allocator needs.
pub(crate) const fn allocated_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + 16 }
}

impl HeldRow {
    /// Bytes that it takes besides itself, about.
    pub fn heap_bytes(&self) -> usize {
        allocated_bytes(self.values.len())
    }

    /// Makes a row the one that is held.
    pub fn fill(&self, row: &mut ResultRow) {
        row.clear();
        if let Some(time) = self.time {
            row.set_time(time);
        }
        let mut rest = &*self.values;
        for name in &*self.names {
            let Some((kind, text)) = next(&mut rest) else { return };
            row.push(name, text, kind);
        }
    }
}

/// The next value, which is taken away from the front.
fn next<'v>(rest: &mut &'v [u8]) -> Option<(ValueKind, &'v str)> {
    let (&kind, after) = rest.split_first()?;
    *rest = after;
    let mut len = 0usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    let (text, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some((ValueKind::from_u8(kind)?, std::str::from_utf8(text).ok()?))
}

/// What holds rows: knows which names they have.
#[derive(Debug, Default)]
pub(crate) struct Holder {
    /// Those of the last row: the next one often has the same.
    last: Names,
    /// Those of rows before, at most [`MAX_KNOWN`].
    known: Vec<Names>,
    /// How many were known and forgotten.
    forgotten: usize,
    values: Vec<u8>,
}

/// Rows of more shapes than this, that come in turns, have names of their own.
const MAX_KNOWN: usize = 64;

impl Holder {
    /// The row, to be held; and how many bytes that takes besides itself, about.
    pub fn hold(&mut self, row: &ResultRow) -> (HeldRow, usize) {
        let new_bytes = if has_names(row, &self.last) { 0 } else { self.find_names(row) };
        self.values.clear();
        for (_, text, kind) in row.iter() {
            self.values.push(kind as u8);
            let mut len = text.len();
            while len >= 0x80 {
                self.values.push(len as u8 | 0x80);
                len >>= 7;
            }
            self.values.push(len as u8);
            self.values.extend_from_slice(text.as_bytes());
        }
        let held =
            HeldRow { names: self.last.clone(), values: self.values.as_slice().into(), time: row.time_ns() };
        let bytes = held.heap_bytes() + new_bytes;
        (held, bytes)
    }

    /// Makes a row's names the last ones. Gives how many bytes they take, if they are not known.
    fn find_names(&mut self, row: &ResultRow) -> usize {
        if let Some(names) = self.known.iter().find(|names| has_names(row, names)) {
            self.last = names.clone();
            return 0;
        }
        self.last = row.iter().map(|(name, ..)| name.into()).collect();
        if self.known.len() < MAX_KNOWN {
            self.known.push(self.last.clone());
        } else {
            self.known[self.forgotten % MAX_KNOWN] = self.last.clone();
            self.forgotten += 1;
        }
        let of_names = row.iter().map(|(name, ..)| allocated_bytes(name.len()) + size_of::<Box<str>>());
        of_names.sum::<usize>() + 32
    }
}

/// Whether these are the row's names.
fn has_names(row: &ResultRow, names: &Names) -> bool {
    row.len() == names.len() && row.iter().zip(&**names).all(|((name, ..), known)| *name == **known)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn rows_come_back_as_they_were(
            rows in proptest::collection::vec((proptest::option::of(0..9i64), proptest::collection::vec(("[ab]{0,2}", "[aé]{0,3}|a{120,140}|b{17000}", 0..5u8), 0..4)), 0..12),
        ) {
            let (mut holder, mut bytes) = (Holder::default(), 0);
            let mut out = ResultRow::new();
            let rows: Vec<ResultRow> = rows.iter().map(|(time, cells)| {
                let mut row = ResultRow::new();
                time.iter().for_each(|time| row.set_time(*time));
                cells.iter().for_each(|(name, text, kind)| row.set(name, text, ValueKind::from_u8(*kind).unwrap()));
                row
            }).collect();
            let held: Vec<HeldRow> = rows.iter().map(|row| {
                let (held, more) = holder.hold(row);
                bytes += more;
                held
            }).collect();
            for (row, held) in rows.iter().zip(&held) {
                held.fill(&mut out);
                assert_eq!((&out, out.time_ns()), (row, row.time_ns()));
            }
            assert!(bytes >= held.iter().map(|held| held.values.len()).sum());
        }
    }
}
