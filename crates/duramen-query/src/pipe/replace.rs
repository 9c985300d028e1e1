//! `replace ("old", "new") at field limit 1`, and `replace_regexp ("(.)old", "$1")` for what an expression matches.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use super::writes::show_field;
use crate::error::ParseError;
use crate::filter::regex::Pattern;
use crate::parse::{Parser, quote_always};
use duramen::ValueKind;
use memchr::memmem::Finder;

/// What is replaced.
#[derive(Clone, Debug, PartialEq)]
enum Old {
    Text(Box<str>),
    Match(Pattern),
}

/// What by what, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Replace {
    old: Old,
    new: Box<str>,
    at: Box<str>,
    /// How often at most; 0 is no limit.
    limit: usize,
}

impl Replace {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, |_, _, text| Ok(Old::Text(text.into())))
    }

    pub(super) fn parse_regexp(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Self::read(p, |p, at, text| Ok(Old::Match(Pattern::new(text).map_err(|e| p.not_a_regex(at, &e))?)))
    }

    fn read(
        p: &mut Parser<'_>,
        old: fn(&Parser<'_>, usize, &str) -> Result<Old, ParseError>,
    ) -> Result<Self, ParseError> {
        p.expect_punct('(')?;
        let at = p.token.start;
        let text = p.text_token("what to replace, between quotes")?;
        let old = old(p, at, &text)?;
        p.expect_punct(',')?;
        let new = p.text_token("what to put in its place, between quotes")?.into();
        p.expect_punct(')')?;
        let at = p.field_after("at")?;
        let limit = if p.eat_word("limit")? { p.count("a number of replacements")? } else { 0 };
        Ok(Self { old, new, at, limit })
    }
}

impl RowPipe for Replace {
    fn name(&self) -> &'static str {
        match self.old {
            Old::Text(_) => "replace",
            Old::Match(_) => "replace_regexp",
        }
    }

    fn arguments(&self) -> String {
        let old = match &self.old {
            Old::Text(text) => quote_always(text),
            Old::Match(pattern) => quote_always(pattern.source()),
        };
        let limit = if self.limit == 0 { String::new() } else { format!(" limit {}", self.limit) };
        format!(" ({old}, {}){}{limit}", quote_always(&self.new), show_field("at", &self.at))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        see(NamePattern::exact(&self.at));
    }

    fn worker(&self) -> Worker<'_> {
        match &self.old {
            Old::Text(old) if old.is_empty() => Box::new(|_| {}),
            Old::Text(old) => {
                let finder = Finder::new(old.as_bytes());
                let mut out = String::new();
                Box::new(move |row| {
                    let Some(text) = row.get(&self.at) else { return };
                    out.clear();
                    let mut end = 0;
                    for (count, at) in finder.find_iter(text.as_bytes()).enumerate() {
                        if self.limit > 0 && count == self.limit {
                            break;
                        }
                        out.push_str(&text[end..at]);
                        out.push_str(&self.new);
                        end = at + old.len();
                    }
                    if end > 0 {
                        out.push_str(&text[end..]);
                        row.set(&self.at, &out, ValueKind::String);
                    }
                })
            }
            Old::Match(pattern) => Box::new(move |row| {
                let replaced = row.get(&self.at).and_then(|text| {
                    match pattern.regex().replacen(text, self.limit, &*self.new) {
                        std::borrow::Cow::Borrowed(_) => None,
                        std::borrow::Cow::Owned(replaced) => Some(replaced),
                    }
                });
                if let Some(replaced) = replaced {
                    row.set(&self.at, &replaced, ValueKind::String);
                }
            }),
        }
    }
}
