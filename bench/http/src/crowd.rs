//! Memory with many idle connections and tails.

use crate::client::Client;
use crate::plan::{Peer, Protocol};
use crate::server::Server;
use crate::{Args, Result};
use std::time::Duration;
use tokio::time::timeout;

/// Resident bytes, and those of them that belong to no file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub(crate) before: (u64, u64),
    pub(crate) with: (u64, u64),
}

pub(crate) async fn run(args: &Args, peer: Peer) -> Result<Crowd> {
    let server = Server::start(args, peer)?;
    let path = Protocol::JsonLines.path(peer).ok_or("no JSON lines")?;
    let mut sending = Client::connect(&server).await?;
    let line = |text: &str| {
        let time = jiff::Timestamp::now();
        format!("{{\"_time\":\"{time}\",\"_msg\":\"{text}\",\"app\":\"crowd\"}}\n")
    };
    sending.post(path, line("first").into()).await?;
    let before = server.memory()?;
    let mut idle = Vec::new();
    for _ in 0..args.idle {
        // It has had an answer: it is a connection that is kept alive, not one that has not begun.
        let mut client = Client::connect(&server).await?;
        client.get("/health").await?;
        idle.push(client);
    }
    let mut tails = Vec::new();
    for _ in 0..args.tails {
        tails.push(Client::connect(&server).await?.tail("app:=crowd").await?);
    }
    let mark = format!("mark{}", std::process::id());
    sending.post(path, line(&mark).into()).await?;
    for tail in &mut tails {
        let shown = async {
            while tail.next().await?["_msg"] != *mark {}
            Result::<()>::Ok(())
        };
        timeout(Duration::from_secs(60), shown).await??;
    }
    let with = server.memory()?;
    for client in &mut idle {
        if !client.is_open() {
            return Err(format!("{} has closed an idle connection", peer.name()).into());
        }
        client.get("/health").await?;
    }
    Ok(Crowd { before, with })
}
