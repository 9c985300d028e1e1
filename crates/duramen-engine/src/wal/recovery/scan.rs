//! Finding records in bytes that may be damaged.
//!
//! A scan knows whose and which segment the bytes are, from the names of file and directory, so it needs no header.
//! It follows the chain of records; where that breaks, it looks for the next place where a record verifies. What
//! it finds are *islands*: stretches of records without a gap.

use crate::wal::format::{
    COUNT_MAX, FIRST_RECORD, KIND_CALLER_MAX, KIND_PREV, KIND_SEAL, KIND_SYNC, RECORD_HEADER_BYTES,
    RecordHeader, SegmentId, decode_own, decode_record,
};
use std::ops::Range;

/// Records without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wal) struct Island {
    /// Where they lie.
    pub(in crate::wal) range: Range<usize>,
    /// The first one's sequence number.
    pub(in crate::wal) first_seq: u64,
    /// The sequence number after the last one.
    pub(in crate::wal) next_seq: u64,
}

/// What a segment holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::wal) struct Scan {
    /// In order.
    pub(in crate::wal) islands: Vec<Island>,
    /// Whether the last island ends in a SEAL that agrees with its place.
    pub(in crate::wal) sealed: bool,
    /// Number of the segment that came before, if the first record says so.
    pub(in crate::wal) previous: Option<u64>,
    /// Segment number and offset of each SYNC.
    pub(in crate::wal) marks: Vec<(u64, u64)>,
    /// Where the last byte that is not zero ends; at least [`FIRST_RECORD`], even if the file ends before.
    pub(in crate::wal) content_end: usize,
}

/// How many times its length a search may checksum. Only bytes made to look like records come near.
const SEARCH_BUDGET: usize = 16;

