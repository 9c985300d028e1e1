//! `range[1, 5)`: between two numbers, two addresses, or two time stamps.

use super::Parser;
use super::filter::Subject;
use super::lexer::{TokenKind, value_end};
use super::time::parse_time;
use crate::error::ParseError;
use crate::filter::compare::{Bound, Range};
use crate::filter::ip::{IpRange, parse_v4};
use crate::filter::{Filter, Test};
use crate::number::Number;
use std::net::Ipv4Addr;

type Parsed<T> = Result<T, ParseError>;

/// An end of a range.
#[derive(Clone, Copy)]
enum End {
    /// `-Inf`
    Lowest,
    /// `Inf`
    Highest,
    Number(Number),
    Address(Ipv4Addr),
    Time(i64),
}

impl End {
    fn parse(p: &mut Parser<'_>) -> Parsed<Self> {
        let text = match &p.token.kind {
            TokenKind::Word(_) => p.text.get(p.token.start..value_end(p.text, p.token.start)),
            TokenKind::Quoted(q) => Some(&**q),
            _ => None,
        };
        let number = |n| match n {
            Number::Float(x) if x.is_infinite() => {
                if x < 0.0 {
                    Self::Lowest
                } else {
                    Self::Highest
                }
            }
            n => Self::Number(n),
        };
        let end = text.and_then(|text| {
            let address = || parse_v4(text).map(Self::Address);
            let time = || parse_time(text).map(Self::Time);
            Number::literal(text).map(number).or_else(address).or_else(time)
        });
        let Some(end) = end else {
            return Err(p.expected(
                "a number such as 10, 2.5, 5KB, 10ms or Inf, an address, or a time between quotes",
            ));
        };
        p.value_token("a bound")?;
        Ok(end)
    }
}

pub(super) fn range(p: &mut Parser<'_>, subject: Subject<'_>, _: &'static str) -> Parsed<Filter> {
    let with_from = p.at_punct('[');
    p.advance()?;
    let from = End::parse(p)?;
    p.expect_punct(',')?;
    let at = p.token.start;
    let to = End::parse(p)?;
    let with_to = p.at_punct(']');
    if !with_to && !p.at_punct(')') {
        return Err(p.expected("`]` (with the bound) or `)` (without it)"));
    }
    p.advance()?;
    let test = between(from, with_from, to, with_to).ok_or_else(|| {
        let message = "one end is a number, an address or a time, and the other is something else";
        ParseError::new(p.text, at, message, "write two ends of one kind")
    })?;
    Ok(subject.is(test))
}

fn bound<T>(value: T, with_it: bool) -> Bound<T> {
    if with_it { Bound::Included(value) } else { Bound::Excluded(value) }
}

/// The test; `None` if the ends are of two kinds.
fn between(from: End, with_from: bool, to: End, with_to: bool) -> Option<Test> {
    let none = Range::Numbers(Bound::Excluded(Number::Int(0)), Bound::Excluded(Number::Int(0)));
    Some(match (from, to) {
        (End::Highest, _) | (_, End::Lowest) => Test::Compare(none),
        (End::Lowest, End::Highest) => Test::Compare(Range::Numbers(Bound::Open, Bound::Open)),
        (End::Number(a), End::Number(b)) => {
            Test::Compare(Range::Numbers(bound(a, with_from), bound(b, with_to)))
        }
        (End::Number(a), End::Highest) => Test::Compare(Range::Numbers(bound(a, with_from), Bound::Open)),
        (End::Lowest, End::Number(b)) => Test::Compare(Range::Numbers(Bound::Open, bound(b, with_to))),
        (End::Time(a), End::Time(b)) => Test::Compare(Range::Times(bound(a, with_from), bound(b, with_to))),
        (End::Time(a), End::Highest) => Test::Compare(Range::Times(bound(a, with_from), Bound::Open)),
        (End::Lowest, End::Time(b)) => Test::Compare(Range::Times(Bound::Open, bound(b, with_to))),
        (End::Address(a), End::Address(b)) => {
            let (from, to) = (IpRange::beyond(a, true, with_from), IpRange::beyond(b, false, with_to));
            Test::Ip(from.and(to)?)
        }
        (End::Address(a), End::Highest) => Test::Ip(IpRange::beyond(a, true, with_from)),
        (End::Lowest, End::Address(b)) => Test::Ip(IpRange::beyond(b, false, with_to)),
        _ => return None,
    })
}
