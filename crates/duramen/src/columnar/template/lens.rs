//! How long texts are, without putting them together.

use super::super::bytes::bad;
use super::super::chosen::Chosen;
use super::super::timetext::TimeWriter;
use super::decode::{Context, Source};
use super::parts::Parts;
use crate::block::LengthUnit;
use crate::column::IntText;
use crate::error::Result;

impl Parts<'_> {
    /// How long each text is.
    pub(crate) fn lens(&self, unit: LengthUnit, context: &Context<'_>) -> Result<Vec<i64>> {
        let all = self.sources(&self.plan(Chosen::all(self.numbers().len())), context)?;
        let mut templates = Vec::with_capacity(1 + all.templates.len());
        let mut whole = vec![0; self.whole_count()];
        all.whole.iter().for_each(|leaf| leaf.add_lens(unit, &mut whole));
        templates.push(whole);
        let mut writer = TimeWriter::default();
        for (t, sources) in all.templates.iter().enumerate() {
            let mut lens = vec![0i64; if sources.is_empty() { 0 } else { self.count(t) }];
            for source in sources {
                match source {
                    Source::Literal(literal) => {
                        let added = unit.of(literal.as_bytes()) as i64;
                        lens.iter_mut().for_each(|len| *len += added);
                    }
                    Source::Leaf(leaf) => leaf.add_lens(unit, &mut lens),
                    Source::Times(form, times) => {
                        for (len, time) in lens.iter_mut().zip(times) {
                            *len += writer.write(*form, *time).len() as i64;
                        }
                    }
                    // Whose slots are those of the texts.
                    Source::Column(_) => {}
                }
            }
            templates.push(lens);
        }
        let mut next = vec![0usize; templates.len()];
        let mut digits = IntText::default();
        let mut lens = Vec::with_capacity(self.numbers().len());
        for (i, &n) in self.numbers().iter().enumerate() {
            let n = n as usize;
            let mut len = templates[n].get(next[n]).copied().unwrap_or(0);
            next[n] += 1;
            for source in n.checked_sub(1).map_or(&[][..], |t| &all.templates[t]) {
                if let Source::Column(column) = source {
                    let slot = all.slots.get(i).copied().unwrap_or(0) as usize;
                    let text = column.text_at(slot, &mut digits).ok_or_else(|| bad("a field is missing"))?;
                    len += unit.of(text.as_bytes()) as i64;
                }
            }
            lens.push(len);
        }
        Ok(lens)
    }
}
