//! How fast files are read: `cargo run --release -p duramen-formats --example speed FILE…`
//!
//! Each file is held in memory, read a few times as `duramen ingest` reads it, and the best time is shown.
//! Before that, what reading one time stamp costs.

use duramen::Level;
use duramen_formats::{EntryReader, ReaderOptions, StampParser};
use std::convert::Infallible;

#[allow(clippy::disallowed_methods)] // A benchmark measures with the real clock.
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn stamps() {
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap_or(jiff::tz::TimeZone::UTC);
    let parser = StampParser::new(zone, 1_735_000_000_000_000_000, None);
    for text in [
        "2024-06-27T00:00:07.123456Z",
        "2024-06-27 00:00:07.123 CEST [5]",
        "2015-07-29 17:41:44,747 - INFO",
        "Dec 10 06:55:46 host",
        "26/Jan/2019:19:45:25 +0330]",
        "17/06/09 20:10:41 INFO",
        "1117838570 2005.06.03",
    ] {
        let mut best = f64::MAX;
        for _ in 0..5 {
            let started = now();
            for _ in 0..100_000 {
                std::hint::black_box(parser.parse(std::hint::black_box(text)));
            }
            best = best.min(started.elapsed().as_secs_f64());
        }
        println!("{text:<45} {:>9.0} ns", best * 1e4);
    }
}

fn main() -> std::io::Result<()> {
    stamps();
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
