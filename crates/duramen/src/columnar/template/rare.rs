//! What texts of rare templates have in common after all.
//!
//! ```text
//! words   those that few of these texts have are variables, too: `open proxy.example through` and `open cdn.example
//!         through` are of one template
//! heads   what is rare even so is cut where the longest start ends that enough of them share; the rest is one variable: so
//!         a time stamp is a time, and a process id a number, whatever the program said
//! ```
//!
//! Words that vary are what LogCluster looks for (R. Vaarandi, M. Pihelgas, "LogCluster: A data clustering and pattern mining
//! algorithm for event logs", 2015), heads what Drain does (P. He et al., "Drain: An online log parsing approach with fixed
//! depth tree", 2017). Both look at the templates alone: only texts that get another are taken apart once more.

use super::super::leaf::Spans;
use super::MIN_USES;
use super::encode::{Templates, hash};
use super::pattern::{Kind, VARIABLE, tokens};
use super::split::{Hit, Split};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// A word that fewer of these texts have is a variable.
const MIN_WORD_USES: u32 = 32;
/// A text with more words that are rare says something of its own, and not the same with other words.
const MAX_RARE_WORDS: usize = 2;
/// So many texts must start alike to be cut there: what is cut is compressed as it is, and each place where texts are cut
/// takes columns of its own.
const MIN_HEAD_USES: u32 = 64;
/// Starts are no longer than so many tokens.
const MAX_HEAD_TOKENS: usize = 16;
/// So many starts are told apart.
const MAX_HEADS: usize = 1 << 16;

/// A count of texts for each hash.
type Uses = HashMap<u64, u32, FixedState>;

/// The texts of a column.
pub(super) struct Texts<'a, H> {
    pub(super) values: Spans<'a>,
    /// Each text's row's time.
    pub(super) near: &'a [i64],
    /// Gives the references in a text.
    pub(super) hits_of: H,
    pub(super) hits: Vec<Hit>,
}

impl<H: FnMut(usize, &mut Vec<Hit>)> Texts<'_, H> {
    /// Takes a text apart; whether that can be done.
    pub(super) fn split(&mut self, i: usize, split: &mut Split, is_rare: impl Fn(&[u8]) -> bool) -> bool {
        self.hits.clear();
        (self.hits_of)(i, &mut self.hits);
        split.split(self.values.bytes, self.values.spans[i], self.near[i], &self.hits, is_rare)
    }
}

impl Templates {
    /// Finds other templates for the texts whose own are rare.
    pub(super) fn join_rare<H: FnMut(usize, &mut Vec<Hit>)>(&mut self, texts: &mut Texts<'_, H>) {
        self.join_by_words(texts);
        self.join_by_heads(texts);
    }

    fn join_by_words<H: FnMut(usize, &mut Vec<Hit>)>(&mut self, texts: &mut Texts<'_, H>) {
        let rare = self.rare();
        if rare.iter().map(|&(_, uses)| uses).sum::<u32>() < MIN_USES {
            return;
        }
        let mut words = Uses::default();
        for &(template, uses) in &rare {
            let pattern = self.pattern(template);
            for token in tokens(pattern).filter(|token| token.kind == Kind::Word) {
                *words.entry(hash(&pattern[token.start..token.end])).or_default() += uses;
            }
        }
        let is_rare = |word: &[u8]| words.get(&hash(word)).is_none_or(|&uses| uses < MIN_WORD_USES);
        let (mut without, mut changed) = (Vec::new(), Vec::new());
        let mut together = Uses::default();
        for &(template, uses) in &rare {
            let rare_words = without_words(self.pattern(template), is_rare, &mut without);
            if (1..=MAX_RARE_WORDS).contains(&rare_words) {
                let other = hash(&without);
                *together.entry(other).or_default() += uses;
                changed.push((template, other));
            }
        }
        changed.retain(|(_, other)| together[other] + self.uses_of(*other) >= MIN_USES);
        let changed: HashSet<u32, FixedState> = changed.into_iter().map(|(template, _)| template).collect();
        self.move_texts(|template, _, split, i| {
            changed.contains(&template) && texts.split(i, split, is_rare)
        });
    }

