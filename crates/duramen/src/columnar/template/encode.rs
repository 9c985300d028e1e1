//! Taking all texts of a column apart, and writing what is alike once.

use super::super::bytes::put_varint;
use super::super::ints;
use super::super::leaf::{self, Spans};
use super::super::streams::Streams;
use super::super::words::Words;
use super::pattern::{Piece, pieces};
use super::rare::Texts;
use super::split::{Hit, Split};
use super::{MAX_PIECES, MAX_TEMPLATES, MAX_VALUES, MIN_USES, TEMPLATES};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// How many texts are looked at to see whether there are templates at all.
const SAMPLE: usize = 512;

#[derive(Debug)]
pub(super) struct Template {
    pub(super) pattern: (u32, u32),
    hash: u64,
    pub(super) uses: u32,
}

/// What templates, and parts of them, are told apart by.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

/// Taking texts apart, with room that is kept from block to block.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    pub(super) split: Split,
    pub(super) patterns: Vec<u8>,
    pub(super) templates: Vec<Template>,
    index: HashTable<u32>,
    /// Per text: its template and where its variables start; `u32::MAX` if kept whole.
    pub(super) of_text: Vec<(u32, u32)>,
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
        hits_of: impl FnMut(usize, &mut Vec<Hit>),
        out: &mut Streams,
        words: &mut Words,
    ) -> bool {
        self.patterns.clear();
        self.templates.clear();
        self.index.clear();
        self.of_text.clear();
        self.variables.clear();
        self.times.clear();
        let mut texts = Texts { values, near, hits_of, hits: Vec::new() };
        let step = (values.len() / SAMPLE).max(1);
        let mut sampled = 0;
        for i in (0..values.len()).step_by(step) {
            self.add(&mut texts, i);
            sampled += 1;
        }
        if self.templates.len() * 3 > sampled * 2 || sampled < 4 {
            return false;
        }
        self.templates.iter_mut().for_each(|t| t.uses = 0);
        self.of_text.clear();
        self.variables.clear();
        self.times.clear();
        for i in 0..values.len() {
            self.add(&mut texts, i);
        }
        self.join_rare(&mut texts);
        self.write(values, near, out, words)
    }

    fn add<H: FnMut(usize, &mut Vec<Hit>)>(&mut self, texts: &mut Texts<'_, H>, i: usize) {
        let is_split = texts.split(i, &mut self.split, |_| false);
        let place = if is_split { self.take_split() } else { (u32::MAX, 0) };
        self.of_text.push(place);
    }

    /// Takes in what the text was split into: its template, and where its variables start.
    pub(super) fn take_split(&mut self) -> (u32, u32) {
        let Self { split, patterns, templates, index, variables, times, .. } = self;
        let hash = hash(&split.pattern);
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
        let place = (template, variables.len() as u32);
        variables.extend_from_slice(&split.variables);
        times.extend_from_slice(&split.times);
        place
    }

    /// The templates that are rare, and how many texts have each.
    pub(super) fn rare(&self) -> Vec<(u32, u32)> {
        let uses = (0..).zip(&self.templates).map(|(number, template)| (number, template.uses));
        uses.filter(|(_, uses)| (1..MIN_USES).contains(uses)).collect()
    }

    /// How many texts have the template of this hash.
    pub(super) fn uses_of(&self, hash: u64) -> u32 {
        let template = self.index.find(hash, |&t| self.templates[t as usize].hash == hash);
        template.map_or(0, |&t| self.templates[t as usize].uses)
    }

    pub(super) fn pattern(&self, template: u32) -> &[u8] {
        let (start, end) = self.templates[template as usize].pattern;
        &self.patterns[start as usize..end as usize]
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
        let mut of_pattern = Vec::new();
        let mut piece_count = 0;
        for &t in &chosen {
            pieces(self.pattern(t), &mut of_pattern);
            piece_count += of_pattern.len();
        }
        if self.variables.len() > MAX_VALUES || piece_count > MAX_PIECES || chosen.len() > MAX_TEMPLATES {
            return false;
        }
        out.meta.push(TEMPLATES);
        put_varint(&mut out.meta, chosen.len() as u64);
        for &t in &chosen {
            put_varint(&mut out.meta, self.pattern(t).len() as u64);
            out.text.extend_from_slice(self.pattern(t));
        }
        ints::encode(&numbers, out);
        leaf::encode(Spans { bytes: values.bytes, spans: &whole }, out, words);
        let mut column: Vec<(u32, u32)> = Vec::new();
        for (&t, texts) in chosen.iter().zip(&texts_of) {
            let pattern = self.pattern(t);
            let mut variable = 0;
            pieces(pattern, &mut of_pattern);
            for piece in &of_pattern {
                match *piece {
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
