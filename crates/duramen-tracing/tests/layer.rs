//! `tracing`'s macros, into a store.

#![allow(clippy::unwrap_used)] // helpers of tests are tests, too

#[path = "../examples/requests.rs"]
mod requests;

use duramen::{Logger, Sink};
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

/// What `run` logs, a line each: its message, and the fields of these names.
fn logged(names: &[&str], run: impl FnOnce()) -> Vec<String> {
    logged_with(DuramenLayer::new, names, run)
}

fn logged_with(
    layer: impl FnOnce(Arc<dyn Sink>) -> DuramenLayer,
    names: &[&str],
    run: impl FnOnce(),
) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let logger = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let subscriber = tracing_subscriber::registry().with(layer(logger.clone()));
    tracing::subscriber::with_default(subscriber, run);
    let mut found = Vec::new();
    logger
        .store()
        .unwrap()
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let mut line = row.message().to_owned();
            for name in names {
                line += &format!(" {name}={}", row.field(name).unwrap_or_default());
            }
            found.push(line);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    found
}

#[test]
fn a_value_that_logs_while_its_span_records_it_does_not_wait_for_itself() {
    struct Chatty;
    impl std::fmt::Debug for Chatty {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            tracing::info!("about me");
            f.write_str("chatty")
        }
    }
    let (told, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = logged(&["who", "id"], || {
            let span = tracing::info_span!("request", id = 7, who = tracing::field::Empty);
            let _inside = span.enter();
            span.record("who", tracing::field::debug(Chatty));
            tracing::info!("after");
        });
        told.send(lines).unwrap();
    });
    let lines = ended.recv_timeout(std::time::Duration::from_secs(30)).expect("it waits for ever");
    assert_eq!(lines, ["about me who= id=7", "after who=chatty id=7"]);
}

#[test]
fn an_error_that_cannot_show_itself_is_kept_as_far_as_it_came() {
    #[derive(Debug)]
    struct Broken;
    impl std::fmt::Display for Broken {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("half of")?;
            Err(std::fmt::Error)
        }
    }
    impl std::error::Error for Broken {}
    let lines = logged(&["error"], || {
        tracing::error!(error = &Broken as &dyn std::error::Error, "m");
    });
    assert_eq!(lines, ["m error=half of"]);
}

#[test]
fn a_message_of_any_type_is_the_message() {
    let lines = logged(&["message"], || {
        tracing::info!(message = 5);
        tracing::info!(message = true);
        tracing::info!(message = &std::io::Error::other("reset") as &dyn std::error::Error);
    });
    assert_eq!(lines, ["5 message=", "true message=", "reset message="]);
}

#[test]
fn a_field_that_is_recorded_again_and_again_takes_no_more_memory() {
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let lines = logged(&["state", "done", "user"], || {
        let span = tracing::info_span!(
            "copy",
            user = "ann",
            state = tracing::field::Empty,
            done = tracing::field::Empty
        );
        let state = "waiting for the next part".repeat(100);
        let record = || {
            span.record("state", state.as_str());
            span.record("done", 7);
        };
        record();
        let before = resident();
        (0..50_000).for_each(|_| record());
        let more = resident().saturating_sub(before);
        assert!(more < 64 << 20, "{more} bytes");
        span.record("state", "ends");
        span.in_scope(|| tracing::info!("m"));
    });
    assert_eq!(lines, ["m state=ends done=7 user=ann"]);
}

#[test]
fn a_record_of_the_log_crate_has_its_own_target_and_place() {
    let names = ["target", "file", "line", "log.target", "log.module_path", "log.file", "log.line", "user"];
    let layer = |sink| DuramenLayer::new(sink).with_file_and_line(true);
    let lines = logged_with(layer, &names, || {
        // As tracing-log makes them.
        tracing::event!(
            target: "log",
            tracing::Level::INFO,
            log.target = "hyper::client",
            log.module_path = "hyper::client::pool",
            log.file = "pool.rs",
            log.line = 7_u32,
            user = "ann",
            "connected"
        );
        tracing::event!(target: "log", tracing::Level::INFO, log.target = "bare", "no place");
    });
    let none = "log.target= log.module_path= log.file= log.line=";
    assert_eq!(
        lines,
        [
            format!("connected target=hyper::client file=pool.rs line=7 {none} user=ann"),
            format!("no place target=bare file= line= {none} user="),
        ]
    );
    let lines = logged(&["target", "log.file"], || {
        tracing::event!(target: "log", tracing::Level::INFO, log.file = "mine", "m");
    });
    assert_eq!(lines, ["m target=log log.file=mine"]);
}
