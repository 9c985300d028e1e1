//! Looking through texts that are put together for that, and not kept.

use super::super::bytes::bad;
use super::super::directory::Form;
use super::super::paged::Place;
use super::super::streams::Part;
use super::TableBlock;
use super::column::{kinds_of, slots_of};
use crate::column::{Order, bit, set_bits};
use crate::error::Result;
use std::sync::Arc;

impl TableBlock {
    /// [`crate::block::Block::look_through`].
    pub(super) fn look_through_texts(
        &self,
        name: &str,
        rows: &[u64],
        start: &str,
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<Option<Order>> {
        let Some(i) = self.number_of(name).filter(|_| !self.has_label(name)) else { return Ok(None) };
        let entry = &self.directory.columns[i];
        let Form::Texts { at, pages, .. } = &entry.form else { return Ok(None) };
        if !self.columns[i].spare(&self.clock) {
            return Ok(None);
        }
        if !pages.is_empty() {
            return self.see_pages(name, rows, see);
        }
        let bundle = self.bundle_of(at, true)?;
        if self.see_texts(i, &mut bundle.part(&at.starts, &at.lens)?, (rows, start), see)? {
            return Ok(Some(self.order()?.clone()));
        }
        // What was read of it for nothing is what it is decoded of.
        self.columns[i]
            .get_or_make(&self.clock, || self.decode_column(i, None, 0, Some(bundle)).map(Arc::new))?;
        Ok(None)
    }

    /// Calls `see` with the texts in these rows of a column that has pages. One page is there at a time.
    fn see_pages(&self, name: &str, rows: &[u64], see: &mut dyn FnMut(usize, &str)) -> Result<Option<Order>> {
        let Some(column) = self.paged_column(name, true)? else { return Ok(None) };
        let wanted = self.slots_of_rows(rows)?;
        let places =
            || set_bits(&wanted).filter_map(|slot| Some((slot as usize, column.place(slot as usize)?)));
        let mut needed = vec![false; column.pages()];
        for (_, place) in places() {
            if let Place::On(page, _) = place
                && let Some(needed) = needed.get_mut(page)
            {
                *needed = true;
            }
        }
        column.will_read((0..column.pages()).filter(|&page| needed[page]));
        let (mut read, mut text) = (None, String::new());
        for (slot, place) in places() {
            match place {
                Place::Empty => see(slot, ""),
                Place::On(page, bytes) => {
                    if read != Some(page) {
                        text = column.read(page, None, text.into_bytes())?;
                        read = Some(page);
                    }
                    see(slot, text.get(bytes).ok_or_else(|| bad("a text lies on two pages"))?);
                }
            }
        }
        Ok(Some(column.order().clone()))
    }

    /// The slots of rows, one bit each.
    fn slots_of_rows(&self, rows: &[u64]) -> Result<Vec<u64>> {
        let (all, order) = (self.directory.rows, self.order()?);
        let mut wanted = vec![0u64; all.div_ceil(64)];
        for row in (0..all).filter(|&row| bit(rows, row)) {
            let slot = order.slot(row);
            wanted[slot / 64] |= 1 << (slot % 64);
        }
        Ok(wanted)
    }

    /// Calls `see` with the texts of column `i` in these rows, as far as who looks for `start` needs them. Nobody is called, and it
    /// is `false`, if they are not put together of templates, or make a dictionary.
    fn see_texts(
        &self,
        i: usize,
        part: &mut Part<'_>,
        (rows, start): (&[u64], &str),
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<bool> {
        let entry = &self.directory.columns[i];
        let _kinds = kinds_of(entry, part)?;
        let Some(outline) = self.outline(i, part)? else { return Ok(false) };
        let (all, map) = (self.directory.rows, self.map_of(entry)?);
        let wanted = self.slots_of_rows(rows)?;
        let slots = slots_of(map, all);
        let is_wanted = |text: usize| bit(&wanted, slots[text] as usize);
        let mut see = |text: usize, value: &str| see(slots[text] as usize, value);
        self.with_context(i, (map, all), None, 0, |context| {
            outline.of(part).each_text(context, &is_wanted, start, &mut see)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundles::tests::block_of;
    use super::super::decoded::QueryClock;
    use super::*;
    use crate::EntryBuf;
    use crate::block::{Block, names};
    use crate::column::IntText;
    use std::collections::BTreeSet;

    type Bits = BTreeSet<usize>;

    /// Two streams, whose rows lie apart; texts with times, references, integers and words, some kept whole; a field that not all have.
    fn entries() -> Vec<Vec<u8>> {
        let mut buf = EntryBuf::new(["app"]);
        let entry = |n: i64| {
            let path = format!("/p/{}/{}", n % 91, n * 31 % 47);
            buf.start(1_767_571_200_000_000_000 + n * 1_000_003);
            match n % 11 {
                0 => buf.message(&format!("{}, all alone", "é".repeat(n as usize % 70))),
                1..=4 => {
                    buf.message(&format!("GET {path} took {} ms at 2026-01-05 00:00:{:02}", n * 7, n % 60))
                }
                _ => buf.message(&format!(
                    "user {} of {:.3}, {path}: {:08x}",
                    n % 13,
                    n as f64 / 7.0,
                    n * 77_777
                )),
            };
            buf.field("app", if n % 3 == 0 { "a" } else { "b" }).field("path", path.as_str());
            if n % 5 < 2 {
                buf.field("agent", format!("{:x} and {n} or {}", n * 0x9e37_79b9, n * n).as_str());
            }
            buf.finish().unwrap().to_vec()
        };
        (0..2_500).map(entry).collect()
    }

    #[test]
    fn what_is_looked_through_is_what_the_column_has() {
        let entries = entries();
        let clock = QueryClock::default();
        let unpressed = block_of(&entries).timed(clock.clone());
        let all = vec![u64::MAX; 40];
        // Which rows have a text that passes.
        let look = |block: &TableBlock, name: &str, rows: &[u64], passes: &dyn Fn(&str) -> bool| {
            let (mut slots, mut last) = (Bits::new(), None);
            let order = block.look_through(name, rows, "", &mut |slot, text| {
                assert!(last < Some(slot), "slots ascend");
                last = Some(slot);
                if passes(text) {
                    slots.insert(slot);
                }
            });
            Some((slots, order.unwrap()?))
        };
        assert!(look(&unpressed, names::MESSAGE, &all, &|_| true).is_some(), "nobody may come back");
        assert!(
            look(&unpressed, names::MESSAGE, &all, &|_| true).is_none(),
            "somebody did, and there is room"
        );
        clock.tick();
        assert!(look(&unpressed, names::MESSAGE, &all, &|_| true).is_some(), "there was not enough for all");
        let passes: [&dyn Fn(&str) -> bool; 5] = [
            &|_| true,
            &|text| text.contains("/p/9"),
            &|text| text.len() % 3 == 1,
            &|text| text.ends_with('1'),
            &|text| text.starts_with("GET") && text.contains(":17"),
        ];
        let mut looked = 0;
        for wanted in [all, vec![0x5555_0f0f_ffff_0001; 40], vec![0; 40]] {
            for name in [names::MESSAGE, "agent"] {
                let block = block_of(&entries).timed(clock.clone());
                let found = passes.map(|passes| look(&block, name, &wanted, passes));
                let column = block.column(name).unwrap().unwrap();
                assert!(look(&block, name, &wanted, &|_| true).is_none(), "{name} is there now");
                for (found, passes) in found.iter().zip(passes) {
                    let (slots, order) = found.as_ref().expect("a column of templates");
                    for row in 0..block.rows() {
                        let mut digits = IntText::default();
                        let text = column.text(row, &mut digits).filter(|_| bit(&wanted, row));
                        // Of rows that are not wanted, nobody was called.
                        let is_found = slots.contains(&order.slot(row));
                        assert_eq!(is_found, text.is_some_and(passes), "{name}, row {row}: {text:?}");
                        looked += usize::from(is_found);
                    }
                }
            }
        }
        assert!(looked > 5_000, "{looked}");
    }

    #[test]
    fn who_looks_for_something_sees_texts_from_the_first_of_it_on() {
        let entries = entries();
        let clock = QueryClock::default();
        let all = vec![u64::MAX; 40];
        // In the midst of what stays the same, in what varies, across both, in a field that is referred to, in texts kept whole.
        for start in [
            " took ",
            "took 1",
            "T /p",
            "/p/9",
            " ms",
            "s at 2026",
            "2",
            "-01",
            "user ",
            "er 1",
            " of 0.",
            ".",
            ": 0",
            "ff",
            "é",
            "ll al",
            ", all alone",
            "d",
            " or ",
            "6 and ",
            "G",
            "nowhere",
        ] {
            let (mut given, mut whole) = (0, 0);
            for name in [names::MESSAGE, "agent"] {
                let block = block_of(&entries).timed(clock.clone());
                let mut seen = Vec::new();
                let order = block.look_through(name, &all, start, &mut |slot, text| {
                    seen.push((slot, text.to_string()));
                });
                let order = order.unwrap().expect("a column of templates");
                let column = block.column(name).unwrap().unwrap();
                let mut seen = seen.into_iter().peekable();
                let mut of_slots: Vec<_> = (0..block.rows()).map(|row| (order.slot(row), row)).collect();
                of_slots.sort_unstable();
                for (slot, row) in of_slots {
                    let mut digits = IntText::default();
                    let Some(text) = column.text(row, &mut digits) else { continue };
                    let (at, part) = seen.next().expect("as many as there are texts");
                    assert_eq!(at, slot);
                    let from_start = |text: &str| text.find(start).map(|at| text[at..].to_string());
                    assert_eq!(from_start(&part), from_start(text), "{start:?} in {part:?} of {text:?}");
                    assert!(text.ends_with(&part), "{part:?} of {text:?}");
                    (given, whole) = (given + part.len(), whole + text.len());
                }
                assert_eq!(seen.next(), None);
            }
            // Digits may be anywhere.
            let is_everywhere = matches!(start, "2" | "d" | "." | "ff");
            assert!(given < whole * 9 / 10 || is_everywhere, "{start:?}: {given} of {whole} bytes");
        }
    }

    #[test]
    fn how_many_rows_have_a_label_is_told_without_their_rows() {
        let mut buf = EntryBuf::new(["app", "host"]);
        let entry = |n: i64| {
            buf.start(n).message("it happened");
            if n % 4 > 0 {
                buf.field("app", if n % 3 == 0 { "a" } else { "b" });
            }
            if n % 7 == 0 {
                buf.field("host", "web");
            }
            buf.finish().unwrap().to_vec()
        };
        let entries: Vec<Vec<u8>> = (0..1_000).map(entry).collect();
        let block = block_of(&entries);
        for name in ["app", "host", names::STREAM] {
            let column = block.column(name).unwrap().unwrap();
            let mut digits = IntText::default();
            let having = |row: usize, digits: &mut IntText| {
                column.text(row, digits).is_some_and(|text| !text.is_empty())
            };
            let expected: Vec<bool> = (0..1_000).map(|row| having(row, &mut digits)).collect();
            let rows = block.rows_having(name).unwrap().unwrap();
            assert!((0..1_000).all(|row| bit(&rows, row) == expected[row]), "{name}");
            let count = expected.iter().filter(|has| **has).count();
            assert!(count > 100 && count < 1_000);
            assert_eq!(block.rows_with(name).unwrap(), Some(count), "{name}");
        }
    }
}
