//! Decimal fractions as integers: 20.816 and 7.5 as 20816 and 7500, with up to three digits after the point.
//!
//! Programs write a number with as many digits as it needs, or always with the same: either way the integer tells how
//! its text went, so that texts come back byte for byte and numbers need no texts.

/// So many digits fit into an integer whatever they are.
pub(crate) const MAX_DIGITS: usize = 18;

/// The powers of ten that a scale can mean.
const POWERS: [i64; MAX_DIGITS + 1] = {
    let mut powers = [1; MAX_DIGITS + 1];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Sign, digits and point of the longest number.
pub(crate) const MAX_TEXT_BYTES: usize = 22;

/// How integers stand for decimal fractions: they are that many times too large, and have so many digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    most: u8,
    least: u8,
}

impl Scale {
    /// Numbers with `most` digits after the point at most, of which zeros at the end are not written but for the first
    /// `least`. `None` unless `least` is at most `most`, and that at most 18.
    ///
    /// ```
    /// use duramen::column::{IntText, Scale};
    /// let scale = Scale::new(3, 1).unwrap();
    /// let mut digits = IntText::default();
    /// assert_eq!(digits.format_decimal(-20_816, scale), "-20.816");
    /// assert_eq!(digits.format_decimal(7_000, scale), "7.0");
    /// ```
    pub fn new(most: u8, least: u8) -> Option<Self> {
        (least <= most && usize::from(most) <= MAX_DIGITS).then_some(Self { most, least })
    }

    /// Digits after the point at most, and the least.
    pub(crate) fn digits(self) -> (u8, u8) {
        (self.most, self.least)
    }

    /// How many times too large the integers are.
    pub fn power(self) -> i64 {
        POWERS.get(usize::from(self.most)).copied().unwrap_or(1)
    }

    /// The integers that these texts are, and how, if all are numbers that come back as they are written.
    ///
    /// ```
    /// use duramen::column::Scale;
    /// let (scale, integers) = Scale::of_texts([&b"20.816"[..], b"7.5"].into_iter()).unwrap();
    /// assert_eq!((scale.power(), integers), (1000, vec![20_816, 7_500]));
    /// assert!(Scale::of_texts([&b"7.50"[..], b"7.5"].into_iter()).is_none());
    /// ```
    pub fn of_texts<'t>(texts: impl Iterator<Item = &'t [u8]> + Clone) -> Option<(Self, Vec<i64>)> {
        let (mut most, mut least) = (0, usize::MAX);
        for text in texts.clone() {
            let (_, after) = parse(text)?;
            (most, least) = (most.max(after), least.min(after));
        }
        let scale = Self::new(u8::try_from(most).ok()?, u8::try_from(least).ok()?)?;
        let mut integers = Vec::with_capacity(texts.size_hint().0);
        for text in texts {
            let (n, after) = parse(text)?;
            let n = n.checked_mul(POWERS[most - after]).filter(|n| n.abs() < POWERS[MAX_DIGITS])?;
            if scale.after(n.unsigned_abs()).1 != after {
                return None;
            }
            integers.push(n);
        }
        Some((scale, integers))
    }

    /// The digits of a number without the zeros that are not written, and how many of them stand after the point.
    fn after(self, mut digits: u64) -> (u64, usize) {
        let mut after = self.most;
        while after > self.least && digits.is_multiple_of(10) {
            digits /= 10;
            after -= 1;
        }
        (digits, usize::from(after))
    }

    /// The text of a number.
    pub(crate) fn write(self, n: i64, room: &mut [u8; MAX_TEXT_BYTES]) -> &str {
        let (mut left, after) = self.after(n.unsigned_abs());
        let mut at = room.len();
        let mut put = |byte: u8| {
            at -= 1;
            room[at] = byte;
        };
        let mut digit = || {
            let digit = b'0' + (left % 10) as u8;
            left /= 10;
            (digit, left > 0)
        };
        (0..after).for_each(|_| put(digit().0));
        if after > 0 {
            put(b'.');
        }
        loop {
            let (digit, is_more) = digit();
            put(digit);
            if !is_more {
                break;
            }
        }
        if n < 0 {
            put(b'-');
        }
        std::str::from_utf8(&room[at..]).unwrap_or_default()
    }
}

