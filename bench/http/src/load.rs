//! Connections that stay open, each sending one request after the other.

use crate::client::Client;
use crate::lines::Corpus;
use crate::plan::{Case, Peer};
use crate::server::{Server, cpu_s};
use crate::{Args, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) lines_per_s: f64,
    /// Of the server's CPU, what it does in the seconds afterwards included.
    pub(crate) lines_per_cpu_s: f64,
    /// Cores that the client and the server were using while lines were sent.
    pub(crate) client_cores: f64,
    pub(crate) server_cores: f64,
}

/// One run of a case. All lines that were acknowledged must be there afterwards.
pub(crate) async fn run(args: &Args, case: &Case, corpus: &Corpus) -> Result<Run> {
    let path = case.protocol.path(case.peer).ok_or("a protocol that it does not take")?;
    let server = Server::start(args, case.peer)?;
    let bodies: Arc<[_]> = corpus.bodies(case.protocol, case.lines_per_request).into();
    let mut asking = Client::connect(&server).await?;
    let mut clients = Vec::new();
    for _ in 0..args.connections {
        clients.push(Client::connect(&server).await?);
    }
    // Once through before the clock starts: what is measured is a server that runs.
    for (client, body) in clients.iter_mut().zip(bodies.iter()) {
        client.post(path, body.clone()).await?;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let there = if case.peer == Peer::Empty { 0 } else { settled_count(&mut asking, case.peer).await? };
    let (server_before_s, client_before_s) = (server.cpu_s()?, cpu_s("self")?);
    let next = Arc::new(AtomicUsize::new(args.connections));
    let started = Instant::now();
    let until = started + Duration::from_secs(args.seconds);
    let mut sending = Vec::new();
    for mut client in clients {
        let (bodies, next) = (bodies.clone(), next.clone());
        sending.push(tokio::spawn(async move {
            let mut requests = 0;
            while Instant::now() < until {
                let i = next.fetch_add(1, Ordering::Relaxed) % bodies.len();
                client.post(path, bodies[i].clone()).await?;
                requests += 1;
            }
            Result::<usize>::Ok(requests)
        }));
    }
    let mut requests = 0;
    for sending in sending {
        requests += sending.await??;
    }
    let wall_s = started.elapsed().as_secs_f64();
    let client_s = cpu_s("self")? - client_before_s;
    let server_s = server.cpu_s()? - server_before_s;
    tokio::time::sleep(Duration::from_secs(args.settle_s)).await;
    let settled_s = server.cpu_s()? - server_before_s;
    let lines = (requests * case.lines_per_request) as u64;
    if case.peer != Peer::Empty {
        let found = asking.count().await?.saturating_sub(there);
        if found != lines {
            return Err(format!("{}: {lines} lines acknowledged, {found} there", case.name()).into());
        }
    }
    Ok(Run {
        lines_per_s: lines as f64 / wall_s,
        lines_per_cpu_s: lines as f64 / settled_s.max(0.01),
        client_cores: client_s / wall_s,
        server_cores: server_s / wall_s,
    })
}

/// How many lines there are, when no more become visible: VictoriaLogs takes a second or two.
async fn settled_count(asking: &mut Client, peer: Peer) -> Result<u64> {
    if peer == Peer::VictoriaLogs {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    asking.count().await
}
