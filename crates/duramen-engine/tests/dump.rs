//! What is told of the engine's files is what is in them, and of damaged ones as much as there is.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::dump::{DumpOptions, DumpReport, FieldValue, Line, dump};
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::kv::{
    Durability, Engine, EngineKind, OpenOptions, ReadOptions, WriteBatch, WriteOptions, open,
};
use duramen_engine::log::LogOptions;
use duramen_engine::lsm::{CompactionStyle, LsmOptions};
use duramen_engine::wal::Background;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::Path;

const DIR: &str = "store";
const EVERYTHING: DumpOptions = DumpOptions { keys: true, values: true, limit: None };
const OUTLINE: DumpOptions = DumpOptions { keys: false, values: false, limit: None };

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn told(sim: &Sim, path: &str, options: DumpOptions) -> (Vec<Line>, DumpReport) {
    let mut lines = Vec::new();
    let report = dump(&sim.env(), path, options, &mut |line| {
        lines.push(line.clone());
        ControlFlow::Continue(())
    });
    (lines, report.unwrap())
}

fn options(sim: &Sim, kind: EngineKind) -> OpenOptions {
    let (background, env) = (Background::Manual, sim.env());
    let lsm = LsmOptions {
        background,
        block_size: 256,
        target_file_size_base: 4 << 10,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    };
    OpenOptions { kind: Some(kind), env, lsm, log: LogOptions { background, ..LogOptions::default() } }
}

/// A store with all that there is: flushed, compacted, ingested, deleted, and written since. What is in it.
fn store(sim: &Sim, kind: EngineKind) -> Entries {
    let store = open(DIR, &options(sim, kind)).unwrap();
    let key = |n: u32| format!("key {n:03}").into_bytes();
    for n in 0..120 {
        store.put(&key(n), format!("value {n}").as_bytes()).unwrap();
    }
    store.flush().unwrap();
    store.compact().unwrap();
    store.ingest(&mut (100..140).map(|n| Ok((key(n), b"ingested".to_vec())))).unwrap();
    store.delete(&key(3)).unwrap();
    store.delete_range(&key(20), &key(30)).unwrap();
    store.flush().unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&key(21), b"in a batch").unwrap();
    batch.delete(&key(4)).unwrap();
    batch.delete_range(&key(50), &key(55)).unwrap();
    let synced = WriteOptions { durability: Some(Durability::Sync), ..WriteOptions::default() };
    store.write(&batch, synced).unwrap();
    content(&*store)
}

fn content(store: &dyn Engine) -> Entries {
    let all = store.scan_with(Bound::Unbounded, Bound::Unbounded, &ReadOptions::default()).unwrap();
    all.collect().unwrap().into_iter().collect()
}

fn number(line: &Line, name: &str) -> u64 {
    match line.get(name) {
        Some(FieldValue::Number(number)) => *number,
        other => panic!("{name} is {other:?} in {line:?}"),
    }
}

fn field(line: &Line, name: &str) -> Vec<u8> {
    match line.get(name) {
        Some(FieldValue::Bytes(bytes)) => bytes.clone(),
        other => panic!("{name} is {other:?} in {line:?}"),
    }
}

/// What there must be if every write that was told is done, in order of age.
fn replayed(lines: &[Line]) -> Entries {
    let mut writes = Vec::new();
    let mut ingested = None;
    for line in lines {
        match line.what {
            // The entries of an ingested table have no sequence number: the file's name has.
            "file" => {
                let Some(FieldValue::Text(path)) = line.get("path") else { panic!("{line:?}") };
                let seq = path.split_once(".seq").and_then(|(_, rest)| rest.strip_suffix(".sst"));
                ingested = seq.map(|seq| seq.parse().unwrap());
            }
            "put" | "delete" | "delete_range" => {
                writes.push((ingested.unwrap_or_else(|| number(line, "seq")), line));
            }
            _ => {}
        }
    }
    writes.sort_by_key(|(seq, _)| *seq);
    let mut entries = Entries::new();
    for (_, line) in writes {
        match line.what {
            "put" => drop(entries.insert(field(line, "key"), field(line, "value"))),
            "delete" => drop(entries.remove(&field(line, "key"))),
            _ => {
                let range = field(line, "from")..field(line, "to");
                entries.retain(|key, _| !range.contains(key));
            }
        }
    }
    entries
}

fn named<'a>(lines: &'a [Line], what: &'a str) -> impl Iterator<Item = &'a Line> {
    lines.iter().filter(move |line| line.what == what)
}

