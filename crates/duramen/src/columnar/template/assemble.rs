//! Putting texts together, some at a time.

use super::super::bytes::bad;
use super::super::texts::Texts;
use super::super::timetext::TimeWriter;
use super::decode::{Source, Sources};
use super::start::Start;
use crate::column::IntText;
use crate::error::Result;

/// So many texts are put together at a time: few enough that they stay near the processor until somebody has looked at them.
const BATCH_TEXTS: usize = 512;

/// Puts the texts of a column together, from the first to the last.
pub(super) struct Assembly<'a, 'p> {
    sources: &'a Sources<'p>,
    /// The template of each text, as in [`super::decode::Plan`].
    numbers: &'a [u16],
    /// How many texts are behind it, and how many of each number.
    done: usize,
    next: Vec<usize>,
    /// How many pieces of each template are left out at its front.
    left_out: Vec<usize>,
    writer: TimeWriter,
    digits: IntText,
}

impl<'a, 'p> Assembly<'a, 'p> {
    pub(super) fn new(sources: &'a Sources<'p>, numbers: &'a [u16]) -> Self {
        let next = vec![0; 1 + sources.templates.len()];
        let left_out = vec![0; sources.templates.len()];
        let (writer, digits) = (TimeWriter::default(), IntText::default());
        Self { sources, numbers, done: 0, next, left_out, writer, digits }
    }

    /// The same without the pieces before the first in which this may begin.
    pub(super) fn starting_at(mut self, start: &str) -> Self {
        if let Some(mut start) = Start::new(start) {
            let templates = self.sources.templates.iter();
            self.left_out = templates.map(|template| start.pieces_before(template)).collect();
        }
        self
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
        for _ in 0..self.left().min(BATCH_TEXTS) {
            let i = self.done;
            self.done += 1;
            let n = usize::from(self.numbers[i]);
            let number = self.next[n];
            self.next[n] += 1;
            if wanted(i) {
                self.put(i, n, number, out)?;
            }
            out.push(b"");
        }
        Ok(())
    }

    /// Appends text `i`, which is the one with this number of template `n - 1`, or of those without one.
    fn put(&mut self, i: usize, n: usize, number: usize, out: &mut Texts) -> Result<()> {
        let Self { sources, left_out, writer, digits, .. } = self;
        let Some(template) = n.checked_sub(1) else {
            out.bytes
                .extend_from_slice(sources.whole.as_ref().map_or(b"", |whole| whole.get(number, digits)));
            return out.check();
        };
        for source in sources.templates[template].iter().skip(left_out[template]) {
            match source {
                Source::Literal(text) => out.bytes.extend_from_slice(text.as_bytes()),
                Source::Leaf(leaf) => out.bytes.extend_from_slice(leaf.get(number, digits)),
                Source::Times(form, times) => {
                    out.bytes.extend_from_slice(writer.write(*form, times[number]));
                }
                Source::Column(column) => {
                    let slot = sources.slots.get(i).copied().unwrap_or(0) as usize;
                    let text = column.text_at(slot, digits).ok_or_else(|| bad("a field is missing"))?;
                    out.bytes.extend_from_slice(text.as_bytes());
                }
            }
            out.check()?;
        }
        Ok(())
    }
}
