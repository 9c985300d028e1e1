//! The functions of `stats`, and what each remembers of the rows it has seen.

use crate::error::{ParseError, Result};
use crate::exec::memory::Memory;
use crate::number::{Number, format_float, format_rounded};
use crate::order;
use crate::parse::{Parser, quote};
use crate::row::{is_json_number, write_json_string};
use duramen::ValueKind;
use duramen::column::IntText;
use hashbrown::HashSet;
use std::cmp::Ordering;
use std::fmt;

type Set = HashSet<Box<str>, foldhash::fast::FixedState>;

/// What a function computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Rows; of fields, rows where one of them is not empty.
    Count,
    /// Different combinations of values that are not all empty.
    CountUniq,
    /// The sum of all numbers.
    Sum,
    /// Their mean.
    Avg,
    /// The least value that is not empty.
    Min,
    /// The greatest.
    Max,
    /// All values that are not empty, each once, as a sorted JSON array.
    UniqValues,
    /// The number that this share of all numbers does not exceed.
    Quantile(f64),
}

/// The functions by name; `quantile` stands for itself.
const KINDS: &[(&str, Kind)] = &[
    ("count", Kind::Count),
    ("count_uniq", Kind::CountUniq),
    ("sum", Kind::Sum),
    ("avg", Kind::Avg),
    ("min", Kind::Min),
    ("max", Kind::Max),
    ("uniq_values", Kind::UniqValues),
    ("uniq", Kind::UniqValues),
    ("median", Kind::Quantile(0.5)),
    ("quantile", Kind::Quantile(0.5)),
];

/// Whether this is the name of a function, in lower case.
pub(crate) fn is_function(name: &str) -> bool {
    KINDS.iter().any(|(n, _)| *n == name)
}

/// A function of some fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// What it computes.
    pub kind: Kind,
    /// Of which fields.
    pub fields: Vec<Box<str>>,
    /// The most values that `count_uniq` and `uniq_values` look at.
    pub limit: Option<usize>,
}

/// A value as a function sees it.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// An integer, not yet text.
    Int(i64),
    /// A text; empty where missing.
    Text(&'a str),
}

impl Cell<'_> {
    fn is_empty(self) -> bool {
        matches!(self, Self::Text(""))
    }

    fn number(self) -> Option<Number> {
        match self {
            Self::Int(n) => Some(Number::Int(n)),
            Self::Text(text) => Number::parse(text),
        }
    }

    /// Calls `see` with the text.
    pub fn with_text<T>(self, see: impl FnOnce(&str) -> T) -> T {
        match self {
            Self::Int(n) => see(IntText::default().format(n)),
            Self::Text(text) => see(text),
        }
    }
}

