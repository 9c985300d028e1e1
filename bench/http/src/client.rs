//! One connection, kept alive; and made anew if the server has closed it between two requests.

use crate::Result;
use crate::server::Server;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::VecDeque;
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    authorization: Option<String>,
}

impl Client {
    pub(crate) async fn connect(server: &Server) -> Result<Self> {
        let address = server.address.clone();
        let sender = connect(&address).await?;
        let authorization = server.token.as_ref().map(|token| format!("Bearer {token}"));
        Ok(Self { sender, address, authorization })
    }

    /// Whether the server has kept it open.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request; the answer's head.
    async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.address);
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        // VictoriaLogs closes each connection after two minutes, to have clients spread their load.
        if self.sender.ready().await.is_err() {
            self.sender = connect(&self.address).await?;
        }
        let response = self.sender.send_request(request.body(Full::new(body))?).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, told) = (response.status(), response.into_body().collect().await?.to_bytes());
        Err(format!("{path}: {status} {}", String::from_utf8_lossy(&told)).into())
    }

    /// Sends lines that must all be taken.
    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Result<()> {
        let told = self.send(Method::POST, path, body).await?.into_body().collect().await?.to_bytes();
        // What each protocol says of rows that it did not take, with a success.
        for trouble in [&b"rejected"[..], b"\"errors\":true"] {
            if told.windows(trouble.len()).any(|bytes| bytes == trouble) {
                return Err(format!("{path}: {}", String::from_utf8_lossy(&told)).into());
            }
        }
        Ok(())
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        Ok(self.send(Method::GET, path, Bytes::new()).await?.into_body().collect().await?.to_bytes())
    }

    /// How many lines there are.
    pub(crate) async fn count(&mut self) -> Result<u64> {
        let told = self.get("/select/logsql/query?query=*%20%7C%20stats%20count()%20n").await?;
        let row: Value = serde_json::from_slice(&told)?;
        Ok(row["n"].as_str().ok_or("no count")?.parse()?)
    }

    /// Follows what a query finds; this connection is for nothing else then.
    pub(crate) async fn tail(mut self, query: &str) -> Result<Tail> {
        let path = format!("/select/logsql/tail?query={query}");
        let rows = self.send(Method::GET, &path, Bytes::new()).await?.into_body();
        Ok(Tail { rows, cut: Vec::new(), ready: VecDeque::new(), _client: self })
    }
}

async fn connect(address: &str) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // It ends with the sender; what goes wrong, the sender is told.
    tokio::spawn(connection);
    Ok(sender)
}

/// Rows as they come.
#[derive(Debug)]
pub(crate) struct Tail {
    rows: Incoming,
    /// A row whose end has not come.
    cut: Vec<u8>,
    ready: VecDeque<Value>,
    _client: Client,
}

impl Tail {
    pub(crate) async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(row);
            }
            let frame = self.rows.frame().await.ok_or("the tail has ended")??;
            self.cut.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..]));
            while let Some(end) = self.cut.iter().position(|byte| *byte == b'\n') {
                let row: Vec<u8> = self.cut.drain(..=end).collect();
                if row.len() > 1 {
                    self.ready.push_back(serde_json::from_slice(&row)?);
                }
            }
        }
    }
}
