//! Puts checksums right, so that what lies behind them is tried.

use duramen_engine::wal::format::{RECORD_HEADER_BYTES, RecordHeader, SegmentId, payload_hash};

/// Sets the CRC-32C of a WAL segment's identity (its first 64 bytes).
pub fn wal_identity(identity: &mut [u8]) {
    if let Some(identity) = identity.first_chunk_mut::<64>() {
        identity[..8].copy_from_slice(b"DURAWAL\0");
        let crc = crc32c::crc32c(&identity[..60]);
        identity[60..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Sets the checksum of every WAL record that lies back to back from the start of `records`.
pub fn wal_records(id: SegmentId, mut records: &mut [u8]) {
    while let Some(header) = RecordHeader::peek(records) {
        let Some((record, rest)) = records.split_at_mut_checked(header.record_len()) else { break };
        let (head, payload) = record.split_at_mut(RECORD_HEADER_BYTES);
        head.copy_from_slice(&header.encode(id, payload_hash(payload)));
        records = rest;
    }
}

/// Sets the checksums of a table file: header, every frame that lies back to back behind it, the frames of index and
/// properties that the footer points to, and the footer.
pub fn table(file: &mut [u8]) {
    const HEADER: usize = 20;
    const FOOTER: usize = 56;
    if file.len() < HEADER + FOOTER {
        return;
    }
    file[..8].copy_from_slice(b"DURA\rSST");
    let crc = crc32c::crc32c(&file[..16]);
    put_u32(file, 16, crc);
    let footer_at = file.len() - FOOTER;
    let mut at = HEADER;
    while let Some(next) = table_frame(&mut file[..footer_at], at) {
        at = next;
    }
    for field in [0, 12] {
        let offset = u64_at(file, footer_at + field);
        if let Some(frame) = usize::try_from(offset).ok().and_then(|offset| offset.checked_sub(8)) {
            table_frame(&mut file[..footer_at], frame);
        }
    }
    let footer = &mut file[footer_at..];
    let crc = crc32c::crc32c(&footer[..44]);
    put_u32(footer, 44, crc);
    footer[48..].copy_from_slice(b"TSSARUD\n");
}

/// Sets the checksum of the frame at `at`, and says where the next begins, if it is one.
fn table_frame(bytes: &mut [u8], at: usize) -> Option<usize> {
    let len = u32_at(bytes, at)? as usize;
    let end = at.checked_add(8)?.checked_add(len).filter(|end| *end <= bytes.len())?;
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[at..at + 4]), &bytes[at + 8..end]);
    put_u32(bytes, at + 4, crc);
    Some(end)
}

/// Sets the checksums of a manifest file: header and every frame behind it.
pub fn manifest(file: &mut [u8]) {
    const HEADER: usize = 24;
    if file.len() < HEADER {
        return;
    }
    file[..8].copy_from_slice(b"DURA\rMAN");
    let crc = crc32c::crc32c(&file[..20]);
    put_u32(file, 20, crc);
    let mut at = HEADER;
    while let Some(len) = u32_at(file, at) {
        let end = at.saturating_add(17).saturating_add(len as usize);
        if end > file.len() {
            break;
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&file[at..at + 4]), &file[at + 8..end]);
        put_u32(file, at + 4, crc);
        at = end;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Sets the checksums of the log engine's file: header and every frame behind it.
pub fn log(file: &mut [u8]) {
    const HEADER: usize = 64;
    const FRAME: usize = 21;
    if file.len() < HEADER {
        return;
    }
    file[..8].copy_from_slice(b"DURALOG\0");
    let crc = crc32c::crc32c(&file[..44]);
    put_u32(file, 44, crc);
    let mut identity = [0; 16];
    identity.copy_from_slice(&file[12..28]);
    let mut at = HEADER;
    while at + FRAME <= file.len()
        && let Some(len) = u32_at(file, at + 4)
    {
        let end = at.saturating_add(FRAME).saturating_add(len as usize);
        if end > file.len() {
            break;
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&file[at + FRAME..end]), &identity);
        let crc = crc32c::crc32c_append(crc, &file[at + 4..at + FRAME]);
        put_u32(file, at, crc);
        at = end;
    }
}
