//! Which words a time stamp may have, told by its form alone; and which have one, told by their number alone.

use super::{MONTHS, SECOND, SHAPES, TimeForm, is_word};
use crate::block::Word;

/// What a time's fraction of a second has to be for a word to be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    /// What it begins with, in nanoseconds.
    from: i64,
    /// So much more is not written.
    span: i64,
}

impl Fraction {
    /// Whether that time has the word.
    pub(crate) fn is_of(self, time: i64) -> bool {
        (self.from..self.from + self.span).contains(&time.rem_euclid(SECOND))
    }
}

impl TimeForm {
    /// Whether a time of this form may have a word, or one with this part: digits as many as one of its numbers has, such
    /// with a letter of the form, or the name of a month.
    pub(crate) fn may_have(self, word: Word<'_>) -> bool {
        let Some(shape) = SHAPES.get(usize::from(self.shape)) else { return true };
        let mut sample = zeros(shape);
        if self.digits > 0 {
            sample.push(self.point);
            sample.resize(sample.len() + usize::from(self.digits), b'0');
        }
        sample.extend(self.zulu.then_some(b'Z'));
        let written = without_numbers(word);
        let is_same = |a: &[u8], b: &[u8]| if word.any_case { a.eq_ignore_ascii_case(b) } else { a == b };
        let has = |of_time: &[u8], part: &[u8]| match word.is_whole {
            true => is_same(of_time, part),
            false => of_time.windows(part.len().max(1)).any(|window| is_same(window, part)),
        };
        let is_month =
            shape.contains(&b'b') && MONTHS.iter().any(|month| has(&month[..], word.text.as_bytes()));
        // The day may have two digits.
        let is_day = shape.contains(&b'e') && has(b"00", &written);
        is_month || is_day || sample.split(|&c| !is_word(c)).any(|of_sample| has(of_sample, &written))
    }

    /// What the fraction of a time is that has a word, if the word can be nothing else in a time of this form: so that times
    /// need not be written to find it.
    pub(crate) fn fraction(self, word: Word<'_>) -> Option<Fraction> {
        let shape = SHAPES.get(usize::from(self.shape)).filter(|shape| **shape != b"F")?;
        let (digits, end) = word.text.split_at_checked(usize::from(self.digits))?;
        let is_its_end = match self.zulu {
            true => end == "Z" || (word.any_case && end == "z"),
            false => end.is_empty(),
        };
        let is_all = word.is_whole && is_its_end && digits.bytes().all(|c| c.is_ascii_digit());
        let (written, numbers) = (without_numbers(word), zeros(shape));
        if !is_all || is_word(self.point) || numbers.split(|&c| !is_word(c)).any(|other| other == written) {
            return None;
        }
        let span = 10i64.pow(9u32.checked_sub(self.digits.into())?);
        Some(Fraction { from: digits.parse::<i64>().ok()?.checked_mul(span)?, span })
    }
}

/// A time of a shape, all of whose digits are zeros, and without the names of months.
fn zeros(shape: &[u8]) -> Vec<u8> {
    let mut sample = Vec::with_capacity(40);
    for &item in shape {
        let digits = match item {
            b'Y' => 4,
            b'y' | b'm' | b'd' | b'H' | b'M' | b'S' => 2,
            b'e' | b'D' => 1,
            b'E' => 10,
            b'F' => 13,
            b'b' => 0,
            literal => {
                sample.push(literal);
                continue;
            }
        };
        sample.resize(sample.len() + digits, b'0');
    }
    sample
}

