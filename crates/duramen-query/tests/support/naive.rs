//! What queries mean, in the plainest words: rows in a vector, one after another.

use super::Answer;
use super::query::{F, P};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct NaiveRow {
    /// In order; names are not repeated.
    pub cells: Vec<(String, String)>,
    /// For rows that are log entries: time, block, row in the block.
    pub place: Option<(i64, usize, usize)>,
}

impl NaiveRow {
    fn get(&self, name: &str) -> &str {
        self.cells.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }
    fn time(&self) -> Option<i64> {
        self.get("_time").parse::<jiff::Timestamp>().ok().map(|t| t.as_nanosecond() as i64)
    }
    /// In its place, if it has one.
    fn put(&mut self, name: &str, value: String) {
        match self.cells.iter_mut().find(|(n, _)| n == name) {
            Some(cell) => cell.1 = value,
            None => self.cells.push((name.into(), value)),
        }
    }
    fn set(&mut self, name: &str, value: Option<String>) {
        self.cells.retain(|(n, _)| n != name);
        self.cells.extend(value.map(|v| (name.to_string(), v)));
    }
}

fn word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_phrase(text: &str, phrase: &str, prefix: bool) -> bool {
    let (text, phrase): (Vec<char>, Vec<char>) = (text.chars().collect(), phrase.chars().collect());
    (0..=text.len()).any(|i| {
        let end = i + phrase.len();
        text[i..].starts_with(&phrase)
            && !(word_char(phrase[0]) && i > 0 && word_char(text[i - 1]))
            && (prefix || !(word_char(phrase[phrase.len() - 1]) && end < text.len() && word_char(text[end])))
    })
}

fn level(text: &str) -> Option<&str> {
    Some(match &*text.to_lowercase() {
        "error" | "err" => "error",
        "warn" | "warning" => "warn",
        "info" => "info",
        _ => return None,
    })
}

/// Where a phrase ends, at or after the character `from`.
fn phrase_end(text: &[char], phrase: &[char], from: usize) -> Option<usize> {
    let edge =
        |inside: char, outside: Option<&char>| !(word_char(inside) && outside.is_some_and(|c| word_char(*c)));
    (from..=text.len()).find_map(|i| {
        let end = i + phrase.len();
        let found = text[i..].starts_with(phrase)
            && edge(phrase[0], i.checked_sub(1).map(|before| &text[before]))
            && edge(phrase[phrase.len() - 1], text.get(end));
        found.then_some(end)
    })
}

/// The address as a number, if the text is one.
fn address(text: &str) -> Option<u32> {
    text.parse::<std::net::Ipv4Addr>().ok().map(u32::from)
}

