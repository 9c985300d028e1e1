//! How many files are open.

use super::super::files::{Among, OpenFiles};
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
    let open = |path| {
        TableReader::open_among(
            &env,
            Path::new(path),
            &cache,
            Some(Among { files: Arc::clone(files), _keep: Arc::new(()) }),
        )
        .unwrap()
    };
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
    assert_eq!((files.len(), files.tables(), sim.open_files()), (0, 0, 0));
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

#[test]
fn a_store_closes_the_tables_it_does_not_read_from() {
    use crate::kv::Engine;
    use crate::lsm::{CompactionStyle, Lsm};
    use crate::wal::Background;
    let sim = Sim::new(5);
    let options = LsmOptions {
        env: sim.env(),
        background: Background::Manual,
        compaction: CompactionStyle::None,
        level0_slowdown_writes_trigger: 100,
        level0_stop_writes_trigger: 100,
        write_buffer_size: 64 << 10,
        max_open_files: 8,
        ..LsmOptions::default()
    };
    let store = Lsm::open("db", options).unwrap();
    for table in 0..30 {
        store.put(format!("{table:02}").as_bytes(), b"value").unwrap();
        store.flush().unwrap();
    }
    let tables = &store.inner.tables;
    for round in 0..3 {
        for table in 0..30 {
            let scan = (table % 7 == 0).then(|| store.scan(..).unwrap());
            assert!(store.get(format!("{table:02}").as_bytes()).unwrap().is_some());
            if let Some(scan) = scan {
                assert_eq!(scan.collect().unwrap().len(), 30, "a scan goes on with what it began with");
            } else {
                assert!(tables.open_tables() <= 8, "{} tables, round {round}, {table}", tables.open_tables());
            }
            assert!(tables.open_files() <= 8);
        }
    }
    assert_eq!(store.inner.current.load().version.tables().count(), 30);
    let before = tables.open_tables();
    assert!(store.get(b"29").unwrap().is_some() && tables.open_tables() == before, "what is used stays open");
}
