//! Exports of systemd's journal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod common;

use common::{Got, check_pieces, options, read_with};
use duramen::Level;
use duramen_formats::{EntryReader, LineFormat, Report};
use proptest::prelude::*;

fn bytes_field(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b"\n", &(value.len() as u64).to_le_bytes(), value, b"\n"].concat()
}

/// As `journalctl -o export` writes it.
fn entry(n: u32, message: &[u8]) -> Vec<u8> {
    let head = format!(
        "__CURSOR=s=739ad463348b4ceca5a9e69c95a3c93f;i={n:x};b=6c7c6013a26343b29e964691ff25d04c;m=4fc72436e;t=4c508a72423d9;x=d3e5610681098c10\n\
         __REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP=21415215982\n_BOOT_ID=6c7c6013a26343b29e964691ff25d04c\n_TRANSPORT=syslog\nPRIORITY=4\n",
        1_717_236_000_000_000_u64 + u64::from(n)
    );
    let message = match message.contains(&b'\n') || std::str::from_utf8(message).is_err() {
        true => bytes_field("MESSAGE", message),
        false => [b"MESSAGE=", message, b"\n"].concat(),
    };
    [head.as_bytes(), &message, b"SYSLOG_IDENTIFIER=sudo\n_PID=5000\n_HOSTNAME=web-1\n\n"].concat()
}

fn read(format: LineFormat, input: &[u8], piece: usize) -> (Vec<Got>, Report) {
    let (got, report) = read_with(EntryReader::new(options(format)), input, piece);
    assert!(report.balances(), "{report:?}");
    assert_eq!(got.iter().map(|g| g.raw_len as usize).sum::<usize>(), input.len());
    assert_eq!(got.last().map_or(0, |g| g.end_offset), input.len() as u64);
    (got, report)
}

fn messages(got: &[Got]) -> Vec<&str> {
    got.iter().map(|g| g.message.as_str()).collect()
}

#[test]
fn entries_have_their_fields_and_messages_of_any_bytes() {
    let input = [entry(1, b"a=b"), entry(2, b"two\nlines\n\n"), entry(3, b"h\xe4ss \x1b[1m")].concat();
    for piece in [1, 7, 100, usize::MAX] {
        let (got, report) = read(LineFormat::Auto, &input, piece);
        assert_eq!(messages(&got), ["a=b", "two\nlines\n\n", "h\\xE4ss \x1b[1m"]);
        for (n, got) in (1..).zip(&got) {
            assert_eq!((got.time, got.level), (1_717_236_000_000_000_000 + n * 1000, Level::Warn));
            let names: Vec<_> = got.fields.iter().map(|(name, _)| name.as_str()).collect();
            let expected = ["_BOOT_ID", "_TRANSPORT", "PRIORITY", "SYSLOG_IDENTIFIER", "_PID", "_HOSTNAME"];
            assert_eq!(names, expected);
        }
        assert_eq!((report.lines, report.formats.journal, report.lines_without_time), (3, 3, 0));
    }
}

#[test]
fn an_entry_without_its_end_is_kept_as_it_is() {
    let whole = entry(1, b"first");
    let input = [whole.clone(), entry(2, b"second\nline")].concat();
    for cut in whole.len()..input.len() {
        let (got, report) = read(LineFormat::Auto, &input[..cut], 64);
        assert_eq!(got[0].message, "first");
        assert!(got.len() <= 3 && report.lines <= 3, "{cut}: {got:?}");
        let near = |g: &Got| (g.time - 1_717_236_000_000_000_000).abs() < 1_000_000;
        assert!(got.iter().all(near), "{cut}: {got:?}");
        let detected = EntryReader::detect(&options(LineFormat::Auto), &input);
        let at = got[0].end_offset;
        let reader = EntryReader::resume(options(LineFormat::Auto), at, detected, Some(got[0].time));
        assert_eq!(read_with(reader, &input[at as usize..cut], 5).0, got[1..], "{cut}");
    }
}

