//! Elasticsearch's `_bulk`: NDJSON in pairs, an action and the document that it is about. And a document alone.
//!
//! ```text
//! {"create":{"_index":"logs-app"}}
//! {"@timestamp":"2024-06-27T00:00:07Z","message":"payment refused","log.level":"error"}
//! ```
//!
//! `create` and `index` make an entry each. Lines are only ever added: an `update` or `delete` is refused as an item.
//! An index and an id that an action names are kept as the fields `es_index` and `es_id` (ids do not replace anything);
//! an index in the path goes for actions that name none. Everything else in a document is as in [`crate::jsonline`].

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::{ObjectRows, lines};
use crate::params::Params;
use duramen_formats::without_bom;
use jiter::{Jiter, JiterResult, Peek};
use std::fmt::Write;

const WHAT: &str = "an Elasticsearch bulk request";
/// The longest name of an index, in bytes, as in Elasticsearch. The path's is sent once and stands in each item of a reply.
pub const MAX_INDEX_BYTES: usize = 255;
/// How many failed items are told with their own reason; those beyond get a general one.
const REASONS_KEPT: usize = 1_000;
/// The longest action line that is compared with the next.
const MAX_KEPT_ACTION_BYTES: usize = 256;
const OTHER_REASON: &str = "malformed; the reasons of the first failed items say more";
/// An item of the reply that was taken, without the name of its index.
const GOOD_ITEM: &str = r#",{"create":{"_index":,"status":201}}"#;
const NOT_SUPPORTED: &str = "entries are only ever added: update and delete are not supported";

/// Reads bulk requests, keeping its buffers, and writes the replies. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Bulk {
    rows: ObjectRows,
    items: Vec<Item>,
    indexes: Indexes,
    reasons: Vec<String>,
    action: Action,
}

/// What became of an item, in a byte: a body of some megabytes has millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    verb: Verb,
    ok: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Verb {
    #[default]
    Create,
    Index,
    Update,
    Delete,
}

impl Verb {
    const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Index => "index",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The names of the items' indexes, as JSON: one that items in a row have is there once.
#[derive(Debug, Default)]
struct Indexes {
    names: String,
    /// Of each run its first item, and where its name ends. A name that is not said is empty.
    runs: Vec<(usize, usize)>,
    last: String,
    last_json_bytes: usize,
    /// What they take in a reply, where each item has its own.
    reply_bytes: usize,
}

impl Indexes {
    fn clear(&mut self) {
        self.names.clear();
        self.runs.clear();
        self.reply_bytes = 0;
    }

    fn push(&mut self, item: usize, name: &str) {
        if self.runs.is_empty() || self.last != name {
            name.clone_into(&mut self.last);
            let start = self.names.len();
            if !name.is_empty() {
                let _infallible = write!(self.names, "{}", serde_json::Value::from(name));
            }
            self.last_json_bytes = self.names.len() - start;
            self.runs.push((item, self.names.len()));
        }
        self.reply_bytes += self.last_json_bytes;
    }

    /// The name of each item, for items that are asked for in order.
    fn in_order<'n>(&'n self) -> impl FnMut(usize) -> &'n str {
        let (mut runs, mut name) = (self.runs.iter().peekable(), 0..0);
        move |item| {
            while let Some((_, end)) = runs.next_if(|(first, _)| *first <= item) {
                name = name.end..*end;
            }
            &self.names[name.clone()]
        }
    }
}

/// The name, or as much of it as one may have.
fn start_of(index: &str) -> &str {
    let most = index.len().min(MAX_INDEX_BYTES);
    let end = (0..=most).rev().find(|&end| index.is_char_boundary(end));
    &index[..end.unwrap_or(0)]
}