/// A word, all of whose digits are zeros.
fn without_numbers(word: Word<'_>) -> Vec<u8> {
    word.text.bytes().map(|c| if c.is_ascii_digit() { b'0' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{SECOND, parse, written};
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_time_has_only_words_that_its_form_may_have(
            shape in 0..SHAPES.len() as u8, digits in 0..10u8, zulu: bool, seconds in 0..4_000_000_000i64, nanos in 0..SECOND,
            from in 0..5usize, to in 0..5usize,
        ) {
            let point = if digits == 0 { 0 } else { b'.' };
            let out = written(TimeForm { shape, point, digits, zulu }, seconds * SECOND + nanos);
            // Nothing but what a form says comes back as one: days without a zero in front are not two digits.
            if let Some((form, len, _)) = parse(&out, seconds * SECOND).filter(|(_, len, _)| *len == out.len()) {
                let text = std::str::from_utf8(&out[..len]).unwrap();
                for word in crate::token::words(text) {
                    assert!(form.may_have(word.into()), "{word} of {text}");
                    let (start, end) = (from % word.len(), word.len() - to % word.len());
                    let Some(part) = word.get(start..end).filter(|part| !part.is_empty()) else { continue };
                    let fraction = form.fraction(word.into());
                    assert!(fraction.is_none_or(|fraction| fraction.is_of(seconds * SECOND + nanos)), "{word} of {text}");
                    let part = Word { text: part, is_whole: false, any_case: false };
                    assert!(form.may_have(part), "{part:?} of {text}");
                    let lower = part.text.to_lowercase();
                    assert!(form.may_have(Word { text: &lower, any_case: true, ..part }), "{lower} of {text}");
                }
            }
        }
    }

    #[test]
    fn a_form_tells_which_words_no_time_of_it_has() {
        let form = |text: &[u8]| parse(text, 1_700_000_000_000_000_000).unwrap().0;
        let access = form(b"14/Nov/2023:22:13:20");
        let any = |form: TimeForm, words: &[&str]| words.iter().any(|&word| form.may_have(word.into()));
        let all = |form: TimeForm, words: &[&str]| words.iter().all(|&word| form.may_have(word.into()));
        assert!(all(access, &["14", "Nov", "2023", "59"]));
        assert!(!any(access, &["E6533", "404000", "1", "nov", "Now", "T22"]));
        let part = |text| Word { text, is_whole: false, any_case: false };
        assert!(access.may_have(part("1")) && access.may_have(part("ov")) && !access.may_have(part("nov")));
        assert!(access.may_have(Word { any_case: true, ..part("nov") }) && !access.may_have(part("20231")));
        let iso = form(b"2023-11-14T22:13:20.250Z");
        assert!(all(iso, &["2023", "14T22", "250Z"]));
        assert!(!any(iso, &["250", "20Z", "Nov", "14T", "E6533"]));
        assert!(iso.may_have(part("4T2")) && !iso.may_have(part("Z2")));
    }
    proptest::proptest! {
        #[test]
        fn a_fraction_tells_which_times_have_a_word(
            shape in 0..SHAPES.len() as u8, digits in 0..10u8, zulu: bool, comma: bool, any_case: bool,
            word in "[0-9]{1,13}[zZ]?", seconds in 0..4_000_000_000i64, nanos in 0..SECOND, is_its: bool,
        ) {
            let point = if comma { b',' } else { b'.' };
            let form = TimeForm { shape, point: if digits == 0 { 0 } else { point }, digits, zulu };
            let mut time = seconds * SECOND + nanos;
            let word = Word { text: &word, is_whole: true, any_case };
            let Some(fraction) = form.fraction(word) else { return Ok(()) };
            if is_its {
                time = seconds * SECOND + fraction.from + nanos % fraction.span;
            }
            let text = written(form, time);
            let is_same = |of_text: &str| if any_case { of_text.eq_ignore_ascii_case(word.text) } else { of_text == word.text };
            let has = crate::token::words(std::str::from_utf8(&text).unwrap()).any(is_same);
            assert_eq!(fraction.is_of(time), has, "{word:?} in {:?}", std::str::from_utf8(&text));
        }
    }

    #[test]
    fn only_what_is_no_other_number_is_a_fraction() {
        let form = |text: &[u8]| parse(text, 1_700_000_000_000_000_000).unwrap().0;
        let of = |text: &[u8], word: &str| form(text).fraction(word.into()).map(|f| (f.from, f.span));
        assert_eq!(of(b"2023-11-14T22:13:20.250Z", "250Z"), Some((250_000_000, 1_000_000)));
        assert_eq!(of(b"2023-11-14T22:13:20.250123456Z", "000000001Z"), Some((1, 1)));
        for (text, word) in [
            (&b"2023-11-14T22:13:20.250Z"[..], "250"),
            (b"2023-11-14T22:13:20.250Z", "250z"),
            (b"2023-11-14T22:13:20.2501", "2501"),
            (b"2023-11-14T22:13:20.25", "25"),
            (b"2023-11-14T22:13:20Z", "20Z"),
            (b"231114 221320.123456", "123456"),
        ] {
            assert_eq!(of(text, word), None, "{word}");
        }
        let part = Word { is_whole: false, .."250Z".into() };
        assert_eq!(form(b"2023-11-14T22:13:20.250Z").fraction(part), None);
        let any_case = Word { any_case: true, .."250z".into() };
        assert!(form(b"2023-11-14T22:13:20.250Z").fraction(any_case).is_some());
    }
}
