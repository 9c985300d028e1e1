//! Inputs that come as they are written: what their first lines tell, though they rest before there are many.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod common;

use common::{Got, decode, options};
use duramen::Level;
use duramen_formats::{DETECT_BYTES, EntryReader, LineFormat};
use jiff::tz::TimeZone;
use std::convert::Infallible;

/// Reads pieces, after each of which the input rests.
fn rested(timezone: TimeZone, pieces: &[&str]) -> Vec<Got> {
    let mut got = Vec::new();
    let mut sink = |bytes: &[u8], level: Level, end_offset: u64| {
        got.push(decode(bytes, level, end_offset));
        Ok::<(), Infallible>(())
    };
    let mut options = options(LineFormat::Auto);
    options.timezone = timezone;
    let mut reader = EntryReader::new(options);
    for piece in pieces {
        reader.feed(piece.as_bytes(), &mut sink).unwrap();
        reader.finish(&mut sink).unwrap();
    }
    assert!(reader.report().balances());
    got
}

/// The same with UTC: the messages.
fn messages(pieces: &[&str]) -> Vec<String> {
    rested(TimeZone::UTC, pieces).into_iter().map(|got| got.message).collect()
}

#[test]
fn a_banner_before_a_pause_does_not_tell_of_all_that_follows() {
    let logfmt = "caller=a.go:1 level=error msg=\"no route\" code=7\n";
    let got = rested(TimeZone::UTC, &["2024-06-01 10:00:00 INFO starting\n", logfmt, logfmt]);
    assert_eq!(got[1].field("code"), Some("7"));
    assert_eq!(got[2].field("msg"), Some("\"no route\""));

    let (first, second) =
        ("2024-06-01 10:00:00 ERROR refused\nby\nthe peer", "2024-06-01 10:00:01 INFO up\nagain");
    let text = format!("{first}\n{second}\n");
    assert_eq!(messages(&["my app 1.0\n", &text]), ["my app 1.0", first, second]);

    let line = |n| format!("http 2024-06-01T10:00:0{n}Z app x\n");
    let got = rested(TimeZone::UTC, &[&line(0), &[line(1), line(2)].concat(), &line(3)]);
    let seconds: Vec<_> = got.iter().skip(1).map(|got| got.time / 1_000_000_000 - 1_717_236_000).collect();
    assert_eq!(seconds, [1, 2, 3]);
}

#[test]
fn a_date_of_later_lines_settles_the_order_of_those_after_it() {
    let pieces = ["01/02/2024 10:00:00 x\n", "13/02/2024 10:00:00 y\n", "01/02/2024 10:00:00 z\n"];
    let got = rested(TimeZone::UTC, &pieces);
    let days: Vec<_> = got.iter().map(|got| got.time / 86_400_000_000_000 - 19_754).collect();
    assert_eq!(days, [-30, 12, 0], "2 January, 13 and 1 February");
}

#[test]
fn columns_in_utc_are_believed_only_while_most_lines_are_columns() {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let columns = "#Fields: date time s-ip\n2024-06-01 10:00:00 192.0.2.1\n";
    let other = "2024-06-01 12:00:00 started, and this is no line of columns\n".repeat(4);
    let got = rested(zone, &[columns, &other, "2024-06-01 12:00:00 the same moment\n"]);
    assert_eq!(got.last().unwrap().time, got[1].time);
}

#[test]
fn nothing_more_is_told_when_there_is_enough() {
    let filler = "my app says a word\n".repeat(DETECT_BYTES / 19 + 1);
    let events = "2024-06-01 10:00:00 ERROR refused\nby the peer\n".repeat(20_000);
    let got = messages(&[&filler, &events]);
    assert_eq!(got.last().map(String::as_str), Some("by the peer"));
}

#[test]
fn who_does_not_want_to_wait_gets_the_entries_that_are_there() {
    let mut got = Vec::new();
    let mut sink = |bytes: &[u8], level: Level, end_offset: u64| {
        got.push(decode(bytes, level, end_offset).message);
        Ok::<(), Infallible>(())
    };
    let mut reader = EntryReader::new(options(LineFormat::Auto));
    for text in
        ["2024-06-01 10:00:00 one\n2024-06-01 10:00:01 two\n\tof", " two\n2024-06-01 10:00:02 three\n"]
    {
        reader.feed(text.as_bytes(), &mut sink).unwrap();
        reader.look(&mut sink).unwrap();
    }
    assert_eq!(got, ["2024-06-01 10:00:00 one", "2024-06-01 10:00:01 two\n\tof two"]);
}
