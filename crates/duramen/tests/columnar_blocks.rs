//! What goes into a block comes out, from a table and from memory alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod columnar_common;

use columnar_common::{Field, Rows, check, encode};
use duramen::block::{Block, LengthUnit};
use duramen::column::{ColumnData, IntText};
use duramen::columnar::{BlockEncoder, EncodeOptions, MemoryBlock, Row, TableBlock};
use duramen::{Level, token};
use proptest::prelude::*;
use std::sync::Arc;

#[test]
fn all_kinds_of_fields_come_back() {
    let mut rows = Rows::new(&["app", "host"]);
    for i in 0..1000i64 {
        rows.add(
            i * 37_000_003,
            Level::from_u8((i % 7) as u8).unwrap(),
            &format!("request {i} took {}ms", i * i % 811),
            vec![
                ("app", Field::Str(["web", "db"][(i % 3 / 2) as usize].into())),
                ("const", Field::Str("always".into())),
                ("n", Field::Int(i * i - 500)),
                ("mixed", if i % 2 == 0 { Field::Int(i) } else { Field::Str(format!("x{i}")) }),
                ("rare", if i % 100 == 3 { Field::Bool(true) } else { Field::None }),
                ("tail", if i > 800 { Field::Number(format!("{}.50", i)) } else { Field::None }),
                ("null", Field::Null),
                ("json", Field::Json(format!("[{i}]"))),
                ("same", if i % 5 > 0 { Field::SameAsMessage } else { Field::None }),
                ("late", if i < 500 { Field::SameAsMessage } else { Field::Str(format!("other {i}")) }),
                ("float", Field::Float(i as f64 / 8.0)),
                (
                    "id",
                    Field::Str(format!(
                        "{:032x}",
                        (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834)
                    )),
                ),
            ],
        );
    }
    check(&rows);
}

#[test]
fn hard_texts_come_back() {
    let long = "x1".repeat(40_000);
    let texts = [
        "",
        "0",
        "007",
        "\0",
        "\0\0\u{11}\u{12}\u{13}\u{14}",
        "\u{202e}שלום עולם 5",
        "👩‍👩‍👧 17 👍",
        &long,
        "\n\t 1\r\n",
        "é1é",
        "1é",
        "é1",
        "ß_9",
        "2023-02-30 10:00:00",
        "10.0.0.1:80",
        "-",
        "--1",
        "1.",
        ".1",
        "1..2",
        "1-",
        "a-1-b.c",
        "\u{7f}9\u{80}",
        "9223372036854775808",
        "-9223372036854775808",
        "00000000000000000000000000000001",
        "İ1",
        "1\u{0301}",
    ];
    let mut rows = Rows::new(&[]);
    for i in 0..300 {
        let text = texts[i % texts.len()];
        let other = texts[(i * 7 + i / 3) % texts.len()];
        rows.add(
            i as i64,
            Level::Info,
            text,
            vec![
                ("f", Field::Str(other.into())),
                ("g", Field::Str(format!("{other}{i}{text}"))),
                ("", Field::Str("a field without a name".into())),
            ],
        );
    }
    check(&rows);
}

#[test]
fn rows_of_thousands_of_fields_come_back() {
    let mut rows = Rows::new(&["f0"]);
    let names: Vec<String> = (0..5000).map(|i| format!("f{i}")).collect();
    for row in 0..4 {
        let fields = names.iter().enumerate().filter(|(i, _)| (i + row) % 4 != 0);
        rows.add(
            row as i64,
            Level::Unknown,
            "",
            fields.map(|(i, n)| (&**n, Field::Int((i * row) as i64))).collect(),
        );
    }
    check(&rows);
}

#[test]
fn what_is_the_message_has_its_words_whatever_the_messages_are() {
    for message in [|i: i64| (i * 7919 % 1000 - 10).to_string(), |_| "7".to_string(), |i| format!("line {i}")]
    {
        let mut rows = Rows::new(&[]);
        for i in 0..400 {
            let same = Field::SameAsMessage.only_if(i % 3 == 0);
            rows.add(
                i,
                Level::Info,
                &message(i),
                vec![("same", same), ("other", Field::Str(format!("x {i}")))],
            );
        }
        check(&rows);
    }
}

