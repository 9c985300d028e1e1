//! `duramen doctor`: a good store, and several bad ones.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A store with a table.
fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .run_with_input(["ingest", "-"], b"{\"_msg\":\"one\",\"level\":\"warn\"}\n{\"_msg\":\"two\"}\n")
        .expect(0);
    sandbox
}

/// What it says, as an object a check, and with which code it ends.
fn doctor(sandbox: &Sandbox, args: &[&str]) -> (i32, Vec<Value>) {
    let ran = sandbox.run([&["doctor", "--json"], args].concat());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stdout));
    let code = ran.code.unwrap();
    let status = ["ok", "warning", "error"][code as usize];
    assert_eq!(report["status"], status, "{report}");
    (code, report["checks"].as_array().unwrap().clone())
}

/// The one finding of this status about this, which says this, and what to do.
#[track_caller]
fn told(sandbox: &Sandbox, args: &[&str], check: &str, status: &str, text: &str) {
    let (code, checks) = doctor(sandbox, args);
    let found = checks.iter().any(|finding| {
        finding["check"] == check
            && finding["status"] == status
            && finding["told"].as_str().unwrap().contains(text)
            && (status == "ok" || finding["advice"].as_str().is_some_and(|advice| !advice.is_empty()))
    });
    assert!(found, "{checks:#?}");
    assert!(status == "ok" || code >= 1);
}

/// The store's first file that ends so.
fn file(sandbox: &Sandbox, end: &str) -> std::path::PathBuf {
    fn find(dir: &std::path::Path, end: &str) -> Option<std::path::PathBuf> {
        let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().find_map(|path| match path.is_dir() {
            true => find(&path, end),
            false => path.to_str().unwrap().ends_with(end).then_some(path),
        })
    }
    find(&sandbox.store(), end).unwrap()
}

#[test]
fn a_good_store() {
    let sandbox = filled();
    // The machine may be short of room or descriptors; what is the store's is well.
    for args in [&[][..], &["--verify"]] {
        let (_, checks) = doctor(&sandbox, args);
        let of_the_store =
            ["directory", "writers", "tables", "quarantine", "damage", "verify", "store", "times"];
        for finding in checks.iter().filter(|f| of_the_store.contains(&f["check"].as_str().unwrap())) {
            assert_eq!(finding["status"], "ok", "{finding}");
        }
        let verified = checks.iter().filter(|finding| finding["check"] == "verify").count();
        assert_eq!(verified, args.len());
        assert!(
            checks.iter().any(|finding| finding["told"].as_str().unwrap().contains("2 lines in 1 table"))
        );
    }
    let ran = sandbox.run(["doctor"]);
    assert!(ran.stdout.contains("ok       tables: 2 lines in 1 table"), "{}", ran.stdout);
    // The directory may be given, and the store is as it was.
    let elsewhere = sandbox.store();
    let ran = sandbox.run(["--store", "none", "doctor", elsewhere.to_str().unwrap()]);
    assert!(ran.stdout.contains("2 lines in 1 table"), "{}", ran.stdout);
    assert!(!sandbox.store().join("doctor.tmp").exists());
    sandbox.run(["verify"]).expect(0);
}

#[test]
fn no_store() {
    let sandbox = Sandbox::new();
    told(&sandbox, &[], "directory", "error", "is not there");
    fs::create_dir(sandbox.store()).unwrap();
    told(&sandbox, &[], "store", "error", "");
    fs::write(sandbox.store().join("letter.txt"), "x").unwrap();
    told(&sandbox, &[], "store", "error", "letter.txt");
    let file = sandbox.write("file", "x");
    told(&sandbox, &[file.to_str().unwrap()], "directory", "error", "is a file");
}

#[test]
fn a_damaged_manifest() {
    let sandbox = filled();
    let manifest = sandbox.store().join("MANIFEST");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[10] ^= 0xff;
    fs::write(&manifest, bytes).unwrap();
    told(&sandbox, &[], "store", "error", "MANIFEST");
}

#[test]
fn a_table_that_is_gone_and_one_that_is_damaged() {
    let sandbox = filled();
    let table = file(&sandbox, ".sst");
    let whole = fs::read(&table).unwrap();
    fs::remove_file(&table).unwrap();
    told(&sandbox, &[], "damage", "error", ".sst");
    // A byte in its middle: only reading all of it tells.
    let mut bytes = whole;
    let middle = bytes.len() / 4;
    bytes[middle] ^= 0xff;
    fs::write(&table, bytes).unwrap();
    told(&sandbox, &["--verify"], "verify", "error", ".sst");
}

