//! Writing time stamps.
//!
//! What does not vary in a shape is laid out once, so that a time stamp is a copy of that and some pairs of digits: most
//! texts of logs have one, and each is written when it is taken in, to see whether it comes back, and whenever it is read.

use super::{DAY, MONTHS, SECOND, SHAPES, TimeForm, date_of};
use std::ops::Deref;

/// The longest shape that is laid out has so many bytes.
const MAX_SHAPE_BYTES: usize = 20;
/// No shape has more numbers.
const MAX_NUMBERS: usize = 6;
/// A time stamp has no more bytes: the longest shape, or a number; the point, nine digits, and `Z`.
const MAX_BYTES: usize = 32;

/// A shape with room for its numbers. Nothing, if it is one number.
struct Layout {
    text: [u8; MAX_SHAPE_BYTES],
    len: usize,
    /// The letter of each number in [`SHAPES`], and where it stands.
    numbers: [(u8, usize); MAX_NUMBERS],
    count: usize,
}

impl Layout {
    const fn of(shape: &[u8]) -> Self {
        let mut layout =
            Self { text: [b'0'; MAX_SHAPE_BYTES], len: 0, numbers: [(0, 0); MAX_NUMBERS], count: 0 };
        let mut at = 0;
        while at < shape.len() {
            let width = match shape[at] {
                b'E' | b'F' => 0,
                b'D' => 1,
                b'y' | b'm' | b'd' | b'e' | b'H' | b'M' | b'S' => 2,
                b'b' => 3,
                b'Y' => 4,
                literal => {
                    layout.text[layout.len] = literal;
                    layout.len += 1;
                    at += 1;
                    continue;
                }
            };
            if width > 0 {
                layout.numbers[layout.count] = (shape[at], layout.len);
                layout.count += 1;
                layout.len += width;
            }
            at += 1;
        }
        layout
    }

    /// Where its seconds stand, behind everything else.
    fn seconds(&self) -> Option<usize> {
        self.numbers[..self.count].last().map(|&(_, at)| at)
    }

    const fn of_all() -> [Self; SHAPES.len()] {
        let mut layouts = [const { Self::of(b"") }; SHAPES.len()];
        let mut shape = 0;
        while shape < layouts.len() {
            layouts[shape] = Self::of(SHAPES[shape]);
            shape += 1;
        }
        layouts
    }
}

const LAYOUTS: [Layout; SHAPES.len()] = Layout::of_all();

/// A time stamp's text.
#[derive(Debug, Default)]
pub(crate) struct Written {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Deref for Written {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The time stamp in this form. Of a form that does not exist there is nothing.
#[inline]
pub(crate) fn written(form: TimeForm, time: i64) -> Written {
    let mut text = Written::default();
    let Some(layout) = LAYOUTS.get(usize::from(form.shape)) else { return text };
    let mut of_second = time.rem_euclid(SECOND);
    match SHAPES[usize::from(form.shape)] {
        b"E" => text.put_number(time.div_euclid(SECOND), 10),
        b"F" => {
            text.put_number(time.div_euclid(SECOND / 1000), 13);
            of_second = of_second % (SECOND / 1000) * 1000;
        }
        _ => text.put_shape(layout, time),
    }
    text.put_end(form, of_second);
    text
}

/// Writes one time stamp after the other. Those of one minute, as most neighbours are, differ in nothing but their seconds.
#[derive(Debug, Default)]
pub(crate) struct TimeWriter {
    text: Written,
    /// The minute of the text, if it has seconds.
    minute: Option<Minute>,
}

#[derive(Debug)]
struct Minute {
    form: TimeForm,
    /// Minutes since 1970.
    number: i64,
    /// Where the text's seconds stand.
    seconds: usize,
}

impl TimeWriter {
    /// As [`written`].
    #[inline]
    pub(crate) fn write(&mut self, form: TimeForm, time: i64) -> &[u8] {
        let (number, of_minute) = (time.div_euclid(60 * SECOND), time.rem_euclid(60 * SECOND));
        if let Some(Minute { seconds, .. }) =
            self.minute.as_ref().filter(|minute| minute.form == form && minute.number == number)
        {
            self.text.put_two(*seconds, of_minute / SECOND);
            self.text.len = seconds + 2;
            self.text.put_end(form, of_minute % SECOND);
        } else {
            self.text = written(form, time);
            let seconds = LAYOUTS.get(usize::from(form.shape)).and_then(Layout::seconds);
            self.minute = seconds.map(|seconds| Minute { form, number, seconds });
        }
        &self.text
    }
}

impl Written {
    /// The fraction of a second, and what ends it.
    fn put_end(&mut self, form: TimeForm, of_second: i64) {
        let digits = usize::from(form.digits);
        if (1..=9).contains(&digits) {
            let fraction = nine_digits(of_second as u32);
            self.put(&[form.point]);
            self.put(&fraction[..digits]);
        }
        if form.zulu {
            self.put(b"Z");
        }
    }

    fn put(&mut self, more: &[u8]) {
        // There is room for any form.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + more.len()) {
            room.copy_from_slice(more);
            self.len += more.len();
        }
    }

    /// With zeros in front, if it has fewer digits.
    fn put_number(&mut self, number: i64, digits: usize) {
        let mut room = itoa::Buffer::new();
        let text = room.format(number);
        if text.len() >= digits {
            self.put(text.as_bytes());
        } else {
            self.put(format!("{number:0digits$}").as_bytes());
        }
    }

