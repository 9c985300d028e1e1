//! Which class a line is of: the first rule that fits it.

use super::selector::labels_of;
use super::{Retention, RetentionLines, StreamSelector, expiry};
use crate::block::{Block, names};
use crate::column::IntText;
use crate::columnar::TableBlock;
use crate::entry::EntryRef;
use crate::error::{Error, Result};
use crate::label_text;
use crate::store::layout::day_of;
use crate::store::rows::{Arenas, RowPlace};
use crate::value::Level;
use hashbrown::HashMap;
use std::borrow::Cow;

/// So many streams are remembered, so that memory stays bounded where streams never come twice.
const MAX_REMEMBERED_STREAMS: usize = 10_000;

/// What stands for the message in an entry's bytes: equal bytes are then no equal stream.
const SAME_AS_MESSAGE: u8 = 0xF7;

/// Tells the class of lines.
pub(crate) struct Classifier<'p> {
    /// For each level, the first rule for it.
    levels: [u32; 7],
    streams: Vec<(u32, &'p StreamSelector)>,
    /// The class of lines that no rule fits.
    others: u32,
    /// By the bytes of a stream: the first rule for it.
    remembered: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
}

impl<'p> Classifier<'p> {
    pub(crate) fn new(policy: &'p Retention) -> Self {
        let others = policy.rules.len() as u32;
        let mut classifier =
            Self { levels: [others; 7], streams: Vec::new(), others, remembered: HashMap::default() };
        for (class, rule) in (0..).zip(&policy.rules) {
            match &rule.lines {
                RetentionLines::Level(level) => {
                    let first = &mut classifier.levels[*level as usize];
                    *first = class.min(*first);
                }
                RetentionLines::Stream(selector) => classifier.streams.push((class, selector)),
            }
        }
        classifier
    }

    /// How many classes there are.
    pub(crate) fn classes(&self) -> usize {
        self.others as usize + 1
    }

    fn of_stream(&self, labels: &[(String, String)]) -> u32 {
        let mut rules = self.streams.iter();
        rules.find(|(_, selector)| selector.selects(labels)).map_or(self.others, |(class, _)| *class)
    }

    fn of_level(&self, level: Level) -> u32 {
        self.levels[level as usize]
    }

    /// The class of an entry.
    pub(crate) fn of_entry(&mut self, entry: &EntryRef<'_>) -> u32 {
        let of_level = self.of_level(entry.level);
        if self.streams.is_empty() {
            return of_level;
        }
        let bytes = entry.stream_bytes();
        let of_stream = match self.remembered.get(bytes) {
            Some(known) => *known,
            None => {
                let found = self.of_stream(&labels_of(entry));
                if !bytes.contains(&SAME_AS_MESSAGE) {
                    if self.remembered.len() >= MAX_REMEMBERED_STREAMS {
                        self.remembered.clear();
                    }
                    self.remembered.insert(bytes.into(), found);
                }
                found
            }
        };
        of_level.min(of_stream)
    }

    /// The class of each row of a block.
    ///
    /// # Errors
    /// What reading its levels and streams comes to.
    pub(crate) fn of_rows(&self, block: &TableBlock) -> Result<Vec<u32>> {
        let mut classes: Vec<u32> = block.levels()?.into_iter().map(|level| self.of_level(level)).collect();
        if self.streams.is_empty() {
            return Ok(classes);
        }
        let no_stream = || Error::decode("a block", "it has no streams");
        let column = block.column(names::STREAM)?.ok_or_else(no_stream)?;
        let mut known: HashMap<String, u32, foldhash::fast::FixedState> = HashMap::default();
        let mut digits = IntText::default();
        for (row, class) in classes.iter_mut().enumerate() {
            let text = column.text(row, &mut digits).unwrap_or_default();
            let of_stream = match known.get(text) {
                Some(of_stream) => *of_stream,
                None => {
                    let found = self.of_stream(&label_text::parse(text).unwrap_or_default());
                    known.insert(text.to_owned(), found);
                    found
                }
            };
            *class = of_stream.min(*class);
        }
        Ok(classes)
    }
}