#[test]
fn what_was_set_aside_and_what_nobody_keeps() {
    let sandbox = filled();
    fs::create_dir_all(sandbox.store().join("quarantine")).unwrap();
    fs::write(sandbox.store().join("quarantine/0000000000000001-00000001.wal"), "x").unwrap();
    told(&sandbox, &[], "quarantine", "warning", "1 file set aside");
    // A writer that ended without its lines being put into tables.
    let options = duramen::StoreOptions::new().keeper(false).background(false);
    let store = options.open(sandbox.store()).unwrap();
    let mut entry = duramen::EntryBuf::new(["app"]);
    entry.start(1).message("left behind");
    store.append(entry.finish().unwrap()).unwrap();
    told(&sandbox, &[], "writers", "ok", "1 writer at work");
    store.close().unwrap();
    told(&sandbox, &[], "writers", "warning", "1 segment of 1 writer that ended wait");
    // What it says to do is enough, and adds nothing.
    let (_, checks) = doctor(&sandbox, &[]);
    let advice = checks
        .iter()
        .find_map(|finding| finding["advice"].as_str()?.split('`').find(|part| part.contains("ingest")));
    let command = advice.unwrap().replace("duramen", env!("CARGO_BIN_EXE_duramen"));
    let lines = sandbox.count();
    let ran =
        Command::new("sh").args(["-c", &command]).env("DURAMEN_STORE", sandbox.store()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(sandbox.count(), lines);
    told(&sandbox, &[], "writers", "ok", "no process keeps the store");
    // A line of the year 2100.
    sandbox
        .run_with_input(["ingest", "-"], b"{\"_time\":\"2100-01-01T00:00:00Z\",\"_msg\":\"x\"}\n")
        .expect(0);
    told(&sandbox, &[], "times", "warning", "2100-01-01");
}

#[test]
fn everybody_may_change_it() {
    let sandbox = filled();
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o777)).unwrap();
    told(&sandbox, &[], "directory", "warning", "everybody may change it");
}

#[cfg(feature = "server")]
#[test]
fn what_a_server_reads() {
    let sandbox = filled();
    let config = |text: &str| sandbox.write("duramen.toml", text).to_str().unwrap().to_owned();
    let path = config("listen = ['0.0.0.0:9428']\n");
    told(&sandbox, &["--config", &path], "settings", "error", "there is no token");
    sandbox.run(["token", "create", "t", "--scope", "ingest", "--expires-in", "1ns"]).expect(0);
    told(&sandbox, &["--config", &path], "settings", "warning", "without TLS");
    told(&sandbox, &[], "tokens", "warning", "have expired: t");
    let path = config("max_lines = 1\n");
    told(&sandbox, &["--config", &path], "settings", "error", "max_lines");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (sandbox.write("cert.pem", made.cert.pem()), sandbox.path("key.pem"));
    let path = config(&format!("tls_cert = {cert:?}\ntls_key = {key:?}\n"));
    told(&sandbox, &["--config", &path], "tls", "error", "key.pem");
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    told(&sandbox, &["--config", &path], "tls", "warning", "can be read by everybody");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    told(&sandbox, &["--config", &path], "tls", "ok", "can be used");
    fs::write(sandbox.store().join("server/tokens.json"), "{").unwrap();
    told(&sandbox, &[], "tokens", "error", "tokens.json");
}

#[test]
fn a_table_that_the_manifest_has_lost() {
    let sandbox = filled();
    let manifest = sandbox.store().join("MANIFEST");
    let bytes = fs::read(&manifest).unwrap();
    fs::write(&manifest, &bytes[..100]).unwrap();
    told(&sandbox, &[], "damage", "error", "MANIFEST is older and does not name it (2 lines)");
    told(&sandbox, &["--verify"], "verify", "error", "MANIFEST is older and does not name it");
}

#[test]
fn what_is_wrong_is_told_by_the_code_though_nobody_reads() {
    let sandbox = Sandbox::new();
    let (gone, closed) = std::io::pipe().unwrap();
    drop(gone);
    let unread = sandbox.command(["doctor"]).stdout(closed).output().unwrap();
    assert_eq!(unread.status.code(), Some(2), "{unread:?}");
}
