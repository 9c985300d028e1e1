//! Starts, says what is wrong, stops when told.

use crate::server::{Server, duramen, eventually, store};
use rustls::pki_types::CertificateDer;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_stop_waits_for_the_rest_of_a_line() {
    let (_dir, store) = store();
    // Its address is told first.
    let mut server = Server::start_with(&store, &["--syslog-listen", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let mut counted = TcpStream::connect(server.address).unwrap();
    let found = |query: &str| {
        let output = duramen(&store).args(["query", query]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    stream.write_all(b"<13>first\n<13>payment of 1").unwrap();
    counted.write_all(b"9 <13>other60 <13>payment that was ref").unwrap();
    eventually("what is whole is there", || {
        found("first").contains("first") && found("other").contains("other")
    });
    server.signal("TERM");
    stream.write_all(b"000000 refused\n").unwrap();
    assert!(server.child.wait().unwrap().success());
    assert!(found("payment").contains("payment of 1000000 refused"), "{}", found("*"));
    let cut = found("ref");
    assert!(cut.contains("that was ref") && cut.contains("\"truncated_from_bytes\":60"), "{cut}");
}

#[test]
fn it_says_how_it_goes() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    assert_eq!(server.get("/health").json()["status"], "ok");
    assert_eq!(server.get("/ready").status, 200);
    server.post("/api/v1/ingest", "{\"_msg\":\"a\"}\n{\"_msg\":\"b\"}\nnonsense");
    assert_eq!(server.count("*"), 2);
    let metrics = server.get("/metrics").body;
    for line in [
        "duramen_ingested_lines_total{protocol=\"native\"} 2",
        "duramen_rejected_lines_total{protocol=\"native\"} 1",
        "duramen_http_requests_total{route=\"/api/v1/ingest\",code=\"202\"} 1",
        "duramen_queries_total 1",
        "duramen_up 1",
        "duramen_store_lines 2",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n") && metrics.matches("# EOF").count() == 1);
}

#[test]
fn the_openapi_document_describes_what_is_there() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let document = server.get("/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 60);
    for (path, item) in paths {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{id}", "x").replace("{name}", "x").replace("{index}", "x");
            let url = server.url(&path);
            let agent = Server::agent();
            let status = match method.as_str() {
                "get" if path.ends_with("/tail") => continue, // it does not end
                "get" => agent.get(url).call(),
                "head" => agent.head(url).call(),
                "post" => agent.post(url).send(&b""[..]),
                "put" => agent.put(url).send(&b""[..]),
                "delete" => agent.delete(url).call(),
                other => panic!("{other} {path}"),
            };
            let mut answer = status.unwrap();
            let body = answer.body_mut().read_to_string().unwrap();
            let status = answer.status().as_u16();
            let is_known = status != 404 || body.contains("there is no snapshot");
            assert!(is_known && status != 405 && status < 500, "{method} {path}: {status}");
        }
    }
}

#[test]
fn it_stops_when_told_and_keeps_everything() {
    let (_dir, store) = store();
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(&store);
        assert_eq!(server.post("/api/v1/ingest", r#"{"_msg":"kept"}"#).status, 202);
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{signal}");
    }
    assert_eq!(Server::start(&store).count("kept"), 2);
}

#[test]
fn a_client_that_keeps_its_connection_does_not_hold_up_the_stop() {
    let (_dir, store) = store();
    // Longer than the test takes, unless it waits for this.
    let server = Server::start_with(&store, &["--stop-timeout-ms", "50000"]);
    let mut idle = TcpStream::connect(server.address).unwrap();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(idle.read(&mut [0; 1000]).unwrap() > 0);
    let began = Instant::now();
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < Duration::from_secs(40) && !log.contains("still running"), "{log}");
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "it was closed");
}

#[test]
fn an_answer_that_lacks_damaged_blocks_is_told_of() {
    let (_dir, store) = store();
    let body = |day: &str| -> String {
        let row = |n: u32| format!("{{\"_time\":\"{day}T00:00:00Z\",\"_msg\":\"line {n} of {day}\"}}\n");
        (0..5000).map(row).collect()
    };
    let server = Server::start(&store);
    assert_eq!(server.post("/api/v1/ingest", body("2024-01-01")).status, 202);
    assert_eq!(server.stop().0, Some(0));
    let only_one = |dir: &Path| fs::read_dir(dir).unwrap().next().unwrap().unwrap().path();
    let table = only_one(&only_one(&store.join("tables")));
    let mut bytes = fs::read(&table).unwrap();
    // All over the blocks, and not the index behind them.
    for at in (32..bytes.len() / 2).step_by(16) {
        bytes[at] ^= 0x10;
    }
    fs::write(&table, bytes).unwrap();
    let server = Server::start(&store);
    assert_eq!(server.post("/api/v1/ingest", body("2024-01-02")).status, 202);
    assert_eq!(server.query("line | fields _msg").len(), 5000, "the other day's");
    assert_eq!(server.get("/loki/api/v1/query_range?query=%7B%7D&start=1704000000&limit=9999").status, 200);
    let metrics = server.get("/metrics").body;
    assert!(metrics.lines().any(|line| line == "duramen_query_failed_blocks_total 2"), "{metrics}");
    eventually("its log tells, too", || server.log().matches("lacks damaged blocks").count() == 2);
}

#[test]
fn many_lines_are_in_tables_soon_however_they_came() {
    let (_dir, store) = store();
    let server = Server::start_with(&store, &["--flush-after-ms", "3600000"]);
    let line = "{\"_msg\":\"one of many\"}\n";
    assert_eq!(server.post("/api/v1/ingest", line.repeat(20_000)).status, 202);
    let tables = || server.get("/metrics").body.lines().any(|line| line == "duramen_store_tables 1");
    eventually("one body is as good as many", tables);
    assert_eq!(server.count("many"), 20_000);
}

#[test]
fn the_service_manager_is_told() {
    let (dir, store) = store();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let told = || {
        let mut buf = [0; 100];
        let n = socket.recv(&mut buf).unwrap();
        String::from_utf8_lossy(&buf[..n]).trim().to_owned()
    };
    let mut command = duramen(&store);
    command.env("NOTIFY_SOCKET", &path);
    let server = Server::try_start_by(command, &[]).unwrap();
    assert_eq!(told(), "READY=1");
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(told(), "STOPPING=1");
}

#[test]
fn settings_come_from_flags_the_environment_and_a_file() {
    let (dir, store) = store();
    let file = dir.path().join("duramen.toml");
    fs::write(&file, "max_line_bytes = 1\nmax_queries = 3\nstall_timeout_ms = 7\n").unwrap();
    let output = duramen(&store)
        .args(["serve", "--print-config", "--max-line-bytes", "2", "--config"])
        .arg(&file)
        .env("DURAMEN_STALL_TIMEOUT_MS", "8")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in
        ["max_line_bytes = 2", "max_queries = 3", "stall_timeout_ms = 8", "listen = [\"127.0.0.1:9428\"]"]
    {
        assert!(printed.lines().any(|l| l == line), "{line} is not in\n{printed}");
    }
    fs::write(&file, "max_lines = 1\n").unwrap();
    let output = duramen(&store).args(["serve", "--config"]).arg(&file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("max_lines"), "{told}");
}

#[test]
fn what_cannot_be_is_told() {
    let (dir, store) = store();
    let server = Server::start(&store);
    let taken = server.address.to_string();
    let output = duramen(&store).args(["serve", "--listen", &taken]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("cannot listen"), "{told}");
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "x").unwrap();
    let output = duramen(&other).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("is not a duramen store"));
    let pem = dir.path().join("cert.pem");
    fs::write(&pem, "nonsense").unwrap();
    let output = duramen(&store)
        .args(["serve", "--listen", "127.0.0.1:0", "--tls-cert"])
        .arg(&pem)
        .arg("--tls-key")
        .arg(&pem)
        .output()
        .unwrap();
    assert!(
        output.status.code() == Some(2) && String::from_utf8(output.stderr).unwrap().contains("cert.pem")
    );
}

