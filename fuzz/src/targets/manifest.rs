//! A manifest: as its owner opens it, and as others follow it.
//!
//! ```text
//! input   flags u8 | the file      flags bit 0: put checksums right
//! ```

use super::Seed;
use crate::input::flags;
use crate::seal;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::manifest::{Edit, FILE_NAME, Manifest, ManifestReader, TableMeta};
use std::path::Path;

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    let mut bytes = input.to_vec();
    if flags & 1 != 0 {
        seal::manifest(&mut bytes);
    }
    let sim = Sim::new(1);
    let env = sim.env();
    env.fs.open(Path::new(FILE_NAME), OpenMode::CreateNew).unwrap().write_all_at(&bytes, 0).unwrap();
    let followed = ManifestReader::open(&env, "");
    let owned = Manifest::open(&env, "");
    assert_eq!(followed.is_ok(), owned.is_ok(), "{followed:?} {owned:?}");
    let (Ok(followed), Ok((mut manifest, state))) = (followed, owned) else { return };
    assert_eq!(*followed.state(), state);
    // What was read can be gone on with, and is read back the same.
    let edit = Edit { set_values: vec![(b"key".to_vec(), b"value".to_vec())], ..Edit::default() };
    let Ok(expected) = manifest.apply(edit) else { return };
    drop(manifest);
    let (_, again) = Manifest::open(&env, "").unwrap();
    assert_eq!(again, expected);
}

/// A manifest that grew: new, with edits, and written anew.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let sim = Sim::new(1);
    let env = sim.env();
    let mut manifest = Manifest::create(&env, "", 7).unwrap();
    let file = |sim: &Sim| [&[1][..], &sim.read_file(Path::new(FILE_NAME)).unwrap()].concat();
    seeds.push(("new".to_owned(), file(&sim)));
    let table = |number: u64| TableMeta {
        number,
        path: format!("sst/{number:08}.sst"),
        file_bytes: 1000 * number,
        entries: 10,
        blocks: 2,
        min_key: b"a".to_vec(),
        max_key: vec![b'z'; number as usize],
        user: vec![number as u8; 4],
    };
    let edits = [
        Edit { add_tables: vec![table(1), table(2)], flushed: vec![(9, 1)], ..Edit::default() },
        Edit { remove_tables: vec![1], add_tables: vec![table(3)], ..Edit::default() },
        Edit { set_table_user: vec![(2, b"level".to_vec())], next_table: Some(9), ..Edit::default() },
        Edit { set_values: vec![(b"k".to_vec(), b"v".to_vec())], forget_writers: vec![9], ..Edit::default() },
        Edit { remove_values: vec![b"k".to_vec()], ..Edit::default() },
    ];
    for edit in edits {
        manifest.apply(edit).unwrap();
    }
    seeds.push(("edits".to_owned(), file(&sim)));
    drop(manifest);
    // Without its mark the last edit may not be durable, so the file is written anew.
    let mut unmarked = file(&sim);
    unmarked.truncate(unmarked.len() - 17);
    seeds.push(("unmarked".to_owned(), unmarked));
    seeds
}
