//! The order of values: nothing, then numbers by size, then time stamps by when they are, for their fractions of a second
//! have as many digits as they need, and zones differ; then texts in natural order (`web-2` before `web-10`).

use crate::number::Number;
use crate::parse::time::parse_time;
use jiff::tz::Offset;
use std::cmp::Ordering;

/// A value ready to be compared many times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// No value, or the empty one.
    Empty,
    /// A number; `1` and `1.0` are the same.
    Number(Number),
    /// A time stamp, ns since the epoch.
    Time(i64),
    /// Any other text.
    Text(NaturalText),
}

impl SortKey {
    /// The key of a text.
    pub fn new(text: &str) -> Self {
        if text.is_empty() {
            return Self::Empty;
        }
        match Number::parse(text) {
            Some(n) => Self::Number(n),
            None => Self::of_text(text),
        }
    }

    /// The key of a text that is no number.
    pub fn of_text(text: &str) -> Self {
        match time_of(text) {
            Some(time) => Self::Time(time),
            None if text.is_empty() => Self::Empty,
            None => Self::Text(NaturalText(text.into())),
        }
    }

    /// The key of an integer.
    pub fn int(n: i64) -> Self {
        Self::Number(Number::Int(n))
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Empty | Self::Number(_) | Self::Time(_) => 0,
            Self::Text(text) => text.0.len(),
        }
    }
}

/// A text in natural order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaturalText<T = Box<str>>(T);

impl<T: AsRef<str> + Eq> PartialOrd for NaturalText<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: AsRef<str> + Eq> Ord for NaturalText<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        natural_cmp(self.0.as_ref(), other.0.as_ref())
    }
}

/// Compares any two values as `sort` does, and tells `1` from `1.0` by their texts.
pub fn compare(a: &str, b: &str) -> Ordering {
    compare_read((a, Number::parse(a)), (b, Number::parse(b)))
}

