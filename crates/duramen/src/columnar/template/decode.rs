//! Putting texts together again.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::leaf::Leaf;
use super::super::streams::MAX_STREAM_BYTES;
use super::super::texts::Texts;
use super::super::timetext::TimeForm;
use super::assemble::Assembly;
use super::find::TextsOf;
use super::parts::{Parts, Place};
use crate::column::{Column, IntText};
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What decoding needs to know of the rest of the block. Texts are those that are put together.
pub(crate) struct Context<'a> {
    /// The time of each text's row.
    pub(crate) near: &'a dyn Fn() -> Result<Vec<i64>>,
    /// The slot of each text.
    pub(crate) slots: &'a dyn Fn() -> Vec<u32>,
    /// Another column, with those slots.
    pub(crate) column: &'a dyn Fn(usize) -> Result<Arc<Column>>,
}

/// Texts put together.
pub(crate) enum Made {
    /// Each of them.
    Texts(Texts),
    /// Each of a dictionary that they have in common, and the code of each.
    Dictionary {
        /// The dictionary.
        values: Texts,
        /// One a text.
        codes: Vec<u32>,
    },
}

/// A piece of all texts of a template.
pub(super) enum Source<'p> {
    Literal(&'p str),
    Leaf(Leaf),
    Times(TimeForm, Vec<i64>),
    Column(Arc<Column>),
}

/// What texts are put together of.
pub(super) struct Sources<'p> {
    /// Those without a template, if there are any.
    pub(super) whole: Option<Leaf>,
    /// The pieces of each template that some text has.
    pub(super) templates: Vec<Vec<Source<'p>>>,
    /// The slots of the texts, if some template refers to another column.
    pub(super) slots: Vec<u32>,
}

/// Which texts are put together, and which of its own each template has among them.
pub(super) struct Plan {
    /// The template of each: 0 none, n template n-1.
    numbers: Vec<u16>,
    /// If they are not all: per number, which of the texts of that number they are, ascending.
    ranks: Option<Vec<Vec<u32>>>,
}

impl Plan {
    fn ranks(&self, number: usize) -> Option<&[u32]> {
        self.ranks.as_ref().map(|ranks| &*ranks[number])
    }
}

impl<'a> Parts<'a> {
    pub(super) fn plan(&self, chosen: Chosen<'_>) -> Plan {
        let Some(wanted) = chosen.numbers() else {
            return Plan { numbers: self.numbers().to_vec(), ranks: None };
        };
        let mut seen = vec![0u32; self.templates() + 1];
        let mut ranks = vec![Vec::new(); seen.len()];
        let mut numbers = Vec::with_capacity(wanted.len());
        let mut from = 0;
        for &i in wanted {
            for &n in &self.numbers()[from..i as usize] {
                seen[n as usize] += 1;
            }
            let n = self.numbers()[i as usize];
            ranks[n as usize].push(seen[n as usize]);
            numbers.push(n);
            from = i as usize;
        }
        Plan { numbers, ranks: Some(ranks) }
    }