#[test]
fn of_a_name_used_twice_in_a_row_the_last_is_shown() {
    let mut rows = Rows::new(&["s"]);
    for i in 0..200 {
        rows.add(
            i,
            Level::Warn,
            "m",
            vec![
                ("a", Field::Int(i)),
                ("a", Field::Str(format!("text {i}"))),
                ("b", Field::Str("x".into())),
                ("b", Field::Int(i)),
                ("b", Field::SameAsMessage),
                ("c", Field::SameAsMessage),
                ("c", Field::Int(7)),
                ("d", Field::Str(format!("{i}"))),
                ("d", Field::Str(format!("{}", i + 1))),
                ("s", Field::Int(1)),
                ("s", Field::Str("y".into())),
                ("level", Field::Str("INFO".into())),
            ],
        );
    }
    check(&rows);
}

#[test]
fn fields_named_as_the_stores_own_are_found_under_another_name() {
    let mut rows = Rows::new(&["app"]);
    for i in 0..100 {
        rows.add(
            i,
            Level::Info,
            "the message",
            vec![
                ("_time", Field::Str("yesterday".into())),
                ("_msg", Field::Int(i)),
                ("_stream", Field::Str(format!("s{}", i % 3))),
                ("", Field::Bool(true)),
                ("app", Field::Str("web".into())),
            ],
        );
    }
    check(&rows);
    let block = encode(&rows);
    let names = ["#1", "_msg", "_msg#1", "_stream#1", "_time#1", "app", "level"];
    assert_eq!(block.field_names().unwrap(), names);
    let mut digits = IntText::default();
    let mut text = |name: &str| block.column(name).unwrap().unwrap().text(5, &mut digits).unwrap().to_owned();
    let found = ["_msg", "_stream", "#1", "_msg#1", "_stream#1", "_time#1"].map(&mut text);
    assert_eq!(found, ["the message", "{app=\"web\"}", "true", "5", "s2", "yesterday"]);
}

#[test]
fn a_level_the_sender_spelled_is_shown_as_spelled() {
    let mut rows = Rows::new(&["level"]);
    rows.add(0, Level::Warn, "a", vec![]);
    rows.add(1, Level::Warn, "b", vec![("level", Field::Str("WARNING".into()))]);
    rows.add(2, Level::Unknown, "c", vec![("level", Field::Int(30))]);
    rows.add(3, Level::Unknown, "d", vec![]);
    check(&rows);
    let mut rows = Rows::new(&[]);
    rows.add(0, Level::Info, "a", vec![("level", Field::Int(30))]);
    rows.add(1, Level::Warn, "b", vec![("level", Field::Str("WARNING".into()))]);
    check(&rows);
}

#[test]
fn a_field_may_be_of_the_stream_in_some_rows_only() {
    let mut with = Rows::new(&["app"]);
    with.add(0, Level::Info, "a", vec![("app", Field::Str("in the stream".into()))]);
    let mut without = Rows::new(&[]);
    without.add(1, Level::Info, "b", vec![("app", Field::Int(5))]);
    without.add(2, Level::Info, "c", vec![]);
    with.append(without);
    check(&with);
    let block = encode(&with);
    let has = |word: &str| block.may_contain_words("app", &[token::hash(word)]).unwrap();
    assert!(has("stream") && has("5") && !has("a") && !has("6"));
}