/// Those of an index and an id that are not empty.
fn said<'a, 'v>(both: &'a [(&'v str, &'v str); 2]) -> &'a [(&'v str, &'v str)] {
    match both.map(|(_, value)| !value.is_empty()) {
        [true, true] => &both[..],
        [true, false] => &both[..1],
        [false, true] => &both[1..],
        [false, false] => &[],
    }
}

/// What is wrong with a name of an index that is too long.
fn too_long(index: &str) -> Option<String> {
    let bytes = index.len();
    (bytes > MAX_INDEX_BYTES)
        .then(|| format!("it has {bytes} bytes, and the name of an index at most {MAX_INDEX_BYTES}"))
}

/// The action line that was read last.
#[derive(Debug, Default)]
struct Action {
    /// All of it: clients send the same one again and again.
    line: Vec<u8>,
    verb: Verb,
    index: String,
    id: String,
}

impl Bulk {
    /// As the parameters say. `now_ns` (since the epoch) tells the year of time stamps that have none.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        Self {
            rows: ObjectRows::new(params, now_ns),
            items: Vec::new(),
            indexes: Indexes::default(),
            reasons: Vec::new(),
            action: Action::default(),
        }
    }

    /// Takes a body; `index` is the one in the path. Rejected rows are counted by item, from 0.
    ///
    /// # Errors
    /// [`Error::Malformed`] if an action is none, or has no document; [`Error::Parameter`] if `index` is over
    /// [`MAX_INDEX_BYTES`]; [`Error::Limit`] if the entries, or the names of indexes in the reply, are over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn read(&mut self, body: &[u8], index: Option<&str>, now_ns: i64, out: &mut Decoded) -> Result<()> {
        self.items.clear();
        self.indexes.clear();
        self.reasons.clear();
        if let Some(detail) = index.and_then(too_long) {
            return Err(Error::Parameter { name: "index, in the path".into(), detail });
        }
        let limit = out.limits().max_entries_bytes;
        let start = body.as_ptr() as usize;
        let mut lines = lines(without_bom(body));
        while let Some(line) = lines.next() {
            let at = line.as_ptr() as usize - start;
            self.action.read(line).map_err(|detail| Error::malformed(WHAT, detail, at))?;
            let verb = self.action.verb;
            let index = match self.action.index.as_str() {
                "" => index.unwrap_or_default(),
                named => named,
            };
            // Of one that is too long the start: clients for Java take no item without.
            self.indexes.push(self.items.len(), start_of(index));
            if self.indexes.reply_bytes > limit {
                let detail = "the reply, which has each item's index, takes more bytes; send fewer at a time";
                return Err(Error::Limit { name: "max_entries_bytes", limit, detail: detail.into() });
            }
            if verb == Verb::Delete {
                self.refuse(verb, NOT_SUPPORTED.to_owned(), out);
                continue;
            }
            let document = lines
                .next()
                .ok_or_else(|| Error::malformed(WHAT, "an action without a document", body.len()))?;
            if verb == Verb::Update {
                self.refuse(verb, NOT_SUPPORTED.to_owned(), out);
                continue;
            }
            if let Some(detail) = too_long(index) {
                self.refuse(verb, format!("the action's _index: {detail}"), out);
                continue;
            }
            let beside = [("es_index", index), ("es_id", &self.action.id)];
            match self.rows.read(document, said(&beside), now_ns, out) {
                Ok(_) => {
                    let outcome = out.take(&mut self.rows.entry)?;
                    self.push(verb, outcome);
                }
                Err(reason) => self.refuse(verb, reason, out),
            }
        }
        Ok(())
    }

    /// Takes a body that is one document, of an index and perhaps with an id; says why it is none. Leaves no reply: [`Bulk::items`]
    /// is 0.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `index` is over [`MAX_INDEX_BYTES`]; [`Error::Limit`] as for [`Bulk::read`].
    pub fn read_document(
        &mut self,
        body: &[u8],
        index: &str,
        id: &str,
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<Result<(), String>> {
        self.items.clear();
        self.indexes.clear();
        self.reasons.clear();
        if let Some(detail) = too_long(index) {
            return Err(Error::Parameter { name: "index, in the path".into(), detail });
        }
        let document = without_bom(body).trim_ascii();
        match self.rows.read(document, said(&[("es_index", index), ("es_id", id)]), now_ns, out) {
            Ok(_) => out.take(&mut self.rows.entry),
            Err(reason) => {
                out.reject(|| reason.clone());
                Ok(Err(reason))
            }
        }
    }

    fn refuse(&mut self, verb: Verb, reason: String, out: &mut Decoded) {
        out.reject(|| reason.clone());
        self.push(verb, Err(reason));
    }

    fn push(&mut self, verb: Verb, outcome: Result<(), String>) {
        self.items.push(Item { verb, ok: outcome.is_ok() });
        if let Err(reason) = outcome
            && self.reasons.len() < REASONS_KEPT
        {
            self.reasons.push(reason);
        }
    }

    /// How many items the request had.
    pub fn items(&self) -> usize {
        self.items.len()
    }

    /// Writes the reply to the request that was read last: each item with its index and 201, or 400 and why. Clients match
    /// the bytes `"errors":false,"items":[` where their buffer cuts the rest off, so nothing stands between. Java's take no
    /// item without its index.
    pub fn write_reply(&self, took_ms: u64, reply: &mut String) {
        // What it takes if all is well.
        reply.reserve(64 + self.items.len() * GOOD_ITEM.len() + self.indexes.reply_bytes);
        self.write_items(took_ms, [usize::MAX; 2], reply);
    }

    /// The same for a client that looks only for an item that was taken and for reasons, and sends everything again if the
    /// reply is longer than it likes: one item that was taken, and 100 of those that were not.
    pub fn write_short_reply(&self, took_ms: u64, reply: &mut String) {
        self.write_items(took_ms, [1, 100], reply);
    }

    /// `most`: of the items that were taken, and of those that were not.
    fn write_items(&self, took_ms: u64, mut most: [usize; 2], reply: &mut String) {
        let errors = self.items.iter().any(|item| !item.ok);
        let _infallible = write!(reply, "{{\"took\":{took_ms},\"errors\":{errors},\"items\":[");
        let mut reasons = self.reasons.iter();
        let mut index_of = self.indexes.in_order();
        let mut separator = "{\"";
        for (i, Item { verb, ok }) in self.items.iter().enumerate() {
            let left = &mut most[usize::from(!*ok)];
            if *left == 0 {
                continue;
            }
            *left -= 1;
            reply.push_str(std::mem::replace(&mut separator, ",{\""));
            reply.push_str(verb.name());
            let index = index_of(i);
            reply.push_str(if index.is_empty() { "\":{" } else { "\":{\"_index\":" });
            reply.push_str(index);
            reply.push_str(if index.is_empty() { "" } else { "," });
            if *ok {
                reply.push_str("\"status\":201}}");
                continue;
            }
            let kind = match verb {
                Verb::Create | Verb::Index => "document_parsing_exception",
                Verb::Update | Verb::Delete => "action_request_validation_exception",
            };
            let reason = reasons.next().map_or(OTHER_REASON, String::as_str);
            let _infallible = write!(
                reply,
                "\"status\":400,\"error\":{{\"type\":\"{kind}\",\"reason\":{}}}}}}}",
                serde_json::Value::from(reason)
            );
        }
        reply.push_str("]}");
    }
}

