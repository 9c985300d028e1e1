//! A program that logs through `tracing` into a store, and looks at what it logged.
//!
//! `cargo run -p duramen-tracing --example requests [DIR]`, then `duramen query --store DIR 'spans:request'`

use duramen::Logger;
use duramen_tracing::DuramenLayer;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tracing::{Span, debug, error, info, info_span};
use tracing_subscriber::layer::SubscriberExt;

fn serve(id: u64) {
    let request = info_span!("request", id, user = "ann", rows = tracing::field::Empty);
    request.in_scope(|| {
        debug!("begins");
        let query = info_span!("query", table = "orders", id = "q1");
        query.in_scope(|| {
            Span::current().record("table", "orders_2026");
            info!(took_ms = 1.5, cached = false, "found");
        });
        request.record("rows", 3);
        let io = std::io::Error::other("connection reset");
        error!(error = &io as &dyn Error, user = "bob", "answer not sent");
    });
}

/// Logs some lines, and says which are in the store.
pub fn run(dir: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let logger = Arc::new(Logger::builder(dir).field("app", "shop").open()?);
    let subscriber = tracing_subscriber::registry().with(DuramenLayer::new(logger.clone()));
    tracing::subscriber::with_default(subscriber, || {
        info!(peers = u64::MAX, "ready");
        serve(7);
    });

    let mut found = Vec::new();
    logger.store()?.scan(i64::MIN, i64::MAX, &mut |row| {
        let mut line = format!("{}:", row.message());
        row.for_each_field(&mut |name, text, _| {
            if !["app", "target", "_stream"].contains(&name) {
                line += &format!(" {name}={text}");
            }
        });
        found.push(line);
        ControlFlow::Continue(())
    })?;
    logger.close()?;
    Ok(found)
}

#[allow(dead_code)] // the test runs it without
fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "duramen-data".into());
    run(Path::new(&dir))?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
