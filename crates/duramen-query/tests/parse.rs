//! From text to plan: what is read as what, and what errors say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_query::{ParseOptions, Query};
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;

/// 2024-05-17T12:00:00Z
const NOW: i64 = 1_715_947_200_000_000_000;

fn options() -> ParseOptions {
    ParseOptions { now_ns: NOW, timezone: TimeZone::UTC }
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
        ("f:in(b, \"a c\", b)", "f:in(\"a c\", b)"),
        ("f:\"\" f:* f:''*", "f:\"\" f:* f:*"),
        ("i(Error) f:i(\"a b\"*)", "i(Error) f:i(\"a b\"*)"),
        ("~\"a\\d\"", "~\"a\\\\d\""),
        ("level:ERR level:=ERR level:>=warn", "level:ERR level:=ERR level:>=warn"),
        ("_stream:{app=\"x\", host=~'y.*'}", "{app=\"x\",host=~\"y.*\"}"),
        ("{a!=\"b\" or c in (\"d\") ,}", "{a!=\"b\" or c in(\"d\")}"),
        ("in range f:in", "\"in\" \"range\" f:\"in\""),
        ("/api/v1 10.0.0.1 50% web-1 a@b#c", "/api/v1 10.0.0.1 50% web-1 a@b#c"),
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
            "a | stats by (app) count() as errors, max(duration) as \"max(duration)\"",
        ),
        ("a | count()", "a | stats count() as \"count()\""),
        (
            "a | stats by (_time:5m, n:10) quantile(0.99, x) p99",
            "a | stats by (_time:300000000000ns, n:10) quantile(0.99, x) as p99",
        ),
        ("a | stats count_uniq(x) limit 5 as n | n:>3", "a | stats count_uniq(x) limit 5 as n | filter n:>3"),
        ("a | top by (x)", "a | top 10 by (x)"),
        ("a | top 3 by (x) hits as n rank", "a | top 3 by (x) hits as n rank as \"rank\""),
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
        (">2024-01-02", ns("2024-01-03T00:00:00Z"), i64::MAX),
        (">=2024-01-02", ns("2024-01-02T00:00:00Z"), i64::MAX),
        ("<2024-01-02", i64::MIN, before("2024-01-02T00:00:00Z")),
        ("<=2024-01-02", i64::MIN, before("2024-01-03T00:00:00Z")),
        ("[2024-01-01, 2024-01-31]", ns("2024-01-01T00:00:00Z"), before("2024-02-01T00:00:00Z")),
        ("[2024-01-01,2024-02-01)", ns("2024-01-01T00:00:00Z"), before("2024-02-01T00:00:00Z")),
        ("(2024-01-01, 2024-02-01)", ns("2024-01-02T00:00:00Z"), before("2024-02-01T00:00:00Z")),
        ("[now-1h, now]", NOW - 60 * minute, NOW),
        ("[1700000000, 1700000001]", 1_700_000_000_000_000_000, 1_700_000_001_999_999_999),
        ("'2024-01-02 03:04'", ns("2024-01-02T03:04:00Z"), before("2024-01-02T03:05:00Z")),
    ] {
        let query = Query::parse(&format!("_time:{text} error | limit 1"), &options());
        let query = query.unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(query.time_range(), (from, to), "{text}");
        assert!(query.to_string().ends_with(" error | limit 1"), "{query}");
    }
    let east = ParseOptions { now_ns: NOW, timezone: TimeZone::fixed(Offset::from_seconds(7200).unwrap()) };
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
fn errors_point_at_the_place() {
    for (text, position, says) in [
        ("", 0, "empty"),
        ("(a or b", 7, "expected `)`"),
        ("a or", 4, "expected a filter"),
        ("app:", 4, "expected a value for the field `app`"),
        ("a \"b", 2, "not closed"),
        ("app:x:y", 5, "bare value cannot hold `:`"),
        ("a | lmit 5", 4, "unknown pipe `lmit`"),
        ("a | limit x", 10, "expected a number of rows"),
        ("a | stats foo(x)", 10, "unknown function `foo`"),
        ("a | stats sum()", 10, "sum needs a field"),
        ("a | stats quantile(2, x)", 19, "no share"),
        ("a | stats count() n, sum(x) n", 21, "two results named `n`"),
        ("a | sort x", 9, "expected `by (field, …)`"),
        ("_time:yesterday", 6, "`yesterday` is not a time"),
        ("_time:[2024-01, x)", 16, "`x` is not a time"),
        ("_time:2024-13", 6, "not a time"),
        ("f:range(1, x)", 11, "expected a number"),
        ("~\"(\"", 1, "not a regular expression"),
        ("{app}", 4, "expected `=`"),
        ("a) b", 1, "expected `|`"),
        ("a | stats by (_time:0s) count()", 20, "no size of a time bucket"),
        ("é \"", 3, "not closed"),
    ] {
        let error = Query::parse(text, &options()).expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
        assert!(error.message.contains(says), "{text}: {error}");
    }
    let error = Query::parse("first\n  app: | x", &options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a value for the field `app`, found `|`\n    app: | x\n         ^ write app:value, app:\"a phrase\" or app:* for any value"
    );
}

#[test]
fn depth_is_limited_not_the_stack() {
    for (open, close) in [("(", ")"), ("f:(", ")"), ("!(", ")")] {
        let deep = format!("{}x{}", open.repeat(50_000), close.repeat(50_000));
        let error = Query::parse(&deep, &options()).unwrap_err();
        assert!(error.message.contains("nested"), "{error}");
        assert!(error.to_string().len() < 400, "{error}");
    }
    let deep = format!("f:{}x", "!".repeat(50_000));
    assert!(Query::parse(&deep, &options()).unwrap_err().message.contains("nested"));
    assert_eq!(canonical(&format!("{}x", "!".repeat(100_001))), "!x");
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
        "with hits", "desc", "filter", "now", "1e400", "9223372036854775807", "-9223372036854775808", "99999y", "month",
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