/// Whether a row matches; `all` are the rows that queries inside the filter run over.
pub fn matches(f: &F, row: &NaiveRow, all: &[NaiveRow]) -> bool {
    let number = |field: &str| row.get(field).parse::<f64>().ok();
    match f {
        F::All => true,
        F::And(parts) => parts.iter().all(|p| matches(p, row, all)),
        F::Or(parts) => parts.iter().any(|p| matches(p, row, all)),
        F::Not(inner) => !matches(inner, row, all),
        F::Phrase(f, t) => has_phrase(row.get(f), t, false),
        F::Prefix(f, t) => has_phrase(row.get(f), t, true),
        F::Fold(f, t) => has_phrase(&row.get(f).to_lowercase(), &t.to_lowercase(), false),
        F::Exact(f, t) => row.get(f) == t,
        F::ExactPrefix(f, t) => row.get(f).starts_with(&**t),
        F::In(f, t) => t.iter().any(|t| row.get(f) == t),
        F::Compare(f, op, n) => number(f).is_some_and(|x| match *op {
            ">" => x > *n as f64,
            ">=" => x >= *n as f64,
            "<" => x < *n as f64,
            _ => x <= *n as f64,
        }),
        F::Range(f, a, with_a, b, with_b) => number(f).is_some_and(|x| {
            (x > *a as f64 || (*with_a && x == *a as f64)) && (x < *b as f64 || (*with_b && x == *b as f64))
        }),
        F::Any(f) => !row.get(f).is_empty(),
        F::Empty(f) => row.get(f).is_empty(),
        F::Contains(f, t) => row.get(f).contains(t),
        F::Level(l) => level(row.get("level")) == level(l) || has_phrase(row.get("level"), l, false),
        F::Substring(f, t) => row.get(f).contains(&**t),
        F::ContainsAll(f, t) => t.iter().all(|t| has_phrase(row.get(f), t, false)),
        F::ContainsAny(f, t) => t.iter().any(|t| has_phrase(row.get(f), t, false)),
        F::Seq(f, t) => {
            let text: Vec<char> = row.get(f).chars().collect();
            let next = |from: Option<usize>, phrase: &String| {
                phrase_end(&text, &phrase.chars().collect::<Vec<_>>(), from?)
            };
            t.iter().fold(Some(0), next).is_some()
        }
        F::TextRange(f, a, b) => row.get(f) >= *a && row.get(f) < *b,
        F::Length(f, a, b) => (*a..=*b).contains(&row.get(f).chars().count()),
        F::Pair(f, g, name) => {
            let (a, b) = (row.get(f), row.get(g));
            match *name {
                "eq_field" => a == b,
                "le_field" => compare(a, b).is_le(),
                _ => compare(a, b).is_lt(),
            }
        }
        F::Ip(net) => address(row.get("ip")).is_some_and(|ip| match *net {
            "10.0.0.0/8" => ip >> 24 == 10,
            "10.1.2.3" => ip == address(net).unwrap(),
            _ => true,
        }),
        F::IpAbove(from) => address(row.get("ip")).is_some_and(|ip| ip >= address(from).unwrap()),
        F::AnyField(prefix, t) => row.cells.iter().any(|(name, text)| {
            name.starts_with(prefix) && name != "_time" && name != "_stream" && has_phrase(text, t, false)
        }),
        F::DayRange(a, with_a, b, with_b) => row.time().is_some_and(|t| {
            let (t, a, b) = (t + 30_000_000_000, a * 60_000_000_000, b * 60_000_000_000);
            (t > a || (*with_a && t == a)) && (t < b || (*with_b && t == b))
        }),
        F::InQuery(f, g, inner) => {
            let value = row.get(f);
            !value.is_empty() && all.iter().any(|r| matches(inner, r, all) && r.get(g) == value)
        }
        F::StreamId(known) => *known && row.get("_stream") == "{host=\"h1\"}",
        F::Time(a, b) => row.time().is_some_and(|t| t >= a * 1_000_000_000 && t < b * 1_000_000_000),
        F::Host(h, equal) => {
            let stream = row.get("_stream");
            let host = stream.strip_prefix("{host=\"").and_then(|s| s.strip_suffix("\"}")).unwrap_or("");
            (host == *h) == *equal
        }
    }
}

/// Nothing, numbers, times, texts.
fn compare(a: &str, b: &str) -> Ordering {
    let time = |t: &str| t.parse::<jiff::Timestamp>().ok();
    let class = |t: &str| {
        if t.is_empty() {
            0
        } else if t.parse::<f64>().is_ok() {
            1
        } else if time(t).is_some() {
            2
        } else {
            3
        }
    };
    class(a).cmp(&class(b)).then_with(|| match class(a) {
        2 => time(a).cmp(&time(b)),
        1 => a.parse::<f64>().unwrap().total_cmp(&b.parse::<f64>().unwrap()),
        _ => a.cmp(b),
    })
}

fn compare_named(name: &str, a: &NaiveRow, b: &NaiveRow) -> Ordering {
    match (name, a.time(), b.time()) {
        ("_time", Some(x), Some(y)) => x.cmp(&y),
        _ => compare(a.get(name), b.get(name)),
    }
}

/// What a row has of these fields, as JSON.
fn object(row: &NaiveRow, fields: &[&str]) -> String {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let filled = fields.iter().filter(|f| !row.get(f).is_empty());
    let members: Vec<String> = filled.map(|f| format!("{}:{}", json(f), json(row.get(f)))).collect();
    format!("{{{}}}", members.join(","))
}

