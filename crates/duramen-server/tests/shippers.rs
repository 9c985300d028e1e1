//! What shippers sent, word for word, where the answer decides what they do next.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod support;

use support::Server;

/// Telegraf sends again what was not answered with success, all of it and for ever: the good lines of a push that has a bad one
/// would be there more often each second. Others are told.
#[test]
fn a_push_with_a_bad_line_is_over_for_telegraf() {
    let server = Server::start_with(|settings| settings.max_line_bytes = Some(100));
    let stream = r#"{"__name":"applog","host":"h1","level":"warn","path":"/var/log/app.log"}"#;
    let value = r#"["1795986977358470763","value=\"0000001 \tI/O timings: read: 0.000 ms\" "]"#;
    let long = format!(r#"["1795986977358526577","value=\"0000475 {}\" "]"#, "x".repeat(200));
    let push = format!(r#"{{"streams":[{{"stream":{stream},"values":[{value},{long}]}}]}}"#);
    for (agent, status, told) in
        [("Telegraf/1.38.0 Go/1.26.8", 204, ""), ("promtail/3.5.0", 400, "1 of 2 lines rejected: row 1: ")]
    {
        let headers = [("User-Agent", agent), ("Content-Type", "application/json")];
        let answer = server.ask("POST", "/loki/api/v1/push", &headers, &push);
        assert_eq!(answer.status, status, "{agent}: {answer:?}");
        assert!(answer.body.contains(told), "{agent}: {answer:?}");
        // What makes no sense at all is told to each of them.
        let answer = server.ask("POST", "/loki/api/v1/push", &headers, &push[..99]);
        assert_eq!(answer.status, 400, "{agent}: {answer:?}");
    }
}
