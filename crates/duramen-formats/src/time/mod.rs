//! Time stamps as logs write them.
//!
//! | shape | example |
//! |---|---|
//! | RFC 3339 and its relatives | `2024-06-27T00:00:07.123Z`, `2015-07-29 17:41:44,747`, `2024/06/27 00:00:07 CEST` |
//! | ISO 8601, basic | `20240627T000007Z`, `20240627000007`, `20171223-22:15:29:606`, `20171224-0:5:9:4` |
//! | dots (Blue Gene) | `2005-06-03-15.42.50.675872` |
//! | BSD syslog, `ctime` | `Dec 10 06:55:46`, `Mon Jan  2 15:04:05 2006`, `Mon Jan  2 15:04:05 UTC 2006` |
//! | mail, Java, web servers | `Mon, 02 Jan 2006 15:04:05 GMT`, `Jun 14, 2024, 3:04:05 PM`, `26/Jan/2019:19:45:25 +0330` |
//! | systemd, browsers | `Sat 2024-06-01 10:00:03 CEST`, `Sat Jun 01 2024 10:00:03 GMT+0200 (Central European Summer Time)` |
//! | day, month's name, year | `02-Jan-2006 15:04:05.123`, `02 Jan 2006 15:04:05`, `2006-Jan-02 15:04:05` |
//! | month, day, year | `01/02/2006 15:04:05`, `1/2/2006 3:04:05 PM` (day first if the first number is over 12, in this line or in the input's first ones) |
//! | day, month, year | `31.12.2006 15:04:05`, `31/12/2006 -- 15:04:05`, `31-12-2006 15:04:05` (with dashes, month first if numbers show it) |
//! | two-digit year | `17/06/09 20:10:41`, `081109 203615` (70 to 99 are 19xx); `06/30/17 20:10:41` where the first lines show it, `6/1/24 20:10:41` |
//! | Google's | `I0109 12:34:56.789012`, `I20240109 12:34:56.789012` |
//! | no year | `03-17 16:13:38.811`, `10.30 16:49:06`, `01 Jun 10:00:04.123` |
//! | glued | `02Jan2006 15:04:05.123`, `02JAN2006:15:04:05`, `2006-01-02][15:04:05` |
//! | epoch | `1117838570`, `1286536309.586`, ms, µs or ns by magnitude; TAI64N: `@400000004c91b044077a9e94` |
//!
//! A stamp may name its zone: `Z`, `+01:00`, `+0100`, `+01`, or after a space `+0100`, `-03`, `GMT+1`, `UTC`, `CET` and the
//! other abbreviations of [`zone::ABBREVIATIONS`], or after a space `Europe/Berlin`, as PHP names it, where the system knows
//! it. Others are read in the zone that the options give.
//! Only times from 1970 to 2261 are stamps: what reads as another is some other number.

mod civil;
mod clock;
mod epoch;
mod shapes;
mod value;
pub mod zone;

use civil::Civil;
use jiff::tz::TimeZone;
pub(crate) use shapes::Seen;
use std::cell::RefCell;
use zone::Zone;

const NS: i64 = 1_000_000_000;
const DAY_SECS: i64 = 86_400;

/// Reads the stamp that `text` begins with: nanoseconds since the epoch, and how many bytes it takes, zone
/// included. A stamp without a zone is in `timezone`; one without a year is in the latest year in which it
/// is not more than a day after `reference_time_ns`. Keep a [`StampParser`] to read many.
pub fn parse_timestamp(text: &str, timezone: &TimeZone, reference_time_ns: i64) -> Option<(i64, usize)> {
    StampParser::new(timezone.clone(), reference_time_ns, None).parse(text)
}

/// Reads time stamps, with what they leave out: zone and year. Can be sent to another thread, not shared.
#[derive(Clone, Debug)]
pub struct StampParser {
    zone: Zone,
    year: Option<i64>,
    /// A day after the reference time, by the local clock: seconds, and its year.
    latest: i64,
    latest_year: i64,
    order: shapes::Order,
    /// The zone that a stamp named last as `Europe/Berlin`; `None` if there is none of that name.
    named: RefCell<(String, Option<Zone>)>,
}