/// The digits of a plain number as an integer, and how many of them stand after the point.
fn parse(text: &[u8]) -> Option<(i64, usize)> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = memchr::memchr(b'.', digits);
    let (whole, fraction) = point.map_or((digits, &digits[..0]), |at| (&digits[..at], &digits[at + 1..]));
    let is_plain = matches!(whole, [b'0'] | [b'1'..=b'9', ..]) && fraction.is_empty() == point.is_none();
    if !is_plain || whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let mut n = 0i64;
    for &digit in whole.iter().chain(fraction) {
        if !digit.is_ascii_digit() {
            return None;
        }
        n = n * 10 + i64::from(digit - b'0');
    }
    // There is no integer -0 to stand for "-0.00".
    if negative && n == 0 {
        return None;
    }
    Some((if negative { -n } else { n }, fraction.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Option<((u8, u8), Vec<i64>)> {
        let (scale, integers) = Scale::of_texts(texts.iter().map(|text| text.as_bytes()))?;
        for (text, &n) in texts.iter().zip(&integers) {
            assert_eq!(scale.write(n, &mut [0; MAX_TEXT_BYTES]), *text);
        }
        Some((scale.digits(), integers))
    }

    #[test]
    fn numbers_of_one_length_and_of_several_come_back() {
        assert_eq!(of(&["0.50", "-12.05", "-0.01"]), Some(((2, 2), vec![50, -1205, -1])));
        assert_eq!(of(&["20.816", "7.5", "7", "0"]), Some(((3, 0), vec![20_816, 7_500, 7_000, 0])));
        assert_eq!(of(&["20.816", "7.0", "100.0"]), Some(((3, 1), vec![20_816, 7_000, 100_000])));
        assert_eq!(of(&["0.000000000000000001"]), None, "of 19 digits");
        assert_eq!(of(&["0.00000000000000001"]), Some(((17, 17), vec![1])));
        assert_eq!(of(&["999999999999999999", "0.5"]), None, "it does not fit");
    }

    #[test]
    fn what_would_come_back_otherwise_is_refused() {
        for texts in [
            &["1.50", "1.5"][..],
            &["1.50", "2"],
            &["-0.0"],
            &["1."],
            &[".5", "1.5"],
            &["01.5"],
            &["1e3", "1.5"],
            &["1.5", ""],
            &["+1.5"],
            &["-", "1.5"],
            &["1.2.3"],
        ] {
            assert_eq!(of(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn any_integer_of_any_scale_has_a_text() {
        for n in [i64::MIN, i64::MAX, 0, -1, 1_000_000_000_000_000_000] {
            for most in 0..=18 {
                let text = Scale::new(most, 0).unwrap().write(n, &mut [0; MAX_TEXT_BYTES]).to_owned();
                assert!(!text.is_empty() && text.parse::<f64>().is_ok(), "{text}");
            }
        }
        assert_eq!(
            Scale::new(18, 18).unwrap().write(i64::MIN, &mut [0; MAX_TEXT_BYTES]),
            "-9.223372036854775808"
        );
        assert_eq!((Scale::new(19, 0), Scale::new(1, 2)), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn texts_that_look_like_numbers_come_back_or_are_refused(texts in proptest::collection::vec("-?[0-9]{0,3}[.]?[0-9]{0,3}", 1..6)) {
            of(&texts.iter().map(|text| &**text).collect::<Vec<_>>());
        }

        #[test]
        fn numbers_as_programs_write_them_come_back(numbers in proptest::collection::vec(-100_000_000i64..100_000_000, 1..50)) {
            let texts: Vec<String> = numbers.iter().map(|&n| (n as f64 / 1000.0).to_string()).collect();
            if !texts.iter().any(|text| text == "-0") {
                assert!(of(&texts.iter().map(|text| &**text).collect::<Vec<_>>()).is_some(), "{texts:?}");
            }
        }
    }
}
