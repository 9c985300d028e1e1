//! Time stamps in text: `2024-05-01T10:00:00.250Z`, `26/Jan/2019:19:45:25`, `Jun  9 06:06:20`, `1700000000.5`.
//!
//! A time stamp is a *form* and a number of nanoseconds. Zones are no part of it: what the text says is taken
//! as UTC, so a zone only shifts the difference to the row's own time, which is what is stored. Where a form
//! has no year or day, it is the one closest to the row's time.
//!
//! A text is a time stamp of a form only if writing the number in that form gives the text back.

mod recent;
mod words;
mod written;

pub(crate) use recent::Recent;
pub(crate) use written::TimeWriter;
use written::written;

/// How a time stamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeForm {
    /// Index into [`SHAPES`].
    pub(crate) shape: u8,
    /// What stands before the fraction, 0 if there is none.
    pub(crate) point: u8,
    /// How many digits the fraction has, 0 to 9.
    pub(crate) digits: u8,
    /// Whether a `Z` ends it.
    pub(crate) zulu: bool,
}

/// Y year, y its last two digits, m month, b its English abbreviation, d day, e day with a space in front,
/// D day without a zero in front, H hour, M minute, S second, E seconds since 1970 (ten digits), F
/// milliseconds since 1970 (13 digits); all else is itself.
const SHAPES: [&[u8]; 14] = [
    b"Y-m-dTH:M:S",
    b"Y-m-d H:M:S",
    b"Y-m-d-H.M.S",
    b"Y/m/d H:M:S",
    b"d/b/Y:H:M:S",
    b"y/m/d H:M:S",
    b"m-d H:M:S",
    b"H:M:S",
    b"ymd HMS",
    b"b e H:M:S",
    b"b d H:M:S",
    b"b D H:M:S",
    b"E",
    b"F",
];

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that many days after 1970-01-01: year, month, day (proleptic Gregorian). The conversion is Howard
/// Hinnant's `civil_from_days` (<https://howardhinnant.github.io/date_algorithms.html>).
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

fn number(text: &[u8], at: &mut usize, len: usize) -> Option<i64> {
    let digits = text.get(*at..*at + len)?;
    *at += len;
    digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
}

fn next_is_digit(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_digit)
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

/// The time stamp that `text` begins with: its form, its length, and its time. `near` is the row's time.
/// The caller sees to it that nothing that belongs to it stands before.
pub(crate) fn parse(text: &[u8], near: i64) -> Option<(TimeForm, usize, i64)> {
    let run = text.iter().take(14).take_while(|c| c.is_ascii_digit()).count();
    let candidates: &[u8] = match (run, text.get(run)) {
        (4, Some(b'-')) => match text.get(10)? {
            b'T' => &[0],
            b' ' => &[1],
            b'-' => &[2],
            _ => return None,
        },
        (4, Some(b'/')) => &[3],
        (2, Some(b'/')) => &[4, 5],
        (2, Some(b'-')) => &[6],
        (2, Some(b':')) => &[7],
        (6, Some(b' ')) => &[8],
        (0, _) if text.get(3) == Some(&b' ') && MONTHS.iter().any(|month| text.starts_with(&month[..])) => {
            &[9, 10, 11]
        }
        (10, _) => &[12],
        (13, _) => &[13],
        _ => return None,
    };
    // A time stamp counts only if it comes back to the letter: whatever a shape may have overlooked then
    // costs some bytes, and never changes a text.
    let found = candidates.iter().find_map(|&shape| parse_shape(text, shape, near));
    found.filter(|&(form, len, time)| *written(form, time) == text[..len])
}

fn parse_shape(text: &[u8], shape: u8, near: i64) -> Option<(TimeForm, usize, i64)> {
    let mut at = 0;
    let (mut year, mut month, mut day, mut of_day, mut epoch) = (None, None, None, 0, None);
    for &item in SHAPES[usize::from(shape)] {
        match item {
            b'Y' => year = Some(number(text, &mut at, 4)?),
            b'y' => year = Some(2000 + number(text, &mut at, 2)?),
            b'm' => month = Some(number(text, &mut at, 2)?),
            b'd' => day = Some(number(text, &mut at, 2)?),
            b'D' => {
                day = Some(number(text, &mut at, 1)?).filter(|&d| d > 0);
                day?;
            }
            b'e' => {
                let start = at;
                at += usize::from(text.get(at) == Some(&b' '));
                let len = 2 - (at - start);
                let d = number(text, &mut at, len)?;
                day = Some(d);
                if (d < 10) != (text[start] == b' ') {
                    return None;
                }
            }
            b'b' => {
                let name = text.get(at..at + 3)?;
                month = Some(MONTHS.iter().position(|m| *m == name)? as i64 + 1);
                at += 3;
            }
            b'H' => of_day += Some(number(text, &mut at, 2)?).filter(|&n| n < 24)? * 3600,
            b'M' => of_day += Some(number(text, &mut at, 2)?).filter(|&n| n < 60)? * 60,
            b'S' => of_day += Some(number(text, &mut at, 2)?).filter(|&n| n < 60)?,
            b'E' => epoch = number(text, &mut at, 10)?.checked_mul(SECOND),
            b'F' => epoch = number(text, &mut at, 13)?.checked_mul(SECOND / 1000),
            literal => {
                if text.get(at) != Some(&literal) {
                    return None;
                }
                at += 1;
            }
        }
    }
    let mut form = TimeForm { shape, point: 0, digits: 0, zulu: false };
    let mut fraction = 0;
    let milliseconds = shape == 13;
    if milliseconds && matches!(text.get(at), Some(b'.' | b',')) && next_is_digit(text, at + 1) {
        return None;
    }
    if let (Some(&point @ (b'.' | b',')), Some(b'0'..=b'9')) = (text.get(at), text.get(at + 1)) {
        let digits = text[at + 1..].iter().take(10).take_while(|c| c.is_ascii_digit()).count();
        if digits > 9 {
            return None;
        }
        at += 1;
        fraction = number(text, &mut at, digits)? * 10i64.pow(9 - digits as u32);
        (form.point, form.digits) = (point, digits as u8);
    }
    if text.get(at) == Some(&b'Z') {
        form.zulu = true;
        at += 1;
    }
    let next = |i: usize| text.get(at + i).copied().unwrap_or(b' ');
    // What goes on is something else: a longer word, an address, a version.
    if is_word(next(0)) || (matches!(next(0), b'.' | b'-' | b':') && is_word(next(1)) && form.shape >= 6) {
        return None;
    }
    let time = match epoch {
        Some(epoch) => {
            let time = epoch.checked_add(fraction)?;
            // Any ten digits might be seconds; only those close to the row's time are.
            (time.abs_diff(near) < 2 * DAY as u64).then_some(time)?
        }
        None => date(year, month, day, near)?.checked_mul(DAY)?.checked_add(of_day * SECOND + fraction)?,
    };
    let time = if month.is_none() && epoch.is_none() { closest_day(time, near)? } else { time };
    Some((form, at, time))
}

