//! Which words numbers can hold, by the least and the most that they can be.

use crate::block::Word;
use crate::column::Scale;

/// Whether an integer between two others, these included, can hold a word. It is written plainly: without zeros in front.
pub(crate) fn integer_may_hold(least: i64, most: i64, word: Word<'_>) -> bool {
    if !is_of_digits(word) {
        return false;
    }
    if !word.is_whole {
        return word.text.len() <= digits(least.unsigned_abs().max(most.unsigned_abs()));
    }
    if word.text.len() > 1 && word.text.starts_with('0') {
        return false;
    }
    // Before the digits may be a sign. What has too many of them is no integer.
    let number = word.text.parse::<u64>().map(i128::from);
    let are_between = i128::from(least)..=i128::from(most);
    number.is_ok_and(|n| are_between.contains(&n) || are_between.contains(&-n))
}

/// The same of one that has zeros in front, if the word is as long as it is.
pub(super) fn padded_may_hold(least: i64, most: i64, word: Word<'_>) -> bool {
    if !word.is_whole {
        // It may begin with the zeros.
        return is_of_digits(word);
    }
    let plain = word.text.trim_start_matches('0');
    integer_may_hold(least, most, Word { text: if plain.is_empty() { "0" } else { plain }, ..word })
}

/// The same of the decimal fractions that integers stand for. Their words are what stands before the point, and behind it.
pub(super) fn fraction_may_hold(least: i64, most: i64, scale: Scale, word: Word<'_>) -> bool {
    let (most_digits, least_digits) = scale.digits();
    let (most_digits, least_digits) = (usize::from(most_digits), usize::from(least_digits));
    let may_be_behind = match word.is_whole {
        true => (least_digits..=most_digits).contains(&word.text.len()),
        false => word.text.len() <= most_digits,
    };
    is_of_digits(word)
        && (may_be_behind || integer_may_hold(least / scale.power(), most / scale.power(), word))
}

/// Whether an IPv4 address may: its words are numbers up to 255.
pub(super) fn address_may_hold(word: Word<'_>) -> bool {
    integer_may_hold(0, 255, word)
}

fn is_of_digits(word: Word<'_>) -> bool {
    word.text.bytes().all(|c| c.is_ascii_digit())
}

/// How many digits it has.
pub(super) fn digits(n: u64) -> usize {
    n.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::IntText;
    use crate::token;
    use proptest::strategy::Strategy;

    /// Whether a text has it, as is looked for in any other.
    fn has(text: &str, word: Word<'_>) -> bool {
        match word.is_whole {
            true => token::words(text).any(|of| of == word.text),
            false => text.contains(word.text),
        }
    }

    fn whole(text: &str) -> Word<'_> {
        text.into()
    }

    fn part(text: &str) -> Word<'_> {
        Word { is_whole: false, ..text.into() }
    }

    #[test]
    fn integers_out_of_range_are_ruled_out() {
        assert!(integer_may_hold(200, 504, whole("404")) && !integer_may_hold(200, 504, whole("505")));
        assert!(!integer_may_hold(200, 504, whole("40")) && integer_may_hold(200, 504, part("40")));
        assert!(!integer_may_hold(200, 504, part("4040")) && !integer_may_hold(200, 504, part("x")));
        assert!(integer_may_hold(-5, -3, whole("4")) && !integer_may_hold(-5, -3, whole("2")));
        assert!(integer_may_hold(i64::MIN, 0, whole("9223372036854775808")));
        assert!(!integer_may_hold(i64::MIN, i64::MAX, whole("9223372036854775809")));
        assert!(!integer_may_hold(i64::MIN, i64::MAX, whole("99999999999999999999999")));
        assert!(address_may_hold(whole("255")) && !address_may_hold(whole("256")));
        assert!(!address_may_hold(part("1000")));
        let scale = Scale::new(3, 1).unwrap();
        assert!(
            fraction_may_hold(1_500, 2_750, scale, whole("75"))
                && !fraction_may_hold(1_500, 2_750, scale, whole("7500"))
        );
        assert!(fraction_may_hold(1_500, 2_750, scale, whole("2")));
    }

    /// Integers of which short ones are as likely as long ones.
    fn any_size() -> impl Strategy<Value = i64> {
        (proptest::num::i64::ANY, 0u32..64).prop_map(|(n, shift)| n >> shift)
    }

    proptest::proptest! {
        #[test]
        fn what_a_number_holds_is_never_ruled_out(
            numbers in proptest::collection::vec(any_size(), 1..4),
            most in 0u8..=18,
            fewer in 0u8..=18,
            from in 0usize..20,
            len in 1usize..20,
        ) {
            let scale = Scale::new(most, most.saturating_sub(fewer)).unwrap();
            let (low, high) = (*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap());
            let mut written = IntText::default();
            for &n in &numbers {
                for is_fraction in [false, true] {
                    let text = if is_fraction { written.format_decimal(n, scale) } else { written.format(n) }.to_owned();
                    let some = text.bytes().skip(from).take(len).collect();
                    let some = String::from_utf8(some).unwrap();
                    let words = token::words(&text).map(whole).chain([part(&some)].into_iter().filter(|w| !w.text.is_empty()));
                    for word in words.filter(|w| w.text.bytes().all(|c| c.is_ascii_digit())) {
                        assert!(has(&text, word));
                        let may = match is_fraction {
                            true => fraction_may_hold(low, high, scale, word),
                            false => integer_may_hold(low, high, word),
                        };
                        assert!(may, "{word:?} in {text:?} of {low}..={high}");
                    }
                }
            }
        }
    }
}
