//! What tables tell of their streams, fields and steps of time is what their blocks hold: queries that go by it find what those
//! find that open every block.
#![allow(clippy::unwrap_used)]

use duramen::block::{Block, BlockHandle};
use duramen::{EntryBuf, Level, Result, Store};
use duramen_query::{Cancel, ParseOptions, Query, RunOptions, RunStats};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

const HOUR: i64 = 3_600_000_000_000;
const START: i64 = 490_000 * HOUR;

/// A block of which nothing is told.
#[derive(Debug)]
struct Silent(Arc<dyn BlockHandle>);

impl BlockHandle for Silent {
    fn rows(&self) -> usize {
        self.0.rows()
    }
    fn min_time(&self) -> i64 {
        self.0.min_time()
    }
    fn max_time(&self) -> i64 {
        self.0.max_time()
    }
    fn open(&self) -> Result<Arc<dyn Block>> {
        self.0.open()
    }
}

/// Of which fields an entry's stream is made, which fields it has besides, and when it was.
type Line = (Vec<&'static str>, Vec<(&'static str, &'static str)>, i64);

fn field() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop_oneof![
        (Just("app"), prop_oneof![Just("a"), Just("b"), Just("c d"), Just("")]),
        (Just("host"), prop_oneof![Just("1"), Just("2"), Just("web-3")]),
        (Just("level"), prop_oneof![Just("error"), Just("info")]),
        (Just("n"), prop_oneof![Just("7"), Just("8")]),
        (Just("code"), prop_oneof![Just("200"), Just("404"), Just("-1")]),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    let streams = prop_oneof![
        6 => Just(vec!["app", "host"]),
        1 => Just(vec!["app"]),
        1 => Just(vec![]),
        1 => Just(vec!["level", "app"]),
    ];
    let times = prop_oneof![0..72 * HOUR, 0..HOUR / 2];
    (streams, prop::collection::vec(field(), 0..4), times)
}

fn store_of(flushes: &[Vec<Line>]) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    for lines in flushes {
        for (stream, fields, time) in lines {
            let mut entry = EntryBuf::new(stream.iter().copied());
            let message = ["it happened again", "nothing happened at all", "7"][(time % 3) as usize];
            entry.start(START + time).level(Level::Info).message(message);
            let mut known = Vec::new();
            for (name, value) in fields {
                if !known.contains(name) {
                    known.push(*name);
                    match value.parse::<i64>() {
                        Ok(n) if *name == "code" => entry.field(name, n),
                        _ => entry.field(name, *value),
                    };
                }
            }
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
    }
    (dir, store)
}

/// A query's rows, sorted.
fn answer(text: &str, blocks: Vec<Arc<dyn BlockHandle>>) -> (Vec<String>, RunStats) {
    let query = Query::parse(text, &ParseOptions::default()).unwrap();
    let mut rows = Vec::new();
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let stats = query.run(blocks, &options, &Cancel::new(), &mut |row| {
        rows.push(format!("{:?}", row.iter().collect::<Vec<_>>()));
        ControlFlow::Continue(())
    });
    rows.sort_unstable();
    (rows, stats.unwrap())
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*".to_owned()),
        Just(r#"{app="a"}"#.to_owned()),
        Just(r#"{app=~"a|c.*",host!="1"}"#.to_owned()),
        Just(r#"{app="" or host="2"}"#.to_owned()),
        Just("app:=a".to_owned()),
        Just("app:\"c d\"".to_owned()),
        Just("host:web".to_owned()),
        Just(r#"host:"""#.to_owned()),
        Just("level:error".to_owned()),
        Just("n:=7".to_owned()),
        Just("n:*".to_owned()),
        Just("code:>=0".to_owned()),
        Just(r#"none:"""#.to_owned()),
        Just("level:in(error, \"\")".to_owned()),
        Just("happened".to_owned()),
        Just("again".to_owned()),
        Just("\"at all\" nothing".to_owned()),
        Just("in(again, 7)".to_owned()),
        Just("happen*".to_owned()),
        (0..80i64, 1..60i64).prop_map(|(from, hours)| {
            let from = START + (from - 4) * HOUR;
            format!("_time:[{from}, {})", from + hours * HOUR)
        }),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    part().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" "))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" or "))),
            inner.prop_map(|part| format!("!{part}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn streams_that_are_told_are_those_that_are_there(
        flushes in prop::collection::vec(prop::collection::vec(line(), 1..40), 1..4),
        filters in prop::collection::vec(filter(), 12),
    ) {
        let (_dir, store) = store_of(&flushes);
        let snapshot = store.snapshot().unwrap();
        let handles = snapshot.blocks(i64::MIN, i64::MAX);
        prop_assert!(handles.iter().all(|handle| handle.streams().is_some()));
        prop_assert!(handles.iter().all(|handle| handle.values("none").is_some_and(|values| values.is_empty())));
        prop_assert!(handles.iter().all(|handle| handle.values("code").is_some()));
        let silent: Vec<Arc<dyn BlockHandle>> =
            handles.iter().map(|handle| Arc::new(Silent(handle.clone())) as Arc<dyn BlockHandle>).collect();
        for filter in filters {
            for pipe in [
                "stats count() n",
                "stats by (app) count() n",
                "stats by (host, level) count() n",
                "stats by (none, level) count() n",
                "stats by (_time:1d, n) count() c",
                "stats by (n:5) count() c",
                "stats by (_time:15m) count() c",
                "stats by (_time:1h, level) count() c",
                "stats by (level, _time:7m, host) count() c",
                "stats by (_time:1d offset 2h, level, app) count() c",
                "stats by (_time:month) count() c",
                "stats by (code) count() c",
                "stats by (_time:1d, app) count() n",
                "stats by (_stream) count() n",
                "uniq by (_stream_id) with hits",
                "stats by (app) count() n, count_uniq(host) hosts, sum(n) s",
                "stats uniq_values(level) l, count_uniq(level) c, count() n",
                "stats by (app) count_uniq(n) c, uniq_values(n) limit 3 v",
                "stats by (_time:1h) count_uniq_hash(level) c, rate() r",
                "stats count_uniq(app) a, count_uniq(host) h",
                "stats count_uniq(level) if (n:7) c, count_uniq(_stream) s",
                "top 3 by (n)",
                "stats by (app) sum(none) s, count(none) c, max(none) m, count() n, quantile(0.5, none) q",
                "stats by (host) count_uniq(none, nowhere) u, sum_len(none) l, count_empty(none) e, avg(none) if (n:7) a",
                "stats by (app) sum(code) s, count(none) c, count() if (code:200) n",
                "stats by (app) min(_time) first, max(_time) last, count() n",
                "stats by (app, host, level) max(_time) last, max(_time) again, rate() r",
                "stats by (_time:1d, n) count() c, min(_time) first",
                "stats min(_time) first, max(_time) last",
                "stats by (host) max(_time) last | limit 2",
                "stats by (app) max(_time) last, max(_time) if (n:7) of_7",
                "fields _time, app, host, n",
            ] {
                let text = format!("{filter} | {pipe}");
                prop_assert_eq!(answer(&text, handles.clone()).0, answer(&text, silent.clone()).0, "{}", text);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_of_no_stream_have_none_whoever_asks(
        flushes in prop::collection::vec(prop::collection::vec(line(), 1..40), 1..3),
        filter in filter(),
    ) {
        let (_dir, store) = store_of(&flushes);
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        for census in ["field_names", "facets 5 max_values_per_field 40 keep_const_fields"] {
            let [of_blocks, of_rows] = ["", "| filter * "].map(|rows| format!("{filter} {rows}| {census}"));
            prop_assert_eq!(answer(&of_blocks, handles.clone()).0, answer(&of_rows, handles.clone()).0, "{}", of_rows);
        }
        for (made, grouped) in [
            ("len(_stream) as k", "stats by (k) count() n, min(k) least"),
            ("hash(_stream) as k", "stats by (_stream, k) count() n"),
            ("format \"<_stream> <app>\" as k", "uniq by (k, _stream_id) with hits"),
            ("len(app) as k", "stats by (_stream) sum(k) n"),
        ] {
            // A filter between them has every row made.
            let of_columns = format!("{filter} | {made} | {grouped}");
            let of_rows = format!("{filter} | {made} | filter * | {grouped}");
            prop_assert_eq!(answer(&of_columns, handles.clone()).0, answer(&of_rows, handles.clone()).0, "{}", of_rows);
        }
    }
}

#[test]
fn who_counts_few_values_or_asks_for_what_is_nowhere_opens_no_block() {
    let line = |level, fields: &[(&'static str, &'static str)], hours: i64| {
        (vec!["app"], [&[("app", "a"), ("level", level)], fields].concat(), hours * HOUR)
    };
    let (_dir, store) = store_of(&[
        vec![line("info", &[("n", "7")], 0), line("error", &[], 1), line("info", &[("n", "8")], 2)],
        vec![line("info", &[("host", "1")], 30)],
    ]);
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    assert_eq!(blocks.len(), 2);
    for (text, read, rows) in [
        ("* | stats by (level) count() n", 0, 4),
        ("* | stats by (_time:1d, level, other) count() n", 0, 4),
        ("* | stats by (n) count() c", 0, 4),
        ("* | stats by (level, n) count() c", 1, 4),
        ("* | stats by (_time:1h) count() n", 0, 4),
        ("* | stats by (level, _time:2h offset 1h, other) count() n", 0, 4),
        ("level:error | stats by (_time:1h) count() n", 0, 1),
        (r#"{app="a"} !level:error | stats by (_time:1h) count() n"#, 0, 3),
        ("* | stats by (_time:7s) count() n", 1, 4),
        ("n:7 | stats by (_time:1h) count() c", 1, 1),
        ("* | stats by (_time:1h, n) count() c", 1, 4),
        ("host:1 | stats count() n", 0, 1),
        (r#"host:"" | stats count() n"#, 0, 3),
        ("level:error | stats count() n", 0, 1),
        ("!level:error | stats by (_time:1d, level) count() n", 0, 3),
        ("level:info n:7 | stats count() n", 1, 1),
        ("n:>7 | stats by (level) count() c", 1, 1),
        ("n:>7 | stats by (n) count() c", 0, 1),
        ("* | stats count_uniq(n) c, uniq_values(n) v, count() all", 0, 4),
        ("* | stats by (n) count_uniq(n) c", 0, 4),
        ("* | stats by (other) uniq_values(level) v", 0, 4),
        ("* | stats by (level) uniq_values(n) v", 1, 4),
        ("* | stats count_uniq(n, level) c", 2, 4),
        ("* | stats by (level) sum(host) s, count() n", 1, 4),
        ("* | stats by (level) sum(other) s, count_uniq(other) u, count() n", 0, 4),
        ("* | stats by (level) count_empty(other) n", 2, 4),
        ("* | stats by (level) count() if (n:7) c", 2, 4),
        ("* | stats count_uniq(n) c, sum(n) s", 1, 4),
        ("other:x | fields _msg", 0, 0),
        ("n:9 or host:2", 0, 0),
        ("n:7 | fields n", 1, 1),
    ] {
        let (_, stats) = answer(text, blocks.clone());
        assert_eq!((stats.blocks_read, stats.rows_matched), (read, rows), "{text}");
    }
}

#[test]
fn blocks_that_have_nobodys_first_or_last_time_are_not_opened() {
    let line = |app: &'static str, hours: i64| (vec!["app"], vec![("app", app)], hours * HOUR);
    let of_day = |day: i64| vec![line("a", 24 * day), line("b", 24 * day + 1), line("a", 24 * day + 2)];
    let mut flushes: Vec<_> = (0..9).map(of_day).collect();
    flushes[5].push(line("c", 121));
    let (_dir, store) = store_of(&flushes);
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    assert_eq!(blocks.len(), 9);
    let time = |hours: i64| duramen_query::parse::time::format_time(START + hours * HOUR);
    for (text, read, rows) in [
        ("* | stats by (app) max(_time) last, min(_time) first, count() n", 3, 28),
        ("!{app=\"c\"} | stats by (app) max(_time) last, count() n", 1, 27),
        ("* | stats max(_time) last", 1, 28),
        ("{app=\"c\"} | stats min(_time) first, count() n", 1, 1),
        ("happened | stats by (app) max(_time) last", 9, 28),
        ("* | stats by (_time:1d) max(_time) last", 9, 28),
    ] {
        let (_, stats) = answer(text, blocks.clone());
        assert_eq!((stats.blocks_read, stats.rows_matched), (read, rows), "{text}");
    }
    let (rows, _) = answer("* | stats by (app) min(_time) first, max(_time) last, count() n", blocks);
    for (row, (first, last, n)) in rows.iter().zip([(0, 194, 18), (1, 193, 9), (121, 121, 1)]) {
        for text in [time(first), time(last), format!("\"n\", \"{n}\"")] {
            assert!(row.contains(&text), "{text} in {row}");
        }
    }
}

#[test]
fn who_only_counts_streams_opens_no_block() {
    let line = |app: &'static str, hours: i64| {
        (vec!["app", "host"], vec![("app", app), ("host", "1")], hours * HOUR)
    };
    let (_dir, store) = store_of(&[vec![line("a", 0), line("b", 1)], vec![line("a", 2), line("a", 30)]]);
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    assert!(blocks.len() > 1);
    for (text, read, rows) in [
        (r#"{app="a"} | stats count() n"#, 0, 3),
        (r#"app:=a host:"" | stats by (app) count() n"#, 0, 0),
        (r#"{app="b"} or host:2 | stats by (_time:1d, host) count() n"#, 0, 1),
        (r#"{app="b"} *:happened | stats count() n"#, 1, 1),
        (r#"{app="c"} | fields _msg"#, 0, 0),
    ] {
        let (_, stats) = answer(text, blocks.clone());
        assert_eq!((stats.blocks_read, stats.rows_matched), (read, rows), "{text}");
    }
}

#[test]
fn blocks_whose_messages_have_not_the_word_are_not_opened() {
    let line = |time: i64| (vec!["app"], vec![("app", "a")], time);
    let (_dir, store) =
        store_of(&[(0..90).map(line).collect(), (0..90).map(|i| line(48 * HOUR + i)).collect()]);
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let open = || blocks.iter().filter(|block| block.is_open()).count();
    for text in ["elsewhere | fields app", "happened elsewhere or nowhere", "in(elsewhere, nowhere) app:a"] {
        assert_eq!((answer(text, blocks.clone()).0.len(), open()), (0, 0), "{text}");
    }
    assert_eq!((answer("again | fields app", blocks.clone()).0.len(), open()), (60, 2));
}

#[test]
fn a_sample_of_entries_is_the_same_wherever_they_lie() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    let append = |from: i64| {
        for i in from..from + 3000 {
            let mut entry = EntryBuf::new(["app"]);
            // Most share their time with others.
            entry.start(START + i / 10 * HOUR / 60).message("it happened");
            entry.field("app", ["a", "b", "c"][(i % 3) as usize]).field("n", i);
            store.append(entry.finish().unwrap()).unwrap();
        }
    };
    let blocks = || store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    append(0);
    let (of_memory, stats) = answer("* | sample 20 | fields n", blocks());
    assert!((90..220).contains(&of_memory.len()), "{}", of_memory.len());
    assert_eq!(stats.rows_matched, 3000);
    store.flush().unwrap();
    assert_eq!(answer("* | sample 20 | fields n", blocks()).0, of_memory);
    append(3000);
    store.flush().unwrap();
    let of_tables = answer("* | sample 20 | fields n", blocks()).0;
    assert!(of_memory.iter().all(|row| of_tables.contains(row)) && of_tables.len() > of_memory.len());
    store.compact().unwrap();
    assert_eq!(answer("* | sample 20 | fields n", blocks()).0, of_tables);
    for (pipes, by_rows) in [
        ("stats by (app) count() n, max(_time) t", "filter * | stats by (app) count() n, max(_time) t"),
        ("stats count() n", "filter * | stats count() n"),
        ("stats count_uniq(app) n", "filter * | stats count_uniq(app) n"),
        ("field_names", "filter * | field_names"),
        ("sort by (n desc) limit 5", "filter * | sort by (n desc) limit 5"),
        ("sample 3 | fields n", "filter * | sample 3 | fields n"),
    ] {
        let [pipes, by_rows] = [pipes, by_rows].map(|pipes| format!("* | sample 20 | {pipes}"));
        assert_eq!(answer(&pipes, blocks()).0, answer(&by_rows, blocks()).0, "{pipes}");
    }
    let expected = format!("[(\"n\", \"{}\", Number)]", of_tables.len());
    assert_eq!(answer("* | sample 20 | stats count() n", blocks()).0, [expected]);
}

#[test]
#[allow(clippy::disallowed_methods)] // who removes tables from outside is none of ours
fn lines_of_a_table_that_is_gone_are_missed_and_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for day in 0..2 {
        let mut entry = EntryBuf::new(["app"]);
        for n in 0..10 {
            entry.start(START + day * 24 * HOUR + n).message("line").field("app", "x");
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
    }
    store.close().unwrap();
    let day = std::fs::read_dir(dir.path().join("tables")).unwrap().next().unwrap().unwrap().path();
    for table in std::fs::read_dir(day).unwrap() {
        std::fs::remove_file(table.unwrap().path()).unwrap();
    }
    for text in ["* | stats count() n", "* | stats by (_time:1d) count() n", "* | stats by (app) count() n"] {
        let store = Store::open_read_only(dir.path()).unwrap();
        let (rows, stats) = answer(text, store.snapshot().unwrap().blocks(i64::MIN, i64::MAX));
        assert_eq!(stats.blocks_failed, 1, "{text}: {rows:?}");
        assert!(rows.len() == 1 && rows[0].contains("\"10\""), "{text}: {rows:?}");
    }
}
