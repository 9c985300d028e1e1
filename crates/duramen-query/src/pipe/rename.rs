//! `rename a as b` gives a field another name, `copy a as b` a second one; `rename a.* as b.*` does so to all fields
//! whose names begin so, and `rename a* as b` gives all of them one name, which the last of them keeps.

use super::fields::NamePattern;
use super::maker::{Made, Maker, Shortcut};
use super::{Flow, Stage};
use crate::error::{ParseError, Result};
use crate::exec::project::Projection;
use crate::parse::Parser;
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

/// New names, given one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// From and to: the second is a beginning only if the first is.
    pub pairs: Vec<(NamePattern, NamePattern)>,
    /// Whether the old name stays.
    pub copy: bool,
}

impl Rename {
    pub(super) fn parse(p: &mut Parser<'_>, copy: bool) -> Result<Self, ParseError> {
        let mut pairs = Vec::new();
        loop {
            let from = NamePattern::parse(p)?;
            p.eat_word("as")?;
            let at = p.token.start;
            let to = NamePattern::parse(p)?;
            if to.prefix && !from.prefix {
                let message = "only if the first name ends in `*` may the second";
                return Err(ParseError::new(p.text, at, message, "write rename a* as b*"));
            }
            pairs.push((from, to));
            if !p.eat_punct(',')? {
                return if p.at_pipe_end() {
                    Ok(Self { pairs, copy })
                } else {
                    Err(p.expected("`,` or `|`"))
                };
            }
        }
    }

    /// What must come in for what is needed to go out.
    pub(crate) fn needs(&self, needed: Projection) -> Projection {
        // From the last pair to the first: who needs the new name needs the old one.
        self.pairs.iter().rev().fold(needed, |mut needed, (from, to)| {
            if from.prefix {
                // Which of the old names are needed depends on which there are.
                needed.add(from.clone());
            } else if needed.wants(&to.name) || self.copy {
                needed.add(from.clone());
            }
            needed
        })
    }

    /// Each name given, if that is told without asking which names there are.
    pub(crate) fn makers(&self) -> Option<Vec<Maker<'_>>> {
        if self.pairs.iter().any(|(from, to)| from.prefix || to.prefix) {
            return None;
        }
        let shortcut = Some(Shortcut::Name { moves: !self.copy });
        let as_text = |text: &str, made: &mut Made| made.start(ValueKind::String).push_str(text);
        let pairs = self.pairs.iter().filter(|(from, to)| from != to);
        let makers =
            pairs.map(|(from, to)| Maker { shortcut, ..Maker::of_one(&from.name, &to.name, as_text) });
        Some(makers.collect())
    }
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.copy { "copy " } else { "rename " })?;
        for (i, (from, to)) in self.pairs.iter().enumerate() {
            write!(f, "{}{from} as {to}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

pub(super) struct RenameStage<'a> {
    pub rename: &'a Rename,
    pub next: Box<dyn Stage + 'a>,
}

impl Stage for RenameStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        let copy = self.rename.copy;
        let rename = |row: &mut ResultRow, from: &str, to: &str| {
            if copy { row.copy(from, to) } else { row.rename(from, to) }
        };
        for (from, to) in &self.rename.pairs {
            if !from.prefix {
                rename(row, &from.name, &to.name);
                continue;
            }
            let mut named: Vec<String> = row
                .iter()
                .map(|(name, ..)| name)
                .filter(|name| from.matches(name))
                .map(String::from)
                .collect();
            if !to.prefix {
                // Which one stays is not to depend on where it came from.
                named.sort_unstable();
            }
            for name in named {
                let rest = name.get(from.name.len()..).filter(|_| to.prefix).unwrap_or_default();
                rename(row, &name, &format!("{}{rest}", to.name));
            }
        }
        self.next.push(row)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