impl Action {
    fn read(&mut self, line: &[u8]) -> Result<(), String> {
        if self.line == line {
            return Ok(());
        }
        self.line.clear();
        self.index.clear();
        self.id.clear();
        let mut jiter = Jiter::new(line);
        self.parse(&mut jiter)
            .map_err(|e| format!("an action line is no JSON object: {}", e.error_type))??;
        // One that is longer is hardly the same again.
        if line.len() <= MAX_KEPT_ACTION_BYTES {
            self.line.extend_from_slice(line);
        }
        Ok(())
    }

    fn parse(&mut self, jiter: &mut Jiter<'_>) -> JiterResult<Result<(), String>> {
        self.verb = match jiter.next_object()? {
            Some("create") => Verb::Create,
            Some("index") => Verb::Index,
            Some("update") => Verb::Update,
            Some("delete") => Verb::Delete,
            Some(other) => {
                let known: String = other.chars().take(40).collect();
                return Ok(Err(format!("an action is create, index, update or delete, and not {known:?}")));
            }
            None => return Ok(Err("an action line is an empty object".to_owned())),
        };
        let mut key = jiter.next_object()?;
        while let Some(name) = key {
            let target = match name {
                "_index" => Some(&mut self.index),
                "_id" => Some(&mut self.id),
                _ => None,
            };
            match (jiter.peek()?, target) {
                (Peek::String, Some(target)) => target.push_str(jiter.known_str()?),
                (peek, Some(target)) if peek.is_num() => {
                    let number = jiter.known_number_bytes(peek)?;
                    target.push_str(std::str::from_utf8(number).unwrap_or_default());
                }
                (peek, _) => jiter.known_skip(peek)?,
            }
            key = jiter.next_key()?;
        }
        // winston-elasticsearch keeps its count of attempts here.
        while let Some(name) = jiter.next_key()? {
            if matches!(name, "create" | "index" | "update" | "delete") {
                return Ok(Err("an action line has more than one action".to_owned()));
            }
            jiter.next_skip()?;
        }
        jiter.finish()?;
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests;
