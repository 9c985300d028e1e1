//! The entry of a column.

use super::super::bytes::{Reader, bad, put_bytes, put_varint, put_zigzag};
use super::location::{Location, Locations, put_location};
use crate::error::Result;

const PER_VALUE: u8 = 128;

/// How a column is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Constant(Box<str>),
    Alias,
    Integers {
        min: i64,
        max: i64,
        at: Location,
    },
    Texts {
        at: Location,
        in_grams: bool,
        /// Whether one of them may be empty.
        has_empty: bool,
        /// Where their bytes lie, if not in the part: each a bundle of text alone, of whole texts.
        pages: Vec<Location>,
    },
}

impl Form {
    /// Where its part lies, if it has one.
    pub(crate) fn location(&self) -> Option<&Location> {
        match self {
            Self::Constant(_) | Self::Alias => None,
            Self::Integers { at, .. } | Self::Texts { at, .. } => Some(at),
        }
    }

    /// All parts it has, pages included.
    pub(crate) fn locations(&self) -> impl Iterator<Item = &Location> {
        let pages: &[Location] = if let Self::Texts { pages, .. } = self { pages } else { &[] };
        self.location().into_iter().chain(pages)
    }
}

/// A column's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnEntry {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// The kind of all values, or `None`: each has its own.
    pub(crate) kind: Option<u8>,
    /// Which map says what slots have a value; `None`: all.
    pub(crate) map: Option<usize>,
    /// How many values there are.
    pub(crate) count: usize,
}

impl ColumnEntry {
    pub(super) fn write(&self, p: &mut Vec<u8>) {
        put_bytes(p, self.name.as_bytes());
        p.push(match self.form {
            Form::Constant(_) => 0,
            Form::Alias => 1,
            Form::Integers { .. } => 2,
            Form::Texts { in_grams, has_empty, ref pages, .. } => {
                3 + u8::from(in_grams) + 2 * u8::from(!has_empty) + 4 * u8::from(!pages.is_empty())
            }
        });
        p.push(self.kind.unwrap_or(PER_VALUE));
        match self.map {
            None => put_varint(p, 0),
            Some(map) => {
                put_varint(p, map as u64 + 1);
                put_varint(p, self.count as u64);
            }
        }
        match &self.form {
            Form::Constant(text) => put_bytes(p, text.as_bytes()),
            Form::Alias => {}
            Form::Integers { min, max, at } => {
                put_zigzag(p, *min);
                put_varint(p, max.wrapping_sub(*min) as u64);
                put_location(p, at);
            }
            Form::Texts { at, pages, .. } => {
                put_location(p, at);
                if !pages.is_empty() {
                    put_varint(p, pages.len() as u64);
                    pages.iter().for_each(|page| put_location(p, page));
                }
            }
        }
    }

    pub(super) fn read(
        r: &mut Reader<'_>,
        rows: usize,
        maps: usize,
        locations: &mut Locations,
    ) -> Result<Self> {
        let name = r.str()?.to_owned();
        let form = r.u8()?;
        let kind = match r.u8()? {
            PER_VALUE => None,
            kind if kind <= 4 => Some(kind),
            _ => return Err(bad("a kind of values is unknown")),
        };
        let (map, count) = match r.count(maps)? {
            0 => (None, rows),
            map => (Some(map - 1), r.count(rows)?),
        };
        let form = match form {
            0 => Form::Constant(r.str()?.into()),
            1 => Form::Alias,
            2 => {
                let min = r.zigzag()?;
                let max = min.wrapping_add(r.varint()? as i64);
                Form::Integers { min, max, at: locations.next(r)? }
            }
            3..=10 => {
                let at = locations.next(r)?;
                let pages = if form < 7 { Vec::new() } else { locations.pages(r)? };
                let (in_grams, has_empty) = (form % 2 == 0, matches!(form, 3 | 4 | 7 | 8));
                Form::Texts { at, in_grams, has_empty, pages }
            }
            _ => return Err(bad("a form of columns is unknown")),
        };
        if kind.is_none() && !matches!(form, Form::Integers { .. } | Form::Texts { .. }) {
            return Err(bad("kinds have no place"));
        }
        Ok(Self { name, form, kind, map, count })
    }
}
