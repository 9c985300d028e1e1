//! Inputs to entries: formats side by side, events of several lines, limits, offsets, bad bytes.

mod common;

use common::{Got, options, read, read_with};
use duramen::Level;
use duramen_formats::columns::HeaderScan;
use duramen_formats::{EntryReader, LineFormat, ReaderOptions};
use proptest::prelude::*;

const JSON: &str = "{\"level\":\"warn\",\"msg\":\"slow\",\"time\":\"2024-06-01T00:00:00Z\",\"took\":1.50}";
const ACCESS: &str =
    "192.0.2.1 - - [01/Jun/2024:00:00:01 +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/8\"";
const SYSLOG: &str = "<11>Jun  1 00:00:02 web-1 cron[7]: (root) CMD (x)";
const LOGFMT: &str = "ts=2024-06-01T00:00:03Z level=error msg=\"no route\" code=7";
const TEXT: &str = "2024-06-01 00:00:04,5 ERROR refused";

fn messages(got: &[Got]) -> Vec<&str> {
    got.iter().map(|g| g.message.as_str()).collect()
}

#[test]
fn a_mixed_input_is_read_line_by_line() {
    let input =
        [JSON, ACCESS, SYSLOG, LOGFMT, TEXT, "\tat App.main", JSON, "\tat nowhere", "", ""].join("\n");
    let (got, report) = read(LineFormat::Auto, &input);
    let base = 1_717_200_000_000_000_000;
    let summary: Vec<_> =
        got.iter().map(|g| ((g.time - base) / 100_000_000, g.level, g.message.as_str())).collect();
    let text = format!("{TEXT}\n\tat App.main");
    assert_eq!(
        summary,
        [
            (0, Level::Warn, "slow"),
            (10, Level::Unknown, ACCESS),
            (20, Level::Error, SYSLOG),
            (30, Level::Error, LOGFMT),
            (45, Level::Error, &text),
            (0, Level::Warn, "slow"),
            (0, Level::Unknown, "\tat nowhere"),
            (0, Level::Unknown, ""),
        ]
    );
    assert_eq!(got[0].field("took"), Some("1.50"));
    assert_eq!(got[1].field("status"), Some("200"));
    assert_eq!(got[2].field("app"), Some("\"cron\""));
    assert_eq!(got[3].field("code"), Some("7"));
    assert_eq!(got[3].field("msg"), Some("\"no route\""));
    assert!(report.balances());
    let f = report.formats;
    assert_eq!((f.ndjson, f.access_log, f.syslog, f.logfmt, f.plain), (2, 1, 1, 1, 3));
    assert_eq!((report.lines, report.joined_lines, report.unparsed_lines), (9, 1, 0));
    assert_eq!(report.lines_without_time, 2);
    assert_eq!(got.last().unwrap().end_offset, input.len() as u64);
}

#[test]
fn a_format_asked_for_is_the_only_one_tried() {
    let input = [JSON, ACCESS, SYSLOG, LOGFMT, TEXT].join("\n");
    for (format, parsed) in [
        (LineFormat::Ndjson, 1),
        (LineFormat::AccessLog, 1),
        (LineFormat::Syslog, 1),
        (LineFormat::Logfmt, 1),
        (LineFormat::Plain, 0),
    ] {
        let mut options = options(format);
        options.join_lines = false;
        let (got, report) = read_with(EntryReader::new(options), input.as_bytes(), 10);
        assert_eq!(got.len(), 5);
        assert_eq!(got.iter().filter(|g| !g.fields.is_empty()).count(), parsed, "{format}");
        let unparsed = if format == LineFormat::Plain { 0 } else { 5 - parsed as u64 };
        assert_eq!(report.unparsed_lines, unparsed, "{format}");
        assert!(report.balances());
    }
}

#[test]
fn stack_traces_are_one_entry() {
    let java = "2024-06-01 00:00:00 ERROR x\njava.lang.IllegalStateException: y\n\tat A.b(A.java:1)\nCaused by: Z\n\t... 3 more";
    let python = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"b.py\", line 2\nKeyError: y";
    let go = "panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1d\nexit status 2";
    let (got, _) = read(LineFormat::Auto, &format!("{java}\n2024-06-01 00:00:01 INFO on\n"));
    assert_eq!(messages(&got), [java, "2024-06-01 00:00:01 INFO on"]);
    assert_eq!(got[0].raw_len as usize, java.len() + 1);
    let (got, report) = read(LineFormat::Auto, &format!("hello\n{python}\nbye\n"));
    assert_eq!(messages(&got), ["hello", python, "bye"]);
    assert!(report.balances());
    // Without anything before it, a blank line after the first is an entry of its own.
    let (got, _) = read(LineFormat::Auto, &go.replace("\n\n", "\n"));
    assert_eq!(got.len(), 1);
}

