//! Texts of few patterns: a template is what stays the same, variables are what does not.
//!
//! A *token* is a longest run of letters, digits, `_` and what is not ASCII, with single `.` and `-` inside. A
//! token with a digit is a variable; so is a time stamp, and so is another field's value that the text repeats
//! (a *reference*: it costs nothing). All else is the template. The variables of one place of one template are
//! a column of their own, encoded as what they turn out to be. Texts whose template is rare are given one that more have
//! (`rare`): with a word or two as variables, or with all that is behind their start as one. If there is none, they are kept
//! whole.
//!
//! ```text
//! in meta:
//!   tag 16
//!   templates   count varint, then each: length varint; the bytes are in text
//!   numbers     sequence of integers, one a text: 0 kept whole, n template n-1
//!   whole       those texts, as `leaf`
//!   per template, per variable in order:
//!     0x11      its texts, as `leaf`
//!     0x12      base u8 (0 absolute, 1 difference to the row's time), sequence of integers in ns
//!     0x13      nothing
//!
//! a template: bytes that stand for themselves, and
//!   0x11                                  a variable
//!   0x12 shape point digits zulu          a time stamp in that form
//!   0x13 low middle high                  the value of the column with this number in the same slot
//! ```
//!
//! Texts that hold one of these three bytes themselves are kept whole.

mod across;
mod assemble;
mod decode;
mod encode;
mod find;
mod lens;
mod parts;
mod pattern;
mod rare;
mod split;
mod start;
mod sure;

pub(crate) use decode::{Context, Made};
pub(crate) use encode::Templates;
pub(crate) use find::{FoundTexts, Surroundings};
pub(crate) use parts::Outline;
pub(crate) use split::Hit;
pub(crate) use sure::Elsewhere;

/// The tag, apart from those of `leaf`.
pub(crate) const TEMPLATES: u8 = 16;

/// A template must have this many texts to be worth its columns.
const MIN_USES: u32 = 16;
/// Longer texts are kept whole: they are dumps, not messages.
pub(super) const MAX_TEXT_BYTES: usize = 16 << 10;
/// No template is longer than this. A reference takes 4 bytes for a value of at least one.
const MAX_PATTERN_BYTES: usize = MAX_TEXT_BYTES + 4 * super::references::MAX_SOURCES;
/// The most templates that a column has, so that the number of each takes two bytes in memory. What would have more has none.
const MAX_TEMPLATES: usize = u16::MAX as usize;
/// The most pieces that all templates of a column have together; texts that would need more are kept whole.
const MAX_PIECES: usize = 1 << 20;
/// The most variables that all texts of a column have together; likewise.
const MAX_VALUES: usize = 8 << 20;
