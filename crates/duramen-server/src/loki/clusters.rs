//! Lines that are alike: words that differ become `<_>`.
//!
//! A line is cut at blanks. A word with a digit in it is a variable from the start, but for what stands before it as in
//! `took=12ms`. Lines of as many words that agree in at least half of them are one cluster, and what they disagree in is
//! variable from then on.

use crate::answer::MEMBER_BYTES;
use std::collections::BTreeMap;

/// The most words of a line that are looked at.
const MAX_WORDS: usize = 64;
/// The most clusters.
const MAX_CLUSTERS: usize = 300;
/// The most clusters of one number of words that a line is compared with.
const MAX_COMPARED: usize = 50;
/// What stands for anything.
const ANY: &str = "<_>";

/// A cluster: its words, and how many lines there are in each step of time.
#[derive(Debug)]
pub(super) struct Cluster {
    words: Vec<String>,
    /// By the start of the step, ns since the epoch.
    pub counts: BTreeMap<i64, u64>,
    pub total: u64,
}

/// All clusters, by how many words they have.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    by_len: BTreeMap<usize, Vec<Cluster>>,
    count: usize,
}

/// A word with what is variable in it replaced.
fn template(word: &str) -> String {
    let Some(digit) = word.find(|c: char| c.is_ascii_digit()) else { return word.to_owned() };
    // What the digits belong to begins behind the last sign that parts a name from a value.
    let start = word[..digit].rfind(['=', ':', '[', '(', '"', '\'', ',', '{', '<']).map_or(0, |i| i + 1);
    let end = word.trim_end_matches([',', ';', ')', ']', '"', '\'', '}', '>', '.', ':']).len().max(digit + 1);
    // As a filter, a place ends where the text behind it stands first: of `1.2.` the last sign is no such text.
    let end = if word[end..].chars().next().is_some_and(|c| word[start..end].contains(c)) {
        word.len()
    } else {
        end
    };
    format!("{}{ANY}{}", &word[..start], &word[end..])
}

impl Clusters {
    /// Adds a line, in a step of time. How many bytes more they take, about.
    pub fn add(&mut self, line: &str, step: i64) -> usize {
        let mut words: Vec<String> = line.split_whitespace().take(MAX_WORDS + 1).map(template).collect();
        if words.len() > MAX_WORDS {
            words.truncate(MAX_WORDS);
            words.push(ANY.into());
        }
        if words.is_empty() {
            return 0;
        }
        let mut more = 0;
        let same_len = self.by_len.entry(words.len()).or_default();
        let alike = |cluster: &Cluster| cluster.words.iter().zip(&words).filter(|(a, b)| a == b).count();
        let best = same_len
            .iter()
            .take(MAX_COMPARED)
            .map(alike)
            .enumerate()
            .max_by_key(|(i, n)| (*n, usize::MAX - i));
        let cluster = match best {
            Some((i, n)) if n * 2 >= words.len() && n > 0 => &mut same_len[i],
            _ if self.count == MAX_CLUSTERS => return 0,
            _ => {
                self.count += 1;
                more += words.iter().map(|word| word.len() + size_of::<String>()).sum::<usize>();
                same_len.push(Cluster { words: words.clone(), counts: BTreeMap::new(), total: 0 });
                let last = same_len.len() - 1;
                &mut same_len[last]
            }
        };
        for (known, word) in cluster.words.iter_mut().zip(words) {
            if *known != word {
                *known = ANY.into();
            }
        }
        *cluster.counts.entry(step).or_insert_with(|| {
            more += MEMBER_BYTES;
            0
        }) += 1;
        cluster.total += 1;
        more
    }

    /// The clusters, the largest first.
    pub fn into_sorted(self) -> Vec<Cluster> {
        let mut all: Vec<Cluster> = self.by_len.into_values().flatten().collect();
        all.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.words.cmp(&b.words)));
        all
    }
}

impl Cluster {
    /// The pattern, such as the filter `|>` takes.
    pub fn pattern(&self) -> String {
        let text = self.words.join(" ");
        // Between two that stand for anything there must be a text, which a blank is; nothing else joins them.
        text.replace("<_><_>", ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_variable() {
        let mut clusters = Clusters::default();
        for (i, user) in ["ann", "bob", "eve"].iter().enumerate() {
            clusters.add(&format!("user {user} logged in from 10.0.0.{i}:80, took={i}ms"), 60);
            clusters.add("connection refused", i as i64);
        }
        clusters.add("", 0);
        let patterns: Vec<_> =
            clusters.into_sorted().iter().map(|c| (c.pattern(), c.total, c.counts.len())).collect();
        assert_eq!(
            patterns,
            [("connection refused".into(), 3, 3), ("user <_> logged in from <_>, took=<_>".into(), 3, 1)]
        );
    }

    #[test]
    fn patterns_match_their_lines() {
        let lines = ["a [12] b", "id=\"5x\", done.", "x 1 2 3", "é5é", "{\"n\":17}", "v 1.2.3."];
        for line in lines {
            let mut clusters = Clusters::default();
            clusters.add(line, 0);
            let pattern = clusters.into_sorted()[0].pattern();
            assert!(pattern.contains(ANY), "{pattern}");
            let query = format!("{{}} |> `{pattern}`");
            assert!(duramen_logql::LogQl::parse(&query).is_ok(), "{query}");
        }
    }

    #[test]
    fn there_are_no_more_than_so_many() {
        let mut clusters = Clusters::default();
        for i in 0..1000u32 {
            let word = |n: u32| char::from_u32('a' as u32 + n % 26).unwrap();
            clusters.add(&format!("{}{}{}", word(i), word(i / 26), word(i / 676)), 0);
        }
        assert_eq!(clusters.into_sorted().len(), MAX_CLUSTERS);
        let mut clusters = Clusters::default();
        clusters.add(&"x ".repeat(1000), 0);
        assert!(clusters.into_sorted()[0].pattern().ends_with("x <_>"));
    }
}
