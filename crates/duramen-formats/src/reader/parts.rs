//! Lines that come in parts, put together again.
//!
//! Parts of two streams may lie among each other, and whole lines of one between the parts of the other. So all that comes
//! from the first part on waits until no line lacks its end: then one can leave the input behind it, and go on there.

use crate::container::{Head, Stream};

/// The most bytes that wait; then they are given out as they are, and what is left of their lines becomes lines of their own.
pub(super) const MAX_WAITING_BYTES: usize = 4 << 20;
/// The most lines that wait, for the same.
pub(super) const MAX_WAITING_LINES: usize = 10_000;

/// A line, or a piece of one that is too long.
#[derive(Debug)]
pub(super) struct Waiting {
    pub head: Head,
    pub text: Vec<u8>,
    /// How many lines of the input it was, and how many bytes they take.
    pub lines: u64,
    pub raw_len: usize,
    /// Whether it begins a line, and whether it ends one.
    pub is_first: bool,
    pub is_last: bool,
}

/// What waits, in the order in which it began.
#[derive(Debug, Default)]
pub(super) struct Parts {
    waiting: Vec<Waiting>,
    /// Of each stream, the place of the line with which the next part goes on. They are never more than there are streams.
    open: Vec<(Stream, usize)>,
    size_bytes: usize,
    lines: usize,
    /// Where the first of them begins in the input.
    pub begin: u64,
}

impl Parts {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a line, or a part of one. One that gets longer than `max_line_bytes` is cut between parts.
    pub fn take(
        &mut self,
        head: Head,
        content: &[u8],
        is_part: bool,
        input: (usize, u64),
        max_line_bytes: usize,
    ) {
        let (raw_len, end_offset) = input;
        if self.waiting.is_empty() {
            self.begin = end_offset - raw_len as u64;
        }
        self.size_bytes += content.len();
        self.lines += 1;
        let mut is_first = true;
        let stream = head.stream;
        if let Some(at) = self.open.iter().position(|(of, _)| *of == stream)
            && let Some(open) = self.waiting.get_mut(self.open[at].1)
        {
            let goes_on = open.text.len() + content.len() <= max_line_bytes;
            if !is_part || !goes_on {
                self.open.swap_remove(at);
            }
            if goes_on {
                open.text.extend_from_slice(content);
                open.lines += 1;
                open.raw_len += raw_len;
                return;
            }
            (open.is_last, is_first) = (false, false);
        }
        self.size_bytes += head.size_bytes();
        if is_part {
            self.open.push((stream, self.waiting.len()));
        }
        let text = content.to_vec();
        self.waiting.push(Waiting { head, text, lines: 1, raw_len, is_first, is_last: true });
    }

    /// Whether it is time to give out what waits: all is whole, or there is too much of it.
    pub fn is_due(&self) -> bool {
        self.size_bytes > MAX_WAITING_BYTES || self.lines >= MAX_WAITING_LINES || self.open.is_empty()
    }

    /// Gives out what waits.
    pub fn give_out(&mut self) -> Vec<Waiting> {
        (self.size_bytes, self.lines) = (0, 0);
        self.open.clear();
        std::mem::take(&mut self.waiting)
    }
}
