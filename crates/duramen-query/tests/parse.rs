//! From text to plan: what is read as what, and what errors say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_query::{ParseOptions, Query};
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;

/// 2024-05-17T12:00:00Z
const NOW: i64 = 1_715_947_200_000_000_000;

fn options() -> ParseOptions {
    ParseOptions { now_ns: NOW, ..ParseOptions::default() }
}

fn canonical(text: &str) -> String {
    Query::parse(text, &options()).unwrap_or_else(|e| panic!("{text}\n{e}")).to_string()
}

#[test]
fn every_spelling_has_one_plan() {
    for (text, plan) in [
        ("error", "error"),
        ("_msg:error", "error"),
        ("error AND (file app)", "error file app"),
        ("a or b and c", "a or (b c)"),
        ("NOT info OR debug", "!info or debug"),
        ("-a !b not not c", "!a !b c"),
        ("(a)!b {c=\"d\"}e i(f)!g h* !j", "a !b {c=\"d\"} e i(f) !g h* !j"),
        ("a and!b (c)and\"d e\" f or!g \"h\"and~\"x\"", "(a !b c \"d e\" f) or (!g h ~\"x\")"),
        ("-\"a b\" -(a or b) -f:x", "!\"a b\" !(a or b) !f:x"),
        ("'single' `back\\`", "single back\\"),
        ("foo* \"foo bar\"*", "foo* \"foo bar\"*"),
        ("* x", "x"),
        ("f:(a or =b -c)", "f:a or (f:=b !f:c)"),
        ("f:!a f:-a f:-5", "!f:a !f:a f:\"-5\""),
        ("f:=\"v\" f:=v* =m", "f:=v f:=v* =m"),
        ("f=\"v\" f!=v f>=5 f=~x", "f:=v !f:=v f:>=5 f:~\"x\""),
        ("f:>10 f:>=1.5 f:<5KB f:<=-3", "f:>10 f:>=1.5 f:<5000 f:<=-3"),
        ("f:>John", "f:>John"),
        ("level:<1e400 level:>=INF f:<Inf", "level:<1e999 level:>=INF f:<1e999"),
        (
            "_time>=1970-01-01 _time!=1970-01-01T00Z",
            "_time:[1970-01-01T00:00:00.000000000Z, 2262-04-11T23:47:16.854775807Z] !_time:[1970-01-01T00:00:00.000000000Z, 1970-01-01T00:59:59.999999999Z]",
        ),
        ("f:range(1, 10] f:range[-Inf,5)", "f:range(1, 10] f:<5"),
        ("f:range(inf, 10] f:range[0x10, 0b11]", "f:range(0, 0) f:range[16, 3]"),
        ("f:>=0xff len_range(1KiB, inf)", "f:>=255 len_range(1024, inf)"),
        (
            "f:>'2024-05-17T11:50:00+02:00' f:range['2024-01-01T00:00:00Z', Inf]",
            "f:>\"2024-05-17T09:50:00Z\" f:>=\"2024-01-01T00:00:00Z\"",
        ),
        ("f:range(10.0.0.1, 10.0.0.9]", "f:ipv4_range(10.0.0.2, 10.0.0.9)"),
        ("f:exact(\"a b\") f:exact(\"a \"*) f:re(\"a+\")", "f:=\"a b\" f:=\"a \"* f:~\"a+\""),
        ("f:not(a or b) f:not c", "!(f:a or f:b) !f:c"),
        ("f:in(b, \"a c\", b)", "f:in(\"a c\", b)"),
        ("f:\"\" f:* f:''*", "f:\"\" f:* f:*"),
        ("i(Error) f:i(\"a b\"*)", "i(Error) f:i(\"a b\"*)"),
        ("~\"a\\d\"", "~\"a\\\\d\""),
        ("level:ERR level:=ERR level:>=warn", "level:ERR level:=ERR level:>=warn"),
        ("_stream:{app=\"x\", host=~'y.*'}", "{app=\"x\",host=~\"y.*\"}"),
        ("{a!=\"b\" or c in (\"d\") ,}", "{a!=\"b\" or c in(\"d\")}"),
        ("in range f:in", "\"in\" \"range\" f:\"in\""),
        ("/api/v1 10.0.0.1 50% web-1 a@b", "/api/v1 10.0.0.1 50% web-1 a@b"),
        ("a # the rest\n| limit 5 # is silence", "a | limit 5"),
        ("a | filter b | where c", "a b c"),
        ("a | head | skip 3", "a | limit 10 | offset 3"),
        ("a | limit 1_000", "a | limit 1000"),
        (
            "a | keep x, y* | drop z | mv a as b | cp c d",
            "a | fields x, y* | delete z | rename a as b | copy c as d",
        ),
        ("a | sort (x, y desc) desc limit 3 offset 2", "a | sort by (x desc, y) offset 2 limit 3"),
        ("a | order by _time desc", "a | sort by (_time desc)"),
        (
            "a | stats by (app) count() errors, max(duration)",
            "a | stats by (app) count(*) as errors, max(duration) as \"max(duration)\"",
        ),
        ("a | count()", "a | stats count(*) as \"count(*)\""),
        (
            "a | stats by (_time:5m, n:10) quantile(0.99, x) p99",
            "a | stats by (_time:300000000000ns, n:10) quantile(0.99, x) as p99",
        ),
        ("a | stats count_uniq(x) limit 5 as n | n:>3", "a | stats count_uniq(x) limit 5 as n | filter n:>3"),
        ("a | uniq(x) | by (x) max(n) m", "a | uniq by (x) | stats by (x) max(n) as m"),
        ("a | top by (x)", "a | top 10 by (x)"),
        ("a | top by ('hits', hitss)", "a | top 10 by (\"hits\", hitss) hits as hitsss"),
        ("a | top 3 by (x) hits as n rank", "a | top 3 by (x) hits as n rank as \"rank\""),
        ("*ab* f:*\"a b\"* *:x us*:y", "*ab* f:*\"a b\"* *:x us*:y"),
        ("contains_all(a, \"b c\") f:contains_any(x)", "contains_all(a, \"b c\") f:contains_any(x)"),
        ("in(*) f:contains_any(*) a", "a"),
        ("f:equals_common_case(aB)", "f:in(AB, aB, ab)"),
        ("seq(a, 'b c') f:seq()", "seq(a, \"b c\") f:seq()"),
        (
            "f:ipv4_range(10.0.0.0/30) f:ipv4_range(1.2.3.4, 1.2.3.9)",
            "f:ipv4_range(10.0.0.0, 10.0.0.3) f:ipv4_range(1.2.3.4, 1.2.3.9)",
        ),
        ("f:ipv6_range('2001:db8::/126')", "f:ipv6_range(\"2001:db8::\", \"2001:db8::3\")"),
        ("f:>1.2.3.4 f:<=1.2.3.4", "f:ipv4_range(1.2.3.5, 255.255.255.255) f:ipv4_range(0.0.0.0, 1.2.3.4)"),
        ("f:string_range(a, c) len_range(0x10, inf)", "f:string_range(a, c) len_range(16, inf)"),
        ("a:eq_field(b) a:le_field(b) a:lt_field('b c')", "a:eq_field(b) a:le_field(b) a:lt_field(\"b c\")"),
        ("f:value_type(DICT)", "f:value_type(dict)"),
        (
            "pattern_match('<N> ms') f:pattern_match_full(x)",
            "pattern_match(\"<N> ms\") f:pattern_match_full(\"x\")",
        ),
        ("_time:day_range[08:00, 18:30) offset 2h", "_time:day_range[08:00, 18:30) offset 7200000000000ns"),
        ("_time:week_range(Sun, saturday]", "_time:week_range(Sunday, Saturday]"),
        (
            "u:in(_time:2024Z a | fields u) b",
            "u:in(_time:[2024-01-01T00:00:00.000000000Z, 2024-12-31T23:59:59.999999999Z] a | fields u) b",
        ),
        (
            "u:contains_any(a | uniq by (u)) | union (b | limit 1)",
            "u:contains_any(a | uniq by (u)) | union (b | limit 1)",
        ),
        ("options(concurrency=2) a", "options(concurrency=2) a"),
        (
            "options(time_offset=1h, ignore_global_time_filter=true) _time:2024-01-01T01Z",
            "_time:[2024-01-01T00:00:00.000000000Z, 2024-01-01T00:59:59.999999999Z] | time_add 3600000000000ns",
        ),
        ("a | first 3 by (x desc)", "a | sort by (x desc) limit 3"),
        ("a | last 3 by (x) partition by (y)", "a | sort by (x desc) partition by (y) limit 3"),
        (
            "a | sort by (x) partition by (y, z) limit 2 rank",
            "a | sort by (x) partition by (y, z) limit 2 rank as \"rank\"",
        ),
        ("a | rename x* as *, y z | cp * as b.*", "a | rename x* as *, y as z | copy * as b.*"),
        (
            "a | extract if (b:x) 'u=<u> &lt;<_>' from f keep_original_fields",
            "a | extract if (b:x) \"u=<u> &lt;<_>\" from f keep_original_fields",
        ),
        (
            "a | extract_regexp '(?P<ip>\\d+)' skip_empty_results",
            "a | extract_regexp \"(?P<ip>\\\\d+)\" skip_empty_results",
        ),
        ("a | format '<q:x>' as y | format z", "a | format \"<q:x>\" as y | format \"z\""),
        (
            "a | replace (b, '') at f limit 1 | replace_regexp if (x) ('(a)', $1)",
            "a | replace (\"b\", \"\") at f limit 1 | replace_regexp if (x) (\"(a)\", \"$1\")",
        ),
        (
            "a | unpack_words f as w drop_duplicates | unpack_words",
            "a | unpack_words from f as w drop_duplicates | unpack_words",
        ),
        ("a | split , from f | split ' ' as x", "a | split \",\" from f | split \" \" as x"),
        (
            "a | len(x) n | hash(x) | json_array_len (x) as y",
            "a | len(x) as n | hash(x) as _msg | json_array_len(x) as y",
        ),
        (
            "a | pack_json fields (x, y*) as z | pack_logfmt",
            "a | pack_json fields (x, y*) as z | pack_logfmt",
        ),
        (
            "a | stats by (ip:/24) count() if (x or y) n, rate(), row_max(x, y*) m, json_values() sort by (x desc) limit 3 j",
            "a | stats by (ip:/24) count(*) if (x or y) as n, rate() as \"rate()\", row_max(x, y*) as m, json_values(*) sort by (x desc) limit 3 as j",
        ),
        (
            "a | count(*), sum(x*), row_any(), values(x) limit 2, any(y), stddev(z), histogram(z)",
            "a | stats count(*) as \"count(*)\", sum(x*) as \"sum(x*)\", row_any(*) as \"row_any(*)\", values(x) limit 2 as \"values(x) limit 2\", any(y) as \"any(y)\", stddev(z) as \"stddev(z)\", histogram(z) as \"histogram(z)\"",
        ),
        (
            "a | stats by (n:10.5 offset 3, size:1KiB offset 1KB) count() m",
            "a | stats by (n:10.5 offset 3, size:1024 offset 1000) count(*) as m",
        ),
        ("a | top x", "a | top 10 by (x)"),
        ("a | top 3 x, y rank r hits h", "a | top 3 by (x, y) hits as h rank as r"),
        ("a | uniq x, y with hits limit 2", "a | uniq by (x, y) with hits limit 2"),
        ("a | len x n | hash y h", "a | len(x) as n | hash(y) as h"),
        (
            "a | math a+b*2 x, -y^2, round(a-b, 0.1) as z",
            "a | math a + b * 2 as x, -y ^ 2 as \"-y ^ 2\", round(a - b, 0.1) as z",
        ),
        (
            "a | eval (1 default -2) ^ 'b c' d, now() e",
            "a | math (1 default -2) ^ \"b c\" as d, 1715947200000000000 as e",
        ),
        (
            "a | math 10 - 3 - 2 x, 2 ^ 3 ^ 2 y, 1 or 2 & 3 z",
            "a | math 10 - 3 - 2 as x, 2 ^ 3 ^ 2 as y, 1 or 2 & 3 as z",
        ),
        (
            "a | unpack_json from x fields (y, z*) result_prefix p_ keep_original_fields",
            "a | unpack_json from x fields (y, z*) result_prefix \"p_\" keep_original_fields",
        ),
        (
            "a | unpack_logfmt if (b) | unpack_syslog offset 1h",
            "a | unpack_logfmt if (b) | unpack_syslog offset 3600000000000ns",
        ),
        (
            "a | unroll if (b) by (x, y) | unroll z | sample 10",
            "a | unroll if (b) (x, y) | unroll (z) | sample 10",
        ),
        (
            "a | join by (x) (b | limit 1) inner prefix p. | drop_empty_fields",
            "a | join by (x) (b | limit 1) inner prefix \"p.\" | drop_empty_fields",
        ),
        (
            "a | collapse_nums if (x) at y prettify | decolorize | decolorize z",
            "a | collapse_nums if (x) at y prettify | decolorize | decolorize z",
        ),
        (
            "a | set_stream_fields x, y* | running_stats by (x) sum(y) z | total_stats count()",
            "a | set_stream_fields x, y* | running_stats by (x) sum(y) as z | total_stats count(*) as \"count(*)\"",
        ),
        (
            "a | field_names | field_values x limit 3 | facets",
            "a | field_names | uniq by (x) with hits limit 3 | facets 10",
        ),
        (
            "a | facets 3 max_value_len 5 max_values_per_field 7 keep_const_fields",
            "a | facets 3 max_values_per_field 7 max_value_len 5 keep_const_fields",
        ),
        ("a | blocks_count n | query_stats", "a | blocks_count as n | query_stats"),
        ("a | filter b | block_stats", "a b | block_stats"),
        (
            "a | stream_context before 1 after 2 time_window 1m",
            "a | stream_context before 1 after 2 time_window 60000000000ns",
        ),
        ("a | uniq by (x, y) with hits limit 5", "a | uniq by (x, y) with hits limit 5"),
    ] {
        assert_eq!(canonical(text), plan, "{text}");
        assert_eq!(canonical(plan), plan);
    }
}

