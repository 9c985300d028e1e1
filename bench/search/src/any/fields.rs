//! Fields of few, some and many values, and of numbers.

use super::sample::Sample;
use std::collections::{BTreeMap, HashSet};

/// A field has few values up to this.
const FEW: usize = 20;
/// Values by which a report may be grouped.
const SOME: usize = 5_000;
/// Later numbers are times, as a rule.
const NUMBER_MAX: f64 = 1e9;

/// Fields to ask for; nothing where there is no such field.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// The level, or another field of 2 to 20 values.
    pub(crate) few: Option<String>,
    /// 21 to 5,000 values, each on two lines on average, or more.
    pub(crate) some: Option<String>,
    /// A field of which most values are on one or two lines, and such a value.
    pub(crate) many: Option<(String, String)>,
    pub(crate) number: Option<String>,
    /// The field with the most text: the message, if there is one.
    pub(crate) text: Option<String>,
}

#[derive(Debug, Default)]
struct Column<'a> {
    rows: usize,
    bytes: usize,
    values: HashSet<String>,
    last_plain: Option<&'a str>,
    numbers: usize,
    largest: f64,
}

impl Chosen {
    pub(crate) fn of(sample: &Sample) -> Self {
        let mut columns: BTreeMap<&str, Column<'_>> = BTreeMap::new();
        for (i, row) in sample.rows.iter().enumerate() {
            for (name, value) in row.iter().filter(|(name, _)| name != "_time") {
                let column = columns.entry(name).or_default();
                column.rows += 1;
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                column.bytes += text.len();
                if let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    column.numbers += 1;
                    column.largest = column.largest.max(number.abs());
                }
                column.values.insert(text);
                // Two thirds down the file.
                let plain = value.as_str().filter(|text| text.len() >= 6 && is_plain(text));
                if plain.is_some() && (column.last_plain.is_none() || i <= sample.rows.len() * 2 / 3) {
                    column.last_plain = plain;
                }
            }
        }
        let texts = columns.iter().filter(|(name, column)| {
            let is_time = column.last_plain.is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
            **name != "log_file" && column.numbers == 0 && !is_time
        });
        let text = texts.max_by_key(|(_, column)| column.bytes).map(|(name, _)| (*name).to_owned());
        let text = if columns.contains_key("_msg") { Some("_msg".to_owned()) } else { text };
        let others = || columns.iter().filter(|(name, _)| !["_msg", "log_file"].contains(*name));
        let best = |fits: &dyn Fn(&Column<'_>) -> bool| {
            let fitting = others().filter(|(_, column)| fits(column));
            fitting
                .max_by_key(|(_, column)| (column.rows, column.values.len()))
                .map(|(name, _)| (*name).to_owned())
        };
        let is_few = |column: &Column<'_>| (2..=FEW).contains(&column.values.len());
        let has_level = columns.get("level").is_some_and(is_few);
        let few = if has_level { Some("level".to_owned()) } else { best(&is_few) };
        let some = best(&|column| {
            (FEW + 1..=SOME).contains(&column.values.len()) && column.values.len() * 2 <= column.rows
        });
        let number = best(&|column| {
            column.numbers == column.rows && column.values.len() > FEW && column.largest < NUMBER_MAX
        });
        let many = others()
            .filter(|(_, column)| column.values.len() > FEW && column.values.len() * 2 > column.rows)
            .filter_map(|(name, column)| Some((column.values.len(), *name, column.last_plain?)))
            .max();
        let many = many.map(|(_, name, value)| (name.to_owned(), value.to_owned()));
        Self { few, some, many, number, text }
    }
}

/// Needs no escapes between quotes.
fn is_plain(text: &str) -> bool {
    text.len() <= 100 && text.chars().all(|c| c.is_ascii_alphanumeric() || " ._-:/{}@".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn fields_are_chosen_by_how_many_values_they_have() {
        let row = |i: usize| {
            vec![
                ("level".to_owned(), ["info", "error"][i % 2].into()),
                ("user".to_owned(), format!("user {}", i % 30).into()),
                ("request".to_owned(), format!("request-{i}").into()),
                ("took".to_owned(), (i * 3).into()),
                ("_msg".to_owned(), format!("it took {i}").into()),
            ]
        };
        let rows = (0..100).map(row).collect();
        let sample = Sample { count: 100, first: Timestamp::UNIX_EPOCH, last: Timestamp::UNIX_EPOCH, rows };
        let chosen = Chosen::of(&sample);
        assert_eq!(chosen.few.as_deref(), Some("level"));
        assert_eq!(chosen.some.as_deref(), Some("user"));
        assert_eq!(chosen.number.as_deref(), Some("took"));
        assert_eq!(chosen.text.as_deref(), Some("_msg"));
        assert_eq!(chosen.many, Some(("request".to_owned(), "request-66".to_owned())));
    }
}
