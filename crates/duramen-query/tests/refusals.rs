//! What is no query: errors point at the place, and no nesting is too deep to be refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use duramen_query::{ParseOptions, Query};

fn options() -> ParseOptions {
    ParseOptions::default()
}

fn canonical(text: &str) -> String {
    Query::parse(text, &options()).unwrap_or_else(|e| panic!("{text}\n{e}")).to_string()
}

#[test]
fn errors_point_at_the_place() {
    for (text, position, says) in [
        ("", 0, "empty"),
        ("(a or b", 7, "expected `)`"),
        ("a or", 4, "expected a filter"),
        ("app:", 4, "expected a value for the field `app`"),
        ("a \"b", 2, "not closed"),
        ("app:x:", 5, "cannot end with `:`"),
        ("app:\"x\":y", 7, "between quotes ends the value"),
        ("{a in (*, b)}", 12, "stands for every value"),
        ("a | lmit 5", 4, "unknown pipe `lmit`"),
        ("a | limit x", 10, "expected a number of rows"),
        ("a | stats foo(x)", 10, "unknown function `foo`"),
        ("a | stats histogram()", 10, "histogram needs a field"),
        ("a | stats count_uniq()", 10, "count_uniq needs a field"),
        ("a | stats quantile(2, x)", 19, "no share"),
        ("a | stats count() n, sum(x) n", 21, "two results named `n`"),
        ("a | sort x", 9, "expected `by (field, …)`"),
        ("_time:yesterday", 6, "`yesterday` is not a time"),
        ("_time:[2024-01, x)", 16, "`x` is not a time"),
        ("_time:2024-13", 6, "not a time"),
        ("f:range(1, x)", 11, "expected a number"),
        ("f:range(1, 10.0.0.1)", 11, "one end is a number, an address or a time"),
        ("f:rnge(1, 2)", 2, "no function `rnge` among the filters"),
        ("foo(bar)", 0, "no function `foo` among the filters"),
        ("wow!such", 3, "`!` stands directly behind a text"),
        ("f:a=b", 3, "`=` stands directly behind a text"),
        ("=a=b", 2, "`=` stands directly behind a text"),
        ("f:>5<7", 4, "`<` stands directly behind a text"),
        ("a\"b\"", 1, "the text \"b\" stands directly behind a text"),
        ("\"a\"b", 3, "`b` stands directly behind a text"),
        ("foo*bar", 4, "`bar` stands directly behind a text"),
        ("f:web*\"prod\"", 6, "the text \"prod\" stands directly behind a text"),
        ("f:=main(argv)", 7, "`(` stands directly behind a text"),
        ("foo{a=\"b\"}", 3, "`{` stands directly behind a text"),
        ("\"a\"*b*", 4, "stands directly behind a text"),
        ("f:re('(')", 5, "not a regular expression"),
        ("f:not", 5, "expected a value for the field `f`"),
        ("~\"(\"", 1, "not a regular expression"),
        ("f:~\"(?x)a\"", 3, "`(?x` begins no group"),
        ("{app}", 4, "expected `=`"),
        ("a) b", 1, "expected `|`"),
        ("a | stats by (_time:0s) count()", 20, "no size of a time bucket"),
        ("é \"", 3, "not closed"),
        ("*ab", 3, "expected `*`"),
        ("f:in(a b)", 5, "takes a list of values, or a query that has one field"),
        ("f:in(a | fields x, y)", 5, "takes a list of values"),
        ("f:in(a | fields x", 17, "expected `)`"),
        ("f:ipv4_range(10.0.0)", 13, "`10.0.0` is no address"),
        ("f:ipv4_range(1.2.3.4, 1.2.3.5, 1.2.3.6)", 12, "one network or two addresses"),
        ("len_range(a, 5)", 10, "no number of characters"),
        ("f:value_type(uint8)", 13, "no type of stored values"),
        ("*:eq_field(b)", 10, "looks at one field"),
        ("f:contains_common_case(ABCDEFGHI)", 23, "too many common cases"),
        ("_time:day_range[8, 9]", 16, "`8` is no time of the day"),
        ("_time:week_range[Mo, Fri]", 17, "expected a day of the week"),
        ("options(speed=1) a", 8, "unknown option `speed`"),
        ("options(concurrency=0) a", 20, "above 0"),
        ("a | rename x as y*", 16, "only if the first name ends in `*`"),
        ("a | time_add x", 13, "no duration"),
        ("a | union b", 10, "expected `(`"),
        ("a | extract x", 12, "names no field"),
        ("a | extract '<a><b>'", 12, "text must stand between"),
        ("a | extract '<a'", 12, "a `<` without `>`"),
        ("a | extract '<a>' foo", 18, "expected `|`, or the end"),
        ("a | extract_regexp '(a)'", 19, "names no field"),
        ("a | format x foo", 13, "expected `as field`"),
        ("a | replace_regexp ('(', '')", 20, "not a regular expression"),
        ("a | len (x y)", 11, "expected `)`"),
        ("a | uniq with hits", 9, "expected `by (field, …)`"),
        ("a | top x,", 10, "expected a field name"),
        ("a | stats by (n:10 offset x) count()", 19, "not a number"),
        ("a | math a +", 12, "expected a number, a field or a function"),
        ("a | math foo(a)", 9, "unknown function `foo`"),
        ("a | math round()", 9, "round does not take 0 arguments"),
        ("a | math (a", 11, "expected `)`"),
        ("a | join by () (b)", 15, "join needs a field"),
        ("a | join by (x) b", 16, "expected `(`"),
        ("a | limit 1 | block_stats", 25, "must be the first pipe"),
        ("a | stream_context around 1", 19, "expected `before N`"),
        ("a | facets x", 11, "expected a number of values"),
        ("a | sample 0", 11, "at least 1"),
        ("a | running_stats avg(x)", 18, "is not known here"),
        ("a | stats by (ip:/33) count()", 17, "no length of a network's prefix"),
        ("a | stats row_min(x*)", 10, "row_min compares one field"),
        ("a | unpack_json foo bar", 20, "expected `fields (…)`"),
        ("f:~*a", 3, "not a regular expression"),
        ("f:~a*\"b\"", 5, "stands directly behind a text"),
        ("a | format if", 13, "expected `(` and a condition"),
        ("a | count() if", 14, "expected `(` and a condition"),
        ("filter app:x", 0, "begin with the name of the pipe `filter`"),
        ("Stats by (x) count()", 0, "begin with the name of the pipe `Stats`"),
        ("by (x)", 0, "begin with the name of the pipe `by`"),
        ("a | filter sort by (x)", 11, "begin with the name of the pipe `sort`"),
        ("a | extract if (limit 5) '<x> '", 16, "begin with the name of the pipe `limit`"),
        ("f:in(fields x)", 5, "begin with the name of the pipe `fields`"),
        ("a | uniq by ()", 9, "expected a field between"),
        ("a | top () hits as x", 8, "expected a field between"),
        ("a | rate(x)", 4, "rate counts rows"),
        ("a | sort by (x) limit 1 limit 2", 24, "`limit` is there twice"),
        ("a | sort by (x) offset 1 limit 1 offset 2", 33, "`offset` is there twice"),
    ] {
        let error = Query::parse(text, &options()).expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
        assert!(error.message.contains(says), "{text}: {error}");
    }
    let error = Query::parse("words\n  app: | x", &options()).unwrap_err();
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
    let deep = format!("{}x{}", "f:in(".repeat(5_000), " | fields f)".repeat(5_000));
    assert!(
        Query::parse(&deep, &options()).unwrap_err().message.contains("queries are nested more than 8 deep")
    );
    let deep = format!("{}x{}", "f:in(".repeat(8), " | fields f)".repeat(8));
    assert_eq!(canonical(&deep), deep);
    for (open, close) in [("(", ")"), ("-", ""), ("round(", ")")] {
        let deep = format!("a | math {}x{} as y", open.repeat(5_000), close.repeat(5_000));
        assert!(Query::parse(&deep, &options()).unwrap_err().message.contains("nested"));
    }
    let long = format!("a | math x{} as y", "+x".repeat(5_000));
    assert!(Query::parse(&long, &options()).unwrap_err().message.contains("256 operators"));
    let long = format!("a | math x{} as y", "+x".repeat(256));
    assert_eq!(canonical(&canonical(&long)), canonical(&long));
    let deep = format!("f:{}x", "!".repeat(50_000));
    assert!(Query::parse(&deep, &options()).unwrap_err().message.contains("nested"));
    assert_eq!(canonical(&format!("{}x", "!".repeat(100_001))), "!x");
}
