#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
//! What is held for requests is counted.

mod support;

use support::{Server, encoded};

#[test]
fn what_a_small_body_means_counts_as_a_body_does() {
    let server = Server::start_with(|settings| {
        settings.max_bodies_bytes = Some(4 << 20);
        settings.max_body_bytes = Some(1 << 20);
    });
    let send = |lines: usize| {
        let extra = format!("x={}", "A".repeat(5_000));
        let path = format!("/insert/jsonline?{}", encoded(&[("extra_fields", &extra)]));
        server.ask("POST", &path, &[], &"{\"_msg\":\"m\"}\n".repeat(lines))
    };
    // 0.5, 2.5 and 10 MB of entries.
    assert_eq!((send(100).status, send(500).status), (200, 200));
    let told = send(2_000);
    assert!(told.status == 429 && told.body.contains("max_bodies_bytes"), "{told:?}");
    assert_eq!(send(500).status, 200, "what was refused is held no more");
    let found = server.get("/select/logsql/query", &[("query", "* | stats count() n")]);
    assert!(found.body.contains("\"1100\""), "{found:?}");
}