/// Finds all records in the bytes of a segment.
pub(in crate::wal) fn scan(id: SegmentId, bytes: &[u8]) -> Scan {
    let mut found = Scan { content_end: content_end(bytes), ..Scan::default() };
    let mut budget = bytes.len().saturating_mul(SEARCH_BUDGET);
    let mut at = FIRST_RECORD;
    let mut min_seq = 1;
    while !found.sealed {
        if let Some(island) = follow(id, bytes, at, min_seq, &mut found) {
            at = island.range.end;
            min_seq = island.next_seq;
            found.islands.push(island);
        } else {
            match search(id, bytes, at, min_seq, &mut budget) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    // A record may end in zeros.
    found.content_end = found.content_end.max(at);
    found
}

/// Follows the chain of records from `start`.
fn follow(id: SegmentId, bytes: &[u8], start: usize, min_seq: u64, found: &mut Scan) -> Option<Island> {
    let mut island: Option<Island> = None;
    let mut at = start;
    while let Some((header, payload)) = bytes.get(at..).and_then(|rest| decode_record(id, rest)) {
        let in_order = match &island {
            None => header.seq >= min_seq,
            Some(island) => header.seq == island.next_seq,
        };
        // The WAL's own records take no sequence numbers.
        let fits = in_order && (header.kind <= KIND_CALLER_MAX || header.count == 0);
        let Some(next_seq) = header.next_seq().filter(|_| fits) else { break };
        at += header.record_len();
        let first_seq = island.map_or(header.seq, |i| i.first_seq);
        island = Some(Island { range: start..at, first_seq, next_seq });
        match (header.kind, decode_own(payload)) {
            (KIND_SYNC, Some(mark)) => found.marks.push(mark),
            (KIND_PREV, Some((number, _bytes))) => found.previous = Some(number),
            (KIND_SEAL, Some((total, _records))) if total == at as u64 => {
                found.sealed = true;
                break;
            }
            _ => {}
        }
    }
    island
}

/// The next place from `broken` on where a record verifies.
fn search(id: SegmentId, bytes: &[u8], broken: usize, min_seq: u64, budget: &mut usize) -> Option<usize> {
    // If only the payload is damaged, the record's own length leads to the next; taking that first keeps
    // records that somebody logged as a payload from being found inside it. A damaged length may lead to a later one.
    if let Some(header) = bytes.get(broken..).and_then(RecordHeader::peek) {
        let behind = broken.saturating_add(header.record_len());
        let next = bytes.get(behind..).and_then(RecordHeader::peek);
        if header.seq == min_seq
            && header.next_seq().is_some_and(|seq| next.is_some_and(|next| next.seq == seq))
            && verifies(id, bytes, behind, min_seq, broken, budget)
        {
            return Some(behind);
        }
    }
    let mut at = broken.checked_add(1)?;
    while at.checked_add(RECORD_HEADER_BYTES)? <= bytes.len() {
        if bytes[at..at + 16].iter().all(|b| *b == 0) {
            // A sequence number is never 0, so no record begins in front of 16 zeros.
            at = at + 16 + bytes[at + 16..].iter().position(|b| *b != 0)? - 15;
            continue;
        }
        if verifies(id, bytes, at, min_seq, broken, budget) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether a record begins at `at` that may follow what broke at `broken`.
fn verifies(id: SegmentId, bytes: &[u8], at: usize, min_seq: u64, broken: usize, budget: &mut usize) -> bool {
    let Some(rest) = bytes.get(at..) else { return false };
    let Some(header) = RecordHeader::peek(rest) else { return false };
    // So many sequence numbers may have been lost at most; random bytes hardly ever lie in that range.
    let lost_most = ((at - broken) / RECORD_HEADER_BYTES + 1) as u64 * u64::from(COUNT_MAX);
    if header.seq < min_seq || header.seq - min_seq > lost_most || header.record_len() > rest.len() {
        return false;
    }
    if *budget < header.record_len() {
        return false;
    }
    *budget -= header.record_len();
    decode_record(id, rest).is_some()
}

/// Where the last byte that is not zero ends.
fn content_end(bytes: &[u8]) -> usize {
    const STRIDE: usize = 4096;
    let mut end = bytes.len();
    while end > FIRST_RECORD {
        let start = end.saturating_sub(STRIDE).max(FIRST_RECORD);
        match bytes[start..end].iter().rposition(|b| *b != 0) {
            Some(last) => return start + last + 1,
            None => end = start,
        }
    }
    FIRST_RECORD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wal::format::payload_hash;
    use proptest::prelude::*;

    const ID: SegmentId = SegmentId { writer_id: 7, number: 3 };

    fn put(out: &mut Vec<u8>, seq: u64, kind: u8, count: u32, payload: &[u8]) {
        let header = RecordHeader { len: payload.len() as u32, seq, kind, count };
        out.extend_from_slice(&header.encode(ID, payload_hash(payload)));
        out.extend_from_slice(payload);
    }

    fn segment(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let mut out = vec![0; FIRST_RECORD];
        let mut ends = vec![];
        for (payload, seq) in payloads.iter().zip(1..) {
            put(&mut out, seq, 0, 1, payload);
            ends.push(out.len());
        }
        (out, ends)
    }

    #[test]
    fn whole_bytes_are_one_island() {
        let (mut bytes, ends) = segment(&[b"one".to_vec(), vec![], b"three".to_vec()]);
        bytes.resize(bytes.len() + 100_000, 0);
        let found = scan(ID, &bytes);
        assert_eq!(found.islands, [Island { range: FIRST_RECORD..ends[2], first_seq: 1, next_seq: 4 }]);
        assert_eq!((found.content_end, found.sealed), (ends[2], false));
    }

    #[test]
    fn a_record_logged_as_a_payload_is_not_found_inside_a_damaged_one() {
        let mut inner = Vec::new();
        put(&mut inner, 2, 0, 1, b"I am but a payload");
        let (mut bytes, ends) = segment(&[b"one".to_vec(), inner, b"three".to_vec()]);
        bytes[ends[1] - 1] ^= 1;
        let found = scan(ID, &bytes);
        let starts: Vec<usize> = found.islands.iter().map(|i| i.range.start).collect();
        assert_eq!(starts, [FIRST_RECORD, ends[1]]);
    }

    #[test]
    fn a_damaged_length_does_not_hide_what_follows() {
        let (mut bytes, ends) = segment(&[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        bytes[ends[0] + 4] = 0xFF;
        bytes[ends[0] + 7] = 0xFF;
        let found = scan(ID, &bytes);
        let ranges: Vec<_> = found.islands.iter().map(|i| i.range.clone()).collect();
        assert_eq!(ranges, [FIRST_RECORD..ends[0], ends[1]..ends[2]]);
    }

    #[test]
    fn a_damaged_length_that_leads_to_a_later_record_does_not_hide_the_next() {
        let (mut bytes, ends) = segment(&[b"one".to_vec(), b"two".to_vec(), vec![], b"four".to_vec()]);
        let len = bytes[ends[0] + 4];
        bytes[ends[0] + 4] = len + RECORD_HEADER_BYTES as u8;
        let found = scan(ID, &bytes);
        let ranges: Vec<_> = found.islands.iter().map(|i| i.range.clone()).collect();
        assert_eq!((len, ranges), (3, vec![FIRST_RECORD..ends[0], ends[1]..ends[3]]));
    }

    #[test]
    fn a_record_of_the_wal_s_own_takes_no_sequence_number() {
        for (count, islands) in [(0, 1), (1, 2)] {
            let (mut bytes, _) = segment(&[b"one".to_vec()]);
            put(&mut bytes, 2, KIND_SYNC, count, &[0; 16]);
            put(&mut bytes, 2 + u64::from(count), 0, 1, b"two");
            assert_eq!(scan(ID, &bytes).islands.len(), islands);
        }
    }

    #[test]
    fn a_hole_of_zeros_is_crossed() {
        let (mut bytes, ends) = segment(&[b"one".to_vec(), vec![1; 50_000], b"three".to_vec()]);
        bytes[ends[0]..ends[1]].fill(0);
        let found = scan(ID, &bytes);
        let ranges: Vec<_> = found.islands.iter().map(|i| i.range.clone()).collect();
        assert_eq!(ranges, [FIRST_RECORD..ends[0], ends[1]..ends[2]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_scanned(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let found = scan(ID, &bytes);
            prop_assert!(found.islands.is_empty());
        }

        #[test]
        fn one_damaged_byte_costs_one_record(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..20),
            place: prop::sample::Index,
            flip in 1..=255u8,
        ) {
            let (mut bytes, ends) = segment(&payloads);
            let at = FIRST_RECORD + place.index(bytes.len() - FIRST_RECORD);
            bytes[at] ^= flip;
            let hit = ends.iter().position(|end| at < *end).unwrap();
            let mut left = vec![];
            let start = if hit == 0 { FIRST_RECORD } else { ends[hit - 1] };
            if start > FIRST_RECORD {
                left.push(FIRST_RECORD..start);
            }
            if hit + 1 < ends.len() {
                left.push(ends[hit]..ends[ends.len() - 1]);
            }
            let ranges: Vec<_> = scan(ID, &bytes).islands.into_iter().map(|i| i.range).collect();
            prop_assert_eq!(ranges, left);
        }
    }
}
