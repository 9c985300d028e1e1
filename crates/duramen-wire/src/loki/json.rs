//! A push in JSON.

use super::Push;
use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::{mended, skipped};
use jiter::{Jiter, JiterError, Peek};

const WHAT: &str = "a Loki push in JSON";

/// From so many on, a number counts nanoseconds: as such it is of 1973, as microseconds of after 5000.
const NANOS: i64 = 100_000_000_000_000_000;

fn wrong(e: JiterError) -> Error {
    Error::malformed(WHAT, &e.error_type, e.index)
}

impl Push {
    /// Takes a JSON push. Time stamps are strings or numbers of nanoseconds, and what else is a time by its looks: seconds,
    /// milli- and microseconds of this age, RFC 3339. One that is empty or 0 stands for `now_ns`; of one that is none the
    /// line is rejected.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none, or one of the form that came before (`labels` and `entries`), of which nothing
    /// would be stored; [`Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn json(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let body = &*mended(body);
        let mut jiter = Jiter::new(body);
        let mut has_streams = false;
        let mut key = jiter.next_object().map_err(wrong)?;
        while let Some(name) = key {
            if name == "streams" {
                has_streams = true;
                let mut element = jiter.next_array().map_err(wrong)?;
                while element.is_some() {
                    self.json_stream(&mut jiter, body, now_ns, out)?;
                    element = jiter.array_step().map_err(wrong)?;
                }
            } else {
                jiter.next_skip().map_err(wrong)?;
            }
            key = jiter.next_key().map_err(wrong)?;
        }
        jiter.finish().map_err(wrong)?;
        if has_streams { Ok(()) } else { Err(Error::malformed(WHAT, "it has no `streams`", 0)) }
    }

    fn json_stream(
        &mut self,
        jiter: &mut Jiter<'_>,
        body: &[u8],
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<()> {
        self.clear_labels();
        let mut labelled = false;
        // Lines that stand before their labels are read after them.
        let mut before: Option<std::ops::Range<usize>> = None;
        let (at, mut has_values, mut has_others) = (jiter.current_index(), false, false);
        let said_twice = |name: &str, at| Err(Error::malformed(WHAT, format!("`{name}` is there twice"), at));
        let mut key = jiter.next_object().map_err(wrong)?;
        while let Some(name) = key {
            match name {
                "stream" if !labelled => {
                    let start = jiter.current_index();
                    pairs(jiter, 0, &mut |name, value| self.add_label(name, value))?;
                    self.begin_stream(jiter.current_index() - start, out);
                    labelled = true;
                }
                "stream" => return said_twice("stream", jiter.current_index()),
                "values" if labelled => {
                    has_values = true;
                    self.json_values(jiter, 0, now_ns, out)?;
                }
                "values" if before.is_some() => return said_twice("values", jiter.current_index()),
                "values" => {
                    has_values = true;
                    let peek = jiter.peek().map_err(wrong)?;
                    before = Some(skipped(jiter, peek).map_err(wrong)?);
                }
                _ => {
                    has_others = true;
                    jiter.next_skip().map_err(wrong)?;
                }
            }
            key = jiter.next_key().map_err(wrong)?;
        }
        if has_others && !has_values {
            return Err(Error::malformed(WHAT, "a stream has no `values`", at));
        }
        if let Some(values) = before {
            if !labelled {
                self.begin_stream(0, out);
            }
            let start = values.start;
            self.json_values(&mut Jiter::new(&body[values]), start, now_ns, out)?;
        }
        Ok(())
    }

    /// `jiter` began at the byte `from` of the body.
    fn json_values(
        &mut self,
        jiter: &mut Jiter<'_>,
        from: usize,
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<()> {
        let wrong = |e: JiterError| Error::malformed(WHAT, &e.error_type, from + e.index);
        let mut line = String::new();
        let mut pair = jiter.next_array().map_err(wrong)?;
        while pair.is_some() {
            let at = from + jiter.current_index();
            let wrong_pair = |detail| Error::malformed(WHAT, detail, at);
            let Some(stamp) = jiter.next_array().map_err(wrong)? else {
                return Err(wrong_pair("a value has neither time nor line"));
            };
            let time_ns = self.time_of(jiter, stamp, now_ns).map_err(wrong)?;
            if jiter.array_step().map_err(wrong)?.is_none() {
                return Err(wrong_pair("a value has no line"));
            }
            line.clear();
            line.push_str(jiter.next_str().map_err(wrong)?);
            let metadata = jiter.array_step().map_err(wrong)?;
            let mut read = |f: &mut dyn FnMut(&str, &str)| match metadata {
                Some(_) => pairs(jiter, from, f),
                None => Ok(()),
            };
            match time_ns {
                Some(time_ns) => self.line(time_ns, &line, read, out)?,
                None => {
                    read(&mut |_, _| {})?;
                    out.reject(|| "its time is none".to_owned());
                }
            }
            if metadata.is_some() {
                while let Some(peek) = jiter.array_step().map_err(wrong)? {
                    jiter.known_skip(peek).map_err(wrong)?;
                }
            }
            pair = jiter.array_step().map_err(wrong)?;
        }
        Ok(())
    }

    /// The time that stands at the cursor; `None` if it is none.
    fn time_of(&self, jiter: &mut Jiter<'_>, peek: Peek, now_ns: i64) -> Result<Option<i64>, JiterError> {
        let text = match peek {
            Peek::String => jiter.known_str()?,
            _ if peek.is_num() => std::str::from_utf8(jiter.known_number_bytes(peek)?).unwrap_or_default(),
            _ => {
                jiter.known_skip(peek)?;
                return Ok(None);
            }
        };
        let ns = if text.is_empty() { Some(0) } else { text.parse().ok() };
        Ok(match ns {
            Some(0) => Some(now_ns),
            Some(ns) if ns >= NANOS => Some(ns),
            // So few are another unit; as they are said, they would be of 1970.
            ns => self.stamps.parse_value(text).or(ns),
        })
    }
}

/// Reads an object of texts, or null; what is no text is taken as its JSON, null left out. `jiter` began at the byte
/// `from` of the body.
fn pairs(jiter: &mut Jiter<'_>, from: usize, f: &mut dyn FnMut(&str, &str)) -> Result<()> {
    let wrong = |e: JiterError| Error::malformed(WHAT, &e.error_type, from + e.index);
    if jiter.peek().map_err(wrong)? == Peek::Null {
        return jiter.known_null().map_err(wrong);
    }
    let mut name = String::new();
    let mut key = jiter.next_object().map_err(wrong)?;
    while let Some(k) = key {
        name.clear();
        name.push_str(k);
        match jiter.peek().map_err(wrong)? {
            Peek::String => f(&name, jiter.known_str().map_err(wrong)?),
            Peek::Null => jiter.known_null().map_err(wrong)?,
            peek => {
                let start = jiter.current_index();
                jiter.known_skip(peek).map_err(wrong)?;
                f(&name, std::str::from_utf8(jiter.slice_to_current(start)).unwrap_or_default().trim());
            }
        }
        key = jiter.next_key().map_err(wrong)?;
    }
    Ok(())
}
