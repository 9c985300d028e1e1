//! A time stamp at the start of a text.
//!
//! ```text
//! input   zone u8 | text
//! ```

use super::Seed;
use crate::input::flags;
use duramen_formats::parse_timestamp;
use jiff::tz::{Offset, TimeZone};

/// Tries an input.
pub fn run(input: &[u8]) {
    let (zone, text) = flags(input);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let zone = match zone {
        0..16 => TimeZone::fixed(Offset::constant(zone as i8 - 8)),
        // Central Europe, without asking the machine for its zones.
        _ => TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
    };
    if let Some((_, len)) = parse_timestamp(text, &zone, 1_718_452_800_000_000_000) {
        assert!(len > 0 && text.is_char_boundary(len), "{len} bytes of {text:?}");
        // What follows the stamp does not change it, if a blank parts them.
        let alone = parse_timestamp(&text[..len], &zone, 1_718_452_800_000_000_000);
        assert!(alone.is_some(), "{:?} of {text:?}", &text[..len]);
    }
}

/// One of each shape.
pub fn seeds() -> Vec<Seed> {
    let shapes = [
        "2024-06-27T00:00:07.123Z",
        "2015-07-29 17:41:44,747 - INFO",
        "2024/06/27 00:00:07 CEST",
        "20240627T000007Z",
        "20171223-22:15:29:606|Step",
        "2005-06-03-15.42.50.675872 R02",
        "Dec 10 06:55:46 host",
        "Mon Jan  2 15:04:05 UTC 2006",
        "Mon, 02 Jan 2006 15:04:05 GMT",
        "Jun 14, 2024 3:04:05 PM",
        "26/Jan/2019:19:45:25 +0330",
        "02-Jan-2006 15:04:05.123",
        "01/02/2006 15:04:05",
        "17/06/09 20:10:41",
        "081109 203615 148",
        "03-17 16:13:38.811",
        "I0109 12:34:56.789012",
        "1286536309.586",
        "1117838570123456789",
        "2024-03-31T02:30:00",
    ];
    (0u8..)
        .zip(shapes)
        .map(|(n, text)| (format!("{n:02}"), [&[n * 2 % 20], text.as_bytes()].concat()))
        .collect()
}
