//! From the acknowledgement of a line until it is visible, in a query and in a tail that runs.

use crate::client::Client;
use crate::lines::Corpus;
use crate::plan::{BATCH, Peer, Protocol};
use crate::server::Server;
use crate::{Args, Result};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Milliseconds, sorted.
#[derive(Clone, Debug)]
pub(crate) struct Visible {
    pub(crate) query_ms: Vec<f64>,
    pub(crate) tail_ms: Vec<f64>,
}

const LONGEST: Duration = Duration::from_secs(60);

pub(crate) async fn run(args: &Args, peer: Peer, corpus: &Corpus) -> Result<Visible> {
    let server = Server::start(args, peer)?;
    let path = Protocol::JsonLines.path(peer).ok_or("no JSON lines")?;
    let mut sending = Client::connect(&server).await?;
    let mut asking = Client::connect(&server).await?;
    // Not an empty store, but a quiet one.
    for body in corpus.bodies(Protocol::JsonLines, BATCH) {
        sending.post(path, body).await?;
    }
    tokio::time::sleep(Duration::from_secs(args.settle_s)).await;
    let probes = if peer == Peer::VictoriaLogs { args.probes.div_ceil(10) } else { args.probes };
    // Another word each time, also for a server that has been here before.
    let mark = format!("probe{}x", std::process::id());
    let mut query_ms = Vec::new();
    for probe in 0..probes {
        sending.post(path, line(&mark, probe)).await?;
        let acknowledged = Instant::now();
        let query = format!("/select/logsql/query?query=probe:={mark}{probe}");
        while asking.get(&query).await?.is_empty() {
            if acknowledged.elapsed() > LONGEST {
                return Err(format!("{}: a line has not become visible", peer.name()).into());
            }
        }
        query_ms.push(acknowledged.elapsed().as_secs_f64() * 1e3);
    }
    let mut tail = Client::connect(&server).await?.tail("app:=probes").await?;
    let (mut tail_ms, mark) = (Vec::new(), mark + "t");
    for probe in 0..probes {
        let wanted = format!("{mark}{probe}");
        let arrival = async {
            while tail.next().await?["probe"] != *wanted {}
            Result::<Instant>::Ok(Instant::now())
        };
        let acknowledgement = async {
            sending.post(path, line(&mark, probe)).await?;
            Result::<Instant>::Ok(Instant::now())
        };
        let both = async { tokio::try_join!(arrival, acknowledgement) };
        let (arrived, acknowledged) = timeout(LONGEST, both).await??;
        // It may come before the acknowledgement does.
        tail_ms.push(arrived.saturating_duration_since(acknowledged).as_secs_f64() * 1e3);
    }
    query_ms.sort_by(f64::total_cmp);
    tail_ms.sort_by(f64::total_cmp);
    Ok(Visible { query_ms, tail_ms })
}

fn line(mark: &str, probe: usize) -> bytes::Bytes {
    let now = jiff::Timestamp::now();
    let text = serde_json::json!({ "_time": now.to_string(), "_msg": "seen", "app": "probes", "probe": format!("{mark}{probe}") });
    format!("{text}\n").into()
}
