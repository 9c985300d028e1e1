//! Every file of the real logs: all lines are there, times are of the year they were written in, and every
//! leaf of the JSON files is what another parser reads.

#![allow(clippy::unwrap_used)] // Helpers of tests are not taken for tests by clippy.

mod common;

use common::{data, load, read_with};
use duramen::{EntryRef, Level};
use duramen_formats::{EntryReader, LineFormat, ReaderOptions, Report};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// File, format of its entries, and the last year of its times.
const FILES: [(&str, LineFormat, i16); 26] = [
    ("json-cloudtrail-ec2-proxy.ndjson", LineFormat::Ndjson, 2020),
    ("json-k8s-trainticket-0129.ndjson", LineFormat::Ndjson, 2023),
    ("json-nginxplus-status.ndjson", LineFormat::Ndjson, 2015),
    ("json-postgres-cnpg.ndjson", LineFormat::Ndjson, 2022),
    ("json-windows-events-dcom.ndjson", LineFormat::Ndjson, 2020),
    ("json-windows-events-wevtutil.ndjson", LineFormat::Ndjson, 2022),
    ("json-zeek-apt29-day1.ndjson", LineFormat::Ndjson, 2020),
    ("json-zeek-dns.ndjson", LineFormat::Ndjson, 2018),
    // Times of day only: everything has the time of the file.
    ("multiline-java-bboxdb.log", LineFormat::Plain, 2022),
    ("multiline-java-license-plugin.log", LineFormat::Plain, 2022),
    ("multiline-kafka0-controller.log", LineFormat::Plain, 2016),
    ("multiline-kafka0-state-change.log", LineFormat::Plain, 2016),
    ("multiline-postgres-vacuum.log", LineFormat::Plain, 2024),
    ("text-loghub-android-2k.log", LineFormat::Plain, 2017),
    ("text-loghub-bgl-2k.log", LineFormat::Plain, 2006),
    ("text-loghub-hdfs-2k.log", LineFormat::Plain, 2008),
    ("text-loghub-linux-2k.log", LineFormat::Syslog, 2005),
    ("text-loghub-openssh-2k.log", LineFormat::Syslog, 2015),
    ("text-loghub-spark-2k.log", LineFormat::Plain, 2017),
    ("text-loghub-thunderbird-2k.log", LineFormat::Plain, 2005),
    ("text-loghub-zookeeper-2k.log", LineFormat::Plain, 2015),
    ("text-pgbouncer-1.21.log", LineFormat::Plain, 2023),
    ("text-syslog-postgres.log", LineFormat::Syslog, 2019),
    ("text-syslog-sshd-rootly.log", LineFormat::Syslog, 2025),
    ("web-apache-access-rootly.log", LineFormat::AccessLog, 2025),
    ("web-nginx-zanbil-100k.log", LineFormat::AccessLog, 2019),
];

fn midnight(year: i16) -> i64 {
    let first = jiff::civil::date(year, 1, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
    i64::try_from(first.timestamp().as_nanosecond()).unwrap()
}

/// Options for a file last written on the last evening of the year.
fn options(year: i16) -> ReaderOptions {
    ReaderOptions::new(midnight(year + 1) - 7_200_000_000_000)
}

fn read(name: &str, year: i16, input: &[u8], mut each: impl FnMut(&EntryRef<'_>, u64)) -> Report {
    let mut reader = EntryReader::new(options(year));
    let mut sink = |bytes: &[u8], _: Level, end: u64| {
        each(&EntryRef::decode(bytes).unwrap(), end);
        Ok::<(), Infallible>(())
    };
    for chunk in input.chunks(65_537) {
        reader.feed(chunk, &mut sink).unwrap();
    }
    reader.finish(&mut sink).unwrap();
    assert!(reader.report().balances(), "{name}");
    *reader.report()
}

#[test]
fn every_line_is_in_an_entry_with_the_time_it_was_written() {
    let Some(dir) = data() else { return };
    for (name, format, year) in FILES {
        let input = load(&dir, name);
        // One of them goes on over the turn of the year.
        let first_year = if name == "text-loghub-bgl-2k.log" { year - 1 } else { year };
        let (mut end_offset, mut raw_bytes, mut with_level) = (0, 0, 0u64);
        let report = read(name, year, &input, |entry, end| {
            assert!((midnight(first_year)..midnight(year + 1)).contains(&entry.time), "{name}: {entry:?}");
            (end_offset, raw_bytes) = (end, raw_bytes + u64::from(entry.raw_len));
            with_level += u64::from(entry.level != Level::Unknown);
        });
        eprintln!("{name}: {report:?} with_level={with_level}");
        assert_eq!((end_offset, raw_bytes), (input.len() as u64, input.len() as u64), "{name}");
        let newlines = memchr::memchr_iter(b'\n', &input).count() as u64;
        assert_eq!(report.lines, newlines + u64::from(input.last() != Some(&b'\n')), "{name}");
        assert_eq!((report.unparsed_lines, report.cut_lines), (0, 0), "{name}");
        let f = report.formats;
        let of_format = match format {
            LineFormat::Ndjson | LineFormat::CloudTrail => f.ndjson,
            LineFormat::Syslog => f.syslog,
            LineFormat::AccessLog => f.access_log,
            LineFormat::Logfmt => f.logfmt,
            LineFormat::Columns => f.columns,
            LineFormat::Container => f.container,
            LineFormat::Journal => f.journal,
            LineFormat::Auto | LineFormat::Plain => f.plain,
        };
        assert_eq!(of_format, report.entries, "{name}");
        assert_eq!(report.joined_lines > 0, name.starts_with("multiline-"), "{name}");
    }
}

#[test]
fn chunks_do_not_matter() {
    let Some(dir) = data() else { return };
    for (name, _, year) in FILES {
        let mut input = load(&dir, name);
        input.truncate(300_000);
        let read = |chunk| read_with(EntryReader::new(options(year)), &input, chunk);
        let expected = read(usize::MAX);
        for chunk in [1, 7, 64 << 10] {
            assert!(read(chunk) == expected, "{name} in chunks of {chunk}");
        }
    }
}

fn leaves(prefix: &str, value: &serde_json::Value, out: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&name, value, out);
            }
        }
        value => _ = out.insert(prefix.to_owned(), value.to_string()),
    }
}

#[test]
fn every_leaf_of_the_json_files_is_a_field() {
    let Some(dir) = data() else { return };
    for (name, format, year) in FILES {
        if format != LineFormat::Ndjson {
            continue;
        }
        let mut input = load(&dir, name);
        input.truncate(memchr::memrchr(b'\n', &input[..input.len().min(4 << 20)]).unwrap() + 1);
        let mut lines = input.split(|b| *b == b'\n');
        read(name, year, &input, |entry, _| {
            let line: serde_json::Value = serde_json::from_slice(lines.next().unwrap()).unwrap();
            let mut expected = BTreeMap::new();
            leaves("", &line, &mut expected);
            let found: BTreeMap<String, String> = entry
                .fields()
                .map(|(name, value)| {
                    let value: serde_json::Value = serde_json::from_str(&common::as_json(value)).unwrap();
                    (name.to_owned(), value.to_string())
                })
                .collect();
            assert_eq!(found, expected, "{name}");
        });
    }
}