#[test]
fn integers_have_a_range_and_words_of_other_columns_do_not_show() {
    let mut rows = Rows::new(&["app"]);
    for i in 0..100 {
        rows.add(
            i,
            Level::Info,
            &format!("took {i}ms"),
            vec![
                ("n", Field::Int(i - 50)),
                ("digits", Field::Str(format!("{}", i * 2))),
                ("status", Field::Str(["ok", "failed"][i as usize % 2].into())),
                ("app", Field::Str("web".into())),
            ],
        );
    }
    let block = encode(&rows);
    assert_eq!(block.int_range("n").unwrap(), Some((-50, 49)));
    assert_eq!(block.int_range("digits").unwrap(), Some((0, 198)));
    assert_eq!(block.int_range("status").unwrap(), None);
    let has = |field: &str, word: &str| block.may_contain_words(field, &[token::hash(word)]).unwrap();
    assert!(has("_msg", "TOOK") && has("_msg", "7ms") && has("status", "failed"));
    assert!(!has("nothing", "took") && !has("status", "took_not"));
    let absent = (0..320).filter(|n| has("_msg", &format!("absent{n}"))).count();
    assert!(absent < 32, "one in 32 is expected: {absent}");
    // Words that other columns have.
    assert!(!has("status", "took") && has("status", "ok") && !has("app", "took") && has("app", "WEB"));
    assert!(!has("n", "took") && !has("n", "51") && has("n", "49") && has("n", "50"));
    assert!(!has("digits", "199") && has("digits", "198"));
    assert!(has("_stream", "app") && has("_stream", "web") && !has("_stream", "took"));
    block.column("status").unwrap();
    assert!(!has("status", "took") && has("status", "ok"));
    assert_eq!(block.stream_field_names().unwrap(), ["app"]);
}

/// A message refers to the values of other fields, whose words it has then, however they are written.
#[test]
fn messages_have_the_words_of_the_values_that_they_repeat() {
    let mut rows = Rows::new(&[]);
    let spread = |i: i64| i.wrapping_mul(0x5851_f42d_4c95_7f2d) as u64;
    for i in 0..2_000i64 {
        let (n, digits) = (spread(i) as i64 >> 20, (spread(i + 7) >> 30).to_string());
        let (id, path) = (format!("id{:016x}", spread(i + 9)), format!("/shelf/{}", spread(i) % 40));
        let message = format!("took {n} of {digits} for {id} at {path} again");
        let fields = vec![
            ("n", Field::Int(n)),
            ("digits", Field::Str(digits)),
            ("id", Field::Str(id)),
            ("path", Field::Str(path)),
        ];
        rows.add(i, Level::Info, &message, fields);
    }
    let block = encode(&rows);
    for row in rows.rows() {
        let words: Vec<u64> = token::words(row.entry.message).map(token::hash).collect();
        assert!(block.may_contain_words("_msg", &words).unwrap(), "{}", row.entry.message);
    }
    let absent =
        (0..320).filter(|n| block.may_contain_words("_msg", &[token::hash(&format!("no{n}"))]).unwrap());
    assert!(absent.count() < 32);
}

/// Where a field has few values, they are asked, also if their codes lie in a chunk of their own.
#[test]
fn words_of_messages_do_not_show_in_a_field_of_few_values() {
    let mut rows = Rows::new(&[]);
    for i in 0..20_000i64 {
        let state = ["open", "half open", "shut"][(i * i % 7 % 3) as usize];
        let fields = vec![("state", Field::Str(state.into()))];
        rows.add(i, Level::Info, &format!("door {i} ajar"), fields);
    }
    let mut chunks = columnar_common::Chunks::default();
    let encoded =
        BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows.rows(), &mut chunks).unwrap();
    let filters = encoded.write_filter(&mut chunks).unwrap();
    let chunks = Arc::new(chunks);
    let block = TableBlock::open(chunks.clone(), encoded.directory, &filters).unwrap();
    let has = |word: &str| block.may_contain_words("state", &[token::hash(word)]).unwrap();
    assert!(has("half") && has("shut") && !has("ajar"));
    let reads = || chunks.reads.lock().unwrap().len();
    block.column("_stream").unwrap();
    let before = reads();
    block.column("state").unwrap().unwrap();
    assert_eq!(reads(), before, "what was looked at is kept");
}

#[test]
fn values_that_many_rows_have_are_a_dictionary_whatever_their_templates() {
    let mut rows = Rows::new(&[]);
    for i in 0..12_000u64 {
        // Some hundred users, of two shapes; who comes next is anybody's guess.
        let n = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
        let user =
            if n % 7 == 0 { format!("guest of {n}") } else { format!("u-{:08}", n * 11_003 + 10_000_000) };
        let user = match i % 10 {
            0 => Field::Str(String::new()),
            1 => Field::None,
            _ => Field::Str(user),
        };
        rows.add(
            i as i64,
            Level::Info,
            "in",
            vec![("user", user), ("each", Field::Str(format!("e-{n}-{i}")))],
        );
    }
    let block = encode(&rows);
    let column = block.column("user").unwrap().unwrap();
    let ColumnData::Dict { values, .. } = &column.data else { panic!("no dictionary") };
    assert!((256..2_000).contains(&values.len()), "{}", values.len());
    let each = block.column("each").unwrap().unwrap();
    assert!(matches!(each.data, ColumnData::Text { .. }));
    check(&rows);
}

