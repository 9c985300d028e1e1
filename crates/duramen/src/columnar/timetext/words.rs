//! Which words a time stamp may have, told by its form alone.

use super::{MONTHS, SHAPES, TimeForm, is_word};
use crate::block::Word;

impl TimeForm {
    /// Whether a time of this form may have a word, or one with this part: digits as many as one of its numbers has, such
    /// with a letter of the form, or the name of a month.
    pub(crate) fn may_have(self, word: Word<'_>) -> bool {
        let Some(shape) = SHAPES.get(usize::from(self.shape)) else { return true };
        let mut sample = Vec::with_capacity(40);
        for &item in *shape {
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
        if self.digits > 0 {
            sample.push(self.point);
            sample.resize(sample.len() + usize::from(self.digits), b'0');
        }
        sample.extend(self.zulu.then_some(b'Z'));
        let written: Vec<u8> = word.text.bytes().map(|c| if c.is_ascii_digit() { b'0' } else { c }).collect();
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
}
