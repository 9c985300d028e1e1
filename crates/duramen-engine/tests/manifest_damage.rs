//! Damaged manifests: every flipped bit of what was acknowledged is found and named, and nothing panics.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::io::{Env, OpenMode, sim::Sim};
use duramen_engine::manifest::{Edit, Manifest, ManifestReader, State, TableMeta};
use proptest::prelude::*;
use std::path::Path;

const PATH: &str = "MANIFEST";
const MARK_BYTES: usize = 17;

/// A manifest with a few edits: its bytes, and where each edit ended, with its state.
fn manifest() -> (Vec<u8>, Vec<(usize, State)>) {
    let sim = Sim::new(1);
    let mut manifest = Manifest::create(&sim.env(), "", 42).unwrap();
    let end = || sim.read_file(Path::new(PATH)).unwrap().len() - MARK_BYTES;
    let mut states = vec![(end(), State::clone(manifest.state()))];
    for number in 0..4 {
        let table = TableMeta { number, path: format!("{number}.sst"), ..TableMeta::default() };
        let edit = Edit { add_tables: vec![table], flushed: vec![(1, number)], ..Edit::default() };
        let state = manifest.apply(edit).unwrap();
        states.push((end(), State::clone(&state)));
    }
    (sim.read_file(Path::new(PATH)).unwrap(), states)
}

fn file(bytes: &[u8]) -> Env {
    let env = Sim::new(1).env();
    env.fs.open(Path::new(PATH), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
    env
}

#[test]
fn every_flipped_bit_of_what_was_acknowledged_is_found() {
    let (bytes, states) = manifest();
    let (end, last) = states.last().unwrap();
    assert_eq!(bytes.len(), end + MARK_BYTES);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let env = file(&damaged);
        let read = ManifestReader::open(&env, "").map(|reader| reader.state().clone());
        let opened = Manifest::open(&env, "").map(|(_, state)| state);
        if bit / 8 < *end {
            for error in [read.unwrap_err(), opened.unwrap_err()] {
                assert!(error.is_corruption() && error.to_string().contains(PATH), "bit {bit}: {error}");
            }
            let mut kept = vec![0; damaged.len()];
            env.fs.open(Path::new(PATH), OpenMode::Read).unwrap().read_exact_at(&mut kept, 0).unwrap();
            assert_eq!(kept, damaged, "what is damaged is left as it is");
        } else {
            assert_eq!((&*read.unwrap(), &*opened.unwrap()), (last, last), "only the mark is hit");
        }
    }
}

#[test]
fn how_much_there_is_of_too_short_a_file_is_told() {
    for len in [0, 7, 23] {
        let env = file(&manifest().0[..len]);
        let errors = [ManifestReader::open(&env, "").map(drop), Manifest::open(&env, "").map(drop)];
        for error in errors.map(Result::unwrap_err) {
            assert!(error.to_string().contains(&format!("it is {len} bytes long")), "{error}");
        }
    }
}

#[test]
fn a_cut_file_is_an_earlier_state_or_no_manifest() {
    let (bytes, states) = manifest();
    for len in 0..bytes.len() {
        let env = file(&bytes[..len]);
        let read = ManifestReader::open(&env, "").map(|reader| reader.state().clone());
        assert!(!ManifestReader::open(&env, "").is_ok_and(|reader| reader.ends_in_mark()), "cut to {len}");
        let opened = Manifest::open(&env, "").map(|(_, state)| state);
        match states.iter().rev().find(|(end, _)| *end <= len) {
            Some((_, state)) => {
                assert_eq!((&*read.unwrap(), &*opened.unwrap()), (state, state), "cut to {len}")
            }
            None => {
                assert!(read.unwrap_err().is_corruption(), "cut to {len}");
                assert!(opened.unwrap_err().is_corruption(), "cut to {len}");
            }
        }
    }
}

#[test]
fn a_reader_waits_for_the_rest_of_an_edit() {
    let (bytes, states) = manifest();
    let (start, end) = (states[3].0, states[4].0);
    let env = file(&bytes[..start]);
    let writing = env.fs.open(Path::new(PATH), OpenMode::ReadWrite).unwrap();
    let mut reader = ManifestReader::open(&env, "").unwrap();
    for at in start..end {
        assert_eq!(*reader.refresh().unwrap(), states[3].1, "{} bytes of the edit", at - start);
        writing.write_all_at(&bytes[at..=at], at as u64).unwrap();
    }
    assert_eq!(*reader.refresh().unwrap(), states[4].1);
}

