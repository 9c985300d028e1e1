//! `tracing`'s macros, into a store.

#[path = "../examples/requests.rs"]
mod requests;

use duramen::Logger;
use duramen_tracing::DuramenLayer;
use std::sync::Arc;
use tracing_subscriber::layer::SubscriberExt;

#[test]
fn the_example_logs_what_it_should_with_the_innermost_of_each_name() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        requests::run(dir.path()).unwrap(),
        [
            "ready: level=info peers=18446744073709551615",
            "begins: id=7 level=debug spans=request user=ann",
            "found: cached=false id=q1 level=info spans=request:query table=orders_2026 took_ms=1.5 user=ann",
            "answer not sent: error=connection reset id=7 level=error rows=3 spans=request user=bob",
        ]
    );
}

#[test]
fn the_place_is_there_if_asked_for_and_what_is_refused_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let layer = DuramenLayer::new(logger.clone()).with_file_and_line(true);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, || {
        tracing::trace!(target: "there", "m");
        logger.close().unwrap();
        tracing::trace!("too late");
    });
    assert_eq!(logger.stats().errors, 1);
    let store = duramen::Store::open_read_only(dir.path()).unwrap();
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push((
                row.field("target").unwrap(),
                row.field("file").unwrap(),
                row.field("line").unwrap(),
            ));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(found.len(), 1);
    let (target, file, line) = found.remove(0);
    assert_eq!(target, "there");
    assert!(file.ends_with("layer.rs") && line.parse::<u32>().unwrap() > 1, "{file} {line}");
}