    fn join_by_heads<H: FnMut(usize, &mut Vec<Hit>)>(&mut self, texts: &mut Texts<'_, H>) {
        let rare = self.rare();
        if rare.iter().map(|&(_, uses)| uses).sum::<u32>() < MIN_HEAD_USES {
            return;
        }
        let mut heads = Heads::default();
        let longest: Vec<(u32, u32)> =
            rare.iter().map(|&(t, uses)| (heads.add(self.pattern(t), uses), uses)).collect();
        let shared = rare.iter().zip(heads.shared(longest));
        let cuts: HashMap<u32, usize, FixedState> = shared
            .filter_map(|(&(t, _), head)| Some((t, Heads::end(self.pattern(t), heads.depth(head))?)))
            .collect();
        self.move_texts(|template, pattern, split, i| {
            let Some(&at) = cuts.get(&template) else { return false };
            // The references found in a text depend on those in the text before: it may be taken apart otherwise now, and
            // what was decided is about another template then.
            let is_same = texts.split(i, split, |_| false) && split.pattern == pattern;
            if is_same {
                split.cut(at, texts.values.spans[i], &texts.hits);
            }
            is_same
        });
    }

    /// Gives texts that have a template another one, if `split`, which is told that template, its bytes and the text's number,
    /// has taken the text apart anew.
    fn move_texts(&mut self, mut split: impl FnMut(u32, &[u8], &mut Split, usize) -> bool) {
        for i in 0..self.of_text.len() {
            let (number, _) = self.of_text[i];
            let Some(template) = self.templates.get_mut(number as usize) else { continue };
            let (start, end) = template.pattern;
            if split(number, &self.patterns[start as usize..end as usize], &mut self.split, i) {
                template.uses -= 1;
                self.of_text[i] = self.take_split();
            }
        }
    }
}

/// Makes variables of some of a template's words: the template without them, into `out`, and how many they are.
fn without_words(pattern: &[u8], is_rare: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) -> usize {
    out.clear();
    let (mut at, mut words) = (0, 0);
    for token in tokens(pattern).filter(|token| token.kind == Kind::Word) {
        if is_rare(&pattern[token.start..token.end]) {
            words += 1;
            out.extend_from_slice(&pattern[at..token.start]);
            out.push(VARIABLE);
            at = token.end;
        }
    }
    out.extend_from_slice(&pattern[at..]);
    words
}

/// The starts of templates, a tree: each goes on from a shorter one by a token.
struct Heads {
    all: Vec<Head>,
    /// The one that goes on from this one with text of this hash.
    next: HashMap<(u32, u64), u32, FixedState>,
}

/// A start of templates.
struct Head {
    /// The one that is shorter by one.
    before: u32,
    /// How many it goes on from; the first is nothing at all.
    depth: usize,
    /// How many texts have it.
    uses: u32,
}

/// The start that is nothing.
const NOTHING: u32 = 0;

impl Default for Heads {
    fn default() -> Self {
        Self { all: vec![Head { before: NOTHING, depth: 0, uses: 0 }], next: HashMap::default() }
    }
}

impl Heads {
    /// Where a template may be cut, the shortest start first: where its tokens begin.
    fn ends(pattern: &[u8]) -> impl Iterator<Item = usize> {
        tokens(pattern).map(|token| token.start).filter(|&start| start > 0).take(MAX_HEAD_TOKENS)
    }

    /// Where the start of this depth ends; `None` if it is nothing.
    fn end(pattern: &[u8], depth: usize) -> Option<usize> {
        depth.checked_sub(1).and_then(|i| Self::ends(pattern).nth(i))
    }

    fn depth(&self, head: u32) -> usize {
        self.all[head as usize].depth
    }

