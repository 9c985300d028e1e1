//! Putting texts together, some at a time.
//!
//! Texts of one template have the same pieces. So it goes piece by piece: first it is reckoned how long each text becomes,
//! and what has no text yet, numbers and times, is written; then each piece of all texts of a template is copied to its
//! place. What kind of piece it is, is asked once for all of them.

use super::super::bytes::bad;
use super::super::leaf::Leaf;
use super::super::streams::MAX_STREAM_BYTES;
use super::super::texts::Texts;
use super::super::timetext;
use super::decode::{Source, Sources};
use crate::column::{Column, ColumnData, IntText, bit};
use crate::error::Result;

/// So many texts are put together at a time: few enough that they stay near the processor until all their pieces are there.
pub(super) const BATCH_TEXTS: usize = 512;

/// Puts the texts of a column together, from the first to the last.
pub(super) struct Assembly<'a, 'p> {
    sources: &'a Sources<'p>,
    /// The template of each text, as in [`super::decode::Plan`].
    numbers: &'a [u16],
    /// How many texts are behind it, and how many of each number.
    done: usize,
    next: Vec<u32>,
    batch: Batch,
}

/// What is known of the texts that are being put together.
#[derive(Default)]
struct Batch {
    members: Vec<Member>,
    /// How long each text is, then where its next piece goes.
    places: Vec<usize>,
    /// Numbers and times, in the order in which they are asked for.
    written: Texts,
}

/// A text of a batch.
#[derive(Clone, Copy)]
struct Member {
    /// That of its template.
    number: u16,
    /// Which one of the batch it is.
    text: u32,
    /// Which one of its template it is.
    rank: u32,
}

