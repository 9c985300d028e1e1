//! A column of templates, taken apart but not put together: which template each text has, and where what varies
//! lies. What nobody asks for is passed over.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::ints;
use super::super::leaf::{self, Leaf, Presence, Sought, WordKinds};
use super::super::streams::{Mark, Part};
use super::super::timetext::{TimeForm, TimeWriter};
use super::find::{PresenceIn, presence};
use super::pattern::{Piece, pieces};
use super::{MAX_PATTERN_BYTES, MAX_PIECES, MAX_TEMPLATES, MAX_VALUES};
use crate::column::IntText;
use crate::error::Result;

/// Texts that are decoded when they are asked for.
#[derive(Debug)]
pub(super) struct Lazy<'a> {
    /// From where they begin.
    part: Part<'a>,
    count: usize,
}

impl Lazy<'_> {
    /// Decodes them, or some of them, within a budget that many share.
    pub(super) fn decode(&self, some: Option<&[u32]>, budget: &mut usize) -> Result<Leaf> {
        let mut part = self.part.with_budget(*budget);
        let leaf = leaf::decode_chosen(&mut part, chosen(self.count, some)?)?;
        *budget = part.budget();
        Ok(leaf)
    }

    /// What is said of some of them, each looked at where it lies, if it can be, and those that are the same once.
    pub(super) fn judge<T: Copy>(
        &self,
        some: &[u32],
        budget: &mut usize,
        say: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<T>> {
        if let Some(texts) = leaf::plain_texts(&self.part, self.count)? {
            chosen(self.count, Some(some))?;
            return Ok(some.iter().map(|&i| say(texts.get(i))).collect());
        }
        Ok(match self.decode(Some(some), budget)? {
            Leaf::Dictionary { values, codes } => {
                let mut of_code = vec![None; values.len()];
                let said = |&code: &u32| {
                    *of_code[code as usize].get_or_insert_with(|| say(values.get(code as usize)))
                };
                codes.iter().map(said).collect()
            }
            Leaf::Constant(text) => vec![say(&text); some.len()],
            values => {
                let mut digits = IntText::default();
                (0..some.len()).map(|i| say(values.get(i, &mut digits))).collect()
            }
        })
    }

    /// Where among them a word is, as far as can be told cheaply.
    pub(super) fn presence(&self, sought: &Sought<'_>) -> Result<Presence> {
        leaf::presence(&mut self.part.clone(), self.count, sought)
    }

    /// Whether each of them holds the word.
    pub(super) fn hold(&self, word: &Sought<'_>) -> Result<Vec<bool>> {
        leaf::holding(&mut self.part.clone(), self.count, word)
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
    /// Decodes them, or some of them, within a budget that many share.
    pub(super) fn decode(&self, some: Option<&[u32]>, budget: &mut usize) -> Result<Vec<i64>> {
        let mut part = self.part.with_budget(*budget);
        let times = ints::decode_chosen(&mut part, chosen(self.count, some)?)?;
        *budget = part.budget();
        Ok(times)
    }

    /// Some of them as they are written. `near` are the times of all the rows.
    pub(super) fn times(
        &self,
        some: &[u32],
        near: &dyn Fn() -> Result<Vec<i64>>,
        budget: &mut usize,
    ) -> Result<Vec<i64>> {
        let mut times = self.decode(Some(some), budget)?;
        if self.relative {
            let near = near()?;
            for (time, &i) in times.iter_mut().zip(some) {
                *time = time.wrapping_add(near.get(i as usize).copied().unwrap_or(0));
            }
        }
        Ok(times)
    }

    /// What is said of the texts of some of them.
    pub(super) fn judge<T>(
        &self,
        some: &[u32],
        near: &dyn Fn() -> Result<Vec<i64>>,
        budget: &mut usize,
        say: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<T>> {
        let mut writer = TimeWriter::default();
        let times = self.times(some, near, budget)?;
        Ok(times.into_iter().map(|time| say(writer.write(self.form, time))).collect())
    }
}

fn chosen(count: usize, some: Option<&[u32]>) -> Result<Chosen<'_>> {
    some.map_or(Ok(Chosen::all(count)), |numbers| Chosen::some(count, numbers))
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    outline: &'a Outline,
    /// The column's part, no later than where the outline begins.
    part: &'a Part<'a>,
}

impl<'a> Parts<'a> {
    /// The template of each text: 0 none, n template n-1.
    pub(super) fn numbers(&self) -> &'a [u16] {
        &self.outline.numbers
    }

    /// How many templates there are.
    pub(super) fn templates(&self) -> usize {
        self.outline.templates.len()
    }

    /// How many texts a template has.
    pub(super) fn count(&self, template: usize) -> usize {
        self.outline.templates[template].count as usize
    }

    /// Whether what stays the same in a template may hold a word. No word reaches over what does not.
    pub(super) fn may_say(&self, template: usize, word: &Sought<'_>) -> Result<bool> {
        let Template { pattern, pattern_len, .. } = self.outline.templates[template];
        Ok(word.is_next(&self.part.after(pattern)?, pattern_len as usize))
    }

    /// Whether what stays the same in a template has a word, which it may say: where it is only a part of longer words, no text
    /// has it because of that.
    pub(super) fn says(&self, template: usize, word: &Sought<'_>) -> Result<bool> {
        for place in self.places(template) {
            if matches!(place?, Place::Literal(text) if word.is_in(text)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which templates may have a word, if it was looked up in all of the part: those where it stands as it is, and those
    /// that make words of its kind.
    pub(super) fn with_word(&self, word: &Sought<'_>, elsewhere: &PresenceIn<'_>) -> Result<Vec<bool>> {
        let templates = &self.outline.templates;
        let Some(places) = word.places() else { return Ok(vec![true; templates.len()]) };
        let mut kinds = WordKinds::of(word.word().text);
        for &of in &self.outline.references {
            if presence(&Place::Reference(of as usize), word, elsewhere)? != Presence::Nowhere {
                kinds = kinds | WordKinds::REFERENCES;
            }
        }
        let mut with_word: Vec<bool> = templates.iter().map(|template| template.kinds.meet(kinds)).collect();
        // Of some that begin at one place the last is the one that has something there.
        let last =
            |is_before: &dyn Fn(&Template) -> bool| templates.partition_point(is_before).checked_sub(1);
        let (text_len, meta_len) = (self.part.text.remaining(), self.part.meta.remaining());
        for at in places.text.iter().map(|&at| at as usize) {
            let of_pattern = last(&|template| template.pattern.text_start(text_len) <= at).filter(|&t| {
                let Template { pattern, pattern_len, .. } = &templates[t];
                at < pattern.text_start(text_len) + *pattern_len as usize
            });
            let of_variables = last(&|template| template.variables.text_start(text_len) <= at);
            of_pattern.into_iter().chain(of_variables).for_each(|t| with_word[t] = true);
        }
        for at in places.meta.iter().map(|&at| at as usize) {
            let of_variables = last(&|template| template.variables.meta_start(meta_len) <= at);
            of_variables.into_iter().for_each(|t| with_word[t] = true);
        }
        Ok(with_word)
    }

    /// What stands in the places of a template.
    pub(super) fn places(&self, template: usize) -> impl Iterator<Item = Result<Place<'a>>> + use<'a> {
        self.some_places(template, |_| true)
    }

    /// The same without what does not vary.
    pub(super) fn holes(&self, template: usize) -> impl Iterator<Item = Result<Place<'a>>> + use<'a> {
        self.some_places(template, |spot| !matches!(spot, Spot::Literal { .. }))
    }

    fn some_places(
        &self,
        template: usize,
        is_wanted: fn(&Spot) -> bool,
    ) -> impl Iterator<Item = Result<Place<'a>>> + use<'a> {
        let (outline, part) = (self.outline, self.part);
        let start = template.checked_sub(1).map_or(0, |before| outline.templates[before].spot_end as usize);
        let Template { count, spot_end, .. } = outline.templates[template];
        let count = count as usize;
        outline.spots[start..spot_end as usize].iter().filter(move |spot| is_wanted(spot)).map(move |spot| {
            Ok(match *spot {
                Spot::Literal { text, len } => {
                    let literal = part.after(text)?.text.take(len as usize)?;
                    Place::Literal(std::str::from_utf8(literal).map_err(|_| bad("a template is not UTF-8"))?)
                }
                Spot::Variable(texts) => Place::Variable(Lazy { part: part.after(texts)?, count }),
                Spot::Time { form, relative, times } => {
                    Place::Time(LazyTimes { form, relative, part: part.after(times)?, count })
                }
                Spot::Reference(column) => Place::Reference(column as usize),
            })
        })
    }

    /// The texts without a template.
    pub(super) fn whole(&self) -> Result<Lazy<'a>> {
        Ok(Lazy { part: self.part.after(self.outline.whole)?, count: self.outline.whole_count })
    }

    /// How many texts have no template.
    pub(super) fn whole_count(&self) -> usize {
        self.outline.whole_count
    }

    /// How many bytes decoding all this may make.
    pub(super) fn budget(&self) -> usize {
        self.part.budget()
    }
}

/// What stands in one place of a template, and where it lies.
#[derive(Clone, Copy, Debug)]
enum Spot {
    Literal { text: Mark, len: u32 },
    Variable(Mark),
    Time { form: TimeForm, relative: bool, times: Mark },
    Reference(u32),
}

/// Where what makes the texts of a template lies.
#[derive(Clone, Copy, Debug)]
struct Template {
    pattern: Mark,
    pattern_len: u32,
    /// How many texts it has.
    count: u32,
    /// Where its spots end.
    spot_end: u32,
    /// Where what varies in them begins; that of the next template follows.
    variables: Mark,
    /// What kinds of words it has.
    kinds: WordKinds,
}

/// Where all that makes the texts of a column of templates lies; it keeps none of the column's bytes.
#[derive(Debug)]
pub(crate) struct Outline {
    /// The template of each text: 0 none, n template n-1.
    numbers: Vec<u16>,
    templates: Vec<Template>,
    spots: Vec<Spot>,
    /// The columns that texts refer to, ascending.
    references: Vec<u32>,
    /// Texts without a template.
    whole: Mark,
    whole_count: usize,
}

impl Outline {
    /// Takes `count` texts apart; the tag has been read.
    pub(crate) fn read(part: &mut Part<'_>, count: usize) -> Result<Self> {
        let template_count = part.meta.count(MAX_TEMPLATES.min(count))?;
        let mut templates: Vec<Template> = Vec::new();
        let first = part.clone();
        for _ in 0..template_count {
            let len = part.meta.count(MAX_PATTERN_BYTES)?;
            let (pattern, variables) = (part.mark(), part.mark());
            let (count, spot_end, kinds) = (0, 0, WordKinds::default());
            templates.push(Template { pattern, pattern_len: len as u32, count, spot_end, variables, kinds });
            part.text.take(len)?;
        }
        let mut whole_count = 0;
        let mut numbers = Vec::with_capacity(count);
        for n in ints::decode(part, count)? {
            let number = u16::try_from(n).map_err(|_| bad("there is no such template"))?;
            match (number as usize).checked_sub(1) {
                None => whole_count += 1,
                Some(n) => templates.get_mut(n).ok_or_else(|| bad("there is no such template"))?.count += 1,
            }
            numbers.push(number);
        }
        let whole = part.mark();
        leaf::skip(part, whole_count)?;
        let mut spots = Vec::with_capacity((template_count * 8).min(MAX_PIECES));
        let mut value_count = 0;
        let mut of_pattern = Vec::new();
        for template in &mut templates {
            let pattern = first.after(template.pattern)?.text.take(template.pattern_len as usize)?;
            let count = template.count as usize;
            pieces(pattern, &mut of_pattern).ok_or_else(|| bad("a template makes no sense"))?;
            let variables =
                of_pattern.iter().filter(|p| matches!(p, Piece::Variable | Piece::Time(_))).count();
            value_count += variables * count;
            if spots.len() + of_pattern.len() > MAX_PIECES || value_count > MAX_VALUES {
                return Err(bad("its templates have too many pieces"));
            }
            template.variables = part.mark();
            for piece in &of_pattern {
                let (spot, kinds) = spot(*piece, template.pattern, pattern, part, count)?;
                spots.push(spot);
                template.kinds = template.kinds | kinds;
            }
            template.spot_end = spots.len() as u32;
        }
        spots.shrink_to_fit();
        let of_spot = |spot: &Spot| if let Spot::Reference(of) = spot { Some(*of) } else { None };
        let mut references: Vec<u32> = spots.iter().filter_map(of_spot).collect();
        references.sort_unstable();
        references.dedup();
        Ok(Self { numbers, templates, spots, references, whole, whole_count })
    }

    /// With the part that it was read from, as it was then or before.
    pub(crate) fn of<'a>(&'a self, part: &'a Part<'a>) -> Parts<'a> {
        Parts { outline: self, part }
    }

    /// How many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.numbers)
            + self.templates.len() * size_of::<Template>()
            + self.spots.len() * size_of::<Spot>()
            + self.references.len() * 4
    }
}

/// What stands in a place, and what kinds of words it has.
fn spot(
    piece: Piece,
    at: Mark,
    pattern: &[u8],
    part: &mut Part<'_>,
    count: usize,
) -> Result<(Spot, WordKinds)> {
    Ok(match piece {
        Piece::Literal { start, end } => {
            // Only the pieces between the holes are text: what describes a hole is bytes.
            let literal = std::str::from_utf8(&pattern[start as usize..end as usize]);
            literal.map_err(|_| bad("a template is not UTF-8"))?;
            (Spot::Literal { text: at.later_in_text(start), len: end - start }, WordKinds::default())
        }
        Piece::Variable => {
            let texts = part.mark();
            let kinds = leaf::skip(part, count)?;
            (Spot::Variable(texts), kinds)
        }
        Piece::Reference(column) => (Spot::Reference(column), WordKinds::REFERENCES),
        Piece::Time(form) => {
            let relative = part.meta.u8()? != 0;
            let times = part.mark();
            ints::skip(part, count)?;
            (Spot::Time { form, relative, times }, WordKinds::TIMES)
        }
    })
}
