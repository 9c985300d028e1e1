//! Who may do what; revoked, expired, limited; tenants.

use crate::server::{Server, duramen, eventually, store, token};
use std::io::{BufRead, BufReader};

/// What it refuses, be it for a token or a path, is a `google.rpc.Status` in the form of the request: 1 the code, 2 the message.
#[test]
fn opentelemetrys_clients_are_refused_in_their_own_form() {
    let (_dir, store) = store();
    let reader = format!("Bearer {}", token(&store, &["b", "--scope", "read"]));
    let sender = format!("Bearer {}", token(&store, &["a", "--scope", "ingest"]));
    let server = Server::start(&store);
    for (path, token, status, code, says) in [
        ("/v1/logs", "", 401, 16, "a token is needed"),
        ("/otlp/v1/logs", "Bearer no", 401, 16, "not known"),
        ("/insert/opentelemetry/v1/logs", &reader, 403, 7, "lacks the scope"),
        ("/v1/traces", &sender, 404, 12, "there is nothing at"),
    ] {
        let ask = |kind: &str| {
            let mut headers = vec![("content-type", kind)];
            if !token.is_empty() {
                headers.push(("authorization", token));
            }
            server.post_with(path, &headers, "")
        };
        let told = ask("application/x-protobuf");
        assert_eq!(
            (told.status, told.headers["content-type"].to_str().unwrap()),
            (status, "application/x-protobuf")
        );
        assert!(told.body.as_bytes().starts_with(&[8, code, 18]) && told.body.contains(says), "{told:?}");
        assert_eq!(told.headers.contains_key("www-authenticate"), status == 401);
        let told = ask("application/json");
        assert_eq!(
            (told.status, told.headers["content-type"].to_str().unwrap()),
            (status, "application/json")
        );
        let json = told.json();
        assert_eq!(json["code"], code, "{json}");
        assert!(json["message"].as_str().unwrap().contains(says), "{json}");
    }
}

#[test]
fn scopes_are_kept_apart() {
    let (_dir, store) = store();
    let ingest = token(&store, &["shipper", "--scope", "ingest"]);
    let read = token(&store, &["grafana", "--scope", "read"]);
    let admin = token(&store, &["me", "--scope", "admin"]);
    let server = Server::start(&store);
    let post = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.post_with("/api/v1/ingest", &[("authorization", &bearer)], r#"{"_msg":"x"}"#).status
    };
    let get = |token: &str| server.get_with("/select/logsql/query?query=*", token).status;
    assert_eq!((post(&ingest), post(&read), post(&admin)), (202, 403, 202));
    assert_eq!((get(&ingest), get(&read), get(&admin)), (403, 200, 200));
    assert_eq!(server.get_with("/metrics", &read).status, 200);
    for wrong in ["", "drm_00000000_0", &format!("{ingest}0"), &ingest[..ingest.len() - 1], "x"] {
        assert_eq!((post(wrong), get(wrong)), (401, 401), "{wrong}");
    }
    let answer = server.post("/api/v1/ingest", "{}");
    assert!(answer.status == 401 && answer.headers.contains_key("www-authenticate"), "{answer:?}");
    assert_eq!((server.get("/health").status, server.get("/ready").status), (200, 200));
    for probe in ["/services/collector/health", "/insert/loki/ready", "/insert/ready", "/-/ready"] {
        assert_eq!(server.get(probe).status, 200, "{probe}");
    }
    let basic = [("authorization", &*format!("Basic {}", base64(&format!("anybody:{ingest}"))))];
    assert_eq!(server.post_with("/api/v1/ingest", &basic, "{}").status, 202);
    let secret = ingest.rsplit('_').next().unwrap();
    assert!(!server.log().contains(secret));
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for piece in text.as_bytes().chunks(3) {
        let bits = piece.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - piece.len()));
        for i in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * i) & 63) as usize]);
            out.push(if i <= piece.len() { digit } else { '=' });
        }
    }
    out
}

#[test]
fn when_a_token_was_last_used_is_listed() {
    let (_dir, store) = store();
    let read = token(&store, &["grafana", "--scope", "read"]);
    token(&store, &["idle", "--scope", "read"]);
    let list = || {
        let listed = duramen(&store).args(["token", "list"]).output().unwrap();
        String::from_utf8(listed.stdout).unwrap()
    };
    assert_eq!(list().matches("never used").count(), 2);
    let server = Server::start(&store);
    assert_eq!(server.get_with("/metrics", &read).status, 200);
    eventually("the first use is noted", || list().matches("never used").count() == 1);
    assert!(list().lines().any(|line| line.contains("grafana") && line.contains(", used 20")), "{}", list());
    // Further uses are noted a minute later, or at the end.
    let first = list();
    assert_eq!(server.get_with("/metrics", &read).status, 200);
    assert_eq!(server.stop().0, Some(0));
    let last = list();
    assert!(first != last && last.matches("never used").count() == 1, "{first}{last}");
}