fn ns(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_nanosecond() as i64
}

#[test]
fn times() {
    let before = |text: &str| ns(text) - 1;
    let minute = 60_000_000_000;
    for (text, from, to) in [
        ("5m", NOW - 5 * minute + 1, NOW),
        ("1h30m", NOW - 90 * minute + 1, NOW),
        (">5m", i64::MIN, NOW - 5 * minute - 1),
        ("5m offset 1h", NOW - 65 * minute + 1, NOW - 60 * minute),
        ("offset 1h", i64::MIN, NOW - 60 * minute),
        ("2024Z", ns("2024-01-01T00:00:00Z"), before("2025-01-01T00:00:00Z")),
        ("2024-02", ns("2024-02-01T00:00:00Z"), before("2024-03-01T00:00:00Z")),
        ("2024-01-02", ns("2024-01-02T00:00:00Z"), before("2024-01-03T00:00:00Z")),
        ("2024-01-02T03", ns("2024-01-02T03:00:00Z"), before("2024-01-02T04:00:00Z")),
        ("2024-01-02T03:04Z", ns("2024-01-02T03:04:00Z"), before("2024-01-02T03:05:00Z")),
        ("2024-01-02T03:04:05Z", ns("2024-01-02T03:04:05Z"), before("2024-01-02T03:04:06Z")),
        ("2024-01-02T03:04:05.12Z", ns("2024-01-02T03:04:05.12Z"), before("2024-01-02T03:04:05.13Z")),
        ("2024-01-02+05:30", ns("2024-01-01T18:30:00Z"), before("2024-01-02T18:30:00Z")),
        ("2023-02-07:00", ns("2023-02-01T07:00:00Z"), before("2023-03-01T07:00:00Z")),
        (">2024-01-02", ns("2024-01-02T00:00:00Z") + 1, i64::MAX),
        (">2024-01-02T03:04:05Z", ns("2024-01-02T03:04:05Z") + 1, i64::MAX),
        (">=2024-01-02", ns("2024-01-02T00:00:00Z"), i64::MAX),
        ("<2024-01-02", i64::MIN, before("2024-01-02T00:00:00Z")),
        ("<=2024-01-02", i64::MIN, before("2024-01-03T00:00:00Z")),
        ("[2024-01-01, 2024-01-31]", ns("2024-01-01T00:00:00Z"), before("2024-02-01T00:00:00Z")),
        ("[2024-01-01,2024-02-01)", ns("2024-01-01T00:00:00Z"), before("2024-02-01T00:00:00Z")),
        ("(2024-01-01, 2024-02-01)", ns("2024-01-01T00:00:00Z") + 1, before("2024-02-01T00:00:00Z")),
        ("[now-1h, now]", NOW - 60 * minute, NOW),
        ("[1700000000, 1700000001]", 1_700_000_000_000_000_000, 1_700_000_001_000_000_000),
        ("'2024-01-02 03:04'", ns("2024-01-02T03:04:00Z"), before("2024-01-02T03:05:00Z")),
    ] {
        let query = Query::parse(&format!("_time:{text} error | limit 1"), &options());
        let query = query.unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(query.time_range(), (from, to), "{text}");
        assert!(query.to_string().ends_with(" error | limit 1"), "{query}");
    }
    let timezone = TimeZone::fixed(Offset::from_seconds(7200).unwrap());
    let east = ParseOptions { timezone, ..options() };
    let query = Query::parse("_time:2024-01-02", &east).unwrap();
    assert_eq!(query.time_range().0, ns("2024-01-01T22:00:00Z"));
    let range = |text: &str| Query::parse(text, &options()).unwrap().time_range();
    assert_eq!(range("a or _time:2024"), (i64::MIN, i64::MAX));
    assert_eq!(
        range("(_time:2023 a) or _time:2024"),
        (ns("2023-01-01T00:00:00Z"), before("2025-01-01T00:00:00Z"))
    );
    assert_eq!(range("_time:>=2024 _time:<2025").1, before("2025-01-01T00:00:00Z"));
}

