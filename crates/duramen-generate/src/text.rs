//! Numbers, times and JSON strings, written at the end of a byte buffer.

/// Writes an integer in decimal.
pub(crate) fn int(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes an integer in decimal with at least `width` digits, zeros first.
pub(crate) fn padded(out: &mut Vec<u8>, n: u64, width: u32) {
    let mut power = 10u64.saturating_pow(width.saturating_sub(1));
    while power > n && power > 1 {
        out.push(b'0');
        power /= 10;
    }
    int(out, n);
}

/// Writes `n / 10^places` with that many decimal places.
pub(crate) fn fixed(out: &mut Vec<u8>, n: u64, places: u32) {
    let power = 10u64.saturating_pow(places);
    int(out, n / power);
    out.push(b'.');
    padded(out, n % power, places);
}

/// Writes the lowest `digits` hexadecimal digits of `n`.
pub(crate) fn hex(out: &mut Vec<u8>, n: u64, digits: u32) {
    for i in (0..digits.min(16)).rev() {
        out.push(b"0123456789abcdef"[(n >> (4 * i)) as usize & 15]);
    }
}

/// Writes a version 4 UUID made of 128 random bits.
pub(crate) fn uuid(out: &mut Vec<u8>, high: u64, low: u64) {
    hex(out, high >> 32, 8);
    out.push(b'-');
    hex(out, high >> 16, 4);
    out.extend_from_slice(b"-4");
    hex(out, high, 3);
    out.push(b'-');
    hex(out, (low >> 48) & 0x3fff | 0x8000, 4);
    out.push(b'-');
    hex(out, low, 12);
}

/// A JSON string: what `write` writes, escaped where it must be, between quotes.
pub(crate) fn json_string(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    let start = out.len();
    write(out);
    if out[start..].iter().any(|&b| b < 0x20 || b == b'"' || b == b'\\') {
        let raw = out.split_off(start);
        for b in raw {
            match b {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', b]),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0..0x20 => {
                    out.extend_from_slice(b"\\u00");
                    hex(out, u64::from(b), 2);
                }
                _ => out.push(b),
            }
        }
    }
    out.push(b'"');
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time in UTC, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    year: i64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    nanosecond: u64,
}

impl Civil {
    /// Takes apart nanoseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn new(time_ns: i64) -> Self {
        let seconds = time_ns.div_euclid(1_000_000_000);
        let in_day = seconds.rem_euclid(86_400) as u64;
        // Years that begin in March end with the leap day, so the months' lengths follow one line.
        let days = seconds.div_euclid(86_400) + 719_468;
        let era = days.div_euclid(146_097);
        let in_era = days.rem_euclid(146_097);
        let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year + year / 4 - year / 100);
        let march_month = (5 * in_year + 2) / 153;
        let day = (in_year - (153 * march_month + 2) / 5 + 1) as u64;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        Self {
            year: era * 400 + year + i64::from(month <= 2),
            month: month as u64,
            day,
            hour: in_day / 3600,
            minute: in_day / 60 % 60,
            second: in_day % 60,
            nanosecond: time_ns.rem_euclid(1_000_000_000) as u64,
        }
    }

    fn month_name(self) -> &'static [u8] {
        MONTHS[(self.month as usize + 11) % 12].as_bytes()
    }

    fn date(self, out: &mut Vec<u8>) {
        padded(out, self.year.unsigned_abs(), 4);
        out.push(b'-');
        padded(out, self.month, 2);
        out.push(b'-');
        padded(out, self.day, 2);
    }

    fn clock(self, out: &mut Vec<u8>) {
        padded(out, self.hour, 2);
        out.push(b':');
        padded(out, self.minute, 2);
        out.push(b':');
        padded(out, self.second, 2);
    }

    /// `2026-03-01T09:30:00.123456789Z`, with 3, 6 or 9 places.
    pub(crate) fn rfc3339(self, out: &mut Vec<u8>, places: u32) {
        self.date(out);
        out.push(b'T');
        self.clock(out);
        out.push(b'.');
        padded(out, self.nanosecond / 10u64.pow(9 - places.min(9)), places);
        out.push(b'Z');
    }

    /// `2026-03-01 09:30:00,123`: the logging libraries of Java and Python.
    pub(crate) fn comma_millis(self, out: &mut Vec<u8>) {
        self.date(out);
        out.push(b' ');
        self.clock(out);
        out.push(b',');
        padded(out, self.nanosecond / 1_000_000, 3);
    }

    /// `01/Mar/2026:09:30:00 +0000`: access logs.
    pub(crate) fn access(self, out: &mut Vec<u8>) {
        padded(out, self.day, 2);
        out.push(b'/');
        out.extend_from_slice(self.month_name());
        out.push(b'/');
        padded(out, self.year.unsigned_abs(), 4);
        out.push(b':');
        self.clock(out);
        out.extend_from_slice(b" +0000");
    }

    /// `Mar  1 09:30:00`: RFC 3164.
    pub(crate) fn syslog(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.month_name());
        out.push(b' ');
        if self.day < 10 {
            out.push(b' ');
        }
        int(out, self.day);
        out.push(b' ');
        self.clock(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers() {
        assert_eq!(text(|o| int(o, u64::MAX)), "18446744073709551615");
        assert_eq!(text(|o| padded(o, 7, 3)), "007");
        assert_eq!(text(|o| padded(o, 0, 2)), "00");
        assert_eq!(text(|o| padded(o, 1234, 2)), "1234");
        assert_eq!(text(|o| fixed(o, 12_034, 3)), "12.034");
        assert_eq!(text(|o| hex(o, 0xabc, 4)), "0abc");
        assert_eq!(text(|o| uuid(o, u64::MAX, u64::MAX)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(text(|o| json_string(o, |o| o.extend_from_slice(b"plain"))), r#""plain""#);
        assert_eq!(
            text(|o| json_string(o, |o| o.extend_from_slice("a\"\\\n\t\u{1}ä".as_bytes()))),
            r#""a\"\\\n\t\u0001ä""#
        );
    }

    #[test]
    fn times_agree_with_a_calendar_library() {
        let mut time_ns = -3_000_000_000_123_456_789i64;
        while time_ns < 5_000_000_000_000_000_000 {
            let expected = jiff::Timestamp::from_nanosecond(i128::from(time_ns)).unwrap();
            let civil = Civil::new(time_ns);
            assert_eq!(text(|o| civil.rfc3339(o, 9)), format!("{expected:.9}"));
            let access = expected.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
            assert_eq!(text(|o| civil.access(o)), access);
            assert_eq!(text(|o| civil.syslog(o)), expected.strftime("%b %e %H:%M:%S").to_string());
            time_ns += 7_654_321_987_654_321;
        }
        assert_eq!(text(|o| Civil::new(5_000_000).comma_millis(o)), "1970-01-01 00:00:00,005");
    }
}
