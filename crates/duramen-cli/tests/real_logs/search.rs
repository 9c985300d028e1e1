//! Questions about texts and times.

use crate::ask::{Asker, quote};
use crate::files::DataFile;
use crate::record::{Kind, Record};
use crate::stamp::{Stamp, rfc3339, rfc3339_exact};
use crate::words::{has_phrase, has_word_in_any_case, words};
use std::collections::{BTreeMap, HashMap};

/// Words that mean something to LogsQL.
const RESERVED: [&str; 6] = ["and", "or", "not", "in", "i", "range"];
/// In no file: neither as a word nor in one.
const NOWHERE: &str = "qxzhwjv_nowhere_7351";

/// Asks for words, phrases, prefixes, regular expressions, their combinations, for the first rows, and for times.
pub fn ask(asker: &mut Asker<'_>, file: &DataFile) {
    let field = text_field(asker);
    let frequent = Frequencies::of(asker.records.rows.iter().map(|record| record.get(&field)));
    let about = About { prefix: if field == "_msg" { String::new() } else { quote(&field) + ":" }, field };
    about.words(asker, &frequent);
    about.phrases(asker);
    about.combinations(asker);
    about.first_rows(asker, &frequent);
    if !matches!(file.known.stamp, Stamp::None) {
        about.times(asker, &frequent);
    }
}

