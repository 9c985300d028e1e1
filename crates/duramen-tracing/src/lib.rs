//! A [`tracing`](https://docs.rs/tracing) layer for Duramen: events with their spans' fields, straight into a log
//! store, or into any other [`Sink`].
//!
//! ```
//! use duramen::Logger;
//! use duramen_tracing::DuramenLayer;
//! use std::sync::Arc;
//! use tracing_subscriber::layer::SubscriberExt;
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("logs");
//! let logger = Arc::new(Logger::builder(&dir).field("app", "checkout").open()?);
//! let subscriber = tracing_subscriber::registry().with(DuramenLayer::new(logger.clone()));
//! tracing::subscriber::with_default(subscriber, || {
//!     let request = tracing::info_span!("request", id = 7, user = "ann");
//!     request.in_scope(|| tracing::error!(order = 4711, "payment refused")); // on the device when it returns
//! });
//! assert_eq!(logger.stats().lines, 1); // with id, user, order, spans = "request", target
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An event's line has its message and level, its fields with their types, the fields of every span that it is in,
//! the field `target`, and in `spans` the names of the spans, outermost first, joined by `:`. Where names are the
//! same, the innermost wins: the event's own field before those of its span. `target`, `spans` and, if asked for, `file` and
//! `line` are the event's; a span's fields of these names give way. Events cannot return errors: what the
//! sink refuses is counted there, in [`DuramenLayer::refused`], and by a [`duramen::Logger`] in the log itself.
//!
//! Records of the `log` crate that come through `tracing-log`, as they do by default with `tracing_subscriber`'s `init`,
//! have the target, file and line that they were logged with. `tracing-log` does not hand over their key-value pairs: a program
//! that has such installs `duramen_log::LogBackend` for them.

mod log_record;
mod visit;

use duramen::{FieldBuf, FrontEnd, Level, Sink, Value};
use log_record::LogRecord;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use visit::{OfEvent, OfSpan};

/// A [`Layer`] over a [`Sink`].
#[derive(Debug)]
pub struct DuramenLayer {
    front: Arc<FrontEnd>,
    place: bool,
}

/// What is kept with a span.
#[derive(Debug, Default)]
struct SpanFields(FieldBuf);

impl DuramenLayer {
    /// A layer that gives its events to a sink.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self { front: Arc::new(FrontEnd::new(sink)), place: false }
    }

    /// Whether events get the fields `file` and `line`, where they were logged. Default false.
    pub fn with_file_and_line(mut self, place: bool) -> Self {
        self.place = place;
        self
    }

    /// How many lines the sink refused.
    pub fn refused(&self) -> u64 {
        self.front.refused()
    }
}

/// The field with the names of the spans that an event is in.
const SPANS_FIELD: &str = "spans";

/// The names of the spans that an event is in, outermost first.
struct Names<'a, S>(&'a Context<'a, S>, &'a Event<'a>);

impl<S: Subscriber + for<'s> LookupSpan<'s>> Display for Names<'_, S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let spans = self.0.event_scope(self.1).into_iter().flat_map(|scope| scope.from_root());
        for (i, span) in spans.enumerate() {
            if i > 0 {
                f.write_str(":")?;
            }
            f.write_str(span.name())?;
        }
        Ok(())
    }
}

fn level(level: tracing_core::Level) -> Level {
    match level {
        tracing_core::Level::ERROR => Level::Error,
        tracing_core::Level::WARN => Level::Warn,
        tracing_core::Level::INFO => Level::Info,
        tracing_core::Level::DEBUG => Level::Debug,
        tracing_core::Level::TRACE => Level::Trace,
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for DuramenLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = SpanFields::default();
        attributes.record(&mut OfSpan(&mut fields.0));
        span.extensions_mut().replace(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // A value may log while it shows itself, and the event then looks at this span: no lock may be held.
        let mut recorded = FieldBuf::default();
        values.record(&mut OfSpan(&mut recorded));
        if let Some(SpanFields(fields)) = span.extensions_mut().get_mut() {
            // Copied, to leave behind what is replaced: a long span's progress may be recorded without end.
            let mut kept = FieldBuf::default();
            kept.put_all(fields);
            kept.put_all(&recorded);
            *fields = kept;
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        self.front.log(level(*metadata.level()), |line| {
            if let Some(scope) = context.event_scope(event) {
                for span in scope.from_root() {
                    if let Some(SpanFields(fields)) = span.extensions().get() {
                        line.fields.put_all(fields);
                    }
                }
                line.fields.remove(SPANS_FIELD);
                line.fields.push_display(SPANS_FIELD, Names(&context, event));
            }
            let of_log = LogRecord::of(event);
            let (target, file, number) = match &of_log {
                Some(record) => (record.target.as_deref(), record.file.as_deref(), record.line),
                None => (None, metadata.file(), metadata.line().map(u64::from)),
            };
            line.fields.put("target", Value::Str(target.unwrap_or(metadata.target())));
            if self.place {
                if let Some(file) = file {
                    line.fields.put("file", Value::Str(file));
                }
                if let Some(number) = number {
                    line.fields.remove("line");
                    line.fields.push_u64("line", number);
                }
            }
            event.record(&mut OfEvent { line, of_log: of_log.is_some() });
        });
    }
}