#[test]
fn a_revoked_token_ends_what_it_began() {
    let (_dir, store) = store();
    let read = token(&store, &["grafana", "--scope", "read"]);
    let admin = token(&store, &["me", "--scope", "admin"]);
    let server = Server::start(&store);
    let request = Server::agent().get(server.url("/select/logsql/tail?query=*"));
    let response = request.header("authorization", format!("Bearer {read}")).call().unwrap();
    let mut lines = BufReader::new(response.into_body().into_reader()).lines();
    let bearer = format!("Bearer {admin}");
    let post = || server.post_with("/api/v1/ingest", &[("authorization", &bearer)], r#"{"_msg":"x"}"#).status;
    assert_eq!(post(), 202);
    assert!(lines.next().unwrap().unwrap().contains("\"x\""));
    assert!(duramen(&store).args(["token", "revoke", "grafana"]).status().unwrap().success());
    eventually("the token is refused", || {
        server.get_with("/select/logsql/query?query=*", &read).status == 401
    });
    assert_eq!(post(), 202);
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert!(rest.len() <= 1, "{rest:?}");
    // The last one's revocation does not open the door.
    assert!(duramen(&store).args(["token", "revoke", "me"]).status().unwrap().success());
    eventually("the last token is refused", || post() == 401);
    assert_eq!(server.get("/select/logsql/query?query=*").status, 401);
}

#[test]
fn the_first_token_ends_what_began_without_one() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let response = Server::agent().get(server.url("/select/logsql/tail?query=*")).call().unwrap();
    let mut lines = BufReader::new(response.into_body().into_reader()).lines();
    assert_eq!(server.post("/api/v1/ingest", r#"{"_msg":"before"}"#).status, 202);
    assert!(lines.next().unwrap().unwrap().contains("before"));
    let ingest = token(&store, &["shipper", "--scope", "ingest"]);
    eventually("a token is needed", || server.get("/select/logsql/query?query=*").status == 401);
    let bearer = format!("Bearer {ingest}");
    for _ in 0..3 {
        let headers = [("authorization", &*bearer)];
        assert_eq!(server.post_with("/api/v1/ingest", &headers, r#"{"_msg":"behind"}"#).status, 202);
    }
    let rest: Vec<_> = lines.map_while(Result::ok).filter(|line| !line.is_empty()).collect();
    assert!(rest.len() <= 3, "{rest:?}");
}

#[test]
fn an_empty_file_of_tokens_opens_no_door() {
    let (_dir, store) = store();
    token(&store, &["t", "--scope", "ingest"]);
    let file = store.join("server/tokens.json");
    assert!(file.exists());
    std::fs::write(&file, "").unwrap();
    let log = Server::try_start(&store, &[]).err().unwrap();
    assert!(log.contains("it is empty"), "{log}");
}

#[test]
fn tenants_see_their_own() {
    let (_dir, store) = store();
    let own = token(&store, &["own", "--scope", "admin"]);
    let shop = token(&store, &["shop", "--scope", "admin", "--tenant", "shop"]);
    let bank = token(&store, &["bank", "--scope", "admin", "--tenant", "bank"]);
    let server = Server::start(&store);
    for (name, token) in [("own", &own), ("shop", &shop), ("bank", &bank)] {
        let bearer = format!("Bearer {token}");
        let body = format!("{{\"_msg\":\"of {name}\"}}");
        assert_eq!(server.post_with("/api/v1/ingest", &[("authorization", &bearer)], body).status, 202);
    }
    for (name, token) in [("own", &own), ("shop", &shop), ("bank", &bank)] {
        let rows = server.get_with("/select/logsql/query?query=*", token).lines();
        assert_eq!(rows.len(), 1, "{name}: {rows:?}");
        assert_eq!(rows[0]["_msg"], format!("of {name}"));
    }
    let metrics = [&own, &shop].map(|token| server.get_with("/metrics", token).status);
    assert_eq!(metrics, [200, 403], "they are of all tenants");
    // A header may say which tenant the token's is, and no other.
    let bearer = format!("Bearer {shop}");
    for (name, value, status) in [
        ("X-Scope-OrgID", "shop", 202),
        ("X-Scope-OrgID", "bank", 403),
        ("AccountID", "0", 202),
        ("AccountID", "7", 403),
    ] {
        let headers = [("authorization", &*bearer), (name, value)];
        let answer = server.post_with("/api/v1/ingest", &headers, r#"{"_msg":"more"}"#);
        assert_eq!(answer.status, status, "{name} {value}: {answer:?}");
        assert!(status == 202 || answer.body.contains("the token is for `shop`"), "{answer:?}");
    }
    assert_eq!(server.stop().0, Some(0));
    let server = Server::start(&store);
    assert_eq!(server.get_with("/select/logsql/query?query=*", &shop).lines().len(), 3);
}

#[test]
fn limits_of_a_token() {
    let (_dir, store) = store();
    let args = ["t", "--scope", "ingest", "--max-body-bytes", "1000", "--max-bytes-per-s", "1500"];
    let limited = token(&store, &args);
    let expired = token(&store, &["e", "--scope", "ingest", "--expires-in", "1ms"]);
    let server = Server::start(&store);
    let post = |token: &str, bytes: usize| {
        let bearer = format!("Bearer {token}");
        let body = format!("{{\"_msg\":\"{}\"}}", "x".repeat(bytes));
        server.post_with("/api/v1/ingest", &[("authorization", &bearer)], body)
    };
    assert_eq!(post(&expired, 1).status, 401);
    let answer = post(&limited, 1000);
    assert!(answer.status == 413 && answer.body.contains("1000 bytes"), "{answer:?}");
    let refused = (0..20).map(|_| post(&limited, 900)).find(|answer| answer.status != 202).unwrap();
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.headers.contains_key("retry-after"));
    eventually("the bucket fills again", || post(&limited, 1).status == 202);
    let listed = duramen(&store).args(["token", "list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("  ingest, at most 1500 bytes a second, at most 1000 bytes a body, made"),
        "{listed}"
    );
}

#[test]
fn without_a_token_only_this_machine_may_come() {
    let (_dir, store) = store();
    let log = Server::try_start(&store, &["--listen", "0.0.0.0:0"]).err().unwrap();
    assert!(log.contains("has no token"), "{log}");
    token(&store, &["t", "--scope", "ingest"]);
    Server::start_with(&store, &["--listen", "0.0.0.0:0"]);
}