#[test]
fn a_range_from_outside_holds_for_queries_inside() {
    let within = Some(duramen_query::filter::time::TimeRange { min: 10, max: 20 });
    let options = ParseOptions { within, ..options() };
    let range = |text: &str| Query::parse(text, &options).unwrap().time_range();
    assert_eq!(range("a u:in(b | fields u)"), (10, 20));
    assert_eq!(range("a u:in(options(ignore_global_time_filter=true) b | fields u)"), (i64::MIN, i64::MAX));
    // Entries are looked for where any of the queries looks.
    let outside = "_time:[1970-01-01T00:00:01Z, 1970-01-01T00:00:02Z) | union (_time:1970-01-01T00:00:05Z)";
    let range = Query::parse(outside, &ParseOptions::default()).unwrap().time_range();
    assert_eq!(range, (1_000_000_000, 5_999_999_999));
    let around = "_time:1970-01-01T00:00:10Z | stream_context before 1 time_window 3s";
    let range = Query::parse(around, &ParseOptions::default()).unwrap().time_range();
    assert_eq!(range, (7_000_000_000, 13_999_999_999));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}") {
        check(&text)?;
    }

    #[test]
    fn nor_what_is_nearly_a_query(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "a", "app", "_time", "level", "error", ":", ":", "(", ")", "[", "]", "{", "}", "|", ",", "=", "~", "!", "<", ">",
        "*", "\"", "'", "`", " ", " ", "-", "#", "\n", "and", "or", "not", "in", "i", "range", "stats", "by", "count()", "sum(x)",
        "top", "uniq", "sort", "limit", "5", "5m", "2024-01", "offset", "as", "fields", "é", "\\", "x1\"", "Inf", "quantile(0.5, x)",
        "with hits", "desc", "seq(", "contains_any(", "contains_all(a", "ipv4_range(", "10.0.0.0/8", "string_range(", "len_range(",
        "eq_field(", "value_type(dict)", "pattern_match(", "_time:day_range[08:00,", "week_range(Mon,", "in(x | fields y)", "union (",
        "options(", "concurrency=", "time_offset=1h", "if (", "first 3", "partition by (", "rank", "time_add 1h", "*ab*", "* as", "rename", "extract", "format", "replace (",
        "unpack_words", "split", "len(", "pack_json", "keep_original_fields", "<x>", "math", "+", "^", "round(", "default", "unpack_json", "unroll", "join by (x)", "collapse_nums",
        "total_stats", "row_max(x)", "json_values()", "x*", "/24", "facets", "field_names", "stream_context before 1", "blocks_count", "query_stats", "inner", "prefix", "prettify", "'<x>&lt;'", "from", "at", "filter", "now", "1e400", "9223372036854775807", "-9223372036854775808", "99999y", "month",
    ]), 0..16)) {
        check(&pieces.concat())?;
        check(&pieces.join(" "))?;
    }
}

/// Parses or not, but does not panic; and what is printed reads back as the same plan.
fn check(text: &str) -> Result<(), TestCaseError> {
    match Query::parse(text, &options()) {
        Ok(query) => {
            let printed = query.to_string();
            let again = Query::parse(&printed, &options());
            prop_assert_eq!(again.as_ref(), Ok(&query), "{} printed as {}", text, printed);
            prop_assert!(!query.explain().is_empty());
        }
        Err(e) => {
            prop_assert!(text.is_char_boundary(e.position));
            prop_assert!(e.to_string().contains('^'));
        }
    }
    Ok(())
}
