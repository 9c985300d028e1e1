//! Random queries as data, and how they are written. Says nothing of how the crate under test sees them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
pub enum F {
    All,
    And(Vec<F>),
    Or(Vec<F>),
    Not(Box<F>),
    Phrase(&'static str, String),
    Prefix(&'static str, String),
    Fold(&'static str, String),
    Exact(&'static str, String),
    ExactPrefix(&'static str, String),
    In(&'static str, Vec<String>),
    Compare(&'static str, &'static str, i64),
    Range(&'static str, i64, bool, i64, bool),
    Any(&'static str),
    Empty(&'static str),
    Contains(&'static str, &'static str),
    Level(&'static str),
    Substring(&'static str, String),
    ContainsAll(&'static str, Vec<String>),
    ContainsAny(&'static str, Vec<String>),
    Seq(&'static str, Vec<String>),
    TextRange(&'static str, &'static str, &'static str),
    Length(&'static str, usize, usize),
    /// Both fields, and the name of the filter.
    Pair(&'static str, &'static str, &'static str),
    Ip(&'static str),
    IpAbove(&'static str),
    /// Any field whose name begins so.
    AnyField(&'static str, String),
    /// The seconds of the minute, as if they were hours: whole minutes of the day.
    DayRange(i64, bool, i64, bool),
    /// The field, which values of which field, of the entries that match.
    InQuery(&'static str, &'static str, Box<F>),
    /// That of the stream `{host="h1"}`, or one that there is not.
    StreamId(bool),
    Time(i64, i64),
    Host(&'static str, bool),
}

#[derive(Clone, Debug)]
pub enum P {
    Limit(usize),
    Offset(usize),
    Fields(Vec<&'static str>),
    Delete(Vec<&'static str>),
    Rename(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Where(F),
    /// By which fields, in which partitions, how many to leave out and to give, and whether with their places.
    Sort(Vec<(&'static str, bool)>, Vec<&'static str>, usize, Option<usize>, bool),
    /// Fields, buckets of so many seconds, and functions: name, fields, condition.
    Stats(Vec<&'static str>, Option<i64>, Vec<(&'static str, Vec<&'static str>, Option<F>)>),
    /// The same of every row: of those up to it, or of all.
    Window(bool, Vec<&'static str>, &'static str, &'static str),
    Top(usize, Vec<&'static str>),
    Uniq(Vec<&'static str>, bool, Option<usize>),
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn list(texts: &[String]) -> String {
    texts.iter().map(|t| quoted(t)).collect::<Vec<_>>().join(",")
}

pub fn time_text(seconds: i64) -> String {
    format!("1970-01-01T00:{:02}:{:02}Z", seconds / 60, seconds % 60)
}

impl F {
    pub fn text(&self) -> String {
        let join = |parts: &[F], by: &str| {
            parts.iter().map(|p| format!("({})", p.text())).collect::<Vec<_>>().join(by)
        };
        match self {
            F::All => "*".into(),
            F::And(parts) => join(parts, " "),
            F::Or(parts) => join(parts, " or "),
            F::Not(inner) => format!("!({})", inner.text()),
            F::Phrase(f, t) => format!("{f}:{}", quoted(t)),
            F::Prefix(f, t) => format!("{f}:{}*", quoted(t)),
            F::Fold(f, t) => format!("{f}:i({})", quoted(t)),
            F::Exact(f, t) => format!("{f}:={}", quoted(t)),
            F::ExactPrefix(f, t) => format!("{f}:={}*", quoted(t)),
            F::In(f, t) => format!("{f}:in({})", list(t)),
            F::Compare(f, op, n) => format!("{f}:{op}{n}"),
            F::Range(f, a, with_a, b, with_b) => {
                format!(
                    "{f}:range{}{a}, {b}{}",
                    if *with_a { '[' } else { '(' },
                    if *with_b { ']' } else { ')' }
                )
            }
            F::Any(f) => format!("{f}:*"),
            F::Empty(f) => format!("{f}:\"\""),
            F::Contains(f, t) => format!("{f}:~{}", quoted(t)),
            F::Level(l) => format!("level:{l}"),
            F::Substring(f, t) => format!("{f}:*{}*", quoted(t)),
            F::ContainsAll(f, t) => format!("{f}:contains_all({})", list(t)),
            F::ContainsAny(f, t) => format!("{f}:contains_any({})", list(t)),
            F::Seq(f, t) => format!("{f}:seq({})", list(t)),
            F::TextRange(f, a, b) => format!("{f}:string_range({a}, {b})"),
            F::Length(f, a, b) => format!("{f}:len_range({a}, {b})"),
            F::Pair(f, g, name) => format!("{f}:{name}({g})"),
            F::Ip(net) => format!("ip:ipv4_range(\"{net}\")"),
            F::IpAbove(ip) => format!("ip:>={ip}"),
            F::AnyField(prefix, t) => format!("{prefix}*:{}", quoted(t)),
            F::DayRange(a, with_a, b, with_b) => {
                let (open, close) = (if *with_a { '[' } else { '(' }, if *with_b { ']' } else { ')' });
                format!("_time:day_range{open}00:{a:02}, 00:{b:02}{close} offset 30s")
            }
            F::InQuery(f, g, inner) => format!("{f}:in({} | fields {g})", inner.text()),
            F::StreamId(known) => {
                let id = xxhash_rust::xxh3::xxh3_128(b"{host=\"h1\"}");
                format!("_stream_id:={:032x}", if *known { id } else { 0 })
            }
            F::Time(a, b) => format!("_time:[{}, {})", time_text(*a), time_text(*b)),
            F::Host(h, equal) => format!("{{host{}\"{h}\"}}", if *equal { "=" } else { "!=" }),
        }
    }
}

impl P {
    pub fn text(&self) -> String {
        match self {
            P::Limit(n) => format!("limit {n}"),
            P::Offset(n) => format!("offset {n}"),
            P::Fields(f) => format!("fields {}", f.join(", ")),
            P::Delete(f) => format!("delete {}", f.join(", ")),
            P::Rename(a, b) => format!("rename {a} as {b}"),
            P::Copy(a, b) => format!("copy {a} as {b}"),
            P::Where(f) => format!("where {}", f.text()),
            P::Sort(by, partition, offset, limit, rank) => {
                let by: Vec<_> =
                    by.iter().map(|(n, d)| format!("{n}{}", if *d { " desc" } else { "" })).collect();
                let limit = limit.map_or(String::new(), |n| format!(" limit {n}"));
                let partition = match &partition[..] {
                    [] => String::new(),
                    names => format!(" partition by ({})", names.join(", ")),
                };
                let rank = if *rank { " rank as place" } else { "" };
                format!("sort by ({}){partition} offset {offset}{limit}{rank}", by.join(", "))
            }
            P::Stats(by, bucket, functions) => {
                let mut by: Vec<String> = by.iter().map(|b| b.to_string()).collect();
                by.extend(bucket.map(|s| format!("_time:{s}s")));
                let functions: Vec<_> = functions
                    .iter()
                    .map(|(f, fields, condition)| {
                        let phi = if *f == "quantile" { "0.9, " } else { "" };
                        let condition =
                            condition.as_ref().map_or(String::new(), |c| format!(" if ({})", c.text()));
                        let limit = if *f == "json_values" { " limit 2" } else { "" };
                        format!("{f}({phi}{}){limit}{condition}", fields.join(", "))
                    })
                    .enumerate()
                    .map(|(i, f)| format!("{f} as r{i}"))
                    .collect();
                format!("stats by ({}) {}", by.join(", "), functions.join(", "))
            }
            P::Window(total, by, function, field) => {
                let name = if *total { "total_stats" } else { "running_stats" };
                format!("{name} by ({}) {function}({field}) as w", by.join(", "))
            }
            P::Top(n, by) => format!("top {n} by ({})", by.join(", ")),
            P::Uniq(by, hits, limit) => format!(
                "uniq by ({}){}{}",
                by.join(", "),
                if *hits { " with hits" } else { "" },
                limit.map_or(String::new(), |n| format!(" limit {n}"))
            ),
        }
    }
}

pub const FIELDS: &[&str] = &["_msg", "app", "n", "mix", "level", "none", "ip", "part"];

fn field() -> impl Strategy<Value = &'static str> {
    select(FIELDS)
}

fn needle() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["error", "err", "Error", "disk full", "a", "b", "10", "2.5", "=", "é", "x-", "full"])
            .prop_map(str::to_string),
        "[ab =é]{1,3}",
    ]
}

pub fn filter() -> impl Strategy<Value = F> {
    let leaf = prop_oneof![
        1 => Just(F::All),
        4 => (field(), needle()).prop_map(|(f, t)| F::Phrase(f, t)).prop_filter("levels are their own", |f| !matches!(f, F::Phrase("level", _))),
        2 => (field(), needle()).prop_map(|(f, t)| F::Prefix(f, t)),
        1 => (field(), needle()).prop_map(|(f, t)| F::Fold(f, t)),
        2 => (field(), needle()).prop_map(|(f, t)| F::Exact(f, t)),
        1 => (field(), needle()).prop_map(|(f, t)| F::ExactPrefix(f, t)),
        1 => (field(), vec(needle(), 0..3)).prop_map(|(f, t)| F::In(f, t)),
        3 => (field(), select(vec![">", ">=", "<", "<="]), -4i64..12).prop_map(|(f, o, n)| F::Compare(f, o, n)),
        1 => (field(), -4i64..12, any::<bool>(), -4i64..12, any::<bool>()).prop_map(|(f, a, x, b, y)| F::Range(f, a, x, b, y)),
        1 => field().prop_map(F::Any),
        1 => field().prop_map(F::Empty),
        1 => (field(), select(vec!["err", "a", "1", "é"])).prop_map(|(f, t)| F::Contains(f, t)),
        1 => select(vec!["error", "ERR", "warning", "info"]).prop_map(F::Level),
        1 => (field(), needle()).prop_map(|(f, t)| F::Substring(f, t)),
        1 => (field(), vec(needle(), 0..3)).prop_map(|(f, t)| F::ContainsAll(f, t)),
        1 => (field(), vec(needle(), 0..3)).prop_map(|(f, t)| F::ContainsAny(f, t)),
        1 => (field(), vec(needle(), 0..3)).prop_map(|(f, t)| F::Seq(f, t)),
        1 => (field(), select(vec!["a", "1", "d"]), select(vec!["b", "c", "x"])).prop_map(|(f, a, b)| F::TextRange(f, a, b)),
        1 => (field(), 0usize..4, 0usize..9).prop_map(|(f, a, b)| F::Length(f, a, b)),
        1 => (field(), field(), select(vec!["eq_field", "le_field", "lt_field"])).prop_map(|(f, g, n)| F::Pair(f, g, n)),
        1 => select(vec!["10.0.0.0/8", "10.1.2.3", "0.0.0.0/0"]).prop_map(F::Ip),
        1 => select(vec!["10.1.2.3", "11.0.0.0"]).prop_map(F::IpAbove),
        1 => (select(vec!["", "n", "m", "_", "level"]), needle()).prop_map(|(p, t)| F::AnyField(p, t)),
        1 => (0i64..3, any::<bool>(), 0i64..3, any::<bool>()).prop_map(|(a, x, b, y)| F::DayRange(a, x, b, y)),
        1 => any::<bool>().prop_map(F::StreamId),
        2 => (0i64..60, 0i64..60).prop_map(|(a, b)| F::Time(a, b)),
        1 => (select(vec!["h1", "h2", ""]), any::<bool>()).prop_map(|(h, e)| F::Host(h, e)),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(F::And),
            vec(inner.clone(), 2..4).prop_map(F::Or),
            inner.clone().prop_map(|f| F::Not(Box::new(f))),
            (field(), field(), inner).prop_map(|(f, g, inner)| F::InQuery(f, g, Box::new(inner))),
        ]
    })
}

fn names(max: usize) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(vec!["app", "level", "mix", "n", "none", "part"], 1..=max)
}

pub fn pipe() -> impl Strategy<Value = P> {
    let function = (
        select(vec![
            "count",
            "count_empty",
            "count_uniq",
            "count_uniq_hash",
            "sum",
            "sum_len",
            "avg",
            "min",
            "max",
            "uniq_values",
            "quantile",
            "median",
            "values",
            "any",
            "row_any",
            "row_min",
            "row_max",
            "latest",
            "json_values",
            "n*",
        ]),
        names(2),
        proptest::option::weighted(0.3, filter()),
    )
        // A prefix, for once, instead of names.
        .prop_map(|(f, mut names, c)| match f {
            "n*" => ("sum", vec!["n*"], c),
            "row_min" | "row_max" => {
                names.push("_msg");
                (f, names, c)
            }
            "latest" => {
                names.insert(0, "_time");
                ("row_max", names, c)
            }
            _ => (f, names, c),
        });
    let count = Just(("count", vec![], None));
    prop_oneof![
        (0usize..8).prop_map(P::Limit),
        (0usize..4).prop_map(P::Offset),
        proptest::sample::subsequence(vec!["n", "_time", "_msg", "app", "mix"], 1..4).prop_map(P::Fields),
        names(2).prop_map(P::Delete),
        select(vec![("app", "z"), ("n", "app"), ("none", "mix"), ("_msg", "b")])
            .prop_map(|(a, b)| P::Rename(a, b)),
        select(vec![("app", "z"), ("n", "app"), ("none", "mix"), ("_msg", "b")])
            .prop_map(|(a, b)| P::Copy(a, b)),
        filter().prop_map(P::Where),
        (
            vec((select(vec!["app", "n", "mix", "part", "_time", "_msg"]), any::<bool>()), 1..3),
            prop_oneof![Just(Vec::new()), names(2)],
            0usize..3,
            proptest::option::of(0usize..6),
            any::<bool>()
        )
            .prop_map(|(by, partition, offset, limit, rank)| P::Sort(by, partition, offset, limit, rank)),
        (names(2), proptest::option::of(select(vec![7i64, 20])), vec(prop_oneof![count, function], 1..3))
            .prop_map(|(by, bucket, f)| P::Stats(by, bucket, f)),
        (
            any::<bool>(),
            names(1),
            select(vec!["sum", "count", "min", "max"]),
            select(vec!["n", "mix", "none", "part"])
        )
            .prop_map(|(total, by, f, field)| P::Window(total, by, f, field)),
        (0usize..4, names(2)).prop_map(|(n, by)| P::Top(n, by)),
        (names(2), any::<bool>(), proptest::option::of(0usize..4)).prop_map(|(by, h, l)| P::Uniq(by, h, l)),
    ]
}
