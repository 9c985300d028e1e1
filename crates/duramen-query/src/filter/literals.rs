//! What is in every value that a regular expression matches, in the midst of words or not.
//!
//! A literal is in such a value from its first byte to its last, and so are its [grams](duramen::gram). `(?i)` makes
//! sets of the cases of each letter; as grams know no case, a set of one letter's cases is as good as the letter.

use super::phrase::sought_words;
use duramen::block::Word;
use duramen::gram;
use regex_syntax::hir::{Class, Hir, HirKind};

/// An alternation of more branches than this says nothing.
const MAX_BRANCHES: usize = 32;

/// The grams that a value that passes a test has, by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grams {
    /// All of these.
    pub all: Vec<u32>,
    /// And all of one of these; of none, nothing is known.
    pub one_of: Vec<Vec<u32>>,
}

impl Grams {
    /// Those of a text that is in each value.
    pub(crate) fn of_text(text: &str) -> Self {
        Self { all: gram::hashes(text), one_of: Vec::new() }
    }

    /// Whether `may_hold` lets through what they ask for.
    pub(crate) fn are_held<E>(&self, mut may_hold: impl FnMut(&[u32]) -> Result<bool, E>) -> Result<bool, E> {
        if !self.all.is_empty() && !may_hold(&self.all)? {
            return Ok(false);
        }
        for branch in &self.one_of {
            if may_hold(branch)? {
                return Ok(true);
            }
        }
        Ok(self.one_of.is_empty())
    }
}

/// What is in every value that an expression matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Literals {
    pub(crate) grams: Grams,
    /// Words, and parts of words.
    runs: Vec<Run>,
}

/// A run of letters, digits and `_`, as [`Word`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    text: Box<str>,
    is_whole: bool,
    any_case: bool,
}

impl Literals {
    /// Those of an expression; none of one that is not valid.
    pub(crate) fn of_expression(expression: &str) -> Self {
        regex_syntax::parse(expression).map(|hir| Self::of(&hir)).unwrap_or_default()
    }

    /// The same of one that was parsed.
    pub(crate) fn of(hir: &Hir) -> Self {
        let mut found = Found::default();
        found.collect(hir);
        found.end()
    }

    /// The words, and parts of words, that are in each such value.
    pub(crate) fn sought_words(&self) -> Vec<Word<'_>> {
        let word = |run| {
            let &Run { ref text, is_whole, any_case } = run;
            Word { text, is_whole, any_case }
        };
        self.runs.iter().map(word).collect()
    }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    literals: Literals,
    /// The literal that what comes next may go on with.
    run: String,
    /// The same for words: it ends where a letter may be one that is not of ASCII.
    letters: String,
    /// Whether some of them are meant in either case.
    any_case: bool,
}

impl Found {
    fn collect(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Literal(literal) => match str::from_utf8(&literal.0) {
                Ok(text) => {
                    self.run.push_str(text);
                    self.letters.push_str(text);
                }
                Err(_) => self.end_run(),
            },
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => {
                    self.run.push(letter);
                    if class.is_utf8() && class.maximum_len() == Some(1) {
                        self.letters.push(letter);
                        self.any_case = true;
                    } else {
                        self.end_letters();
                    }
                }
                None => self.end_run(),
            },
            // They take no room between what is before and behind them.
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Capture(capture) => self.collect(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.collect(part)),
            HirKind::Repetition(repetition) => {
                self.end_run();
                if repetition.min > 0 {
                    self.collect(&repetition.sub);
                    self.end_run();
                }
            }
            HirKind::Alternation(branches) => {
                self.end_run();
                if branches.len() > MAX_BRANCHES || !self.literals.grams.one_of.is_empty() {
                    return;
                }
                let branches: Vec<Vec<u32>> =
                    branches.iter().map(|branch| Literals::of(branch).grams.all).collect();
                if branches.iter().all(|branch| !branch.is_empty()) {
                    self.literals.grams.one_of = branches;
                }
            }
        }
    }

    fn end_run(&mut self) {
        self.literals.grams.all.extend(gram::hashes(&self.run));
        self.run.clear();
        self.end_letters();
    }

    fn end_letters(&mut self) {
        // What is at a literal's edge may go on.
        for Word { text, is_whole, .. } in sought_words(&self.letters, false, false) {
            self.literals.runs.push(Run { text: text.into(), is_whole, any_case: self.any_case });
        }
        self.letters.clear();
        self.any_case = false;
    }

    fn end(mut self) -> Literals {
        self.end_run();
        self.literals
    }
}