#[test]
fn everything_that_is_there_is_told() {
    for kind in [EngineKind::Lsm, EngineKind::Log] {
        let sim = Sim::new(1);
        let entries = store(&sim, kind);
        let (lines, report) = told(&sim, DIR, EVERYTHING);
        assert_eq!(report.damaged, 0, "{lines:?}");
        assert_eq!(report.files as usize, named(&lines, "file").count());
        assert_eq!(lines[1].get("kind"), Some(&FieldValue::Text(format!("{kind:?}"))));
        assert_eq!(replayed(&lines), entries, "{kind:?}");
        assert!(named(&lines, "torn").next().is_none());
        // The outline counts what the whole has.
        let (outline, _) = told(&sim, DIR, OUTLINE);
        let shown =
            |line: &Line| line.what == "put" || line.what != "property" && line.get("value").is_some();
        assert!(!outline.iter().any(shown), "{outline:?}");
        let sum = |lines: &[Line], name| -> u64 {
            lines.iter().filter(|line| line.get(name).is_some()).map(|line| number(line, name)).sum()
        };
        if kind == EngineKind::Log {
            assert_eq!(sum(&outline, "puts") as usize, named(&lines, "put").count());
            assert_eq!(sum(&outline, "deletes") as usize, named(&lines, "delete").count());
        } else {
            let blocks: u64 = named(&outline, "block").map(|line| number(line, "entries")).sum();
            let footers: u64 = named(&outline, "footer").map(|line| number(line, "entries")).sum();
            let tables: u64 = named(&outline, "table").map(|line| number(line, "entries")).sum();
            let in_wal = 2;
            assert_eq!(
                blocks + in_wal,
                (named(&lines, "put").count() + named(&lines, "delete").count()) as u64
            );
            assert_eq!((blocks, footers), (tables, tables));
            assert!(named(&outline, "table").any(|line| line.get("ingested").is_some()));
            let record = named(&outline, "record").last().unwrap();
            assert_eq!(["puts", "deletes", "delete_ranges"].map(|name| number(record, name)), [1, 1, 1]);
        }
    }
}

#[test]
fn one_file_is_told_as_it_is_in_the_whole() {
    let sim = Sim::new(1);
    store(&sim, EngineKind::Lsm);
    let (all, report) = told(&sim, DIR, EVERYTHING);
    let mut pieces = Vec::new();
    for line in named(&all, "file") {
        let Some(FieldValue::Text(path)) = line.get("path") else { panic!("{line:?}") };
        let (lines, one) = told(&sim, path, EVERYTHING);
        assert_eq!((one.files, one.damaged), (1, 0));
        pieces.extend(lines);
    }
    assert_eq!(pieces, all);
    assert!(report.files >= 6, "{report:?}");
}

#[test]
fn of_a_damaged_file_all_is_told_up_to_the_damage_and_that_it_is_there() {
    let whole = |kind| {
        let sim = Sim::new(1);
        store(&sim, kind);
        sim
    };
    for kind in [EngineKind::Lsm, EngineKind::Log] {
        let template = whole(kind);
        let files: Vec<String> =
            template.files().into_iter().filter(|path| !path.ends_with("LOCK")).collect();
        for path in files {
            let bytes = template.read_file(Path::new(&path)).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let (before, _) = told(&template, &path, EVERYTHING);
            let places = if std::env::var_os("DURAMEN_KV_WHOLE").is_some() { 400 } else { 20 };
            for at in (0..used).step_by((used / places).max(1)) {
                let sim = whole(kind);
                sim.flip_bit(Path::new(&path), at as u64 * 8 + at as u64 % 8).unwrap();
                let mut lines = Vec::new();
                let report = dump(&sim.env(), &path, EVERYTHING, &mut |line| {
                    lines.push(line.clone());
                    ControlFlow::Continue(())
                });
                let what = format!("{path} byte {at}");
                let report = report.unwrap_or_else(|e| panic!("{what}: {e}"));
                // The counters of a segment lie under no checksum, nor does the boot of a log; what comes last may
                // have been cut off.
                let unsealed = path.ends_with(".wal") && (64..4096).contains(&at)
                    || path.ends_with("LOG") && (48..64).contains(&at);
                let noticed = report.damaged > 0 || named(&lines, "torn").next().is_some();
                assert!(noticed || unsealed, "{what} is not noticed: {lines:?}");
                if path.ends_with(".sst") || unsealed {
                    continue; // of tables what leads to the blocks is told before them
                }
                let first = |line: &&Line| {
                    let bytes = line.get("bytes").map_or(0, |_| number(line, "bytes"));
                    line.get("offset").is_some() && number(line, "offset") + bytes + 40 < at as u64
                };
                let sound: Vec<&Line> = before.iter().filter(first).collect();
                assert!(sound.iter().all(|line| lines.contains(line)), "{what}: {sound:?} {lines:?}");
            }
        }
    }
}