#[test]
fn a_certificate_is_used_and_read_again() {
    let (dir, store) = store();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let make = || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&cert, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    };
    let first = make();
    let args = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start_with(&store, &args);
    assert!(health_over_tls(&server, &first).unwrap().starts_with("HTTP/1.1 200"));
    let second = make();
    assert!(health_over_tls(&server, &second).is_err(), "nobody has told it yet");
    server.signal("HUP");
    eventually("the new certificate is in force", || health_over_tls(&server, &second).is_ok());
    fs::write(&cert, "nonsense").unwrap();
    server.signal("HUP");
    eventually("it says what is wrong", || server.log().contains("stays as it was"));
    assert!(health_over_tls(&server, &second).is_ok());
}

#[test]
fn the_binary_asks_whether_it_is_well() {
    let (dir, store) = store();
    let health = |args: &[&str]| {
        let output = duramen(&store).arg("health").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let server = Server::start(&store);
    let address = server.address.to_string();
    let (code, told) = health(&["--listen", &address]);
    assert!(code == Some(0) && told.contains("\"status\":\"ok\""), "{told}");
    let everywhere = format!("0.0.0.0:{}", server.address.port());
    assert_eq!(health(&["--listen", &everywhere]).0, Some(0));
    drop(server);
    assert_eq!(health(&["--listen", &address]).0, Some(1), "nobody is there");
    // Over TLS, with the certificate of the settings and no other.
    let made = || rcgen::generate_simple_self_signed(["logs.example.org".to_owned()]).unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let right = made();
    fs::write(&cert, right.cert.pem()).unwrap();
    fs::write(&key, right.signing_key.serialize_pem()).unwrap();
    let args = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start_with(&store, &args);
    let config = dir.path().join("duramen.toml");
    fs::write(&config, format!("listen = ['{}']\ntls_cert = {cert:?}\ntls_key = {key:?}\n", server.address))
        .unwrap();
    assert_eq!(health(&["--config", config.to_str().unwrap()]).0, Some(0));
    fs::write(&cert, made().cert.pem()).unwrap();
    assert_eq!(health(&["--config", config.to_str().unwrap()]).0, Some(1));
}

/// Asks for `/health` over TLS, trusting this certificate only.
fn health_over_tls(server: &Server, trusted: &CertificateDer<'_>) -> std::io::Result<String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).map_err(std::io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().map_err(std::io::Error::other)?;
    let connection = rustls::ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let mut stream = rustls::StreamOwned::new(connection, TcpStream::connect(server.address)?);
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let _some_close_without_saying_so = stream.read_to_end(&mut answer);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
