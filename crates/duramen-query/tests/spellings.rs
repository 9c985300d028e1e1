//! Other spellings of what there is, most of them those of VictoriaLogs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_query::{ParseOptions, Query};

/// 2024-05-17T12:00:00Z
const NOW: i64 = 1_715_947_200_000_000_000;

fn options() -> ParseOptions {
    ParseOptions { now_ns: NOW, ..ParseOptions::default() }
}

/// Checks that a text has a plan, and the plan, written out, itself.
fn check(spellings: &[(&str, &str)]) {
    for (text, plan) in spellings {
        let canonical =
            |text: &str| Query::parse(text, &options()).unwrap_or_else(|e| panic!("{text}\n{e}")).to_string();
        assert_eq!(canonical(text), *plan, "{text}");
        assert_eq!(canonical(plan), *plan);
    }
}

#[test]
fn functions_without_fields_are_of_all_fields() {
    check(&[
        (
            "a | sum() s, min(), quantile(0.9), median(), values() limit 3 v, rate_sum() r",
            "a | stats sum(*) as s, min(*) as \"min(*)\", quantile(0.9) as \"quantile(0.9)\", median(*) as \"median(*)\", values(*) limit 3 as v, rate_sum(*) as r",
        ),
        ("a | quantile(0.9, *) q, row_max(x) m", "a | stats quantile(0.9) as q, row_max(x) as m"),
        ("a | row_any(), json_values() j", "a | stats row_any(*) as \"row_any(*)\", json_values(*) as j"),
        ("a | count() if () n", "a | stats count(*) as n"),
    ]);
}

#[test]
fn words_of_pipes_may_be_left_out() {
    check(&[
        ("a | (x, y:10) count() n | (z)", "a | stats by (x, y:10) count(*) as n | filter z"),
        ("a | (x or y) | (count b)", "a (x or y) count b"),
        ("a | join on (x) (b)", "a | join by (x) (b)"),
        ("a | field_names as x | field_names name", "a | field_names as x | field_names"),
        ("a | field_values (x) limit 3", "a | uniq by (x) with hits limit 3"),
        ("a | top by x, y | uniq by x, y limit 2", "a | top 10 by (x, y) | uniq by (x, y) limit 2"),
        ("a | copy x* as y | mv * z", "a | copy x* as y | rename * as z"),
        (
            "a | unpack_json x fields (y) | unpack_logfmt x result_prefix p | unpack_syslog x offset 1h",
            "a | unpack_json from x fields (y) | unpack_logfmt from x result_prefix \"p\" | unpack_syslog from x offset 3600000000000ns",
        ),
        (
            "a | unpack_words x y drop_duplicates | split ' ' x y | split - x",
            "a | unpack_words from x as y drop_duplicates | split \" \" from x as y | split \"-\" from x",
        ),
        ("a | pack_json fields (x) z | pack_logfmt z", "a | pack_json fields (x) as z | pack_logfmt as z"),
    ]);
}

#[test]
fn bare_values_may_hold_colons() {
    check(&[
        ("f:a:b f:-a:b* f:!10:20 c", "f:\"a:b\" !f:\"a:b\"* !f:\"10:20\" c"),
        ("f:http://x/y f:=a:b =c:d*", "f:\"http://x/y\" f:=\"a:b\" =\"c:d\"*"),
        ("f:exact(a/b:c*) i(a:b)", "f:=\"a/b:c\"* i(\"a:b\")"),
        ("f:in(a:b, c) in(x:y)", "f:in(\"a:b\", c) in(\"x:y\")"),
        ("f:in(a:b c | fields x)", "f:in(a:b c | fields x)"),
        (
            "f:>2024-01-01T00:00:00Z f:range[2024-01-01T00:00:00Z, 2024-01-02T00:00:00Z)",
            "f:>\"2024-01-01T00:00:00Z\" f:range[\"2024-01-01T00:00:00Z\", \"2024-01-02T00:00:00Z\")",
        ),
        ("{a-q:w.z=b:c}", "{\"a-q:w.z\"=\"b:c\"}"),
    ]);
}

#[test]
fn bare_regular_expressions_may_hold_stars() {
    check(&[("f:~.* ~a*b f=~web:.*\\d c", "f:~\".*\" ~\"a*b\" f:~\"web:.*\\\\d\" c")]);
}

#[test]
fn selectors_may_take_any_value() {
    check(&[("{a in (*), b not_in (*)}", "{a=~\".*\",b!~\".*\"}")]);
}

#[test]
fn sizes_may_have_several_parts_as_durations_may() {
    check(&[
        ("f:>1MiB500KiB f:<=1h30m", "f:>1560576 f:<=5400000000000"),
        ("a | math b & 0xff c, 0b101 - d e", "a | math b & 255 as c, 5 - d as e"),
        ("len_range(1K2B, +InF) len_range(1, 2, )", "len_range(1002, inf) len_range(1, 2)"),
    ]);
}

