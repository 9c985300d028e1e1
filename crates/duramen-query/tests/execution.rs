//! How queries run: what they read, when they stop, what they hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen::block::{Block, BlockHandle};
use duramen_engine::io::Clock;
use duramen_query::{Cancel, Error, Order, ParseOptions, Query, RunOptions};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use support::{Row, TestBlock, handles, rows_and_times, run, store};

fn opened(blocks: &[Arc<TestBlock>]) -> usize {
    blocks.iter().map(|b| b.opened.load(Relaxed)).sum()
}

fn columns_read(blocks: &[Arc<TestBlock>]) -> usize {
    blocks.iter().map(|b| b.columns_read.load(Relaxed)).sum()
}

#[test]
fn a_limit_opens_only_the_newest_blocks() {
    let blocks = store(50, 10);
    let (rows, stats) = run("line | limit 12 | fields n", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0], [("n".to_string(), "499".to_string())]);
    assert_eq!((opened(&blocks), stats.blocks_read, stats.blocks_total), (2, 2, 50));
    let options = RunOptions { order: Order::OldestFirst, limit: Some(1), ..RunOptions::default() };
    let (rows, _) = run("*", &blocks, &options).unwrap();
    assert_eq!(rows[0][1].1, "line 0 of block0");
    assert_eq!(opened(&blocks), 3);
}

/// Counts how many blocks are open whenever one more is opened.
#[derive(Debug)]
struct Watched {
    block: Arc<TestBlock>,
    all: Arc<Vec<Arc<TestBlock>>>,
    most: Arc<AtomicUsize>,
}

impl BlockHandle for Watched {
    rows_and_times!(block);
    fn open(&self) -> duramen::Result<Arc<dyn Block>> {
        let block = self.block.clone();
        // One is in the list, one in the handle.
        let open = self.all.iter().filter(|block| Arc::strong_count(block) > 2).count();
        self.most.fetch_max(open, Relaxed);
        Ok(block)
    }
}

