//! What the WAL's tests share: records that tell themselves apart, and ways to read them back.
#![allow(dead_code)] // each test uses its part
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_engine::wal::{Recovered, SegmentReader, Wal, WalOptions, WriteOptions};
use std::path::PathBuf;

/// The directory of all writers in the tests' stores.
pub const WAL: &str = "store/wal";

/// A record as the tests remember it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub seq: u64,
    pub count: u32,
    pub kind: u8,
    pub payload: Vec<u8>,
}

/// The `nth` record of every workload, from 0, whose sequence number is `seq`: lengths from none to several
/// hundred bytes, contents that no other record has.
pub fn nth_record(nth: usize, seq: u64) -> Written {
    let len = [0, 5, 96, 700, 31, 300][nth % 6] + nth % 7;
    let payload = (0..len).map(|i| (i * 7 + nth * 31) as u8).collect();
    Written { seq, count: 1 + (nth % 3) as u32, kind: (nth % 240) as u8, payload }
}

/// Appends the next record to what was appended before. If that fails, it is in `appended` all the same: it may
/// have come through.
pub fn append_next(
    wal: &Wal,
    appended: &mut Vec<Written>,
    options: WriteOptions,
) -> duramen_engine::Result<u64> {
    let seq = appended.last().map_or(1, |w| w.seq + u64::from(w.count));
    let next = nth_record(appended.len(), seq);
    let done = wal.append_located(next.kind, next.count, &next.payload, options);
    appended.push(next);
    let done = done?;
    assert_eq!(done.first_seq, seq);
    Ok(done.segment)
}

/// The records of one segment.
pub fn read_segment(reader: &SegmentReader) -> Vec<Written> {
    let mut found = vec![];
    let mut at = reader.start();
    while let Some((r, next)) = reader.next_record(at).unwrap() {
        assert_eq!(reader.bytes(r.payload_offset, r.payload.len() as u32), Some(r.payload));
        found.push(Written { seq: r.seq, count: r.count, kind: r.kind, payload: r.payload.to_vec() });
        at = next;
    }
    found
}

/// The records of all segments that a writer has not released.
pub fn read_live(wal: &Wal) -> Vec<Written> {
    wal.live_segments().iter().flat_map(|s| read_segment(s)).collect()
}

/// The records that a recovery offers.
pub fn offered(recovered: &Recovered) -> Vec<Written> {
    let records = recovered.segments.iter().flat_map(|s| s.records());
    let found: Vec<Written> = records
        .map(|r| Written { seq: r.seq, count: r.count, kind: r.kind, payload: r.payload.to_vec() })
        .collect();
    // Its readers read the same, like those of any other segment.
    let read: Vec<Written> = recovered.segments.iter().flat_map(|s| read_segment(&s.reader)).collect();
    assert!(found == read);
    found
}

/// Small segments, so that little work fills many.
pub fn small(options: WalOptions) -> WalOptions {
    WalOptions {
        write_buffer_size: 64 << 10,
        first_segment_bytes: 8 << 10,
        idle_segment_bytes: 8 << 10,
        max_record_bytes: 1 << 20,
        ..options
    }
}

/// The only writer's directory.
pub fn only_writer(env: &duramen_engine::io::Env, wal_dir: &std::path::Path) -> PathBuf {
    let writers = duramen_engine::wal::writers(env, wal_dir).unwrap();
    assert_eq!(writers.len(), 1);
    writers[0].path.clone()
}