#[test]
fn unix_times_may_have_fractions_and_are_instants_where_a_range_ends() {
    for (text, from, to) in [
        ("1700000000", 1_700_000_000_000_000_000, 1_700_000_000_999_999_999),
        ("1700000000.5", 1_700_000_000_500_000_000, 1_700_000_000_599_999_999),
        ("[1700000000, 1700000001]", 1_700_000_000_000_000_000, 1_700_000_001_000_000_000),
        ("[1700000000, \"1700000001\")", 1_700_000_000_000_000_000, 1_700_000_000_999_999_999),
        ("[1700000000.678,1700000001.679]", 1_700_000_000_678_000_000, 1_700_000_001_679_000_000),
        ("[1700000000678, 1700000001679]", 1_700_000_000_678_000_000, 1_700_000_001_679_000_000),
        ("<=1700000001", i64::MIN, 1_700_000_001_000_000_000),
        (">1700000000", 1_700_000_000_000_000_001, i64::MAX),
        ("=2h", NOW - 7_200_000_000_000 + 1, NOW),
        ("=1h offset 1h", NOW - 7_200_000_000_000 + 1, NOW - 3_600_000_000_000),
    ] {
        let query =
            Query::parse(&format!("_time:{text} error"), &options()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(query.time_range(), (from, to), "{text}");
    }
    for text in ["_time:-170000000.5", "_time:1700000000.", "_time:1700000000.5x", "_time:1700.5"] {
        assert!(Query::parse(text, &options()).is_err(), "{text}");
    }
}

#[test]
fn options_may_have_a_blank_before_them_and_nothing_in_them() {
    check(&[
        ("options (concurrency=2, ) a b", "options(concurrency=2) a b"),
        ("options () a", "a"),
        ("u:in(options (ignore_global_time_filter=1) b | fields u)", "u:in(b | fields u)"),
        ("options a \"options\" (b or c)", "\"options\" a \"options\" (b or c)"),
    ]);
    for text in ["options (a or b)", "options (concurrency=0) a", "x | union (options(a) b)"] {
        assert!(Query::parse(text, &options()).is_err(), "{text}");
    }
}

#[test]
fn a_comment_may_stand_directly_behind_a_token() {
    check(&[
        ("f:=Y#c", "f:=Y"),
        ("(m1)#foo\n b", "m1 b"),
        ("a:in(\"1\")#c", "a:in(1)"),
        ("a#b|c\n| count()#d", "a | stats count(*) as \"count(*)\""),
        ("a | math b#c\n + 1 as d | fields d#e", "a | math b + 1 as d | fields d"),
        ("#c\na _time:>=1970#d", "a _time:[1970-01-01T00:00:00.000000000Z, 2262-04-11T23:47:16.854775807Z]"),
        ("\"a#b\" 'c'#d", "\"a#b\" c"),
        // What a field is named that a line has twice.
        ("host#1:x issue#5#6 a:b:c#7", "host#1:x issue#5#6 a:\"b:c#7\""),
        ("a | fields host#1 | math n#2 + 1 as n#", "a | fields host#1 | math \"n#2\" + 1 as n"),
    ]);
}

#[test]
fn the_empty_name_is_the_message() {
    check(&[
        ("\"\":foo (:bar) ''=x f:(:in(b) a)", "foo bar =x in(b) f:a"),
        ("a | fields \"\", b | rename \"\" c", "a | fields _msg, b | rename _msg as c"),
        (
            "a | stats count('') '' | extract '<x>,' from ''",
            "a | stats count(_msg) as _msg | extract \"<x>,\"",
        ),
        (
            "a | len(x) | hash(x) as '' | json_array_len x",
            "a | len(x) as _msg | hash(x) as _msg | json_array_len(x) as _msg",
        ),
        (
            "a | math '' + 1 as x | format \"if\" as \"if\"",
            "a | math _msg + 1 as x | format \"if\" as \"if\"",
        ),
        ("a | delete \"\"* | fields \"b\"*", "a | delete * | fields b*"),
    ]);
}

#[test]
fn a_word_that_is_the_name_of_a_pipe_stands_between_quotes_where_a_filter_begins() {
    check(&[
        ("\"filter\" app:x", "\"filter\" app:x"),
        ("a limit", "a \"limit\""),
        ("(sort by)", "\"sort\" \"by\""),
        ("first", "\"first\""),
        (
            "last | filter drop | extract if (limit) '<x> '",
            "\"last\" \"drop\" | extract if (\"limit\") \"<x> \"",
        ),
        ("first:x or last=y limit* f:first", "first:x or (last:=y \"limit\"* f:\"first\")"),
        ("a | filter \"stats\" | rate(*)", "a \"stats\" | stats rate() as \"rate()\""),
    ]);
}
