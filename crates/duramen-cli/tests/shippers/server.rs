//! A server on a store of its own, and questions to it.

use crate::sandbox::{PATIENCE, Sandbox};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Instant;

pub struct Server {
    sandbox: Sandbox,
    child: Child,
    /// What the server asks for, if it does.
    pub token: Option<String>,
    /// Where HTTP is.
    pub http: SocketAddr,
    /// The other listeners, by protocol.
    others: Vec<(String, SocketAddr)>,
}

/// A response to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Server {
    /// Starts one on ports that the system chooses.
    pub fn start(args: &[&str]) -> Self {
        Self::start_in(Sandbox::new(), None, args)
    }

    /// Starts one that asks for a token, and has one that may do everything.
    pub fn start_with_token(args: &[&str]) -> Self {
        Self::start_with_limited_token(&[], args)
    }

    /// The same, with limits of the token, as flags of `duramen token create`.
    pub fn start_with_limited_token(limits: &[&str], args: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let made = sandbox.run([&["token", "create", "all", "--scope", "admin"], limits].concat()).expect(0);
        Self::start_in(sandbox, Some(made.stdout.trim().to_owned()), args)
    }

    fn start_in(sandbox: Sandbox, token: Option<String>, args: &[&str]) -> Self {
        let (child, http, others) = Self::spawn(&sandbox, "127.0.0.1:0", args);
        Self { sandbox, child, token, http, others }
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, on the same store and port.
    pub fn start_again(&mut self, args: &[&str]) {
        (self.child, self.http, self.others) = Self::spawn(&self.sandbox, &self.http.to_string(), args);
    }

    fn spawn(
        sandbox: &Sandbox,
        listen: &str,
        args: &[&str],
    ) -> (Child, SocketAddr, Vec<(String, SocketAddr)>) {
        let mut command = sandbox.command(["serve", "--listen", listen, "--log-format", "json"]);
        let mut child = command.args(args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut others, mut told) = (Vec::new(), String::new());
        let http = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the server ended: {told}");
            told.push_str(&line);
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            let fields = &event["fields"];
            if fields["message"] != "listening" {
                continue;
            }
            let address = fields["address"].as_str().unwrap().parse().unwrap();
            match fields["protocol"].as_str() {
                Some(protocol) => others.push((protocol.to_owned(), address)),
                None => break address,
            }
        };
        // It must not wait for somebody to read what it says.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        (child, http, others)
    }

    /// Where this protocol is listened for.
    pub fn of(&self, protocol: &str) -> SocketAddr {
        self.others.iter().find(|(name, _)| name == protocol).unwrap().1
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head =
            format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        if let Some(token) = &self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"\r\n").unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub fn post(&self, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Answer {
        self.request("POST", path, &[("Content-Type", content_type)], body.as_ref())
    }

    /// The rows of a query, the oldest first.
    pub fn query(&self, query: &str) -> Vec<Value> {
        let query: String = query
            .bytes()
            .map(|b| if b.is_ascii_alphanumeric() { char::from(b).into() } else { format!("%{b:02X}") })
            .collect();
        let answer = self.request("GET", &format!("/select/logsql/query?query={query}"), &[], b"");
        assert_eq!(answer.status, 200, "{}", answer.body);
        let rows = answer.body.lines().map(|line| serde_json::from_str(line).unwrap());
        rows.map(|mut row: Value| {
            // What a row's stream is, the filters of the tests ask.
            row.as_object_mut().unwrap().remove("_stream");
            row
        })
        .collect()
    }

    /// The rows of a query, once there are so many: for what is not acknowledged.
    pub fn query_until(&self, query: &str, rows: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let found = self.query(query);
            if found.len() >= rows || began.elapsed() > PATIENCE {
                assert_eq!(found.len(), rows, "{found:?}");
                return found;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
