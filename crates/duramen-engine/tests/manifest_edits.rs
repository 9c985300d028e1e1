//! The manifest in good times: edits, what they refuse, the file's order of operations, replacement, readers.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::io::{Env, sim::Sim};
use duramen_engine::manifest::{Edit, Manifest, ManifestReader, State, TableMeta, orphans};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn table(number: u64) -> TableMeta {
    TableMeta {
        number,
        path: format!("tables/{number}.sst"),
        file_bytes: 4096,
        entries: 10,
        blocks: 2,
        min_key: b"a".to_vec(),
        max_key: b"b".to_vec(),
        user: b"facts".to_vec(),
    }
}

fn add(number: u64) -> Edit {
    Edit { add_tables: vec![table(number)], ..Edit::default() }
}

/// An edit large enough that a few make the file be replaced.
fn large(version: u8) -> Edit {
    Edit { set_values: vec![(b"large".to_vec(), vec![version; 20_000])], ..Edit::default() }
}

fn created() -> (Sim, Manifest) {
    let sim = Sim::new(1);
    sim.env().fs.create_dir_all(Path::new("s")).unwrap();
    let manifest = Manifest::create(&sim.env(), "s", 42).unwrap();
    (sim, manifest)
}

fn reopened(env: &Env) -> State {
    State::clone(&Manifest::open(env, "s").unwrap().1)
}

#[test]
fn a_new_manifest_is_empty_and_only_made_once() {
    let (sim, manifest) = created();
    assert_eq!(**manifest.state(), State { store_id: 42, ..State::default() });
    assert_eq!(reopened(&sim.env()), **manifest.state());
    assert!(matches!(Manifest::create(&sim.env(), "s", 43), Err(Error::InvalidArgument(_))));
    assert!(Manifest::open(&sim.env(), "elsewhere").unwrap_err().is_not_found());
    assert!(ManifestReader::open(&sim.env(), "elsewhere").unwrap_err().is_not_found());
}

#[test]
fn edits_do_what_they_say_and_last() {
    let (sim, mut manifest) = created();
    manifest
        .apply(Edit {
            add_tables: vec![table(3), table(5)],
            flushed: vec![(7, 2), (8, 1)],
            ..Edit::default()
        })
        .unwrap();
    let values = vec![(b"k".to_vec(), b"v".to_vec()), (b"l".to_vec(), b"w".to_vec())];
    manifest.apply(Edit { set_values: values, next_table: Some(20), ..Edit::default() }).unwrap();
    let state = manifest
        .apply(Edit {
            remove_tables: vec![3],
            add_tables: vec![table(9)],
            flushed: vec![(7, 4)],
            forget_writers: vec![8, 99],
            remove_values: vec![b"k".to_vec(), b"none".to_vec()],
            next_table: Some(1),
            ..Edit::default()
        })
        .unwrap();
    assert_eq!(state.tables.keys().copied().collect::<Vec<_>>(), [5, 9]);
    assert_eq!(state.tables[&9], table(9));
    assert_eq!(state.writers, [(7, 4)].into());
    assert_eq!(state.values, [(b"l".to_vec(), b"w".to_vec())].into());
    assert_eq!((state.next_table, state.version), (20, 3), "next_table never goes back");
    assert_eq!(reopened(&sim.env()), *state);
}

