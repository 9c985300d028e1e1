//! Files of containers' runtimes: Docker's `json-file` driver, CRI's logs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod common;

use common::{Got, options, read, read_with};
use duramen::Level;
use duramen_formats::{EntryReader, LineFormat, Report};

/// 2024-06-01T10:00:00Z
const BASE_NS: i64 = 1_717_236_000_000_000_000;

fn docker(second: u32, stream: &str, log: &str) -> String {
    let log = serde_json::Value::from(log);
    format!("{{\"log\":{log},\"stream\":\"{stream}\",\"time\":\"2024-06-01T10:00:{second:02}.5Z\"}}\n")
}

fn cri(second: u32, stream: &str, tag: &str, text: &str) -> String {
    format!("2024-06-01T10:00:{second:02}.5Z {stream} {tag} {text}\n")
}

fn auto(input: &[String]) -> (Vec<Got>, Report) {
    let (got, report) = read(LineFormat::Auto, &input.concat());
    assert!(report.balances(), "{report:?}");
    (got, report)
}

fn messages(got: &[Got]) -> Vec<&str> {
    got.iter().map(|g| g.message.as_str()).collect()
}

#[test]
fn what_a_program_wrote_is_the_message() {
    for line in [docker as fn(u32, &str, &str) -> String, |second, stream, log| {
        cri(second, stream, "F", log.strip_suffix('\n').unwrap())
    }] {
        let access =
            "192.0.2.1 - - [01/Jun/2024:12:00:03 +0200] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/8\"";
        let (got, report) = auto(&[
            line(0, "stdout", "Started in 5 s\n"),
            line(1, "stderr", "2024-06-01 12:00:01,000 ERROR no <route> & \"so on\" é\n"),
            line(2, "stdout", "{\"level\":\"warn\",\"msg\":\"slow\",\"took\":1.50}\n"),
            line(3, "stdout", &format!("{access}\n")),
            line(4, "stdout", "ts=2024-06-01T10:00:04Z level=error msg=\"no\" stream=a\n"),
            line(5, "stdout", "I0601 10:00:05.000000       1 main.go:7] up\n"),
            line(8, "stdout", "\n"),
        ]);
        let summary: Vec<_> =
            got.iter().map(|g| ((g.time - BASE_NS) / 100_000_000, g.level, &*g.message)).collect();
        assert_eq!(
            summary,
            [
                (5, Level::Unknown, "Started in 5 s"),
                (15, Level::Error, "2024-06-01 12:00:01,000 ERROR no <route> & \"so on\" é"),
                (25, Level::Warn, "slow"),
                (30, Level::Unknown, access),
                (40, Level::Error, "ts=2024-06-01T10:00:04Z level=error msg=\"no\" stream=a"),
                (55, Level::Info, "I0601 10:00:05.000000       1 main.go:7] up"),
                (85, Level::Unknown, ""),
            ]
        );
        let stream: Vec<_> = got.iter().filter_map(|g| g.field("stream")).collect();
        let out = "\"stdout\"";
        assert_eq!(stream, [out, "\"stderr\"", out, out, out, out, out]);
        assert!(got.iter().all(|g| g.field("log").is_none() && g.field("time").is_none()));
        let head_time: Vec<_> = got.iter().map(|g| g.field("cri_time").is_some()).collect();
        assert_eq!(head_time, [false, false, false, true, true, false, false], "{got:?}");
        assert_eq!((got[2].field("took"), got[3].field("status")), (Some("1.50"), Some("200")));
        assert_eq!(got[4].field("stream#1"), Some("\"a\""));
        let f = report.formats;
        assert_eq!((f.container, f.ndjson, f.access_log, f.logfmt), (4, 1, 1, 1));
        assert_eq!((report.lines_without_time, report.unparsed_lines, report.joined_lines), (0, 0, 0));
    }
}

#[test]
fn what_docker_was_asked_to_tell_of_the_container_is_fields() {
    let line = r#"{"log":"{\"msg\":\"up\",\"time\":\"2024-06-01T09:00:00Z\",\"attrs\":{\"tag\":\"own\"}}\r\n","stream":"stdout","attrs":{"com.docker.compose.service":"web","tag":"web-1"},"time":"2024-06-01T10:00:00.123456789Z"}"#;
    let (got, _) = read(LineFormat::Auto, line);
    assert_eq!((&*got[0].message, got[0].time), ("up", BASE_NS - 3_600_000_000_000));
    let fields = ["attrs.com.docker.compose.service", "attrs.tag", "attrs.tag#1", "cri_time"];
    let expected = ["\"web\"", "\"web-1\"", "\"own\"", "\"2024-06-01T10:00:00.123456789Z\""];
    assert_eq!(fields.map(|name| got[0].field(name)), expected.map(Some));
}

