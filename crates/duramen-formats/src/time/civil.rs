//! Calendar arithmetic of the proleptic Gregorian calendar, in plain integers.

/// A time as a stamp spells it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Civil {
    /// `None` if the stamp has none.
    pub year: Option<i64>,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// Seconds since midnight; 86,400 for a leap second.
    pub secs: u32,
    /// 0 to 999,999,999.
    pub nanos: u32,
    /// Seconds east of UTC, if the stamp says.
    pub offset: Option<i32>,
}

impl Civil {
    /// Seconds since the epoch as if the clock were UTC's; `None` if `year` has no such day.
    pub fn local_secs(&self, year: i64) -> Option<i64> {
        if !(1900..=2400).contains(&year) || self.day == 0 || self.day > days_in_month(year, self.month)? {
            return None;
        }
        Some(day_of_date(year, self.month, self.day) * super::DAY_SECS + i64::from(self.secs))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: u32) -> Option<u32> {
    Some(match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    })
}

/// Days from 1970-01-01 to a date. Years are counted from March, so that the leap day comes last.
fn day_of_date(year: i64, month: u32, day: u32) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let m = i64::from((month + 9) % 12);
    let leap_days = y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    y * 365 + leap_days + (m * 306 + 5) / 10 + i64::from(day) - 719_469
}

/// The date of a day counted from 1970-01-01: year, month, day.
pub(crate) fn date_of_day(day: i64) -> (i64, u32, u32) {
    // An average year is 365.2425 days, so this is right or one off; the loops settle it.
    let mut year = 1970 + (day * 10_000).div_euclid(3_652_425);
    while day_of_date(year, 1, 1) > day {
        year -= 1;
    }
    while day_of_date(year + 1, 1, 1) <= day {
        year += 1;
    }
    let mut rest = u32::try_from(day - day_of_date(year, 1, 1)).unwrap_or(0);
    let mut month = 1;
    while let Some(days) = days_in_month(year, month)
        && rest >= days
    {
        rest -= days;
        month += 1;
    }
    (year, month, rest + 1)
}

/// The month whose English name begins with these three letters, in any case.
pub(crate) fn month_of_name(s: &[u8]) -> Option<u32> {
    let name = [s.first()? | 0x20, s.get(1)? | 0x20, s.get(2)? | 0x20];
    Some(match &name {
        b"jan" => 1,
        b"feb" => 2,
        b"mar" => 3,
        b"apr" => 4,
        b"may" => 5,
        b"jun" => 6,
        b"jul" => 7,
        b"aug" => 8,
        b"sep" => 9,
        b"oct" => 10,
        b"nov" => 11,
        b"dec" => 12,
        _ => return None,
    })
}

/// Whether the text begins with three letters of an English weekday.
pub(crate) fn is_weekday(s: &[u8]) -> bool {
    s.get(..3).is_some_and(|d| {
        [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"].iter().any(|w| d.eq_ignore_ascii_case(*w))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        assert_eq!(day_of_date(1970, 1, 1), 0);
        assert_eq!(day_of_date(2000, 3, 1), 11_017);
        for day in -30_000..120_000 {
            let (y, m, d) = date_of_day(day);
            assert_eq!(day_of_date(y, m, d), day);
            let jiff = jiff::civil::date(y as i16, m as i8, d as i8);
            assert_eq!(jiff.since(jiff::civil::date(1970, 1, 1)).unwrap().get_days(), day as i32);
        }
    }
}