    /// What the texts of a plan are put together of.
    pub(super) fn sources(&self, plan: &Plan, context: &Context<'_>) -> Result<Sources<'a>> {
        let mut uses = vec![false; self.templates() + 1];
        plan.numbers.iter().for_each(|&n| uses[n as usize] = true);
        let mut budget = self.budget();
        let whole = if uses[0] { Some(self.whole()?.decode(plan.ranks(0), &mut budget)?) } else { None };
        let mut near: Option<(Vec<i64>, TextsOf)> = None;
        let mut templates: Vec<Vec<Source<'_>>> = Vec::with_capacity(self.templates());
        let mut refers = false;
        for t in 0..self.templates() {
            let mut sources = Vec::new();
            let places = uses[t + 1].then(|| self.places(t));
            for place in places.into_iter().flatten() {
                sources.push(match place? {
                    Place::Literal(text) => Source::Literal(text),
                    Place::Variable(lazy) => Source::Leaf(lazy.decode(plan.ranks(t + 1), &mut budget)?),
                    Place::Reference(column) => {
                        refers = true;
                        Source::Column((context.column)(column)?)
                    }
                    Place::Time(lazy) => {
                        let mut times = lazy.decode(plan.ranks(t + 1), &mut budget)?;
                        if lazy.relative {
                            let (near, texts_of) = match &mut near {
                                Some(known) => known,
                                None => near.insert((
                                    (context.near)()?,
                                    TextsOf::new(&plan.numbers, self.templates()),
                                )),
                            };
                            for (time, &i) in times.iter_mut().zip(texts_of.get(t + 1)) {
                                *time = time.wrapping_add(near.get(i as usize).copied().unwrap_or(0));
                            }
                        }
                        Source::Times(lazy.form, times)
                    }
                });
            }
            templates.push(sources);
        }
        let slots = if refers { (context.slots)() } else { Vec::new() };
        Ok(Sources { whole, templates, slots })
    }

    /// Puts texts together.
    pub(crate) fn texts(&self, chosen: Chosen<'_>, context: &Context<'_>) -> Result<Made> {
        let plan = self.plan(chosen);
        let sources = self.sources(&plan, context)?;
        if let Some(made) = sources.dictionary(&plan)? {
            return Ok(made);
        }
        let mut out = Texts::default();
        out.ends.reserve(plan.numbers.len());
        let mut assembly = Assembly::new(&sources, &plan.numbers);
        while assembly.left() > 0 {
            assembly.append(|_| true, &mut out)?;
        }
        Ok(Made::Texts(out))
    }

    /// Puts texts together, from the piece on in which `start` may begin, and calls `see` with each that is wanted, and which one it
    /// is. They are not kept. Nobody is called, and it is `false`, if they make a dictionary, which takes little.
    pub(crate) fn each_text(
        &self,
        context: &Context<'_>,
        is_wanted: &dyn Fn(usize) -> bool,
        start: &str,
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<bool> {
        let plan = self.plan(Chosen::all(self.numbers().len()));
        let sources = self.sources(&plan, context)?;
        if sources.dictionary(&plan)?.is_some() {
            return Ok(false);
        }
        let mut assembly = Assembly::new(&sources, &plan.numbers).starting_at(start);
        let mut some = Texts::default();
        let mut bytes = 0;
        while assembly.left() > 0 {
            let first = plan.numbers.len() - assembly.left();
            some.clear();
            assembly.append(is_wanted, &mut some)?;
            bytes += some.bytes.len();
            if bytes > MAX_STREAM_BYTES {
                return Err(bad("a text is too long"));
            }
            let all = std::str::from_utf8(&some.bytes).map_err(|_| bad("a text is not UTF-8"))?;
            let mut start = 0;
            for (text, &end) in (first..).zip(&some.ends) {
                let whole = all.get(start..end as usize).ok_or_else(|| bad("a text is not UTF-8"))?;
                start = end as usize;
                if is_wanted(text) {
                    see(text, whole);
                }
            }
        }
        Ok(true)
    }
}

impl Sources<'_> {
    /// All texts as a dictionary, if no more than one dictionary varies in each template, and they are fewer than texts.
    fn dictionary(&self, plan: &Plan) -> Result<Option<Made>> {
        // A template without pieces is that of the empty text; which have no texts, only the plan tells.
        let mut uses = vec![false; 1 + self.templates.len()];
        plan.numbers.iter().for_each(|&n| uses[n as usize] = true);
        let whole = self.whole.as_ref().map(|leaf| Some((String::new(), Some(leaf), String::new())));
        let templates =
            self.templates.iter().zip(&uses[1..]).map(|(sources, &used)| used.then(|| around_leaf(sources)));
        // What most columns fail at comes before anything that takes time.
        let mut numbers = Vec::with_capacity(1 + self.templates.len());
        for number in std::iter::once(whole).chain(templates) {
            match number {
                Some(None | Some((_, Some(Leaf::Texts(_) | Leaf::Decimals(..)), _))) => return Ok(None),
                number => numbers.push(number.flatten()),
            }
        }
        // Of each number: where its values begin among all, and the codes of its texts.
        let mut starts = Vec::with_capacity(numbers.len());
        let mut codes_of: Vec<Cow<'_, [u32]>> = Vec::with_capacity(numbers.len());
        let mut values = Texts::default();
        for number in &numbers {
            starts.push(values.len() as u32);
            let Some((before, leaf, after)) = number else {
                codes_of.push(Cow::default());
                continue;
            };
            let room = plan.numbers.len().saturating_sub(values.len());
            let mut add = |text: &[u8]| -> Result<()> {
                values.bytes.extend_from_slice(before.as_bytes());
                values.bytes.extend_from_slice(text);
                values.push(after.as_bytes());
                values.check()
            };
            codes_of.push(match leaf {
                None => {
                    add(b"")?;
                    Cow::default()
                }
                Some(Leaf::Constant(text)) => {
                    add(text)?;
                    Cow::default()
                }
                Some(Leaf::Dictionary { values: own, codes }) if own.len() <= room => {
                    (0..own.len()).try_for_each(|i| add(own.get(i)))?;
                    codes.as_slice().into()
                }
                Some(Leaf::Integers(integers)) => {
                    let Some((distinct, codes)) = few_distinct(integers) else { return Ok(None) };
                    let mut digits = IntText::default();
                    distinct.iter().try_for_each(|&n| add(digits.format(n).as_bytes()))?;
                    codes.into()
                }
                Some(Leaf::Dictionary { .. } | Leaf::Decimals(..) | Leaf::Texts(_)) => return Ok(None),
            });
        }
        if values.len() > plan.numbers.len() {
            return Ok(None);
        }
        let mut next = vec![0usize; starts.len()];
        let code = |&n: &u16| {
            let number = next[n as usize];
            next[n as usize] += 1;
            starts[n as usize] + codes_of[n as usize].get(number).copied().unwrap_or(0)
        };
        let codes = plan.numbers.iter().map(code).collect();
        Ok(Some(Made::Dictionary { values, codes }))
    }
}

/// Integers are few if each is there so many times, on average.
const LEAST_REPEATS: usize = 4;

/// Each integer once, and which of them each is; `None` if there are many.
fn few_distinct(integers: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    let most = integers.len() / LEAST_REPEATS;
    let mut number_of: HashMap<i64, u32, FixedState> = HashMap::default();
    let mut distinct = Vec::new();
    let mut codes = Vec::with_capacity(integers.len());
    for &n in integers {
        let code = *number_of.entry(n).or_insert(distinct.len() as u32);
        if code as usize == distinct.len() {
            if distinct.len() >= most {
                return None;
            }
            distinct.push(n);
        }
        codes.push(code);
    }
    Some((distinct, codes))
}

/// What is before and behind the only thing that varies in a template; `None` if more does, or something that is no leaf.
fn around_leaf<'s>(sources: &'s [Source<'_>]) -> Option<(String, Option<&'s Leaf>, String)> {
    let (mut before, mut leaf, mut after) = (String::new(), None, String::new());
    for source in sources {
        match source {
            Source::Literal(text) if leaf.is_none() => before.push_str(text),
            Source::Literal(text) => after.push_str(text),
            Source::Leaf(it) if leaf.is_none() => leaf = Some(it),
            Source::Leaf(_) | Source::Times(..) | Source::Column(_) => return None,
        }
    }
    Some((before, leaf, after))
}
