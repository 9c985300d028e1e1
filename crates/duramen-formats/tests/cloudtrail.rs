//! Documents that have all records in an array.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod common;

use common::{Got, check_pieces, options, read_with};
use duramen_formats::{EntryReader, LineFormat, Report};
use proptest::prelude::*;

const FIRST: &str = r#"{"eventVersion":"1.08","userIdentity":{"type":"AssumedRole","arn":"arn:aws:sts::123456789012:assumed-role/a/b"},"eventTime":"2024-06-01T10:00:00Z","eventSource":"s3.amazonaws.com","eventName":"GetObject","requestParameters":{"key":"a]}\"{[\\"},"resources":[{"type":"x"},[]],"errorCode":"AccessDenied"}"#;
const SECOND: &str = r#"{"eventTime":"2024-06-01T10:00:07Z","eventName":"é","responseElements":null}"#;

fn read(input: &str, piece: usize) -> (Vec<Got>, Report) {
    let (got, report) = read_with(EntryReader::new(options(LineFormat::Auto)), input.as_bytes(), piece);
    assert!(report.balances(), "{report:?}");
    assert_eq!(got.iter().map(|g| g.raw_len as usize).sum::<usize>(), input.len());
    assert_eq!(got.last().map_or(0, |g| g.end_offset), input.len() as u64);
    (got, report)
}

fn names(got: &[Got]) -> Vec<Option<&str>> {
    got.iter().map(|g| g.field("eventName")).collect()
}

