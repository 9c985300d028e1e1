//! A function of `stats` as it is written: `count_uniq(user) limit 10 if (level:error)`.

use super::kind::{KINDS, Kind};
use crate::error::ParseError;
use crate::filter::Filter;
use crate::parse::Parser;
use crate::pipe::fields::NamePattern;
use crate::pipe::sort::{Keys, Sort};
use duramen::block::names;
use std::fmt;

/// A function of some fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// What it computes.
    pub kind: Kind,
    /// Of which fields. For those that take rows: what they show of them.
    pub fields: Vec<NamePattern>,
    /// The most values or rows that it keeps.
    pub limit: Option<usize>,
    /// In which order the rows come, of those that take rows.
    pub sort: Keys,
    /// Which rows it looks at at all.
    pub condition: Option<Filter>,
    /// How many seconds the rows are of, for rates; without, a rate is the number itself.
    pub seconds: Option<f64>,
}

impl Function {
    /// `count()`
    pub fn count() -> Self {
        Self {
            kind: Kind::Count,
            fields: Vec::new(),
            limit: None,
            sort: Vec::new(),
            condition: None,
            seconds: None,
        }
    }

    pub(crate) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let names = || KINDS.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
        let at = p.token.start;
        let name = p.text_token("a function such as count()")?.to_ascii_lowercase();
        let Some(&(_, mut kind)) = KINDS.iter().find(|(n, _)| *n == name) else {
            let message = format!("unknown function `{name}`");
            return Err(ParseError::new(p.text, at, message, format!("expected one of {}", names())));
        };
        let mut phi = (name == "quantile").then_some(None);
        let fields = p.list(|p| {
            if let Some(phi @ None) = &mut phi {
                *phi = Some(share(p)?);
                return Ok(None);
            }
            Ok(Some(NamePattern::parse(p)?))
        })?;
        let mut fields: Vec<NamePattern> = fields.into_iter().flatten().collect();
        match phi {
            Some(Some(share)) => kind = Kind::Quantile(share),
            Some(None) => {
                let hint = "write quantile(0.99, field)";
                return Err(ParseError::new(p.text, at, "quantile needs a share and a field", hint));
            }
            None => {}
        }
        if fields.is_empty() && kind.needs_field() {
            let (message, hint) = (format!("{name} needs a field"), format!("write {name}(field)"));
            return Err(ParseError::new(p.text, at, message, hint));
        }
        if kind == Kind::Rate && !fields.iter().all(NamePattern::is_all) {
            let hint = "write rate(), or rate_sum(field) for the sum of a field";
            return Err(ParseError::new(p.text, at, "rate counts rows, and takes no field", hint));
        }
        if kind == Kind::Rate || (kind == Kind::Count && fields.iter().any(NamePattern::is_all)) {
            fields.clear();
        }
        let mut function = Self { kind, ..Self::count() };
        if matches!(kind, Kind::RowMin | Kind::RowMax) {
            let key = fields.remove(0);
            if key.prefix {
                let message = format!("{name} compares one field");
                return Err(ParseError::new(p.text, at, message, "name it first"));
            }
            function.sort = vec![(key.name, kind == Kind::RowMax)];
            function.limit = Some(1);
        }
        if fields.is_empty() && !matches!(kind, Kind::Count | Kind::Rate) {
            fields.push(NamePattern::all());
        }
        function.fields = fields;
        loop {
            if kind.takes_limit() && p.eat_word("limit")? {
                function.limit = Some(p.count("a number of values")?);
            } else if kind == Kind::JsonValues && p.eat_word("sort")? {
                function.sort = Sort::keys(p)?.ok_or_else(|| p.expected("`by (field, …)`"))?;
            } else {
                break;
            }
        }
        if kind == Kind::RowAny {
            function.limit = Some(1);
        }
        function.condition = p.condition()?;
        Ok(function)
    }

    /// Whether both remember the same of the same rows, and only make something else of it: quantiles, or a sum and an
    /// average.
    pub(super) fn remembers_as(&self, other: &Self) -> bool {
        let family = |kind: &Kind| match kind {
            Kind::Quantile(_) => Some(0),
            Kind::Sum | Kind::Avg | Kind::RateSum => Some(1),
            _ => None,
        };
        let same = |mine: Option<u8>, theirs| mine.is_some() && mine == theirs;
        self == other
            || (same(family(&self.kind), family(&other.kind))
                && self.fields == other.fields
                && self.condition == other.condition)
    }

    /// Whether it counts all rows.
    pub(crate) fn is_plain_count(&self) -> bool {
        matches!(self.kind, Kind::Count | Kind::Rate) && self.fields.is_empty() && self.condition.is_none()
    }

    /// The field, if it only wants to know which values of one there are.
    pub(crate) fn distinct_of(&self) -> Option<&str> {
        match &self.fields[..] {
            [field] if self.kind.is_of_distinct() && !field.prefix && self.condition.is_none() => {
                Some(&field.name)
            }
            _ => None,
        }
    }

    /// Whether it looks at nothing but the numbers of its fields.
    pub(crate) fn looks_at_numbers(&self) -> bool {
        self.fields.iter().all(|field| !field.prefix)
            && (self.kind.is_of_numbers()
                || (matches!(self.kind, Kind::Min | Kind::Max) && self.fields.len() == 1))
    }

    /// Whether rows without a value in any of its fields, of which there are some, are nothing to it.
    pub(crate) fn needs_values(&self) -> bool {
        let needs = matches!(self.kind, Kind::Count | Kind::SumLen) || self.kind.is_of_distinct();
        !self.fields.is_empty() && (needs || self.looks_at_numbers())
    }

    /// If it wants the least or the greatest value of one field, or a row that has it: which, and whether it is the least.
    pub(crate) fn wants_best_of(&self) -> Option<(&str, bool)> {
        match (self.kind, &self.fields[..], &self.sort[..]) {
            (Kind::Min | Kind::Max, [field], _) if !field.prefix && !self.is_of_time() => {
                Some((&field.name, self.kind == Kind::Min))
            }
            (Kind::RowMin | Kind::RowMax, _, [(name, _)]) => Some((name, self.kind == Kind::RowMin)),
            _ => None,
        }
    }

    /// Whether it looks at the time alone, whose values go by when they are.
    pub(crate) fn is_of_time(&self) -> bool {
        matches!(&*self.fields, [field] if !field.prefix && *field.name == *names::TIME)
    }

    /// Calls `see` with what names every field that it looks at.
    pub(crate) fn for_each_field(&self, see: &mut dyn FnMut(NamePattern)) {
        self.fields.iter().cloned().for_each(&mut *see);
        self.sort.iter().for_each(|(name, _)| see(NamePattern::exact(name)));
        if let Some(condition) = &self.condition {
            condition.for_each_field(see);
        }
    }
}