fn function(name: &str, fields: &[&str], rows: &[&NaiveRow]) -> String {
    let of_row = |r: &&NaiveRow| -> Vec<String> {
        let one = |f: &&str| match f.strip_suffix('*') {
            Some(prefix) => {
                let named = r.cells.iter().filter(|(n, _)| n.starts_with(prefix));
                named.map(|(_, v)| v.clone()).collect()
            }
            None => vec![r.get(f).to_string()],
        };
        fields.iter().flat_map(one).collect()
    };
    let all_values: Vec<String> = rows.iter().flat_map(of_row).collect();
    let values: Vec<&str> = all_values.iter().map(|v| &**v).filter(|v| !v.is_empty()).collect();
    let mut numbers: Vec<f64> = values.iter().filter_map(|v| v.parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    let by = |a: &&&str, b: &&&str| compare(a, b).then(a.cmp(b));
    let rank = |phi: f64| match numbers.len() {
        0 => String::new(),
        n => numbers[((phi * n as f64).ceil() as usize).clamp(1, n) - 1].to_string(),
    };
    match name {
        "count" if fields.is_empty() => rows.len().to_string(),
        "count_empty" => {
            rows.iter().filter(|r| fields.iter().all(|f| r.get(f).is_empty())).count().to_string()
        }
        "sum_len" => values.iter().map(|v| v.len()).sum::<usize>().to_string(),
        "values" => serde_json::to_string(&all_values).unwrap(),
        "any" => values.first().map_or(String::new(), |v| v.to_string()),
        "count" => rows.iter().filter(|r| fields.iter().any(|f| !r.get(f).is_empty())).count().to_string(),
        "count_uniq" | "count_uniq_hash" => {
            let tuples: BTreeSet<Vec<&str>> =
                rows.iter().map(|r| fields.iter().map(|f| r.get(f)).collect()).collect();
            tuples.iter().filter(|t| t.iter().any(|v| !v.is_empty())).count().to_string()
        }
        "sum" | "avg" if numbers.is_empty() => "NaN".into(),
        "sum" => numbers.iter().sum::<f64>().to_string(),
        "avg" => {
            let avg = numbers.iter().sum::<f64>() / numbers.len() as f64;
            format!("{avg:.14e}").parse::<f64>().unwrap().to_string()
        }
        "min" => values.iter().min_by(by).map_or(String::new(), |v| v.to_string()),
        "max" => values.iter().max_by(by).map_or(String::new(), |v| v.to_string()),
        "uniq_values" => {
            let mut unique = values.clone();
            unique.sort_by(|a, b| compare(a, b).then(a.cmp(b)));
            unique.dedup();
            serde_json::to_string(&unique).unwrap()
        }
        "row_any" => rows.first().map_or("{}".into(), |r| object(r, fields)),
        "row_min" | "row_max" => {
            let key = |r: &&&NaiveRow| !r.get(fields[0]).is_empty();
            let order = |a: &&&NaiveRow, b: &&&NaiveRow| {
                let order = compare_named(fields[0], a, b);
                if name == "row_min" { order } else { order.reverse() }
            };
            // Of several, the first.
            rows.iter().filter(key).min_by(order).map_or("{}".into(), |r| object(r, &fields[1..]))
        }
        "json_values" => {
            let objects: Vec<String> = rows.iter().take(2).map(|r| object(r, fields)).collect();
            format!("[{}]", objects.join(","))
        }
        "median" => rank(0.5),
        _ => rank(0.9),
    }
}

/// Groups in order of their values.
fn groups<'r>(by: &[&str], bucket: Option<i64>, rows: &'r [NaiveRow]) -> Vec<(NaiveRow, Vec<&'r NaiveRow>)> {
    let mut groups: BTreeMap<Vec<String>, Vec<&NaiveRow>> = BTreeMap::new();
    for row in rows {
        let mut key: Vec<String> = by.iter().map(|f| row.get(f).to_string()).collect();
        if let Some(seconds) = bucket {
            let step = seconds * 1_000_000_000;
            let start = row.time().map(|t| t.div_euclid(step) * step);
            let text = start.map(|t| jiff::Timestamp::from_nanosecond(t as i128).unwrap().to_string());
            key.push(text.unwrap_or_else(|| row.get("_time").to_string()));
        }
        groups.entry(key).or_default().push(row);
    }
    let names: Vec<&str> = by.iter().copied().chain(bucket.map(|_| "_time")).collect();
    let mut out: Vec<_> = groups
        .into_iter()
        .map(|(key, rows)| {
            let cells = names.iter().map(|n| n.to_string()).zip(key).collect();
            (NaiveRow { cells, place: None }, rows)
        })
        .collect();
    out.sort_by(|(a, _), (b, _)| {
        let each = names.iter().map(|n| compare_named(n, a, b).then_with(|| a.get(n).cmp(b.get(n))));
        each.fold(Ordering::Equal, Ordering::then)
    });
    out
}

