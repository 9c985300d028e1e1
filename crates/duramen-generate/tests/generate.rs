//! What the generator promises: the same bytes for the same options, the numbers that were asked for, formats that
//! parse, and needles that can be counted.
#![allow(clippy::unwrap_used)] // in helpers, too, a failure is the test's

use duramen_generate::{Format, Generator, Kind, Level, Options, Pace};

const KINDS: [Kind; 5] = [Kind::Mixed, Kind::App, Kind::Access, Kind::Syslog, Kind::StackTraces];
const DAY_NS: i64 = 86_400_000_000_000;

fn generate(options: Options) -> Vec<String> {
    let mut generator = Generator::new(options).unwrap();
    let mut lines = Vec::new();
    let mut line = Vec::new();
    while generator.write_line(&mut line) {
        assert_eq!(line.pop(), Some(b'\n'));
        lines.push(String::from_utf8(std::mem::take(&mut line)).unwrap());
    }
    lines
}

fn native(kind: Kind, lines: u64) -> Vec<String> {
    generate(Options { kind, lines, format: Format::Native, ..Options::default() })
}

/// FNV-1a, 64 bits.
fn hash(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|l| l.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// If this fails the generator's output has changed: recorded figures no longer compare with new ones. Say so in
/// the changelog.
#[test]
fn the_same_seed_gives_the_same_bytes_forever() {
    let uniform = hash(&generate(Options { lines: 1000, ..Options::default() }));
    let native = KINDS.map(|kind| hash(&native(kind, 1000)));
    let found: Vec<String> = [uniform].iter().chain(&native).map(|h| format!("{h:016x}")).collect();
    assert_eq!(found, GOLDEN);
}
const GOLDEN: [&str; 6] = [
    "e5178ab48c20b2bf",
    "367cd19b3c940e16",
    "6b3195c795041228",
    "aced554832ff7765",
    "7d9ac028b9fc2426",
    "f7527d980374746f",
];

#[test]
fn another_seed_gives_other_lines() {
    let one = generate(Options { lines: 100, ..Options::default() });
    let two = generate(Options { lines: 100, seed: 2, ..Options::default() });
    assert!(one.iter().zip(&two).all(|(a, b)| a != b));
}

#[test]
fn as_many_lines_as_asked_for() {
    for kind in KINDS {
        for lines in [0, 1, 777] {
            for format in [Format::Ndjson, Format::Native] {
                let options = Options { kind, lines, format, ..Options::default() };
                assert_eq!(generate(options).len() as u64, lines);
            }
        }
    }
}

#[test]
fn needles_are_on_as_many_lines_as_is_said() {
    for kind in KINDS {
        for format in [Format::Ndjson, Format::Native] {
            let options = Options { kind, format, lines: 10_000, ..Options::default() };
            let planted = Generator::new(options.clone()).unwrap().planted();
            let lines = generate(options);
            let counts: Vec<u64> = planted.iter().map(|(_, n)| *n).collect();
            assert_eq!(counts, [1, 37, 23]);
            for (text, count) in planted {
                let found = lines.iter().filter(|l| l.contains(&text)).count() as u64;
                assert_eq!(found, count, "{text} in {kind:?} as {format:?}");
            }
        }
    }
    assert!(Generator::new(Options { lines: 9_999, ..Options::default() }).unwrap().planted().is_empty());
}

#[test]
fn uniform_lines_are_json_with_the_promised_names() {
    let names = [
        "_time",
        "level",
        "app",
        "host",
        "_msg",
        "status",
        "path",
        "ip",
        "user",
        "request_id",
        "trace_id",
        "duration_ms",
    ];
    for kind in KINDS {
        for line in generate(Options { kind, lines: 3000, ..Options::default() }) {
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            let object = value.as_object().unwrap();
            assert!(object.keys().all(|k| names.contains(&&**k)), "{line}");
            assert!(names[..5].iter().all(|&n| object[n].as_str().is_some_and(|s| !s.is_empty())), "{line}");
        }
    }
}

#[test]
fn app_lines_are_json_with_nested_objects() {
    let lines = native(Kind::App, 5000);
    let values: Vec<serde_json::Value> = lines.iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(values.iter().any(|v| v["http"]["status"] == 200 && v["user"]["plan"] == "pro"));
    assert!(values.iter().any(|v| v["stack"].as_str().is_some_and(|s| s.contains("Caused by: "))));
    assert!(values.iter().any(|v| v["order_id"].is_string() && v["amount"].is_number()));
}

#[test]
fn access_lines_are_in_the_combined_format() {
    for line in native(Kind::Access, 2000) {
        let quoted: Vec<&str> = line.split('"').collect();
        assert_eq!(quoted.len(), 7, "{line}");
        let head: Vec<&str> = quoted[0].split(' ').collect();
        assert_eq!(head[0].parse::<std::net::Ipv4Addr>().map(|ip| ip.to_string()).as_deref(), Ok(head[0]));
        jiff::fmt::strtime::parse("[%d/%b/%Y:%H:%M:%S %z]", format!("{} {}", head[3], head[4])).unwrap();
        assert_eq!(quoted[1].split(' ').count(), 3, "{line}");
        let numbers: Vec<u32> = quoted[2].split_whitespace().map(|n| n.parse().unwrap()).collect();
        assert!((200..600).contains(&numbers[0]) && numbers.len() == 2, "{line}");
    }
}

#[test]
fn syslog_has_both_its_forms_and_all_its_programs() {
    let lines = native(Kind::Syslog, 3000);
    let share = |f: fn(&str) -> bool| lines.iter().filter(|l| f(l)).count() as f64 / 3000.0;
    assert!((0.2..0.5).contains(&share(|l| l.starts_with('<') && l.contains(">1 2026-01-"))));
    assert!((0.2..0.5).contains(&share(|l| l.starts_with('<') && l.contains(">Jan  5 "))));
    assert!((0.2..0.5).contains(&share(|l| l.starts_with("Jan  "))));
    for program in ["sshd", "CRON", "kernel", "systemd", "postfix"] {
        assert!(lines.iter().any(|l| l.contains(program)), "{program}");
    }
}

#[test]
fn stack_traces_are_javas_and_pythons() {
    let events = native(Kind::StackTraces, 2000);
    let traces: Vec<&String> = events.iter().filter(|e| e.contains('\n')).collect();
    assert!(traces.len() > 200, "{}", traces.len());
    assert!(traces.iter().any(|t| t.contains("\n\tat com.example.") && t.contains("\nCaused by: ")));
    assert!(traces.iter().any(|t| t.contains("\nTraceback (most recent call last):\n  File \"")));
    assert!(events.iter().all(|e| e.starts_with("2026-01-0")));
}

#[test]
fn levels_are_mixed_as_in_a_healthy_fleet() {
    let events: Vec<_> = Generator::new(Options { lines: 100_000, ..Options::default() }).unwrap().collect();
    let percent = |level| events.iter().filter(|e| e.level() == level).count() as f64 / 1000.0;
    let levels = [Level::Debug, Level::Info, Level::Warn, Level::Error, Level::Fatal].map(percent);
    let ranges = [9.0..15.0, 74.0..84.0, 3.5..7.0, 1.5..4.0, 0.02..0.3];
    assert!(levels.iter().zip(&ranges).all(|(share, range)| range.contains(share)), "{levels:?}");
}

#[test]
fn events_take_the_time_that_was_asked_for_and_most_come_in_order() {
    for kind in KINDS {
        for (pace, expected) in [(Pace::DurationNs(DAY_NS as u64), 86_400.0), (Pace::PerSecond(50.0), 600.0)]
        {
            let options = Options { kind, lines: 30_000, pace, ..Options::default() };
            let start_ns = options.start_ns;
            let times: Vec<i64> = Generator::new(options).unwrap().map(|e| e.time_ns()).collect();
            assert!(times.iter().all(|&t| t >= start_ns));
            let seconds = (times.iter().max().unwrap() - start_ns) as f64 / 1e9;
            assert!((seconds / expected - 1.0).abs() < 0.2, "{kind:?}: {seconds} s of {expected} s");
            let late = times.windows(2).filter(|w| w[1] < w[0]).count();
            assert!(late < 300, "{late} late");
        }
    }
}

#[test]
fn an_incident_raises_the_error_rate_for_minutes() {
    let worst_share = |incidents| {
        let options = Options { lines: 200_000, incidents, ..Options::default() };
        let start_ns = options.start_ns;
        // Errors and events of each five minutes.
        let mut windows = std::collections::BTreeMap::<i64, (u32, u32)>::new();
        for event in Generator::new(options).unwrap() {
            let window = windows.entry((event.time_ns() - start_ns) / 300_000_000_000).or_default();
            window.0 += u32::from(event.level() >= Level::Error);
            window.1 += 1;
        }
        let busy = windows.values().filter(|w| w.1 >= 200);
        busy.map(|w| f64::from(w.0) / f64::from(w.1)).fold(0.0, f64::max)
    };
    let (with, without) = (worst_share(true), worst_share(false));
    assert!(with > 0.12 && without < 0.08, "{with} against {without}");
}

#[test]
fn a_request_is_followed_through_services_and_into_the_access_log() {
    let lines = native(Kind::Mixed, 20_000);
    let requests: Vec<&str> = (lines.iter())
        .filter(|l| l.contains(" HTTP/"))
        .filter_map(|l| l.split_once("rid=").map(|(_, rest)| rest.split_once(' ').unwrap().0))
        .collect();
    let of_services = |request: &str| {
        let apps = lines.iter().filter(|l| l.starts_with('{') && l.contains(request));
        let apps: std::collections::BTreeSet<String> =
            apps.map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["app"].to_string()).collect();
        apps.len()
    };
    let followed = requests.iter().take(100).filter(|r| of_services(r) >= 2).count();
    assert!(followed > 30, "{followed} of 100");
}

#[test]
fn few_or_many_services_and_hosts() {
    for (services, hosts) in [(1, 1), (3, 2), (45, 60)] {
        let lines = generate(Options { services, hosts, lines: 5000, ..Options::default() });
        assert_eq!(lines.len(), 5000);
    }
    let lines = generate(Options { services: 45, hosts: 60, lines: 20_000, ..Options::default() });
    assert!(lines.iter().any(|l| l.contains("\"app\":\"cart-2\"")));
}

#[test]
fn options_out_of_range_are_errors() {
    let error = |options: Options| Generator::new(options).unwrap_err().to_string();
    assert!(error(Options { services: 0, ..Options::default() }).contains("services must be"));
    assert!(error(Options { hosts: 1001, ..Options::default() }).contains("hosts must be"));
    assert!(error(Options { start_ns: -1, ..Options::default() }).contains("1970"));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(error(Options { pace: Pace::PerSecond(rate), ..Options::default() }).contains("positive"));
    }
    assert!(error(Options { pace: Pace::PerSecond(1e-6), ..Options::default() }).contains("ten years"));
}