    fn put_shape(&mut self, layout: &Layout, time: i64) {
        let of_day = time.rem_euclid(DAY) / SECOND;
        // Those that tell no day have the time alone.
        let (year, month, day) = match layout.count > 3 {
            true => date_of(time.div_euclid(DAY)),
            false => (0, 1, 1),
        };
        self.bytes[..MAX_SHAPE_BYTES].copy_from_slice(&layout.text);
        self.len = layout.len;
        for &(number, at) in &layout.numbers[..layout.count] {
            match number {
                b'Y' => {
                    self.put_two(at, year / 100);
                    self.put_two(at + 2, year);
                }
                b'y' => self.put_two(at, year),
                b'm' => self.put_two(at, month),
                b'd' => self.put_two(at, day),
                b'e' => {
                    self.put_two(at, day);
                    if day < 10 {
                        self.bytes[at] = b' ';
                    }
                }
                b'D' => self.bytes[at] = b'0' + (day % 10) as u8,
                b'b' => self.bytes[at..at + 3].copy_from_slice(MONTHS[(month - 1) as usize]),
                b'H' => self.put_two(at, of_day / 3600),
                b'M' => self.put_two(at, of_day / 60 % 60),
                _ => self.put_two(at, of_day % 60),
            }
        }
    }

    /// The last two digits of a number.
    fn put_two(&mut self, at: usize, number: i64) {
        self.bytes[at] = b'0' + (number / 10 % 10) as u8;
        self.bytes[at + 1] = b'0' + (number % 10) as u8;
    }
}

/// The digits of a number below a thousand millions.
fn nine_digits(number: u32) -> [u8; 9] {
    let mut digits = [0; 9];
    for (three, number) in
        digits.chunks_exact_mut(3).zip([number / 1_000_000, number / 1000 % 1000, number % 1000])
    {
        three[0] = b'0' + (number / 100) as u8;
        three[1] = b'0' + (number / 10 % 10) as u8;
        three[2] = b'0' + (number % 10) as u8;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, item by item.
    fn one_by_one(form: TimeForm, time: i64) -> String {
        let (year, month, day) = date_of(time.div_euclid(DAY));
        let seconds = time.rem_euclid(DAY) / SECOND;
        let unit = if form.shape == 13 { SECOND / 1000 } else { SECOND };
        let item = |item: &u8| match item {
            b'Y' => format!("{year:04}"),
            b'y' => format!("{:02}", year % 100),
            b'm' => format!("{month:02}"),
            b'd' => format!("{day:02}"),
            b'D' => (day % 10).to_string(),
            b'e' => format!("{day:2}"),
            b'b' => String::from_utf8_lossy(MONTHS[month as usize - 1]).into_owned(),
            b'H' => format!("{:02}", seconds / 3600),
            b'M' => format!("{:02}", seconds / 60 % 60),
            b'S' => format!("{:02}", seconds % 60),
            b'E' => format!("{:010}", time.div_euclid(unit)),
            b'F' => format!("{:013}", time.div_euclid(unit)),
            literal => char::from(*literal).to_string(),
        };
        let mut text: String = SHAPES[usize::from(form.shape)].iter().map(item).collect();
        if form.digits > 0 {
            let width = if form.shape == 13 { 6 } else { 9 };
            let fraction = format!("{:0width$}000", time.rem_euclid(unit));
            text.push(char::from(form.point));
            text.push_str(&fraction[..usize::from(form.digits)]);
        }
        if form.zulu { text + "Z" } else { text }
    }

    proptest::proptest! {
        #[test]
        fn all_at_once_is_as_item_by_item(shape in 0..SHAPES.len() as u8, digits in 0..10u8, zulu: bool, time: i64) {
            for time in [time, time / 1000, time / 1_000_000_000, i64::MIN, i64::MAX, 0, -1] {
                let form = TimeForm { shape, point: b',', digits, zulu };
                assert_eq!(std::str::from_utf8(&written(form, time)).unwrap(), one_by_one(form, time));
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn what_was_written_before_changes_nothing(
            steps in proptest::collection::vec((0..SHAPES.len() as u8 + 1, 0..4u8, -90..90i64, 0..SECOND), 100),
        ) {
            let mut writer = TimeWriter::default();
            let (mut time, mut shape) = (0, 0);
            for (other, digits, seconds, nanos) in steps {
                if digits == 0 {
                    shape = other;
                }
                time += seconds * SECOND + nanos;
                let form = TimeForm { shape, point: b'.', digits, zulu: digits == 2 };
                for time in [time, i64::MIN, i64::MAX, time] {
                    assert_eq!(*writer.write(form, time), *written(form, time), "{form:?} {time}");
                }
            }
        }
    }

    #[test]
    fn of_one_minute_only_seconds_are_written() {
        let form = TimeForm { shape: 0, point: b'.', digits: 3, zulu: true };
        let mut writer = TimeWriter::default();
        assert_eq!(writer.write(form, 0), b"1970-01-01T00:00:00.000Z");
        writer.text.bytes[0] = b'X';
        assert_eq!(writer.write(form, 59_250_000_000), b"X970-01-01T00:00:59.250Z");
        assert_eq!(writer.write(form, 60_000_000_000), b"1970-01-01T00:01:00.000Z");
    }

    #[test]
    fn of_a_form_that_does_not_exist_nothing_is_written() {
        let form = TimeForm { shape: SHAPES.len() as u8, point: b'.', digits: 3, zulu: true };
        assert!(written(form, 0).is_empty());
        let form = TimeForm { shape: 0, point: b'.', digits: 200, zulu: false };
        assert_eq!(*written(form, 0), *b"1970-01-01T00:00:00", "a damaged form's");
    }
}