#[test]
fn a_tables_facts_change_and_nothing_else_of_it() {
    let (sim, mut manifest) = created();
    manifest.apply(Edit { add_tables: vec![table(3), table(5)], ..Edit::default() }).unwrap();
    let set_table_user = vec![(5, b"level 2".to_vec())];
    let state = manifest.apply(Edit { set_table_user, ..add(6) }).unwrap();
    assert_eq!(state.tables[&3], table(3));
    assert_eq!(state.tables[&5], TableMeta { user: b"level 2".to_vec(), ..table(5) });
    assert_eq!(state.tables[&6], table(6));
    assert_eq!(reopened(&sim.env()), *state, "read from the edit");
    for version in 0..5 {
        manifest.apply(large(version)).unwrap();
    }
    assert_eq!(reopened(&sim.env()).tables, state.tables, "read from a snapshot");
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let (sim, mut manifest) = created();
    manifest.apply(Edit { flushed: vec![(1, 5)], ..add(3) }).unwrap();
    let before = manifest.state().clone();
    let operations = sim.operations();
    let path = |path: &str| Edit {
        add_tables: vec![TableMeta { path: path.into(), ..table(4) }],
        ..Edit::default()
    };
    let refused = [
        (Edit { remove_tables: vec![4], ..Edit::default() }, "removed but not live"),
        (Edit { remove_tables: vec![3, 3], ..Edit::default() }, "removed but not live"),
        (add(3), "live already"),
        (Edit { add_tables: vec![table(4), table(4)], ..Edit::default() }, "live already"),
        (Edit { remove_tables: vec![3], ..add(3) }, "live already"),
        (path("tables/3.sst"), "of another"),
        (path("../4.sst"), "not one within the store"),
        (path("/4.sst"), "not one within the store"),
        (path(""), "not one within the store"),
        (
            Edit { add_tables: vec![TableMeta { min_key: b"c".to_vec(), ..table(4) }], ..Edit::default() },
            "above its largest",
        ),
        (Edit { set_table_user: vec![(4, vec![])], ..Edit::default() }, "table 4 are set but it is not live"),
        (Edit { set_table_user: vec![(4, vec![])], ..add(4) }, "table 4 are set but it is not live"),
        (
            Edit { set_table_user: vec![(3, vec![])], remove_tables: vec![3], ..Edit::default() },
            "table 3 are set but it is not live",
        ),
        (Edit { set_table_user: vec![(3, vec![]), (3, vec![])], ..Edit::default() }, "table 3 are set twice"),
        (Edit { flushed: vec![(1, 4)], ..Edit::default() }, "was flushed through 5"),
        (add(u64::MAX), "no number for the next"),
    ];
    for (edit, reason) in refused {
        let error = manifest.apply(edit).unwrap_err();
        assert!(
            matches!(&error, Error::InvalidArgument(text) if text.contains(reason)),
            "{error}, not {reason}"
        );
    }
    assert_eq!(sim.operations(), operations, "nothing was written");
    assert_eq!(manifest.state(), &before);
    manifest.apply(add(4)).unwrap();
}

#[test]
fn an_edit_is_written_synced_and_then_marked() {
    let (sim, mut manifest) = created();
    let from = sim.trace().len();
    manifest.apply(Edit { forget_writers: vec![1], ..Edit::default() }).unwrap();
    let end = sim.read_file(Path::new("s/MANIFEST")).unwrap().len() - 17;
    let start = end - 23;
    let expected = [
        format!("write s/MANIFEST.tmp {start}..{end}"),
        "sync s/MANIFEST.tmp".to_owned(),
        format!("write s/MANIFEST.tmp {end}..{}", end + 17),
    ];
    assert_eq!(&sim.trace()[from..], expected, "an open file keeps the name it was opened by");
}

#[test]
fn a_manifest_is_made_under_another_name_synced_and_renamed() {
    let (sim, manifest) = created();
    let len = sim.read_file(Path::new("s/MANIFEST")).unwrap().len();
    let write = format!("write s/MANIFEST.tmp 0..{len}");
    let mut expected = vec![
        "exists s/MANIFEST",
        "remove s/MANIFEST.tmp -> NotFound",
        "create s/MANIFEST.tmp",
        &write,
        "sync s/MANIFEST.tmp",
        "rename s/MANIFEST.tmp s/MANIFEST",
        "sync_dir s",
    ];
    let trace: Vec<String> =
        sim.trace().iter().map(|line| line.split(" -> ").next().unwrap().to_owned()).collect();
    expected[1] = "remove s/MANIFEST.tmp";
    assert_eq!(&trace[1..], expected);
    assert_eq!(manifest.state().version, 0);
}

#[test]
fn edits_that_outgrow_the_snapshot_replace_the_file() {
    let (sim, mut manifest) = created();
    let mut renames = 0;
    for version in 0..20 {
        let from = sim.trace().len();
        manifest.apply(large(version)).unwrap();
        renames += sim.trace()[from..].iter().filter(|line| line.starts_with("rename ")).count();
        assert_eq!(reopened(&sim.env()), **manifest.state());
        let len = sim.read_file(Path::new("s/MANIFEST")).unwrap().len();
        assert!(len < 100_000, "{len} bytes");
    }
    assert_eq!(renames, 5, "every fourth edit does not fit");
    assert_eq!(sim.files(), ["s/MANIFEST"]);
}

#[test]
fn a_reader_in_another_process_follows_and_reads_only_what_is_new() {
    let (sim, mut manifest) = created();
    let other = sim.spawn_process();
    let mut reader = ManifestReader::open(&other.env(), "s").unwrap();
    for number in 0..30 {
        manifest.apply(add(number)).unwrap();
        let from = sim.trace().len();
        assert_eq!(reader.refresh().unwrap(), *manifest.state());
        let trace = sim.trace();
        let reads: Vec<&String> = trace[from..].iter().filter(|line| line.starts_with("read ")).collect();
        assert_eq!(reads.len(), 2, "the header and the tail: {reads:?}");
        let range = reads[1].rsplit(' ').next().unwrap().split_once("..").unwrap();
        let bytes = range.1.parse::<u64>().unwrap() - range.0.parse::<u64>().unwrap();
        assert!(bytes < 200, "{reads:?}");
    }
    let before = reader.refresh().unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &reader.refresh().unwrap()), "nothing new costs no copy");
    for version in 0..20 {
        manifest.apply(large(version)).unwrap();
        if version % 3 == 0 {
            assert_eq!(reader.refresh().unwrap(), *manifest.state(), "over a replacement");
        }
    }
    assert_eq!(reader.refresh().unwrap(), *manifest.state());
    assert_eq!(reader.state(), manifest.state());
}

