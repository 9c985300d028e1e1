//! Lines of any system to entries: the same whatever pieces they come in, and gone on with after any entry.
//!
//! ```text
//! input   format u8 | length of a piece u8 | where to go on u8 | the lines
//! ```

use super::Seed;
use duramen::{EntryRef, Level};
use duramen_formats::columns::HeaderScan;
use duramen_formats::{EntryReader, LineFormat, ReaderOptions};
use duramen_generate::{Format, Generator, Kind, Options};
use std::convert::Infallible;

const FORMATS: [LineFormat; 10] = [
    LineFormat::Auto,
    LineFormat::Ndjson,
    LineFormat::Logfmt,
    LineFormat::Syslog,
    LineFormat::AccessLog,
    LineFormat::Columns,
    LineFormat::Container,
    LineFormat::Journal,
    LineFormat::CloudTrail,
    LineFormat::Plain,
];

/// An entry, its level, and where its lines end.
type Got = (Vec<u8>, Level, u64);

/// Tries an input.
pub fn run(input: &[u8]) {
    let [format, piece, resume_at, lines @ ..] = input else { return };
    let mut options = ReaderOptions::new(1_718_452_800_000_000_000);
    options.format = FORMATS[usize::from(*format) % FORMATS.len()];
    options.max_line_bytes = if format & 64 != 0 { 64 } else { 1 << 20 };
    options.stream_fields = vec!["app".into(), "host".into()];
    let mut reader = EntryReader::new(options.clone());
    let whole = read(&mut reader, lines, usize::MAX);
    let report = *reader.report();
    assert!(report.balances(), "{report:?}");
    assert_eq!(report.entries, whole.len() as u64);
    assert_eq!(whole.last().map_or(0, |got| got.2), lines.len() as u64);
    let mut raw_bytes = 0;
    for (bytes, level, _) in &whole {
        let entry = EntryRef::decode(bytes).unwrap();
        assert_eq!(entry.level, *level);
        raw_bytes += u64::from(entry.raw_len);
    }
    assert_eq!(raw_bytes, lines.len() as u64);
    let mut reader = EntryReader::new(options.clone());
    assert_eq!(read(&mut reader, lines, usize::from(*piece) + 1), whole);
    assert_eq!(*reader.report(), report);
    go_on(options, lines, &whole, usize::from(*resume_at));
}

fn read(reader: &mut EntryReader, lines: &[u8], piece: usize) -> Vec<Got> {
    let mut got = Vec::new();
    let mut sink = |entry: &[u8], level: Level, end: u64| {
        got.push((entry.to_vec(), level, end));
        Ok::<(), Infallible>(())
    };
    for piece in lines.chunks(piece) {
        reader.feed(piece, &mut sink).unwrap();
    }
    reader.finish(&mut sink).unwrap();
    got
}

/// Leaves an input behind one of its entries, and goes on there.
fn go_on(options: ReaderOptions, lines: &[u8], whole: &[Got], at: usize) {
    let Some((_, _, end)) = whole.get(at % whole.len().max(1)) else { return };
    // Entries whose lines lie among each other have, but for the last, the offset of the one before them.
    let taken = if *end == 0 { 0 } else { whole.iter().position(|got| got.2 == *end).unwrap() + 1 };
    let rest = &lines[*end as usize..];
    if !rest.is_empty() && *end > 0 && lines[*end as usize - 1] != b'\n' {
        return; // the rest of a line that was cut is a line of its own then
    }
    if whole.len() as u64 > 0 && lines.split(|byte| *byte == b'\n').count() > 1_000 {
        return; // so is the rest of an event over the limit of lines
    }
    let detected = EntryReader::detect(&options, lines);
    if [options.format, detected.format].contains(&LineFormat::CloudTrail) {
        return; // what is none of its documents is read by lines then, but again as such when it is gone on with
    }
    let time = whole[..taken].last().map(|got| EntryRef::decode(&got.0).unwrap().time);
    let mut before = HeaderScan::new(&options);
    before.feed(&lines[..*end as usize]);
    let mut reader = EntryReader::resume(options, *end, detected, time).after(before.header());
    assert_eq!(read(&mut reader, rest, usize::MAX), whole[taken..]);
}

