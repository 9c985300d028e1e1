//! A column of templates, taken apart but not put together: which template each text has, and where what varies
//! lies. What nobody asks for is passed over.

use super::super::MAX_ROWS;
use super::super::bytes::bad;
use super::super::leaf::{self, Leaf};
use super::super::streams::Part;
use super::super::timetext::TimeForm;
use super::super::{ints, leaf::Presence, leaf::Sought};
use super::pattern::{Piece, pieces};
use super::{MAX_PATTERN_BYTES, MAX_PIECES, MAX_VALUES};
use crate::error::Result;
use memchr::memmem::Finder;

/// Texts that are decoded when they are asked for.
#[derive(Debug)]
pub(super) struct Lazy<'a> {
    /// From where they begin.
    part: Part<'a>,
    count: usize,
}

impl<'a> Lazy<'a> {
    /// The `count` texts that come next, which are passed over.
    fn new(part: &mut Part<'a>, count: usize) -> Result<Self> {
        let lazy = Self { part: part.clone(), count };
        leaf::skip(part, count)?;
        Ok(lazy)
    }

    /// Decodes them, within a budget that many of them share.
    pub(super) fn decode(&self, budget: &mut usize) -> Result<Leaf> {
        let mut part = self.part.with_budget(*budget);
        let leaf = leaf::decode(&mut part, self.count)?;
        *budget = part.budget();
        Ok(leaf)
    }

    /// Where among them a word is, as far as can be told cheaply.
    pub(super) fn presence(&self, sought: &Sought<'_>) -> Result<Presence> {
        leaf::presence(&mut self.part.clone(), self.count, sought)
    }

    /// Whether each of them holds the word.
    pub(super) fn hold(&self, word: &Finder<'_>) -> Result<Vec<bool>> {
        Ok(leaf::decode(&mut self.part.clone(), self.count)?.hold(self.count, word))
    }
}

/// Times that are decoded when they are asked for.
#[derive(Debug)]
pub(super) struct LazyTimes<'a> {
    pub(super) form: TimeForm,
    /// Whether they are differences to the rows' times.
    pub(super) relative: bool,
    part: Part<'a>,
    count: usize,
}

impl LazyTimes<'_> {
    /// Decodes them, within a budget that many of them share.
    pub(super) fn decode(&self, budget: &mut usize) -> Result<Vec<i64>> {
        let mut part = self.part.with_budget(*budget);
        let times = ints::decode(&mut part, self.count)?;
        *budget = part.budget();
        Ok(times)
    }
}

/// What stands in one place of a template.
#[derive(Debug)]
pub(super) enum Place<'a> {
    Literal(&'a str),
    Variable(Lazy<'a>),
    Time(LazyTimes<'a>),
    Reference(usize),
}

/// All texts of a column of templates.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// The template of each text: 0 none, n template n-1.
    pub(super) numbers: Vec<u32>,
    /// How many texts each template has.
    pub(super) counts: Vec<usize>,
    pub(super) templates: Vec<Vec<Place<'a>>>,
    /// Texts without a template.
    pub(super) whole: Lazy<'a>,
    pub(super) whole_count: usize,
    /// How many bytes decoding all this may make.
    pub(super) budget: usize,
}

impl<'a> Parts<'a> {
    /// Takes `count` texts apart; the tag has been read.
    pub(crate) fn read(part: &mut Part<'a>, count: usize) -> Result<Self> {
        let template_count = part.meta.count(MAX_ROWS.min(count))?;
        let mut patterns: Vec<&[u8]> = Vec::new();
        for _ in 0..template_count {
            let len = part.meta.count(MAX_PATTERN_BYTES)?;
            patterns.push(part.text.take(len)?);
        }
        let mut counts = vec![0usize; template_count];
        let mut whole_count = 0;
        let mut numbers = Vec::with_capacity(count);
        for n in ints::decode(part, count)? {
            let number = u32::try_from(n).map_err(|_| bad("there is no such template"))?;
            match (number as usize).checked_sub(1) {
                None => whole_count += 1,
                Some(n) => *counts.get_mut(n).ok_or_else(|| bad("there is no such template"))? += 1,
            }
            numbers.push(number);
        }
        let whole = Lazy::new(part, whole_count)?;
        let mut templates = Vec::with_capacity(template_count);
        let (mut piece_count, mut value_count) = (0, 0);
        for (pattern, &count) in patterns.iter().zip(&counts) {
            let pieces = pieces(pattern).ok_or_else(|| bad("a template makes no sense"))?;
            let variables = pieces.iter().filter(|p| matches!(p, Piece::Variable | Piece::Time(_))).count();
            piece_count += pieces.len();
            value_count += variables * count;
            if piece_count > MAX_PIECES || value_count > MAX_VALUES {
                return Err(bad("its templates have too many pieces"));
            }
            let place = |piece| place(piece, pattern, part, count);
            templates.push(pieces.into_iter().map(place).collect::<Result<_>>()?);
        }
        Ok(Self { numbers, counts, templates, whole, whole_count, budget: part.budget() })
    }
}

fn place<'a>(piece: Piece, pattern: &'a [u8], part: &mut Part<'a>, count: usize) -> Result<Place<'a>> {
    Ok(match piece {
        Piece::Literal { start, end } => {
            // Only the pieces between the holes are text: what describes a hole is bytes.
            let literal = std::str::from_utf8(&pattern[start as usize..end as usize]);
            Place::Literal(literal.map_err(|_| bad("a template is not UTF-8"))?)
        }
        Piece::Variable => Place::Variable(Lazy::new(part, count)?),
        Piece::Reference(column) => Place::Reference(column),
        Piece::Time(form) => {
            let relative = part.meta.u8()? != 0;
            let times = LazyTimes { form, relative, part: part.clone(), count };
            ints::skip(part, count)?;
            Place::Time(times)
        }
    })
}
