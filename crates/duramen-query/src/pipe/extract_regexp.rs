//! `extract_regexp "ip=(?P<ip>[0-9.]+)" from field`: what the named groups of a regular expression match.

use super::fields::NamePattern;
use super::maker::{Made, Maker, Texts};
use super::row_pipe::{RowPipe, Worker};
use super::writes::{Writes, show_field};
use crate::error::ParseError;
use crate::filter::re2::group_name;
use crate::filter::regex::Pattern;
use crate::parse::{Parser, quote_always};
use duramen::ValueKind;

/// What to find, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractRegexp {
    pattern: Pattern,
    /// The named groups, by number.
    groups: Vec<(usize, Box<str>)>,
    from: Box<str>,
    writes: Writes,
}

impl ExtractRegexp {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let at = p.token.start;
        let expression = p.text_token("a regular expression between quotes")?;
        let pattern = Pattern::new(&expression).map_err(|e| p.not_a_regex(at, &e))?;
        let names = pattern.regex().capture_names().enumerate();
        let groups: Vec<(usize, Box<str>)> =
            names.filter_map(|(i, name)| Some((i, group_name(name?).into()))).collect();
        if groups.is_empty() {
            let message = "the regular expression names no field";
            return Err(ParseError::new(p.text, at, message, "name what to take: (?P<field>…)"));
        }
        Ok(Self { pattern, groups, from: p.field_after("from")?, writes: Writes::parse_all(p)? })
    }
}

impl RowPipe for ExtractRegexp {
    fn name(&self) -> &'static str {
        "extract_regexp"
    }

    fn arguments(&self) -> String {
        let expression = quote_always(self.pattern.source());
        format!(" {expression}{}{}", show_field("from", &self.from), self.writes.show())
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

impl ExtractRegexp {
    fn extract(&self) -> Maker<'_> {
        let mut places = self.pattern.regex().capture_locations();
        let make = move |texts: &Texts<'_>, made: &mut [Made]| {
            let text = texts(0);
            let found = self.pattern.regex().captures_read(&mut places, text).is_some();
            for (made, (group, _)) in made.iter_mut().zip(&self.groups) {
                let range = if found { places.get(*group) } else { None };
                let value = range.and_then(|(from, to)| text.get(from..to)).unwrap_or("");
                made.start(ValueKind::String).push_str(value);
            }
        };
        let names = self.groups.iter().map(|(_, name)| &**name);
        Maker {
            reads: vec![&self.from],
            writes: names.collect(),
            keeps: self.writes,
            shortcut: None,
            numbers: None,
            start: self.pattern.start(),
            make: Box::new(make),
        }
    }
}
