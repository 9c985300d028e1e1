//! Expressions: how they are read, printed and computed.

use super::operation::{Call, Operator};
use super::token::Token;
use crate::error::ParseError;
use crate::filter::ip::parse_v4;
use crate::number::Number;
use crate::parse::time::parse_time;
use crate::parse::{Parser, quote_always};
use duramen::block::names;
use std::borrow::Cow;
use std::fmt;

type Parsed<T> = Result<T, ParseError>;

/// The most operators of an expression: a long sum is as deep as it is long, and printing it must not overflow the
/// stack.
const MAX_OPERATORS: usize = 256;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Constant(Number),
    Field(Box<str>),
    Negated(Box<Expression>),
    Pair(Operator, Box<Expression>, Box<Expression>),
    Call(Call, Vec<Expression>),
}

impl Expression {
    /// Reads one, as far as it goes.
    pub fn parse(p: &mut Parser<'_>) -> Parsed<Self> {
        Self::inner(p, &mut 0)
    }

    fn inner(p: &mut Parser<'_>, operators: &mut usize) -> Parsed<Self> {
        p.nested(|p| Self::binding(p, u8::MAX, operators))
    }

    /// An expression whose operators bind at least as tightly as `loosest`. Among equals the first goes first; of
    /// powers, the last.
    fn binding(p: &mut Parser<'_>, loosest: u8, operators: &mut usize) -> Parsed<Self> {
        let mut left = p.nested(|p| Self::operand(p, operators))?;
        loop {
            let (token, end) = p.math_token()?;
            let sign = match &token {
                Token::Sign(c) => c.to_string(),
                Token::Word(word) => word.to_ascii_lowercase(),
                _ => return Ok(left),
            };
            let found = Operator::ALL.iter().find(|(s, binds, _)| *s == sign && *binds <= loosest);
            let Some((_, binds, operator)) = found else { return Ok(left) };
            *operators += 1;
            if *operators > MAX_OPERATORS {
                let message = format!("an expression may have {MAX_OPERATORS} operators");
                return Err(p.error(message, "compute a part of it before, as a field of its own"));
            }
            p.math_advance(end)?;
            let tighter = if *operator == Operator::Power { *binds } else { binds - 1 };
            let right = p.nested(|p| Self::binding(p, tighter, operators))?;
            left = Self::Pair(*operator, Box::new(left), Box::new(right));
        }
    }