/// As winston, log4js and others write what they are given: the name of most exceptions of JavaScript is a level's.
#[test]
fn a_thrown_error_is_of_the_line_that_logs_it() {
    let thrown =
        "2024-06-01T10:00:00.123Z - error: Unhandled\nError: boom\n    at f (/x.js:1:7) {\n  code: 'E'\n}";
    let input = format!(
        "{thrown}\n2024-06-01T10:00:01.123Z - info: ok\nError: by itself\nError: another\n{thrown}\n"
    );
    let (got, _) = read(LineFormat::Auto, &input);
    let expected =
        [thrown, "2024-06-01T10:00:01.123Z - info: ok", "Error: by itself", "Error: another", thrown];
    assert_eq!(messages(&got), expected);
    let (got, _) = read(LineFormat::Auto, "ERROR: a\nError: b\nError: c\n");
    assert_eq!(got.len(), 3, "{got:?}");
    // Of another stream it begins an entry, which goes on.
    let of_two = "2024-06-01T10:00:00.1Z stdout F 2024-06-01 10:00:00 error: Unhandled\n\
                  2024-06-01T10:00:00.2Z stderr F Error: boom\n2024-06-01T10:00:00.3Z stderr F more of it\n";
    let (got, _) = read(LineFormat::Auto, of_two);
    assert_eq!(messages(&got), ["2024-06-01 10:00:00 error: Unhandled", "Error: boom\nmore of it"]);
}

#[test]
fn reports_of_erlang_are_one_entry_each() {
    let info = "=INFO REPORT==== 16-Jan-2013::15:58:33 ===\napplication: mnesia\n    exited: stopped\n    type: permanent\n";
    let error = "=ERROR REPORT==== 16-Jan-2013::15:58:34 ===\nconnection <0.1.0>, channel 1 - soft error:\n{amqp_error,not_found,\"x\"}\na: 1\nb\nc\nd\ne";
    let (got, report) = read(LineFormat::Auto, &format!("{info}\n{error}\n"));
    assert_eq!(messages(&got), [info, error]);
    assert_eq!((got[0].level, got[1].level), (Level::Info, Level::Error));
    assert_eq!(got[1].time - got[0].time, 1_000_000_000);
    assert_eq!(report.lines_without_time, 0);
    assert!(report.balances());
}

#[test]
fn the_two_lines_of_java_util_logging_are_one_entry() {
    let severe = "Jun 01, 2024 12:00:06 AM org.apache.catalina.core.StandardService startInternal\nSEVERE: no: x\njava.lang.X: y\n\tat a.B.c(B.java:1)";
    let info = "Jun 1, 2024 12:00:07 AM org.apache.X y\nINFO: up";
    let (got, report) = read(LineFormat::Auto, &format!("{severe}\n{info}\n{severe}\n"));
    assert_eq!(messages(&got), [severe, info, severe]);
    assert_eq!((got[0].level, got[1].level, got[2].level), (Level::Error, Level::Info, Level::Error));
    assert_eq!(report.lines_without_time, 0);
}

#[test]
fn lines_are_joined_only_when_asked_and_up_to_the_limits() {
    let input = format!("2024-06-01 00:00:00 x\n{}", "\ty\n".repeat(10));
    let (got, _) = read(LineFormat::Plain, &input);
    assert_eq!(got.len(), 1);
    let with = |set: fn(&mut ReaderOptions)| {
        let mut options = options(LineFormat::Plain);
        set(&mut options);
        let (got, report) = read_with(EntryReader::new(options), input.as_bytes(), 3);
        assert!(report.balances());
        assert!(got.windows(2).all(|w| w[0].end_offset < w[1].end_offset && w[0].time == w[1].time));
        got.len()
    };
    assert_eq!(with(|o| o.join_lines = false), 11);
    assert_eq!(with(|o| o.max_event_lines = 4), 3);
    assert_eq!(with(|o| o.max_event_bytes = 24), 3);
    assert_eq!(with(|o| o.max_event_bytes = 8), 5);
}

#[test]
fn blank_lines_count() {
    let (got, report) = read(LineFormat::Ndjson, "{}\n\n{\"msg\":\"a\"}\r\n  \n");
    assert_eq!(messages(&got), ["", "", "a", "  "]);
    assert_eq!((report.lines, report.unparsed_lines), (4, 0));
    let (got, _) = read(LineFormat::Auto, "a\n\nb\n");
    assert_eq!(messages(&got), ["a", "", "b"]);
}

#[test]
fn what_is_no_json_is_kept_whole_and_counted() {
    let lines =
        ["{\"a\":1}", "{\"a\":", "{\"a\":\"\\x\"}", "{\"a\":1} x", "{\"b\":2}", "{\"c\":2}", "{\"c\":3}"];
    for format in [LineFormat::Auto, LineFormat::Ndjson] {
        let (got, report) = read(format, &lines.join("\n"));
        assert_eq!(messages(&got), ["", lines[1], lines[2], lines[3], "", "", ""]);
        assert_eq!(report.unparsed_lines, 3);
    }
}

#[test]
fn an_entry_over_a_limit_is_kept_as_its_text() {
    // Far more parameters than an entry has fields, or a longer name than it may have.
    let many = (0..20_000).map(|i| format!("\"f{i}\":1")).collect::<Vec<_>>().join(",");
    let line = format!("{{{many}}}");
    let (got, report) = read(LineFormat::Ndjson, &line);
    assert_eq!((messages(&got), report.unparsed_lines), (vec![&*line], 1));
    let line = format!("<11>1 - h a - - [{} k=\"v\"] m", "i".repeat(2_000));
    let (got, report) = read(LineFormat::Syslog, &line);
    assert_eq!((messages(&got), report.unparsed_lines), (vec![&*line], 1));
    assert_eq!((got[0].level, got[0].fields.len()), (Level::Error, 0));
}

