//! The segments of one writer: recovering them in each mode, and following each alone.
//!
//! ```text
//! input     flags u8 | part * 1..=4          a part is a segment (see `crate::input`)
//! flags     bit 0: put checksums right       bits 1, 2: the recovery mode       bit 3: the machine was started anew
//! segment   identity 64 | first seq u64 | committed u64 | sealed u64 | synced u64 | published u64 | records
//! ```
//!
//! That is what a file has without the zeros of its header, which would be most of it.

use super::Seed;
use crate::input::{flags, parts, put_part};
use crate::seal;
use duramen_engine::io::sim::Sim;
use duramen_engine::io::{Env, OpenMode};
use duramen_engine::wal::format::{FIRST_RECORD, Identity, KIND_CALLER_MAX, SegmentId};
use duramen_engine::wal::{
    Background, Durability, Recovered, SegmentReader, Wal, WalKind, WalOptions, WalRecoveryMode,
    WriteOptions, recover, segment_path, segments, writer_dir, writers,
};
use std::path::{Path, PathBuf};

const IDENTITY_BYTES: usize = 64;
/// Where the counters lie in the file, in the order in which an input has them.
const COUNTERS: [usize; 5] = [128, 192, 256, 320, 384];
const HEAD_BYTES: usize = IDENTITY_BYTES + 8 * COUNTERS.len();

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    let sim = Sim::new(1);
    if flags & 8 != 0 {
        sim.crash_power();
    }
    let env = sim.env();
    let dir = write_segments(&env, Path::new("wal"), flags, input);
    let mode = [
        WalRecoveryMode::PointInTime,
        WalRecoveryMode::SkipAnyCorrupted,
        WalRecoveryMode::AbsoluteConsistency,
    ][usize::from(flags >> 1 & 3) % 3];
    if let Ok(recovered) = recover(&env, &dir, mode) {
        check(&recovered, mode);
        if mode == WalRecoveryMode::AbsoluteConsistency {
            assert!(recovered.damage.is_empty() && recovered.torn_bytes == 0, "{recovered:?}");
        }
    }
    for segment in segments(&env, &dir).unwrap() {
        if let Ok(Some(reader)) = SegmentReader::open(&env, &segment.path) {
            follow(&reader);
        }
    }
}

/// Writes the segments of an input to the directory of their writer, and says which that is.
pub(super) fn write_segments(env: &Env, wal_dir: &Path, flags: u8, input: &[u8]) -> PathBuf {
    let parts = parts(input, 4);
    let writer_id =
        parts.first().and_then(|part| part.get(16..24)?.first_chunk()).copied().unwrap_or_default();
    let writer_id = u64::from_le_bytes(writer_id);
    let dir = writer_dir(wal_dir, writer_id);
    env.fs.create_dir_all(&dir).unwrap();
    for (number, part) in (1..).zip(parts) {
        let mut part = part.to_vec();
        if flags & 1 != 0 && part.len() >= HEAD_BYTES {
            seal::wal_identity(&mut part);
            seal::wal_records(SegmentId { writer_id, number }, &mut part[HEAD_BYTES..]);
        }
        write(env, &segment_path(&dir, number), &file(&part));
    }
    dir
}

/// The segment's file.
fn file(part: &[u8]) -> Vec<u8> {
    let Some((head, records)) = part.split_at_checked(HEAD_BYTES) else { return part.to_vec() };
    let mut file = vec![0; FIRST_RECORD];
    file[..IDENTITY_BYTES].copy_from_slice(&head[..IDENTITY_BYTES]);
    for (counter, at) in head[IDENTITY_BYTES..].chunks(8).zip(COUNTERS) {
        file[at..at + 8].copy_from_slice(counter);
    }
    file.extend_from_slice(records);
    file
}

fn write(env: &Env, path: &Path, bytes: &[u8]) {
    let file = env.fs.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// What a recovery offers has no gap, or is in order at least where gaps were asked for.
fn check(recovered: &Recovered, mode: WalRecoveryMode) {
    let mut next = None;
    for segment in &recovered.segments {
        follow(&segment.reader);
        for record in segment.records() {
            assert!(record.kind <= KIND_CALLER_MAX);
            match next {
                Some(next) if mode == WalRecoveryMode::SkipAnyCorrupted => assert!(record.seq >= next),
                Some(next) => assert_eq!(record.seq, next, "{recovered:?}"),
                None => {}
            }
            next = record.seq.checked_add(u64::from(record.count));
        }
    }
}

/// Reads all records of a segment; each leads on.
fn follow(reader: &SegmentReader) {
    let mut at = reader.start();
    let _any = (reader.first_seq(), reader.is_sealed(), reader.is_from_another_boot());
    while let Ok(Some((record, next))) = reader.next_record(at) {
        assert!(next > at && next <= reader.committed());
        assert_eq!(reader.bytes(record.payload_offset, record.payload.len() as u32), Some(record.payload));
        at = next;
    }
}

/// What a writer wrote into simulated files, as parts.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for kind in [WalKind::Mmap, WalKind::Write] {
        let sim = Sim::new(3);
        let env = sim.env();
        let options = WalOptions {
            write_buffer_size: 64 << 10,
            first_segment_bytes: 8 << 10,
            idle_segment_bytes: 8 << 10,
            max_write_buffer_number: 4,
            wal_kind: kind,
            background: Background::Manual,
            ..WalOptions::default()
        };
        let wal = Wal::create(&env, Path::new("wal"), options).unwrap();
        for n in 0..6u32 {
            let payload = vec![n as u8; 7 * n as usize];
            wal.append(n as u8 % 3, 1 + n % 2, &payload, WriteOptions::default()).unwrap();
            match n {
                1 => wal.sync().unwrap(),
                3 => drop(wal.rotate().unwrap()),
                _ => {}
            }
        }
        let synced = WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() };
        wal.append(1, 1, b"the last", synced).unwrap();
        let dir = writers(&env, Path::new("wal")).unwrap().remove(0).path;
        let name = if kind == WalKind::Mmap { "mapped" } else { "written" };
        seeds.push((format!("{name}-alive"), seed(&sim, &env, &dir)));
        wal.close().unwrap();
        seeds.push((format!("{name}-closed"), seed(&sim, &env, &dir)));
        let mut anew = seed(&sim, &env, &dir);
        anew[0] |= 8 | 2;
        seeds.push((format!("{name}-anew"), anew));
    }
    seeds
}

/// The segments of a writer as an input.
pub(super) fn seed(sim: &Sim, env: &Env, dir: &Path) -> Vec<u8> {
    let mut input = vec![1];
    for segment in segments(env, dir).unwrap() {
        let file = sim.read_file(&segment.path).unwrap();
        if Identity::decode(&file).is_err() {
            continue;
        }
        let mut part = file[..IDENTITY_BYTES].to_vec();
        COUNTERS.iter().for_each(|at| part.extend_from_slice(&file[*at..at + 8]));
        let end = file.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1).max(FIRST_RECORD);
        // A few of the zeros behind the records, too.
        part.extend_from_slice(&file[FIRST_RECORD..(end + 24).min(file.len())]);
        put_part(&mut input, &part);
    }
    input
}