/// The message; or, where there is none, the field with the most text.
fn text_field(asker: &Asker<'_>) -> String {
    let rows = &asker.records.rows;
    if rows.iter().any(|record| !record.message.is_empty()) {
        return "_msg".into();
    }
    let mut bytes = BTreeMap::new();
    for (name, leaf) in rows.iter().flat_map(|record| &record.fields.0) {
        if matches!(leaf.kind, Kind::Text | Kind::Json) {
            *bytes.entry(&**name).or_insert(0) += leaf.text.len();
        }
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap().0.to_owned()
}

/// The words of a file by how many records have them.
struct Frequencies<'a> {
    /// From the rarest to the most common; then by their letters.
    words: Vec<(usize, &'a str)>,
}

impl<'a> Frequencies<'a> {
    fn of(texts: impl Iterator<Item = &'a str>) -> Self {
        // How many records, and the last one counted.
        let mut seen: HashMap<&str, (usize, usize)> = HashMap::new();
        for (number, text) in texts.enumerate() {
            for (_, word) in words(text) {
                let (count, last) = seen.entry(word).or_insert((0, usize::MAX));
                if *last != number {
                    (*count, *last) = (*count + 1, number);
                }
            }
        }
        let mut words: Vec<_> = seen.into_iter().map(|(word, (count, _))| (count, word)).collect();
        words.sort_unstable();
        assert!(!words.is_empty());
        Self { words }
    }

    /// One of those in the fewest records.
    fn rare(&self, asker: &mut Asker<'_>) -> &'a str {
        let fewest = self.words[0].0;
        let rarest = self.words.partition_point(|(count, _)| *count == fewest);
        asker.random.of(&self.words[..rarest]).1
    }

    /// One of the ten in the most records.
    fn common(&self, asker: &mut Asker<'_>) -> &'a str {
        asker.random.of(&self.words[self.words.len().saturating_sub(10)..]).1
    }
}

/// Questions about one field.
struct About {
    field: String,
    /// What stands before a filter for it.
    prefix: String,
}

impl About {
    fn text<'r>(&self, record: &'r Record) -> &'r str {
        record.get(&self.field)
    }

    /// A text that is not empty.
    fn any_text<'r>(&self, asker: &mut Asker<'r>) -> &'r str {
        let rows = &asker.records.rows;
        loop {
            let text = self.text(asker.random.of(rows));
            if words(text).next().is_some() {
                return text;
            }
        }
    }

    /// A word of some record: the more often it is there, the likelier.
    fn any_word<'r>(&self, asker: &mut Asker<'r>) -> &'r str {
        let all: Vec<&str> = words(self.any_text(asker)).map(|(_, word)| word).collect();
        all[asker.random.below(all.len())]
    }

    #[track_caller]
    fn word(&self, asker: &mut Asker<'_>, word: &str) {
        let filter = format!("{}{}", self.prefix, quote(word));
        asker.matches(&filter, |record| has_phrase(self.text(record), word, false));
    }

    fn words(&self, asker: &mut Asker<'_>, frequent: &Frequencies<'_>) {
        let (rare, common) = (frequent.rare(asker), frequent.common(asker));
        for word in [rare, common, NOWHERE, self.any_word(asker)] {
            self.word(asker, word);
        }
        // One without quotes.
        let bare = loop {
            let word = self.any_word(asker);
            if !RESERVED.contains(&&*word.to_lowercase()) {
                break word;
            }
        };
        asker.matches(&format!("{}{bare}", self.prefix), |record| has_phrase(self.text(record), bare, false));
        let word = self.any_word(asker);
        let other_case =
            if word.contains(char::is_uppercase) { word.to_lowercase() } else { word.to_uppercase() };
        let filter = format!("{}i({})", self.prefix, quote(&other_case));
        asker.matches(&filter, |record| has_word_in_any_case(self.text(record), word));
        let start: String = word.chars().take(3).collect();
        let filter = format!("{}{}*", self.prefix, quote(&start));
        asker.matches(&filter, |record| has_phrase(self.text(record), &start, true));
    }

    /// Two or three words of a random text with all that is between them; and the same as a prefix.
    fn phrases(&self, asker: &mut Asker<'_>) {
        for count in [2, 3] {
            let text = self.any_text(asker);
            let all: Vec<(usize, &str)> = words(text).collect();
            let first = asker.random.below(all.len().saturating_sub(count - 1));
            let last = all[(first + count - 1).min(all.len() - 1)];
            let phrase = &text[all[first].0..last.0 + last.1.len()];
            self.word(asker, phrase);
            let mut shorter = phrase.to_owned();
            if last.1.chars().count() > 1 {
                shorter.pop();
            }
            let filter = format!("{}{}*", self.prefix, quote(&shorter));
            asker.matches(&filter, |record| has_phrase(self.text(record), &shorter, true));
        }
        // Any text at all, wherever it begins and ends.
        let text = self.any_text(asker);
        let chars: Vec<char> = text.chars().collect();
        let from = asker.random.below(chars.len());
        let literal: String = chars[from..].iter().take(9).collect();
        let escaped = literal.chars().fold(String::new(), |mut out, c| {
            // `\<` and `\>` would be ends of words.
            if c.is_ascii_punctuation() && !matches!(c, '<' | '>') {
                out.push('\\');
            }
            out.push(c);
            out
        });
        let filter = format!("{}~{}", self.prefix, quote(&escaped));
        asker.matches(&filter, |record| self.text(record).contains(&literal));
        let whole = self.any_text(asker);
        // An argument of a command has its limits.
        if whole.len() < 50_000 {
            let filter = format!("{}={}", self.prefix, quote(whole));
            asker.matches(&filter, |record| self.text(record) == whole);
        }
    }

    fn combinations(&self, asker: &mut Asker<'_>) {
        let picked = [(); 3].map(|()| self.any_word(asker));
        let [a, b, c] = picked.map(|word| format!("{}{}", self.prefix, quote(word)));
        let has = |record: &Record| picked.map(|word| has_phrase(self.text(record), word, false));
        asker.matches(&format!("{a} {b}"), |record| matches!(has(record), [true, true, _]));
        asker.matches(&format!("{a} or {b} and {c}"), |record| {
            matches!(has(record), [true, ..] | [_, true, true])
        });
        asker.matches(&format!("{a} -({b} or {c})"), |record| has(record) == [true, false, false]);
        asker.matches(&format!("!{a} !{b}"), |record| matches!(has(record), [false, false, _]));
        asker.matches(&format!("not ({a} {b}) {c}"), |record| {
            matches!(has(record), [false, _, true] | [_, false, true])
        });
    }

    /// The newest, the oldest, and some in the middle; those of one time in the order they were written, or the
    /// reverse.
    fn first_rows(&self, asker: &mut Asker<'_>, frequent: &Frequencies<'_>) {
        let word = frequent.common(asker);
        let filter = format!("{}{}", self.prefix, quote(word));
        let found = asker.records.rows.iter().filter(|record| has_phrase(self.text(record), word, false));
        let oldest: Vec<&Record> = found.collect();
        let newest: Vec<&Record> = oldest.iter().rev().copied().collect();
        asker.rows(&format!("{filter} | limit 7"), &[], &newest[..newest.len().min(7)]);
        asker.rows(&filter, &["--order", "oldest", "--limit", "5"], &oldest[..oldest.len().min(5)]);
        let skip = asker.random.below(oldest.len());
        let middle = &newest[skip..newest.len().min(skip + 3)];
        asker.rows(&format!("{filter} | offset {skip} | limit 3"), &[], middle);
    }

    fn times(&self, asker: &mut Asker<'_>, frequent: &Frequencies<'_>) {
        let rows = &asker.records.rows;
        let word = frequent.common(asker);
        let filter = format!("{}{}", self.prefix, quote(word));
        for _ in 0..2 {
            let mut ends = [asker.random.of(rows).time, asker.random.of(rows).time];
            ends.sort_unstable();
            let [from, to] = ends;
            let [from_text, to_text] = ends.map(rfc3339_exact);
            asker.matches(&format!("_time:[{from_text}, {to_text})"), |r| (from..to).contains(&r.time));
            asker.matches(&format!("_time:[{from_text}, {to_text}] {filter}"), |record| {
                (from..=to).contains(&record.time) && has_phrase(self.text(record), word, false)
            });
            asker.matches(&format!("_time:>{to_text}"), |record| record.time > to);
        }
        let (first, last) = (rows[0].time, rows[rows.len() - 1].time);
        let step_minutes = ((last - first) / 60_000_000_000 / 20).max(1);
        let step = step_minutes * 60_000_000_000;
        let mut buckets = BTreeMap::new();
        for record in rows {
            *buckets.entry(record.time.div_euclid(step) * step).or_insert(0u64) += 1;
        }
        let expected = buckets.into_iter().map(|(time, n)| (vec![rfc3339(time)], n.to_string())).collect();
        asker.groups(&format!("* | stats by (_time:{step_minutes}m) count() n"), &expected);
        let ends = asker.answer("* | stats min(_time) first, max(_time) last", &[]);
        let ends: Vec<&str> = ends[0].iter().map(|(_, leaf)| &*leaf.text).collect();
        assert_eq!(ends, [rfc3339(first), rfc3339(last)], "{}", asker.context("min and max of _time"));
    }
}
