//! Listeners beside HTTP.

use crate::sandbox::{PATIENCE, until};
use crate::server::Server;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConnection, StreamOwned};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;

#[test]
fn syslog_comes_by_tcp_and_udp() {
    let server = Server::start(&["--syslog-listen", "127.0.0.1:0"]);
    let address = server.of("syslog");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"<11>1 2024-06-15T12:00:00Z web-1 app 7 - - one\n46 <12>1 2024-06-15T12:00:01Z web-1 app - - - two").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"<14>no host in this one", address).unwrap();
    let rows = server.query_until("* | sort by (_time) | fields _msg, host, app, level, severity", 3);
    assert_eq!(
        rows[0],
        json!({ "_msg": "one", "host": "web-1", "app": "app", "level": "error", "severity": "err" })
    );
    assert_eq!((&rows[1]["_msg"], &rows[1]["level"]), (&json!("two"), &json!("warn")));
    assert_eq!(
        rows[2],
        json!({ "_msg": "no host in this one", "host": "127.0.0.1", "level": "info", "severity": "info" })
    );
}

#[test]
fn connections_that_bring_nothing_leave_places_for_others() {
    let args = ["--max-connections", "2", "--max-sender-connections", "2", "--sender-idle-timeout-ms", "300"];
    let listen =
        ["--syslog-listen", "127.0.0.1:0", "--gelf-listen", "127.0.0.1:0", "--fluent-listen", "127.0.0.1:0"];
    let server = Server::start(&[&args[..], &listen].concat());
    // The last are accepted once those before have been closed.
    let silent = ["syslog", "gelf", "fluent"].map(|protocol| {
        let streams = [(); 2].map(|()| TcpStream::connect(server.of(protocol)).unwrap());
        assert_eq!(server.request("GET", "/health", &[], b"").status, 200, "HTTP has places of its own");
        streams
    });
    for mut stream in silent.into_iter().flatten() {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    }
}

/// A client of TLS that trusts this certificate only.
fn tls(address: SocketAddr, trusted: &CertificateDer<'_>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(connection, socket)
}

#[test]
fn syslog_comes_over_tls() {
    let files = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls_args = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start(&[&["--syslog-tls-listen", "127.0.0.1:0"][..], &tls_args].concat());
    let (address, trusted) = (server.of("syslog"), made.cert.der());
    // Who speaks no TLS is let go, and nothing is taken from it.
    let mut plain = TcpStream::connect(address).unwrap();
    plain.write_all(b"<11>1 2024-06-15T12:00:00Z web-1 app 7 - - in the clear\n").unwrap();
    let _it_may_be_told_why = plain.read_to_end(&mut Vec::new());
    let mut stream = tls(address, trusted);
    for message in
        ["<11>1 2024-06-15T12:00:00Z web-1 app 7 - - one", "<12>1 2024-06-15T12:00:01Z web-1 app - - - two"]
    {
        write!(stream, "{} {message}", message.len()).unwrap();
    }
    stream.conn.send_close_notify();
    stream.flush().unwrap();
    let ask = || {
        let mut stream = tls(server.http, trusted);
        stream.write_all(b"GET /select/logsql/query?query=* HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _some_close_without_saying_so = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    until("both have come", || ask().matches("\"_msg\"").count() == 2);
    let answer = ask();
    assert!(
        answer.contains("\"one\"") && answer.contains("\"two\"") && answer.contains("\"web-1\""),
        "{answer}"
    );
}

#[test]
fn fluent_chunks_are_acknowledged_once_they_are_taken() {
    let server = Server::start(&["--fluent-listen", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(server.of("fluent")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // [tag, [[time, {"log": "hello", "level": "warn"}]], {"chunk": "c1"}]
    stream
        .write_all(b"\x93\xa3app\x91\x92\xce\x66\x6d\x82\x40\x82\xa3log\xa5hello\xa5level\xa4warn\x81\xa5chunk\xa2c1")
        .unwrap();
    let mut ack = [0; 8];
    stream.read_exact(&mut ack).unwrap();
    assert_eq!(&ack, b"\x81\xa3ack\xa2c1");
    let rows = server.query("_stream:{tag=\"app\"} | fields _time, _msg, level");
    assert_eq!(rows, [json!({ "_time": "2024-06-15T12:00:00Z", "_msg": "hello", "level": "warn" })]);
    // What is none ends the connection, and nothing else.
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut ack).unwrap_or(0), 0);
    assert_eq!(server.request("GET", "/health", &[], b"").status, 200);
    let metrics = server.request("GET", "/metrics", &[], b"").body;
    assert!(metrics.contains("duramen_rejected_lines_total{protocol=\"fluent\"} 1\n"), "{metrics}");
}

#[test]
fn gelf_comes_by_tcp_and_in_chunks() {
    let server = Server::start(&["--gelf-listen", "127.0.0.1:0"]);
    let address = server.of("gelf");
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(
            b"{\"short_message\":\"one\",\"host\":\"g\"}\0{\"short_message\":\"two\",\"host\":\"g\"}\0",
        )
        .unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for (number, piece) in [(1, &b"ge\":\"three\"}"[..]), (0, b"{\"host\":\"g\",\"short_messa")] {
        let chunk = [&b"\x1e\x0f12345678"[..], &[number, 2], piece].concat();
        socket.send_to(&chunk, address).unwrap();
    }
    let mut messages: Vec<_> =
        server.query_until("_stream:{host=\"g\"}", 3).iter().map(|row| row["_msg"].to_string()).collect();
    messages.sort();
    assert_eq!(messages, ["\"one\"", "\"three\"", "\"two\""]);
}