#[test]
fn objects_of_others_are_as_they_were() {
    let fluent =
        r#"{"log":"a\n","stream":"stdout","kubernetes":{"pod_name":"x"},"time":"2024-06-01T10:00:00Z"}"#;
    let (got, _) = read(LineFormat::Auto, fluent);
    assert_eq!((&*got[0].message, got[0].field("log")), ("a\n", Some("\"a\\n\"")));
    // Who says what the lines are gets these.
    let (got, _) = read(LineFormat::Ndjson, &docker(0, "stdout", "a\n"));
    assert_eq!((&*got[0].message, got[0].field("log")), ("a\n", Some("\"a\\n\"")));
    let (got, _) = read(LineFormat::Plain, &cri(0, "stdout", "F", "a"));
    assert_eq!(got[0].message, "2024-06-01T10:00:00.5Z stdout F a");
}

#[test]
fn a_long_line_is_whole_again() {
    // As runtimes cut it: every 16 KiB, be it in the midst of a character.
    let long = format!("{{\"level\":\"error\",\"msg\":\"{}\"}}", "é".repeat(40_000));
    let mut input: Vec<Vec<u8>> = Vec::new();
    let parts: Vec<_> = long.as_bytes().chunks(16 << 10).collect();
    for (i, part) in parts.iter().enumerate() {
        let tag = if i + 1 < parts.len() { "P" } else { "F" };
        input.push([b"2024-06-01T10:00:00.5Z stdout ", tag.as_bytes(), b" ", part, b"\n"].concat());
    }
    let text = input.concat();
    for piece in [7, 4096, usize::MAX] {
        let (got, report) = read_with(EntryReader::new(options(LineFormat::Auto)), &text, piece);
        assert_eq!((got.len(), got[0].level, got[0].message.len()), (1, Level::Error, 80_000));
        assert_eq!((got[0].raw_len as usize, got[0].end_offset as usize), (text.len(), text.len()));
        assert_eq!((report.lines, report.joined_lines, report.lines_not_utf8), (5, 4, 0));
        assert!(report.balances());
    }
    let (a, b) = (docker(0, "stdout", &"a".repeat(16 << 10)), docker(1, "stdout", "b\n"));
    let (got, report) = auto(&[a.clone(), a, b]);
    assert_eq!((got.len(), got[0].message.len(), report.lines), (1, (32 << 10) + 1, 3));
    assert_eq!(got[0].time, BASE_NS + 500_000_000, "the time is that of the first part");
}

#[test]
fn parts_of_two_streams_may_lie_among_each_other() {
    let before = docker(0, "stdout", "before\n");
    // A part is what Docker gathers.
    let part = |word: &str| word.repeat((16 << 10) / word.len());
    let input = [
        before.clone(),
        docker(1, "stdout", &part("one ")),
        docker(1, "stderr", &part("two ")),
        docker(1, "stdout", &part("one ")),
        docker(2, "stderr", "two\n"),
        docker(3, "stderr", "whole\n"),
        docker(4, "stdout", "one\n"),
        docker(5, "stderr", "after\n"),
    ];
    let (got, report) = auto(&input);
    let (one, two) = (part("one ").repeat(2) + "one", part("two ") + "two");
    assert_eq!(messages(&got), ["before", &one, &two, "whole", "after"]);
    assert_eq!((report.lines, report.joined_lines), (8, 3));
    let (begin, end) = (before.len() as u64, input[..7].concat().len() as u64);
    let ends: Vec<_> = got.iter().map(|g| g.end_offset).collect();
    assert_eq!(ends[..4], [begin, begin, begin, end], "one can leave it before or behind all three");
    // Left there, it gives all of them.
    let input = input.concat();
    let detected = EntryReader::detect(&options(LineFormat::Auto), input.as_bytes());
    let reader = EntryReader::resume(options(LineFormat::Auto), begin, detected, None);
    let (rest, _) = read_with(reader, &input.as_bytes()[before.len()..], 1000);
    assert_eq!(rest, got[1..]);
}

#[test]
fn a_part_without_the_rest_is_kept_as_it_is() {
    for end in ["", "{\"not\":\"a container's\"}\n", "text\n"] {
        let input = [cri(0, "stdout", "P", "ERROR cut "), cri(0, "stderr", "P", "{\"a\":"), end.to_owned()];
        let (got, _) = auto(&input);
        assert_eq!(messages(&got)[..2], ["ERROR cut ", "{\"a\":"]);
        assert_eq!((got[0].level, got[0].field("stream")), (Level::Error, Some("\"stdout\"")));
        assert_eq!(got.len(), 2 + usize::from(!end.is_empty()));
        assert_eq!(got.last().unwrap().end_offset, input.concat().len() as u64);
    }
    // The rest that comes later, or in the next file, is a line of its own.
    let (got, _) = auto(&[cri(0, "stdout", "F", "rest")]);
    assert_eq!(messages(&got), ["rest"]);
}

