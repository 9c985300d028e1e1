//! Texts of few patterns: a template is what stays the same, variables are what does not.
//!
//! A *token* is a longest run of letters, digits, `_` and what is not ASCII, with single `.` and `-` inside. A
//! token with a digit is a variable; so is a time stamp, and so is another field's value that the text repeats
//! (a *reference*: it costs nothing). All else is the template. The variables of one place of one template are
//! a column of their own, encoded as what they turn out to be. Texts whose template is rare are kept whole.
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

use super::bytes::{bad, put_varint};
use super::leaf::{self, Leaf, Spans};
use super::streams::{MAX_STREAM_BYTES, Part, Streams};
use super::texts::Texts;
use super::timetext::{self, TimeForm};
use super::words::Words;
use super::{MAX_ROWS, ints};
use crate::column::{Column, IntText};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The tag, apart from those of `leaf`.
pub(crate) const TEMPLATES: u8 = 16;

const VARIABLE: u8 = 0x11;
const TIME: u8 = 0x12;
const REFERENCE: u8 = 0x13;

/// A template must have this many texts to be worth its columns.
const MIN_USES: u32 = 6;
/// Texts with more variables are kept whole.
const MAX_VARIABLES: usize = 96;
/// Longer texts are kept whole: they are dumps, not messages.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// How many texts are looked at to see whether there are templates at all.
const SAMPLE: usize = 512;

/// For each byte: 0 stands for itself, 1 belongs to tokens, 2 is a digit, 3 joins tokens, 4 is a mark.
const CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        table[i] = if c.is_ascii_digit() {
            2
        } else if c.is_ascii_alphabetic() || c == b'_' || c >= 0x80 {
            1
        } else if c == b'.' || c == b'-' {
            3
        } else if c >= VARIABLE && c <= REFERENCE {
            4
        } else {
            0
        };
        i += 1;
    }
    table
};

/// Part of a text that is another column's value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) column: u32,
}

/// A text taken apart.
#[derive(Debug, Default)]
struct Split {
    /// Its template.
    pattern: Vec<u8>,
    /// Its variables: spans of the text's buffer, or for time stamps the time.
    variables: Vec<(u32, u32)>,
    times: Vec<i64>,
}

impl Split {
    /// Takes `bytes[start..end]` apart; `false` if it has to be kept whole.
    fn split(&mut self, bytes: &[u8], span: (u32, u32), near: i64, hits: &[Hit]) -> bool {
        self.pattern.clear();
        self.variables.clear();
        self.times.clear();
        let (mut at, end) = (span.0 as usize, span.1 as usize);
        if end - at > MAX_TEXT_BYTES {
            return false;
        }
        let mut literal = at;
        let mut hits = hits.iter();
        let mut hit = hits.next();
        while at < end {
            if let Some(h) = hit
                && h.start as usize == at
            {
                self.pattern.extend_from_slice(&bytes[literal..at]);
                self.pattern.push(REFERENCE);
                self.pattern.extend_from_slice(&h.column.to_le_bytes()[..3]);
                at = h.end as usize;
                literal = at;
                hit = hits.next();
                continue;
            }
            let limit = hit.map_or(end, |h| h.start as usize);
            let class = CLASS[bytes[at] as usize];
            if class == 4 {
                return false;
            }
            if class == 0 || class == 3 {
                at += 1;
                continue;
            }
            let start = at;
            let mut digits = class == 2;
            at += 1;
            while at < limit {
                match CLASS[bytes[at] as usize] {
                    1 => {}
                    2 => digits = true,
                    3 if at + 1 < limit && matches!(CLASS[bytes[at + 1] as usize], 1 | 2) => {}
                    _ => break,
                }
                at += 1;
            }
            let may_be_time =
                if class == 2 { digits } else { at - start == 3 && bytes[start].is_ascii_uppercase() };
            if may_be_time && let Some((form, len, time)) = timetext::parse(&bytes[start..limit], near) {
                self.pattern.extend_from_slice(&bytes[literal..start]);
                self.pattern.extend_from_slice(&[
                    TIME,
                    form.shape,
                    form.point,
                    form.digits,
                    u8::from(form.zulu),
                ]);
                at = start + len;
                literal = at;
                self.variables.push((start as u32, at as u32));
                self.times.push(time);
            } else if digits {
                self.pattern.extend_from_slice(&bytes[literal..start]);
                self.pattern.push(VARIABLE);
                literal = at;
                self.variables.push((start as u32, at as u32));
                self.times.push(0);
            }
            if self.variables.len() > MAX_VARIABLES {
                return false;
            }
        }
        self.pattern.extend_from_slice(&bytes[literal..end]);
        true
    }
}

