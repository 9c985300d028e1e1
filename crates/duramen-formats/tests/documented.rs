//! What `docs/lines.md` says becomes of lines is what becomes of them.

mod common;

use common::read_with;
use duramen_formats::{EntryReader, LineFormat, ReaderOptions, StampParser};
use jiff::Timestamp;
use jiff::tz::TimeZone;

const PAGE: &str = include_str!("../../../docs/lines.md");
/// A day after the times in the examples.
const READ_AT_NS: i64 = 1_717_322_400_000_000_000;

/// The blocks of this kind.
fn blocks(kind: &str) -> Vec<&'static str> {
    let mut parts = PAGE.split("```");
    parts.next();
    parts.step_by(2).filter_map(|block| block.strip_prefix(kind)?.strip_prefix('\n')).collect()
}

#[test]
fn lines_become_what_the_page_says() {
    let mut examples = 0;
    for example in blocks("lines").iter().flat_map(|block| block.split("\n\n")) {
        let (input, expected) = example.trim_end().split_once("\n=> ").unwrap();
        let options = ReaderOptions { format: LineFormat::Auto, ..ReaderOptions::new(READ_AT_NS) };
        let (got, report) = read_with(EntryReader::new(options), input.as_bytes(), usize::MAX);
        let entry = got.last().unwrap();
        let mut fields: Vec<_> = entry.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        fields.sort();
        let time = Timestamp::from_nanosecond(entry.time.into()).unwrap();
        let own = if input.ends_with(&entry.message) { String::new() } else { entry.message.clone() };
        let level = entry.level.to_string();
        let shown = [&*time.to_string(), &level, &own, "|", &fields.join(" ")];
        let shown: Vec<_> = shown.into_iter().filter(|part| !part.is_empty()).collect();
        assert_eq!(shown.join(" "), expected, "{input}");
        assert!(report.balances() && report.unparsed_lines == 0);
        examples += 1;
    }
    assert!(examples >= 10, "{examples}");
}

#[test]
fn stamps_are_read_as_the_page_says() {
    let stamps = StampParser::new(TimeZone::UTC, READ_AT_NS, None);
    let all: Vec<_> = blocks("stamps").iter().flat_map(|block| block.lines()).collect();
    for stamp in &all {
        let (ns, _) = stamps.parse(stamp).unwrap_or_else(|| panic!("{stamp}"));
        assert_eq!(ns / 1_000_000_000, 1_717_236_000, "{stamp}");
    }
    assert!(all.len() > 20);
}