#[test]
fn much_text_without_a_pattern_comes_back() {
    let words = ["käse", "brot", "wein", "öl", "nüsse", "feigen", "日本", "apfel"];
    let text = |seed: u64| {
        let mut n = seed;
        let mut text = String::new();
        for _ in 0..40 {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += words[(n >> 61) as usize];
            text += [" ", " x", "; ", ", "][(n >> 40) as usize % 4];
        }
        text
    };
    let mut rows = Rows::new(&["app"]);
    for i in 0..600u64 {
        let note = if i % 3 == 0 { Field::None } else { Field::Str(text(i + 10_000)) };
        // Of several kinds, so that the column begins with those.
        let mixed =
            if i % 2 == 0 { Field::Json(format!("\"{}\"", text(i + 20_000))) } else { Field::Str(text(i)) };
        let fields = vec![("app", Field::Int((i / 7 % 3) as i64)), ("note", note), ("mixed", mixed)];
        rows.add(i as i64, Level::Info, &text(i), fields);
    }
    check(&rows);
    let column = encode(&rows).column("note").unwrap().unwrap();
    let ColumnData::Text { text, .. } = &column.data else { panic!("no texts") };
    assert!(text.len() > 64 << 10, "{} bytes are no large column", text.len());
}

/// Rows whose message repeats its time and its fields, as a parsed access log's does.
fn access_log(count: i64, scatter: i64) -> Rows {
    let mut rows = Rows::new(&[]);
    for i in 0..count {
        let n = ((i + scatter) * (i + scatter) % 100_003 * 48_271 + i) % 100_003;
        let ip = format!("10.{}.{}.{}", n % 200, n % 37, n % 251);
        let path = format!("/item/{}?q={}", n % 5003, ["a b", "200", "é", ""][(n % 4) as usize]);
        let (status, bytes) = ([200, 404, 301][(n % 3) as usize], n * 31 % 70_000);
        let message = format!(
            "{ip} - - [14/Nov/2023:{:02}:{:02}:{:02} +0100] \"GET {path} HTTP/1.1\" {status} {bytes}",
            i / 3600 % 24,
            i / 60 % 60,
            i % 60
        );
        let fields = vec![
            ("ip", Field::Str(ip)),
            ("path", Field::Str(path)),
            ("status", Field::Int(status)),
            ("bytes", if n % 11 == 0 { Field::None } else { Field::Int(bytes) }),
        ];
        rows.add(1_699_920_000_000_000_000 + i * 1_000_000_000, Level::Info, &message, fields);
    }
    rows
}

#[test]
fn a_message_that_repeats_its_fields_costs_next_to_nothing() {
    let rows = access_log(4000, 0);
    check(&rows);
    assert!(encode(&rows).lengths("_msg", LengthUnit::Bytes).unwrap().is_some());
    let mut chunks = columnar_common::Chunks::default();
    let encoded =
        BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows.rows(), &mut chunks).unwrap();
    let bytes = |name: &str| encoded.fields.iter().find(|f| f.name == name).unwrap().stored_bytes;
    assert!(bytes("path") > 4000);
    // 70 bytes a row. One row in eleven lacks the field `bytes`, so its number is in the message alone.
    assert!(bytes("_msg") < 5000, "{}", bytes("_msg"));
}

