use crate::sandbox::Sandbox;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    let text: String = (0..5000).map(|n| format!("2026-11-21T10:00:00Z INFO line {n}\n")).collect();
    sandbox.ingest(&sandbox.write("app.log", text));
    sandbox
}

#[test]
fn reading_verbs_do_not_make_a_store() {
    let sandbox = Sandbox::new();
    for args in [&["query", "x"][..], &["tail"], &["stats"], &["verify"], &["repair"]] {
        let ran = sandbox.run(args).expect(1);
        assert!(ran.stderr.starts_with("duramen: no store at "), "{}", ran.stderr);
        assert!(ran.stderr.contains("duramen ingest --store"), "{}", ran.stderr);
    }
    assert!(!sandbox.store().exists());
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("app.log", "one\n");
    std::fs::create_dir(sandbox.store()).unwrap();
    sandbox.write("store/thesis.tex", "my life's work");
    let ran = sandbox.run(["ingest", "app.log"]).expect(1);
    assert!(ran.stderr.contains("is not a duramen store"), "{}", ran.stderr);
    assert_eq!(files(&sandbox.store()), [sandbox.path("store/thesis.tex")]);
    let ran = sandbox.run(["--store", "app.log", "query", "x"]).expect(1);
    assert!(ran.stderr.contains("is not a duramen store: it is a file"), "{}", ran.stderr);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let sandbox = filled();
    let manifest = sandbox.path("store/MANIFEST");
    let mut bytes = std::fs::read(&manifest).unwrap();
    // The version stands behind the magic, the header's checksum behind the generation. A newer version
    // would have made a right one.
    bytes[8..12].copy_from_slice(&999u32.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..20]);
    bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&manifest, &bytes).unwrap();
    for args in [&["query", "x"][..], &["ingest", "app.log"]] {
        let ran = sandbox.run(args).expect(1);
        assert!(ran.stderr.contains("use a newer duramen"), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(&manifest).unwrap(), bytes);
}

#[test]
fn damage_is_found_told_and_costs_only_itself() {
    let sandbox = filled();
    let other = sandbox.write("other.log", "2026-01-01T10:00:00Z INFO of another day\n");
    sandbox.ingest(&other);
    sandbox.run(["verify"]).expect(0);
    let damaged = sandbox.path("store/tables/20261121");
    let table = &files(&damaged)[0];
    let mut bytes = std::fs::read(table).unwrap();
    // All over the blocks, the first of them whatever its columns are; not the index behind them.
    for at in (32..bytes.len() / 2).step_by(16) {
        bytes[at] ^= 0x10;
    }
    std::fs::write(table, bytes).unwrap();
    let ran = sandbox.run(["verify"]).expect(1);
    assert!(ran.stdout.contains("damaged: "), "{}", ran.stdout);
    assert!(ran.stdout.contains(table.to_str().unwrap()), "{}", ran.stdout);
    assert!(ran.stdout.contains("at byte"), "{}", ran.stdout);
    // Also where nobody reads on.
    let (gone, closed) = std::io::pipe().unwrap();
    drop(gone);
    let unread = sandbox.command(["verify"]).stdout(closed).output().unwrap();
    let said = String::from_utf8_lossy(&unread.stderr);
    assert!(unread.status.code() == Some(1) && said.contains("damaged; what is whole"), "{unread:?}");
    let ran = sandbox.run(["query", "*"]).expect(1);
    assert!(ran.stderr.contains("the answer is incomplete"), "{}", ran.stderr);
    assert!(ran.stdout.contains("of another day"));
}

#[test]
fn a_read_only_directory_is_told() {
    let sandbox = filled();
    let lock = sandbox.path("store");
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o555)).unwrap();
    let writable = std::fs::write(sandbox.path("store/probe"), "").is_ok();
    if writable {
        std::fs::remove_file(sandbox.path("store/probe")).unwrap();
        eprintln!("skipped: this user may write everywhere");
    } else {
        // Reading needs no permission to write.
        sandbox.run(["query", "line"]).expect(0);
        sandbox.write("more.log", "more\n");
        let fresh = sandbox.run(["--store", "store/deeper", "ingest", "more.log"]).expect(1);
        assert!(fresh.stderr.contains("ermission denied"), "{}", fresh.stderr);
    }
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A file system of a few MiB that can be filled; unmounted in the end.
struct Tiny {
    at: PathBuf,
}

impl Tiny {
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|m| m.status.success()).then(|| Self { at: at.into() })
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _left_for_the_machine = Command::new("umount").arg(&self.at).status();
    }
}

#[test]
fn a_full_disk_is_told_and_what_was_taken_stays() {
    let sandbox = Sandbox::new();
    let Some(_tiny) = Tiny::mount(&sandbox.path("tiny"), "70m") else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    // What does not compress: the tables fill the disk.
    let mut state = 1u64;
    let mut text = String::new();
    while text.len() < 90 << 20 {
        text.push_str("2026-11-21T10:00:00Z");
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!(" {:x}", state >> 20));
        }
        text.push('\n');
    }
    let lines = text.lines().count() as u64;
    sandbox.write("big.log", text);
    let ran = sandbox.run(["--store", "tiny/store", "ingest", "big.log"]).expect(1);
    assert!(ran.stderr.contains("o space left on device"), "{}", ran.stderr);
    let taken = sandbox.run(["--store", "tiny/store", "query", "* | stats count() n", "-o", "raw"]).expect(0);
    let taken: u64 = taken.stdout.trim().parse().unwrap();
    assert!(taken > 0 && taken < lines, "{taken} of {lines}");
    sandbox.run(["--store", "tiny/store", "verify"]).expect(0);
}

/// A store whose manifest is older than a table: what an opening sets aside, `repair` puts back.
#[test]
fn a_table_that_was_set_aside_is_put_back() {
    let sandbox = filled();
    let manifest = sandbox.path("store/MANIFEST");
    let older = std::fs::metadata(&manifest).unwrap().len();
    sandbox.ingest(&sandbox.write("later.log", "2026-11-21T11:00:00Z INFO later\n"));
    std::fs::OpenOptions::new().write(true).open(&manifest).unwrap().set_len(older).unwrap();
    sandbox.run(["verify"]).expect(1);
    let would = sandbox.run(["repair", "--dry-run"]).expect(0).stdout;
    assert!(
        would.starts_with("quarantine/tables-20261121-") && would.ends_with(" would come back: 1 line\n"),
        "{would}"
    );
    assert_eq!(sandbox.count(), 5000);
    let verified = sandbox.run(["verify"]).expect(0);
    assert!(verified.stdout.contains("`duramen repair`"), "{}", verified.stdout);
    let done = sandbox.run(["repair"]).expect(0).stdout;
    assert_eq!(done, would.replace("would come back", "is put back"));
    assert_eq!(sandbox.count(), 5001);
    assert_eq!(sandbox.run(["repair"]).expect(0).stdout, "nothing was set aside\n");
    sandbox.run(["verify"]).expect(0);
    // What is none stays.
    std::fs::write(sandbox.path("store/quarantine/0000000000000001-00000001.wal"), "x").unwrap();
    assert!(sandbox.run(["repair"]).expect(1).stdout.contains(".wal stays: it is no whole table"));
}