#[test]
fn each_record_is_an_entry() {
    let (get, e) = (Some("\"GetObject\""), Some("\"é\""));
    let pretty =
        format!("{{\n  \"Records\" : [\n    {},\n    {SECOND}\n  ]\n}}\n", FIRST.replace(",\"", ",\n\t\""));
    let one = format!("{{\"Records\":[{FIRST},{SECOND}]}}");
    for input in [&one, &format!("{one}\n"), &pretty, &format!("  {one}{one}\n{pretty}")] {
        for piece in [1, 7, 100, usize::MAX] {
            let (got, report) = read(input, piece);
            let expected: Vec<_> = [get, e].into_iter().cycle().take(got.len()).collect();
            assert_eq!(names(&got), expected);
            assert_eq!(got[0].time, 1_717_236_000_000_000_000);
            assert_eq!(got[1].time - got[0].time, 7_000_000_000);
            assert_eq!(got[0].field("userIdentity.type"), Some("\"AssumedRole\""));
            assert_eq!(got[0].field("requestParameters.key"), Some(r#""a]}\"{[\\""#));
            assert_eq!((report.lines, report.formats.ndjson), (got.len() as u64, got.len() as u64));
            assert_eq!((report.unparsed_lines, report.lines_without_time), (0, 0));
        }
    }
}

#[test]
fn a_document_can_be_left_behind_any_record() {
    let input = format!("{{\"Records\":[{FIRST}, {SECOND},{FIRST}]}}\n{{\"Records\":[{SECOND}]}}\n");
    let (got, _) = read(&input, usize::MAX);
    assert_eq!(got.len(), 4);
    let options = options(LineFormat::Auto);
    let detected = EntryReader::detect(&options, input.as_bytes());
    assert_eq!(detected.format, LineFormat::CloudTrail);
    for (i, entry) in got.iter().enumerate() {
        let at = entry.end_offset;
        let reader = EntryReader::resume(options.clone(), at, detected, Some(entry.time));
        assert_eq!(read_with(reader, &input.as_bytes()[at as usize..], 9).0, got[i + 1..]);
    }
}

/// As the command reads a file that is still being written.
#[test]
fn a_document_that_is_cut_anywhere_goes_on_there() {
    let input = format!("{{\"Records\":[{FIRST},{SECOND}]}}\n{{\"Records\":[{SECOND}]}}\n");
    let (whole, _) = read(&input, usize::MAX);
    let options = options(LineFormat::Auto);
    let detected = EntryReader::detect(&options, input.as_bytes());
    for cut in "{\"Records\":[{".len()..input.len() {
        let (mut ends, mut reader) = (vec![0], EntryReader::new(options.clone()));
        let mut sink = |_: &[u8], _, end: u64| {
            ends.push(end);
            Ok::<(), std::convert::Infallible>(())
        };
        reader.feed(&input.as_bytes()[..cut], &mut sink).unwrap();
        reader.look(&mut sink).unwrap();
        match reader.lacks_end() {
            true => reader.rest(&mut sink).unwrap(),
            false => reader.finish(&mut sink).unwrap(),
        }
        let at = *ends.last().unwrap();
        let rest = EntryReader::resume(options.clone(), at, detected, None);
        let rest = read_with(rest, &input.as_bytes()[at as usize..], 9).0;
        let begun = String::from_utf8_lossy(&input.as_bytes()[..cut]);
        assert_eq!(names(&rest), names(&whole[ends.len() - 1..]), "{begun}");
    }
}

#[test]
fn what_is_broken_is_kept_as_text() {
    let whole = format!("{{\"Records\":[{FIRST},{SECOND}]}}");
    let cut = whole.find("10:00:07").unwrap();
    let (got, report) = read(&whole[..cut], 5);
    assert_eq!((names(&got)[0].is_some(), &*got[1].message), (true, r#"{"eventTime":"2024-06-01T"#));
    assert_eq!((report.lines, report.unparsed_lines), (2, 1));
    // What follows, and is none, is read by lines.
    let other = format!("{{\"Records\":[{FIRST}],\"x\":1}}\n2024-06-01 10:00:00 ERROR x\n{SECOND}\n");
    for piece in [1, usize::MAX] {
        let (got, _) = read(&other, piece);
        assert_eq!(names(&got), [Some("\"GetObject\""), None, None, Some("\"é\"")]);
        assert_eq!((&*got[1].message, &*got[2].message), ("\"x\":1}", "2024-06-01 10:00:00 ERROR x"));
    }
    // One that was cut does not take the lines behind it with it.
    let other =
        format!("{{\"Records\":[{FIRST},{{\"eventName\":\"cu\n{SECOND}\n2024-06-01 10:00:00 ERROR x\n");
    for piece in [1, 7, usize::MAX] {
        let (got, _) = read(&other, piece);
        assert_eq!(names(&got), [Some("\"GetObject\""), None, Some("\"é\""), None]);
        assert_eq!(
            (&*got[1].message, &*got[3].message),
            ("{\"eventName\":\"cu", "2024-06-01 10:00:00 ERROR x")
        );
    }
    let (got, _) = read("{\"Records\":[]}\n", 3);
    assert_eq!(got[0].field("Records"), Some("[]"));
    let (got, _) = read("{\"Records\":[1,2]}\n", 3);
    assert_eq!((got.len(), got[0].field("Records")), (1, Some("[1,2]")), "an object like any other");
}

#[test]
fn a_record_that_is_too_long_is_cut_and_all_of_it_kept() {
    let long = format!("{{\"a\":\"{}\"}}", "é".repeat(1_200_000));
    let input = format!("{{\"Records\":[{FIRST},{long},{SECOND}]}}");
    let (got, report) = read(&input, 64 << 10);
    let text: String = got[1..got.len() - 1].iter().map(|g| g.message.as_str()).collect();
    assert!(text == long && got.iter().all(|g| g.message.len() <= 1 << 20));
    assert_eq!((report.lines, report.cut_lines, report.cut_pieces), (3, 1, 2));
    assert_eq!(read(&input, usize::MAX).0, got);
    // White space takes no memory without end, either.
    let input = format!("{{\"Records\":[{FIRST},{}{SECOND}]}}", " ".repeat(5 << 20));
    assert_eq!(read(&input, 64 << 10).0, read(&input, usize::MAX).0);
}

#[test]
fn a_record_that_has_not_come_yet_is_waited_for() {
    let mut got = 0;
    let mut sink = |_: &[u8], _, _| {
        got += 1;
        Ok::<(), std::convert::Infallible>(())
    };
    let mut reader = EntryReader::new(options(LineFormat::CloudTrail));
    for piece in format!("{{\"Records\":[{FIRST},{SECOND}]}}\n").as_bytes().chunks(40) {
        reader.feed(piece, &mut sink).unwrap();
        reader.look(&mut sink).unwrap();
        reader.rest(&mut sink).unwrap();
    }
    reader.finish(&mut sink).unwrap();
    assert_eq!((got, reader.report().unparsed_lines), (2, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_matter_whatever_is_broken(any in "[\\]\\[{}\",: \\\\aé\n]{0,9}", at: usize, piece in 1usize..90, small: bool) {
        let mut input = format!("{{\"Records\":[{FIRST},{SECOND}]}}\n{{\"Records\":[{SECOND}]}}").into_bytes();
        let at = at % input.len();
        input.splice(at..at, any.into_bytes());
        let mut options = options(LineFormat::CloudTrail);
        options.max_line_bytes = if small { 64 } else { 1 << 20 };
        check_pieces(&options, &input, piece)?;
    }
}

#[test]
fn objects_of_which_the_first_has_records_stay_objects() {
    let rest = "{\"msg\":\"a\n{\"msg\":\"b\"}\n{\"msg\":\"c\"}\n";
    for first in ["{\"Records\":[{\"a\":1}]}\n", "{\"Records\":[{\"a\":1}],\"id\":7}\n"] {
        assert_eq!(read(&[first, rest].concat(), usize::MAX).0.len(), 4, "{first}");
    }
    assert_eq!(read("{\"Records\":[{\"a\":1}],\"id\":7}\n", usize::MAX).0.len(), 1);
}