#[test]
fn what_a_column_takes_can_be_asked_for_ahead() {
    let mut rows = Rows::new(&["app"]);
    // Each of the columns takes a chunk of its own, as in any large block.
    let filling = "x".repeat(500);
    let text = |i: i64, n: i64| format!("{:032x}", (i * n) as u128 * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced);
    for i in 0..8000i64 {
        let fields = vec![
            ("app", Field::Str(["a", "b", "c"][(i * i % 3) as usize].into())),
            ("one", Field::Str(text(i, 3))),
            ("two", if i % 3 > 0 { Field::Str(text(i, 7)) } else { Field::None }),
            ("same", Field::SameAsMessage),
            ("filling", Field::Str(filling.clone())),
        ];
        rows.add(i * 1_000_003 + i * i % 999, Level::Info, &text(i, 5), fields);
    }
    for unordered in [false, true] {
        for names in
            [&["one"][..], &["two"], &["same"], &["_msg", "_time"], &["app"], &["_stream", "two"], &[]]
        {
            let mut chunks = columnar_common::Chunks::default();
            let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
            let encoded = encoder.encode(&rows.rows(), &mut chunks).unwrap();
            let filters = encoded.write_filter(&mut chunks).unwrap();
            let chunks = std::sync::Arc::new(chunks);
            let block = TableBlock::open(chunks.clone(), encoded.directory, &filters).unwrap();
            let block = if unordered { block.unordered() } else { block };
            let read_since = || std::mem::take(&mut *chunks.reads.lock().unwrap());
            let asked_since = || std::mem::take(&mut *chunks.asked.lock().unwrap());
            read_since();
            block.will_read(&|name| names.contains(&name));
            let asked = asked_since();
            assert_eq!(
                (read_since(), asked.is_empty()),
                (vec![], unordered && names.is_empty()),
                "{names:?}"
            );
            for name in names {
                match *name {
                    "_time" => assert_eq!(block.times().unwrap().len(), 8000),
                    name => assert!(block.column(name).unwrap().is_some(), "{name}"),
                }
            }
            let mut read = read_since();
            read.sort_unstable();
            read.dedup();
            assert!(asked.len() < chunks.chunks.len() / 2, "{names:?}: {asked:?}");
            assert!(read.iter().all(|chunk| asked.contains(chunk)), "{names:?}: {read:?} without {asked:?}");
            block.will_read(&|name| names.contains(&name));
            let again = asked_since();
            assert!(again.iter().all(|chunk| !read.contains(chunk)), "{names:?}: {again:?} after {read:?}");
        }
    }
}

#[test]
fn wrong_rows_are_refused() {
    let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
    let mut sink = columnar_common::Chunks::default();
    assert!(encoder.encode(&[], &mut sink).is_err());
    assert!(MemoryBlock::build(&[]).is_err());
    let mut rows = Rows::new(&[]);
    rows.add(5, Level::Info, "later", vec![]);
    rows.add(4, Level::Info, "earlier", vec![]);
    let rows: Vec<Row<'_>> = rows.rows();
    assert!(encoder.encode(&rows, &mut sink).unwrap_err().to_string().contains("order"));
    assert!(encoder.encode(&rows[1..], &mut sink).is_ok(), "an encoder works on after an error");
}

