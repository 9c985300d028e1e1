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
//! depth tree", 2017).

use super::super::leaf::Spans;
use super::MIN_USES;
use super::encode::Templates;
use super::pattern::VARIABLE;
use super::split::{Cut, Hit, Split};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::hash::BuildHasher;

/// A word that fewer of these texts have is a variable.
const MIN_WORD_USES: u32 = 32;
/// A text with more words that are rare says something of its own, and not the same with other words.
const MAX_RARE_WORDS: usize = 2;
/// So many texts must start alike to be cut there: what is cut is compressed as it is, and each place where texts are cut
/// takes columns of its own.
const MIN_HEAD_USES: u32 = 64;
/// Starts are no longer than so many tokens, times and references.
const MAX_HEAD_TOKENS: usize = 8;
/// So many starts are told apart.
const MAX_HEADS: usize = 1 << 16;

/// A count of texts for each hash.
type Uses = HashMap<u64, u32, FixedState>;

fn hash(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

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
        if rare.len() < MIN_USES as usize {
            return;
        }
        let mut uses = Uses::default();
        for &i in &rare {
            texts.split(i, &mut self.split, |_| false);
            for &(start, end) in &self.split.words {
                *uses.entry(hash(&texts.values.bytes[start as usize..end as usize])).or_default() += 1;
            }
        }
        let is_rare = |word: &[u8]| uses.get(&hash(word)).is_none_or(|&uses| uses < MIN_WORD_USES);
        let mut found = Vec::new();
        for i in rare {
            if texts.split(i, &mut self.split, is_rare)
                && (1..=MAX_RARE_WORDS).contains(&self.split.rare_words)
            {
                found.push((i, self.take_split()));
            }
        }
        self.take_if_not_rare(&found);
    }

    fn join_by_heads<H: FnMut(usize, &mut Vec<Hit>)>(&mut self, texts: &mut Texts<'_, H>) {
        let rare = self.rare();
        if rare.len() < MIN_HEAD_USES as usize {
            return;
        }
        let mut heads = Heads::default();
        let of_text: Vec<u32> = rare
            .iter()
            .map(|&i| {
                texts.split(i, &mut self.split, |_| false);
                heads.add(&self.split)
            })
            .collect();
        let mut found = Vec::new();
        for (i, head) in rare.into_iter().zip(heads.shared(of_text)) {
            texts.split(i, &mut self.split, |_| false);
            if let Some(cut) = heads.cut(head, &self.split) {
                self.split.cut_off(cut, texts.values.spans[i].1);
                found.push((i, self.take_split()));
            }
        }
        self.take_if_not_rare(&found);
    }
}

impl Split {
    /// Makes one variable of what is behind a cut, up to the text's end.
    fn cut_off(&mut self, cut: Cut, end: u32) {
        let variables = cut.variables as usize;
        self.pattern.truncate(cut.pattern as usize);
        self.pattern.push(VARIABLE);
        self.variables.truncate(variables);
        self.variables.push((cut.text, end));
        self.times.truncate(variables);
        self.times.push(0);
    }
}

/// The starts of texts, a tree: each goes on from a shorter one by a token, or the like.
struct Heads {
    all: Vec<Head>,
    /// The one that goes on from this one with text of this hash.
    next: HashMap<(u32, u64), u32, FixedState>,
}

/// A start of texts.
struct Head {
    /// The one that is shorter by one.
    before: u32,
    /// How many it goes on from; the first is nothing at all.
    depth: usize,
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
    /// Where a text may be cut, the shortest start first.
    fn cuts(split: &Split) -> impl Iterator<Item = &Cut> {
        split.cuts.iter().filter(|cut| cut.pattern > 0).take(MAX_HEAD_TOKENS)
    }

    /// Counts the starts of one more text; the longest of them.
    fn add(&mut self, split: &Split) -> u32 {
        let (mut head, mut start) = (NOTHING, 0);
        for cut in Self::cuts(split) {
            let more = (head, hash(&split.pattern[start..cut.pattern as usize]));
            start = cut.pattern as usize;
            head = match self.next.get(&more) {
                Some(&next) => next,
                None if self.all.len() == MAX_HEADS => break,
                None => {
                    let next = self.all.len() as u32;
                    let depth = self.all[head as usize].depth + 1;
                    self.all.push(Head { before: head, depth, uses: 0 });
                    self.next.insert(more, next);
                    next
                }
            };
            self.all[head as usize].uses += 1;
        }
        head
    }

    /// Of texts with these starts, those that enough of them share.
    fn shared(&self, mut of_text: Vec<u32>) -> Vec<u32> {
        let before = |head: u32| self.all[head as usize].before;
        for head in &mut of_text {
            while self.all[*head as usize].uses < MIN_HEAD_USES && *head != NOTHING {
                *head = before(*head);
            }
        }
        // Where most of those that start alike go on together for longer, the others are too few.
        for _ in 0..MAX_HEAD_TOKENS {
            let mut uses = vec![0; self.all.len()];
            of_text.iter().for_each(|&head| uses[head as usize] += 1);
            for head in &mut of_text {
                if uses[*head as usize] < MIN_HEAD_USES {
                    *head = before(*head);
                }
            }
        }
        of_text
    }

    /// Where a start of this text ends; `None` if it is nothing.
    fn cut(&self, head: u32, split: &Split) -> Option<Cut> {
        let depth = self.all[head as usize].depth;
        depth.checked_sub(1).and_then(|i| Self::cuts(split).nth(i)).copied()
    }
}
