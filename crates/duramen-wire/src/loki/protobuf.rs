//! A push in protobuf.

use super::{Push, labels};
use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::protobuf::{Message, Wire};
use duramen_formats::text_of;

const WHAT: &str = "a Loki push in protobuf";

impl Push {
    /// Takes a protobuf push, out of the block of snappy that it is sent in. An entry without a time stamp has `now_ns`.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none, or labels are not as Loki writes them; [`Error::Limit`] over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn protobuf(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let body = Message::body(WHAT, body);
        body.each(1, |stream| {
            let field = stream.message(1)?;
            // Loki's own clients do not look whether texts are UTF-8.
            let text = &*text_of(field.bytes);
            self.clear_labels();
            if !text.is_empty() {
                labels::parse(text, |name, value| self.add_label(name, value))
                    .map_err(|(detail, offset)| Error::malformed(WHAT, detail, field.at + offset))?;
            }
            self.begin_stream(text.len(), out);
            stream.each(2, |entry| self.protobuf_entry(entry, now_ns, out))
        })
    }

    fn protobuf_entry(&mut self, entry: Message<'_>, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let Some(time_ns) = time_of(entry.message(1)?, now_ns)? else {
            out.reject(|| "its time stamp is not one of the years 1678 to 2261".to_owned());
            return Ok(());
        };
        let line = entry.message(2)?;
        let text = text_of(line.bytes);
        let metadata = |f: &mut dyn FnMut(&str, &str)| {
            entry.each(3, |pair| {
                f(&text_of(pair.message(1)?.bytes), &text_of(pair.message(2)?.bytes));
                Ok(())
            })
        };
        self.line(time_ns, &text, metadata, out)
    }
}

/// `None` if it is no time that nanoseconds hold.
fn time_of(stamp: Message<'_>, now_ns: i64) -> Result<Option<i64>> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in stamp.fields() {
        match field? {
            (1, Wire::Varint(n)) => seconds = n as i64,
            (2, Wire::Varint(n)) => nanos = n as i32,
            _ => {}
        }
    }
    let ns = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(i64::from(nanos)));
    Ok(ns.map(|ns| if ns == 0 { now_ns } else { ns }))
}
