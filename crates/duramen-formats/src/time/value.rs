//! Values of fields that are a time as a whole.

use super::{StampParser, civil::Civil, clock, epoch};

impl StampParser {
    /// Reads a text that is a time and nothing else: any stamp, a date alone (its midnight), or digits that
    /// count from the epoch.
    pub fn parse_value(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        if let Some((ns, end)) = self.parse(text) {
            let rest = &text[end..];
            // `2024-06-27T00:00:07+02:00[Europe/Berlin]`, `… GMT+0200 (Central European Summer Time)`: the offset has said it.
            let is_name = |open, close| rest.trim_start().starts_with(open) && rest.ends_with(close);
            return (rest.is_empty() || is_name('[', ']') || is_name('(', ')')).then_some(ns);
        }
        self.parse_number(text).or_else(|| self.date_alone(text.as_bytes()))
    }

    /// Reads a number, as JSON writes it, that counts seconds, milli-, micro- or nanoseconds since the
    /// epoch; which of them, its magnitude tells. `None` outside 1973 to 2100.
    pub fn parse_number(&self, text: &str) -> Option<i64> {
        epoch::read(text)
    }

    fn date_alone(&self, s: &[u8]) -> Option<i64> {
        let (month, day) = (clock::two(s, 5)?, clock::two(s, 8)?);
        let separated = matches!(s.get(4), Some(b'-' | b'/')) && s.get(4) == s.get(7);
        if s.len() != 10 || !separated {
            return None;
        }
        let year = Some(i64::from(clock::four(s, 0)?));
        self.resolve(&Civil { year, month, day, ..Civil::default() })
    }
}