#[test]
fn long_lines_are_cut_and_all_pieces_kept() {
    let mut options = options(LineFormat::Auto);
    options.max_line_bytes = 64;
    let long = format!("2024-06-01 00:00:00 ERROR {}", "ä".repeat(100));
    let input = format!("{long}\nshort\n{long}");
    let (got, report) = read_with(EntryReader::new(options), input.as_bytes(), 5);
    let text: String = got.iter().map(|g| g.message.as_str()).collect();
    assert_eq!(text, input.replace('\n', ""));
    assert!(got.iter().all(|g| g.message.len() <= 66 && g.time == 1_717_200_000_000_000_000));
    assert_eq!((report.lines, report.cut_lines, report.cut_pieces), (3, 2, 6));
    assert!(report.balances());
}

#[test]
fn bytes_that_are_not_utf8_are_kept_as_text() {
    let (got, report) =
        read_with(EntryReader::new(options(LineFormat::Auto)), b"a\xffb\xc3\n{\"m\":\"\xe9\"}\nok\n", 2);
    assert_eq!(messages(&got), ["a\\xFFb\\xC3", "", "ok"]);
    assert_eq!(got[1].field("m"), Some("\"\\\\xE9\""));
    assert_eq!(report.lines_not_utf8, 2);
    let (got, _) = read_with(EntryReader::new(options(LineFormat::Auto)), b"{\"m\":\"\xe9\n", 2);
    assert_eq!(messages(&got), ["{\"m\":\"\\xE9"]);
    let (got, _) =
        read_with(EntryReader::new(options(LineFormat::Auto)), "\u{feff}{\"msg\":\"x\"}\n".as_bytes(), 2);
    assert_eq!((messages(&got), got[0].end_offset), (vec!["x"], 15));
}