#[test]
fn a_reader_on_the_real_file_system_never_sees_half_an_edit() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::create(&Env::os(), dir.path(), 1).unwrap();
    let mut reader = ManifestReader::open(&Env::os(), dir.path()).unwrap();
    std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            let mut last = 0;
            while last < 300 {
                let state = reader.refresh().unwrap();
                assert!(state.version >= last, "it never goes back");
                assert_eq!(state.tables.len() as u64, state.version, "one table an edit");
                last = state.version;
            }
        });
        for number in 0..300 {
            let edit = Edit { set_values: vec![(b"v".to_vec(), vec![1; 3000])], ..add(number) };
            manifest.apply(edit).unwrap();
        }
        follower.join().unwrap();
    });
}

#[test]
fn orphans_are_what_no_state_knows() {
    let (sim, mut manifest) = created();
    let env = sim.env();
    manifest.apply(add(1)).unwrap();
    env.fs.create_dir_all(Path::new("s/tables/inner.sst")).unwrap();
    for name in ["s/tables/1.sst", "s/tables/2.sst", "s/tables/3.sst.tmp", "s/tables/notes.txt", "s/x.tmp"] {
        env.fs.open(Path::new(name), duramen_engine::io::OpenMode::CreateNew).unwrap();
    }
    let root = Path::new("s");
    let known_to_none = |dir: &str, is_file: bool| -> Vec<PathBuf> {
        let all = orphans(&env, root, dir, manifest.state()).unwrap();
        all.into_iter().filter(|orphan| orphan.is_file == is_file).map(|orphan| orphan.path).collect()
    };
    let expected: Vec<PathBuf> = ["s/tables/2.sst", "s/tables/3.sst.tmp"].map(PathBuf::from).into();
    assert_eq!(known_to_none("tables", true), expected);
    expected.iter().for_each(|path| env.fs.remove_file(path).unwrap());
    assert_eq!(known_to_none("tables", true), [""; 0].map(PathBuf::from));
    assert_eq!(known_to_none("tables", false), ["s/tables/inner.sst"].map(PathBuf::from));
    assert_eq!(known_to_none("", true), ["s/x.tmp"].map(PathBuf::from));
    assert_eq!(known_to_none("absent", true), [""; 0].map(PathBuf::from));
    assert_eq!(sim.files(), ["s/MANIFEST", "s/tables/1.sst", "s/tables/notes.txt", "s/x.tmp"]);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..6)
}

prop_compose! {
    fn any_edit()(
        add in prop::collection::vec((0u64..12, bytes(), bytes(), any::<[u64; 3]>()), 0..3),
        remove_tables in prop::collection::vec(0u64..12, 0..2),
        set_table_user in prop::collection::vec((0u64..12, bytes()), 0..2),
        flushed in prop::collection::vec((0u64..4, 0u64..20), 0..2),
        forget_writers in prop::collection::vec(0u64..4, 0..2),
        set_values in prop::collection::vec((bytes(), bytes()), 0..3),
        remove_values in prop::collection::vec(bytes(), 0..2),
        next_table in prop::option::of(any::<u32>().prop_map(u64::from)),
    ) -> Edit {
        let add_tables = add.into_iter().map(|(number, user, key, [file_bytes, entries, blocks])| {
            TableMeta { file_bytes, entries, blocks, user, min_key: Vec::new(), max_key: key, ..table(number) }
        }).collect();
        Edit {
            add_tables, remove_tables, set_table_user, flushed, forget_writers, set_values, remove_values, next_table,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_was_applied_is_read_back(edits in prop::collection::vec(any_edit(), 0..25)) {
        let (sim, mut manifest) = created();
        let mut reader = ManifestReader::open(&sim.env(), "s").unwrap();
        let mut model = State::clone(manifest.state());
        for (i, edit) in edits.into_iter().enumerate() {
            match model.apply(&edit) {
                Ok(next) => {
                    prop_assert_eq!(&*manifest.apply(edit).unwrap(), &next);
                    model = next;
                }
                Err(_) => prop_assert!(matches!(manifest.apply(edit), Err(Error::InvalidArgument(_)))),
            }
            if i % 3 == 0 {
                prop_assert_eq!(&*reader.refresh().unwrap(), &model);
            }
        }
        prop_assert_eq!(&reopened(&sim.env()), &model);
        prop_assert_eq!(&*reader.refresh().unwrap(), &model);
    }
}