/// The same of values that were read as numbers already.
pub fn compare_read((a, x): (&str, Option<Number>), (b, y): (&str, Option<Number>)) -> Ordering {
    match (x, y) {
        (Some(x), Some(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => {
            if b.is_empty() {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (None, Some(_)) => {
            if a.is_empty() {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (None, None) => match (time_of(a), time_of(b)) {
            (Some(x), Some(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
            (Some(_), None) if !b.is_empty() => Ordering::Less,
            (None, Some(_)) if !a.is_empty() => Ordering::Greater,
            _ => natural_cmp(a, b),
        },
    }
}

/// When a time stamp is, if the text is one: as RFC 3339 has it, or without a zone, and then of UTC. Most texts are told by
/// their first bytes to be none.
fn time_of(text: &str) -> Option<i64> {
    let is_likely = matches!(
        text.as_bytes(),
        [b'0'..=b'9', _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', _, _, b':', _, _, b':', ..]
    );
    if !is_likely {
        return None;
    }
    let of_utc = || i64::try_from(Offset::UTC.to_timestamp(text.parse().ok()?).ok()?.as_nanosecond()).ok();
    parse_time(text).or_else(of_utc)
}

/// A value ready to be compared many times: in the order of [`compare`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceKey<'t> {
    /// The empty value.
    Empty,
    /// A number, and what tells it from others of its size.
    Number(Number, &'t str),
    /// A time stamp, likewise.
    Time(i64, &'t str),
    /// Any other text, behind how it begins, which decides most comparisons.
    Text(NaturalStart, NaturalText<&'t str>),
}

impl<'t> PlaceKey<'t> {
    /// The key of a text.
    pub fn new(text: &'t str) -> Self {
        match Number::parse(text) {
            _ if text.is_empty() => Self::Empty,
            Some(n) => Self::Number(n, text),
            None => match time_of(text) {
                Some(time) => Self::Time(time, text),
                None => Self::Text(NaturalStart::of(text), NaturalText(text)),
            },
        }
    }
}

/// Compares texts byte by byte, but runs of ASCII digits by the number they write.
pub fn natural_cmp(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    // What both begin with decides nothing, but for the digits at its end.
    let same = in_common(x, y);
    let digits_before = x[..same].iter().rev().take_while(|c| c.is_ascii_digit()).count();
    (x, y) = (&x[same - digits_before..], &y[same - digits_before..]);
    loop {
        let (Some(&p), Some(&q)) = (x.first(), y.first()) else {
            return x.len().cmp(&y.len()).then_with(|| a.cmp(b));
        };
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (digits(x), digits(y));
            let (u, v) = (without_zeros(&x[..m]), without_zeros(&y[..n]));
            match u.len().cmp(&v.len()).then_with(|| u.cmp(v)) {
                Ordering::Equal => (x, y) = (&x[m..], &y[n..]),
                unequal => return unequal,
            }
        } else if p == q {
            (x, y) = (&x[1..], &y[1..]);
        } else {
            return p.cmp(&q);
        }
    }
}

/// How a text begins: that of a text that comes before another in natural order is not greater than that of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NaturalStart(u128);

impl NaturalStart {
    /// Bytes as they are, but runs of digits as `0`, how many they are without zeros in front, and those; high to low, as many as
    /// have room.
    fn of(text: &str) -> Self {
        const BYTES: usize = size_of::<u128>();
        let (mut start, mut len) = ([0u8; BYTES], 0);
        let mut push = |byte: u8| {
            if let Some(place) = start.get_mut(len) {
                *place = byte;
                len += 1;
            }
            len < BYTES
        };
        let mut rest = text.as_bytes();
        while let Some((&byte, behind)) = rest.split_first() {
            if !byte.is_ascii_digit() {
                rest = behind;
                if push(byte) {
                    continue;
                }
                break;
            }
            let (run, behind) = rest.split_at(digits(rest));
            let run = without_zeros(run);
            rest = behind;
            let has_room = push(b'0') && push(u8::try_from(run.len()).unwrap_or(u8::MAX));
            // Of longer runs, the digits may be less and the number greater.
            if !has_room || run.len() >= usize::from(u8::MAX) || !run.iter().all(|&digit| push(digit)) {
                break;
            }
        }
        Self(u128::from_be_bytes(start))
    }
}

/// How many bytes both begin with: many texts that are compared have much in common, so that eight are looked at at a time.
fn in_common(a: &[u8], b: &[u8]) -> usize {
    let (a_words, b_words) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    for (i, (&p, &q)) in a_words.iter().zip(b_words).enumerate() {
        let differ = u64::from_le_bytes(p) ^ u64::from_le_bytes(q);
        if differ != 0 {
            return i * 8 + differ.trailing_zeros() as usize / 8;
        }
    }
    let words = a_words.len().min(b_words.len()) * 8;
    let rest = a[words..].iter().zip(&b[words..]);
    words + rest.take_while(|(p, q)| p == q).count()
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|&&b| b == b'0').count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order() {
        let mut values = ["web-10", "", "10", "web-2", "9", "1.5s", "web-02", "alpha"];
        values.sort_by(|a, b| compare(a, b));
        assert_eq!(values, ["", "9", "10", "1.5s", "alpha", "web-02", "web-2", "web-10"]);
    }

    #[test]
    fn times_are_in_the_order_of_time() {
        let [a, b, c] = ["2024-05-17T11:50:00.952Z", "2024-05-17T11:50:00.97Z", "2024-05-17T11:50:01Z"];
        let mut values = [c, "later", b, "", a, "2024-05-17T11:50:00.100Zx"];
        values.sort_by(|a, b| compare(a, b));
        assert_eq!(values, ["", a, b, c, "2024-05-17T11:50:00.100Zx", "later"]);
        let mut keyed = [c, "later", b, "", a, "2024-05-17T11:50:00.100Zx"];
        keyed.sort_by_key(|text| PlaceKey::new(text));
        assert_eq!(keyed, values);
        keyed.sort_by_key(|text| SortKey::new(text));
        assert_eq!(keyed, values);
        let east = "2024-05-17T13:50:00.96+02:00";
        assert!(compare(a, east).is_lt() && compare(east, b).is_lt());
    }

    const ANY: &str = "[a10.-]{0,5}|2024-05-17T11:50:0[01](\\.[0-9]{1,3})?(Z|\\+01:00|x)?";

    /// The same byte by byte from the beginning.
    fn slowly(a: &str, b: &str) -> Ordering {
        let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
        loop {
            let (Some(&p), Some(&q)) = (x.first(), y.first()) else {
                return x.len().cmp(&y.len()).then_with(|| a.cmp(b));
            };
            let (m, n) = (digits(x).max(1), digits(y).max(1));
            let order = if p.is_ascii_digit() && q.is_ascii_digit() {
                let (u, v) = (without_zeros(&x[..m]), without_zeros(&y[..n]));
                u.len().cmp(&v.len()).then_with(|| u.cmp(v))
            } else {
                p.cmp(&q)
            };
            if order.is_ne() {
                return order;
            }
            let both_digits = p.is_ascii_digit() && q.is_ascii_digit();
            (x, y) = if both_digits { (&x[m..], &y[n..]) } else { (&x[1..], &y[1..]) };
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_the_same_may_be_skipped(same in "[a10é]{0,20}", a in "[a10.]{0,4}", b in "[a10.]{0,4}") {
            let (a, b) = (format!("{same}{a}"), format!("{same}{b}"));
            proptest::prop_assert_eq!(natural_cmp(&a, &b), slowly(&a, &b));
        }

        #[test]
        fn starts_are_in_order(a in "[a10.\\x00]{0,20}|[01]{250,260}a?", b in "[a10.\\x00]{0,20}|[01]{250,260}a?", same in "a?") {
            let (a, b) = (format!("{same}{a}"), format!("{same}{b}"));
            let starts = NaturalStart::of(&a).cmp(&NaturalStart::of(&b));
            proptest::prop_assert!(starts.is_eq() || starts == natural_cmp(&a, &b), "{} {}", a, b);
        }

        #[test]
        fn keys_and_texts_agree_and_the_order_is_one(a in ANY, b in ANY, c in ANY) {
            let keys = SortKey::new(&a).cmp(&SortKey::new(&b));
            proptest::prop_assert!(keys == compare(&a, &b) || keys.is_eq() && (Number::parse(&a).is_some() || time_of(&a).is_some()));
            proptest::prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            proptest::prop_assert_eq!(PlaceKey::new(&a).cmp(&PlaceKey::new(&b)), compare(&a, &b));
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                proptest::prop_assert!(compare(&a, &c).is_le());
            }
        }
    }
}
