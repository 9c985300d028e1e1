//! A query as a tree. Its [`Display`](std::fmt::Display) is LogQL again, and is in `show`.

use crate::pattern::Pattern;
use crate::template::Template;
use duramen_query::filter::regex::{compile, compile_whole};
use regex::Regex;

/// A query: log lines, or numbers made of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Log(LogExpr),
    Metric(MetricExpr),
}

/// `{app="x"} |= "y" | json`: which streams, and what becomes of their lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogExpr {
    pub selector: Vec<Matcher>,
    pub stages: Vec<Stage>,
}

/// `app="x"`: a label's value is so. A label that is not there is the empty text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matcher {
    pub label: Box<str>,
    /// Whether the test must fail instead.
    pub negated: bool,
    pub test: TextTest,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextTest {
    Is(Box<str>),
    /// The whole text matches.
    Regex(Rx),
}

/// A regular expression, with the text that it was written as.
#[derive(Clone, Debug)]
pub(crate) struct Rx {
    pub source: Box<str>,
    pub regex: Regex,
}

/// A step of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    Line(LineFilter),
    Label(LabelFilter),
    Json(Vec<(Box<str>, JsonPath)>),
    Logfmt(Logfmt),
    Regexp(Rx),
    Pattern(Pattern),
    Unpack,
    Decolorize,
    LineFormat(Template),
    LabelFormat(Vec<(Box<str>, LabelValue)>),
    Drop(Vec<LabelChoice>),
    Keep(Vec<LabelChoice>),
}

/// `|= "a" or "b"`: one of the texts is in the line; negated, none is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LineFilter {
    pub negated: bool,
    pub tests: Vec<LineTest>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LineTest {
    Contains(Box<str>),
    Regex(Rx),
    /// `|> "<_> took <_>"`
    Pattern(Pattern),
    /// `|= ip("10.0.0.0/8")`: an address of the range stands in the line.
    Ip(IpSet),
}

/// Addresses, as they were written, and as numbers from the first to the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IpSet {
    pub source: Box<str>,
    pub from: std::net::IpAddr,
    pub to: std::net::IpAddr,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LabelFilter {
    Text(Matcher),
    Number {
        label: Box<str>,
        op: Comparison,
        value: NumberIn,
    },
    Ip {
        label: Box<str>,
        negated: bool,
        ips: IpSet,
    },
    /// At least two, as they are written one behind the other: a tree of pairs would be as deep as there are many.
    And(Vec<LabelFilter>),
    /// The same.
    Or(Vec<LabelFilter>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

/// A number to compare with, and how the label's text is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NumberIn {
    Plain(f64),
    /// Nanoseconds.
    Duration(i64),
    Bytes(u64),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Logfmt {
    pub strict: bool,
    pub keep_empty: bool,
    /// Which keys, as which labels; none means all.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

/// `a.b[0]["c"]`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath {
    pub source: Box<str>,
    pub steps: Vec<JsonStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonStep {
    Key(Box<str>),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LabelValue {
    /// What another label has, which goes.
    Rename(Box<str>),
    Template(Template),
}

/// A label to drop or to keep: always, or where its value is so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LabelChoice {
    Name(Box<str>),
    Matcher(Matcher),
}

/// Numbers over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MetricExpr {
    Number(f64),
    Vector(f64),
    Range(Box<RangeAggregation>),
    Aggregate(Box<Aggregation>),
    Binary(Box<Binary>),
    LabelReplace(Box<LabelReplace>),
}

/// `rate({…} [5m])`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RangeAggregation {
    pub function: RangeFunction,
    /// Of `quantile_over_time`.
    pub parameter: Option<f64>,
    pub log: LogExpr,
    pub unwrap: Option<Unwrap>,
    pub range_ns: i64,
    pub offset_ns: i64,
    pub grouping: Option<Grouping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeFunction {
    Count,
    Rate,
    BytesRate,
    Bytes,
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
    Stddev,
    Stdvar,
    Quantile,
    Absent,
    RateCounter,
}

/// `unwrap duration(took) | __error__=""`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unwrap {
    pub label: Box<str>,
    pub conversion: Conversion,
    pub filters: Vec<LabelFilter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    Number,
    Duration,
    DurationSeconds,
    Bytes,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grouping {
    pub without: bool,
    pub labels: Vec<Box<str>>,
}

/// `sum by (app) (…)`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregation {
    pub operation: Operation,
    /// Of `topk` and `bottomk`.
    pub count: usize,
    pub grouping: Option<Grouping>,
    pub inner: MetricExpr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    Avg,
    Min,
    Max,
    Count,
    Stddev,
    Stdvar,
    TopK,
    BottomK,
    Sort,
    SortDesc,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Binary {
    pub operator: Operator,
    pub left: MetricExpr,
    pub right: MetricExpr,
    /// Whether a comparison gives 0 or 1 rather than leaving out what does not hold.
    pub bool_result: bool,
    pub matching: Option<Matching>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Unless,
    Compare(Comparison),
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
}

/// `on (app) group_left (team)`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matching {
    pub on: bool,
    pub labels: Vec<Box<str>>,
    pub group: Option<Group>,
}

/// The side of which several series may match one of the other, and the labels they take from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub left: bool,
    pub include: Vec<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelReplace {
    pub inner: MetricExpr,
    pub target: Box<str>,
    pub replacement: Box<str>,
    pub source: Box<str>,
    pub regex: Rx,
}

impl Rx {
    /// Compiles an expression that may match anywhere.
    pub fn anywhere(source: &str) -> Result<Self, String> {
        compile(source, false).map(|regex| Self { source: source.into(), regex })
    }

    /// Compiles an expression that must match the whole text.
    pub fn whole(source: &str) -> Result<Self, String> {
        compile_whole(source).map(|regex| Self { source: source.into(), regex })
    }
}

impl PartialEq for Rx {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Matcher {
    /// Whether a value is as it should be.
    pub fn matches(&self, value: &str) -> bool {
        self.negated
            != match &self.test {
                TextTest::Is(text) => **text == *value,
                TextTest::Regex(rx) => rx.regex.is_match(value),
            }
    }
}

impl Comparison {
    /// Whether it holds; nothing does of not-a-number but `!=`.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
            Self::Lt => a < b,
            Self::Le => a <= b,
        }
    }
}