/// A few lines of each kind that the generator makes, and some by hand.
pub(super) fn samples() -> Vec<(String, Vec<u8>)> {
    let kinds = [
        ("app", Kind::App),
        ("access", Kind::Access),
        ("syslog", Kind::Syslog),
        ("traces", Kind::StackTraces),
        ("mixed", Kind::Mixed),
    ];
    let mut samples = Vec::new();
    for (name, kind) in kinds {
        let options = Options { lines: 5, kind, format: Format::Native, ..Options::default() };
        let mut text = Vec::new();
        let mut generator = Generator::new(options).unwrap();
        while generator.write_line(&mut text) {}
        samples.push((name.to_owned(), text));
    }
    let by_hand = [
        (
            "logfmt",
            "ts=2024-06-01T00:00:03Z level=error msg=\"no \\\"route\\\"\" code=7 ok dur=1.5s\ntime=1717200003.5 lvl=warn a=\n",
        ),
        (
            "json",
            "{\"time\":\"2024-06-01T00:00:00Z\",\"level\":\"warn\",\"msg\":\"slow\",\"took\":1.50,\"a\":{\"b\":[1,null,true]},\"n\":-0,\"u\":\"\\u00e9\\ud83d\\ude00\"}\n{\"message\":\"x\",\"ts\":1717200000123,\"severity\":3}\r\n{broken\n",
        ),
        (
            "python",
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\nKeyError: 'y'\n",
        ),
        ("odd", "\u{feff}a\r\n\r\n\t indented\n\x00\n\u{1b}[31mERROR\u{1b}[0m red\nlast without an end"),
        (
            "syslogs",
            "<34>1 2024-06-01T00:00:02.003Z host app 7 ID47 [x@1 a=\"b\\\"c\"][y] \u{feff}text\n<11>Jun  1 00:00:02 web-1 cron[7]: (root) CMD (x)\n",
        ),
        (
            "columns",
            "#Version: 1.0\n#Fields: date time c-ip cs-method sc-status\n2024-06-01 10:00:00 192.0.2.1 TRACE 501\nx\n#Fields: date time sc-status\n2024-06-01 10:00:01 200\n",
        ),
        (
            "cri",
            "2024-06-01T00:00:00Z stdout F {\"msg\":\"x\"}\n2024-06-01T00:00:00Z stdout P a=1 \n2024-06-01T00:00:00Z stderr F 2024-06-01 00:00:00 ERROR y\n2024-06-01T00:00:00Z stderr F \tat z\n2024-06-01T00:00:00Z stdout F b=2\n",
        ),
        (
            "docker",
            "{\"log\":\"line\\n\",\"stream\":\"stderr\",\"time\":\"2024-06-01T00:00:00Z\"}\n{\"log\":\"{\\\"a\\\":1}\\n\",\"stream\":\"stdout\",\"attrs\":{\"tag\":\"x\"},\"time\":\"2024-06-01T00:00:00Z\"}\n",
        ),
        (
            "journal",
            "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1717236000500000\nPRIORITY=3\nMESSAGE\n\x03\0\0\0\0\0\0\0a\nb\n_PID=7\n\n__CURSOR=s=1;i=3\nMESSAGE=c\nlower=d\n",
        ),
        (
            "cloudtrail",
            "{\"Records\":[{\"eventTime\":\"2024-06-01T10:00:00Z\",\"eventName\":\"a]}\\\"\"},{\"a\":{\"b\":[1]}}]}\n{\"Records\": [ ]}",
        ),
        ("zeek", "#path\tdns\n#fields\tts\tuid\tquery\n1717236000.5\tC1\t-\n"),
    ];
    samples.extend(by_hand.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
    samples.push(("not-utf8".into(), b"a\xffb\xc3\n{\"m\":\"\xe9\"}\nok\n".to_vec()));
    samples
}

/// The samples.
pub fn seeds() -> Vec<Seed> {
    (0u8..).zip(samples()).map(|(n, (name, text))| (name, [&[0, 7, n][..], &text].concat())).collect()
}