/// One place of a template.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Literal { start: u32, end: u32 },
    Variable,
    Time(TimeForm),
    Reference(usize),
}

/// The pieces of a template; `None` if it is none.
fn pieces(pattern: &[u8]) -> Option<Vec<Piece>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let len = pattern[at..].iter().take_while(|&&c| CLASS[c as usize] != 4).count();
        if len > 0 {
            out.push(Piece::Literal { start: at as u32, end: (at + len) as u32 });
            at += len;
            continue;
        }
        match pattern[at] {
            VARIABLE => {
                out.push(Piece::Variable);
                at += 1;
            }
            TIME => {
                let &[shape, point, digits, zulu] = pattern.get(at + 1..at + 5)?.first_chunk::<4>()?;
                // A fraction's point is a character, and a time stamp never joins two.
                (point < 0x80).then_some(())?;
                out.push(Piece::Time(TimeForm { shape, point, digits, zulu: zulu != 0 }));
                at += 5;
            }
            _ => {
                let &[low, middle, high] = pattern.get(at + 1..at + 4)?.first_chunk::<3>()?;
                out.push(Piece::Reference(u32::from_le_bytes([low, middle, high, 0]) as usize));
                at += 4;
            }
        }
    }
    Some(out)
}

#[derive(Debug)]
struct Template {
    pattern: (u32, u32),
    hash: u64,
    uses: u32,
}

/// Taking texts apart, with room that is kept from block to block.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    split: Split,
    patterns: Vec<u8>,
    templates: Vec<Template>,
    index: HashTable<u32>,
    /// Per text: its template and where its variables start; `u32::MAX` if kept whole.
    of_text: Vec<(u32, u32)>,
    variables: Vec<(u32, u32)>,
    times: Vec<i64>,
}

impl Templates {
    /// Encodes the texts if they have templates; says whether, and writes nothing if not.
    ///
    /// `near` is each text's row's time. `hits_of` gives the references in a text, in order and apart.
    pub(crate) fn encode(
        &mut self,
        values: Spans<'_>,
        near: &[i64],
        mut hits_of: impl FnMut(usize, &mut Vec<Hit>),
        out: &mut Streams,
        words: &mut Words,
    ) -> bool {
        self.patterns.clear();
        self.templates.clear();
        self.index.clear();
        self.of_text.clear();
        self.variables.clear();
        self.times.clear();
        let mut hits = Vec::new();
        let step = (values.len() / SAMPLE).max(1);
        let mut sampled = 0;
        for i in (0..values.len()).step_by(step) {
            hits.clear();
            hits_of(i, &mut hits);
            self.add(values, i, near[i], &hits);
            sampled += 1;
        }
        if self.templates.len() * 3 > sampled * 2 || sampled < 4 {
            return false;
        }
        self.templates.iter_mut().for_each(|t| t.uses = 0);
        self.of_text.clear();
        self.variables.clear();
        self.times.clear();
        for (i, &time) in near.iter().enumerate().take(values.len()) {
            hits.clear();
            hits_of(i, &mut hits);
            self.add(values, i, time, &hits);
        }
        self.write(values, near, out, words)
    }

    fn add(&mut self, values: Spans<'_>, i: usize, near: i64, hits: &[Hit]) {
        let Self { split, patterns, templates, index, of_text, variables, times } = self;
        if !split.split(values.bytes, values.spans[i], near, hits) {
            of_text.push((u32::MAX, 0));
            return;
        }
        let hash = FixedState::default().hash_one(&*split.pattern);
        let same = |&t: &u32| {
            let t = &templates[t as usize];
            t.hash == hash && patterns[t.pattern.0 as usize..t.pattern.1 as usize] == *split.pattern
        };
        let template = match index.find(hash, same) {
            Some(&t) => t,
            None => {
                let t = templates.len() as u32;
                let start = patterns.len() as u32;
                patterns.extend_from_slice(&split.pattern);
                templates.push(Template { pattern: (start, patterns.len() as u32), hash, uses: 0 });
                index.insert_unique(hash, t, |&t| templates[t as usize].hash);
                t
            }
        };
        templates[template as usize].uses += 1;
        of_text.push((template, variables.len() as u32));
        variables.extend_from_slice(&split.variables);
        times.extend_from_slice(&split.times);
    }