/// What all texts of a template have in one place.
enum Piece<'a> {
    Same(&'a [u8]),
    Texts(&'a Texts),
    Dictionary(&'a Texts, &'a [u32]),
    Integers(&'a [i64]),
    Decimals(&'a Leaf),
    Times(timetext::TimeForm, &'a [i64]),
    Column(&'a Column),
}

impl<'a> Piece<'a> {
    fn of_leaf(leaf: &'a Leaf) -> Self {
        match leaf {
            Leaf::Constant(text) => Self::Same(text),
            Leaf::Texts(texts) => Self::Texts(texts),
            Leaf::Dictionary { values, codes } => Self::Dictionary(values, codes),
            Leaf::Integers(values) => Self::Integers(values),
            Leaf::Decimals(..) => Self::Decimals(leaf),
        }
    }

    fn of(source: &'a Source<'_>) -> Self {
        match source {
            Source::Literal(text) => Self::Same(text.as_bytes()),
            Source::Leaf(leaf) => Self::of_leaf(leaf),
            Source::Times(form, times) => Self::Times(*form, times),
            Source::Column(column) => Self::Column(column),
        }
    }

    /// Writes what has no text yet, of these texts.
    fn write(&self, run: &[Member], slot: impl Fn(&Member) -> usize, written: &mut Texts) -> Result<()> {
        let mut digits = IntText::default();
        let ranks = run.iter().map(|member| member.rank as usize);
        match self {
            Self::Integers(values) => {
                ranks.for_each(|rank| written.push(digits.format(values[rank]).as_bytes()));
            }
            Self::Decimals(leaf) => ranks.for_each(|rank| written.push(leaf.get(rank, &mut digits))),
            Self::Times(form, times) => {
                ranks.for_each(|rank| written.push(&timetext::written(*form, times[rank])));
            }
            Self::Column(column) if !has_texts(column) => {
                for member in run {
                    let text = column.text_at(slot(member), &mut digits);
                    written.push(text.ok_or_else(|| bad("a field is missing"))?.as_bytes());
                }
            }
            Self::Same(_) | Self::Texts(_) | Self::Dictionary(..) | Self::Column(_) => {}
        }
        Ok(())
    }

    /// Calls `f` with each of these texts, and what it has here. Of what is written, `next` is the first.
    fn each(
        &self,
        run: &[Member],
        slot: impl Fn(&Member) -> usize,
        (written, next): (&Texts, &mut usize),
        mut f: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        match self {
            Self::Same(text) => run.iter().for_each(|member| f(member.text as usize, text)),
            Self::Texts(texts) => {
                run.iter().for_each(|member| f(member.text as usize, texts.get(member.rank as usize)));
            }
            Self::Dictionary(values, codes) => {
                let value = |member: &Member| values.get(codes[member.rank as usize] as usize);
                run.iter().for_each(|member| f(member.text as usize, value(member)));
            }
            Self::Column(column) if has_texts(column) => {
                for member in run {
                    let text = text_of(column, slot(member)).ok_or_else(|| bad("a field is missing"))?;
                    f(member.text as usize, text);
                }
            }
            Self::Integers(_) | Self::Decimals(_) | Self::Times(..) | Self::Column(_) => {
                for (member, i) in run.iter().zip(*next..) {
                    f(member.text as usize, written.get(i));
                }
                *next += run.len();
            }
        }
        Ok(())
    }
}

/// Whether a column's values are there as texts.
fn has_texts(column: &Column) -> bool {
    match &column.data {
        ColumnData::Const(_) | ColumnData::Dict { .. } | ColumnData::Text { .. } => true,
        ColumnData::Int { .. } | ColumnData::Decimal { .. } => false,
    }
}

/// The text in a slot of a column that [`has_texts`]; `None` where there is none.
fn text_of(column: &Column, slot: usize) -> Option<&[u8]> {
    match &column.data {
        ColumnData::Const(text) => Some(text.as_bytes()),
        ColumnData::Dict { values, codes } => values.bytes_of(codes.get(slot) as usize),
        ColumnData::Text { text, ends, present } => {
            if present.as_ref().is_some_and(|present| !bit(present, slot)) {
                return None;
            }
            let start = if slot == 0 { 0 } else { *ends.get(slot - 1)? as usize };
            text.as_bytes().get(start..*ends.get(slot)? as usize)
        }
        ColumnData::Int { .. } | ColumnData::Decimal { .. } => None,
    }
}

impl<'a, 'p> Assembly<'a, 'p> {
    pub(super) fn new(sources: &'a Sources<'p>, numbers: &'a [u16]) -> Self {
        let next = vec![0; 1 + sources.templates.len()];
        Self { sources, numbers, done: 0, next, batch: Batch::default() }
    }

    /// How many texts are still to come.
    pub(super) fn left(&self) -> usize {
        self.numbers.len() - self.done
    }

    /// Appends the next [`BATCH_TEXTS`], or those that are left; nothing for each that is not `wanted`.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if what they are made of does not fit together, or they become longer than any encoder's.
    pub(super) fn append(&mut self, wanted: impl Fn(usize) -> bool, out: &mut Texts) -> Result<()> {
        let (first, count) = (self.done, self.left().min(BATCH_TEXTS));
        self.done += count;
        let Batch { members, places, written } = &mut self.batch;
        members.clear();
        for (text, &number) in self.numbers[first..self.done].iter().enumerate() {
            let next = &mut self.next[number as usize];
            if wanted(first + text) {
                members.push(Member { number, text: text as u32, rank: *next });
            }
            *next += 1;
        }
        members.sort_by_key(|member| member.number);
        places.clear();
        places.resize(count, 0);
        written.clear();
        let sources = self.sources;
        let slot =
            |member: &Member| sources.slots.get(first + member.text as usize).copied().unwrap_or(0) as usize;
        let runs = || members.chunk_by(|a, b| a.number == b.number);
        let mut next = 0;
        for run in runs() {
            for piece in sources.pieces(run[0].number) {
                piece.write(run, slot, written)?;
                piece.each(run, slot, (written, &mut next), |text, bytes| places[text] += bytes.len())?;
                written.check()?;
            }
        }
        let before = out.bytes.len();
        let mut end = before;
        for place in &mut *places {
            let start = end;
            end += std::mem::replace(place, start);
            if end > MAX_STREAM_BYTES {
                return Err(bad("a text is too long"));
            }
            out.ends.push(end as u32);
        }
        out.bytes.resize(end, 0);
        next = 0;
        for run in runs() {
            for piece in sources.pieces(run[0].number) {
                piece.each(run, slot, (written, &mut next), |text, bytes| {
                    let place = &mut places[text];
                    out.bytes[*place..*place + bytes.len()].copy_from_slice(bytes);
                    *place += bytes.len();
                })?;
            }
        }
        Ok(())
    }
}

impl Sources<'_> {
    /// The pieces of all texts with this number.
    fn pieces(&self, number: u16) -> impl Iterator<Item = Piece<'_>> {
        let (whole, template) = match number.checked_sub(1) {
            None => (self.whole.as_ref(), &[][..]),
            Some(template) => (None, &*self.templates[usize::from(template)]),
        };
        whole.map(Piece::of_leaf).into_iter().chain(template.iter().map(Piece::of))
    }
}