impl StampParser {
    /// For stamps of `timezone`, without a year near `reference_time_ns`, or in `year`.
    pub fn new(timezone: TimeZone, reference_time_ns: i64, year: Option<i16>) -> Self {
        let (zone, year) = (Zone::new(timezone), year.map(i64::from));
        let (order, named) = (shapes::Order::default(), RefCell::default());
        let mut parser = Self { zone, year, latest: 0, latest_year: 0, order, named };
        parser.refer_to(reference_time_ns);
        parser
    }

    /// The same with another reference time: the input is still being written.
    pub(crate) fn refer_to(&mut self, reference_time_ns: i64) {
        let reference = reference_time_ns.div_euclid(NS);
        self.latest = reference + DAY_SECS + self.zone.offset_at(reference);
        (self.latest_year, _, _) = civil::date_of_day(self.latest.div_euclid(DAY_SECS));
    }

    /// The same for an input whose first lines showed how it writes dates, and in which zone its times are.
    pub(crate) fn settle(&mut self, dates: Seen, timezone: TimeZone) {
        self.order = shapes::Order::new(dates);
        self.zone = Zone::new(timezone);
    }

    /// The same parser, that has seen no dates yet.
    pub(crate) fn fresh(&self) -> Self {
        Self { order: shapes::Order::default(), ..self.clone() }
    }

    /// What the dates so far showed of their order.
    pub(crate) fn order_seen(&self) -> Seen {
        self.order.seen()
    }

    /// Reads the stamp that `text` begins with: nanoseconds since the epoch, and how many bytes it takes,
    /// zone included.
    pub fn parse(&self, text: &str) -> Option<(i64, usize)> {
        let (civil, end) = match shapes::read(text.as_bytes(), &self.order)? {
            shapes::Stamp::Civil(civil, end) => (civil, end),
            shapes::Stamp::Epoch(ns, end) => return Some((ns, end)),
        };
        if civil.offset.is_none()
            && let Some(name) = zone::name(text, end)
            && let Some(offset) = self.offset_by_name(&civil, name)
        {
            let civil = Civil { offset: i32::try_from(offset).ok(), ..civil };
            return Some((self.resolve(&civil)?, end + 1 + name.len()));
        }
        Some((self.resolve(&civil)?, end))
    }

    /// Seconds east of UTC at this time in the zone of a name.
    fn offset_by_name(&self, civil: &Civil, name: &str) -> Option<i64> {
        let mut named = self.named.borrow_mut();
        if named.0 != name {
            *named = (name.to_owned(), TimeZone::get(name).ok().map(Zone::new));
        }
        let local = match civil.year.or(self.year) {
            Some(year) => civil.local_secs(year)?,
            None => self.nearest_year(civil)?,
        };
        named.1.as_ref().map(|zone| zone.offset_of_local(local))
    }

    /// Fills in year and zone.
    fn resolve(&self, civil: &Civil) -> Option<i64> {
        let local = match civil.year.or(self.year) {
            Some(year) => civil.local_secs(year).or_else(|| self.nearest_year(civil))?,
            None => self.nearest_year(civil)?,
        };
        let secs = match civil.offset {
            Some(offset) => local - i64::from(offset),
            None => local - self.zone.offset_of_local(local),
        };
        // 1970 to 2261: all that i64 nanoseconds hold.
        if !(0..9_214_646_400).contains(&secs) {
            return None;
        }
        Some(secs * NS + i64::from(civil.nanos))
    }

    /// The latest year in which it is not after `latest`; 29 February may have to go back eight.
    fn nearest_year(&self, civil: &Civil) -> Option<i64> {
        if civil.year.is_some() {
            return None;
        }
        (0..=8).find_map(|back| civil.local_secs(self.latest_year - back).filter(|&s| s <= self.latest))
    }
}

/// Whether a time of day with seconds stands at `at`.
pub(crate) fn is_clock(s: &[u8], at: usize) -> bool {
    s.get(at + 2) == Some(&b':') && clock::read(s, at, false).is_some()
}

#[cfg(test)]
mod tests;
