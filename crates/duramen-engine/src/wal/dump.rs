//! A segment, line by line: header, counters, every record that can be found.

use super::format::{
    COMMITTED, FIRST_RECORD, FIRST_SEQ, Identity, IdentityError, KIND_CALLER_MAX, KIND_PREV, KIND_SEAL,
    KIND_SYNC, PUBLISHED, RecordHeader, SEALED, SYNCED, SegmentId, SegmentKind, decode_own, decode_record,
};
use super::names::{parse_segment_name, parse_writer_dir};
use super::recovery::scan;
use crate::dump::{Line, Out, Stop, ops};
use crate::kv::Ops;
use crate::{Error, Result};
use std::path::Path;

/// Tells what is in the bytes of a segment.
///
/// # Errors
/// [`Stop`]; [`Error::TooNew`].
pub(crate) fn dump(path: &Path, bytes: &[u8], out: &mut Out<'_>) -> Result<(), Stop> {
    if bytes.iter().all(|byte| *byte == 0) {
        return out.line(Line::new("empty", 1).text("detail", "prepared: nothing was written to it yet"));
    }
    let Some(id) = header(path, bytes, out)? else { return Ok(()) };
    let found = scan(id, bytes);
    let mut at = FIRST_RECORD;
    for island in &found.islands {
        if island.range.start > at {
            out.damage(Some(at as u64..island.range.start as u64), "these bytes are not a record")?;
        }
        at = island.range.start;
        while at < island.range.end {
            let Some((header, payload)) = bytes.get(at..).and_then(|rest| decode_record(id, rest)) else {
                break;
            };
            record(at, header, payload, out)?;
            at += header.record_len();
        }
    }
    let end = found.content_end.min(bytes.len());
    if end > at {
        // No counter tells which it is for sure, and a recovery looks at later segments as well.
        let line = Line::new("torn", 1).number("offset", at).number("bytes", end - at);
        let detail = "no record follows: a write that was cut off, or is going on, or is damaged";
        out.line(line.text("detail", detail))?;
    }
    Ok(())
}

/// Header and counters. Whose records are expected: what the header says, and if that is damaged, the file's name.
fn header(path: &Path, bytes: &[u8], out: &mut Out<'_>) -> Result<Option<SegmentId>, Stop> {
    let id = match Identity::decode(bytes) {
        Ok(Identity { id, kind, capacity, boot_id, log_first_seq, behind }) => {
            let kind = match kind {
                SegmentKind::Mapped => "mapped",
                SegmentKind::Written => "written",
            };
            let line = Line::new("header", 1).text("writer", format!("{:016x}", id.writer_id));
            let line = line.number("segment", id.number).text("kind", kind).number("capacity", capacity);
            let line = line.number("boot", boot_id).number("log_first_seq", log_first_seq);
            out.line(line.number("behind", behind))?;
            Some(id)
        }
        Err(IdentityError::TooNew(found)) => {
            let (path, supported) = (path.to_path_buf(), super::format::FORMAT_VERSION);
            return Err(Stop::Failed(Error::TooNew { path, found, supported }));
        }
        Err(IdentityError::Damaged(detail)) => {
            let named = path.parent().and_then(parse_writer_dir).zip(parse_segment_name(path));
            let detail = match named {
                Some(_) => format!("{detail}; the names of file and directory tell whose it is"),
                None => format!("{detail}; whose records are in it cannot be told"),
            };
            out.damage(Some(0..super::format::IDENTITY_BYTES as u64), &detail)?;
            named.map(|(writer_id, number)| SegmentId { writer_id, number })
        }
    };
    let counter =
        |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
    let counters = [
        ("first_seq", FIRST_SEQ),
        ("committed", COMMITTED),
        ("sealed", SEALED),
        ("synced", SYNCED),
        ("published", PUBLISHED),
    ];
    let line = Line::new("counters", 1);
    out.line(counters.into_iter().fold(line, |line, (name, at)| line.number(name, counter(at))))?;
    Ok(id)
}

fn record(at: usize, header: RecordHeader, payload: &[u8], out: &mut Out<'_>) -> Result<(), Stop> {
    let RecordHeader { seq, kind, count, .. } = header;
    match (kind, decode_own(payload)) {
        (KIND_SYNC, Some((segment, through))) => {
            let line = Line::new("sync", 1).number("offset", at);
            return out.item(line.number("segment", segment).number("through", through));
        }
        (KIND_PREV, Some((segment, bytes))) => {
            let line = Line::new("prev", 1).number("offset", at);
            return out.item(line.number("segment", segment).number("bytes", bytes));
        }
        (KIND_SEAL, Some((bytes, records))) => {
            let line = Line::new("seal", 1).number("offset", at);
            return out.item(line.number("bytes", bytes).number("records", records));
        }
        _ => {}
    }
    let line = Line::new("record", 1).number("offset", at).number("seq", seq).number("count", count);
    let of = |line: Line, kind: &str| line.text("kind", kind).number("bytes", payload.len());
    if kind == crate::lsm::KIND_BATCH && is_batch(payload, count) {
        return ops(of(line, "batch"), payload, seq, false, out);
    }
    if kind == crate::lsm::KIND_INGEST && payload.is_empty() {
        return out.item(of(line, "ingest"));
    }
    // Something else's: the log store's entries, say.
    let line =
        of(line, &if kind <= KIND_CALLER_MAX { kind.to_string() } else { format!("{kind} (the WAL's own)") });
    let line = if out.options().values { line.bytes("payload", payload) } else { line };
    out.item(line)
}

/// Whether a payload is that many writes and nothing else.
fn is_batch(payload: &[u8], count: u32) -> bool {
    let mut ops = Ops::new(payload);
    ops.by_ref().count() as u64 == u64::from(count) && ops.is_done()
}
