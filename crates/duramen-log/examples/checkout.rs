//! A program that logs through the `log` crate into a store, and looks at what it logged.
//!
//! `cargo run -p duramen-log --example checkout [DIR]`, then `duramen query --store DIR 'level:error'`

use duramen::Logger;
use duramen_log::LogBackend;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Logs three lines, and says which messages are in the store.
pub fn run(dir: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let logger = Arc::new(Logger::builder(dir).field("app", "checkout").pid(true).open()?);
    LogBackend::new(logger.clone()).install(log::LevelFilter::Info)?;

    log::info!("ready");
    log::debug!("not interesting enough");
    log::warn!(ms = 1250.5, bank = "n26"; "the bank is slow");
    log::error!(order = 4711_u64, retry = false; "payment of {} refused", "ann");

    let mut found = Vec::new();
    logger.store()?.scan(i64::MIN, i64::MAX, &mut |row| {
        let mut line = format!("{}:", row.message());
        row.for_each_field(&mut |name, text, kind| {
            if !["pid", "_stream"].contains(&name) {
                line += &format!(" {name}={text} ({kind:?})");
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
