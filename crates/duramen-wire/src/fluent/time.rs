//! Times of events.

use crate::msgpack::Item;

/// `None` if it is no time, or one before 1970; 0 and nil stand for now.
pub(super) fn time_of(item: Item<'_>, now_ns: i64) -> Option<i64> {
    let ns = match item {
        Item::Nil => 0,
        Item::Uint(secs) => i64::try_from(secs).ok()?.checked_mul(1_000_000_000)?,
        Item::Int(secs) if secs >= 0 => secs.checked_mul(1_000_000_000)?,
        Item::Float(secs) if (0.0..9e9).contains(&secs) => (secs * 1e9) as i64,
        Item::Ext(0, bytes) => event_time(bytes).filter(|ns| *ns >= 0)?,
        _ => return None,
    };
    Some(if ns == 0 { now_ns } else { ns })
}

/// Nanoseconds of Fluent's extension for times. The seconds have a sign, as in Fluent Bit: what it marks with -1 and -2
/// would be of the year 2106.
pub(super) fn event_time(bytes: &[u8]) -> Option<i64> {
    let n = u64::from_be_bytes(bytes.try_into().ok()?);
    Some(i64::from((n >> 32) as i32) * 1_000_000_000 + (n & 0xffff_ffff) as i64)
}

/// Whole seconds, where they may be a mark.
pub(super) fn seconds_of(item: Item<'_>) -> Option<i64> {
    match item {
        Item::Int(secs) => Some(secs),
        Item::Ext(0, bytes) => Some(event_time(bytes)?.div_euclid(1_000_000_000)),
        _ => None,
    }
}