impl Function {
    /// `count()`
    pub fn count() -> Self {
        Self { kind: Kind::Count, fields: Vec::new(), limit: None }
    }

    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let names = || KINDS.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
        let at = p.token.start;
        let name = p.text_token("a function such as count()")?.to_ascii_lowercase();
        let Some(&(_, mut kind)) = KINDS.iter().find(|(n, _)| *n == name) else {
            let message = format!("unknown function `{name}`");
            return Err(ParseError::new(p.text, at, message, format!("expected one of {}", names())));
        };
        let mut phi = (name == "quantile").then_some(None);
        let mut fields = p.list(|p| {
            if let Some(phi @ None) = &mut phi {
                let at = p.token.start;
                let text = p.text_token("a share from 0 to 1, such as 0.99")?;
                let share = text.parse::<f64>().ok().filter(|x| (0.0..=1.0).contains(x));
                *phi = Some(share.ok_or_else(|| {
                    ParseError::new(
                        p.text,
                        at,
                        format!("`{text}` is no share"),
                        "expected a number from 0 to 1, such as 0.99",
                    )
                })?);
                return Ok(None);
            }
            Ok(if p.eat_punct('*')? { None } else { Some(p.field_name()?) })
        })?;
        match phi {
            Some(Some(share)) => kind = Kind::Quantile(share),
            Some(None) => {
                return Err(ParseError::new(
                    p.text,
                    at,
                    "quantile needs a share and a field",
                    "write quantile(0.99, field)",
                ));
            }
            None => {}
        }
        let fields: Vec<Box<str>> = fields.drain(..).flatten().collect();
        if fields.is_empty() && kind != Kind::Count {
            return Err(ParseError::new(
                p.text,
                at,
                format!("{name} needs a field"),
                format!("write {name}(field)"),
            ));
        }
        let limited = matches!(kind, Kind::CountUniq | Kind::UniqValues);
        let limit = if limited && p.eat_word("limit")? { Some(p.count("a number of values")?) } else { None };
        Ok(Self { kind, fields, limit })
    }

    /// What it remembers before the first row.
    pub(super) fn state(&self) -> State {
        match self.kind {
            Kind::Count => State::Count(0),
            Kind::CountUniq | Kind::UniqValues => State::Set(Set::default()),
            Kind::Sum | Kind::Avg => State::Sum { ints: 0, floats: 0.0, any_float: false, count: 0 },
            Kind::Min | Kind::Max => State::Extreme(None),
            Kind::Quantile(_) => State::Numbers(Vec::new()),
        }
    }

    /// Takes a row's values of its fields.
    pub(super) fn add(&self, state: &mut State, cells: &[Cell<'_>], memory: &Memory) -> Result<()> {
        match state {
            State::Count(n) => *n += u64::from(cells.is_empty() || cells.iter().any(|c| !c.is_empty())),
            State::Set(set) if self.kind == Kind::CountUniq => {
                if cells.iter().all(|c| c.is_empty()) || self.limit.is_some_and(|n| set.len() >= n) {
                    return Ok(());
                }
                if let [one] = cells {
                    return one.with_text(|text| insert(set, text, memory));
                }
                let mut tuple = String::new();
                for cell in cells {
                    cell.with_text(|text| {
                        // The length makes ("a", "bc") differ from ("ab", "c").
                        tuple.push_str(&format!("{}:{text}", text.len()));
                    });
                }
                insert(set, &tuple, memory)?;
            }
            State::Set(set) => {
                for cell in cells.iter().filter(|c| !c.is_empty()) {
                    cell.with_text(|text| insert(set, text, memory))?;
                }
                self.keep_first(set, memory, 2);
            }
            State::Sum { ints, floats, any_float, count } => {
                for number in cells.iter().filter_map(|c| c.number()) {
                    *count += 1;
                    match number {
                        Number::Int(n) => *ints += i128::from(n),
                        Number::Float(x) => {
                            *floats += x;
                            *any_float = true;
                        }
                    }
                }
            }
            State::Extreme(best) => {
                for cell in cells.iter().filter(|c| !c.is_empty()) {
                    cell.with_text(|text| self.better(best, text));
                }
            }
            State::Numbers(numbers) => {
                for number in cells.iter().filter_map(|c| c.number()) {
                    if numbers.len() == numbers.capacity() {
                        memory.charge(numbers.capacity().max(4) * size_of::<Number>(), "quantiles")?;
                    }
                    numbers.push(number);
                }
            }
        }
        Ok(())
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        match &*self.fields {
            [field] => order::compare_of(field, a, b),
            _ => order::compare(a, b),
        }
    }

    fn better(&self, best: &mut Option<Box<str>>, text: &str) {
        let wanted = if self.kind == Kind::Min { Ordering::Less } else { Ordering::Greater };
        if best.as_ref().is_none_or(|b| self.compare(text, b) == wanted) {
            *best = Some(text.into());
        }
    }

    /// Keeps the first values in order, once there are `slack` times as many as the limit. What is among the
    /// first of all is among the first of any part, so that nothing kept in the end was ever dropped.
    fn keep_first(&self, set: &mut Set, memory: &Memory, slack: usize) {
        let Some(limit) = self.limit else { return };
        if set.len() > limit.saturating_mul(slack) {
            let mut values: Vec<Box<str>> = set.drain().collect();
            values.sort_unstable_by(|a, b| self.compare(a, b));
            values.drain(limit..).for_each(|v| memory.release(entry_bytes(&v)));
            set.extend(values);
        }
    }

    /// Adds what another remembers of other rows.
    pub(super) fn merge(&self, state: &mut State, other: State, memory: &Memory) -> Result<()> {
        match (state, other) {
            (State::Count(a), State::Count(b)) => *a += b,
            (State::Set(a), State::Set(b)) => {
                for value in b {
                    let bytes = entry_bytes(&value);
                    if !a.insert(value) {
                        memory.release(bytes);
                    }
                }
                if self.kind == Kind::UniqValues {
                    self.keep_first(a, memory, 2);
                }
            }
            (
                State::Sum { ints, floats, any_float, count },
                State::Sum { ints: i, floats: f, any_float: any, count: c },
            ) => {
                *ints += i;
                *floats += f;
                *any_float |= any;
                *count += c;
            }
            (State::Extreme(a), State::Extreme(Some(text))) => self.better(a, &text),
            (State::Numbers(a), State::Numbers(b)) => {
                memory.charge(b.len() * size_of::<Number>(), "quantiles")?;
                a.extend(b);
            }
            _ => {}
        }
        Ok(())
    }

    /// The result.
    pub(super) fn result(&self, state: State, memory: &Memory) -> (String, ValueKind) {
        let number = |text: String| {
            let kind = if is_json_number(&text) { ValueKind::Number } else { ValueKind::String };
            (text, kind)
        };
        match state {
            State::Count(n) => number(n.to_string()),
            State::Set(set) if self.kind == Kind::CountUniq => {
                number(self.limit.map_or(set.len(), |n| n.min(set.len())).to_string())
            }
            State::Set(mut set) => {
                self.keep_first(&mut set, memory, 1);
                let mut values: Vec<_> = set.into_iter().collect();
                values.sort_unstable_by(|a, b| self.compare(a, b));
                let mut json = vec![b'['];
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        json.push(b',');
                    }
                    write_json_string(value, &mut json);
                }
                json.push(b']');
                (String::from_utf8(json).unwrap_or_default(), ValueKind::Json)
            }
            State::Sum { count: 0, .. } => number("NaN".into()),
            State::Sum { ints, floats, any_float, count } => {
                let sum = ints as f64 + floats;
                number(match self.kind {
                    Kind::Avg => format_rounded(sum / count as f64),
                    _ if any_float => format_rounded(sum),
                    _ => ints.to_string(),
                })
            }
            State::Extreme(best) => number(best.unwrap_or_default().into()),
            State::Numbers(mut numbers) => {
                let Kind::Quantile(phi) = self.kind else { return number("NaN".into()) };
                let Some(last) = numbers.len().checked_sub(1) else { return number("NaN".into()) };
                // The nearest rank.
                let at = ((phi * numbers.len() as f64).ceil() as usize).saturating_sub(1).min(last);
                let (_, chosen, _) = numbers.select_nth_unstable(at);
                number(match chosen {
                    Number::Int(n) => n.to_string(),
                    Number::Float(x) => format_float(*x),
                })
            }
        }
    }
}

fn entry_bytes(text: &str) -> usize {
    text.len() + 40
}

fn insert(set: &mut Set, text: &str, memory: &Memory) -> Result<()> {
    if !set.contains(text) {
        memory.charge(entry_bytes(text), "unique values")?;
        set.insert(text.into());
    }
    Ok(())
}

/// What a function remembers.
#[derive(Debug)]
pub(crate) enum State {
    Count(u64),
    Set(Set),
    Sum { ints: i128, floats: f64, any_float: bool, count: u64 },
    Extreme(Option<Box<str>>),
    Numbers(Vec<Number>),
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields.iter().map(|n| quote(n)).collect::<Vec<_>>().join(", ");
        match self.kind {
            Kind::Quantile(0.5) => write!(f, "median({fields})"),
            Kind::Quantile(phi) => write!(f, "quantile({phi}, {fields})"),
            kind => {
                let name = KINDS.iter().find(|(_, k)| *k == kind).map_or("", |(n, _)| n);
                write!(f, "{name}({fields})")
            }
        }?;
        self.limit.map_or(Ok(()), |n| write!(f, " limit {n}"))
    }
}
