//! `extract "user=<name> " from field`: parts of a text, by what stands between them.

use super::fields::NamePattern;
use super::maker::{Made, Maker, Texts};
use super::row_pipe::{RowPipe, Worker};
use super::template::{self, Piece};
use super::writes::{Writes, show_field};
use crate::error::ParseError;
use crate::parse::lexer::quoted_prefix;
use crate::parse::{Parser, quote_always};
use duramen::ValueKind;
use memchr::memmem::Finder;

/// A place in the pattern, and the text after it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The field; none takes anything.
    name: Option<Box<str>>,
    /// Whether quotes are part of the value.
    plain: bool,
    /// Where the value ends; empty at the end of the pattern.
    until: Box<str>,
}

/// What to find, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    pattern: Box<str>,
    start: Box<str>,
    places: Vec<Place>,
    from: Box<str>,
    writes: Writes,
}

impl Extract {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.token.start;
        let pattern = p.text_token("a pattern such as \"user=<name> \"")?;
        let wrong = |message: String| {
            ParseError::new(p.text, at, message, "write a pattern such as \"user=<name> took <_> ms\"")
        };
        let pieces = template::parse(&pattern, &["plain"]).map_err(|(_, why)| wrong(why))?;
        let (mut start, mut places): (Box<str>, Vec<Place>) = ("".into(), Vec::new());
        for piece in pieces {
            match (piece, places.last_mut()) {
                (Piece::Text(text), None) => start = text,
                (Piece::Text(text), Some(place)) => place.until = text,
                (Piece::Field { .. }, Some(place)) if place.until.is_empty() => {
                    return Err(wrong("text must stand between two places of a pattern".into()));
                }
                (Piece::Field { option, name }, _) => {
                    let name = Some(name).filter(|name| !name.is_empty() && **name != *"_");
                    places.push(Place { name, plain: option.is_some(), until: "".into() });
                }
            }
        }
        if places.iter().all(|place| place.name.is_none()) {
            return Err(wrong("the pattern names no field".into()));
        }
        let from = p.field_after("from")?;
        let writes = Writes::parse_all(p)?;
        Ok(Self { pattern: pattern.into(), start, places, from, writes })
    }

    /// Makes the values of the places that have a name; of those that are not reached, nothing. `start` looks for where they
    /// begin, and `ends` for where each ends.
    fn values(&self, start: &Finder<'_>, ends: &[Finder<'_>], text: &str, made: &mut [Made]) {
        made.iter_mut().for_each(|made| {
            made.start(ValueKind::String);
        });
        let Some(at) = start.find(text.as_bytes()) else { return };
        let mut rest = &text[at + self.start.len()..];
        let mut named = made.iter_mut();
        for (place, end) in self.places.iter().zip(ends) {
            let made = if place.name.is_some() { named.next() } else { None };
            let put = |value: &str| {
                if let Some(made) = made {
                    made.start(ValueKind::String).push_str(value);
                }
            };
            if !place.plain
                && let Some((unquoted, len)) = quoted_prefix(rest)
            {
                put(&unquoted);
                match rest[len..].strip_prefix(&*place.until) {
                    Some(after) => rest = after,
                    None => return,
                }
            } else if place.until.is_empty() {
                return put(rest);
            } else {
                let Some(end) = end.find(rest.as_bytes()) else { return };
                put(&rest[..end]);
                rest = &rest[end + place.until.len()..];
            }
        }
    }
}

impl RowPipe for Extract {
    fn name(&self) -> &'static str {
        "extract"
    }

    fn arguments(&self) -> String {
        format!(" {}{}{}", quote_always(&self.pattern), show_field("from", &self.from), self.writes.show())
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.from));
    }

    fn worker(&self) -> Worker<'_> {
        self.extract().worker()
    }

    fn maker(&self) -> Option<Maker<'_>> {
        Some(self.extract())
    }
}

impl Extract {
    fn extract(&self) -> Maker<'_> {
        let names = self.places.iter().filter_map(|place| place.name.as_deref());
        let start = Finder::new(self.start.as_bytes());
        let ends: Vec<_> = self.places.iter().map(|place| Finder::new(place.until.as_bytes())).collect();
        let make = move |texts: &Texts<'_>, made: &mut [Made]| self.values(&start, &ends, texts(0), made);
        Maker {
            reads: vec![&self.from],
            writes: names.collect(),
            keeps: self.writes,
            shortcut: None,
            numbers: None,
            start: &self.start,
            make: Box::new(make),
        }
    }
}