#[test]
fn half_a_surrogate_costs_no_fields() {
    let line =
        r#"{"a":"x\ud83d","b":"\\ud83d \ud83d\ude00 \uDE00","msg":"up","time":"2024-06-01T00:00:07Z"}"#;
    let (got, report) = read(LineFormat::Ndjson, line);
    assert_eq!((messages(&got), report.unparsed_lines), (vec!["up"], 0));
    assert_eq!((got[0].field("a"), got[0].time), (Some(r#""x\\ud83d""#), 1_717_200_007_000_000_000));
    assert_eq!(got[0].field("b"), Some("\"\\\\ud83d \u{1f600} \\\\uDE00\""));
    assert_eq!(read(LineFormat::Ndjson, r#"{"a":"\ud83d""#).1.unparsed_lines, 1);
}

#[test]
fn fields_of_other_systems_hold_time_and_level() {
    let at = 1_717_200_007_000_000_000;
    for (line, time, level) in [
        (
            r#"{"t":{"$date":"2024-06-01T00:00:07.000+00:00"},"s":"W","c":"NETWORK","msg":"x"}"#,
            at,
            Level::Warn,
        ),
        (r#"{"@t":"2024-06-01T00:00:07Z","@l":"Error","@m":"x"}"#, at, Level::Error),
        (r#"{"version":"1.1","short_message":"x","timestamp":1717200007,"level":3}"#, at, Level::Error),
        (r#"{"date":"2024-06-01","time":"00:00:07","msg":"x"}"#, at, Level::Unknown),
        (r#"date=2024-06-01 time=02:00:07 devname="fw" tz="+0200" level="warning""#, at, Level::Warn),
        ("type=SYSCALL msg=audit(1717200007.000:295): arch=c000003e syscall=59 exit=0", at, Level::Unknown),
        (
            "type=USER_LOGIN msg=audit(1717200007.000:46): pid=1 uid=0 msg='op=login res=failed'",
            at,
            Level::Unknown,
        ),
        (
            r#"{"output":"x","priority":"Critical","rule":"r","time":"2024-06-01T00:00:07.000000000Z"}"#,
            at,
            Level::Fatal,
        ),
        (r#"{"time":"2024-06-01T00:00:07Z","level":"INFO+2","msg":"x"}"#, at, Level::Info),
        (r#"{"time":"2024-06-01T00:00:07Z","level":"DEBUG-4","msg":"x"}"#, at, Level::Trace),
        ("time=2024-06-01T00:00:07Z level=ERROR+4 msg=x", at, Level::Fatal),
        (r#"{"priority":40,"time":"2024-06-01T00:00:07Z"}"#, at, Level::Unknown),
        (r#"{"priority":"high","time":"2024-06-01T00:00:07Z"}"#, at, Level::Unknown),
        (
            r#"{"message":"x","lastTimestamp":"2024-06-01T00:00:07Z","eventTime":null,"type":"Warning"}"#,
            at,
            Level::Unknown,
        ),
        (r#"{"EdgeStartTimestamp":1717200007000000000,"ClientIP":"192.0.2.1"}"#, at, Level::Unknown),
    ] {
        let (got, report) = read(LineFormat::Auto, line);
        assert_eq!((got[0].time, got[0].level, report.lines_without_time), (time, level, 0), "{line}");
    }
}

#[test]
fn an_input_tells_what_its_time_stamps_leave_open() {
    let times = |input: &str| -> Vec<i64> {
        read(LineFormat::Auto, input).0.iter().map(|g| g.time / 1_000_000_000 - 1_717_200_000).collect()
    };
    let hpc = "7 node-1 unix.hw up 1717200001 1 x\n8 node-2 unix.hw up 1717200002 1 x\n9 node-1 unix.hw up 1717200003 1 x\n";
    assert_eq!(times(hpc), [1, 2, 3]);
    // Day first in all lines, because in one it can be nothing else.
    assert_eq!(times("01/06/2024 00:00:01 x\n13/06/2024 00:00:00 x\n"), [1, 12 * 86_400]);
    assert_eq!(times("06/01/24 00:00:01 x\n06/13/24 00:00:00 x\n"), [1, 12 * 86_400]);
    let mut options = options(LineFormat::Auto);
    options.timezone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let w3c = "#Version: 1.0\n#Fields: date time s-ip\n2024-06-01 00:00:01 192.0.2.1\n";
    let (got, _) = read_with(EntryReader::new(options), w3c.as_bytes(), 9);
    assert_eq!(got.last().unwrap().time, 1_717_200_001_000_000_000);
}

#[test]
fn php_traces_and_slow_queries_are_one_entry() {
    let php = "[2024-06-01 00:00:07] local.ERROR: no {\"exception\":\"[object]\n[stacktrace]\n#0 /srv/a.php(7): f()\n#1 {main}\n\"} \n[2024-06-01 00:00:08] local.INFO: x\n";
    let (got, _) = read(LineFormat::Auto, php);
    let summary: Vec<_> = got.iter().map(|g| (g.message.lines().count(), g.level)).collect();
    assert_eq!(summary, [(5, Level::Error), (1, Level::Info)]);
    let query = "# User@Host: a[a] @ b []  Id: 2\n# Query_time: 2.5  Lock_time: 0.0\nSET timestamp=1717200007;\nselect 1;\n";
    let slow = format!("# Time: 2024-06-01T00:00:07Z\n{query}{query}# Time: 2024-06-01T00:00:08Z\n{query}");
    let (got, _) = read(LineFormat::Auto, &slow);
    let summary: Vec<_> =
        got.iter().map(|g| (g.message.lines().count(), g.time / 1_000_000_000 - 1_717_200_000)).collect();
    assert_eq!(summary, [(5, 7), (4, 7), (5, 8)]);
}

#[test]
fn fields_asked_for_go_first() {
    let line = "{\"msg\":\"a\",\"say\":\"b\",\"time\":\"2024-06-01T00:00:00Z\",\"at\":1717200001,\"level\":\"info\",\"bad\":\"error\",\"app\":\"x\"}";
    let mut options = options(LineFormat::Ndjson);
    options.message_field = Some("say".to_owned());
    options.time_field = Some("at".to_owned());
    options.level_field = Some("bad".to_owned());
    options.stream_fields = vec!["app".to_owned()];
    let (got, _) = read_with(EntryReader::new(options), line.as_bytes(), 100);
    assert_eq!((got[0].time, got[0].level, &*got[0].message), (1_717_200_001_000_000_000, Level::Error, "b"));
    // Stream fields come first.
    assert_eq!(got[0].fields[0], ("app".to_owned(), "\"x\"".to_owned()));
    assert_eq!(got[0].fields.len(), 7);
}

#[test]
fn a_sink_that_fails_stops_the_reader() {
    let mut reader = EntryReader::new(options(LineFormat::Ndjson));
    let mut count = 0;
    let mut sink = |_: &[u8], _: Level, end: u64| {
        count += 1;
        if count == 2 { Err(end) } else { Ok(()) }
    };
    reader.feed(b"{}\n{}\n{}\n", &mut sink).unwrap();
    assert_eq!(reader.finish(&mut sink), Err(6));
    assert_eq!(count, 2);
}

/// Lines of every format, with some that are broken.
fn any_input() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        proptest::sample::select(vec![
            JSON,
            ACCESS,
            SYSLOG,
            LOGFMT,
            TEXT,
            "",
            " ",
            "\tat x",
            "Caused by: y",
            "{",
            "}",
            "panic: x",
            "[INFO] z",
            "Traceback (most recent call last):",
            "ValueError: x",
            "01:02:03 x",
            "a=1 b=2",
            "#Fields: date time a",
            "#Fields: a date time",
            "2024-06-01 10:00:00 b",
            "b 2024-06-01 10:00:00",
            "2024-06-01T00:00:00Z stdout F {\"msg\":\"x\"}",
            "2024-06-01T00:00:00Z stdout P a=1 ",
            "2024-06-01T00:00:00Z stdout F b=2",
            "2024-06-01T00:00:00Z stderr P 2024-06-01 x",
            "2024-06-01T00:00:05Z stderr F \ty",
            "2024-06-01T00:00:01Z stderr F #Fields: date time a",
            "{\"log\":\"{\\\"a\\\":1}\\n\",\"stream\":\"stdout\",\"time\":\"2024-06-01T00:00:00Z\"}",
            "{\"log\":\"part \",\"stream\":\"stderr\",\"time\":\"2024-06-01T00:00:00Z\"}",
        ])
        .prop_map(|s| s.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..30),
        "[ -~é]{0,90}".prop_map(String::into_bytes),
    ];
    let end = proptest::sample::select(vec!["\n", "\n", "\r\n", ""]);
    proptest::collection::vec((line, end), 0..30).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_input_balances_and_chunks_do_not_matter(
        input in any_input(),
        format in proptest::sample::select(LineFormat::all().to_vec()),
        chunk in 1usize..40,
    ) {
        let mut options = options(format);
        options.max_line_bytes = 64;
        options.max_event_lines = 5;
        let (got, report) = read_with(EntryReader::new(options.clone()), &input, chunk);
        prop_assert!(report.balances());
        prop_assert_eq!(report.entries, got.len() as u64);
        prop_assert_eq!(got.last().map_or(0, |g| g.end_offset), input.len() as u64);
        prop_assert_eq!(got.iter().map(|g| u64::from(g.raw_len)).sum::<u64>(), input.len() as u64);
        let newlines = input.iter().filter(|b| **b == b'\n').count() as u64;
        if !matches!(format, LineFormat::Journal | LineFormat::CloudTrail) {
            prop_assert_eq!(report.lines, newlines + u64::from(input.last().is_some_and(|b| *b != b'\n')));
        }
        let (again, report_again) = read_with(EntryReader::new(options), &input, usize::MAX);
        prop_assert_eq!(again, got);
        prop_assert_eq!(report_again, report);
    }

    #[test]
    fn an_input_can_be_left_after_any_entry_and_gone_on_with(input in any_input(), at in any::<proptest::sample::Index>()) {
        let mut options = options(LineFormat::Auto);
        options.max_line_bytes = 64;
        let (got, _) = read_with(EntryReader::new(options.clone()), &input, 1000);
        if got.is_empty() {
            return Ok(());
        }
        // Entries whose lines lie among each other have, but for the last, the offset of the one before them.
        let end = got[at.index(got.len())].end_offset;
        let taken = if end == 0 { 0 } else { got.iter().position(|g| g.end_offset == end).unwrap() + 1 };
        // A line that was cut is a line of its own after that.
        prop_assume!(end == input.len() as u64 || end == 0 || input[end as usize - 1] == b'\n');
        let detected = EntryReader::detect(&options, &input);
        let mut before = HeaderScan::new(&options);
        before.feed(&input[..end as usize]);
        let last_time = got[..taken].last().map(|g| g.time);
        let reader = EntryReader::resume(options, end, detected, last_time);
        let reader = reader.after(before.header());
        let (rest, _) = read_with(reader, &input[end as usize..], 7);
        let mut expected = got[taken..].to_vec();
        // Lines that an event's limit parted from it may join differently; here no event is that long.
        for (a, b) in rest.iter().zip(&mut expected) {
            prop_assert_eq!(a, &*b);
        }
        prop_assert_eq!(rest.len(), expected.len());
    }
}

/// An input that is piped in for weeks begins long before its last lines are written.
#[test]
fn lines_that_arrive_later_have_a_later_time_and_year() {
    const DAY_NS: i64 = 86_400_000_000_000;
    let began = 1_733_011_200_000_000_000; // 2024-12-01
    let mut times = Vec::new();
    let mut sink = |bytes: &[u8], level: Level, end_offset: u64| {
        times.push(common::decode(bytes, level, end_offset).time);
        Ok::<(), std::convert::Infallible>(())
    };
    let mut reader = EntryReader::new(ReaderOptions::new(began));
    for (day, line) in [(0, "ready"), (1, "busy"), (35, "Jan  5 00:00:00 web-1 cron[7]: x"), (36, "no time")]
    {
        reader.arrives_at(began + day * DAY_NS);
        reader.feed(format!("{line}\n").as_bytes(), &mut sink).unwrap();
        reader.finish(&mut sink).unwrap();
    }
    let days: Vec<i64> = times.iter().map(|time| (time - began) / DAY_NS).collect();
    assert_eq!(days, [0, 1, 35, 35], "the last has the time of the entry before it");
}

#[test]
fn security_events_have_their_fields_behind_a_head_of_syslog_too() {
    let bare = "CEF:0|a|b|1.0|100|worm stopped|10|src=192.0.2.1 rt=1717200007000";
    let leef = "LEEF:2.0|a|b|1.0|41|^|src=192.0.2.1^sev=5^devTime=1717200008000";
    let behind =
        "<134>Jun  1 00:00:09 fw CEF:0|a|b|1.0|100|n|7|app=HTTP host=x src=192.0.2.1 rt=1717200007000";
    let (got, report) = read(LineFormat::Auto, &format!("{bare}\n{leef}\n{behind}\n"));
    assert_eq!(messages(&got), [bare, leef, behind]);
    let told: Vec<_> = got.iter().map(|g| (g.time / 1_000_000_000, g.level)).collect();
    let expected =
        [(1_717_200_007, Level::Fatal), (1_717_200_008, Level::Warn), (1_717_200_009, Level::Error)];
    assert_eq!(told, expected);
    assert!(got.iter().all(|g| g.field("src") == Some("\"192.0.2.1\"")));
    let fields = |name| got[2].field(name);
    assert_eq!((fields("host"), fields("host#1")), (Some("\"fw\""), Some("\"x\"")));
    assert_eq!((fields("severity"), fields("deviceSeverity")), (Some("\"info\""), Some("7")));
    assert_eq!((report.formats.syslog, report.lines_without_time, report.unparsed_lines), (3, 0, 0));
}

#[test]
fn access_logs_of_aws_have_fields() {
    let line = r#"https 2024-06-01T00:00:07Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:80 0.1 0 0 502 - 0 57 "GET https://a:443/ HTTP/1.1" "-" - -"#;
    let (got, report) = read(LineFormat::Auto, line);
    assert_eq!((got[0].time, got[0].field("status")), (1_717_200_007_000_000_000, Some("502")));
    assert_eq!((report.formats.access_log, report.lines_without_time), (1, 0));
}

#[test]
fn proxies_requests_have_the_fields_of_their_heads_too_and_are_kept_as_they_were() {
    let squid = "Jun  1 00:00:07 gw squid[7]: 1717200007.123    921 192.0.2.1 TCP_MISS/200 507 GET http://a/b - HIER_DIRECT/192.0.2.9 text/html";
    let envoy = r#"web-1  | [2024-06-01T00:00:08Z] "GET /a HTTP/2" 503 UF 0 91 26 - "-" "c" "r" "h" "-"  "#;
    let app = "[2024-06-01 00:00:09.310][7][warning][main] [source/server/server.cc:1] \"x\"";
    for line in [squid, envoy, app] {
        let (got, report) = read(LineFormat::Auto, line);
        assert_eq!(got[0].message, line);
        let status = got[0].field("status");
        let expected = match line {
            _ if line == squid => (1_717_200_007_123_000_000, Some("200")),
            _ if line == envoy => (1_717_200_008_000_000_000, Some("503")),
            _ => (1_717_200_009_310_000_000, None),
        };
        assert_eq!((got[0].time, status), expected, "{line}");
        assert_eq!(report.formats.access_log, u64::from(status.is_some()));
        assert_eq!(got[0].field("host"), (line == squid).then_some("\"gw\""));
    }
}

#[test]
fn a_firewall_that_leaves_the_time_to_its_message_has_pairs() {
    let fortigate = r#"<189>date=2024-06-01 time=00:00:07 devname="FG" type="traffic" level="warning" tz="+0000" priority=9 host=fw-1"#;
    let sonicwall = r#"<134>id=firewall sn=17 time="2024-06-01 00:00:08 UTC" pri=6 msg="Connection Closed""#;
    let (got, _) =
        read(LineFormat::Auto, "<14>2024-06-01 02:00:09,123 +0200 x\n<14>240601 000010 y\n<14>app: z");
    assert_eq!(got.iter().map(|g| g.time / 1_000_000_000 - 1_717_200_000).collect::<Vec<_>>(), [9, 10, 10]);
    let (got, report) = read(LineFormat::Auto, &format!("{fortigate}\n{sonicwall}\n<13>a=1 b c d e\n"));
    let base = 1_717_200_000_000_000_000;
    assert_eq!(got.iter().map(|g| (g.time - base) / 1_000_000_000).collect::<Vec<_>>(), [7, 8, 8]);
    assert_eq!((got[0].message.as_str(), got[0].level), (fortigate, Level::Info), "the priority's level");
    assert_eq!((got[0].field("devname"), got[0].field("facility")), (Some("\"FG\""), Some("\"local7\"")));
    assert_eq!((got[0].field("priority"), got[0].field("priority#1")), (Some("189"), Some("9")));
    assert_eq!(got[0].field("host"), Some("\"fw-1\""));
    assert_eq!(got[1].field("msg"), Some("\"Connection Closed\""));
    assert_eq!(got[2].field("a"), None);
    assert_eq!((report.lines_without_time, report.formats.syslog), (1, 3));
}

#[test]
fn what_looks_like_syslog_is_where_most_lines_are() {
    let doubtful = "2024-06-01T00:00:00Z worker stopped: no more work\n";
    let plain = "2024-06-01T00:00:01Z started\n";
    let (got, _) = read(LineFormat::Auto, &format!("{doubtful}{plain}"));
    assert_eq!(got[0].fields, []);
    let others =
        "Jun 01 2024 00:00:07 Worker stopped: x\nJun 01 00:00:08.123456 Server started: x\nstarted\n";
    let (got, _) = read(LineFormat::Auto, &format!("{plain}{others}{plain}"));
    assert!(got.iter().all(|g| g.fields.is_empty()));
    let kernel = "2024-06-01T00:00:00+00:00 web-1 kernel: up\n";
    let certain = "2024-06-01T00:00:00+00:00 web-1 sshd[7]: x\n";
    let (got, _) = read(LineFormat::Auto, &format!("{kernel}stray\nline\n{certain}"));
    assert_eq!(got.iter().filter(|g| g.field("host") == Some("\"web-1\"")).count(), 2);
    let (got, _) = read(LineFormat::Syslog, &format!("{doubtful}{plain}"));
    assert_eq!(got[0].field("host"), Some("\"worker\""));
}

#[test]
fn an_access_log_behind_a_head_has_the_fields_of_both() {
    let nginx = r#"<190>Jun  1 00:00:00 web-1 nginx: 192.0.2.1 - - [01/Jun/2024:00:00:01 +0000] "GET /a HTTP/1.1" 200 512"#;
    let flask = r#"2024-06-01 00:00:00,123 - werkzeug - WARNING - 192.0.2.1 - - [01/Jun/2024 00:00:01] "GET /a HTTP/1.1" 404 -"#;
    let (got, report) = read(LineFormat::Auto, &format!("{nginx}\n{flask}\n"));
    for (g, status) in got.iter().zip(["200", "404"]) {
        assert_eq!((g.time, g.field("status")), (1_717_200_001_000_000_000, Some(status)));
        assert_eq!(g.field("ip"), Some("\"192.0.2.1\""));
    }
    assert_eq!((got[0].field("host"), got[0].field("app")), (Some("\"web-1\""), Some("\"nginx\"")));
    assert_eq!((got[0].level, got[1].level), (Level::Info, Level::Warn));
    assert_eq!(report.formats.access_log, 2);
}

#[test]
fn columns_have_the_names_that_the_header_before_them_says() {
    let first = "#Version: 1.0\n#Fields: date time s-ip cs-method sc-status\n2024-06-01 00:00:01 192.0.2.1 TRACE 501\n";
    let then = "2024-06-01 00:00:02 192.0.2.1\n#Fields: date time sc-status s-ip cs-method\n2024-06-01 00:00:03 404 192.0.2.1 GET\n";
    let (got, report) = read(LineFormat::Auto, &format!("{first}{then}"));
    let base = 1_717_200_000_000_000_000;
    let times = got[2..].iter().map(|g| (g.time - base) / 1_000_000_000);
    assert_eq!(times.collect::<Vec<_>>(), [1, 2, 2, 3]);
    let status: Vec<_> = got.iter().map(|g| g.field("status")).collect();
    assert_eq!(status, [None, None, Some("501"), None, None, Some("404")]);
    assert!(got.iter().all(|g| g.level == Level::Unknown), "a method is no level");
    assert_eq!((report.formats.columns, report.formats.plain), (2, 4));
    assert_eq!(got[5].message, "2024-06-01 00:00:03 404 192.0.2.1 GET");
    assert!(report.balances());
}

#[test]
fn what_a_container_wrote_is_read_behind_its_runtimes_head() {
    let json = r#"2024-06-01T00:00:01.5Z stdout F {"level":"warn","msg":"slow","stream":"a","took":1.50}"#;
    let own_time = r#"2024-06-01T00:00:02.5Z {"ts":"2024-06-01T00:00:02Z","message":"up"}"#;
    let logfmt = r#"2024-06-01T00:00:03Z stderr F level=error msg="no route" code=7"#;
    let text = "2024-06-01T00:00:04Z stdout F started in 5 s";
    let broken = r#"2024-06-01T00:00:05Z stdout F {"a":}"#;
    let part = r#"2024-06-01T00:00:06Z stdout P {"a":"#;
    let input = [json, own_time, logfmt, text, broken, part].join("\n");
    let (got, report) = read(LineFormat::Auto, &input);
    let base = 1_717_200_000_000_000_000;
    let summary: Vec<_> = got.iter().map(|g| ((g.time - base) / 100_000_000, g.level, &*g.message)).collect();
    assert_eq!(
        summary,
        [
            (15, Level::Warn, "slow"),
            (20, Level::Unknown, "up"),
            (30, Level::Error, r#"level=error msg="no route" code=7"#),
            (40, Level::Unknown, "started in 5 s"),
            (50, Level::Unknown, r#"{"a":}"#),
            (60, Level::Unknown, r#"{"a":"#),
        ]
    );
    assert_eq!((got[0].field("stream"), got[0].field("stream#1")), (Some("\"stdout\""), Some("\"a\"")));
    assert_eq!((got[0].field("took"), got[0].field("cri_time")), (Some("1.50"), None));
    assert_eq!(
        (got[1].field("cri_time"), got[1].field("stream")),
        (Some("\"2024-06-01T00:00:02.5Z\""), None)
    );
    assert_eq!((got[2].field("stream"), got[2].field("code")), (Some("\"stderr\""), Some("7")));
    let f = report.formats;
    assert_eq!((f.ndjson, f.logfmt, f.container, report.lines_without_time), (2, 1, 3, 0));
    assert_eq!(report.unparsed_lines, 2, "what begins as an object and is none");
    assert!(report.balances());
    let compose = r#"db-1   | 2024-06-01 00:00:07 LOG: x
web-1  | {"level":"error","msg":"bad"}"#;
    let trace = "web-1  | 2024-06-01 00:00:08 ERROR x\nweb-1  | \tat a.B\ndb-1   | checkpoint\ndb-1   | done";
    let (got, _) = read(LineFormat::Auto, &format!("{trace}\n{compose}"));
    assert_eq!(messages(&got)[..2].iter().map(|text| text.lines().count()).collect::<Vec<_>>(), [2, 2]);
    let (got, report) = read(LineFormat::Auto, compose);
    assert_eq!((got[1].time - base, got[1].level, &*got[1].message), (7_000_000_000, Level::Error, "bad"));
    assert_eq!((got[1].field("container"), report.lines_without_time), (Some("\"web-1\""), 1));
    let (got, _) = read(LineFormat::Logfmt, logfmt);
    assert_eq!((got[0].time - base, got[0].field("stream")), (3_000_000_000, Some("\"stderr\"")));
    let bytes = [&br#"2024-06-01T00:00:01Z stdout F {"a":""#[..], b"\xff", br#""}"#].concat();
    let (got, _) = read_with(EntryReader::new(options(LineFormat::Auto)), &bytes, 100);
    assert_eq!(got[0].field("a"), Some(r#""\\xFF""#));
}

#[test]
fn objects_of_an_array_are_read_line_by_line() {
    let input = "[\n  {\"msg\":\"a\"},\n,{\"msg\":\"b\"}\n]\n[{\"msg\":\"c\"},\n{\"msg\":\"d\"}]\n{\"msg\":\"e\"},{\"msg\":\"f\"},\n[{}],\n{,\n";
    let (got, report) = read(LineFormat::Auto, input);
    let expected = ["[", "a", "b", "]", "c", "d", "{\"msg\":\"e\"},{\"msg\":\"f\"},", "[{}],", "{,"];
    assert_eq!(messages(&got), expected);
    assert_eq!((report.formats.ndjson, report.lines), (4, 9));
    assert!(report.balances());
    let text = "2024-06-01 00:00:00 INFO answer:\n{\n  \"items\": [\n    {\"id\":1},\n    {\"id\":2}]\n}";
    let (got, _) = read(LineFormat::Auto, &format!("{text}\n{text}\n"));
    assert_eq!(messages(&got), [text, text]);
}

#[test]
fn an_event_is_a_message_where_nothing_else_is() {
    let (got, _) =
        read(LineFormat::Auto, "{\"event\":\"login\",\"user\":\"a\"}\n{\"event\":\"x\",\"msg\":\"y\"}\n");
    assert_eq!(messages(&got), ["login", "y"]);
}

/// What ends a program is of no line of its log.
#[test]
fn uncaught_exceptions_are_events_of_their_own() {
    let log = "2024-06-01T10:00:00Z INFO up";
    let rust = "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\nstack backtrace:\n   0: a\n             at /b.rs:6:5\nnote: run with `RUST_BACKTRACE=full`";
    let node = "/srv/app.js:3\nthrow new Error('boom')\n      ^\n\nError: boom\n    at f (/srv/app.js:3:7)\n\nNode.js v18.17.0";
    let rejected = "node:internal/process/promises:288\n            trigger(err);\n            ^\n\n[UnhandledPromiseRejection: x] {\n  code: 'E'\n}\n\nNode.js v18.17.0";
    let java = "Exception in thread \"main\" java.lang.X: y\n\tat a.B.c(B.java:3)";
    let net = "Unhandled exception. System.X: y\n ---> System.Z: z\n   at A.b()";
    let emitted = "node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\nError: x\n    at f (node:net:1817:16)\nEmitted 'error' event on Server instance at:\n    at g (node:net:1796:8) {\n  code: 'E'\n}\n\nNode.js v20.11.0";
    for thrown in [rust, node, rejected, emitted, java, net] {
        let (got, report) = read(LineFormat::Auto, &format!("{log}\n{log}\n{thrown}\n{log}\n"));
        assert_eq!(messages(&got), [log, log, thrown, log]);
        assert_eq!(got[2].level, Level::Error, "{thrown}");
        assert!(report.balances());
        let (got, _) = read(LineFormat::Auto, &format!("on 0.0.0.0:80\n{thrown}\non 0.0.0.0:80\n"));
        assert_eq!(messages(&got), ["on 0.0.0.0:80", thrown, "on 0.0.0.0:80"]);
    }
}

/// Another thread, or another process, may write between the lines of one.
#[test]
fn a_line_with_a_time_is_of_no_uncaught_exception() {
    let log = "2024-06-01T10:00:00Z INFO up";
    for thrown in ["thread 'main' panicked at src/main.rs:4:5:", "/srv/app.js:3", "/srv/app.js:3\nx\n^"] {
        let (got, _) = read(LineFormat::Auto, &format!("{log}\n{thrown}\n{log}\n"));
        assert_eq!(messages(&got), [log, thrown, log]);
        assert_eq!(got[2].level, Level::Info);
    }
    let (got, _) = read(LineFormat::Auto, "/srv/a.js:3\n/srv/b.js:7\n");
    assert_eq!(messages(&got), ["/srv/a.js:3", "/srv/b.js:7"]);
}

#[test]
fn an_object_without_a_time_has_that_of_its_message() {
    let input = "{\"log\":\"2024-06-01T00:00:07Z ERROR x\",\"file\":\"/a\"}\n{\"log\":\"1717200001 y\"}\n\
                 {\"log\":\"2024-06-01T00:00:08Z z\",\"time\":\"2024-06-01T00:00:09Z\"}\n\
                 {\"time_local\":\"01/Jun/2024:00:00:10 +0000\",\"status\":200}\n";
    let (got, report) = read(LineFormat::Auto, input);
    let times: Vec<_> = got.iter().map(|g| g.time / 1_000_000_000 - 1_717_200_000).collect();
    assert_eq!(times, [7, 7, 9, 10]);
    assert_eq!(report.lines_without_time, 1);
}
