//! `_time:day_range[08:00, 18:00)` and `_time:week_range[Mon, Fri]`: the time of the day, and the day of the week.

use std::fmt;

const MINUTE_NS: i64 = 60_000_000_000;
/// Nanoseconds of a day.
pub const DAY_NS: i64 = 1_440 * MINUTE_NS;

/// A part of every day, or of every week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Which part.
    pub part: Part,
    /// How far east of UTC the clock is, ns.
    pub offset_ns: i64,
}

/// From when until when, with or without the ends themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Of the day, in minutes since midnight, 0 to 1440. Nothing where the start is after the end.
    Day {
        /// The start, and whether its first nanosecond is in it.
        from: (u16, bool),
        /// The end, and whether its first nanosecond is in it.
        to: (u16, bool),
    },
    /// Of the week, from day to day, Sunday being 0; round the end of the week where the last is before the first.
    Week {
        /// The first day, and whether it is in it.
        from: (u8, bool),
        /// The last day, and whether it is in it.
        to: (u8, bool),
    },
}

/// The days of the week, as they are written; the first three letters are enough.
pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Reads `Mon` or `Monday`, in any case.
pub fn parse_day(text: &str) -> Option<u8> {
    let is = |day: &&str| text.eq_ignore_ascii_case(day) || text.eq_ignore_ascii_case(&day[..3]);
    DAYS.iter().position(is).and_then(|i| u8::try_from(i).ok())
}

/// Reads `hh:mm`, up to `24:00`, as minutes.
pub fn parse_minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |s: &str, max: u16| {
        let digits = (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
        s.parse::<u16>().ok().filter(|&n| digits && n <= max)
    };
    let total = number(hours, 24)? * 60 + number(minutes, 59)?;
    (total <= 1440).then_some(total)
}

impl Clock {
    /// Whether a time stamp, ns since the epoch, is in the part.
    pub fn matches(&self, time: i64) -> bool {
        let local = i128::from(time) + i128::from(self.offset_ns);
        let in_day = local.rem_euclid(i128::from(DAY_NS)) as i64;
        match self.part {
            Part::Day { from: (from, with_from), to: (to, with_to) } => {
                let (from, to) = (i64::from(from) * MINUTE_NS, i64::from(to) * MINUTE_NS);
                (in_day > from || (with_from && in_day == from)) && (in_day < to || (with_to && in_day == to))
            }
            Part::Week { from: (from, with_from), to: (to, with_to) } => {
                // The epoch was a Thursday.
                let day = (local.div_euclid(i128::from(DAY_NS)) + 4).rem_euclid(7) as u8;
                let between = if from <= to { (from..=to).contains(&day) } else { day >= from || day <= to };
                between && (with_from || day != from) && (with_to || day != to)
            }
        }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Day { from, to } => {
                let (open, close) = brackets(from.1, to.1);
                let minutes = |m: u16| format!("{:02}:{:02}", m / 60, m % 60);
                write!(f, "_time:day_range{open}{}, {}{close}", minutes(from.0), minutes(to.0))?;
            }
            Part::Week { from, to } => {
                let (open, close) = brackets(from.1, to.1);
                let day = |d: u8| DAYS[usize::from(d % 7)];
                write!(f, "_time:week_range{open}{}, {}{close}", day(from.0), day(to.0))?;
            }
        }
        if self.offset_ns == 0 { Ok(()) } else { write!(f, " offset {}ns", self.offset_ns) }
    }
}

fn brackets(from: bool, to: bool) -> (char, char) {
    (if from { '[' } else { '(' }, if to { ']' } else { ')' })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks_go_round() {
        let noon = 12 * 60 * MINUTE_NS;
        let day = |from, to, offset_ns| Clock { part: Part::Day { from, to }, offset_ns };
        assert!(day((720, true), (721, false), 0).matches(noon));
        assert!(!day((720, false), (721, false), 0).matches(noon));
        assert!(
            day((600, true), (720, true), 0).matches(noon)
                && !day((600, true), (720, false), 0).matches(noon)
        );
        assert!(day((840, true), (841, true), 2 * 60 * MINUTE_NS).matches(noon));
        assert!(day((720, true), (721, true), 0).matches(noon - 5 * DAY_NS));
        let week = |from, to| Clock { part: Part::Week { from, to }, offset_ns: 0 };
        // 1970-01-01 was a Thursday.
        assert!(week((4, true), (4, true)).matches(0) && week((6, true), (4, true)).matches(0));
        assert!(!week((4, false), (5, true)).matches(0) && !week((5, true), (3, true)).matches(0));
        assert!(week((0, false), (6, false)).matches(0) && !week((0, false), (6, false)).matches(2 * DAY_NS));
        assert_eq!(
            (parse_minutes("24:00"), parse_minutes("24:01"), parse_minutes("8:5x")),
            (Some(1440), None, None)
        );
        assert_eq!((parse_day("mon"), parse_day("Saturday"), parse_day("Mo")), (Some(1), Some(6), None));
    }
}
