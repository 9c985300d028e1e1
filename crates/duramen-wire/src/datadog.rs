//! Datadog's logs API, version 2: an array of objects, or one.
//!
//! ```text
//! [{"ddsource":"nginx","ddtags":"env:staging,version:5.1","hostname":"web-1","message":"…","service":"pay","status":"warn"}]
//! ```
//!
//! `message` is the message, `status` the level, `timestamp` (ms) the time. Each tag of `ddtags` becomes a field (`env`,
//! `version`; one without a colon keeps the name `ddtags`). `service`, `hostname` and `ddsource` make the stream.

use crate::decoded::Decoded;
use crate::error::Result;
use crate::json::{ObjectRows, each_value};
use crate::params::Params;
use jiter::{Jiter, JiterResult, Peek};

/// The stream fields, unless others are asked for.
pub const STREAM_FIELDS: [&str; 3] = ["service", "hostname", "ddsource"];

/// Reads requests, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Logs {
    rows: ObjectRows,
    tags: String,
}

impl Logs {
    /// As the parameters say. `now_ns` (since the epoch) tells the year of time stamps that have none.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        let mut params = params.clone();
        params.rules.ignore_fields.push("ddtags".to_owned());
        Self {
            rows: ObjectRows::with_streams(&params, now_ns, &STREAM_FIELDS, Some("status")),
            tags: String::new(),
        }
    }

    /// Takes a body.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is not JSON; [`crate::Error::Limit`] over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn read(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        each_value("a Datadog logs request", body, |row| {
            self.tags.clear();
            // What is wrong with the row, its reader says.
            let _wrong_or_not = find_tags(row, &mut self.tags);
            let tags = &self.tags;
            let _counted_in_out = self.rows.take_as(row, now_ns, out, |entry| {
                for tag in tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
                    let (name, value) = tag.split_once(':').unwrap_or(("ddtags", tag));
                    entry.field(name, value);
                }
            })?;
            Ok(())
        })
    }
}

/// Copies the text of the member `ddtags`.
fn find_tags(row: &[u8], tags: &mut String) -> JiterResult<()> {
    let mut jiter = Jiter::new(row);
    let mut key = jiter.next_object()?;
    while let Some(name) = key {
        let is_tags = name == "ddtags";
        match jiter.peek()? {
            Peek::String if is_tags => {
                tags.push_str(jiter.known_str()?);
                return Ok(());
            }
            peek => jiter.known_skip(peek)?,
        }
        key = jiter.next_key()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, show};

    #[test]
    fn requests_become_entries() {
        let mut out = Decoded::default();
        let body = br#"[{"ddsource":"nginx","ddtags":"env:staging, version:5.1,canary","hostname":"web-1","message":"hello","service":"pay","status":"warn"},
            {"message":"at","timestamp":1719446407123,"status":"200","extra":{"a":1}}, 5]"#;
        let mut logs = Logs::new(&Params::default(), NOW);
        logs.read(body, NOW, &mut out).unwrap();
        logs.read(b"{\"message\":\"one\"}", NOW, &mut out).unwrap();
        assert_eq!(out.rejected().count, 1);
        assert_eq!(
            show(&mut out),
            "NOW Warn hello {ddsource=nginx hostname=web-1 service=pay} message=hello status=warn env=staging version=5.1 ddtags=canary\n\
             1719446407123000000 Unknown at {} message=at timestamp=1719446407123 status=200 extra.a=1\n\
             NOW Unknown one {} message=one\n"
        );
        assert!(logs.read(b"[{}", NOW, &mut out).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(any: Vec<u8>, text in "\\[\\{\"ddtags\":[{}\\[\\]\":,a0]{0,20}") {
            for body in [&any[..], text.as_bytes()] {
                let _refused_or_not = Logs::new(&Params::default(), NOW).read(body, NOW, &mut Decoded::default());
            }
        }
    }
}
