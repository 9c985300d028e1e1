//! JSON lines: VictoriaLogs' `/insert/jsonline`, and the native ingest of objects, arrays and NDJSON.
//!
//! ```text
//! {"_time":"2024-06-27T00:00:07Z","_msg":"payment refused","level":"error","user":{"id":7}}
//! ```
//!
//! Senders that are not told to put an object into each line send them one after another, or as an array: brackets around and
//! commas between objects count as white space.
//!
//! Nested objects become `user.id`; times are RFC 3339 and its relatives, or count s, ms, µs or ns from 1970. Without
//! a time, or with 0, a row has the time at which it came. Which fields are taken for time, message and level where
//! the [`Params`] do not say is as everywhere in Duramen: see [`duramen_formats::json`].

use crate::decoded::Decoded;
use crate::error::Result;
use crate::json::{ObjectRows, each_value, end_of, first_line_is_whole};
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

    /// Takes NDJSON: an object a line, or several, or an array of them; blank lines do not count. What is none is rejected
    /// up to the end of its line, and the objects before and behind it are taken. A body may come in pieces that end where
    /// lines do.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn lines(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        self.objects(body, false, now_ns, out)
    }

    /// The same of a whole body, whose objects may go over several lines.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn whole(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        self.objects(body, true, now_ns, out)
    }

    fn objects(&mut self, body: &[u8], mut over_lines: bool, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut at = 0;
        while at < body.len() {
            let end = line_end(body, at);
            let line = &body[at..end];
            at = if line.trim_ascii().is_empty() {
                end + 1
            } else if self.rows.read(line, &[], now_ns, out).is_ok() {
                let _counted_in_out = out.take(&mut self.rows.entry)?;
                end + 1
            } else {
                self.apart(body, (at, end), &mut over_lines, now_ns, out)?
            };
        }
        Ok(())
    }

    /// Takes the objects of a line that is not just one, and says where the next line begins. Objects are told apart by their
    /// brackets alone, so that one that is wrong in itself is rejected by itself.
    fn apart(
        &mut self,
        body: &[u8],
        (mut at, mut end): (usize, usize),
        over_lines: &mut bool,
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<usize> {
        at = end - without_bom(&body[at..end]).len();
        loop {
            let between = |b: &&u8| b.is_ascii_whitespace() || matches!(b, b',' | b'[' | b']');
            at += body[at..end].iter().take_while(between).count();
            if at == end {
                return Ok(end + 1);
            }
            if let Some(behind) = end_of(&body[..end], at).filter(|_| body[at] == b'{') {
                let _counted_in_out = self.rows.take(&body[at..behind], now_ns, out)?;
                at = behind;
                continue;
            }
            // Lines behind one that was cut belong to it only if they make it an object. Who sends one that they do not make
            // whole sends lines: it is looked for once.
            if *over_lines && body[at] == b'{' {
                let behind = end_of(body, at)
                    .filter(|behind| self.rows.read(&body[at..*behind], &[], now_ns, out).is_ok());
                if let Some(behind) = behind {
                    let _counted_in_out = out.take(&mut self.rows.entry)?;
                    (at, end) = (behind, line_end(body, behind));
                    continue;
                }
                *over_lines = false;
            }
            let _counted_in_out = self.rows.take(&body[at..end], now_ns, out)?;
            return Ok(end + 1);
        }
    }

    /// Takes a whole body: one object, an array of them, or NDJSON; which, it shows itself.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is an array, or begins with an object over several lines, and is not JSON;
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn document(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        // The usual case is known without reading the first row twice.
        let first = body.len() - body.trim_ascii_start().len();
        let end = line_end(body, first);
        if self.rows.read(&body[first..end], &[], now_ns, out).is_ok() {
            let _counted_in_out = out.take(&mut self.rows.entry)?;
            return self.lines(body.get(end + 1..).unwrap_or_default(), now_ns, out);
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

/// Where the line ends that goes on here.
fn line_end(body: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &body[at..]).map_or(body.len(), |len| at + len)
}

#[cfg(test)]
mod tests;
