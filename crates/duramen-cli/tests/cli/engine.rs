//! `duramen engine`: stores made with the engine, damaged, told of, and mended.

use crate::sandbox::Sandbox;
use duramen_engine::Error;
use duramen_engine::kv::{self, Engine, EngineKind, OpenOptions, ReadOptions, WriteBatch};
use duramen_engine::lsm::{CompactionStyle, Compression, LsmOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(kind: Option<EngineKind>) -> OpenOptions {
    let lsm = LsmOptions {
        block_size: 512,
        // Damage is done to values, which are looked for in the file.
        compression: Compression::None,
        compaction: CompactionStyle::None,
        ..LsmOptions::default()
    };
    OpenOptions { kind, lsm, ..OpenOptions::default() }
}

fn content(store: &dyn Engine) -> Entries {
    let all = store.scan_with(Bound::Unbounded, Bound::Unbounded, &ReadOptions::default()).unwrap();
    all.collect().unwrap().into_iter().collect()
}

/// What a reopened store holds.
fn reopened(dir: &Path) -> Entries {
    let store = kv::open(dir, &options(None)).unwrap();
    let entries = content(&*store);
    store.close().unwrap();
    entries
}

/// A store with a table, an ingested one, and writes that are in no table; and what is in it.
fn filled(sandbox: &Sandbox, kind: EngineKind) -> (PathBuf, Entries) {
    let dir = sandbox.path("state");
    let store = kv::open(&dir, &options(Some(kind))).unwrap();
    for n in 0..500 {
        store.put(format!("user/{n:04}").as_bytes(), format!("value {n}").as_bytes()).unwrap();
    }
    store.flush().unwrap();
    let run = (0..20).map(|n| Ok((format!("vip/{n:02}").into_bytes(), b"ingested".to_vec())));
    store.ingest(&mut run.into_iter()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"user/0500\xff", b"late").unwrap();
    batch.delete(b"user/0007").unwrap();
    store.write(&batch, kv::WriteOptions::default()).unwrap();
    let entries = content(&*store);
    drop(store);
    assert_eq!(entries.len(), 520);
    (dir, entries)
}

fn tables(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(dir.join("sst")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Turns a byte of a file where it holds `text`; where that was.
fn damage(path: &Path, text: &str) -> usize {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    bytes[at] ^= 0x20;
    std::fs::write(path, bytes).unwrap();
    at
}

fn engine(sandbox: &Sandbox, args: &[&str], code: i32) -> crate::sandbox::Ran {
    sandbox.run([&["engine"], args].concat()).expect(code)
}

#[test]
fn a_whole_store_is_whole_and_nothing_is_done_to_it() {
    for kind in [EngineKind::Lsm, EngineKind::Log] {
        let sandbox = Sandbox::new();
        let (dir, entries) = filled(&sandbox, kind);
        let ran = engine(&sandbox, &["verify", "state"], 0);
        assert!(ran.stdout.contains("every byte is as it was written"), "{}", ran.stdout);
        for args in [&["repair", "state"][..], &["repair", "-n", "state"]] {
            assert_eq!(engine(&sandbox, args, 0).stdout, "there is nothing to repair\n");
        }
        assert!(!dir.join("quarantine").exists());
        assert_eq!(reopened(&dir), entries);
    }
}

#[test]
fn a_damaged_table_is_told_of_and_mended_and_only_its_block_is_lost() {
    let sandbox = Sandbox::new();
    let (dir, entries) = filled(&sandbox, EngineKind::Lsm);
    let table = tables(&dir).remove(0);
    let at = damage(&table, "value 250");
    let ran = engine(&sandbox, &["verify", "state"], 1);
    assert!(ran.stdout.contains("damaged: state/sst/00000001.sst, at byte "), "{}", ran.stdout);
    assert!(ran.stdout.contains("among the keys \"user/02"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("1 place is damaged") && ran.stderr.contains("repair state"),
        "{}",
        ran.stderr
    );
    let damaged = std::fs::read(&table).unwrap();

    let ran = engine(&sandbox, &["repair", "--dry-run", "state"], 1);
    assert!(ran.stdout.starts_with("to do: ") && ran.stdout.contains("\nlost: "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("nothing was changed\n"), "{}", ran.stdout);
    assert_eq!(std::fs::read(&table).unwrap(), damaged);

    let ran = engine(&sandbox, &["repair", "state"], 1);
    assert!(ran.stdout.starts_with("done: ") && ran.stdout.contains("\nlost: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("kept: state/quarantine/"), "{}", ran.stdout);
    let kept = std::fs::read_dir(dir.join("quarantine")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read(kept).unwrap(), damaged);
    engine(&sandbox, &["verify", "state"], 0);
    let found = reopened(&dir);
    assert!(found.iter().all(|(key, value)| entries.get(key) == Some(value)));
    let lost: Vec<&Vec<u8>> = entries.keys().filter(|key| !found.contains_key(*key)).collect();
    assert!(lost.contains(&&b"user/0250".to_vec()) && lost.len() < 40, "byte {at}: {lost:?}");
}

#[test]
fn a_lost_manifest_is_made_anew_and_nothing_is_missing() {
    let sandbox = Sandbox::new();
    let (dir, entries) = filled(&sandbox, EngineKind::Lsm);
    std::fs::remove_file(dir.join("MANIFEST")).unwrap();
    assert!(matches!(kv::open(&dir, &options(None)), Err(Error::Corruption { .. })));
    engine(&sandbox, &["verify", "state"], 1);
    let ran = engine(&sandbox, &["repair", "state"], 0);
    assert!(ran.stdout.contains("MANIFEST is made anew"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("the store can be opened\n"), "{}", ran.stdout);
    engine(&sandbox, &["verify", "state"], 0);
    assert_eq!(reopened(&dir), entries);
}

#[test]
fn a_damaged_log_is_told_of_and_mended() {
    let sandbox = Sandbox::new();
    let (dir, mut entries) = filled(&sandbox, EngineKind::Log);
    let at = damage(&dir.join("LOG"), "value 250");
    let ran = engine(&sandbox, &["verify", "state"], 1);
    assert!(ran.stdout.contains("damaged: state/LOG, at byte "), "{}", ran.stdout);
    let ran = engine(&sandbox, &["dump", "state/LOG"], 1);
    let told = ran.stdout.lines().filter(|line| line.trim_start().starts_with("damage offset=")).count();
    assert_eq!(told, 1, "byte {at}: {}", ran.stdout);
    engine(&sandbox, &["repair", "state"], 1);
    engine(&sandbox, &["verify", "state"], 0);
    entries.remove(b"user/0250".as_slice());
    assert_eq!(reopened(&dir), entries);
}

#[test]
fn a_dump_tells_people_and_programs_the_same() {
    let sandbox = Sandbox::new();
    let (dir, entries) = filled(&sandbox, EngineKind::Lsm);
    let text = engine(&sandbox, &["dump", "state", "--keys"], 0).stdout;
    for line in ["  engine kind=Lsm\n", "kind=batch bytes=", "    delete seq=503 key=\"user/0007\"\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("    put seq=502 key=\"user/0500\\xff\" value_bytes=4\n"), "{text}");
    let json = engine(&sandbox, &["dump", "state", "--values", "--json"], 0).stdout;
    let values: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(values.len(), text.lines().count());
    let puts: Vec<&Value> = values.iter().filter(|value| value["what"] == "put").collect();
    assert_eq!(puts.len(), entries.len() + 1, "one was deleted since");
    for (key, value) in &entries {
        let (key, value) = (key.escape_ascii().to_string(), value.escape_ascii().to_string());
        assert!(puts.iter().any(|put| put["key"] == *key && put["value"] == *value), "{key}");
    }
    let of_table: Vec<&Value> = values
        .iter()
        .filter(|value| value["file"].as_str().is_some_and(|file| file.contains(".seq")))
        .collect();
    assert_eq!(of_table.iter().filter(|value| value["what"] == "put").count(), 20);
    // One file, and an end.
    let table = tables(&dir).remove(0);
    let few = engine(&sandbox, &["dump", table.to_str().unwrap(), "--keys", "--limit", "3"], 0).stdout;
    assert!(few.ends_with("  more detail=\"the limit is reached; there is more\"\n"), "{few}");
    assert_eq!(few.matches("\n    put ").count(), 1, "a partition, a block, an entry: {few}");
}

#[test]
fn a_damaged_file_is_told_up_to_the_damage_and_behind_it() {
    let sandbox = Sandbox::new();
    let (dir, _) = filled(&sandbox, EngineKind::Lsm);
    let table = tables(&dir).remove(0);
    damage(&table, "value 250");
    let ran = engine(&sandbox, &["dump", "state", "--values"], 1);
    for value in ["\"value 0\"", "\"value 499\"", "  damage offset="] {
        assert!(ran.stdout.contains(value), "{value}");
    }
    assert!(!ran.stdout.contains("\"value 250\""));
    assert_eq!(ran.stderr, "duramen: 1 place is damaged\n");
}

#[test]
fn an_open_store_is_not_repaired() {
    let sandbox = Sandbox::new();
    let (dir, _) = filled(&sandbox, EngineKind::Lsm);
    let open = kv::open(&dir, &options(None)).unwrap();
    for args in [&["repair", "state"][..], &["repair", "--dry-run", "state"]] {
        let ran = engine(&sandbox, args, 1);
        assert!(ran.stderr.contains("is locked by another process"), "{}", ran.stderr);
    }
    engine(&sandbox, &["verify", "state"], 0);
    engine(&sandbox, &["dump", "state"], 0);
    open.close().unwrap();
}

#[test]
fn a_log_store_is_sent_to_where_it_is_looked_after_and_can_be_dumped() {
    let sandbox = Sandbox::new();
    let text: String = (0..3000).map(|n| format!("2026-11-21T10:00:00Z INFO line {n}\n")).collect();
    sandbox.ingest(&sandbox.write("app.log", text));
    for verb in ["verify", "repair"] {
        let ran = engine(&sandbox, &[verb, "store"], 1);
        assert!(ran.stderr.contains("use `duramen --store store verify`"), "{}", ran.stderr);
    }
    let ran = engine(&sandbox, &["dump", "store"], 0).stdout;
    for line in
        ["kind=manifest", "add_table number=", "kind=table", "property name=", "partition partition=0"]
    {
        assert!(ran.contains(line), "{line}: {ran}");
    }
    let table = ran.lines().find(|line| line.contains("kind=table")).unwrap();
    assert!(table.contains("store/tables/20261121/"), "{table}");
}

#[test]
fn what_is_no_store_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("cat.jpg", "meow");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for verb in ["dump", "verify", "repair"] {
        for path in ["empty", "cat.jpg", "nowhere"] {
            let ran = engine(&sandbox, &[verb, path], 1);
            assert!(ran.stderr.contains(path), "{verb} {path}: {}", ran.stderr);
            assert_eq!(ran.stdout, "");
        }
        engine(&sandbox, &[verb], 2);
        let help = engine(&sandbox, &[verb, "--help"], 0).stdout;
        assert!(help.contains("Examples:\n  ") && help.contains("Exit codes: 0 "), "{help}");
    }
    assert!(sandbox.path("empty").read_dir().unwrap().next().is_none());
}