#[test]
fn a_missing_edit_is_found() {
    let (bytes, states) = manifest();
    let without_second = [&bytes[..states[1].0], &bytes[states[2].0..]].concat();
    let error = Manifest::open(&file(&without_second), "").unwrap_err();
    assert!(error.is_corruption(), "{error}");
}

#[test]
fn a_later_format_says_so() {
    let (mut bytes, _) = manifest();
    bytes[8] = 9;
    let crc = crc32c::crc32c(&bytes[..20]);
    bytes[20..24].copy_from_slice(&crc.to_le_bytes());
    let env = file(&bytes);
    assert!(matches!(Manifest::open(&env, ""), Err(Error::TooNew { found: 9, .. })));
    assert!(matches!(ManifestReader::open(&env, ""), Err(Error::TooNew { found: 9, .. })));
}

#[test]
fn after_the_last_generation_comes_the_first() {
    for generation in [u64::MAX - 1, u64::MAX] {
        let (mut bytes, states) = manifest();
        bytes[12..20].copy_from_slice(&generation.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..20]);
        bytes[20..24].copy_from_slice(&crc.to_le_bytes());
        // Without the mark the owner writes the file anew, in the next generation.
        let env = file(&bytes[..bytes.len() - MARK_BYTES]);
        let mut reader = ManifestReader::open(&env, "").unwrap();
        let (mut owner, state) = Manifest::open(&env, "").unwrap();
        assert_eq!(*state, states.last().unwrap().1);
        let changed = owner.apply(Edit { next_table: Some(99), ..Edit::default() }).unwrap();
        assert_eq!(reader.refresh().unwrap(), changed);
        drop(owner);
        assert_eq!(Manifest::open(&env, "").unwrap().1, changed);
    }
}

#[test]
fn deep_nesting_under_an_unknown_key_is_skipped_or_refused() {
    let (bytes, states) = manifest();
    for nested in [0x81, 0x9f, 0xa1, 0xc1] {
        let mut payload = vec![0xa1, 9];
        payload.extend(vec![nested; 1 << 20]);
        let file = file(&[&bytes[..states[3].0], &frame(2, 4, &payload)].concat());
        assert!(Manifest::open(&file, "").unwrap_err().is_corruption(), "{nested:x}");
    }
}

/// A frame as the manifest writes it, with a right checksum.
fn frame(kind: u8, version: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
    frame.extend([0; 4]);
    frame.push(kind);
    frame.extend(version.to_le_bytes());
    frame.extend(payload);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..]);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
    frame
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_are_no_manifest(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert!(Manifest::open(&file(&bytes), "").unwrap_err().is_corruption());
    }

    #[test]
    fn random_frames_are_refused(kind in 0u8..5, version in 0u64..8, payload in prop::collection::vec(any::<u8>(), 0..60)) {
        let (bytes, states) = manifest();
        let (end, last) = states.last().unwrap();
        let env = file(&[&bytes[..*end], &frame(kind, version, &payload)].concat());
        if let Ok((_, state)) = Manifest::open(&env, "") {
            prop_assert!(*state == *last || state.version == last.version + 1);
        }
        let env = file(&[&bytes[..24], &frame(1, version, &payload)].concat());
        if let Ok((_, state)) = Manifest::open(&env, "") {
            prop_assert_eq!(state.version, version);
        }
    }

    #[test]
    fn mutated_snapshots_do_not_panic(at in any::<prop::sample::Index>(), flip in 1u8..) {
        let (bytes, states) = manifest();
        let mut payload = bytes[24 + 17..states[0].0].to_vec();
        let at = at.index(payload.len());
        payload[at] ^= flip;
        let _ = Manifest::open(&file(&[&bytes[..24], &frame(1, 0, &payload)].concat()), "");
        let mut payload = bytes[states[3].0 + 17..states[4].0].to_vec();
        let at = at % payload.len();
        payload[at] ^= flip;
        let _ = Manifest::open(&file(&[&bytes[..states[3].0], &frame(2, 4, &payload)].concat()), "");
    }

    #[test]
    fn a_garbled_tail_that_was_never_acknowledged_is_cut(tail in prop::collection::vec(any::<u8>(), 0..60)) {
        let (bytes, states) = manifest();
        let (end, last) = states.last().unwrap();
        for kept in [*end, end + MARK_BYTES] {
            let env = file(&[&bytes[..kept], &tail].concat());
            let (mut manifest, state) = Manifest::open(&env, "").unwrap();
            prop_assert_eq!(&*state, last);
            let next = manifest.apply(Edit { forget_writers: vec![1], ..Edit::default() }).unwrap();
            prop_assert_eq!(Manifest::open(&env, "").unwrap().1, next);
        }
    }
}
