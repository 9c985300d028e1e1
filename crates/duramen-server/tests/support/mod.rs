//! A server on a store of its own, and a client that speaks just enough HTTP.
#![allow(dead_code)]

use duramen_engine::io::Env;
use duramen_server::{Allocator, NewToken, Scope, Settings, TokenFile, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

/// A server that runs until the test's process ends.
pub struct Server {
    pub address: SocketAddr,
    dir: tempfile::TempDir,
}

/// An answer: its status, its head in small letters, its body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(|_| ())
    }

    /// One with other settings than those by default.
    pub fn start_with(set: impl FnOnce(&mut Settings) + Send + 'static) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), set)
    }

    /// One that asks for a token; with one of each of these scopes.
    pub fn start_guarded(scopes: &[Scope]) -> (Self, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("logs");
        duramen::Store::open(&store).unwrap().close().unwrap();
        let file = TokenFile::of(Env::os(), &store);
        let token = |scope: &Scope| {
            let new = NewToken { name: scope.to_string(), scopes: vec![*scope], ..NewToken::default() };
            file.create(new).unwrap().1
        };
        let tokens = scopes.iter().map(token).collect();
        (Self::start_in(dir, |_| ()), tokens)
    }

    fn start_in(dir: tempfile::TempDir, set: impl FnOnce(&mut Settings) + Send + 'static) -> Self {
        let store = dir.path().join("logs");
        let (to, from) = mpsc::channel();
        std::thread::spawn(move || {
            let mut settings = Settings::default();
            settings.listen = vec![([127, 0, 0, 1], 0).into()];
            set(&mut settings);
            let served = serve(&store, &Env::os(), settings, Allocator::default(), |addresses| {
                to.send(addresses[0]).unwrap()
            });
            served.unwrap();
        });
        let address = from.recv_timeout(Duration::from_secs(60)).unwrap();
        Self { address, dir }
    }

    /// Sends lines of JSON, whose `_time` is in nanoseconds.
    pub fn ingest(&self, lines: &[Value]) {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = "/insert/jsonline?_stream_fields=app,host,service.name";
        let answer = self.ask("POST", path, &[("content-type", "application/stream+json")], &body);
        assert_eq!((answer.status, &*answer.body), (200, ""), "{answer:?}");
    }

    pub fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Answer {
        self.ask("GET", &format!("{path}?{}", encoded(parameters)), &[], "")
    }

    pub fn post(&self, path: &str, parameters: &[(&str, &str)]) -> Answer {
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.ask("POST", path, &[form], &encoded(parameters))
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += "host: localhost\r\n";
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n{body}", body.len());
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(body) } else { body.to_owned() };
        Answer { status, head, body }
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole += &rest[..size];
        body = &rest[size + 2..];
    }
}

/// Parameters as a URL has them.
pub fn encoded(parameters: &[(&str, &str)]) -> String {
    let one = |text: &str| -> String {
        text.bytes()
            .map(|b| if b.is_ascii_alphanumeric() { (b as char).to_string() } else { format!("%{b:02X}") })
            .collect()
    };
    let pairs: Vec<String> = parameters.iter().map(|(n, v)| format!("{}={}", one(n), one(v))).collect();
    pairs.join("&")
}