/// Rows of one class, in order.
pub(crate) struct Pile<'r> {
    pub(crate) rows: Cow<'r, [RowPlace]>,
    /// By which rules, and which of them; `None` where there are no rules.
    pub(crate) class: Option<(u64, u32)>,
}

/// Rows on their way into tables, by class, without those that have expired already.
pub(crate) struct Sorted<'r> {
    pub(crate) piles: Vec<Pile<'r>>,
    /// How many have expired.
    pub(crate) late: u64,
    /// The UTC day on which they are sorted; later ones are to come.
    pub(crate) today: i64,
}

/// Sorts rows, which are in order, into classes.
///
/// # Errors
/// As [`Arenas::row`].
pub(crate) fn sort<'r>(
    policy: Option<&Retention>,
    now_ns: i64,
    arenas: &Arenas,
    rows: &'r [RowPlace],
) -> Result<Sorted<'r>> {
    let today = day_of(now_ns);
    let Some(policy) = policy else {
        return Ok(Sorted { piles: vec![Pile { rows: rows.into(), class: None }], late: 0, today });
    };
    let expiry_of = |class| policy.age_of_class(class).map_or(i64::MIN, |age| expiry(now_ns, age));
    if policy.rules.is_empty() {
        let late = rows.partition_point(|(key, _)| key.time < expiry_of(0));
        let pile = Pile { rows: rows[late..].into(), class: None };
        return Ok(Sorted { piles: vec![pile], late: late as u64, today });
    }
    let mut classifier = Classifier::new(policy);
    let expiries: Vec<i64> = (0..classifier.classes()).map(expiry_of).collect();
    let mut piles = vec![Vec::new(); classifier.classes()];
    let mut late = 0;
    for place in rows {
        let class = classifier.of_entry(&arenas.row(place)?.entry) as usize;
        if place.0.time < expiries[class] {
            late += 1;
        } else {
            piles[class].push(*place);
        }
    }
    let id = policy.classes_id();
    let pile = |(class, rows): (u32, Vec<RowPlace>)| Pile { rows: rows.into(), class: Some((id, class)) };
    let piles = (0..).zip(piles).filter(|(_, rows)| !rows.is_empty()).map(pile).collect();
    Ok(Sorted { piles, late, today })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;
    use crate::store::retention::RetentionRule;

    #[test]
    fn the_first_rule_that_fits_decides() {
        let stream = |text: &str| RetentionRule::stream(text.parse().unwrap(), None);
        let policy = Retention {
            rules: vec![
                stream(r#"{app="a",host="1"}"#),
                RetentionRule::level(Level::Debug, None),
                stream(r#"{app="a"}"#),
                RetentionRule::level(Level::Debug, None), // never reached
                RetentionRule::level(Level::Unknown, None),
            ],
            ..Retention::default()
        };
        let mut classifier = Classifier::new(&policy);
        let mut buf = EntryBuf::new(["app", "host"]);
        for _twice_from_memory in 0..2 {
            for (app, host, level, class) in [
                ("a", "1", Level::Debug, 0),
                ("a", "2", Level::Debug, 1),
                ("a", "2", Level::Info, 2),
                ("b", "1", Level::Debug, 1),
                ("b", "1", Level::Unknown, 4),
                ("b", "1", Level::Info, 5),
            ] {
                buf.start(1).level(level).field("app", app).field("host", host);
                let entry = EntryRef::decode(buf.finish().unwrap()).unwrap();
                assert_eq!(classifier.of_entry(&entry), class, "{app} {host} {level}");
            }
        }
        // A stream that is said in the words of its message is another with each message.
        for (message, class) in [("a", 2), ("b", 5), ("a", 2)] {
            buf.start(1).level(Level::Info).message(message).field_same_as_message("app");
            let entry = EntryRef::decode(buf.finish().unwrap()).unwrap();
            assert_eq!(classifier.of_entry(&entry), class, "{message}");
        }
    }
}
