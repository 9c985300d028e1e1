use super::*;
use crate::block::{StreamLabels, StreamTest, TableStreams};
use crate::column::IntText;
use crate::{EntryBuf, Store, StoreOptions};
use std::path::Path;

fn open(dir: &Path) -> Store {
    StoreOptions::new().background(false).open(dir.join("logs")).unwrap()
}

/// Lines of several streams, flushed.
fn fill(store: &Store) {
    let append = |streams: &[&str], time: i64, fields: &[(&str, String)]| {
        let mut entry = EntryBuf::new(streams.iter().copied());
        entry.start(time).message("line");
        for (name, value) in fields {
            entry.field(name, value.as_str());
        }
        store.append(entry.finish().unwrap()).unwrap();
    };
    for i in 0..400 {
        let (app, pod) = (format!("app-{}", i * 7 % 3), format!("pod-{}", i % 11));
        match i % 8 {
            // A label here is a field there.
            0 => append(&["app"], 1_000 - i, &[("app", app), ("pod", pod)]),
            1 => append(&[], 1_000 - i, &[("user", app)]),
            _ => append(&["app", "pod"], 1_000 - i, &[("app", app), ("pod", pod)]),
        }
    }
    store.flush().unwrap();
}

/// Makes of a table's property `table_streams` one that is called `streams`, as earlier builds wrote it. The file stays as long as
/// it was.
fn make_old(path: &Path) {
    let mut file = std::fs::read(path).unwrap();
    let footer = file.len() - 56;
    let at = u64::from_le_bytes(file[footer + 12..footer + 20].try_into().unwrap()) as usize;
    let properties = &file[at..footer];
    // The last of them by name; its value would be a varint of two bytes behind the name.
    let name = properties.windows(13).rposition(|name| name == b"table_streams").unwrap();
    let value = &properties[name + 13..];
    let len = usize::from(value[0] & 0x7f) | usize::from(value[1]) << 7;
    assert!((1 << 7..1 << 14).contains(&(len + 6)) && len + 2 == value.len(), "{len}");
    let mut old = properties[..name - 1].to_vec();
    old.push(7);
    old.extend_from_slice(b"streams");
    old.extend_from_slice(&[(len + 6) as u8 | 0x80, ((len + 6) >> 7) as u8]);
    old.extend_from_slice(&value[2..]);
    old.extend_from_slice(&[0; 6]);
    file[at..footer].copy_from_slice(&old);
    let crc = crc32c::crc32c(&[&file[at - 8..at - 4], &old[..]].concat());
    file[at - 4..at].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(path, file).unwrap();
}

/// A test that knows all of a table's streams, and is not to be asked for one.
struct KnowsTables;

fn is_app_1(labels: &StreamLabels<'_>) -> bool {
    labels.contains(&("app", "app-1"))
}

impl StreamTest for KnowsTables {
    fn wants(&self, labels: &StreamLabels<'_>) -> bool {
        panic!("it was asked for {labels:?}")
    }

    fn wanted_of(&self, table: &Arc<TableStreams>) -> Option<Arc<[bool]>> {
        Some((0..table.sets()).map(|set| table.with_set(set, is_app_1)).collect())
    }
}

#[test]
fn who_knows_the_streams_of_a_table_is_not_asked_for_each_of_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fill(&store);
    let snapshot = store.snapshot().unwrap();
    for handle in snapshot.blocks(i64::MIN, i64::MAX) {
        let block = handle.open().unwrap();
        let rows = block.rows_of_streams(&KnowsTables).unwrap().unwrap();
        assert!(rows.iter().any(|word| *word != 0));
        assert_eq!(Some(rows), block.rows_of_streams(&is_app_1).unwrap());
        assert_eq!(block.has_stream(&KnowsTables).unwrap(), Some(true));
    }
}

