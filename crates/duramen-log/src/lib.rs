//! The [`log`] crate's back end for Duramen: `info!` and its like, straight into a log store, or into any other
//! [`Sink`].
//!
//! ```
//! use duramen::Logger;
//! use std::sync::Arc;
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("logs");
//! let logger = Arc::new(Logger::builder(&dir).field("app", "checkout").pid(true).open()?);
//! duramen_log::LogBackend::new(logger.clone()).install(log::LevelFilter::Info)?;
//!
//! log::error!(order = 4711, bank = "n26"; "payment refused"); // on the device when it returns
//! assert_eq!(logger.stats().lines, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A line's key-value pairs become fields of their types; its target becomes the field `target`. Lines cannot return
//! errors: what the sink refuses is counted there, in [`LogBackend::refused`], and by a [`duramen::Logger`] in the
//! log itself.

use duramen::{FieldBuf, FrontEnd, Level, Sink, Value};
use log::kv;
use std::sync::Arc;

/// A [`log::Log`] over a [`Sink`].
#[derive(Debug)]
pub struct LogBackend {
    front: FrontEnd,
    place: bool,
}

impl LogBackend {
    /// A back end that gives its lines to a sink.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self { front: FrontEnd::new(sink), place: false }
    }

    /// Whether lines get the fields `file` and `line`, where they were logged. Default false.
    pub fn with_file_and_line(mut self, place: bool) -> Self {
        self.place = place;
        self
    }

    /// Makes it the program's logger, for lines of these levels.
    ///
    /// # Errors
    /// That there is one already.
    pub fn install(self, most_verbose: log::LevelFilter) -> Result<(), log::SetLoggerError> {
        log::set_boxed_logger(Box::new(self))?;
        log::set_max_level(most_verbose);
        Ok(())
    }

    /// How many lines the sink refused.
    pub fn refused(&self) -> u64 {
        self.front.refused()
    }
}

impl log::Log for LogBackend {
    /// Always: `log`'s own level filter is asked before.
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.front.log(level(record.level()), |line| {
            match record.args().as_str() {
                Some(text) => line.message.push_str(text),
                // A value that cannot show itself is kept as far as it came.
                None => drop(std::fmt::Write::write_fmt(&mut line.message, *record.args())),
            }
            line.fields.push("target", Value::Str(record.target()));
            if self.place {
                if let Some(file) = record.file() {
                    line.fields.push("file", Value::Str(file));
                }
                if let Some(number) = record.line() {
                    line.fields.push("line", Value::Int(i64::from(number)));
                }
            }
            // The visitor has no errors of its own.
            let _infallible = record.key_values().visit(&mut Pairs(&mut line.fields));
        });
    }

    fn flush(&self) {
        // `log` has nobody to tell; the sink remembers.
        let _told_by_the_sink = self.front.sink().flush();
    }
}

fn level(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::Error,
        log::Level::Warn => Level::Warn,
        log::Level::Info => Level::Info,
        log::Level::Debug => Level::Debug,
        log::Level::Trace => Level::Trace,
    }
}

/// Takes key-value pairs into fields.
struct Pairs<'f>(&'f mut FieldBuf);

impl<'kvs> kv::VisitSource<'kvs> for Pairs<'_> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        value.visit(OneValue { name: key.as_str(), fields: self.0 })
    }
}

/// Takes one value.
struct OneValue<'f, 'n> {
    name: &'n str,
    fields: &'f mut FieldBuf,
}

impl<'v> kv::VisitValue<'v> for OneValue<'_, '_> {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        self.fields.push_display(self.name, value);
        Ok(())
    }

    fn visit_null(&mut self) -> Result<(), kv::Error> {
        self.fields.push(self.name, Value::Null);
        Ok(())
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), kv::Error> {
        self.fields.push_u64(self.name, value);
        Ok(())
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), kv::Error> {
        self.fields.push(self.name, Value::Int(value));
        Ok(())
    }

    fn visit_u128(&mut self, value: u128) -> Result<(), kv::Error> {
        self.fields.push_number(self.name, value);
        Ok(())
    }

    fn visit_i128(&mut self, value: i128) -> Result<(), kv::Error> {
        self.fields.push_number(self.name, value);
        Ok(())
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), kv::Error> {
        self.fields.push(self.name, Value::Float(value));
        Ok(())
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), kv::Error> {
        self.fields.push(self.name, Value::Bool(value));
        Ok(())
    }

    fn visit_str(&mut self, value: &str) -> Result<(), kv::Error> {
        self.fields.push(self.name, Value::Str(value));
        Ok(())
    }
}
