//! JSON lines: VictoriaLogs' `/insert/jsonline`, and the native ingest of objects, arrays and NDJSON.
//!
//! ```text
//! {"_time":"2024-06-27T00:00:07Z","_msg":"payment refused","level":"error","user":{"id":7}}
//! ```
//!
//! Nested objects become `user.id`; times are RFC 3339 and its relatives, or count s, ms, µs or ns from 1970. Without
//! a time, or with 0, a row has the time at which it came. Which fields are taken for time, message and level where
//! the [`Params`] do not say is as everywhere in Duramen: see [`duramen_formats::json`].

use crate::decoded::Decoded;
use crate::error::Result;
use crate::json::{ObjectRows, each_value, first_line_is_whole, lines};
use crate::params::Params;
use duramen_formats::without_bom;

/// Reads JSON rows, keeping its buffers. Can be sent to another thread, not shared.
///
/// ```
/// use duramen_wire::{Decoded, Params, jsonline::JsonLines};
/// let mut out = Decoded::default();
/// JsonLines::new(&Params::default(), 1_700_000_000_000_000_000)
///     .lines(b"{\"_msg\":\"hello\"}\n{\"_msg\":\n", 1_700_000_000_000_000_000, &mut out)?;
/// assert_eq!((out.accepted(), out.rejected().count, out.rejected().first[0].index), (1, 1, 1));
/// # Ok::<(), duramen_wire::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    rows: ObjectRows,
}

impl JsonLines {
    /// As the parameters say. `now_ns` (since the epoch) tells the year of time stamps that have none.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        Self { rows: ObjectRows::new(params, now_ns) }
    }

    /// Takes NDJSON: an object a line; blank lines do not count. A line that is none is rejected, and those after it
    /// are taken. A body may come in pieces that end where lines do.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn lines(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        for line in lines(body) {
            let _counted_in_out = self.rows.take(line, now_ns, out)?;
        }
        Ok(())
    }

    /// Takes a whole body: one object, an array of them, or NDJSON; which, it shows itself.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is an array, or begins with an object over several lines, and is not JSON;
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn document(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut all = lines(body);
        // The usual case is known without reading the first row twice.
        if let Some(first) = all.next()
            && self.rows.read(first, &[], now_ns, out).is_ok()
        {
            let _counted_in_out = out.take(&mut self.rows.entry)?;
            for line in all {
                let _counted_in_out = self.rows.take(line, now_ns, out)?;
            }
            return Ok(());
        }
        let shown = without_bom(body);
        if shown.trim_ascii_start().first() != Some(&b'[') && first_line_is_whole(shown) {
            return self.lines(body, now_ns, out);
        }
        each_value("JSON", body, |row| {
            let _counted_in_out = self.rows.take(row, now_ns, out)?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