    fn write(&mut self, values: Spans<'_>, near: &[i64], out: &mut Streams, words: &mut Words) -> bool {
        let kept: u32 = self.templates.iter().map(|t| t.uses).filter(|&n| n >= MIN_USES).sum();
        if (kept as usize) * 3 < values.len() {
            return false;
        }
        // Numbers go by first use.
        let mut number_of = vec![0u32; self.templates.len()];
        let mut chosen: Vec<u32> = Vec::new();
        let mut texts_of: Vec<Vec<u32>> = Vec::new();
        let mut whole: Vec<(u32, u32)> = Vec::new();
        let mut numbers: Vec<i64> = Vec::with_capacity(values.len());
        for (i, &(t, _)) in self.of_text.iter().enumerate() {
            let uses = self.templates.get(t as usize).map_or(0, |t| t.uses);
            if uses < MIN_USES {
                whole.push(values.spans[i]);
                numbers.push(0);
                continue;
            }
            let number = &mut number_of[t as usize];
            if *number == 0 {
                chosen.push(t);
                texts_of.push(Vec::with_capacity(uses as usize));
                *number = chosen.len() as u32;
            }
            texts_of[*number as usize - 1].push(i as u32);
            numbers.push(i64::from(*number));
        }
        out.meta.push(TEMPLATES);
        put_varint(&mut out.meta, chosen.len() as u64);
        for &t in &chosen {
            let (start, end) = self.templates[t as usize].pattern;
            put_varint(&mut out.meta, u64::from(end - start));
            out.text.extend_from_slice(&self.patterns[start as usize..end as usize]);
        }
        ints::encode(&numbers, out);
        leaf::encode(Spans { bytes: values.bytes, spans: &whole }, out, words);
        let mut column: Vec<(u32, u32)> = Vec::new();
        for (&t, texts) in chosen.iter().zip(&texts_of) {
            let (start, end) = self.templates[t as usize].pattern;
            let pattern = &self.patterns[start as usize..end as usize];
            let mut variable = 0;
            for piece in pieces(pattern).unwrap_or_default() {
                match piece {
                    Piece::Literal { start, end } => words.add(&pattern[start as usize..end as usize]),
                    Piece::Reference(_) => {}
                    Piece::Variable => {
                        column.clear();
                        column.extend(
                            texts
                                .iter()
                                .map(|&i| self.variables[self.of_text[i as usize].1 as usize + variable]),
                        );
                        leaf::encode(Spans { bytes: values.bytes, spans: &column }, out, words);
                        variable += 1;
                    }
                    Piece::Time(_) => {
                        let at = |i: u32| self.of_text[i as usize].1 as usize + variable;
                        let mut last: &[u8] = &[];
                        for &i in texts {
                            let (start, end) = self.variables[at(i)];
                            let text = &values.bytes[start as usize..end as usize];
                            words.add_changed(last, text);
                            last = text;
                        }
                        let times: Vec<i64> = texts.iter().map(|&i| self.times[at(i)]).collect();
                        write_times(&times, texts, near, out);
                        variable += 1;
                    }
                }
            }
        }
        true
    }
}

/// Writes times as they are or as differences to the rows' times, whichever is smaller.
fn write_times(times: &[i64], texts: &[u32], near: &[i64], out: &mut Streams) {
    let differences: Vec<i64> =
        times.iter().zip(texts).map(|(t, &i)| t.wrapping_sub(near[i as usize])).collect();
    let relative = ints::estimate(&differences) <= ints::estimate(times);
    out.meta.push(u8::from(relative));
    ints::encode(if relative { &differences } else { times }, out);
}

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
        let len = part.meta.count(MAX_STREAM_BYTES)?;
        let pattern = part.text.take(len)?;
        std::str::from_utf8(pattern).map_err(|_| bad("a template is not UTF-8"))?;
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
    for (pattern, texts) in patterns.iter().zip(&texts_of) {
        let mut sources = Vec::new();
        for piece in pieces(pattern).ok_or_else(|| bad("a template makes no sense"))? {
            sources.push(match piece {
                Piece::Literal { start, end } => {
                    Source::Literal(pattern[start as usize..end as usize].to_vec())
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
            }
            out.push(b"");
        }
        if out.bytes.len() > MAX_STREAM_BYTES {
            return Err(bad("a text is too long"));
        }
    }
    Ok(out)
}