#[test]
fn parts_over_the_limits_lose_nothing() {
    let mut small = options(LineFormat::Auto);
    small.max_line_bytes = 64;
    let part = "x".repeat(30);
    let mut input: Vec<_> = (0..5).map(|_| docker(0, "stdout", &part)).collect();
    input.push(docker(0, "stdout", "end\n"));
    let (got, report) = read_with(EntryReader::new(small), input.concat().as_bytes(), usize::MAX);
    // Other lines are cut at this limit, too; here those of the input itself are.
    assert!(report.balances() && report.cut_lines > 0, "{report:?}");
    assert_eq!(got.iter().map(|g| g.raw_len as usize).sum::<usize>(), input.concat().len());

    let part = "x".repeat(16 << 10);
    let mut input: Vec<_> = (0..200).map(|_| cri(0, "stdout", "P", &part)).collect();
    input.push(cri(0, "stdout", "F", "ERROR the end"));
    let (got, report) = auto(&input);
    let text: usize = got.iter().map(|g| g.message.len()).sum();
    assert_eq!(text, 200 * part.len() + "ERROR the end".len());
    assert!(got.iter().all(|g| g.message.len() <= 1 << 20), "{}", got.len());
    assert_eq!((got.len(), report.cut_lines, report.unparsed_lines), (4, 1, 0));

    // Many lines that wait for the rest of one: they are given out, in their order, before the rest.
    let mut input = vec![cri(0, "stdout", "P", "a ")];
    input.extend((0..25_000).map(|n| cri(0, "stderr", "F", &format!("line {n}"))));
    input.push(cri(0, "stdout", "F", "b"));
    let (got, report) = auto(&input);
    assert_eq!((got.len(), report.lines, report.joined_lines), (25_002, 25_002, 0));
    assert_eq!((&*got[0].message, &*got[1].message, &*got[25_001].message), ("a ", "line 0", "b"));
}

#[test]
fn events_of_several_lines_are_one_entry() {
    let trace = "java.lang.IllegalStateException: y\n\tat A.b(A.java:1)\nCaused by: Z\n\t... 3 more";
    let mut input = vec![cri(0, "stdout", "F", "2024-06-01 10:00:00 ERROR x")];
    input.extend(trace.lines().map(|line| cri(0, "stdout", "F", line)));
    input.push(cri(0, "stderr", "F", "\tof another stream"));
    input.push(cri(1, "stdout", "F", "2024-06-01 10:00:01 INFO on"));
    input.push(cri(2, "stdout", "F", "goes on"));
    input.push(cri(9, "stdout", "F", "much later"));
    let (got, report) = auto(&input);
    let first = format!("2024-06-01 10:00:00 ERROR x\n{trace}");
    let expected = [&first, "\tof another stream", "2024-06-01 10:00:01 INFO on\ngoes on", "much later"];
    assert_eq!(messages(&got), expected);
    assert_eq!((report.lines, report.joined_lines), (9, 5));
    let mut apart = options(LineFormat::Auto);
    apart.join_lines = false;
    let input = [cri(0, "stdout", "P", "a "), cri(0, "stdout", "F", "b"), cri(0, "stdout", "F", "\tc")];
    let (got, _) = read_with(EntryReader::new(apart), input.concat().as_bytes(), 9);
    assert_eq!(messages(&got), ["a b", "\tc"], "a line is one, whatever its parts are");
}

#[test]
fn other_lines_are_counted_where_containers_are_said() {
    let input = [docker(0, "stdout", "a\n"), "{broken\n".into(), "2024-06-01 10:00:07 INFO other\n".into()];
    let (got, report) = read(LineFormat::Container, &input.concat());
    assert_eq!(messages(&got), ["a", "{broken", "2024-06-01 10:00:07 INFO other"]);
    assert_eq!((report.unparsed_lines, got[2].level), (2, Level::Info));
    assert_eq!("docker".parse(), Ok(LineFormat::Container));
    assert_eq!("cri".parse(), Ok(LineFormat::Container));
}

#[test]
fn bytes_that_are_not_utf8_are_kept_as_text() {
    let input =
        [&b"2024-06-01T10:00:00Z stdout F {\"a\":\"\xe9\"}\n2024-06-01T10:00:00Z stdout F h\xe4\n"[..]];
    let (got, report) = read_with(EntryReader::new(options(LineFormat::Auto)), &input.concat(), usize::MAX);
    assert_eq!((got[0].field("a"), &*got[1].message), (Some("\"\\\\xE9\""), "h\\xE4"));
    assert_eq!(report.lines_not_utf8, 2);
}

#[test]
fn objects_that_look_like_those_of_a_runtime_stay_apart() {
    let line = |n: u32| docker(n, "stdout", &format!("request {n}"));
    let (got, report) = auto(&[line(0), line(1), line(2)]);
    assert_eq!((got.len(), report.joined_lines), (3, 0));
    let (got, _) = auto(&[cri(0, "stdout", "F:/var/log/a", "not found"), cri(1, "stdout", "F", "b")]);
    assert!(got[0].message.contains("F:/var/log/a not found"), "{}", got[0].message);
}