/// Days since 1970 of a date of which the year, or all, may be missing.
fn date(year: Option<i64>, month: Option<i64>, day: Option<i64>, near: i64) -> Option<i64> {
    let (Some(month), Some(day)) = (month, day) else { return Some(0) };
    let valid = |y: i64| {
        let days = days_of(y, month, day);
        (date_of(days) == (y, month, day)).then_some(days)
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    match year {
        Some(year) => valid(year),
        None => {
            let today = near.div_euclid(DAY);
            let (year, ..) = date_of(today);
            (year - 1..=year + 1).filter_map(valid).min_by_key(|days| days.abs_diff(today))
        }
    }
}

/// The moment closest to `near` that has this time of day.
fn closest_day(of_day: i64, near: i64) -> Option<i64> {
    let difference = (of_day - near.rem_euclid(DAY) + DAY / 2).rem_euclid(DAY) - DAY / 2;
    near.checked_add(difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: i64 = 1_700_000_000 * SECOND + 123_456_789;

    #[test]
    fn time_stamps_come_back() {
        for text in [
            "2023-11-14T22:13:20.123456789Z",
            "2023-11-14T22:13:20",
            "2024-02-29 23:59:59,999",
            "2005-06-03-15.42.50.675872",
            "2023/11/14 00:00:00",
            "26/Jan/2019:19:45:25",
            "17/06/09 20:10:40",
            "03-17 16:13:38.811",
            "23:13:20.5",
            "081109 203615",
            "Jun  9 06:06:20",
            "Jun 14 15:16:01",
            "Jun 09 06:06:20",
            "Nov 9 12:01:01",
            "1700000000",
            "1700000001.250",
            "1700000000123",
        ] {
            let (form, len, time) = parse(text.as_bytes(), NEAR).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(len, text.len(), "{text}");
            assert_eq!(std::str::from_utf8(&written(form, time)).unwrap(), text);
        }
        let (_, _, time) = parse(b"22:13:20", NEAR).unwrap();
        assert_eq!(time, NEAR / SECOND * SECOND);
        assert_eq!(parse(b"2023-11-14T22:13:21Z x", NEAR).unwrap().2, NEAR / SECOND * SECOND + SECOND);
    }

    #[test]
    fn what_is_no_time_stamp_is_left_alone() {
        for text in [
            "2023-02-29 00:00:00",
            "2023-11-14T24:00:00",
            "2023-11-14T22:13:20Zulu",
            "22:13:20:5",
            "22:13:201",
            "1234567890",
            "17000000001",
            "Jun 0 00:00:00",
            "Jun 31 00:00:00",
            "1.2",
            "2023-11-14T22:13:20.1234567890",
            "",
        ] {
            assert_eq!(parse(text.as_bytes(), NEAR), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_taken_for_a_time_stamp_comes_back(
            text in "([0-9]{4}[-/][01][0-9][-/][0-3][0-9][T -]|[0-3][0-9]/(Jan|Feb)/[0-9]{4}:|(Jan|Feb) [ 0-3]?[0-9] |[0-9]{6} )?[0-9]{2}[:.]?[0-9]{2}[:.]?[0-9]{2}([.,][0-9]{0,10})?Z?",
            near: i64,
        ) {
            if let Some((form, len, time)) = parse(text.as_bytes(), near) {
                assert_eq!(*written(form, time), text.as_bytes()[..len]);
            }
        }

        #[test]
        fn any_number_can_be_written(shape: u8, digits: u8, time: i64) {
            written(TimeForm { shape, point: b'.', digits, zulu: true }, time);
        }
    }

    #[test]
    fn a_time_stamp_comes_back_to_the_letter_or_is_none() {
        let near = 1_700_000_000_123_000_000;
        for text in [
            "1700000000123.4",
            "1700000000123.456",
            "1700000000123,4",
            "1700000000.123456789",
            "1700000000123",
        ] {
            if let Some((form, len, time)) = parse(text.as_bytes(), near) {
                assert_eq!(*written(form, time), text.as_bytes()[..len], "{text}");
            }
        }
        assert!(parse(b"1700000000123.4", near).is_none());
        assert!(parse(b"1700000000123", near).is_some());
    }
}