    fn operand(p: &mut Parser<'_>, operators: &mut usize) -> Parsed<Self> {
        let (token, end) = p.math_token()?;
        let wrong = |p: &Parser<'_>| {
            p.error(
                format!("expected a number, a field or a function, found {}", p.token.describe()),
                "write (a + b) / 2 as mean",
            )
        };
        match token {
            Token::Sign('-') => {
                p.math_advance(end)?;
                // A power binds more than the sign before it.
                Ok(match p.nested(|p| Self::binding(p, 1, operators))? {
                    Self::Constant(n) => Self::Constant(n.negated()),
                    other => Self::Negated(Box::new(other)),
                })
            }
            Token::Sign('(') => {
                p.math_advance(end)?;
                let inner = Self::inner(p, operators)?;
                p.expect_punct(')')?;
                Ok(inner)
            }
            Token::Word(word) => {
                let called = p.text[end..].starts_with('(');
                let at = p.token.start;
                p.math_advance(end)?;
                if called {
                    Self::call(p, at, &word.to_ascii_lowercase(), operators)
                } else {
                    Ok(Self::text(&word))
                }
            }
            Token::Quoted(text) => {
                p.math_advance(end)?;
                Ok(Self::text(&text))
            }
            Token::Sign(_) | Token::End => Err(wrong(p)),
        }
    }

    /// A number, a time, an address; or else a field.
    fn text(text: &str) -> Self {
        let number = Number::literal(text).or_else(|| constant(text));
        let name = if text.is_empty() { names::MESSAGE } else { text };
        number.map_or_else(|| Self::Field(name.into()), Self::Constant)
    }

    fn call(p: &mut Parser<'_>, at: usize, name: &str, operators: &mut usize) -> Parsed<Self> {
        let arguments = p.list(|p| Self::inner(p, operators))?;
        if name == "now" && arguments.is_empty() {
            return Ok(Self::Constant(Number::Int(p.options.now_ns)));
        }
        let Some((_, least, most, call)) = Call::ALL.iter().find(|(n, ..)| *n == name) else {
            let known = Call::ALL.iter().map(|(n, ..)| *n).chain(["now"]).collect::<Vec<_>>().join(", ");
            let message = format!("unknown function `{name}`");
            return Err(ParseError::new(p.text, at, message, format!("expected one of {known}")));
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let message = format!("{name} does not take {} arguments", arguments.len());
            return Err(ParseError::new(p.text, at, message, format!("write {name}(…) with {least}")));
        }
        Ok(Self::Call(*call, arguments))
    }

    /// Calls `see` with the name of every field.
    pub fn for_each_name<'e>(&'e self, see: &mut dyn FnMut(&'e str)) {
        match self {
            Self::Constant(_) => {}
            Self::Field(name) => see(name),
            Self::Negated(inner) => inner.for_each_name(see),
            Self::Pair(_, left, right) => {
                left.for_each_name(see);
                right.for_each_name(see);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|a| a.for_each_name(see)),
        }
    }

    /// The value of fields' numbers; none if it is not a number.
    pub fn value(&self, number_of: &dyn Fn(&str) -> Option<Number>, random: &mut u64) -> Option<Number> {
        match self {
            Self::Constant(n) => Some(*n),
            Self::Field(name) => number_of(name),
            Self::Negated(inner) => inner.value(number_of, random).map(Number::negated),
            Self::Pair(operator, left, right) => {
                operator.apply(left.value(number_of, random), right.value(number_of, random))
            }
            Self::Call(call, arguments) => {
                let values: Vec<_> = arguments.iter().map(|a| a.value(number_of, random)).collect();
                call.apply(&values, random)
            }
        }
    }

    /// The same of so many rows, for an expression that has one value for each.
    pub fn values<'n>(
        &self,
        numbers_of: &dyn Fn(&str) -> Option<&'n [Option<Number>]>,
        rows: usize,
    ) -> Cow<'n, [Option<Number>]> {
        match self {
            Self::Constant(n) => vec![Some(*n); rows].into(),
            Self::Field(name) => numbers_of(name).map_or_else(|| vec![None; rows].into(), Cow::Borrowed),
            Self::Negated(inner) => {
                inner.values(numbers_of, rows).iter().map(|n| n.map(Number::negated)).collect()
            }
            Self::Pair(operator, left, right) => {
                operator.apply_each(&left.values(numbers_of, rows), &right.values(numbers_of, rows)).into()
            }
            Self::Call(call, arguments) => {
                let columns: Vec<_> = arguments.iter().map(|a| a.values(numbers_of, rows)).collect();
                let mut of_row = Vec::with_capacity(columns.len());
                let value = |row: usize| {
                    of_row.clear();
                    of_row.extend(columns.iter().map(|column| column.get(row).copied().flatten()));
                    call.apply(&of_row, &mut 0)
                };
                (0..rows).map(value).collect()
            }
        }
    }

    /// Whether it may have another value for the same row.
    pub fn is_random(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Field(_) => false,
            Self::Negated(inner) => inner.is_random(),
            Self::Pair(_, left, right) => left.is_random() || right.is_random(),
            Self::Call(call, arguments) => *call == Call::Rand || arguments.iter().any(Self::is_random),
        }
    }
}

/// A number; a time stamp in nanoseconds; an address of version 4 as 32 bits.
pub(crate) fn constant(text: &str) -> Option<Number> {
    if text.is_empty() {
        return None;
    }
    Number::parse(text)
        .or_else(|| parse_v4(text).map(|ip| Number::Int(u32::from(ip).into())))
        .or_else(|| parse_time(text).map(Number::Int))
}

impl Expression {
    /// Writes it, between parentheses if it binds less than `loosest`: no more of them than there must be, for a long
    /// sum would have more than can be read again.
    fn show(&self, f: &mut fmt::Formatter<'_>, loosest: u8) -> fmt::Result {
        match self {
            Self::Constant(Number::Float(x)) if *x == f64::INFINITY => f.write_str("inf"),
            Self::Constant(n) if *n < Number::Int(0) && loosest == 0 => write!(f, "({n})"),
            Self::Constant(n) => write!(f, "{n}"),
            Self::Field(name) => {
                let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '$');
                let is_operator = Operator::ALL.iter().any(|(sign, ..)| sign.eq_ignore_ascii_case(name));
                let plain = !name.is_empty() && name.chars().all(word);
                if plain && !is_operator && !name.eq_ignore_ascii_case("as") {
                    f.write_str(name)
                } else {
                    f.write_str(&quote_always(name))
                }
            }
            Self::Negated(inner) if loosest == 0 => {
                f.write_str("(-")?;
                inner.show(f, 1)?;
                f.write_str(")")
            }
            Self::Negated(inner) => {
                f.write_str("-")?;
                inner.show(f, 1)
            }
            Self::Pair(operator, left, right) => {
                let binds = operator.binds();
                let (of_left, of_right) =
                    if *operator == Operator::Power { (binds - 1, binds) } else { (binds, binds - 1) };
                f.write_str(if binds > loosest { "(" } else { "" })?;
                left.show(f, of_left)?;
                write!(f, " {} ", operator.sign())?;
                right.show(f, of_right)?;
                f.write_str(if binds > loosest { ")" } else { "" })
            }
            Self::Call(call, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
                write!(f, "{}({})", call.name(), arguments.join(", "))
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, u8::MAX)
    }
}