#[test]
fn how_many_rows_have_each_field_is_told_of_fields_and_of_labels() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fill(&store);
    let mut of_label = 0;
    for handle in store.snapshot().unwrap().blocks(i64::MIN, i64::MAX) {
        assert!(handle.streams().is_some());
        let block = handle.open().unwrap();
        let mut told = Vec::new();
        block.rows_with_each(&mut |name, with| told.push((name.into_owned(), with))).unwrap();
        let mut names = block.field_names().unwrap();
        names.push("_stream".to_owned());
        told.sort();
        names.sort();
        assert_eq!(told.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        for (name, with) in told.iter().filter_map(|(name, with)| Some((name, (*with)?))) {
            let (column, mut digits) = (block.column(name).unwrap().unwrap(), IntText::default());
            let has = |row: &usize| column.text(*row, &mut digits).is_some_and(|text| !text.is_empty());
            assert_eq!(with, (0..block.rows()).filter(has).count(), "{name}");
            of_label += usize::from(block.is_label(name));
        }
    }
    assert!(of_label > 0);
}

#[test]
fn of_a_table_with_the_property_of_earlier_builds_blocks_tell_their_streams() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fill(&store);
    let told = |store: &Store| {
        let snapshot = store.snapshot().unwrap();
        let mut told = Vec::new();
        for handle in snapshot.blocks(i64::MIN, i64::MAX) {
            let block = handle.open().unwrap();
            let is_wanted = |labels: &StreamLabels<'_>| labels.contains(&("app", "app-1"));
            let rows = block.rows_of_streams(&is_wanted).unwrap();
            let of_label =
                ["app", "pod"].map(|name| block.rows_of_label(name, &|text| text == "pod-4").unwrap());
            told.push((rows, of_label, block.has_stream(&is_wanted).unwrap()));
        }
        (told, snapshot.blocks(i64::MIN, i64::MAX).iter().filter(|handle| handle.streams().is_some()).count())
    };
    let (new, all) = told(&store);
    assert!(all > 0 && all == new.len());
    let tables: Vec<_> = {
        let view = store.snapshots.view().unwrap();
        view.state.tables.values().map(|meta| dir.path().join("logs").join(&meta.path)).collect()
    };
    drop(store);
    tables.iter().for_each(|path| make_old(path));
    let store = open(dir.path());
    assert_eq!(told(&store), (new.clone(), 0));
    let found = store.verify(&mut |_| {}).unwrap();
    assert!(found.damage.is_empty(), "{found:?}");
}

#[test]
fn few_short_values_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for i in 0..64_i64 {
        let mut entry = EntryBuf::new(["app"]);
        entry.start(i).message("line").field("app", "a");
        for (name, count) in [("16", 16), ("17", 17)] {
            entry.field(name, format!("{}", i % count).as_str());
            entry.field(&format!("{name} numbers"), i % count - 3);
        }
        entry.field("64 bytes", "x".repeat(64).as_str()).field("65 bytes", "x".repeat(65).as_str());
        entry.field("seldom", "old");
        if i % 8 == 0 {
            entry.field("seldom", true);
            entry.field("number", 2.5);
        }
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.flush().unwrap();
    let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let [handle] = &handles[..] else { panic!("{} blocks", handles.len()) };
    let few = |name: &str| {
        let few = handle.values(name)?;
        Some(few.iter().map(|(text, rows)| format!("{text}={rows}")).collect::<Vec<_>>().join(","))
    };
    assert_eq!(handle.values("16").unwrap().len(), 16);
    assert!(few("16 numbers").unwrap().starts_with("-3=4,-2=4,"));
    assert_eq!([few("17"), few("17 numbers"), few("65 bytes"), few("app")], [const { None }; 4]);
    assert_eq!(few("64 bytes").unwrap(), format!("{}=64", "x".repeat(64)));
    assert_eq!(few("seldom").unwrap(), "old=56,true=8");
    assert_eq!((few("number").unwrap(), few("_msg").unwrap()), ("2.5=8".into(), "line=64".into()));
    assert_eq!(few("none").unwrap(), "");
}

