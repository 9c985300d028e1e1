//! The `log` crate's macros, into a store.
#![allow(clippy::unwrap_used)] // helpers of tests may

#[path = "../examples/checkout.rs"]
mod checkout;

use duramen::{Logger, Record, Sink, SinkError};
use duramen_log::LogBackend;
use log::Log;
use std::sync::{Arc, Mutex, OnceLock};

#[test]
fn the_example_logs_what_it_should_with_types() {
    let dir = tempfile::tempdir().unwrap();
    let found = checkout::run(dir.path()).unwrap();
    let target = "target=log_backend::checkout (String)";
    assert_eq!(
        found,
        [
            format!("ready: app=checkout (String) level=info (String) {target}"),
            format!(
                "the bank is slow: app=checkout (String) bank=n26 (String) level=warn (String) ms=1250.5 (Number) {target}"
            ),
            format!(
                "payment of ann refused: app=checkout (String) level=error (String) order=4711 (Number) \
                 retry=false (Bool) {target}"
            ),
        ]
    );
}

/// A sink whose library logs, as a client of a database might.
#[derive(Debug, Default)]
struct Talkative {
    lines: Mutex<Vec<String>>,
    back: OnceLock<Arc<LogBackend>>,
}

#[derive(Debug)]
struct Shared(Arc<Talkative>);

impl Sink for Shared {
    fn log(&self, record: &Record<'_>) -> Result<(), SinkError> {
        self.0.lines.lock().unwrap().push(record.message.to_owned());
        if let Some(back) = self.0.back.get() {
            back.log(&log::Record::builder().args(format_args!("from inside")).build());
        }
        Err("it takes none".into())
    }

    fn flush(&self) -> Result<(), SinkError> {
        Ok(())
    }

    fn close(&self) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn what_a_sink_logs_does_not_come_back_to_it_and_what_it_refuses_is_counted() {
    let sink = Arc::new(Talkative::default());
    let back = Arc::new(LogBackend::new(Arc::new(Shared(sink.clone()))));
    sink.back.set(back.clone()).unwrap();
    back.log(&log::Record::builder().args(format_args!("from outside")).build());
    assert_eq!(*sink.lines.lock().unwrap(), ["from outside"]);
    assert_eq!(back.refused(), 1);
}

/// Logs while it is shown.
struct Shows<'a>(&'a LogBackend);

impl std::fmt::Display for Shows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.log(&log::Record::builder().args(format_args!("inner")).build());
        f.write_str("shown")
    }
}

#[test]
fn a_value_that_logs_while_it_is_shown_costs_neither_line() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Arc::new(Logger::builder(dir.path()).open().unwrap());
    let back = LogBackend::new(logger.clone()).with_file_and_line(true);
    let shows = Shows(&back);
    back.log(
        &log::Record::builder().args(format_args!("outer {shows}")).file(Some("a.rs")).line(Some(7)).build(),
    );
    let mut found = Vec::new();
    logger
        .store()
        .unwrap()
        .scan(i64::MIN, i64::MAX, &mut |row| {
            found.push((row.message().to_owned(), row.field("file"), row.field("line")));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    found.sort();
    let place = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [("inner".to_owned(), None, None), ("outer shown".to_owned(), place("a.rs"), place("7"))]
    );
}
