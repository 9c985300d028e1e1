//! Questions about fields.

use crate::ask::{Asker, quote};
use crate::record::{Kind, Record};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a field over all records.
#[derive(Default)]
struct Facts<'a> {
    /// How many records have a value that is not empty.
    present: usize,
    values: BTreeSet<&'a str>,
    not_integer: bool,
    not_decimal: bool,
}

/// Asks for exact values, ranges, presence, and for what `stats`, `top` and `sort` make of them.
pub fn ask(asker: &mut Asker<'_>) {
    let facts = facts(&asker.records.rows);
    let total = asker.records.rows.len();
    let pick = |asker: &mut Asker<'_>, wanted: &dyn Fn(&Facts<'_>) -> bool| {
        let names: Vec<&str> =
            facts.iter().filter(|(_, facts)| wanted(facts)).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| (*asker.random.of(&names)).to_owned())
    };
    let few = |facts: &Facts<'_>| (2..=50).contains(&facts.values.len());
    let low = pick(asker, &few);
    let low_too = pick(asker, &|f| few(f) && f.values.len() <= 20);
    let high = pick(asker, &|f| f.present >= 20 && f.values.len() * 2 >= f.present);
    let integer = pick(asker, &|f| !f.not_integer && f.values.len() >= 5);
    let decimal = pick(asker, &|f| f.not_integer && !f.not_decimal && f.values.len() >= 5);
    let partial = pick(asker, &|f| f.present * 10 < total * 9);
    if let Some(field) = &low {
        few_values(asker, field);
    }
    if let Some(field) = &high {
        many_values(asker, field);
    }
    if let Some(field) = &integer {
        integers(asker, field);
    }
    if let Some(field) = &decimal {
        decimals(asker, field);
    }
    if let Some(field) = &partial {
        let name = quote(field);
        asker.matches(&format!("{name}:*"), |record| !record.get(field).is_empty());
        asker.matches(&format!("{name}:\"\""), |record| record.get(field).is_empty());
        asker.matches(&format!("-{name}:*"), |record| record.get(field).is_empty());
    }
    if let (Some(a), Some(b)) = (&low, &low_too)
        && a != b
    {
        let groups = count_by(&asker.records.rows, &[a, b]);
        asker.groups(&format!("* | stats by ({}, {}) count() n", quote(a), quote(b)), &groups);
    }
    if let (Some(low), Some(integer)) = (&low, &integer) {
        both(asker, low, integer);
    }
}

fn facts(rows: &[Record]) -> BTreeMap<&str, Facts<'_>> {
    let mut facts = BTreeMap::<&str, Facts<'_>>::new();
    for (name, leaf) in rows.iter().flat_map(|record| &record.fields.0) {
        // The store has a level of its own where the sender named none.
        if &**name == "level" {
            continue;
        }
        let facts = facts.entry(name).or_default();
        if !leaf.text.is_empty() {
            facts.present += 1;
            facts.values.insert(&leaf.text);
        }
        let is_number = leaf.kind == Kind::Number;
        facts.not_integer |= !is_number || leaf.text.parse::<i64>().is_err();
        facts.not_decimal |= !is_number;
    }
    facts
}

fn count_by(rows: &[Record], fields: &[&str]) -> BTreeMap<Vec<String>, String> {
    let mut groups = BTreeMap::<Vec<&str>, u64>::new();
    for record in rows {
        *groups.entry(fields.iter().map(|field| record.get(field)).collect()).or_default() += 1;
    }
    let owned = |(group, count): (Vec<&str>, u64)| {
        (group.into_iter().map(str::to_owned).collect(), count.to_string())
    };
    groups.into_iter().map(owned).collect()
}

/// A value of the field that is not empty.
fn any_value<'r>(asker: &mut Asker<'r>, field: &str) -> &'r str {
    let rows = &asker.records.rows;
    loop {
        let value = asker.random.of(rows).get(field);
        if !value.is_empty() {
            return value;
        }
    }
}

fn few_values(asker: &mut Asker<'_>, field: &str) {
    let name = quote(field);
    let (one, other) = (any_value(asker, field), any_value(asker, field));
    asker.matches(&format!("{name}:={}", quote(one)), |record| record.get(field) == one);
    asker.matches(&format!("-{name}:={}", quote(one)), |record| record.get(field) != one);
    asker.matches(&format!("{name}:in({}, {})", quote(one), quote(other)), |record| {
        [one, other].contains(&record.get(field))
    });
    let groups = count_by(&asker.records.rows, &[field]);
    asker.groups(&format!("* | stats by ({name}) count() n"), &groups);
    asker.groups(&format!("* | uniq by ({name}) with hits"), &groups);
    top(asker, field, &groups);
}

/// Which of several equally frequent values are among the top is not compared, only that they are as frequent.
fn top(asker: &mut Asker<'_>, field: &str, groups: &BTreeMap<Vec<String>, String>) {
    let query = format!("* | top 5 by ({})", quote(field));
    let rows = asker.answer(&query, &[]);
    let mut expected: Vec<u64> = groups.values().map(|count| count.parse().unwrap()).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    expected.truncate(5);
    let hits: Vec<u64> = rows.iter().map(|row| row[1].1.text.parse().unwrap()).collect();
    assert_eq!(hits, expected, "{}", asker.context(&query));
    let values: BTreeSet<&str> = rows.iter().map(|row| &*row[0].1.text).collect();
    assert_eq!(values.len(), rows.len(), "{}", asker.context(&query));
    for row in &rows {
        assert_eq!(groups.get(&vec![row[0].1.text.to_string()]).map(|n| &**n), Some(&*row[1].1.text));
    }
}