/// `rows` in the order of the answer without pipes.
pub fn run(filter: &F, pipes: &[P], all: Vec<NaiveRow>, limit: Option<usize>) -> Answer {
    let mut rows: Vec<NaiveRow> = all.iter().filter(|r| matches(filter, r, &all)).cloned().collect();
    let mut first = true;
    for pipe in pipes {
        let is_filter = matches!(pipe, P::Where(_));
        rows = match pipe {
            P::Limit(n) => rows.into_iter().take(*n).collect(),
            P::Offset(n) => rows.into_iter().skip(*n).collect(),
            P::Where(f) => rows.into_iter().filter(|r| matches(f, r, &all)).collect(),
            P::Fields(names) => rows
                .into_iter()
                .map(|r| {
                    let cell = |n: &&str| r.cells.iter().find(|(m, _)| m == n).cloned();
                    NaiveRow { cells: names.iter().filter_map(cell).collect(), place: r.place }
                })
                .collect(),
            P::Delete(names) => {
                rows.iter_mut().for_each(|r| r.cells.retain(|(n, _)| !names.contains(&&**n)));
                rows
            }
            P::Rename(from, to) => {
                for r in &mut rows {
                    r.cells.retain(|(n, _)| n != to);
                    r.cells.iter_mut().filter(|(n, _)| n == from).for_each(|(n, _)| *n = to.to_string());
                }
                rows
            }
            P::Copy(from, to) => {
                for r in &mut rows {
                    let value = r.cells.iter().find(|(n, _)| n == from).map(|(_, v)| v.clone());
                    r.set(to, value);
                }
                rows
            }
            P::Sort(by, partition, offset, limit, rank) => {
                if first && matches!(by[..], [("_time", _)]) && partition.is_empty() && !rank {
                    // Entries that are sorted by time alone come in the order of the store.
                    rows.sort_by_key(|r| r.place);
                    if by[0].1 {
                        rows.reverse();
                    }
                } else {
                    rows.sort_by(|a, b| {
                        let each = by.iter().map(|(n, desc)| {
                            let c = compare_named(n, a, b);
                            if *desc { c.reverse() } else { c }
                        });
                        each.fold(Ordering::Equal, Ordering::then)
                    });
                }
                let mut parts = groups(partition, None, &rows);
                if partition.is_empty() && rows.is_empty() {
                    parts.clear();
                }
                let taken = parts.into_iter().flat_map(|(_, rows)| {
                    let rows = rows.into_iter().cloned().enumerate();
                    rows.skip(*offset).take(limit.map_or(usize::MAX, |n| n)).map(|(i, mut row)| {
                        if *rank {
                            row.put("place", (i + 1).to_string());
                        }
                        row
                    })
                });
                taken.collect()
            }
            P::Stats(by, bucket, functions) => groups(by, *bucket, &rows)
                .into_iter()
                .map(|(mut row, members)| {
                    for (i, (name, fields, condition)) in functions.iter().enumerate() {
                        let met = |r: &&&NaiveRow| condition.as_ref().is_none_or(|c| matches(c, r, &all));
                        let members: Vec<&NaiveRow> = members.iter().filter(met).copied().collect();
                        row.cells.push((format!("r{i}"), function(name, fields, &members)));
                    }
                    row
                })
                .collect(),
            P::Window(total, by, name, field) => {
                rows.sort_by(|a, b| compare_named("_time", a, b));
                let before = rows.clone();
                for (i, row) in rows.iter_mut().enumerate() {
                    let seen = if *total { &before[..] } else { &before[..=i] };
                    let same = |r: &&NaiveRow| by.iter().all(|f| r.get(f) == before[i].get(f));
                    let members: Vec<&NaiveRow> = seen.iter().filter(same).collect();
                    let value = function(name, &[field], &members);
                    row.put("w", value);
                }
                rows
            }
            P::Top(n, by) => {
                let mut groups = groups(by, None, &rows);
                groups.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
                let hits = |(mut row, members): (NaiveRow, Vec<&NaiveRow>)| {
                    row.cells.push(("hits".into(), members.len().to_string()));
                    row
                };
                groups.into_iter().take(*n).map(hits).collect()
            }
            P::Uniq(by, with_hits, limit) => {
                let groups = groups(by, None, &rows).into_iter().take(limit.unwrap_or(usize::MAX));
                let hits = |(mut row, members): (NaiveRow, Vec<&NaiveRow>)| {
                    row.cells.extend(with_hits.then(|| ("hits".into(), members.len().to_string())));
                    row
                };
                groups.map(hits).collect()
            }
        };
        first &= is_filter;
    }
    rows.into_iter().take(limit.unwrap_or(usize::MAX)).map(|r| r.cells).collect()
}
