//! What is a query, and what is said about what is none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_logql::LogQl;

#[test]
fn queries_are_written_in_one_way() {
    for (text, shown) in [
        ("{app=\"web\"}", "{app=\"web\"}"),
        ("{ app = `web` , host=~\"a.*\",}", "{app=\"web\", host=~\"a.*\"}"),
        ("{}", "{}"),
        ("({a=\"b\"}) |= `x` or `y` !~ \"z\"", "{a=\"b\"} |= \"x\" or \"y\" !~ \"z\""),
        ("{a=\"b\"} |> `<_> x` != ip(\"10.0.0.0/8\")", "{a=\"b\"} |> \"<_> x\" != ip(\"10.0.0.0/8\")"),
        (
            "{a=\"b\"}|json x=\"a.b[0]\", y|logfmt --strict",
            "{a=\"b\"} | json x=\"a.b[0]\", y=\"y\" | logfmt --strict",
        ),
        (
            "{a=\"b\"} | json | status >= 500 and took > 1s or size < 2KB, x=\"y\"",
            "{a=\"b\"} | json | ((status>=500 and took>1s) or (size<2000B and x=\"y\"))",
        ),
        (
            "{a=\"b\"} | x=\"1\" y!=\"2\" | drop a, b=\"c\" | keep d",
            "{a=\"b\"} | (x=\"1\" and y!=\"2\") | drop a, b=\"c\" | keep d",
        ),
        ("{a=\"b\"} | json != \"x\"", "{a=\"b\"} | json != \"x\""),
        (
            "{a=\"b\"} | line_format \"{{.x}}\" | label_format y=x, z=`{{.x}}`",
            "{a=\"b\"} | line_format \"{{.x}}\" | label_format y=x, z=\"{{.x}}\"",
        ),
        (
            "{a=\"b\"} | regexp `(?P<x>.)` | pattern `<y> z` | unpack | decolorize",
            "{a=\"b\"} | regexp \"(?P<x>.)\" | pattern \"<y> z\" | unpack | decolorize",
        ),
        // A comma, or nothing, takes all that is behind it; only `and` binds more than `or`.
        ("{} | a=`1`, b=`2` or c=`3`", "{} | (a=\"1\" and (b=\"2\" or c=\"3\"))"),
        ("{} | a=`1` b=`2` or c=`3`", "{} | (a=\"1\" and (b=\"2\" or c=\"3\"))"),
        ("{} | a=`1` AND b=`2` or c=`3`", "{} | ((a=\"1\" and b=\"2\") or c=\"3\")"),
        ("{} | a=`1` and b=`2`, c=`3` or d=`4`", "{} | (a=\"1\" and (b=\"2\" and (c=\"3\" or d=\"4\")))"),
        ("{} | a=`1` or b=`2`, c=`3` or d=`4`", "{} | (a=\"1\" or (b=\"2\" and (c=\"3\" or d=\"4\")))"),
        (
            "{} | foo=`bar` buzz!=`blip`, blop=~`boop` or fuzz==5",
            "{} | ((foo=\"bar\" and buzz!=\"blip\") and (blop=~\"boop\" or fuzz==5))",
        ),
        ("{} | a=`1`, (b=`2` or c=`3`), d=`4`", "{} | ((a=\"1\" and (b=\"2\" or c=\"3\")) and d=\"4\")"),
        ("RATE({a=\"b\"}[5m] |= `x`)", "rate({a=\"b\"} |= \"x\" [5m])"),
        ("rate({a=\"b\"}[90s] offset -1h)", "rate({a=\"b\"} [90s] offset -1h)"),
        (
            "sum by (x) (sum_over_time({a=\"b\"} | unwrap duration(took) | __error__=\"\" [1m]))",
            "sum by (x) (sum_over_time({a=\"b\"} | unwrap duration(took) | __error__=\"\" [1m]))",
        ),
        ("sum(rate({a=\"b\"}[1m])) by (k8s.pod)", "sum by (k8s_pod) (rate({a=\"b\"} [1m]))"),
        ("topk(3, count_over_time({a=\"b\"}[1m]))", "topk(3, count_over_time({a=\"b\"} [1m]))"),
        (
            "quantile_over_time(0.99, {a=\"b\"} | unwrap x [1m]) without (y)",
            "quantile_over_time(0.99, {a=\"b\"} | unwrap x [1m]) without (y)",
        ),
        ("1 + 2 * 3 ^ 2 ^ 2 - 4", "((1 + (2 * (3 ^ (2 ^ 2)))) - 4)"),
        ("vector(1)+vector(1)", "(vector(1) + vector(1))"),
        ("vector(1) > bool vector(2) or vector(3)", "((vector(1) > bool vector(2)) or vector(3))"),
        (
            "rate({a=\"b\"}[1m]) / on (x) group_left (y) rate({a=\"c\"}[1m])",
            "(rate({a=\"b\"} [1m]) / on (x) group_left (y) rate({a=\"c\"} [1m]))",
        ),
        (
            "label_replace(vector(1), \"a\", \"$1\", \"b\", \"(.*)\")",
            "label_replace(vector(1), \"a\", \"$1\", \"b\", \"(.*)\")",
        ),
        ("{a=\"b\"} # what it is\n |= `x`", "{a=\"b\"} |= \"x\""),
    ] {
        let query = LogQl::parse(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(query.to_string(), shown, "{text}");
        assert_eq!(LogQl::parse(shown).unwrap_or_else(|e| panic!("{shown}\n{e}")).to_string(), shown);
    }
}

#[test]
fn errors_say_where() {
    for (text, column, message) in [
        ("", 0, "the query is empty"),
        ("{app=\"web\"", 10, "expected `,` or `}`, found the end of the query"),
        ("{app}", 4, "expected `=`, `!=`, `=~` or `!~`, found `}`"),
        ("{app=web}", 5, "expected a text"),
        ("{app=~\"(\"}", 6, "unclosed group"),
        ("{app=~\")(\"}", 6, "unopened group"),
        ("{a=\"b\"} |= x", 11, "expected a text"),
        ("{a=\"b\"} | nonsense", 10, "no stage is called `nonsense`"),
        ("{a=\"b\"} | x = ", 14, "expected a number, a duration, a size or a text"),
        ("{a=\"b\"} | line_format \"{{.x\"", 22, "`}}` is missing"),
        ("{a=\"b\"} | regexp \"x\"", 17, "names no group"),
        ("{a=\"b\"} | pattern \"x\"", 18, "no place in it has a name"),
        ("{a=\"b\"} [5m]", 8, "a range belongs inside a function"),
        ("{a=\"b\"} | unwrap x", 10, "unwrap belongs inside a function"),
        ("rate({a=\"b\"})", 12, "expected a range"),
        ("rate({a=\"b\"}[0s])", 13, "longer than nothing"),
        ("rate({a=\"b\"}[5x])", 13, "neither a number nor a duration"),
        ("sum_over_time({a=\"b\"}[5m])", 0, "needs numbers"),
        ("count_over_time({a=\"b\"} | unwrap x [5m])", 0, "counts lines"),
        ("sum({a=\"b\"})", 4, "log lines are no number"),
        ("topk(rate({a=\"b\"}[1m]))", 5, "how many"),
        ("sum(1)", 4, "no series to aggregate"),
        ("nosuch({a=\"b\"}[1m])", 0, "no function is called `nosuch`"),
        ("1 +", 3, "expected a selector"),
        ("1 and 2", 2, "sets are of series"),
        ("absent_over_time({a=\"b\"}[1m]) by (a)", 30, "has one series"),
        ("sort by (a) (rate({a=\"b\"}[1m]))", 13, "sort has no groups"),
        ("sort_desc(rate({a=\"b\"}[1m])) without (a)", 10, "sort_desc has no groups"),
        ("1 + bool 2", 2, "bool belongs behind a comparison"),
        ("vector(x)", 7, "expected a number"),
        ("{a=\"b\"} | label_format x=y, x=z", 28, "only once"),
        ("{a=\"b\"} | label_format x=y, __error__=\"\"", 28, "cannot be given a value"),
        ("{a=\"b\"} | json x=\"a..b\"", 17, "a name is missing"),
        ("{a=\"b\"} }", 8, "expected `|` and a stage"),
        ("rate({a=\"b\"} | unwrap x | json [1m])", 26, "only label filters"),
        ("'a'", 0, "cannot begin with '"),
    ] {
        let error = LogQl::parse(text).err().unwrap_or_else(|| panic!("{text} is a query"));
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(error.position, column, "{text}: {error}");
    }
    let deep = format!("{}vector(1){}", "(".repeat(5000), ")".repeat(5000));
    assert!(LogQl::parse(&deep).unwrap_err().message.contains("nested more than"));
    // Whatever joins them: a tree must not be so deep that the stack cannot hold what walks it.
    for (first, more, most) in [
        ("{} | a=`b`", ", a=`b`", 2_000),
        ("{} | a=`b`", " or a=`b`", 2_000),
        ("{} | a=`b`", " and a=`b`", 2_000),
        ("vector(1)", " + vector(1)", 500),
    ] {
        let long = |times| LogQl::parse(&format!("{first}{}", more.repeat(times)));
        assert!(long(most + 1).unwrap_err().message.contains("are joined"), "{more}");
        assert!(!long(most).unwrap().to_string().is_empty(), "{more}");
    }
    let more = "| add 1 ".repeat(400);
    for action in [format!("1 {}", "| add 1 ".repeat(100_000)), format!("(1 {more}) {more}")] {
        let long = format!("{{}} | line_format `{{{{ {action} }}}}`");
        assert!(LogQl::parse(&long).unwrap_err().message.contains("behind one another"));
    }
    let deep = format!("{{}} | a=`b`{}", ", a=`b` or a=`b`".repeat(500));
    assert!(LogQl::parse(&deep).unwrap_err().message.contains("nested more than"));
    assert!(LogQl::parse(&format!("{{}} | a=`b`{}", ", a=`b`".repeat(50))).is_ok());
    let deep = format!("{}{{a=\"b\"}}", "(".repeat(5000));
    assert!(LogQl::parse(&deep).unwrap_err().message.contains("nested more than"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_it_panic(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "(", ")", "[", "]", "app", "=", "\"x\"", "`(.*)`", "|=", "!~", "|", "json", "logfmt",
                "unwrap", "rate", "sum", "by", "5m", "5", "topk", ",", "+", "-", "and", "or", "ip", "offset",
                "line_format", "drop", "bool", "on", "vector", "é", "\"{{.x}}\"", "!=", ">", "#", "1e", "\\",
            ]),
            0..16,
        ),
        text in "\\PC{0,20}",
    ) {
        for text in [words.join(" "), words.join(""), text] {
            if let Ok(query) = LogQl::parse(&text) {
                let shown = query.to_string();
                let again = LogQl::parse(&shown).unwrap_or_else(|e| panic!("{text}\n{shown}\n{e}"));
                proptest::prop_assert_eq!(again, query, "{}", shown);
            }
        }
    }
}
