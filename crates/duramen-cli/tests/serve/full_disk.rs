//! A full disk is told, reading goes on, and so does writing once there is room.

use crate::server::{Server, duramen, eventually, store, token};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program in a mount namespace of its own, where `at` is a file system of 64 MiB. It goes when the program ends.
fn on_small_disk(at: &Path, program: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=64m tmpfs \"$0\" && exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(at).arg(program);
    command
}

/// A thousand lines that do not compress well, about a MiB.
fn body(seed: u64) -> String {
    let mut state = seed;
    let mut text = String::new();
    for n in 0..1000 {
        text.push_str(&format!("{{\"_msg\":\"line {n}"));
        for _ in 0..64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!(" {:x}", state >> 8));
        }
        text.push_str("\"}\n");
    }
    text
}

/// The same as OpenTelemetry has it.
fn otlp(seed: u64) -> String {
    let records = body(seed).replace("{\"_msg\":", "{\"body\":{\"stringValue\":").replace("}\n", "}},");
    format!(
        "{{\"resourceLogs\":[{{\"scopeLogs\":[{{\"logRecords\":[{}]}}]}}]}}",
        records.trim_end_matches(',')
    )
}

/// Fills what is left of a file system.
fn fill(ballast: &Path) {
    let mut file = File::create(ballast).unwrap();
    let mut piece = vec![0; 1 << 20];
    while !piece.is_empty() {
        match file.write_all(&piece) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::StorageFull => piece.truncate(piece.len() / 2),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn a_full_disk_is_told_and_writing_goes_on_when_there_is_room() {
    let (dir, store) = store();
    let at = dir.path();
    if !on_small_disk(at, "true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user may not have a small file system of its own");
        return;
    }
    let mut command = on_small_disk(at, env!("CARGO_BIN_EXE_duramen"));
    command.arg("--store").arg(&store);
    let server = Server::try_start_by(command, &["--stall-timeout-ms", "100"]).unwrap();
    let seen_by_it = PathBuf::from(format!("/proc/{}/root", server.child.id()));
    let ballast = seen_by_it.join(at.strip_prefix("/").unwrap()).join("ballast");
    fill(&ballast);
    let answers = (0..100).map(|seed| server.post("/api/v1/ingest", body(seed)));
    let (bodies, refused) = answers.enumerate().find(|(_, answer)| answer.status != 202).unwrap();
    let taken = bodies as u64 * 1000;
    assert!(refused.status == 507 && refused.headers.contains_key("retry-after"), "{refused:?}");
    assert!(refused.json()["error"].as_str().unwrap().contains("the disk is full"), "{refused:?}");
    let again = server.post("/api/v1/ingest", body(0));
    assert_eq!(again.status, 507, "{again:?}");
    // OpenTelemetry's clients would drop what is answered by 507.
    let otlp = server.post_with("/v1/logs", &[("content-type", "application/json")], otlp(0));
    assert!(otlp.status == 503 && otlp.headers.contains_key("retry-after"), "{otlp:?}");
    let health = server.get("/health");
    assert_eq!((health.status, &health.json()["status"]), (503, &"failing".into()), "{health:?}");
    assert_eq!(server.get("/-/healthy").status, 200, "to start it again would not help");
    assert_eq!(
        health.json()["reasons"],
        serde_json::json!(["the disk is full"]),
        "no path is told to everybody"
    );
    assert_eq!(server.count("line"), taken, "reading goes on");
    fs::remove_file(ballast).unwrap();
    eventually("lines are taken again", || server.post("/api/v1/ingest", body(1)).status == 202);
    assert_eq!(server.count("line"), taken + 1000, "what was refused is not there, all else is");
    assert_eq!(server.get("/health").status, 200);
}

/// Its quota is spent, or what is mounted there is full.
#[test]
fn a_tenant_whose_disk_is_full_keeps_nobody_else_from_sending() {
    let (_dir, store) = store();
    let shop = token(&store, &["shop", "--scope", "ingest", "--tenant", "shop"]);
    let own = token(&store, &["own", "--scope", "admin"]);
    let at = store.join("tenants/shop");
    fs::create_dir_all(&at).unwrap();
    if !on_small_disk(&at, "true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user may not have a small file system of its own");
        return;
    }
    let mut command = on_small_disk(&at, duramen(&store).get_program().to_str().unwrap());
    command.arg("--store").arg(&store);
    let server = Server::try_start_by(command, &["--stall-timeout-ms", "100"]).unwrap();
    let post = |token: &str, seed| {
        server
            .post_with("/api/v1/ingest", &[("authorization", &format!("Bearer {token}"))], body(seed))
            .status
    };
    assert_eq!(post(&shop, 0), 202);
    let seen_by_it = PathBuf::from(format!("/proc/{}/root", server.child.id()));
    fill(&seen_by_it.join(at.strip_prefix("/").unwrap()).join("ballast"));
    assert!((1..100).any(|seed| post(&shop, seed) == 507), "it is full");
    let health = server.get("/health");
    assert_eq!((health.status, &health.json()["status"]), (200, &"degraded".into()), "{health:?}");
    let reasons = &health.json()["reasons"];
    assert_eq!(reasons, &serde_json::json!(["a tenant: the disk is full"]), "no name is told to everybody");
    assert_eq!(server.get("/-/healthy").status, 200);
    let metrics = server.get_with("/metrics", &own).body;
    let told = "duramen_store_failing{tenant=\"shop\",reason=\"the disk is full\"} 1\n";
    assert!(metrics.contains(told) && metrics.contains("duramen_up 1\n"), "{metrics}");
    assert_eq!(post(&own, 0), 202);
}

/// The server's own store has no trouble, but nothing is sent there.
#[test]
fn a_server_that_takes_nothing_of_those_who_send_is_not_well() {
    let (_dir, store) = store();
    let of = |tenant: &str| token(&store, &[tenant, "--scope", "ingest", "--tenant", tenant]);
    let (shop, pay) = (of("shop"), of("pay"));
    let own = token(&store, &["own", "--scope", "admin"]);
    fs::create_dir_all(store.join("tenants")).unwrap();
    File::create(store.join("tenants/shop")).unwrap();
    let server = Server::start(&store);
    let post = |token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        server.post_with("/api/v1/ingest", &headers, r#"{"_msg":"m"}"#).status
    };
    let health = || {
        let health = server.get("/health");
        let up = server.get_with("/metrics", &own).body.contains("duramen_up 1\n");
        (health.status, health.json()["status"].as_str().unwrap().to_owned(), up)
    };
    assert_eq!(health(), (200, "ok".to_owned(), true));
    assert_eq!(post(&shop), 503);
    assert_eq!(health(), (503, "failing".to_owned(), false));
    assert_eq!(post(&pay), 202);
    assert_eq!(health(), (200, "degraded".to_owned(), true));
}
