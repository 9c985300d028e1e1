//! Queries over blocks as tables have them find what a look at each text finds: templates, references to other columns,
//! filters of words and of grams pass over nothing that matches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen::block::{Block, BlockHandle, OpenBlock};
use duramen::columnar::{BlockEncoder, EncodeOptions, MemoryBlock, Row, TableBlock};
use duramen::token::is_word_char;
use duramen::{EntryBuf, EntryRef, Level, Result};
use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use support::lines::{Line, Random, START, lines};

/// So many blocks are tried, each with other lines and questions. `DURAMEN_TEST_BLOCKS` may say how many, and
/// `DURAMEN_TEST_SEED` which is the first.
const BLOCKS: u64 = 10;
const QUESTIONS: usize = 60;

#[derive(Debug, Default)]
struct Chunks(Vec<Vec<u8>>);

impl ChunkSink for Chunks {
    fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
        self.0.push(bytes.to_vec());
        Ok(ChunkHandle { offset: self.0.len() as u64 - 1, len: bytes.len() as u32 })
    }
}

impl ChunkSource for Chunks {
    fn read_chunk(&self, at: ChunkHandle) -> duramen_engine::Result<Vec<u8>> {
        let chunk = usize::try_from(at.offset).ok().and_then(|at| self.0.get(at));
        chunk.cloned().ok_or_else(|| duramen_engine::Error::InvalidArgument("no such chunk".into()))
    }
}

/// Opens the block anew each time, so that no column is decoded already.
#[derive(Clone, Debug)]
struct Handle {
    chunks: Arc<Chunks>,
    directory: ChunkHandle,
    filters: Vec<ChunkHandle>,
    rows: usize,
    times: (i64, i64),
}

impl BlockHandle for Handle {
    fn rows(&self) -> usize {
        self.rows
    }
    fn min_time(&self) -> i64 {
        self.times.0
    }
    fn max_time(&self) -> i64 {
        self.times.1
    }
    fn open(&self) -> Result<Arc<dyn Block>> {
        Ok(Arc::new(TableBlock::open(self.chunks.clone(), self.directory, &self.filters)?))
    }
    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        Ok(Arc::new(TableBlock::open(self.chunks.clone(), self.directory, &self.filters)?.unordered()))
    }
}

type Handles = [(&'static str, Arc<dyn BlockHandle>); 2];

/// Rows as a table has them, and as a live segment does.
fn handles(entries: &[Vec<u8>]) -> Handles {
    let rows: Vec<Row<'_>> = (0u64..)
        .zip(entries)
        .map(|(seq, entry)| Row { entry: EntryRef::decode(entry).unwrap(), writer: 1, seq })
        .collect();
    let mut chunks = Chunks::default();
    let encoded = BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows, &mut chunks).unwrap();
    let times = (rows[0].entry.time, rows[rows.len() - 1].entry.time);
    let filters = encoded.write_filter(&mut chunks).unwrap();
    let directory = encoded.directory;
    let table = Handle { chunks: Arc::new(chunks), directory, filters, rows: rows.len(), times };
    let memory = OpenBlock::handle(Arc::new(MemoryBlock::build(&rows).unwrap())).unwrap();
    [("table", Arc::new(table)), ("memory", memory)]
}

/// Where a phrase ends that begins at `from` or after it, where words count at its begin, at its end.
fn phrase_end(text: &str, from: usize, phrase: &str, (begins, ends): (bool, bool)) -> Option<usize> {
    (from..text.len()).filter(|at| text.is_char_boundary(*at)).find_map(|at| {
        let behind = text[at..].strip_prefix(phrase)?;
        let joined =
            |a: Option<char>, b: Option<char>| a.is_some_and(is_word_char) && b.is_some_and(is_word_char);
        let longer_before = begins && joined(text[..at].chars().next_back(), phrase.chars().next());
        let longer_behind = ends && joined(phrase.chars().next_back(), behind.chars().next());
        (!longer_before && !longer_behind).then_some(at + phrase.len())
    })
}

fn has_phrase(text: &str, phrase: &str, begins: bool, ends: bool) -> bool {
    phrase_end(text, 0, phrase, (begins, ends)).is_some()
}

/// Some of a text: of so many characters, or from the begin of a word to the end of one.
fn part(text: &str, random: &mut Random) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut from = random.below(chars.len());
    let most = if random.below(3) == 0 { 30 } else { 7 };
    let mut to = (from + 1 + random.below(most)).min(chars.len());
    if random.below(3) > 0 {
        while from > 0 && is_word_char(chars[from - 1]) && is_word_char(chars[from]) {
            from -= 1;
        }
        while to < chars.len() && to > 0 && is_word_char(chars[to - 1]) && is_word_char(chars[to]) {
            to += 1;
        }
    }
    chars.get(from..to).unwrap_or_default().iter().collect()
}