fn many_values(asker: &mut Asker<'_>, field: &str) {
    let name = quote(field);
    let value = any_value(asker, field);
    asker.matches(&format!("{name}:={}", quote(value)), |record| record.get(field) == value);
    let start: String = value.chars().take(4).collect();
    asker.matches(&format!("{name}:={}*", quote(&start)), |record| record.get(field).starts_with(&start));
    let rows = &asker.records.rows;
    let values = rows.iter().map(|record| record.get(field)).filter(|value| !value.is_empty());
    let values: BTreeSet<&str> = values.collect();
    let count = asker.value(&format!("* | stats count_uniq({name}) n"));
    assert_eq!(count, values.len().to_string(), "{}", asker.context(&format!("count_uniq({field})")));
    let groups = count_by(rows, &[field]);
    top(asker, field, &groups);
}

fn integers(asker: &mut Asker<'_>, field: &str) {
    let name = quote(field);
    let number = |record: &Record| record.get(field).parse::<i64>().ok();
    let mut ends = [(); 2].map(|()| any_value(asker, field).parse::<i64>().unwrap());
    ends.sort_unstable();
    let [from, to] = ends;
    asker.matches(&format!("{name}:>{from}"), |record| number(record).is_some_and(|n| n > from));
    asker.matches(&format!("{name}:<={to}"), |record| number(record).is_some_and(|n| n <= to));
    asker.matches(&format!("{name}:range[{from}, {to})"), |record| {
        number(record).is_some_and(|n| (from..to).contains(&n))
    });

    let mut numbers: Vec<i64> = asker.records.rows.iter().filter_map(number).collect();
    numbers.sort_unstable();
    let sum: i128 = numbers.iter().map(|n| i128::from(*n)).sum();
    let query = format!("* | stats count({name}) n, min({name}), max({name}), sum({name}), median({name})");
    let row = asker.answer(&query, &[]).remove(0);
    let found: Vec<&str> = row.iter().map(|(_, leaf)| &*leaf.text).collect();
    // The nearest rank: at least half of all are not above it.
    let median = numbers[numbers.len().div_ceil(2) - 1];
    let expected = [numbers[0], numbers[numbers.len() - 1]].map(|n| n.to_string());
    let expected = [
        numbers.len().to_string(),
        expected[0].clone(),
        expected[1].clone(),
        sum.to_string(),
        median.to_string(),
    ];
    assert_eq!(found, expected, "{}", asker.context(&query));

    let query = format!("{name}:* | sort by ({name} desc) limit 5 | fields {name}");
    let rows = asker.answer(&query, &[]);
    let found: Vec<i64> = rows.iter().map(|row| row[0].1.text.parse().unwrap()).collect();
    let largest: Vec<i64> = numbers.iter().rev().take(5).copied().collect();
    assert_eq!(found, largest, "{}", asker.context(&query));
}

fn decimals(asker: &mut Asker<'_>, field: &str) {
    let name = quote(field);
    let number = |record: &Record| record.get(field).parse::<f64>().ok();
    let bound_text = any_value(asker, field);
    let bound: f64 = bound_text.parse().unwrap();
    asker.matches(&format!("{name}:>{bound_text}"), |record| number(record).is_some_and(|n| n > bound));
    asker.matches(&format!("{name}:<={bound_text}"), |record| number(record).is_some_and(|n| n <= bound));
    let numbers: Vec<f64> = asker.records.rows.iter().filter_map(number).collect();
    let sum: f64 = numbers.iter().sum();
    let query = format!("* | stats min({name}), max({name}), sum({name}), avg({name})");
    let row = asker.answer(&query, &[]).remove(0);
    let found: Vec<f64> = row.iter().map(|(_, leaf)| leaf.text.parse().unwrap()).collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let expected = [least, most, sum, sum / numbers.len() as f64];
    for (found, expected) in found.iter().zip(expected) {
        // Sums are rounded to 15 digits, and depend on the order besides.
        let close = (found - expected).abs() <= expected.abs() * 1e-12;
        assert!(close, "{found} for {expected}: {}", asker.context(&query));
    }
}

/// A field with few values and one of integers, together.
fn both(asker: &mut Asker<'_>, low: &str, integer: &str) {
    let (low_name, integer_name) = (quote(low), quote(integer));
    let number = |record: &Record| record.get(integer).parse::<i64>().ok();
    let value = any_value(asker, low);
    let bound: i64 = any_value(asker, integer).parse().unwrap();
    let low_filter = format!("{low_name}:={}", quote(value));
    asker.matches(&format!("{low_filter} {integer_name}:>={bound}"), |record| {
        record.get(low) == value && number(record).is_some_and(|n| n >= bound)
    });
    asker.matches(&format!("{low_filter} or !{integer_name}:>={bound}"), |record| {
        record.get(low) == value || number(record).is_none_or(|n| n < bound)
    });
    let mut sums = BTreeMap::<Vec<String>, Option<i128>>::new();
    for record in &asker.records.rows {
        let sum = sums.entry(vec![record.get(low).to_owned()]).or_default();
        if let Some(n) = number(record) {
            *sum = Some(sum.unwrap_or(0) + i128::from(n));
        }
    }
    let text = |sum: Option<i128>| sum.map_or("NaN".to_owned(), |sum| sum.to_string());
    let sums = sums.into_iter().map(|(group, sum)| (group, text(sum))).collect();
    asker.groups(&format!("* | stats by ({low_name}) sum({integer_name}) n"), &sums);
}