    /// Counts the starts of one more template, of so many texts; the longest of them.
    fn add(&mut self, pattern: &[u8], uses: u32) -> u32 {
        let (mut head, mut start) = (NOTHING, 0);
        for end in Self::ends(pattern) {
            let more = (head, hash(&pattern[start..end]));
            start = end;
            head = match self.next.get(&more) {
                Some(&next) => next,
                None if self.all.len() == MAX_HEADS => break,
                None => {
                    let next = self.all.len() as u32;
                    self.all.push(Head { before: head, depth: self.depth(head) + 1, uses: 0 });
                    self.next.insert(more, next);
                    next
                }
            };
            self.all[head as usize].uses += uses;
        }
        head
    }

    /// Of templates with these starts, and so many texts, the starts that enough of them share.
    fn shared(&self, mut of: Vec<(u32, u32)>) -> impl Iterator<Item = u32> {
        let before = |head: u32| self.all[head as usize].before;
        for (head, _) in &mut of {
            while self.all[*head as usize].uses < MIN_HEAD_USES && *head != NOTHING {
                *head = before(*head);
            }
        }
        // Where most of those that start alike go on together for longer, the others are too few.
        for _ in 0..MAX_HEAD_TOKENS {
            let mut left = vec![0; self.all.len()];
            of.iter().for_each(|&(head, uses)| left[head as usize] += uses);
            let too_few = |head: u32| head != NOTHING && left[head as usize] < MIN_HEAD_USES;
            let mut all_are_enough = true;
            for (head, _) in of.iter_mut().filter(|(head, _)| too_few(*head)) {
                *head = before(*head);
                all_are_enough = false;
            }
            if all_are_enough {
                break;
            }
        }
        of.into_iter().map(|(head, _)| head)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::streams::Streams;
    use super::super::super::words::Words;
    use super::*;

    /// The templates that so many of the texts have in the end.
    fn templates_of(texts: &[String]) -> Vec<(String, usize)> {
        let bytes = texts.concat().into_bytes();
        let mut end = 0;
        let spans: Vec<(u32, u32)> = texts
            .iter()
            .map(|text| {
                let start = end;
                end += text.len() as u32;
                (start, end)
            })
            .collect();
        let values = Spans { bytes: &bytes, spans: &spans };
        let near = vec![1_767_607_200_000_000_000; texts.len()];
        let mut templates = Templates::default();
        assert!(templates.encode(values, &near, |_, _| {}, &mut Streams::default(), &mut Words::default()));
        let mut found = std::collections::BTreeMap::new();
        for (template, _) in &templates.of_text {
            let pattern = String::from_utf8_lossy(templates.pattern(*template)).into_owned();
            *found.entry(pattern).or_default() += 1;
        }
        found.into_iter().collect()
    }

    /// A word of letters, another for each number.
    fn word(number: usize) -> String {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        [letter(number / 26), letter(number), 'x'].iter().collect()
    }

    #[test]
    fn words_that_few_texts_have_are_variables() {
        let usual = (0..40).map(|n| format!("close {n}"));
        let rare = (0..40).map(|n| format!("open {}.example through {n}", word(n)));
        let texts: Vec<String> = usual.chain(rare).collect();
        let wanted = [("close \u{11}", 40), ("open \u{11} through \u{11}", 40)];
        assert_eq!(templates_of(&texts), wanted.map(|(text, count)| (text.to_owned(), count)));
    }

    #[test]
    fn what_is_said_differently_is_cut_where_its_start_ends() {
        let usual = (0..200).map(|n| format!("{n} done"));
        let said = |n: usize| (n..n + 3 + n % 4).map(word).collect::<Vec<_>>().join(" ");
        let rare = (0..100).map(|n| format!("10:00:{:02} app[{n}]: {}", n % 60, said(n * 7)));
        let texts: Vec<String> = usual.chain(rare).collect();
        let time = "\u{12}\u{7}\0\0\0";
        let wanted = [("\u{11} done".to_owned(), 200), (format!("{time} app[\u{11}]: \u{11}"), 100)];
        assert_eq!(templates_of(&texts), wanted);
    }
}
