//! Filters that are written as functions: `in(a, b)`, `range[1, 5)`, `seq("open", file)`.

use super::Parser;
use super::filter::Subject;
use super::lexer::TokenKind;
use crate::error::ParseError;
use crate::filter::common_case::{MAX_CAPITALS, common_cases};
use crate::filter::compare::{Bound, Range};
use crate::filter::exact::Exact;
use crate::filter::fold::Fold;
use crate::filter::ip::IpRange;
use crate::filter::length::{self, Length};
use crate::filter::pair::{Pair, Relation};
use crate::filter::pattern::PlacePattern;
use crate::filter::regex::Pattern;
use crate::filter::sequence::Sequence;
use crate::filter::storage::{Storage, StorageKind};
use crate::filter::subquery::{Subquery, Use};
use crate::filter::{Filter, Test};
use std::sync::Arc;

type Parsed<T> = Result<T, ParseError>;

/// A function: its name, whether `[` may follow it, and what reads its arguments.
pub(super) struct Function {
    pub name: &'static str,
    pub brackets: bool,
    pub parse: fn(&mut Parser<'_>, Subject<'_>, &'static str) -> Parsed<Filter>,
}

const fn function(
    name: &'static str,
    parse: fn(&mut Parser<'_>, Subject<'_>, &'static str) -> Parsed<Filter>,
) -> Function {
    Function { name, brackets: false, parse }
}

/// All of them.
pub(super) const FUNCTIONS: &[Function] = &[
    function("in", values),
    function("contains_all", values),
    function("contains_any", values),
    function("contains_common_case", common_case),
    function("equals_common_case", common_case),
    function("eq_field", pair),
    function("exact", exact),
    function("i", any_case),
    function("ipv4_range", addresses),
    function("ipv6_range", addresses),
    function("le_field", pair),
    function("len_range", length),
    function("lt_field", pair),
    function("pattern_match", places),
    function("pattern_match_full", places),
    Function { name: "range", brackets: true, parse: super::range::range },
    function("re", expression),
    function("seq", sequence),
    function("string_range", texts),
    function("value_type", storage),
];

fn value(p: &mut Parser<'_>) -> Parsed<Box<str>> {
    Ok(p.value_token("a value")?.into_boxed_str())
}

/// The one field that a filter is for.
fn one_field<'s>(p: &Parser<'_>, subject: Subject<'s>, name: &str) -> Parsed<&'s str> {
    subject.field().ok_or_else(|| {
        p.error(
            format!("{name} looks at one field"),
            format!("write a field's name before it: app:{name}(…)"),
        )
    })
}

/// `in(a, b)`, `in(*)`, `in(query | fields f)`, and the same of `contains_all` and `contains_any`.
fn values(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    let used = Use::NAMES.iter().find(|(n, _)| *n == name).map_or(Use::In, |(_, used)| *used);
    if p.at_list_of_values() {
        return Ok(subject.is(used.test(p.list(value)?)));
    }
    p.expect_punct('(')?;
    if p.at_punct('*') && p.following().is_some_and(|t| t.kind == TokenKind::Punct(')')) {
        p.advance()?;
        p.advance()?;
        return Ok(Filter::All);
    }
    let field = one_field(p, subject, name)?;
    let at = p.token.start;
    let query = p.subquery()?;
    let Some(output) = query.only_field() else {
        return Err(ParseError::new(
            p.text,
            at,
            format!("{name} takes a list of values, or a query that has one field"),
            "separate values with commas, or end the query in `| fields name`",
        ));
    };
    p.expect_punct(')')?;
    let (field, output) = (field.into(), output.into());
    Ok(Filter::Subquery(Subquery { field, used, query: Arc::new(query), output }))
}

fn common_case(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    let phrases = p.list(|p| {
        let at = p.token.start;
        let phrase = value(p)?;
        common_cases(&phrase).ok_or_else(|| {
            let message = format!("more than {MAX_CAPITALS} capital letters have too many common cases");
            ParseError::new(p.text, at, message, "use i(…) instead")
        })
    })?;
    let used = if name.starts_with("contains") { Use::ContainsAny } else { Use::In };
    Ok(subject.is(used.test(phrases.into_iter().flatten().map(String::into_boxed_str))))
}

fn pair(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    let left = one_field(p, subject, name)?.into();
    let relation = Relation::NAMES.iter().find(|(n, _)| *n == name).map_or(Relation::Equal, |(_, r)| *r);
    p.expect_punct('(')?;
    let right = p.field_name()?;
    p.expect_punct(')')?;
    Ok(Filter::Pair(Pair { left, right, relation }))
}

fn any_case(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    p.expect_punct('(')?;
    let test = if p.eat_punct('*')? {
        Test::Any
    } else {
        let text = p.value_token("a word or a phrase")?;
        let prefix = p.eat_star()?;
        Test::Fold(Fold::new(&text, prefix))
    };
    p.expect_punct(')')?;
    Ok(subject.is(test))
}

/// `exact("a b")` and `exact("a "*)`, for `="a b"` and `="a "*`.
fn exact(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    p.expect_punct('(')?;
    let text = p.value_token("the exact value")?;
    let prefix = p.eat_star()?;
    p.expect_punct(')')?;
    Ok(subject.is(Test::Exact(Exact::new(&text, prefix))))
}

/// `re("a+")`, for `~"a+"`.
fn expression(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    p.expect_punct('(')?;
    let at = p.token.start;
    let text = p.text_token("a regular expression between quotes")?;
    let pattern = Pattern::across_lines(&text).map_err(|e| p.not_a_regex(at, &e))?;
    p.expect_punct(')')?;
    Ok(subject.is(Test::Regex(pattern)))
}

fn addresses(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    let v4 = name == "ipv4_range";
    let (read, example): (fn(&str) -> Option<IpRange>, _) = if v4 {
        (IpRange::parse_v4, "ipv4_range(10.0.0.0, 10.0.0.255) or ipv4_range(\"10.0.0.0/24\")")
    } else {
        (IpRange::parse_v6, "ipv6_range(\"2001:db8::\", \"2001:db8::ffff\") or ipv6_range(\"2001:db8::/32\")")
    };
    let at = p.token.start;
    let ranges = p.list(|p| {
        let at = p.token.start;
        let text = p.text_token("an address")?;
        read(&text).ok_or_else(|| {
            ParseError::new(p.text, at, format!("`{text}` is no address"), format!("write {example}"))
        })
    })?;
    let range = match *ranges {
        [one] => Some(one),
        [from, to] => from.to(to),
        _ => None,
    };
    let message = format!("{name} takes one network or two addresses");
    let range = range.ok_or_else(|| ParseError::new(p.text, at, message, format!("write {example}")))?;
    Ok(subject.is(Test::Ip(range)))
}

fn length(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    let bound = |p: &mut Parser<'_>| {
        let at = p.token.start;
        let text = p.text_token("a number of characters, or inf")?;
        length::parse_bound(&text).ok_or_else(|| {
            let hint = "write len_range(5, 10) or len_range(5, inf)";
            ParseError::new(p.text, at, format!("`{text}` is no number of characters"), hint)
        })
    };
    p.expect_punct('(')?;
    let min = bound(p)?;
    p.expect_punct(',')?;
    let max = bound(p)?;
    p.eat_punct(',')?;
    p.expect_punct(')')?;
    Ok(subject.is(Test::Length(Length { min, max })))
}

fn places(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    p.expect_punct('(')?;
    let at = p.token.start;
    let text = p.text_token("a pattern between quotes")?;
    let pattern = PlacePattern::new(&text, name == "pattern_match_full")
        .map_err(|why| ParseError::new(p.text, at, why, "write less of it"))?;
    p.expect_punct(')')?;
    Ok(subject.is(Test::Pattern(pattern)))
}

fn sequence(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    Ok(subject.is(Test::Sequence(Sequence::new(p.list(value)?))))
}

/// `string_range(a, c)`: from the first on, before the second.
fn texts(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    p.expect_punct('(')?;
    let from = value(p)?;
    p.expect_punct(',')?;
    let to = value(p)?;
    p.expect_punct(')')?;
    Ok(subject.is(Test::Compare(Range::Texts(Bound::Included(from), Bound::Excluded(to)))))
}

fn storage(p: &mut Parser<'_>, subject: Subject<'_>, name: &'static str) -> Parsed<Filter> {
    let field = one_field(p, subject, name)?.into();
    p.expect_punct('(')?;
    let at = p.token.start;
    let text = p.text_token("a type")?;
    let Some((_, kind)) = StorageKind::NAMES.iter().find(|(n, _)| text.eq_ignore_ascii_case(n)) else {
        let known = StorageKind::NAMES.map(|(n, _)| n).join(", ");
        let message = format!("`{text}` is no type of stored values");
        return Err(ParseError::new(p.text, at, message, format!("expected one of {known}")));
    };
    p.expect_punct(')')?;
    Ok(Filter::Storage(Storage { field, kind: *kind }))
}