/// The share of `quantile`.
fn share(p: &mut Parser<'_>) -> Result<f64, ParseError> {
    let at = p.token.start;
    let text = p.text_token("a share from 0 to 1, such as 0.99")?;
    text.parse::<f64>().ok().filter(|x| (0.0..=1.0).contains(x)).ok_or_else(|| {
        let hint = "expected a number from 0 to 1, such as 0.99";
        ParseError::new(p.text, at, format!("`{text}` is no share"), hint)
    })
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.kind.name())?;
        let mut arguments: Vec<String> = Vec::new();
        match self.kind {
            Kind::Quantile(phi) if phi != 0.5 => arguments.push(phi.to_string()),
            Kind::RowMin | Kind::RowMax => {
                arguments.extend(self.sort.iter().map(|(name, _)| NamePattern::exact(name).to_string()));
            }
            _ => {}
        }
        // Behind another argument, all fields go without saying.
        let all = matches!(&*self.fields, [one] if one.is_all());
        if self.kind == Kind::Count && self.fields.is_empty() {
            arguments.push("*".into());
        } else if !all || arguments.is_empty() {
            arguments.extend(self.fields.iter().map(ToString::to_string));
        }
        write!(f, "{})", arguments.join(", "))?;
        if self.kind == Kind::JsonValues && !self.sort.is_empty() {
            write!(f, " sort by {}", Sort::show_keys(&self.sort))?;
        }
        if let Some(n) = self.limit.filter(|_| self.kind.takes_limit()) {
            write!(f, " limit {n}")?;
        }
        self.condition.as_ref().map_or(Ok(()), |condition| write!(f, " if ({condition})"))
    }
}
