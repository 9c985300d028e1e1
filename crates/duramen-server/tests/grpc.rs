//! OpenTelemetry's logs over gRPC, byte by byte: frames, trailers, refusals; with TLS, too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

use bytes::Bytes;
use duramen_engine::io::Env;
use duramen_server::{Allocator, Settings, serve};
use duramen_wire::grpc::framed;
use rustls::pki_types::CertificateDer;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

const PATH: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
/// A request: a resource `app` = `w1`, a record `hi`.
const ONE: &[u8] = b"\x0a\x29\x0a\x0d\x0a\x0b\x0a\x03app\x12\x04\x0a\x02w1\x12\x18\x12\x16\x09\x00\x00\x0a\xf2\x20\x09\xd9\x17\x10\x11\x2a\x04\x0a\x02hi\x45\x01\x00\x00\x00";

/// How a call ended.
#[derive(Debug)]
struct Ended {
    http: u16,
    code: u32,
    message: String,
    retry_after: Option<String>,
    body: Vec<u8>,
}

/// Serves a store until the test's process ends.
fn start(change: impl FnOnce(&mut Settings, &std::path::Path) + Send + 'static) -> SocketAddr {
    let dir = tempfile::tempdir().unwrap();
    let (to, from) = mpsc::channel();
    std::thread::spawn(move || {
        let mut settings = Settings::default();
        settings.listen = vec![([127, 0, 0, 1], 0).into()];
        change(&mut settings, dir.path());
        let ready = |addresses: &[SocketAddr]| to.send(addresses[0]).unwrap();
        serve(&dir.path().join("logs"), &Env::os(), settings, Allocator::default(), ready).unwrap();
    });
    from.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// Calls with these headers and this body, over a connection of its own.
async fn call_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Ended {
    call_at(PATH, stream, headers, body).await
}

/// Calls another method.
async fn call_at(
    path: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Ended {
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut request = axum::http::Request::post(format!("http://localhost{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut client = client.ready().await.unwrap();
    let (response, mut sending) = client.send_request(request.body(()).unwrap(), false).unwrap();
    sending.send_data(Bytes::from(body), true).unwrap();
    let mut response = response.await.unwrap();
    let mut body = Vec::new();
    while let Some(data) = response.body_mut().data().await {
        body.extend_from_slice(&data.unwrap());
    }
    let trailers = response.body_mut().trailers().await.unwrap();
    let ends = trailers.as_ref().unwrap_or(response.headers());
    let text = |name: &str| ends.get(name).map(|value| value.to_str().unwrap().to_owned());
    Ended {
        http: response.status().as_u16(),
        code: text("grpc-status").map_or(u32::MAX, |code| code.parse().unwrap()),
        message: text("grpc-message").unwrap_or_default(),
        retry_after: text("grpc-status-details-bin"),
        body,
    }
}

async fn call(address: SocketAddr, headers: &[(&str, &str)], body: Vec<u8>) -> Ended {
    let grpc = [("content-type", "application/grpc"), ("te", "trailers")];
    call_over(TcpStream::connect(address).await.unwrap(), &[&grpc, headers].concat(), body).await
}

#[tokio::test]
async fn a_call_is_answered_with_a_frame_and_trailers() {
    let address = start(|_, _| ());
    let ended = call(address, &[], framed(ONE).unwrap()).await;
    assert_eq!((ended.http, ended.code, &*ended.body), (200, 0, &b"\0\0\0\0\0"[..]), "{ended:?}");
    for (name, packed) in [("gzip", gzip(ONE)), ("zstd", zstd::bulk::compress(ONE, 1).unwrap())] {
        let mut frame = framed(&packed).unwrap();
        frame[0] = 1;
        let ended = call(address, &[("grpc-encoding", name)], frame).await;
        assert_eq!((ended.http, ended.code), (200, 0), "{name}: {ended:?}");
        // What may be compressed need not be.
        assert_eq!(call(address, &[("grpc-encoding", name)], framed(ONE).unwrap()).await.code, 0);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A length-delimited field.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut len) = (vec![number << 3 | 2], bytes.len());
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
    out
}

#[tokio::test]
async fn what_is_rejected_is_a_partial_success() {
    let address = start(|settings, _| settings.max_line_bytes = Some(1_000));
    let record = |text: &str| field(2, &field(5, &field(1, text.as_bytes())));
    let records = [record(&"x".repeat(2_000)), record("short")].concat();
    let ended = call(address, &[], framed(&field(1, &field(2, &records))).unwrap()).await;
    assert_eq!((ended.http, ended.code), (200, 0), "{ended:?}");
    let told = String::from_utf8_lossy(&ended.body);
    assert!(ended.body[5..].starts_with(b"\x0a") && told.contains("max_line_bytes"), "{ended:?}");
}

#[tokio::test]
async fn refusals_are_statuses_of_grpc() {
    let address = start(|settings, _| {
        settings.max_body_bytes = Some(10_000);
        settings.max_bodies_bytes = Some(20_000);
    });
    let bomb = || {
        let mut frame = framed(&gzip(&vec![0; 50_000])).unwrap();
        frame[0] = 1;
        frame
    };
    let mut undeclared = framed(ONE).unwrap();
    undeclared[0] = 1;
    for (headers, body, code, told) in [
        (&[][..], b"\0\0\0".to_vec(), 3, "ends before its length"),
        (&[], framed(b"x").unwrap(), 3, "not an OTLP logs request"),
        (&[], undeclared, 3, "grpc-encoding"),
        (&[("grpc-encoding", "gzip")], bomb(), 3, "max_body_bytes"),
        (&[("grpc-encoding", "br")], framed(ONE).unwrap(), 12, "none of: identity, gzip"),
        (&[], vec![0; 10_001], 3, "max_body_bytes"),
    ] {
        let ended = call(address, headers, body).await;
        assert_eq!((ended.http, ended.code), (200, code), "{ended:?}");
        assert!(ended.message.contains(told) && ended.body.is_empty(), "{ended:?}");
        assert_eq!(ended.retry_after, None, "sending the same again does not help");
    }
    let stream = TcpStream::connect(address).await.unwrap();
    let ended = call_over(stream, &[("content-type", "application/json")], b"{}".to_vec()).await;
    assert_eq!(ended.http, 415, "{ended:?}");
}

#[tokio::test]
async fn what_is_not_there_is_told_as_grpc_tells_it() {
    let address = start(|_, _| ());
    let traces = PATH.replace("logs", "trace").replace("Logs", "Trace");
    for path in [&*traces, "/v1/logs/x", "/grpc.health.v1.Health/Check"] {
        let stream = TcpStream::connect(address).await.unwrap();
        let ended =
            call_at(path, stream, &[("content-type", "application/grpc")], framed(ONE).unwrap()).await;
        assert_eq!((ended.http, ended.code), (200, 12), "{path}: {ended:?}");
        assert!(ended.message.contains(path) && ended.body.is_empty(), "{path}: {ended:?}");
    }
}

#[tokio::test]
async fn too_much_at_once_is_to_be_sent_later() {
    let (to, from) = mpsc::channel();
    let address = start(move |_, dir| {
        let store = dir.join("logs");
        duramen::Store::open(&store).unwrap().close().unwrap();
        let scopes = vec![duramen_server::Scope::Ingest];
        let (name, max_bytes_per_s) = ("a".into(), Some(1));
        let new = duramen_server::NewToken { name, scopes, max_bytes_per_s, ..Default::default() };
        let file = duramen_server::TokenFile::of(Env::os(), &store);
        to.send(format!("Bearer {}", file.create(new).unwrap().1)).unwrap();
    });
    let token = from.recv().unwrap();
    let _more_than_a_second_has = call(address, &[("authorization", &token)], framed(ONE).unwrap()).await;
    let ended = call(address, &[("authorization", &token)], framed(ONE).unwrap()).await;
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(ended.message.contains("max_bytes_per_s") && ended.retry_after.is_some(), "{ended:?}");
}

#[tokio::test]
async fn what_never_fits_is_not_to_be_sent_again() {
    let address = start(|settings, _| settings.max_bodies_bytes = Some(1_024));
    let ended = call(address, &[], framed(&ONE.repeat(100)).unwrap()).await;
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.message.contains("max_bodies_bytes") && ended.retry_after.is_none(), "{ended:?}");
}

#[tokio::test]
async fn tokens_are_asked_for() {
    let (to, from) = mpsc::channel();
    let address = start(move |_, dir| {
        let store = dir.join("logs");
        duramen::Store::open(&store).unwrap().close().unwrap();
        let file = duramen_server::TokenFile::of(Env::os(), &store);
        for (name, scope) in [("a", duramen_server::Scope::Ingest), ("b", duramen_server::Scope::Read)] {
            let new =
                duramen_server::NewToken { name: name.into(), scopes: vec![scope], ..Default::default() };
            to.send(format!("Bearer {}", file.create(new).unwrap().1)).unwrap();
        }
    });
    let tokens: Vec<String> = from.iter().collect();
    for (token, code) in [("Bearer no", 16), (&tokens[0], 0), (&tokens[1], 7)] {
        let ended = call(address, &[("authorization", token)], framed(ONE).unwrap()).await;
        assert_eq!((ended.http, ended.code), (200, code), "{ended:?}");
    }
    assert_eq!(call(address, &[], framed(ONE).unwrap()).await.code, 16);
}

#[tokio::test]
async fn over_tls_http_2_is_agreed_on() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (pem, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let address = start(move |settings, dir| {
        std::fs::write(dir.join("cert.pem"), pem).unwrap();
        std::fs::write(dir.join("key.pem"), key).unwrap();
        (settings.tls_cert, settings.tls_key) = (Some(dir.join("cert.pem")), Some(dir.join("key.pem")));
    });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(made.cert.der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpStream::connect(address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect("localhost".try_into().unwrap(), socket).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let grpc = [("content-type", "application/grpc"), ("te", "trailers")];
    assert_eq!(call_over(stream, &grpc, framed(ONE).unwrap()).await.code, 0);
}