/// The letter of which a set has nothing but cases.
fn one_letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let mut letter = None;
    for range in class.ranges() {
        if range.len() > 2 {
            return None;
        }
        for c in range.start()..=range.end() {
            let folded = match c {
                '\u{212a}' => 'k',
                '\u{17f}' => 's',
                c => c.to_ascii_lowercase(),
            };
            if *letter.get_or_insert(folded) != folded {
                return None;
            }
        }
    }
    letter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::regex::Pattern;

    fn grams_of(expression: &str) -> Grams {
        Literals::of_expression(expression).grams
    }

    fn of(texts: &[&str]) -> Vec<u32> {
        texts.iter().flat_map(|text| gram::hashes(text)).collect()
    }

    #[test]
    fn literals_are_in_what_matches_in_any_case() {
        for (expression, all) in [
            ("(?i)XAMPLESHO", &["xamplesho"][..]),
            ("(?i)tasks?", &["task"]),
            ("job .* finished: 1[0-9]+ rows", &["job ", " finished: 1", " rows"]),
            ("^(a)b(?:c)\\bd$", &["abcd"]),
            ("(abc)+de", &["abc", "de"]),
            ("x*yz", &[]),
            ("(abc)?def(ghi)*(jkl){0,2}mno", &["def", "mno"]),
            ("(abc|)def", &["def"]),
            ("(abc){2}(def){1,}", &["abc", "def"]),
            ("[ab]cde[Ee]", &["cdee"]),
            ("(?i)grüße", &["gr", "e"]),
            ("größe", &["größe"]),
            ("(", &[]),
        ] {
            assert_eq!(grams_of(expression), Grams { all: of(all), one_of: vec![] }, "{expression}");
        }
    }

    #[test]
    fn of_branches_one_is_there_unless_one_says_nothing() {
        let timeout = grams_of("(?i)conn(ection timeout|refused)!!!");
        assert_eq!(timeout.all, of(&["conn", "!!!"]));
        assert_eq!(timeout.one_of, [of(&["ection timeout"]), of(&["refused"])]);
        assert_eq!(grams_of("(?i)abcd|x.*").one_of, Vec::<Vec<u32>>::new());
        let held = |held: &'static [&'static str]| {
            timeout.are_held(|grams| {
                Ok::<_, ()>(held.iter().any(|text| grams.iter().all(|g| gram::hashes(text).contains(g))))
            })
        };
        assert_eq!(held(&["conn refused!!!"]), Ok(true));
        assert_eq!(held(&["conn ok!!!"]), Ok(false));
        assert_eq!(held(&["refused"]), Ok(false));
    }

    proptest::proptest! {
        #[test]
        fn what_matches_has_the_grams(
            expression in r"(\(\?i\))?([aksSK]{1,3}|ſ|\u{212a}|[a ]|\(aks|ska\)|\(aks\)[+?*]|\(a\|sa\)[+?*]?|[ak]\*|\.|\\b|\^|\[kK\]|\[a-s\]|\\Qak\\E|\\w|\[\\Wa\]|\\x6b|a\{){0,7}",
            text in "[akKsSſ\u{212a} ]{0,16}",
        ) {
            if let Ok(pattern) = Pattern::new(&expression) && pattern.matches(&text) {
                let held = gram::hashes(&text);
                let has = |grams: &[u32]| Ok::<_, ()>(grams.iter().all(|gram| held.contains(gram)));
                proptest::prop_assert_eq!(pattern.grams().are_held(has), Ok(true), "{:?} matches {:?}", expression, text);
            }
        }
    }
}
