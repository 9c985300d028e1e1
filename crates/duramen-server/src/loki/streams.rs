//! Lines as JSON, by stream: `{"stream":{…},"values":[["<ns>","line"]]}`.

use super::request::LokiResult;
use crate::answer::JsonText;
use crate::error::{ApiError, ApiResult};
use duramen_logql::{Entry, Origin};
use foldhash::fast::FixedState;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Entries by stream, as they will be sent, in the order in which streams come first.
#[derive(Debug)]
pub(super) struct Streams {
    /// Whether the labels of lines are told apart by where they come from: those of the stream, metadata, and parsed.
    categorize: bool,
    limit_bytes: usize,
    bytes: usize,
    by_labels: HashMap<String, usize, FixedState>,
    streams: VecDeque<Stream>,
    /// How many entries of the first of them are written.
    written: usize,
    /// How many entries there are.
    pub entries: u64,
}

#[derive(Debug)]
struct Stream {
    labels: String,
    /// The entries, one behind the other.
    values: Vec<u8>,
    /// Where in `values` each is.
    spans: Vec<Range<usize>>,
}

fn object<'l>(labels: impl Iterator<Item = (&'l str, &'l str, Origin)>) -> String {
    let labels: Map<String, Value> = labels.map(|(name, value, _)| (name.to_owned(), value.into())).collect();
    Value::Object(labels).to_string()
}

impl Streams {
    /// None yet, and at most so many bytes.
    pub fn new(categorize: bool, limit_bytes: usize) -> Self {
        let (by_labels, streams) = (HashMap::default(), VecDeque::new());
        Self { categorize, limit_bytes, bytes: 0, by_labels, streams, written: 0, entries: 0 }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// 400 if there are more bytes than there may be.
    pub fn add(&mut self, entry: &Entry<'_>) -> LokiResult<()> {
        let of = |origin: Origin| entry.all_labels().filter(move |label| label.2 == origin);
        let labels = if self.categorize { object(of(Origin::Stream)) } else { object(entry.all_labels()) };
        let before = self.bytes;
        let stream = match self.by_labels.get(&labels) {
            Some(&stream) => stream,
            None => {
                self.bytes += labels.len() * 2 + 64;
                self.by_labels.insert(labels.clone(), self.streams.len());
                self.streams.push_back(Stream { labels, values: Vec::new(), spans: Vec::new() });
                self.streams.len() - 1
            }
        };
        let Stream { values, spans, .. } = &mut self.streams[stream];
        let from = values.len();
        values.extend_from_slice(b"[\"");
        values.extend_from_slice(entry.time_ns.to_string().as_bytes());
        values.extend_from_slice(b"\",");
        // Writing to memory does not fail, and text can always be written.
        let _written = serde_json::to_writer(&mut *values, &entry.line);
        if self.categorize {
            values.extend_from_slice(b",{");
            let parts = [("structuredMetadata", Origin::Metadata), ("parsed", Origin::Parsed)];
            for (name, origin) in parts.into_iter().filter(|(_, origin)| of(*origin).next().is_some()) {
                values.extend_from_slice(if values.ends_with(b"{") { b"\"" } else { b",\"" });
                values.extend_from_slice(name.as_bytes());
                values.extend_from_slice(b"\":");
                values.extend_from_slice(object(of(origin)).as_bytes());
            }
            values.push(b'}');
        }
        values.push(b']');
        spans.push(from..values.len());
        self.bytes += values.len() - from + size_of::<Range<usize>>();
        self.entries += 1;
        if self.bytes > self.limit_bytes && before <= self.limit_bytes {
            return Err(ApiError::bad_request(format!(
                "the answer has more than {} bytes (query_memory_bytes): ask for fewer lines, or a shorter time",
                self.limit_bytes
            ))
            .into());
        }
        Ok(())
    }

    /// How many bytes it has, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Streams, and the entries of each, in the opposite order.
    pub fn reverse(&mut self) {
        self.streams.make_contiguous().reverse();
        self.streams.iter_mut().for_each(|stream| stream.spans.reverse());
    }

    /// Writes the JSON array.
    ///
    /// # Errors
    /// As [`JsonText::raw`].
    pub fn write(mut self, to: &mut JsonText<'_>) -> ApiResult<()> {
        self.write_part(to, usize::MAX)
    }

    /// Writes a JSON array of what is not written yet: of so many bytes, and up to an entry more. Nothing can be added then.
    ///
    /// # Errors
    /// As [`JsonText::raw`].
    pub fn write_part(&mut self, to: &mut JsonText<'_>, most_bytes: usize) -> ApiResult<()> {
        self.by_labels = HashMap::default();
        to.raw(b"[")?;
        let (mut bytes, mut streams) = (0, 0);
        while bytes < most_bytes
            && let Some(Stream { labels, values, spans }) = self.streams.front()
        {
            to.raw(if streams > 0 { b",{\"stream\":" } else { b"{\"stream\":" })?;
            to.raw(labels.as_bytes())?;
            to.raw(b",\"values\":[")?;
            (bytes, streams) = (bytes + labels.len(), streams + 1);
            let first = self.written;
            for (i, span) in spans[first..].iter().enumerate() {
                if i > 0 && bytes >= most_bytes {
                    break;
                }
                to.raw(if i > 0 { b"," } else { b"" })?;
                to.raw(&values[span.clone()])?;
                bytes += span.len();
                self.written += 1;
            }
            to.raw(b"]}")?;
            if self.written == spans.len() {
                self.written = 0;
                let _memory_given_back = self.streams.pop_front();
            }
        }
        to.raw(b"]")
    }

    /// Whether nothing is left to be written.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}

/// What a run did, where Loki's clients look for it.
pub(super) fn stats(run: &duramen_query::RunStats, entries: u64, answer_bytes: usize) -> Value {
    let seconds = run.elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64());
    let per_second = |n: u64| if seconds > 0.0 { (n as f64 / seconds) as u64 } else { 0 };
    let store = json!({
        "totalChunksRef": run.blocks_total,
        "totalChunksDownloaded": run.blocks_read,
        "chunksDownloadTime": 0,
        "chunk": {
            "headChunkBytes": 0,
            "headChunkLines": 0,
            "decompressedBytes": run.bytes_read,
            "decompressedLines": run.rows_scanned,
            "compressedBytes": 0,
            "totalDuplicates": 0,
        },
    });
    json!({
        "summary": {
            "bytesProcessedPerSecond": per_second(run.bytes_read),
            "linesProcessedPerSecond": per_second(run.rows_scanned),
            "totalBytesProcessed": run.bytes_read,
            "totalLinesProcessed": run.rows_scanned,
            "execTime": seconds,
            "queueTime": 0,
            "subqueries": 0,
            "totalEntriesReturned": entries,
            "splits": 0,
            "shards": 0,
            "totalPostFilterLines": run.rows_matched,
            "totalStructuredMetadataBytesProcessed": 0,
            "answerBytes": answer_bytes,
        },
        "querier": { "store": store },
        "ingester": { "totalReached": 0, "totalChunksMatched": 0, "totalBatches": 0, "totalLinesSent": 0 },
    })
}
