//! systemd's journal export format: what `journalctl -o export` writes and `systemd-journal-upload` sends.
//!
//! ```text
//! entry   field * LF
//! field   NAME=text LF   |   NAME LF length u64 little-endian, so many bytes, LF
//! ```
//!
//! `MESSAGE` is the message, `PRIORITY` tells the level, `__REALTIME_TIMESTAMP` (µs) the time. Fields keep their names;
//! those that begin with `__`, which are the journal's own, are left out.

use crate::{NameFilter, Names, level, text_of};
use duramen::{EntryBuf, Value};
use memchr::memchr;

/// What every entry that `journalctl` writes begins with.
pub(crate) const BEGINNING: &[u8] = b"__CURSOR=";

/// What stands at a place where a field begins, or an entry ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A field of so many bytes.
    Field(usize),
    /// The end of the entry, of one byte.
    End,
    /// Not enough bytes to tell; a field of bytes is at least so long.
    More(u64),
}

/// Tells what stands at the beginning of `bytes`.
///
/// # Errors
/// Why it is none of this format.
pub fn next(bytes: &[u8]) -> Result<Next, &'static str> {
    let Some(line) = memchr(b'\n', bytes) else { return Ok(Next::More(0)) };
    if line == 0 {
        return Ok(Next::End);
    }
    let (name, behind) = bytes.split_at(line + 1);
    if memchr(b'=', name).is_some() {
        return Ok(Next::Field(line + 1));
    }
    let Some(len) = behind.first_chunk() else { return Ok(Next::More(0)) };
    let head = line as u64 + 1 + 8;
    let len = u64::from_le_bytes(*len)
        .checked_add(head + 1)
        .filter(|len| *len < 1 << 40)
        .ok_or("a field of over a terabyte")?;
    match usize::try_from(len).ok().filter(|len| *len <= bytes.len()) {
        Some(len) if bytes.get(len - 1) == Some(&b'\n') => Ok(Next::Field(len)),
        Some(_) => Err("a field of bytes does not end with a line feed"),
        None => Ok(Next::More(len)),
    }
}

/// Whether the field that begins here has a name as the journal's fields have.
pub(crate) fn has_name(field: &[u8]) -> bool {
    let name = field.split(|b| matches!(b, b'=' | b'\n')).next().unwrap_or_default();
    (1..=64).contains(&name.len())
        && name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

/// Fills an entry that was started from fields of which [`next`] said that they are some; says whether they have the time.
/// `names` are those that the entry has.
pub fn fill(mut fields: &[u8], names: &mut Names, left_out: &NameFilter, entry: &mut EntryBuf) -> bool {
    let (mut has_message, mut has_time) = (false, false);
    while !fields.is_empty() {
        // An input that was cut off may end amid its last field.
        let line = memchr(b'\n', fields).unwrap_or(fields.len());
        let (name, value);
        match memchr(b'=', &fields[..line]) {
            Some(equals) => {
                (name, value) = (&fields[..equals], &fields[equals + 1..line]);
                fields = fields.get(line + 1..).unwrap_or_default();
            }
            None => {
                name = &fields[..line];
                // Its length was checked when its end was looked for.
                let Some((len, bytes)) = fields.get(line + 1..).and_then(<[u8]>::split_first_chunk) else {
                    break;
                };
                let len = usize::try_from(u64::from_le_bytes(*len)).unwrap_or(usize::MAX);
                let Some((bytes, behind)) = bytes.split_at_checked(len) else { break };
                value = bytes;
                fields = behind.strip_prefix(b"\n").unwrap_or(behind);
            }
        }
        let (name, value) = (text_of(name), text_of(value));
        match &*name {
            "MESSAGE" if !std::mem::replace(&mut has_message, true) => {
                // Another one is a field beside it.
                _ = names.take("MESSAGE", Value::Str(&value));
                entry.message(&value);
            }
            "__REALTIME_TIMESTAMP" => {
                if let Some(us) = value.parse::<i64>().ok().and_then(|us| us.checked_mul(1_000)) {
                    has_time = true;
                    entry.time(us);
                }
            }
            name if name.starts_with("__") => {}
            name => {
                if let ("PRIORITY", Ok(severity)) = (name, value.parse()) {
                    entry.level(level::of_syslog_severity(severity).unwrap_or_default());
                }
                if !left_out.has(name)
                    && let Some(name) = names.take(name, Value::Str(&value))
                {
                    entry.field(name, Value::Str(&value));
                }
            }
        }
    }
    has_time
}