#[test]
fn a_damaged_block_of_a_table_hides_no_other() {
    let sim = Sim::new(1);
    store(&sim, EngineKind::Lsm);
    let path = sim.files().into_iter().find(|path| path.ends_with(".sst")).unwrap();
    let (whole, _) = told(&sim, &path, EVERYTHING);
    let block = named(&whole, "block").nth(2).unwrap();
    sim.flip_bit(Path::new(&path), (number(block, "offset") + 20) * 8).unwrap();
    let (after, report) = told(&sim, &path, EVERYTHING);
    assert_eq!(report.damaged, 1);
    let damage = named(&after, "damage").next().unwrap();
    assert_eq!(
        ["offset", "bytes"].map(|name| number(damage, name)),
        ["offset", "bytes"].map(|name| number(block, name))
    );
    let missing = whole.iter().filter(|line| !after.contains(line)).count() as u64;
    assert_eq!(missing, 1 + number(block, "entries"));
}

#[test]
fn there_is_an_end_when_it_is_wanted() {
    let sim = Sim::new(1);
    store(&sim, EngineKind::Lsm);
    let (lines, report) = told(&sim, DIR, DumpOptions { limit: Some(3), ..EVERYTHING });
    assert_eq!(report.damaged, 0);
    for lines in lines.split(|line| line.what == "file") {
        let items = lines.iter().filter(|line| {
            ["partition", "block", "put", "delete", "record", "snapshot", "edit", "mark", "table"]
                .contains(&line.what)
        });
        assert!(items.count() <= 3, "{lines:?}");
    }
    assert!(named(&lines, "more").count() >= 3, "{lines:?}");
    let mut lines = 0;
    dump(&sim.env(), DIR, EVERYTHING, &mut |_| {
        lines += 1;
        if lines < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    assert_eq!(lines, 5);
}

#[test]
fn an_open_store_can_be_told_and_is_not_touched() {
    let sim = Sim::new(1);
    store(&sim, EngineKind::Lsm);
    let open = open(DIR, &options(&sim, EngineKind::Lsm)).unwrap();
    open.put(b"new", b"write").unwrap();
    let expected = content(&*open);
    let (before, operations) = (sim.files(), sim.trace().len());
    let (lines, report) = told(&sim, DIR, EVERYTHING);
    assert_eq!((replayed(&lines), report.damaged), (expected, 0));
    assert_eq!(sim.files(), before);
    let did = &sim.trace()[operations..];
    let changes = ["write", "sync", "rename", "remove", "set_len", "create", "lock"];
    assert!(!did.iter().any(|line| changes.iter().any(|change| line.starts_with(change))), "{did:?}");
}

#[test]
fn what_is_not_the_engine_s_is_refused() {
    let sim = Sim::new(1);
    let fs = sim.env().fs;
    fs.create_dir_all(Path::new("photos")).unwrap();
    fs.open(Path::new("photos/cat.jpg"), OpenMode::CreateNew).unwrap().write_all_at(b"cat", 0).unwrap();
    for path in ["photos", "photos/cat.jpg"] {
        let error = dump(&sim.env(), path, OUTLINE, &mut |_| panic!("a line")).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains(path), "{error}");
    }
    let error = dump(&sim.env(), "nowhere", OUTLINE, &mut |_| panic!("a line")).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_bytes_are_told(
        magic in 0usize..6, name in prop::sample::select(vec!["ENGINE", "MANIFEST", "LOG", "00000001.wal", "1.sst"]),
        bytes in prop::collection::vec(any::<u8>(), 0..6000),
    ) {
        let magics: [&[u8]; 6] =
            [b"", b"DURA\rENG", b"DURA\rMAN", b"DURAWAL\0", b"DURA\rSST", b"DURALOG\0"];
        let sim = Sim::new(1);
        let path = Path::new(name);
        let file = sim.env().fs.open(path, OpenMode::CreateNew).unwrap();
        file.write_all_at(&[magics[magic], &bytes].concat(), 0).unwrap();
        let mut lines = 0;
        let report = dump(&sim.env(), path, EVERYTHING, &mut |_| {
            lines += 1;
            ControlFlow::Continue(())
        });
        prop_assert!(report.is_ok_and(|report| report.files == 1 && report.damaged < lines));
    }
}