/// The text, or one that is much like it.
fn changed(text: String, random: &mut Random) -> String {
    let turn = |c: char| {
        if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
    };
    match random.below(9) {
        0 => text.chars().map(turn).collect(),
        1 => text.replace(['k', 'K'], "\u{212a}"),
        2 => text.replace('\u{212a}', "k").replace('\u{17f}', "s"),
        3 => text.chars().map(|c| if c == '1' { '2' } else { c }).collect(),
        _ => text,
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

type Passes = Box<dyn Fn(&str) -> bool>;

fn question(lines: &[Line], field: &str, random: &mut Random) -> Option<(String, Passes)> {
    // What another field says may be in this one, too.
    let of = if random.below(4) == 0 { random.one(&["agent", "path", "note", "n"]) } else { field };
    let one = |random: &mut Random| lines[random.below(lines.len())].get(of).filter(|text| !text.is_empty());
    let text = one(random)?;
    let of_text = if random.below(6) == 0 { text.clone() } else { part(text, random) };
    let a = changed(of_text, random);
    let from = if random.below(3) == 0 { one(random)? } else { text };
    let b = changed(part(from, random), random);
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (qa, qb) = (quoted(&a), quoted(&b));
    let (ra, rb) = (regex::escape(&a), regex::escape(&b));
    let phrase = |text: &str, phrase: &str| has_phrase(text, phrase, true, true);
    Some(match random.below(11) {
        0 => (qa, Box::new(move |text| phrase(text, &a))),
        1 => (format!("{qa}*"), Box::new(move |text| has_phrase(text, &a, true, false))),
        2 => (format!("*{qa}*"), Box::new(move |text| text.contains(&a))),
        3 => (format!("contains_all({qa},{qb})"), Box::new(move |text| phrase(text, &a) && phrase(text, &b))),
        4 => (format!("contains_any({qa},{qb})"), Box::new(move |text| phrase(text, &a) || phrase(text, &b))),
        5 => (format!("={qa}"), Box::new(move |text| text == a)),
        7 => {
            let words = (true, true);
            let first = move |text: &str| phrase_end(text, 0, &a, words);
            let passes =
                move |text: &str| first(text).is_some_and(|at| phrase_end(text, at, &b, words).is_some());
            (format!("seq({qa},{qb})"), Box::new(passes))
        }
        8 => {
            let (a, b) = (a.chars().count(), b.chars().count());
            let (min, max) = if random.below(3) == 0 { (0, a.min(b)) } else { (a.min(b), a.max(b)) };
            (
                format!("len_range({min}, {max})"),
                Box::new(move |text| (min..=max).contains(&text.chars().count())),
            )
        }
        // In lower case it begins with a letter and a dot above it, which is none: where words begin is then moot.
        6 if lines.iter().any(|line| line.values().any(|text| text.contains('İ'))) => return None,
        6 => (
            format!("i({qa})"),
            Box::new(move |text| has_phrase(&text.to_lowercase(), &a.to_lowercase(), true, true)),
        ),
        _ => {
            let expression = match random.below(19) {
                0 => ra,
                1 => format!("(?i){ra}"),
                2 => format!("{ra}.*{rb}"),
                3 => format!("(?i){ra}.*{rb}"),
                4 => format!("{ra}|{rb}"),
                5 => format!("(?i:{ra})|{rb}"),
                6 => format!("({ra}|{rb})+{ra}"),
                7 => format!("(?i)^.*({ra})?{rb}"),
                8 => format!("\\b{ra}\\b"),
                9 => format!("^{ra}|{rb}$"),
                // What need not be there is in no line.
                11 => format!("(nowhere)?{ra}(nowhere)*.*(nowhere{{0,2}}|{rb})"),
                12 => format!("(nowhere|{ra})+(?:|nowhere)"),
                13 => format!("(?i){rb}|nowhere|{ra}{{0,1}}nowhere"),
                14 => format!("(?:nowhere|(?:{ra}|nowhere){rb})"),
                15 => format!("^{ra}"),
                16 => format!("{ra}$"),
                17 => format!("^{ra}.*{rb}$"),
                10 => format!("({ra}{{0,2}}x|{ra})({rb}|)"),
                _ => ra
                    .chars()
                    .map(|c| {
                        if c.is_alphabetic() {
                            format!("[{c}{}]", c.to_uppercase().next().unwrap())
                        } else {
                            c.to_string()
                        }
                    })
                    .collect(),
            };
            let regex = duramen_query::filter::regex::compile(&expression, false).ok()?;
            (format!("~{}", quoted(&expression)), Box::new(move |text| regex.is_match(text)))
        }
    })
}

fn ask(text: &str, handle: &Arc<dyn BlockHandle>) -> Vec<Vec<String>> {
    let query = Query::parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let mut rows = Vec::new();
    let stats = query
        .run(vec![handle.clone()], &RunOptions::default(), &Cancel::new(), &mut |row| {
            rows.push(row.iter().map(|(_, text, _)| text.to_string()).collect());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(stats.first_failure.is_none(), "{text}: {stats:?}");
    rows
}

#[test]
fn blocks_answer_as_their_lines_do() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (first, blocks) = (number("DURAMEN_TEST_SEED", 0), number("DURAMEN_TEST_BLOCKS", BLOCKS));
    let (mut hits, mut misses) = (0, 0);
    for seed in first..first + blocks {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.below(1);
        let (lines, entries) = lines(&mut random);
        let handles = handles(&entries);
        for _ in 0..QUESTIONS {
            let field = random.one(&["_msg", "_msg", "_msg", "agent", "path", "note", "same", "n", "host"]);
            let Some((test, passes)) = question(&lines, field, &mut random) else { continue };
            let text_of = |line: &Line| line.get(field).cloned().unwrap_or_default();
            let newest_first = lines.iter().rev().filter(|line| passes(&text_of(line)));
            let expected: Vec<&str> = newest_first.map(|line| &*line["id"]).collect();
            let any_passes = |line: &&Line| line.values().any(|text| !text.is_empty() && passes(text));
            let any = lines.iter().filter(any_passes).count();
            let is_any = !test.starts_with('=') && random.below(4) == 0;
            for (kind, handle) in &handles {
                let what = format!("{kind} of seed {seed}: {field}:{test}");
                let found = ask(&format!("{field}:{test} | fields id"), handle);
                let found: Vec<&str> = found.iter().map(|row| &*row[0]).collect();
                let is_wrong =
                    |line: &&Line| found.contains(&&*line["id"]) != expected.contains(&&*line["id"]);
                let wrong = lines.iter().find(is_wrong);
                assert!(wrong.is_none(), "{what}: {} rows, not {}: {wrong:?}", found.len(), expected.len());
                assert_eq!(found, expected, "{what}");
                let counted = ask(&format!("{field}:{test} | stats count() c"), handle);
                assert_eq!(counted, [[expected.len().to_string()]], "{what}");
                if is_any {
                    let counted = ask(&format!("*:{test} | stats count() c"), handle);
                    assert_eq!(counted, [[any.to_string()]], "{what}, in any field");
                }
            }
            let by = random.one(&["n", "same", "host", "path", "agent"]);
            let bucket = by == "n" && random.below(2) == 0;
            let mut groups = BTreeMap::new();
            for line in lines.iter().filter(|line| passes(&text_of(line))) {
                let text = line.get(by).cloned().unwrap_or_default();
                let floor = |n: i64| (n.div_euclid(10) * 10).to_string();
                let text = if bucket { floor(text.parse().unwrap()) } else { text };
                *groups.entry(text).or_insert(0) += 1;
            }
            let groups: Vec<_> =
                groups.into_iter().map(|(text, count): (String, i32)| [count.to_string(), text]).collect();
            for (kind, handle) in &handles {
                let by = if bucket { "n:10" } else { by };
                let text = format!(
                    "{field}:{test} | stats by ({by}) count() c | fields c, {}",
                    &by[..by.find(':').unwrap_or(by.len())]
                );
                let mut found = ask(&text, handle);
                // A group without a text shows none.
                found.iter_mut().for_each(|row| row.resize(2, String::new()));
                found.sort_by(|a, b| a[1].cmp(&b[1]));
                assert_eq!(found, groups, "{kind} of seed {seed}: {text}");
            }
            if let Some((other, other_passes)) = question(&lines, "path", &mut random) {
                let path = |line: &Line| other_passes(line.get("path").map_or("", |text| text));
                let this = |line: &Line| passes(&text_of(line));
                let both = lines.iter().filter(|line| this(line) && path(line)).count();
                let either = lines.iter().filter(|line| this(line) || path(line)).count();
                let but = lines.iter().filter(|line| !this(line) && path(line)).count();
                for (kind, handle) in &handles {
                    for (by, expected, not) in [("", both, ""), ("or", either, ""), ("", but, "!")] {
                        let text = format!("{not}{field}:{test} {by} path:{other} | stats count() c");
                        assert_eq!(
                            ask(&text, handle),
                            [[expected.to_string()]],
                            "{kind} of seed {seed}: {text}"
                        );
                    }
                }
            }
            if expected.is_empty() { misses += 1 } else { hits += 1 }
        }
    }
    assert!(hits > misses / 9 && misses > hits / 9, "{hits} questions found lines, {misses} did not");
}

#[test]
fn a_block_is_passed_over_if_no_text_has_the_bytes_that_all_matches_have() {
    let mut buf = EntryBuf::default();
    let entries: Vec<Vec<u8>> = (0..4200)
        .map(|i| {
            buf.start(START + i).level(Level::Unknown).message(&format!("request {i} of checkout failed"));
            buf.finish().unwrap().to_vec()
        })
        .collect();
    let [(_, table), _] = handles(&entries);
    let read = |filter: &str| {
        let query = Query::parse(filter, &ParseOptions::default()).unwrap();
        let blocks = vec![table.clone()];
        query
            .run(blocks, &RunOptions::default(), &Cancel::new(), &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .blocks_read
    };
    for filter in [
        "*eckou*",
        "~\"heckou. f\"",
        "~\"(?i)HECKOU|zebrawood\"",
        "~\"(zebrawood)?heck\"",
        "~\"q\"",
        "*:*eckou*",
    ] {
        assert_eq!(read(filter), 1, "{filter}");
    }
    for filter in
        ["*eckxu*", "~\"heckxu. f\"", "~\"(?i)HECKXU|zebrawood\"", "~\"(zebrawood)+heck\"", "*:*eckxu*"]
    {
        assert_eq!(read(filter), 0, "{filter}");
    }
}

#[test]
fn a_field_that_some_rows_have_as_their_message_says_nothing_of_the_others() {
    let mut buf = EntryBuf::default();
    let entries: Vec<Vec<u8>> = (0..600)
        .map(|i| {
            buf.start(START + i).level(Level::Unknown).message(&format!("request {i} failed"));
            if i % 3 == 0 {
                buf.field_same_as_message("log");
            }
            buf.finish().unwrap().to_vec()
        })
        .collect();
    for (kind, handle) in handles(&entries) {
        for test in
            ["failed", "i(Failed)", "~\"request .* failed\"", "*", "fail*", "contains_any(failed, done)"]
        {
            assert_eq!(ask(&format!("log:{test} | stats count() c"), &handle), [["200"]], "{kind}: {test}");
            assert_eq!(ask(&format!("!log:{test} | stats count() c"), &handle), [["400"]], "{kind}: {test}");
        }
        let by = ask("* | stats by (log) count() c | sort by (c desc) | limit 1 | fields c", &handle);
        assert_eq!(by, [["400"]], "{kind}");
        assert_eq!(ask("* | stats count_uniq(log) c", &handle), [["200"]], "{kind}");
    }
}

#[test]
fn lengths_are_those_of_the_texts_whoever_asks() {
    let mut random = Random(7);
    let (lines, entries) = lines(&mut random);
    let len = |line: &Line, field: &str| line.get(field).map_or(0, String::len);
    let chars = |line: &Line, field: &str| line.get(field).map_or(0, |text| text.chars().count());
    for (kind, handle) in handles(&entries) {
        for field in ["_msg", "agent", "path", "note", "n", "nope"] {
            for (least, most) in (0..90).flat_map(|least| [(least, least), (least, usize::MAX)]) {
                let having = lines.iter().filter(|line| (least..=most).contains(&chars(line, field))).count();
                let most = if most == usize::MAX { "inf".to_string() } else { most.to_string() };
                let text = format!("{field}:len_range({least}, {most}) | stats count() c");
                assert_eq!(ask(&text, &handle), [[having.to_string()]], "{kind}: {text}");
            }
            let lens: Vec<usize> = lines.iter().map(|line| len(line, field)).collect();
            let sum: usize = lens.iter().sum();
            let both: usize = sum + lines.iter().map(|line| len(line, "host")).sum::<usize>();
            let max = lens.iter().max().unwrap();
            for (text, answer) in [
                (format!("* | stats sum_len({field}) a, sum_len({field}, host) b"), vec![sum, both]),
                (format!("* | len({field}) l | stats sum(l) a, max(l) b"), vec![sum, *max]),
                (format!("* | len({field}) l | len(l) m | stats max(m) a"), vec![max.to_string().len()]),
                (format!("* | len({field}) {field} | stats sum({field}) a"), vec![sum]),
                (format!("* | stats sum_len({field}) if ({field}:*) a"), vec![sum]),
                (format!("{field}:* | stats sum_len({field}) a, count_empty({field}) b"), vec![sum, 0]),
            ] {
                let answer: Vec<String> = answer.iter().map(usize::to_string).collect();
                assert_eq!(ask(&text, &handle), [answer], "{kind}: {text}");
            }
        }
    }
}

/// Texts of a table are put together for whoever makes others of them, and not kept; what is in memory is there.
#[test]
fn what_is_made_of_texts_is_the_same_whoever_puts_them_together() {
    let mut answers = 0;
    for seed in 0..4 {
        let (_, entries) = lines(&mut Random(seed));
        let [(_, table), (_, memory)] = handles(&entries);
        for field in ["_msg", "agent", "path", "note"] {
            for query in [
                "* | replace (\"e\", \"Q\") at F | stats by (F) count() n",
                "* | extract \"a<x>e\" from F | stats by (x) count() n",
                "* | extract \"<x> \" from F | stats by (x, host) count_uniq(F) n",
                "* | collapse_nums at F | stats by (_time:1s) count_uniq(F) n, max(F) m",
                "F:* | format \"<F>!\" as y | replace_regexp (\"[0-9]+\", \"N\") at y | stats by (y) count() n",
                "n:>3 | extract \"e<x>\" from F | stats by (x) min(_time) t, count() n",
                "* | extract \" from <x>\" from F | stats by (x) count() n",
                "* | extract \"1<x>2<y> \" from F | stats by (x, y) count() n",
                "* | extract \"] <x>=<y>\" from F | stats by (x, y) count() n",
                "* | extract_regexp \"(?P<x>b[a-z]*)\" from F | stats by (x) count() n",
                "* | extract_regexp \"0(?P<x>[^ ]*) (?P<y>.)\" from F | stats by (x, y) count() n",
                "* | extract_regexp \"(?:: ?|=)(?P<x>.*)$\" from F | stats by (x) count() n",
            ] {
                let query = query.replace("F", field);
                let [mut of_table, mut of_memory] = [&table, &memory].map(|handle| ask(&query, handle));
                of_table.sort();
                of_memory.sort();
                assert_eq!(of_table, of_memory, "{query}, seed {seed}");
                answers += of_table.len();
            }
        }
    }
    assert!(answers > 10_000, "{answers}");
}

/// Above 2^52, several decimal fractions are read as the same number: their texts decide which is the least.
#[test]
fn of_equal_numbers_the_text_decides_in_whatever_order_they_come() {
    let read = |last: i64| format!("123456789012.34567{last}").parse::<f64>().unwrap().to_bits();
    assert!(read(1) == read(2) && read(2) == read(3));
    for turn in 0..3 {
        let mut buf = EntryBuf::new(["app"]);
        let entries: Vec<Vec<u8>> = (0..1_500)
            .map(|i: i64| {
                let last = 1 + (i / 3 + turn) % 3;
                let ts = match i % 3 {
                    0 => format!("123456789012.34567{last}"),
                    1 => format!("123456789099.34567{last}"),
                    _ => format!("1234567890{}.{:06}", 13 + i % 80, 1 + i * 7_919 % 999_990),
                };
                buf.start(START + i).message("m").field("ts", ts.as_str()).field("one", "1");
                buf.finish().unwrap().to_vec()
            })
            .collect();
        for (kind, handle) in handles(&entries) {
            for by in ["", "by (one) "] {
                let found = ask(&format!("* | stats {by}min(ts) a, max(ts) b | fields a, b"), &handle);
                assert_eq!(found, [["123456789012.345671", "123456789099.345673"]], "{kind}, {by}, {turn}");
            }
        }
    }
}

/// Rows of several streams, whose times and values come again and again: what stands first in a table is not what came first.
#[test]
fn the_first_of_equal_values_are_those_that_came_last_however_rows_are_stored() {
    let mut random = Random(3);
    let blocks: Vec<Vec<(i64, String, String)>> = (0..6)
        .map(|block| {
            let mut rows: Vec<_> = (0..500)
                .map(|row| {
                    let value = match random.below(8) {
                        0 => String::new(),
                        n => format!("{}.{}", random.below(9), n),
                    };
                    (block * 10 + random.below(10) as i64, format!("{block}-{row}"), value)
                })
                .collect();
            rows.sort_by_key(|row| row.0);
            rows
        })
        .collect();
    let mut handles_of: [Vec<Arc<dyn BlockHandle>>; 2] = Default::default();
    for rows in &blocks {
        let mut buf = EntryBuf::new(["app"]);
        let entries: Vec<Vec<u8>> = rows
            .iter()
            .map(|(time, id, value)| {
                buf.start(*time).message("m");
                buf.field("app", ["a", "b", "c"][random.below(3)]).field("id", &**id);
                if !value.is_empty() {
                    buf.field("value", &**value);
                }
                buf.finish().unwrap().to_vec()
            })
            .collect();
        for (all, (_, handle)) in handles_of.iter_mut().zip(handles(&entries)) {
            all.push(handle);
        }
    }
    let text = |value: &str| value.parse::<f64>().unwrap_or(-1.0);
    let mut expected: Vec<_> = blocks.iter().flatten().rev().collect();
    expected.sort_by(|a, b| text(&b.2).total_cmp(&text(&a.2)));
    let expected: Vec<&str> = expected.iter().map(|row| &*row.1).collect();
    for (handles, threads) in handles_of.iter().flat_map(|handles| [(handles, 1), (handles, 3)]) {
        for (offset, limit) in [(0, 7), (100, 900), (0, 3000)] {
            let query = format!("* | sort by (value desc) offset {offset} limit {limit} | fields id");
            let query = Query::parse(&query, &ParseOptions::default()).unwrap();
            let mut found: Vec<String> = Vec::new();
            let options = RunOptions { threads, ..RunOptions::default() };
            let stats = query.run(handles.clone(), &options, &Cancel::new(), &mut |row| {
                found.push(row.get("id").unwrap().to_string());
                ControlFlow::Continue(())
            });
            assert_eq!(found, expected[offset..(offset + limit).min(3000)], "{stats:?}");
        }
    }
}