#[test]
fn the_largest_block_a_store_cuts_comes_back_and_a_larger_one_is_refused() {
    let mebibyte: String =
        (0u64..1 << 16).map(|i| format!("{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut rows = Rows::new(&[]);
    for i in 0..16 {
        rows.add(i, Level::Info, &mebibyte, vec![]);
    }
    let largest = mebibyte.repeat(31);
    rows.add(16, Level::Info, &largest, vec![]);
    let message = encode(&rows).column("_msg").unwrap().unwrap();
    let mut digits = IntText::default();
    assert!((0..16).all(|row| message.text(row, &mut digits) == Some(&*mebibyte)));
    assert!(message.text(16, &mut digits) == Some(&*largest));
    for i in 17..19 {
        rows.add(i, Level::Info, &largest, vec![]);
    }
    let rows = rows.rows();
    let mut encoder = BlockEncoder::new(EncodeOptions::default()).unwrap();
    let error = encoder.encode(&rows, &mut columnar_common::Chunks::default()).unwrap_err().to_string();
    assert!(error.contains("_msg") && error.contains("at most"), "{error}");
    assert_eq!(MemoryBlock::build(&rows).unwrap().rows(), 19, "what is not written has no such limit");
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        2 => Just(Field::None),
        1 => Just(Field::SameAsMessage),
        2 => (-3i64..300).prop_map(Field::Int),
        1 => any::<i64>().prop_map(Field::Int),
        1 => any::<bool>().prop_map(Field::Bool),
        1 => any::<f64>().prop_map(Field::Float),
        1 => Just(Field::Null),
        2 => "[a-c]{0,2}[0-9]{0,3}".prop_map(Field::Str),
        1 => "\\PC{0,12}".prop_map(Field::Str),
        1 => "[1-9][0-9]{0,3}\\.[0-9]{1,4}".prop_map(Field::Number),
        1 => "(10|20)\\.[0-9]{1,3}\\.0\\.1".prop_map(Field::Str),
        1 => "2024-0[1-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:00(\\.[0-9]{3})?Z?".prop_map(Field::Str),
    ]
}

fn message() -> impl Strategy<Value = String> {
    prop_oneof![
        "(user [a-z]{3}|took) [0-9]{1,3}(ms|\\.[0-9]{2}s)? from 10\\.0\\.0\\.[0-9]{1,2}(:[0-9]{2})?",
        "\\PC{0,30}",
        "([a-c0-9]{1,4}[-.:/ _é\u{11}\u{12}]){0,6}",
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rows_come_back(
        rows in proptest::collection::vec((0i64..1_000_000_000_000, 0u8..7, message(), proptest::collection::vec((0usize..6, field()), 0..8)), 1..120),
        streams in 0usize..3,
    ) {
        let mut sorted = rows;
        sorted.sort_by_key(|r| r.0);
        let names = ["a", "b", "c", "level", "app", "_msg2"];
        let mut out = Rows::new(&["app", "b"][..streams]);
        for (time, level, message, fields) in sorted {
            let fields = fields.into_iter().map(|(i, f)| (names[i], f)).collect();
            out.add(time, Level::from_u8(level).unwrap(), &message, fields);
        }
        check(&out);
    }

    #[test]
    fn messages_of_few_shapes_come_back(
        rows in proptest::collection::vec((0i64..1000, 0usize..5, "[a-z0-9]{1,3}", 0i64..100_000, field()), 20..200),
    ) {
        let mut out = Rows::new(&["app"]);
        for (i, (ms, shape, word, n, field)) in (0..).zip(rows) {
            let message = match shape {
                0 => format!("2024-02-28 23:{:02}:{:02},{ms:03} user {word} did {n}", i / 60, i % 60),
                1 => format!("1709164{i:03}.{ms:03} took {n}.{ms}s: {word}"),
                2 => format!("id={n:08x}{n:08X} ip=10.0.{}.{}:{ms} -{n}- {word}", n % 256, n / 256),
                3 => format!("{word} Feb 28 {:02}:10:{:02} x\u{11}{n}", i / 60, i % 60),
                _ => format!("{word}\u{e9}{n} \u{e9}-1. 12:{ms}:{word} [{n}]"),
            };
            let fields = vec![
                ("word", Field::Str(word)),
                ("n", if n % 5 == 0 { Field::Str(format!("{n}")) } else { Field::Int(n) }),
                ("text", Field::Str(message.chars().skip(10).collect()).only_if(shape < 3)),
                ("any", field),
                ("app", Field::Int(n % 2)),
            ];
            out.add(1_709_164_000_000_000_000 + i * 1_000_000_000, Level::Warn, &message, fields);
        }
        check(&out);
    }

    #[test]
    fn damaged_logs_do_not_panic(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), scatter in 0i64..50) {
        columnar_common::read_damaged(&access_log(120, scatter), &flips);
    }

    #[test]
    fn damaged_blocks_do_not_panic(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), seed in 0i64..50) {
        let mut rows = Rows::new(&["app"]);
        for i in 0..80 {
            let n = (i * 7919 + seed) % 1009;
            rows.add(i * 1_000_000_000, Level::Info, &format!("00:{:02}:{:02} request {n} from 10.0.0.{} took {}.{:03}s", i / 60, i % 60, n % 250, n % 9, n), vec![
                ("app", Field::Int(n % 2)),
                ("n", Field::Int(n)),
                ("ip", Field::Str(format!("10.0.0.{}", n % 250))),
                ("text", Field::Str(format!("t{n}"))),
                ("odd", if n % 3 == 0 { Field::Bool(true) } else { Field::None }),
                ("same", Field::SameAsMessage),
            ]);
        }
        columnar_common::read_damaged(&rows, &flips);
    }
}
