//! Words of a text, and what of it can be asked for.

use super::sample::Sample;
use fastrand::Rng;
use std::collections::{HashMap, HashSet};

/// Lines that are tried for a rare word.
const TRIES: usize = 50;
/// A word is frequent on fewer lines than one in this many: one that is on all of them asks for nothing.
const FREQUENT_ONE_IN: usize = 2;
const NOWHERE: &str = "xylophonist";

/// What can be asked of a field's text; nothing where it has no such words.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) rare: Option<String>,
    pub(crate) frequent: Option<String>,
    /// Three words of a line, with what stands between them.
    pub(crate) phrase: Option<String>,
    /// From the middle of a word, in capitals.
    pub(crate) part: Option<String>,
    pub(crate) nowhere: String,
}

/// Words of plain ASCII that begin with a letter, with their places.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(move |c| !is_word(c))
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .filter(|(_, word)| word.len() >= 4 && word.is_ascii() && word.as_bytes()[0].is_ascii_alphabetic())
}

impl Words {
    /// Of the texts of a field.
    pub(crate) fn of(sample: &Sample, field: &str, rng: &mut Rng) -> Self {
        let texts: Vec<&str> = sample
            .rows
            .iter()
            .filter_map(|row| row.iter().find(|(name, _)| name == field)?.1.as_str())
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for text in &texts {
            let once: HashSet<_> = words_of(text).map(|(_, word)| word).collect();
            for word in once {
                *counts.entry(word).or_default() += 1;
            }
        }
        let mut nowhere = NOWHERE.to_owned();
        while texts.iter().any(|text| text.contains(&nowhere)) {
            nowhere.push('q');
        }
        if texts.is_empty() {
            return Self { nowhere, ..Self::default() };
        }
        let mut tried: Vec<&str> = (0..TRIES).map(|_| texts[rng.usize(..texts.len())]).collect();
        // Equally rare ones are told apart by their names, not by a hash's order.
        let rare = tried.iter().flat_map(|text| words_of(text)).map(|(_, word)| word);
        let rare = rare.min_by_key(|word| (counts[word], *word)).map(str::to_owned);
        let frequent = counts
            .iter()
            .filter(|(_, count)| **count * FREQUENT_ONE_IN <= texts.len())
            .max_by_key(|(word, count)| (**count, **word))
            .map(|(word, _)| (*word).to_owned());
        rng.shuffle(&mut tried);
        let part = tried.iter().flat_map(|text| words_of(text)).find(|(_, word)| word.len() >= 7);
        let part = part.map(|(_, word)| word[1..word.len() - 1].to_ascii_uppercase());
        let phrase = tried.iter().find_map(|text| phrase(text));
        Self { rare, frequent, phrase, part, nowhere }
    }
}

/// Three words that follow each other within a line.
fn phrase(text: &str) -> Option<String> {
    let words: Vec<_> = words_of(text).collect();
    words.windows(3).rev().find_map(|three| {
        let phrase = &text[three[0].0..three[2].0 + three[2].1.len()];
        let plain = |c: char| c.is_ascii() && !c.is_ascii_control() && !"\"\\`'".contains(c);
        (phrase.len() <= 80 && phrase.chars().all(plain)).then(|| phrase.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn words_are_chosen_by_how_many_lines_have_them() {
        let row = |i: usize| {
            let end = if i == 7 { "unexpectedly" } else { "successfully" };
            let half = if i.is_multiple_of(2) { "evening" } else { "morning" };
            vec![(
                "_msg".to_owned(),
                format!("worker \"finished\" its {half} shift without trouble {end}").into(),
            )]
        };
        let rows = (0..20).map(row).collect();
        let sample = Sample { count: 20, first: Timestamp::UNIX_EPOCH, last: Timestamp::UNIX_EPOCH, rows };
        let words = Words::of(&sample, "_msg", &mut Rng::with_seed(1));
        assert_eq!(words.rare.as_deref(), Some("unexpectedly"));
        assert!(["evening", "morning"].contains(&words.frequent.as_deref().unwrap()));
        assert!(words.phrase.unwrap().starts_with("without trouble "));
        assert!(words.part.is_some_and(|part| part.chars().all(|c| c.is_ascii_uppercase())));
        assert_eq!(words.nowhere, "xylophonist");
    }
}
