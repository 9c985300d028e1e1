//! How many files are open.

use super::super::files::OpenFiles;
use super::*;
use crate::io::sim::Sim;

/// Opens `n` tables among at most `files`, in a process that may have `limit` open.
fn tables(
    sim: &Sim,
    files: &Arc<OpenFiles>,
    (n, limit): (usize, Option<usize>),
    versions: &[Version],
) -> Vec<Arc<TableReader>> {
    let env = sim.env();
    let cache = Arc::new(BlockCache::new(0));
    let paths: Vec<String> = (0..n).map(|i| format!("{i}.sst")).collect();
    for path in &paths {
        write(&env, &small(), versions);
        env.fs.rename(Path::new(PATH), Path::new(path)).unwrap();
    }
    sim.set_max_open_files(limit);
    let open = |path| TableReader::open_among(&env, Path::new(path), &cache, Some(files)).unwrap();
    paths.iter().map(open).collect()
}

fn read_some(reader: &TableReader, versions: &[Version]) {
    for (key, seq, ..) in versions.iter().step_by(7) {
        assert_eq!(reader.get(key, hash(key), u64::MAX).unwrap().unwrap().seq, *seq);
    }
}

#[test]
fn no_more_files_are_open_than_may_be() {
    let versions = plain_versions(30);
    let sim = Sim::new(5);
    let files = OpenFiles::new(4);
    let readers = tables(&sim, &files, (12, None), &versions);
    for round in 0..3 {
        for reader in &readers {
            read_some(reader, &versions);
            assert!(files.len() <= 4 && sim.open_files() <= 4, "round {round}");
        }
    }
    drop(readers);
    assert_eq!((files.len(), sim.open_files()), (0, 0));
}

#[test]
fn where_descriptors_run_out_others_are_closed() {
    let versions = plain_versions(30);
    let sim = Sim::new(5);
    let files = OpenFiles::new(1000);
    let readers = tables(&sim, &files, (9, Some(5)), &versions);
    for _ in 0..2 {
        for reader in &readers {
            read_some(reader, &versions);
        }
    }
    assert!(sim.open_files() <= 5 && files.len() <= 5);
    while files.close_one() {}
    assert_eq!((files.len(), sim.open_files()), (0, 0));
    sim.set_max_open_files(Some(0));
    let error = readers[0].get(&versions[0].0, hash(&versions[0].0), u64::MAX).unwrap_err();
    assert!(matches!(error, crate::Error::Io { operation: "open", .. }), "nothing is left to close: {error}");
    sim.set_max_open_files(None);
    read_some(&readers[0], &versions);
}

#[test]
fn a_file_that_changed_its_length_while_closed_is_found_out() {
    let versions = plain_versions(30);
    let sim = Sim::new(5);
    let files = OpenFiles::new(1000);
    let readers = tables(&sim, &files, (1, None), &versions);
    assert!(files.close_one());
    let file = sim.env().fs.open(Path::new("0.sst"), crate::io::OpenMode::ReadWrite).unwrap();
    file.set_len(file.len().unwrap() - 1).unwrap();
    drop(file);
    let error = readers[0].get(&versions[0].0, hash(&versions[0].0), u64::MAX).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    assert_eq!(sim.open_files(), 0);
}