#[test]
fn rows_of_steps_of_time_are_told_by_level() {
    use crate::{Level, Value};
    let told = |labels: &[&str], level: &dyn Fn(i64, &mut EntryBuf)| {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        for i in 0..320 {
            let mut entry = EntryBuf::new(labels.iter().copied());
            // From before the epoch on, of two programs by turns: slots are in another order than rows.
            entry.start((i - 40) * 250_000_000).message("line");
            entry.field("app", if i % 2 == 0 { "a" } else { "b" });
            level(i, &mut entry);
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let of_block = |handle: &Arc<dyn BlockHandle>| {
            let counts = handle.time_counts().unwrap();
            let levels = counts.rows.iter().map(|(level, rows)| {
                let level = level.as_deref().unwrap_or("*");
                format!("{level}={}", rows.iter().map(u64::to_string).collect::<Vec<_>>().join("+"))
            });
            format!("{}s from {}: {}", counts.step_s, counts.first, levels.collect::<Vec<_>>().join(" "))
        };
        handles.iter().map(of_block).collect::<Vec<_>>().join(", ")
    };
    let all = "1s from -10: *=4+4+4+4+4+4+4+4+4+4, 10s from 0: *=40+40+40+40+40+40+40";
    assert_eq!(told(&["app"], &|_, _| ()), all.replace('*', ""), "no row has a level");
    let some = |i: i64, entry: &mut EntryBuf| {
        if i % 4 < 2 {
            entry.field("level", if i < 40 { "error" } else { "info" });
        }
    };
    let expected = "10s from -1: error=20 =20, 10s from 0: info=20+20+20+20+20+20+20 =20+20+20+20+20+20+20";
    assert_eq!(told(&["app"], &some), expected);
    let known = |_: i64, entry: &mut EntryBuf| {
        let _entry = entry.level(Level::Warn);
    };
    assert_eq!(told(&["app"], &known), all.replace('*', "warn"));
    for (name, level) in [("a label", "level"), ("integers", "app")] {
        let number = |i: i64, entry: &mut EntryBuf| {
            let _entry = entry.field("level", Value::Int(i % 2));
        };
        assert_eq!(told(&[level], &number), all, "{name}");
    }
    let many = |i: i64, entry: &mut EntryBuf| {
        let _entry = entry.field("level", format!("level-{}", i % 17).as_str());
    };
    assert_eq!(told(&["app"], &many), all);
}

#[test]
fn what_a_table_tells_of_streams_is_what_its_blocks_say() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fill(&store);
    let view = store.snapshots.view().unwrap();
    let tables = TableBlocks::of(store.snapshots.tables(), &view.state, &view.pin).unwrap();
    let handles = tables.between(i64::MIN, i64::MAX);
    assert!(!handles.is_empty());
    for handle in handles {
        let told = handle.streams();
        assert!(told.is_some());
        for unordered in [false, true] {
            let open = |told| {
                let block = handle.open_table_block().unwrap().of_table(told);
                if unordered { block.unordered() } else { block }
            };
            let (with, without) = (open(told.clone()), open(None));
            assert_eq!(with.times().unwrap(), without.times().unwrap());
            for name in ["app", "pod", "user", "none"] {
                let texts = |block: &TableBlock| {
                    let column = block.column(name).unwrap();
                    let text = |row| Some(column.as_ref()?.text(row, &mut Default::default())?.to_owned());
                    (0..block.rows()).map(text).collect::<Vec<_>>()
                };
                assert_eq!(texts(&with), texts(&without));
                assert_eq!(with.is_label(name), without.is_label(name));
                for wanted in ["", "app-1", "pod-4", "nothing"] {
                    let rows_of =
                        |block: &TableBlock| block.rows_of_label(name, &|text| text == wanted).unwrap();
                    assert_eq!(rows_of(&with), rows_of(&without), "{name}={wanted}");
                }
            }
            for wanted in ["", "app-1", "pod-4", "nothing"] {
                let is_wanted = |labels: &StreamLabels<'_>| match labels {
                    [] => wanted.is_empty(),
                    labels => labels.iter().any(|(_, value)| *value == wanted),
                };
                assert_eq!(
                    with.rows_of_streams(&is_wanted).unwrap(),
                    without.rows_of_streams(&is_wanted).unwrap()
                );
                assert_eq!(with.has_stream(&is_wanted).unwrap(), without.has_stream(&is_wanted).unwrap());
            }
        }
    }
}