#[test]
fn blocks_opened_ahead_do_not_hold_more_than_the_limit() {
    let all = Arc::new(store(200, 5));
    let most = Arc::new(AtomicUsize::new(0));
    for (memory_limit_bytes, at_most) in [(1, 4), (1 << 20, 200)] {
        let watched = |block: &Arc<TestBlock>| {
            let (block, all, most) = (block.clone(), all.clone(), most.clone());
            Arc::new(Watched { block, all, most }) as Arc<dyn BlockHandle>
        };
        let options = RunOptions { threads: 4, memory_limit_bytes, ..RunOptions::default() };
        let query = Query::parse("n:~2$ | fields n", &ParseOptions::default()).unwrap();
        let mut rows = 0;
        let handles = all.iter().map(watched).collect();
        query
            .run(handles, &options, &Cancel::new(), &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        // Of each block, the one row whose number ends in 2, if it has one.
        assert_eq!(rows, 100);
        let most = most.swap(0, Relaxed);
        assert!((1..=at_most).contains(&most), "{most} blocks were open");
    }
}

#[test]
fn blocks_without_the_words_are_not_read() {
    let blocks = store(50, 10);
    let (rows, stats) = run("block7", &blocks, &RunOptions::default()).unwrap();
    assert_eq!((rows.len(), stats.blocks_read, stats.rows_scanned, stats.rows_matched), (10, 1, 10, 10));
    let (rows, stats) = run("n:>=495", &blocks, &RunOptions::default()).unwrap();
    assert_eq!((rows.len(), stats.blocks_read), (5, 1));
    let (rows, stats) =
        run("_time:[1970-01-01T00:00:05Z, 1970-01-01T00:00:12Z]", &blocks, &RunOptions::default()).unwrap();
    assert_eq!((rows.len(), stats.blocks_read), (8, 2));
}

#[test]
fn counting_all_reads_nothing() {
    let blocks = store(50, 10);
    let (rows, stats) = run("* | stats count() n", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows, [[("n".to_string(), "500".to_string())]]);
    assert_eq!((opened(&blocks), stats.blocks_read, stats.rows_matched), (0, 0, 500));
    // Only the block at the edge of the time range is looked at, and no column of it.
    let (rows, _) =
        run("_time:<1970-01-01T00:00:15Z | stats count() n", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows[0][0].1, "15");
    assert_eq!((opened(&blocks), columns_read(&blocks)), (1, 0));
}

#[test]
fn counting_by_time_opens_only_blocks_that_are_in_several_buckets() {
    for (step, starts, opened_blocks) in
        [("20s", 0..30, 0), ("15s", 0..40, 20), ("3s", 0..200, 60), ("1h", 0..1, 0)]
    {
        let blocks = store(60, 10);
        let text = format!("* | stats by (_time:{step}) count() n | sort by (_time)");
        let (rows, _) = run(&text, &blocks, &RunOptions { threads: 2, ..RunOptions::default() }).unwrap();
        assert_eq!(opened(&blocks), opened_blocks, "{step}");
        let counts: Vec<u64> = rows.iter().map(|row| row[1].1.parse().unwrap()).collect();
        assert_eq!(counts, vec![600 / starts.len() as u64; starts.len()], "{step}");
        assert_eq!(rows[0][0].1, "1970-01-01T00:00:00Z");
        // Another key, a condition, or a filter make it look at rows.
        for text in [
            format!("* | stats by (_time:{step}, _stream) count() n"),
            format!("* | stats by (_time:{step}) count() if (n:0) n"),
            format!("n:>=0 | stats by (_time:{step}) count() n"),
        ] {
            let blocks = store(60, 10);
            let (rows, _) = run(&text, &blocks, &RunOptions::default()).unwrap();
            assert_eq!((opened(&blocks), rows.len()), (60, starts.len()), "{text}");
        }
    }
}

/// Blocks as of a disk: how often each was announced, and which fields of it were asked for ahead.
fn told_ahead(text: &str, threads: usize) -> Vec<(usize, Vec<&'static str>)> {
    let mut blocks = store(60, 10);
    blocks.iter_mut().for_each(|block| Arc::get_mut(block).unwrap().is_worth_opening_ahead = true);
    run(text, &blocks, &RunOptions { threads, ..RunOptions::default() }).unwrap();
    let told = |block: &Arc<TestBlock>| {
        (block.announced.load(Relaxed), block.asked.lock().unwrap().iter().copied().collect())
    };
    blocks.iter().map(told).collect()
}

#[test]
fn blocks_are_announced_once_and_columns_asked_for_ahead() {
    for threads in [1, 3] {
        let told = told_ahead("n:>=300 | stats by (n) count_uniq(_msg)", threads);
        assert!(told.iter().all(|(announced, _)| *announced == 1), "{told:?}");
        // Blocks that hold no such number are passed over.
        for (i, (_, asked)) in told.iter().enumerate() {
            assert_eq!(asked, if i < 30 { &[][..] } else { &["_msg", "n"] }, "block {i}");
        }
        // Only blocks in the time range are, and of those only what is not told by their times.
        let told =
            told_ahead("_time:[1970-01-01T00:05:05Z, 1970-01-01T00:08:14.5Z] | stats count() n", threads);
        let announced: Vec<usize> = (0..60).filter(|&i| told[i].0 > 0).collect();
        assert_eq!(announced, [30, 49]);
        let told = told_ahead("* | sort by (n) | limit 3 | fields n", threads);
        // Nobody comes so long before the first ones of all.
        assert!(
            told.iter().rev().skip(4).all(|(announced, asked)| (*announced, &asked[..]) == (1, &["n"])),
            "{told:?}"
        );
        // A limit that the first block meets asks for no other.
        let told = told_ahead("* | limit 3 | fields n", threads);
        assert_eq!(told.iter().filter(|(announced, asked)| *announced > 0 || !asked.is_empty()).count(), 1);
        // Rare rows: those who may hold the word, and all fields only where it is found.
        let told = told_ahead("block7", threads);
        assert_eq!(told[7].1, ["_msg", "_time", "n"]);
        assert!(told.iter().enumerate().all(|(i, (_, asked))| i == 7 || asked.is_empty()), "{told:?}");
        // Names are told without columns.
        let told = told_ahead("* | field_names", threads);
        assert!(told.iter().all(|(announced, asked)| *announced == 1 && asked.is_empty()), "{told:?}");
    }
}

#[test]
fn only_needed_columns_of_matching_blocks_are_read() {
    let blocks = store(10, 10);
    let (rows, _) = run("n:=55 | fields n", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(columns_read(&blocks), 1);
    run("n:>5 | stats sum(n) s", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(columns_read(&blocks), 11);
}

#[test]
fn a_sink_that_breaks_ends_the_run() {
    let blocks = store(50, 10);
    let query = Query::parse("*", &ParseOptions::default()).unwrap();
    let mut seen = 0;
    query
        .run(handles(&blocks), &RunOptions::default(), &Cancel::new(), &mut |_| {
            seen += 1;
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((seen, opened(&blocks)), (3, 1));
}

#[test]
fn cancelling_ends_every_kind_of_run() {
    let blocks = store(200, 10);
    for text in ["*", "* | stats by (n) count()", "* | sort by (n)", "* | stats count()"] {
        let query = Query::parse(text, &ParseOptions::default()).unwrap();
        let cancel = Cancel::new();
        cancel.cancel();
        let result =
            query.run(handles(&blocks), &RunOptions::default(), &cancel, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(result, Err(Error::Cancelled)), "{text}");
    }
    assert_eq!(opened(&blocks), 0);
    // In the midst of the rows, at the next block.
    let query = Query::parse("*", &ParseOptions::default()).unwrap();
    let (cancel, mut seen) = (Cancel::new(), 0);
    let result = query.run(handles(&blocks), &RunOptions::default(), &cancel, &mut |_| {
        seen += 1;
        cancel.cancel();
        ControlFlow::Continue(())
    });
    assert!(matches!(result, Err(Error::Cancelled)));
    assert_eq!(seen, 10);
    // And at rows of many partitions, each of which has few.
    let query = Query::parse("* | sort by (n) partition by (n) limit 1", &ParseOptions::default()).unwrap();
    let (cancel, mut seen) = (Cancel::new(), 0);
    let blocks = store(3, 2000);
    let result = query.run(handles(&blocks), &RunOptions::default(), &cancel, &mut |_| {
        seen += 1;
        cancel.cancel();
        ControlFlow::Continue(())
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{seen}");
    assert!(seen < 2000, "{seen}");
}

#[test]
fn rows_and_time_have_limits_that_say_what_to_do() {
    let blocks = store(50, 10);
    for text in ["line", "* | sort by (n)", "* | stats by (n) count()", "* | facets", "n:in(* | fields n)"] {
        let options = RunOptions { max_rows_scanned: Some(100), threads: 2, ..RunOptions::default() };
        let error = run(text, &blocks, &options).unwrap_err();
        assert!(matches!(error, Error::RowLimit { limit_rows: 100 }), "{text}: {error}");
        assert!(error.to_string().contains("--max-rows"));
    }
    // Blocks that are passed over do not count.
    let options = RunOptions { max_rows_scanned: Some(10), ..RunOptions::default() };
    assert_eq!(run("block7", &blocks, &options).unwrap().0.len(), 10);
}

/// Goes on by a second whenever it is looked at.
#[derive(Debug, Default)]
struct Ticking(std::sync::atomic::AtomicU64);

impl Clock for Ticking {
    fn now_unix_ns(&self) -> i64 {
        0
    }
    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Relaxed))
    }
    fn boot_id(&self) -> u64 {
        0
    }
}

#[test]
fn a_query_ends_when_its_time_is_up() {
    // The limit is over after so many looks: none of these may go on for longer without one.
    let blocks = [Arc::new(TestBlock::new(
        (0..20_000).map(|r| Row::new(r, &[("_msg", "[1,2,3]"), ("n", &r.to_string())])).collect(),
        3,
    ))];
    for text in [
        "*",
        "~\"x$\"",
        "i(1)",
        "* | stats by (n) count()",
        "* | stats count() if (~\"x$\") n",
        "* | sort by (n desc) | extract \"<a>,\"",
        "* | unroll (_msg) | stats count() n",
        "* | format \"<n>\" as m | sort by (m)",
        "* | total_stats count() c",
        "* | limit 1 | join by (_msg) (*)",
    ] {
        let query = Query::parse(text, &ParseOptions::default()).unwrap();
        let cancel = Cancel::timed(Arc::new(Ticking::default()), Some(Duration::from_secs(8)));
        let result =
            query.run(handles(&blocks), &RunOptions::default(), &cancel, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(result, Err(Error::TimeLimit { .. })), "{text}: {result:?}");
    }
}

#[test]
fn a_brief_query_is_answered_from_memory_at_once_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let options = duramen::StoreOptions::new().background(false);
    let store = options.block_cache(duramen::BlockCache::new(1 << 20)).open(dir.path().join("logs")).unwrap();
    for (day, word) in ["lost", "found"].into_iter().enumerate() {
        for n in 0..50 {
            let mut entry = duramen::EntryBuf::new(["app"]);
            entry
                .start(day as i64 * 86_400_000_000_000 + n)
                .message(&format!("{word} {n}"))
                .field("app", word);
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
    }
    let ask = |text: &str, cancel: &Cancel| {
        let query = Query::parse(text, &ParseOptions::default()).unwrap();
        let mut rows = 0;
        let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let stats =
            query.run(blocks, &RunOptions { threads: 2, ..RunOptions::default() }, cancel, &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            });
        stats.map(|stats| {
            assert_eq!(stats.blocks_failed, 0);
            rows
        })
    };
    let still =
        || Cancel::brief(Arc::new(duramen_engine::io::sim::SimClock::default()), Duration::from_millis(1));
    let not_brief = |outcome| assert!(matches!(outcome, Err(Error::NotBrief)), "{outcome:?}");
    // Nothing is open. Of what tables tell, no block need be.
    not_brief(ask("lost", &still()));
    not_brief(ask("* | sort by (_msg)", &still()));
    assert_eq!(ask("* | stats by (app) count()", &still()).unwrap(), 2);
    assert_eq!(ask("app:=nobody", &still()).unwrap(), 0);
    // One block was read. Of the other it is known that it has not the word.
    assert_eq!(ask("lost", &Cancel::new()).unwrap(), 50);
    assert_eq!(ask("lost", &still()).unwrap(), 50);
    not_brief(ask("*", &still()));
    assert_eq!(ask("*", &Cancel::new()).unwrap(), 100);
    assert_eq!(ask("*", &still()).unwrap(), 100);
    for (text, rows) in [
        ("* | sort by (_msg)", 100),
        ("* | sort by (_msg) | limit 7", 7),
        ("app:in(lost | uniq by (app) | fields app)", 50),
        ("lost | fields app | join by (app) (found or lost | stats by (app) count())", 50),
        ("\"lost 7\" | stream_context before 2", 3),
    ] {
        assert_eq!(ask(text, &still()).unwrap(), rows, "{text}");
    }
    // It takes longer, or is cancelled.
    not_brief(ask("*", &Cancel::brief(Arc::new(Ticking::default()), Duration::from_secs(8))));
    let cancelled = still();
    cancelled.cancel();
    not_brief(ask("*", &cancelled));
}

#[test]
fn context_is_of_the_same_stream_and_near() {
    // Two streams whose entries alternate, and a gap of an hour in the midst.
    let row = |r: i64| {
        let stream = if r % 2 == 0 { "{s=\"a\"}" } else { "{s=\"b\"}" };
        let gap = if r >= 30 { 3_600 } else { 0 };
        let word = if matches!(r, 10 | 14 | 28 | 31) { "hit" } else { "miss" };
        Row::new((r + gap) * 1_000_000_000, &[("_msg", &format!("{r} {word}")), ("_stream", stream)])
    };
    let shown = |text: &str, rows: i64| -> Vec<String> {
        let blocks: Vec<_> = (0..60 / rows)
            .map(|b| Arc::new(TestBlock::new((0..rows).map(|r| row(b * rows + r)).collect(), b as u64)))
            .collect();
        let (rows, stats) = run(text, &blocks, &RunOptions::default()).unwrap();
        assert_eq!(stats.blocks_failed, 0);
        let message = |row: Vec<(String, String)>| row.into_iter().find(|(n, _)| n == "_msg").unwrap().1;
        rows.into_iter().map(message).map(|m| m.split(' ').next().unwrap().to_string()).collect()
    };
    for rows in [60, 12, 1] {
        let text = "hit | stream_context before 1 after 1";
        let expected = ["8", "10", "12", "14", "16", "---", "26", "28", "---", "31", "33"];
        // What is before 31 and after 28 in their streams is more than an hour away.
        assert_eq!(shown(text, rows), expected, "{rows}");
        let wide = format!("{text} time_window 2h");
        let expected = ["8", "10", "12", "14", "16", "---", "26", "28", "30", "---", "29", "31", "33"];
        assert_eq!(shown(&wide, rows), expected, "{rows}");
        assert_eq!(shown("hit | stream_context | limit 2", rows), ["10", "---"]);
        assert!(shown("nothing | stream_context before 5", rows).is_empty());
        let within = "hit _time:1970-01-01T00:00:10Z | stream_context after 1 | fields _msg";
        assert_eq!(shown(within, rows), ["10", "12"]);
    }
}

#[test]
fn what_a_query_costs_is_told() {
    let blocks = store(50, 10);
    let (rows, stats) = run("block7 | fields n", &blocks, &RunOptions::default()).unwrap();
    assert_eq!((rows.len(), stats.blocks_total, stats.blocks_read, stats.rows_matched), (10, 50, 1, 10));
    assert!(stats.bytes_read > 0 && stats.bytes_read < 10_000, "{}", stats.bytes_read);
    // That of queries inside it, too.
    let (_, both) = run("block7 or n:in(block8 | fields n)", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(both.blocks_read, 3);
    let (rows, _) = run("block7 | fields n | query_stats", &blocks, &RunOptions::default()).unwrap();
    let of = |name: &str| rows[0].iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    assert_eq!(of("RowsFound").as_deref(), Some("10"));
    assert_eq!(of("BytesReadTotal"), Some(stats.bytes_read.to_string()));
}

#[test]
fn functions_that_remember_the_same_share_it_and_answer_each_for_itself() {
    let functions = "median(n) a, quantile(0.9, n) b, median(n) if (n:<100) c, sum(n) d, avg(n) e, \
                     quantile(0.9, n, other) f, median(n) g, avg(n) if (n:<100) h";
    let expected = ["499", "899", "49", "499500", "499.5", "899", "499", "49.5"];
    let blocks = store(10, 100);
    // Straight from columns, and of the rows of another pipe.
    for pipes in ["", "limit 1000 |"] {
        let (rows, _) =
            run(&format!("* | {pipes} stats {functions}"), &blocks, &RunOptions::default()).unwrap();
        assert_eq!(rows[0].iter().map(|(_, value)| &**value).collect::<Vec<_>>(), expected);
        let (rows, _) =
            run(&format!("* | {pipes} stats by (n:500) {functions}"), &blocks, &RunOptions::default())
                .unwrap();
        let values: Vec<_> = rows[0][1..].iter().map(|(_, value)| &**value).collect();
        assert_eq!(values, ["249", "449", "49", "124750", "249.5", "449", "249", "49.5"]);
    }
    // The numbers are held once.
    let limited = |memory_limit_bytes| RunOptions { memory_limit_bytes, threads: 1, ..RunOptions::default() };
    run("* | stats median(n) a, quantile(0.9, n) b, quantile(0.1, n) c", &blocks, &limited(40_000)).unwrap();
    run("* | stats median(n) a, quantile(0.9, _msg) b", &blocks, &limited(16_000)).unwrap_err();
}

#[test]
fn memory_that_was_not_taken_is_not_given_back() {
    // One long text a thread; and two states that are one.
    let long = "x".repeat(20_000);
    let rows = |b: i64| (0..2).map(|r| Row::new(b * 10 + r, &[("_msg", &*long), ("n", "1")])).collect();
    let blocks: Vec<_> = (0..8).map(|b| Arc::new(TestBlock::new(rows(b), b as u64))).collect();
    let options = RunOptions { memory_limit_bytes: 1 << 20, threads: 2, ..RunOptions::default() };
    for functions in [
        "any(_msg) a",
        "uniq_values(n, _msg) limit 1 a, uniq_values(n, _msg) limit 1 b, uniq_values(n, _msg) limit 1 c",
    ] {
        let text = format!("* | stats {functions} | sort by (a) | stats count() n");
        assert_eq!(run(&text, &blocks, &options).unwrap().0[0][0].1, "1", "{text}");
    }
    let held = RunOptions { memory_limit_bytes: 100_000, threads: 1, ..RunOptions::default() };
    run("* | stats by (_time) any(_msg) a", &blocks, &held).unwrap_err();
}

#[test]
fn memory_has_a_limit_that_says_what_to_do() {
    let blocks = store(100, 100);
    let options = RunOptions { memory_limit_bytes: 100_000, threads: 2, ..RunOptions::default() };
    for text in [
        "* | sort by (n)",
        "* | stats by (n) count()",
        "* | uniq by (n)",
        "* | stats count_uniq(n)",
        "* | stats median(n)",
        "* | stats values(n)",
        "* | stats json_values(n)",
        "* | stats count_uniq_hash(n)",
        "* | total_stats count() c",
        "* | facets max_values_per_field 100000",
        "* | sort by (n) partition by (n) limit 1",
        "* | limit 1 | join by (n) (*)",
        "n:in(* | fields n)",
        "line | stream_context before 1",
    ] {
        let error = run(text, &blocks, &options).unwrap_err();
        assert!(
            error.to_string().contains("limit of 100000 bytes") && error.to_string().contains("limit N"),
            "{text}: {error}"
        );
    }
    // What is bounded stays within it.
    for text in [
        "* | sort by (n desc) limit 5",
        "* | sort by (n desc) | limit 5",
        "* | sort by (n desc) | fields n | offset 3 | limit 5",
        "* | fields n | sort by (n desc) | limit 5",
        "* | uniq by (n) limit 5",
        "* | stats uniq_values(n) limit 5",
        "* | stats values(n) limit 5, json_values(n) sort by (n) limit 5, row_max(n) m, any(n)",
        "* | facets max_values_per_field 50",
        "* | sort by (n) partition by (_stream) limit 1",
        "* | running_stats by (_stream) count() c",
        "* | unroll (n) | math n * 2 as m | extract \"<x>\" | stats count() n",
        "*",
        "* | sort by (_time)",
    ] {
        run(text, &blocks, &options).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    let (rows, _) = run("* | sort by (n desc) limit 2 | fields n", &blocks, &options).unwrap();
    assert_eq!(rows.concat().into_iter().map(|(_, v)| v).collect::<Vec<_>>(), ["9999", "9998"]);
    // A limit behind the sort, or around the query, bounds it as its own does, and means what it says.
    let text = "* | sort by (n desc) offset 1 | fields n | offset 1 | limit 2";
    let (rows, _) = run(text, &blocks, &options).unwrap();
    assert_eq!(rows.concat().into_iter().map(|(_, v)| v).collect::<Vec<_>>(), ["9997", "9996"]);
    let (rows, _) =
        run("* | sort by (n) | fields n", &blocks, &RunOptions { limit: Some(2), ..options }).unwrap();
    assert_eq!(rows.concat().into_iter().map(|(_, v)| v).collect::<Vec<_>>(), ["0", "1"]);
}

#[test]
fn of_rows_in_order_only_those_of_the_answer_are_read() {
    let blocks = store(30, 10);
    for (threads, order) in [(1, Order::NewestFirst), (3, Order::OldestFirst)] {
        let options = RunOptions { threads, order, ..RunOptions::default() };
        let before = columns_read(&blocks);
        let (rows, stats) =
            run("* | sort by (n desc) offset 2 limit 3 | fields _msg", &blocks, &options).unwrap();
        let messages: Vec<_> = rows.iter().map(|row| &*row[0].1).collect();
        assert_eq!(messages, ["line 297 of block29", "line 296 of block29", "line 295 of block29"]);
        // The key of each block, once more where it tells of a row that may be in the answer, and the message of one.
        let most = if order == Order::OldestFirst { 61 } else { 31 };
        let read = columns_read(&blocks) - before;
        assert!((31..=most).contains(&read) && stats.blocks_read == 30, "{read} {stats:?}");
        // Equal keys: in the order of time.
        let (rows, _) = run("* | sort by (none) limit 2 | fields n", &blocks, &options).unwrap();
        let expected = if order == Order::OldestFirst { ["0", "1"] } else { ["299", "298"] };
        assert_eq!(rows.iter().map(|row| &*row[0].1).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn rows_that_cannot_be_read_take_no_places_in_an_order() {
    let mut blocks = store(3, 10);
    // The block with the greatest: what it is sorted by can be read, and nothing else.
    Arc::get_mut(&mut blocks[2]).unwrap().damaged_but_for = Some("n");
    for threads in [1, 3] {
        let options = RunOptions { threads, ..RunOptions::default() };
        let text = "* | sort by (n desc) offset 1 limit 2 rank as r | fields r, _msg";
        let (rows, stats) = run(text, &blocks, &options).unwrap();
        let rows: Vec<_> =
            rows.iter().map(|row| row.iter().map(|(_, text)| &**text).collect::<BTreeSet<_>>()).collect();
        assert_eq!(
            rows,
            [BTreeSet::from(["2", "line 18 of block1"]), BTreeSet::from(["3", "line 17 of block1"])]
        );
        assert_eq!(stats.blocks_failed, 1);
        let (rows, stats) = run("* | sort by (n desc) limit 2 | fields n", &blocks, &options).unwrap();
        assert_eq!((rows[0][0].1.as_str(), stats.blocks_failed), ("29", 0));
    }
}

#[test]
fn a_damaged_block_costs_that_block() {
    let mut blocks = store(5, 10);
    Arc::get_mut(&mut blocks[2]).unwrap().damaged = true;
    for (text, first) in [
        ("line", "line 49 of block4"),
        ("* | stats count(n) c", "40"),
        ("* | sort by (n) limit 1 | fields n", "0"),
    ] {
        let (rows, stats) = run(text, &blocks, &RunOptions::default()).unwrap();
        assert!(rows[0].iter().any(|(_, v)| v == first), "{text}: {rows:?}");
        assert_eq!(stats.blocks_failed, 1, "{text}");
        assert!(stats.first_failure.unwrap().to_string().contains("damaged"));
    }
}

#[test]
fn rows_become_json_lines_by_kind() {
    use duramen::ValueKind;
    let mut row = Row::new(1_500_000_000, &[("_msg", "a \"b\""), ("_stream", "{app=\"x\"}"), ("s", "5")]);
    row.fields.insert("n".into(), ("1.50".into(), ValueKind::Number));
    row.fields.insert("z".into(), ("".into(), ValueKind::Null));
    let blocks = [Arc::new(TestBlock::new(vec![row], 1))];
    let query = Query::parse("*", &ParseOptions::default()).unwrap();
    let mut out = Vec::new();
    query
        .run(handles(&blocks), &RunOptions::default(), &Cancel::new(), &mut |row| {
            assert_eq!(row.time_ns(), Some(1_500_000_000));
            row.write_json(&mut out);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"_time":"1970-01-01T00:00:01.5Z","_stream":"{app=\"x\"}","_msg":"a \"b\"","n":1.50,"s":"5","z":null}"#
    );
}

#[test]
fn rows_of_empty_arrays_stay_when_they_are_unrolled() {
    let row = |n: i64, j: &str| Row::new(n, &[("n", &n.to_string()), ("j", j)]);
    let rows = vec![row(1, "[]"), row(2, "[\"a\",7]"), row(3, "text"), row(4, "")];
    let blocks = [Arc::new(TestBlock::new(rows, 1))];
    let (rows, _) =
        run("* | sort by (n) | unroll (j) | fields n, j", &blocks, &RunOptions::default()).unwrap();
    let values: Vec<String> = rows.concat().into_iter().map(|(_, v)| v).collect();
    assert_eq!(values, ["1", "", "2", "a", "2", "7", "3", "text", "4", ""]);
}

#[test]
fn values_that_repeat_are_looked_at_once_a_block_and_group() {
    let row = |r: i64| {
        let (app, host) = (format!("a{}", r % 3), format!("h{}", r % 7));
        Row::new(r * 1_000_000_000, &[("app", &app), ("host", &host), ("n", &r.to_string())])
    };
    let blocks: Vec<_> =
        (0..4u64).map(|seed| Arc::new(TestBlock::new((0..3000).map(row).collect(), seed))).collect();
    let (rows, _) = run(
        "* | stats by (app) count_uniq(host) h, count_uniq_hash(host, app) a, uniq_values(host) limit 2 v, \
         count_uniq(host) if (n:<3) few, min(_time) first, max(_time) last | sort by (app)",
        &blocks,
        &RunOptions { threads: 2, ..RunOptions::default() },
    )
    .unwrap();
    let values: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.into_iter().map(|(_, v)| v).collect()).collect();
    let expected = |app: &str, n: i64| {
        let time = |n: i64| format!("1970-01-01T00:{:02}:{:02}Z", n / 60, n % 60);
        let values = [app, "7", "7", r#"["h0","h1"]"#, "1", &time(n), &time(2997 + n)];
        values.map(str::to_owned).to_vec()
    };
    assert_eq!(values, [expected("a0", 0), expected("a1", 1), expected("a2", 2)]);
}

#[test]
fn groups_that_are_dropped_on_the_way_do_not_mix_with_those_kept() {
    // More rows than go by between two clean-ups, and more groups than a limit of 3 keeps.
    for seed in 0..6 {
        let row = |r: i64| Row::new(r, &[("k", &format!("k{:03}", r * 7 % 600))]);
        let blocks = [Arc::new(TestBlock::new((0..9000).map(row).collect(), seed))];
        let (rows, _) = run("* | uniq by (k) with hits limit 3", &blocks, &RunOptions::default()).unwrap();
        let values: Vec<String> = rows.concat().into_iter().map(|(_, v)| v).collect();
        assert_eq!(values, ["k000", "15", "k001", "15", "k002", "15"], "seed {seed}");
    }
}

#[test]
fn a_field_named_as_counts_are_keeps_its_values() {
    let row = |i: i64| Row::new(i, &[("hits", if i < 3 { "many" } else { "few" }), ("rank", "none")]);
    let blocks = [Arc::new(TestBlock::new((0..4).map(row).collect(), 0))];
    for (pipe, first) in [
        ("uniq by (hits) with hits", [("hits", "few"), ("hitss", "1")].as_slice()),
        ("fields hits | field_values hits", &[("hits", "few"), ("hitss", "1")]),
        ("top by (hits) hits as n rank as n", &[("hits", "many"), ("n", "3"), ("ns", "1")]),
        ("top by (hits, rank) rank", &[("hits", "many"), ("rank", "none"), ("hitss", "3"), ("ranks", "1")]),
    ] {
        let (rows, _) = run(&format!("* | {pipe}"), &blocks, &RunOptions::default()).unwrap();
        let found: Vec<_> = rows[0].iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(found, first, "{pipe}");
    }
}

/// As they are stored, and as a pipe has made them.
#[test]
fn time_stamps_of_a_field_are_grouped_by_the_hour() {
    for seed in 0..4 {
        let row = |i: i64| Row::new(i, &[("ts", &format!("2024-05-17T{:02}:59:30+02:00", 10 + i % 3))]);
        let blocks = [Arc::new(TestBlock::new((0..30).map(row).collect(), seed))];
        for made in ["", "| copy ts as t | delete ts | rename t as ts "] {
            let text = format!("* {made}| stats by (ts:1h) count() n");
            let (rows, _) = run(&text, &blocks, &RunOptions::default()).unwrap();
            let values: Vec<String> = rows.concat().into_iter().map(|(_, v)| v).collect();
            let expected = ["2024-05-17T08:00:00Z", "2024-05-17T09:00:00Z", "2024-05-17T10:00:00Z"];
            assert_eq!(values, expected.map(|hour| [hour, "10"]).concat(), "{text} {seed}");
        }
    }
}

#[test]
fn the_ends_of_a_blocks_range_belong_to_it() {
    let blocks = store(3, 10);
    for n in ["10", "19"] {
        for text in
            [format!("n:={n}"), format!("n:>={n} n:<={n}"), format!("n:range[{n}, {n}]"), format!("n:{n}")]
        {
            let (rows, _) = run(&text, &blocks, &RunOptions::default()).unwrap();
            assert_eq!(rows.len(), 1, "{text}");
        }
    }
}

#[test]
fn the_first_and_the_last_time_are_told_by_time() {
    // As texts, `.97` would be before `.952`, as a number of fewer digits.
    let times = [1_952_000_000, 1_970_000_000, 1_100_000_000];
    let rows = times.map(|time| Row::new(time, &[])).into();
    let blocks = [Arc::new(TestBlock::new(rows, 0))];
    let query = "* | stats min(_time) first, max(_time) last, uniq_values(_time) limit 2 as times";
    let (rows, _) = run(query, &blocks, &RunOptions::default()).unwrap();
    let values: Vec<&str> = rows[0].iter().map(|(_, value)| &**value).collect();
    let [first, middle, last] =
        ["1970-01-01T00:00:01.1Z", "1970-01-01T00:00:01.952Z", "1970-01-01T00:00:01.97Z"];
    assert_eq!(values, [first, last, &format!(r#"["{first}","{middle}"]"#)]);
}

#[test]
fn the_first_and_the_last_time_of_groups_are_those_of_their_rows() {
    let seconds = |i: i64| 1_000_000_000 * i;
    let rows = |block: i64| -> Vec<Row> {
        let row = |i: i64| {
            let (a, b) = ((i % 7).to_string(), (i % 5).to_string());
            Row::new(seconds(i * 3 + block), &[("a", &*a), ("b", &*b)])
        };
        (block * 100..3_000).map(row).collect()
    };
    let blocks: Vec<_> = (0..3).map(|block| Arc::new(TestBlock::new(rows(block), block as u64))).collect();
    let query =
        "* | stats by (a) min(_time) first, max(_time) last, max(_time) if (b:=1) as of_b | sort by (a)";
    let (found, _) = run(query, &blocks, &RunOptions { threads: 2, ..RunOptions::default() }).unwrap();
    assert_eq!(found.len(), 7);
    for (a, found) in (0..7).zip(found) {
        let of = |pick: &dyn Fn(i64) -> bool| -> Vec<i64> {
            let times = |block: i64| {
                (block * 100..3_000).filter(|i| i % 7 == a && pick(*i)).map(move |i| i * 3 + block)
            };
            (0..3).flat_map(times).collect()
        };
        let all = of(&|_| true);
        let bounds =
            [all.iter().min(), all.iter().max(), of(&|i| i % 5 == 1).iter().max()].map(|t| t.copied());
        let expected = bounds.map(|t| {
            let (hours, rest) = (t.unwrap() / 3600, t.unwrap() % 3600);
            format!("1970-01-01T{hours:02}:{:02}:{:02}Z", rest / 60, rest % 60)
        });
        let told: Vec<&str> = found.iter().skip(1).map(|(_, value)| &**value).collect();
        assert_eq!(told, expected, "{a}");
    }
}

#[test]
fn how_a_block_holds_a_field_does_not_hang_on_the_rows_that_were_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = duramen::Store::open(dir.path().join("logs")).unwrap();
    let mut entry = duramen::EntryBuf::default();
    for n in 0..200i64 {
        let selected = n % 50 == 0;
        entry.start(n).message("x").field("sel", if selected { "x" } else { "y" });
        if !selected {
            entry.field("n", n * 7919 % 1000);
        }
        store.append(entry.finish().unwrap()).unwrap();
    }
    store.flush().unwrap();
    let answer = |text: &str| {
        let query = Query::parse(text, &ParseOptions::default()).unwrap();
        let mut rows = Vec::new();
        let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        query
            .run(blocks, &RunOptions::default(), &Cancel::new(), &mut |row| {
                rows.push(row.iter().map(|(n, t, _)| format!("{n}={t}")).collect::<Vec<_>>());
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    };
    assert_eq!(answer("sel:=x | stats count() if (n:value_type(int64)) ints"), [["ints=4"]]);
    assert_eq!(answer("sel:=x | block_stats"), answer("* | block_stats"));
}

#[test]
fn integers_of_a_short_range_are_grouped_as_texts_are() {
    let number = |r: i64| r * 7 % 40 - 5;
    let row = |r: i64| match r % 11 {
        0 => Row::new(r, &[("_msg", "line")]),
        _ => Row::new(r, &[("_msg", "line"), ("n", &number(r).to_string())]),
    };
    // Each of another seed keeps the column in another form.
    let block = |seed| vec![Arc::new(TestBlock::new((0..4000).map(row).collect(), seed))];
    for (query, value) in [
        ("* | stats by (n) count() c", &(|n: i64| n.to_string()) as &dyn Fn(i64) -> String),
        ("* | stats by (n:10) count() c", &|n| (n.div_euclid(10) * 10).to_string()),
        ("* | stats by (n) max(n) m, count() c | delete m", &|n| n.to_string()),
    ] {
        let mut expected = std::collections::BTreeMap::new();
        for r in 0..4000 {
            let of = if r % 11 == 0 { String::new() } else { value(number(r)) };
            *expected.entry(of).or_insert(0) += 1;
        }
        for seed in 0..8 {
            let (rows, _) = run(query, &block(seed), &RunOptions::default()).unwrap();
            let found = rows.iter().map(|row| {
                let of =
                    |name: &str| row.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text).to_string();
                (of("n"), of("c").parse::<i32>().unwrap())
            });
            assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), expected, "{query}");
        }
    }
}

#[test]
fn a_sort_with_a_limit_behind_groups_finds_what_one_of_all_groups_does() {
    let row = |n: i64| {
        let (word, wide) = (format!("w{}", n % 7), format!("{}", n * n % 31));
        let took = if n % 5 == 0 { String::new() } else { format!("{}.5", n % 4) };
        Row::new(n * 1_000_000_000, &[("word", &word), ("wide", &wide), ("took", &took)])
    };
    let block = |b: i64| Arc::new(TestBlock::new((b * 50..b * 50 + 50).map(row).collect(), b as u64));
    let blocks: Vec<_> = (0..4).map(block).collect();
    let functions = "count() n, rate() r, count_uniq(word) words, sum(took) s, avg(took) a, stddev(took) d, min(took) l, \
                     max(wide) m, uniq_values(word) all, quantile(0.5, took) q";
    for by in ["wide", "word, wide", "nothing"] {
        for (key, limit) in ["n", "r", "words", "s", "a", "d", "l", "m", "all", "q", "wide"]
            .into_iter()
            .flat_map(|key| [0, 1, 3, 10, 1000].map(|limit| (key, limit)))
        {
            for order in ["desc", "asc"] {
                let (stats, sort) = (
                    format!("* | stats by ({by}) {functions}"),
                    format!("sort by ({key} {order}, l) offset 1"),
                );
                let (few, _) =
                    run(&format!("{stats} | {sort} limit {limit}"), &blocks, &RunOptions::default()).unwrap();
                // What stands between them hides the sort from the groups.
                let text = format!("{stats} | filter * | {sort} | limit {limit}");
                let (expected, _) = run(&text, &blocks, &RunOptions::default()).unwrap();
                assert_eq!(few, expected, "{text}");
            }
        }
    }
}

#[test]
fn what_nobody_looks_at_is_not_computed() {
    let blocks = store(20, 30);
    let all = run("* | stats sum(n) s", &blocks, &RunOptions::default()).unwrap().1;
    assert!(all.bytes_read > 0);
    for (text, as_) in [
        ("* | format \"<n>\" as m | extract \"<a>m\" from m | stats count() c", "* | stats count() c"),
        ("* | stats sum(n) s, count() c | fields c", "* | stats count() c"),
        ("* | stats by (none) sum(n) s | fields none", "* | stats by (none) count() c | fields none"),
        ("* | math n * 2 as k | stats by (none) count() c", "* | stats by (none) count() c"),
        ("* | stats quantile(0.5, n) q | stats count() c", "* | stats count() d | stats count() c"),
        ("* | stats sum(n) s, max(n) m | delete s, m", "* | stats count() c | delete c"),
    ] {
        let (rows, stats) = run(text, &blocks, &RunOptions::default()).unwrap();
        assert_eq!(rows, run(as_, &blocks, &RunOptions::default()).unwrap().0, "{text}");
        // To delete names is to want all others, of which there are none.
        assert!(stats.bytes_read < all.bytes_read || text.contains("delete"), "{text}: {}", stats.bytes_read);
    }
}

#[test]
fn who_names_fields_reads_no_more_of_those_that_were_chosen_or_renamed() {
    let blocks = store(20, 30);
    for (text, as_) in [
        ("* | fields n, _msg | stats sum(n) s", "* | stats sum(n) s"),
        ("* | fields *, x | stats by (n) count() c", "* | stats by (n) count() c"),
        ("* | delete _msg, x* | uniq by (n) with hits", "* | uniq by (n) with hits"),
        ("* | fields n, _msg | delete _msg | top 3 by (n)", "* | top 3 by (n)"),
        ("* | rename n as k, _msg as l | stats sum(k) s", "* | stats sum(n) s"),
        ("* | copy n as k | fields k | stats max(k) s", "* | stats max(n) s"),
    ] {
        let [found, expected] = [text, as_].map(|text| run(text, &blocks, &RunOptions::default()).unwrap());
        assert_eq!(found.0, expected.0, "{text}");
        assert_eq!(found.1.bytes_read, expected.1.bytes_read, "{text}");
    }
}

#[test]
fn a_limit_behind_groups_finds_the_first_of_all() {
    let row = |n: i64| {
        let (wide, took) = (format!("k{}", n * 7919 % 1201), format!("{}", n % 17));
        Row::new(n * 1_000_000_000, &[("wide", &wide), ("took", &took), ("_msg", "m")])
    };
    let block = |b: i64| Arc::new(TestBlock::new((b * 600..b * 600 + 600).map(row).collect(), b as u64));
    let blocks: Vec<_> = (0..8).map(block).collect();
    for groups in [
        "stats by (wide) count() n, min(took) a, max(took) b, sum(took) c, avg(took) d, stddev(took) e, min(_time) f, max(_time) g",
        "stats by (wide, took) row_max(took, _msg) r, quantile(0.5, took) q, count_uniq(took) u",
        "stats by (took, wide) count() n",
        "uniq by (wide) with hits",
        "field_values wide",
    ] {
        for (cut, threads) in [
            ("limit 3", 1),
            ("fields wide, n, hits | offset 5 | limit 10", 2),
            ("limit 0", 1),
            ("limit 5000", 2),
        ] {
            let options = RunOptions { threads, ..RunOptions::default() };
            let cut_first = run(&format!("* | {groups} | {cut}"), &blocks, &options).unwrap().0;
            // What stands between them hides the limit from the groups.
            let all = run(&format!("* | {groups} | filter * | {cut}"), &blocks, &options).unwrap().0;
            assert_eq!(cut_first, all, "{groups} | {cut}");
        }
    }
    // Each block is of one group, and has nothing to compute of.
    let row = |b: i64| Row::new(b, &[("host", &format!("h{b}")), ("_msg", "m")]);
    let of_one = |b: i64| Arc::new(TestBlock::new(vec![row(b), row(b)], 0));
    let hosts: Vec<_> = (0..2000).map(of_one).collect();
    let limited = RunOptions { memory_limit_bytes: 1 << 17, ..RunOptions::default() };
    for functions in ["count() n", "sum(absent) s", "count() n, max(absent) s"] {
        let text = format!("m | stats by (host) {functions} | limit 2 | fields host");
        let (rows, _) = run(&text, &hosts, &limited).unwrap();
        assert_eq!([&*rows[0][0].1, &*rows[1][0].1], ["h0", "h1"], "{text}");
    }
    run("* | stats by (wide) count() n | limit 10", &blocks, &limited).unwrap();
    run("* | stats by (wide) count() n | filter * | limit 10", &blocks, &limited).unwrap_err();
}

#[test]
fn fields_made_of_columns_are_those_made_of_rows() {
    let row = |n: i64| {
        let path = format!("/users/{n}/x{}", n % 3);
        let (few, n_text, wide) =
            (["a", "b b", "7"][n as usize % 3], n.to_string(), format!("{}", n * 37 % 101));
        let took = if n % 4 == 0 { String::new() } else { format!("{}.25", n % 9) };
        let list = if n % 5 == 0 { "[1,2]" } else { "none" };
        let mut fields =
            vec![("_msg", &*path), ("few", few), ("n", &n_text), ("wide", &wide), ("list", list)];
        if !took.is_empty() {
            fields.push(("took", &took));
        }
        if n % 2 == 0 {
            fields.push(("same", "same"));
        }
        Row::new(n * 1_000_000_000, &fields)
    };
    let block = |b: i64| Arc::new(TestBlock::new((b * 40..b * 40 + 40).map(row).collect(), b as u64));
    let blocks: Vec<_> = (0..3).map(block).collect();
    for pipes in [
        "len(_msg) as k",
        "len(few) as few | len(few) as k",
        "hash(few) as k",
        "json_array_len(list) as k",
        "format \"<few>/<same>\" as k",
        "format \"<uc:few> <q:_msg>\" as k",
        "format \"<few>\" as n | math n * 2 as k",
        "extract \"/users/<id>/x<k>\"",
        "extract \"/users/<k>/x<k>\" | len(k) as l",
        "extract_regexp \"/(?P<k>[0-9])\" from _msg",
        "extract \"/users/<k>/\" skip_empty_results",
        "math took * 2 + n as k",
        "math wide % 7 as k",
        "math (few + 1) as few, few * 2 as k",
        "math rand() * 0 as k",
        "math n / 3 as k",
        "math n / 7 as l, l * 3 as n, n - l as k",
        "math took / (n % 5) as k | math k as k",
        "collapse_nums | len(_msg) as k",
        "collapse_nums at n | format \"<n>\" as k",
        "format \"fixed\" as same | format \"<same>\" as k",
        "format \"\" as k",
        "format \"<_time>\" as _time | len(_time) as k",
        "format \"<few>\" as took keep_original_fields | format \"<took>\" as k",
        "format \"<same>\" as n skip_empty_results | math n * 2 as k",
        "extract \"/users/<k>/x<same>\" keep_original_fields skip_empty_results",
        "join by (few) (n:<3 | fields few, n) prefix k | math kn + 1 as k",
        "join by (few) (n:<3 | fields few, took, same) prefix k | copy ktook as k",
        "join by (few, n) (* | stats by (few, n) count() k, max(wide) wide)",
        "join by (n) (few:a | fields n, same, few | rename few as took, same as k)",
        "join by (n) (few:a | fields n | copy n as k) inner",
        "join by (few) (n:<9 | fields few, n | rename n as k)",
        "rename few as k",
        "rename few as k, n as few",
        "rename n as k, wide as n",
        "rename few as k | rename k as few, same as k",
        "rename few as few, took as k",
        "rename k as few",
        "rename none as few, same as k",
        "rename wide as k | math k % 7 as k",
        "rename same as k | format \"<k>\" as same keep_original_fields",
        "rename f* as k",
        "math n * 2 as l | rename l as k",
        "math n * 2 as k | copy took as k",
        "copy n as k",
        "copy took as k, k as few",
        "copy _msg as k | extract \"/users/<k>/\" from k",
        "copy _time as k | len(k) as l",
        "rename _time as k",
        "rename took as _time",
        "copy _stream as k, _stream_id as few",
        "fields few, n, k, wide",
        "fields few | copy few as k",
        "fields wide, few, n | rename n as k",
        "fields f*, n*, w*, t*, same",
        "fields *",
        "delete few",
        "delete n*, x | copy few as k",
        "delete _time, took",
    ] {
        for filter in ["*", "few:a", "n:=17", "n:in(3, 8, 44) or nothing:*"] {
            for stats in [
                "stats count() c, count(k) k, sum(k) s, min(k) l, max(k) m, avg(n) a",
                "stats by (k) count() c",
                "stats by (k, few) count_uniq(same) c, json_values(k, n) j",
                "stats by (n:10, same) max(k) m, row_max(k, k) r, uniq_values(k) u",
                "stats by (few) count() if (k:7) c",
                "stats by (same) values(*) v",
                "stats sum(k) s, avg(k) a, quantile(0.9, k, n) q, stddev(k) d, histogram(k) h, min(k) l, max(k) m",
                "stats by (few, n:7) min(k) l, max(k) m, rate_sum(k) r, row_max(n, wide, few) x, row_min(wide) y",
                "stats row_max(wide, n) x, row_min(n) y, row_max(k) z",
                "uniq by (k) with hits",
                "top 3 by (k, same)",
            ] {
                let text = format!("{filter} | {pipes} | {stats}");
                let made = run(&text, &blocks, &RunOptions::default()).unwrap().0;
                // What stands between them makes it rows; the second hides from the pipes what is behind it, too.
                for between in ["filter *", "offset 0"] {
                    let by_rows = format!("{filter} | {pipes} | {between} | {stats}");
                    assert_eq!(made, run(&by_rows, &blocks, &RunOptions::default()).unwrap().0, "{by_rows}");
                }
            }
        }
    }
}

#[test]
fn of_rows_with_the_best_number_no_others_are_read() {
    let text = "x".repeat(200);
    let row = |time: i64| {
        let fields = [
            ("half", format!("{}.5", time * 7919 % 1000)),
            ("down", format!("{}.5", 1000 - time)),
            ("parity", (time % 2).to_string()),
            ("hundred", (time / 100).to_string()),
            ("_msg", format!("{text}{time}")),
        ];
        Row::new(time, &fields.each_ref().map(|(name, text)| (*name, &**text)))
    };
    let blocks: Vec<_> = (0..10)
        .map(|b| Arc::new(TestBlock::new((b * 100..b * 100 + 100).map(row).collect(), b as u64)))
        .collect();
    let answer = |text: &str| run(text, &blocks, &RunOptions::default()).unwrap();
    for filter in ["*", "parity:1", "half:>500", "hundred:in(3, 4) or parity:=0", "nothing:*"] {
        for stats in [
            "stats row_max(half, _msg) x, row_min(half, _msg, parity) y",
            "stats row_max(half) x, row_min(down, *) y",
            "stats row_max(half, _msg) if (parity:1) x, row_min(half) if (hundred:7) y, row_max(half) if (nothing:*) z",
            "stats by (hundred) row_max(half, _msg) x, row_min(half, _m*) if (parity:1) y, count() c",
            "stats by (hundred) row_max(half, _msg) if (half:>990) x",
            "stats by (parity) row_max(half, _msg) x",
            "stats row_max(parity, half) x, row_min(hundred, half) y",
            "stats by (hundred) row_max(half, _msg) x | limit 2",
            "stats by (hundred) row_any(_msg) x, row_any() y",
            "stats by (parity, hundred) row_any(_msg, half) if (half:>200) x, row_min(_time, _t*) y",
            "stats by (_time:30ns) row_any(_msg) x, row_max(_time, *) y",
            "stats by (parity) row_max(_time, _msg) x, json_values(_msg) sort by (_time desc, half) limit 3 y",
            "stats by (_msg) row_any(half) x, row_min(_time, half) y, json_values(half) limit 1 z",
        ] {
            let by_rows = format!("{filter} | limit 1000000 | {stats}");
            let text = format!("{filter} | {stats}");
            assert_eq!(answer(&text).0, answer(&by_rows).0, "{text}");
        }
    }
    // Each block's numbers are worse than those before: their rows are of no interest.
    let read = |stats: &str| answer(&format!("* | stats {stats} r")).1.bytes_read;
    let (first, all) = (read("row_max(down, _msg)"), read("row_min(down, _msg)"));
    assert!(first < all / 2, "{first} of {all}");
    let (none, some) = (read("row_max(half, _msg) if (nothing:*)"), read("row_max(down, _msg)"));
    assert!(none < some, "{none} of {some}");
    // All rows of the first block are earlier than any other.
    let (first, all) = (read("row_min(_time, _msg)"), read("row_max(_time, _msg)"));
    assert!(first < all / 2, "{first} of {all}");
}

#[test]
fn random_numbers_are_given_row_by_row_however_many_threads_there_are() {
    let row = |n: i64| Row::new(n, &[("n", &*(n * 37 % 101).to_string()), ("_msg", "m")]);
    let block = |b: i64| Arc::new(TestBlock::new((b * 40..b * 40 + 40).map(row).collect(), b as u64));
    let blocks: Vec<_> = (0..9).map(block).collect();
    for (text, in_order) in [
        (
            "* | stats by (n) count() c | math n * rand() as x",
            "* | stats by (n) count() c | sort by (n) | math n * rand() as x",
        ),
        ("* | math n * rand() as x", "* | sort by (_time desc) | math n * rand() as x"),
    ] {
        let sum = |text: &str, threads| {
            let options = RunOptions { threads, ..RunOptions::default() };
            run(&format!("{text} | stats sum(x) s"), &blocks, &options).unwrap().0
        };
        let expected = sum(in_order, 1);
        for threads in [1, 3] {
            assert_eq!(sum(text, threads), expected, "{text}");
        }
    }
}

#[test]
fn many_blocks_are_opened_at_once_only_as_long_as_few_rows_match() {
    let row = |b: i64, r: i64| {
        let what = if b < 340 { "full" } else { "empty" };
        Row::new((b * 400 + r) * 1_000_000_000, &[("what", what)])
    };
    let block = |b: i64| Arc::new(TestBlock::new((0..400).map(|r| row(b, r)).collect(), b as u64));
    let blocks: Vec<_> = (0..600).map(block).collect();
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let query = Query::parse("what:full | fields what", &ParseOptions::default()).unwrap();
    let mut rows = 0;
    query
        .run(handles(&blocks), &options, &Cancel::new(), &mut |_| {
            rows += 1;
            if rows == 70_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(rows, 70_000);
    // The newest 260 have none; then 164 have enough for now, and a few more, as each thread has its own; those behind them are
    // opened as they are due. All that are looked at at once would be 505.
    let opened = opened(&blocks);
    assert!((435..480).contains(&opened), "{opened} blocks were opened");
}

#[test]
fn blocks_for_which_there_is_no_room_are_not_opened_for_each_row() {
    // They overlap wholly: the next row is always in another.
    let row = |b: i64, r: i64| Row::new(10 * r + b, &[("_msg", "m"), ("n", &(10 * r + b).to_string())]);
    let blocks: Vec<_> =
        (0..10).map(|b| Arc::new(TestBlock::new((0..2000).map(|r| row(b, r)).collect(), b as u64))).collect();
    let options = RunOptions { memory_limit_bytes: 1, ..RunOptions::default() };
    let (rows, _) = run("* | fields n", &blocks, &options).unwrap();
    assert!(rows.iter().rev().enumerate().all(|(i, row)| row[0].1 == i.to_string()) && rows.len() == 20_000);
    assert!((10..1000).contains(&opened(&blocks)), "{}", opened(&blocks));
    // And not again for rows that nobody wants.
    let before = opened(&blocks);
    run("* | fields n | limit 10", &blocks, &options).unwrap();
    assert!(opened(&blocks) - before <= 20, "{}", opened(&blocks) - before);
}

#[test]
fn blocks_larger_than_the_memory_are_opened_once_where_they_do_not_overlap() {
    let blocks = store(20, 1000);
    for threads in [1, 4] {
        let before = opened(&blocks);
        let options = RunOptions { memory_limit_bytes: 1, threads, ..RunOptions::default() };
        assert_eq!(run("* | fields n", &blocks, &options).unwrap().0.len(), 20_000);
        assert_eq!(opened(&blocks) - before, 20, "{threads}");
    }
}

#[test]
fn blocks_whose_next_row_is_far_make_room() {
    // A few that have a long row now and then, and many that have all between. Of these, one has room.
    let long = "x".repeat(20_000);
    let row = |time: i64, text: &str| Row::new(time, &[("n", &*time.to_string()), ("_msg", text)]);
    let mut blocks = Vec::new();
    for b in 0..4 {
        let rows = (0..5).map(|r| row(r * 4000 + b, &format!("{r}{long}")));
        blocks.push(Arc::new(TestBlock::new(rows.collect(), 1)));
    }
    for b in 0..20 {
        let rows = (0..1000).map(|r| row(b * 1000 + r, "m"));
        blocks.push(Arc::new(TestBlock::new(rows.collect(), 1)));
    }
    let options = RunOptions { memory_limit_bytes: 150_000, ..RunOptions::default() };
    let (rows, _) = run("* | fields n, _msg", &blocks, &options).unwrap();
    assert_eq!(rows.len(), 20_020);
    assert!(rows.windows(2).all(|w| w[0][0].1.parse::<i64>().unwrap() >= w[1][0].1.parse().unwrap()));
    assert!((24..80).contains(&opened(&blocks)), "{}", opened(&blocks));
}

#[test]
fn a_block_beyond_the_memory_stays_while_small_ones_come() {
    let row = |time: i64| Row::new(time, &[("_msg", "m"), ("n", &time.to_string())]);
    let block = |times: Vec<i64>| Arc::new(TestBlock::new(times.into_iter().map(row).collect(), 1));
    let mut blocks = vec![block((0..2000).map(|r| r * 10).collect())];
    blocks.extend((0..300).map(|b| block(vec![b * 60 + 5])));
    let options = RunOptions { memory_limit_bytes: 1, ..RunOptions::default() };
    assert_eq!(run("* | fields n", &blocks, &options).unwrap().0.len(), 2300);
    // The small ones twice, as they may not be held.
    assert!((301..700).contains(&opened(&blocks)), "{}", opened(&blocks));
}

#[test]
fn blocks_whose_numbers_are_beaten_are_not_read() {
    let row = |time: i64| {
        let fields =
            [("n", time.to_string()), ("down", (5000 - time).to_string()), ("_msg", format!("m{time}"))];
        Row::new(time, &fields.each_ref().map(|(name, text)| (*name, &**text)))
    };
    let blocks: Vec<_> = (0..10)
        .map(|b| Arc::new(TestBlock::new((b * 100..b * 100 + 100).map(row).collect(), b as u64)))
        .collect();
    let read = |stats: &str| {
        let (rows, stats) = run(&format!("* | stats {stats}"), &blocks, &RunOptions::default()).unwrap();
        (rows[0][0].1.clone(), stats.bytes_read)
    };
    // The first block has the least, and the greatest of what goes down; of what each block beats, all are read.
    for (stats, answer, all) in [
        ("min(n)", "0", "max(n)"),
        ("max(down)", "5000", "max(n)"),
        ("row_min(n, n)", r#"{"n":"0"}"#, "row_max(n, n)"),
        ("row_max(down, n)", r#"{"n":"0"}"#, "row_max(n, n)"),
    ] {
        let ((text, bytes), (_, of_all)) = (read(stats), read(all));
        assert_eq!(text, answer, "{stats}");
        assert!(bytes <= of_all / 5, "{stats}: {bytes} of {of_all}");
    }
    assert_eq!([read("max(n)").0, read("row_max(n, n)").0], ["999", r#"{"n":"999"}"#]);
    // One that is as good may stand before.
    let equal = "* | stats row_max(x, n) r";
    let block = |b: i64| {
        let row = |r: i64| Row::new(r * 2 + b, &[("x", "7"), ("n", &(r * 2 + b).to_string())]);
        Arc::new(TestBlock::new((0..5).map(row).collect(), b as u64))
    };
    let (rows, _) = run(equal, &[block(0), block(1)], &RunOptions::default()).unwrap();
    assert_eq!(rows[0][0].1, r#"{"n":"9"}"#);
    // What is no integer may be the same number, and a text comes behind all numbers.
    let block = |values: &[&str]| {
        let rows = values.iter().enumerate();
        Arc::new(TestBlock::new(rows.map(|(i, x)| Row::new(i as i64, &[("x", x)])).collect(), 0))
    };
    for (first, function, answer) in [
        (&["5.0", "7"][..], "min(x)", "5"),
        (&["5.0"], "max(x)", "9"),
        (&["9.0"], "max(x)", "9.0"),
        (&["9.0", "-0"], "min(x)", "-0"),
        (&["abc"], "max(x)", "abc"),
        (&["abc"], "min(x)", "5"),
        (&["abc", "10"], "row_max(x, x)", r#"{"x":"abc"}"#),
        (&["abc", "4"], "row_min(x, x)", r#"{"x":"4"}"#),
        (&["10"], "row_max(x, x)", r#"{"x":"10"}"#),
        (&["10"], "row_max(_time, x)", r#"{"x":"6"}"#),
    ] {
        for other_way in [false, true] {
            let mut blocks = vec![block(first), block(&["5", "9", "8", "6"])];
            if other_way {
                blocks.reverse();
            }
            let found = |text: &str| run(text, &blocks, &RunOptions::default()).unwrap().0[0][0].1.clone();
            let text = format!("* | stats {function} r");
            assert_eq!(found(&text), answer, "{text} of {first:?}");
            assert_eq!(found(&format!("* | filter * | stats {function} r")), answer, "{text} of {first:?}");
        }
    }
    // Where the field was made, the block does not know its numbers.
    let (rows, _) = run("* | math 10 - n as n | stats min(n) a", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows[0][0].1, "-989");
    let (rows, _) =
        run("* | format \"<down>\" as n | stats max(n) a", &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows[0][0].1, "5000");
}

#[test]
fn bytes_read_do_not_depend_on_the_threads() {
    let blocks = store(300, 5);
    for text in ["n:~2$", "n:~2$ | sort by (_msg)", "*"] {
        let read = |threads| {
            let options = RunOptions { threads, ..RunOptions::default() };
            run(text, &blocks, &options).unwrap().1.bytes_read
        };
        assert_eq!(read(1), read(3), "{text}");
    }
}

#[test]
fn what_is_made_of_nothing_is_neither_the_least_nor_the_greatest() {
    let blocks = store(2, 5);
    let (rows, _) =
        run("* | math none * 2 as x | stats min(x) a, max(x) b, count() c", &blocks, &RunOptions::default())
            .unwrap();
    let answer: Vec<(&str, &str)> = rows[0].iter().map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(answer, [("a", ""), ("b", ""), ("c", "10")]);
    let text = "* | math n + (none default n) as x | math x / (n % 3) as y | stats max(y) b";
    let (rows, _) = run(text, &blocks, &RunOptions::default()).unwrap();
    assert_eq!(rows[0][0].1, "Inf");
}
