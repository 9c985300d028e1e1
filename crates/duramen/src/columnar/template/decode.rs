//! Putting texts together again.

use super::super::bytes::bad;
use super::super::leaf::{self, Leaf};
use super::super::streams::Part;
use super::super::texts::Texts;
use super::super::timetext::{self, TimeForm};
use super::super::{MAX_ROWS, ints};
use super::pattern::{Piece, pieces};
use super::{MAX_PATTERN_BYTES, MAX_PIECES, MAX_VALUES};
use crate::column::{Column, IntText};
use crate::error::Result;
use std::sync::Arc;

/// What decoding needs to know of the rest of the block.
pub(crate) struct Context<'a> {
    /// The time of each text's row.
    pub(crate) near: &'a dyn Fn() -> Result<Vec<i64>>,
    /// The slot of each text.
    pub(crate) slots: &'a dyn Fn() -> Vec<u32>,
    /// Another column.
    pub(crate) column: &'a dyn Fn(usize) -> Result<Arc<Column>>,
}

enum Source {
    Literal(Vec<u8>),
    Leaf(Leaf),
    Times(TimeForm, Vec<i64>),
    Column(Arc<Column>),
}

/// Decodes `count` texts; the tag has been read.
pub(crate) fn decode(part: &mut Part<'_>, count: usize, context: &Context<'_>) -> Result<Texts> {
    let template_count = part.meta.count(MAX_ROWS.min(count))?;
    let mut patterns: Vec<&[u8]> = Vec::new();
    for _ in 0..template_count {
        let len = part.meta.count(MAX_PATTERN_BYTES)?;
        let pattern = part.text.take(len)?;
        patterns.push(pattern);
    }
    let numbers = ints::decode(part, count)?;
    let mut texts_of: Vec<Vec<u32>> = vec![Vec::new(); template_count];
    let mut whole_count = 0;
    for (i, &n) in (0..).zip(&numbers) {
        match usize::try_from(n).map_err(|_| bad("there is no such template"))? {
            0 => whole_count += 1,
            n => texts_of.get_mut(n - 1).ok_or_else(|| bad("there is no such template"))?.push(i),
        }
    }
    let whole = leaf::decode(part, whole_count)?;
    let mut near: Option<Vec<i64>> = None;
    let mut templates: Vec<Vec<Source>> = Vec::new();
    let (mut piece_count, mut value_count) = (0, 0);
    for (pattern, texts) in patterns.iter().zip(&texts_of) {
        let pieces = pieces(pattern).ok_or_else(|| bad("a template makes no sense"))?;
        let variables = pieces.iter().filter(|p| matches!(p, Piece::Variable | Piece::Time(_))).count();
        piece_count += pieces.len();
        value_count += variables * texts.len();
        if piece_count > MAX_PIECES || value_count > MAX_VALUES {
            return Err(bad("its templates have too many pieces"));
        }
        let mut sources = Vec::new();
        for piece in pieces {
            sources.push(match piece {
                Piece::Literal { start, end } => {
                    // Only the pieces between the holes are text: what describes a hole is bytes.
                    let literal = &pattern[start as usize..end as usize];
                    std::str::from_utf8(literal).map_err(|_| bad("a template is not UTF-8"))?;
                    Source::Literal(literal.to_vec())
                }
                Piece::Variable => Source::Leaf(leaf::decode(part, texts.len())?),
                Piece::Reference(column) => Source::Column((context.column)(column)?),
                Piece::Time(form) => {
                    let relative = part.meta.u8()? != 0;
                    let mut times = ints::decode(part, texts.len())?;
                    if relative {
                        let near = match &mut near {
                            Some(near) => near,
                            None => near.insert((context.near)()?),
                        };
                        for (time, &i) in times.iter_mut().zip(texts) {
                            *time = time.wrapping_add(near.get(i as usize).copied().unwrap_or(0));
                        }
                    }
                    Source::Times(form, times)
                }
            });
        }
        templates.push(sources);
    }
    let needs_slots = templates.iter().flatten().any(|s| matches!(s, Source::Column(_)));
    let slots = if needs_slots { (context.slots)() } else { Vec::new() };
    let mut next = vec![0usize; template_count];
    let mut next_whole = 0;
    let mut digits = IntText::default();
    let mut out = Texts::default();
    out.ends.reserve(count);
    for (i, &n) in numbers.iter().enumerate() {
        if n == 0 {
            out.push(whole.get(next_whole, &mut digits));
            next_whole += 1;
        } else {
            let template = n as usize - 1;
            let of_template = next[template];
            next[template] += 1;
            for source in &templates[template] {
                match source {
                    Source::Literal(text) => out.bytes.extend_from_slice(text),
                    Source::Leaf(leaf) => out.bytes.extend_from_slice(leaf.get(of_template, &mut digits)),
                    Source::Times(form, times) => timetext::write(*form, times[of_template], &mut out.bytes),
                    Source::Column(column) => {
                        let slot = slots.get(i).copied().unwrap_or(0) as usize;
                        let text = column.text_at(slot, &mut digits);
                        out.bytes
                            .extend_from_slice(text.ok_or_else(|| bad("a field is missing"))?.as_bytes());
                    }
                }
                out.check()?;
            }
            out.push(b"");
        }
        out.check()?;
    }
    Ok(out)
}
