//! How fast files are read: `cargo run --release -p duramen-formats --example speed FILE…`
//!
//! Each file is held in memory, read a few times as `duramen ingest` reads it, and the best time is shown.

use duramen::Level;
use duramen_formats::{EntryReader, ReaderOptions};
use std::convert::Infallible;

#[allow(clippy::disallowed_methods)] // A benchmark measures with the real clock.
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn main() -> std::io::Result<()> {
    println!("{:<45} {:>9} {:>9} {:>9} {:>8} {:>8}", "file", "lines", "entries", "MB/s", "ns/line", "x raw");
    for path in std::env::args().skip(1) {
        let input = std::fs::read(&path)?;
        let mut best = f64::MAX;
        let (mut report, mut bytes_out) = (duramen_formats::Report::default(), 0);
        for _ in 0..5 {
            let started = now();
            let mut reader = EntryReader::new(ReaderOptions::new(1_735_000_000_000_000_000));
            bytes_out = 0;
            let mut sink = |entry: &[u8], _: Level, _: u64| {
                bytes_out += entry.len();
                Ok::<(), Infallible>(())
            };
            for chunk in input.chunks(256 << 10) {
                let Ok(()) = reader.feed(chunk, &mut sink);
            }
            let Ok(()) = reader.finish(&mut sink);
            best = best.min(started.elapsed().as_secs_f64());
            report = *reader.report();
        }
        let name = path.rsplit('/').next().unwrap_or(&path);
        println!(
            "{name:<45} {:>9} {:>9} {:>9.0} {:>8.0} {:>8.2}",
            report.lines,
            report.entries,
            input.len() as f64 / best / 1e6,
            best * 1e9 / report.lines.max(1) as f64,
            bytes_out as f64 / input.len() as f64,
        );
    }
    Ok(())
}