#[test]
fn what_is_no_field_is_kept_as_text() {
    let broken = [b"B\n".as_slice(), &[1, 0, 0, 0, 0, 0, 0, 0], b"xy\n"].concat();
    let input = [&entry(1, b"a")[..], b"no field\nlower=case\n", &broken, &entry(2, b"b")].concat();
    for piece in [1, 10, usize::MAX] {
        let (got, report) = read(LineFormat::Auto, &input, piece);
        let expected = ["a", "no field", "lower=case", "B", "\x01\0\0\0\0\0\0\0xy", "b"];
        assert_eq!(messages(&got), expected);
        assert_eq!((report.unparsed_lines, report.formats.journal), (4, 2));
    }
    let (got, report) = read(LineFormat::Journal, b"2024-06-01 10:00:00 ERROR x\n2024-06-01 10:00:01 y\n", 5);
    assert_eq!((got.len(), got[0].level, report.unparsed_lines), (2, Level::Error, 2));
}

#[test]
fn a_field_that_is_too_long_is_cut_and_all_of_it_kept() {
    for long in
        [bytes_field("COREDUMP", &[b'\n'; 6 << 20]), [b"COREDUMP=", &[b'x'; 6 << 20][..], b"\n"].concat()]
    {
        let fields = |n: u32| entry(n, b"m").strip_suffix(b"\n").unwrap().to_vec();
        let input = [entry(1, b"a"), fields(2), long, b"LAST=1\n\n".to_vec(), entry(3, b"b")].concat();
        let (got, report) = read(LineFormat::Auto, &input, 64 << 10);
        assert_eq!((got.first().unwrap().message.as_str(), got.last().unwrap().message.as_str()), ("a", "b"));
        assert_eq!((&*got[1].message, got[1].field("_PID")), ("m", Some("\"5000\"")));
        assert_eq!(got[got.len() - 2].field("LAST"), Some("\"1\""));
        assert!(got.iter().all(|g| g.message.len() <= 1 << 20));
        assert_eq!((report.lines, report.cut_lines), (3, 1));
        assert_eq!(read(LineFormat::Auto, &input, usize::MAX).0, got);
    }
    let many: Vec<u8> =
        (0..9).flat_map(|n| [format!("F{n}=").as_bytes(), &[b'x'; 1 << 20], b"\n"].concat()).collect();
    let (got, report) = read(LineFormat::Journal, &[many, b"\n".to_vec()].concat(), 1000);
    assert_eq!(got.iter().map(|g| g.fields.len()).sum::<usize>(), 9);
    assert_eq!((report.lines, report.cut_lines, got.len()), (1, 1, 3));
}

#[test]
fn an_entry_that_has_not_come_yet_is_waited_for() {
    let mut got = Vec::new();
    let mut sink = |bytes: &[u8], level: Level, end_offset: u64| {
        got.push(common::decode(bytes, level, end_offset).message);
        Ok::<(), std::convert::Infallible>(())
    };
    let mut reader = EntryReader::new(options(LineFormat::Auto));
    for piece in [entry(1, b"one\n\ntwo"), entry(2, b"three")].concat().chunks(50) {
        reader.feed(piece, &mut sink).unwrap();
        reader.look(&mut sink).unwrap();
        reader.rest(&mut sink).unwrap();
    }
    reader.finish(&mut sink).unwrap();
    assert_eq!(got, ["one\n\ntwo", "three"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_matter_whatever_is_broken(any: Vec<u8>, at: usize, byte: u8, piece in 1usize..90, small: bool) {
        let mut input = [entry(1, b"a"), entry(2, b"b\nc"), entry(3, b"d")].concat();
        let at = at % input.len();
        input[at] = byte;
        input.splice(at..at, any);
        let mut options = options(LineFormat::Journal);
        options.max_line_bytes = if small { 64 } else { 1 << 20 };
        check_pieces(&options, &input, piece)?;
    }
}
