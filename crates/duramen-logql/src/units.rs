//! Durations and sizes as Go programs write them, and numbers as LogQL's answers have them.

use duramen_query::number::DURATIONS;

/// Units of size, in bytes, in small letters.
const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("m", 1e6),
    ("mb", 1e6),
    ("g", 1e9),
    ("gb", 1e9),
    ("t", 1e12),
    ("tb", 1e12),
    ("p", 1e15),
    ("pb", 1e15),
    ("e", 1e18),
    ("eb", 1e18),
    ("ki", 1024.0),
    ("kib", 1024.0),
    ("mi", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("gi", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("ti", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("pi", 1_125_899_906_842_624.0),
    ("pib", 1_125_899_906_842_624.0),
    ("ei", 1_152_921_504_606_846_976.0),
    ("eib", 1_152_921_504_606_846_976.0),
];

/// Reads a duration: numbers with units, one after another, with a sign or without. `None` if it is none, or longer than
/// 64 bits of nanoseconds hold. `0` needs no unit.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0i64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let &(_, ns) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
        let part = match number.parse::<i64>() {
            Ok(n) => n.checked_mul(ns)?,
            Err(_) => {
                let part = number.parse::<f64>().ok()? * ns as f64;
                (part < 9.2e18).then_some(part.round() as i64)?
            }
        };
        sum = sum.checked_add(part)?;
        rest = tail;
    }
    Some(if negative { -sum } else { sum })
}

/// Reads a size: a number with a unit, in any case, or without.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start().to_ascii_lowercase();
    let &(_, by) = SIZES.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.replace(',', "").parse().ok()?;
    let bytes = number * by;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// A value as the answers of LogQL have it: the shortest digits that read back, without an exponent; `NaN`, `+Inf`, `-Inf`.
pub fn format_value(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (text, ns) in [
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("-2ms", -2_000_000),
            ("3µs", 3_000),
            ("1d", 86_400_000_000_000),
            ("0", 0),
            (".5s", 500_000_000),
        ] {
            assert_eq!(parse_duration(text), Some(ns), "{text}");
        }
        for text in ["", "-", "5", "s", "5x", "1h5", "9999999y", "1..s", "."] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_and_values() {
        assert_eq!(parse_bytes("1.5 KiB"), Some(1536));
        assert_eq!(parse_bytes("1,000mb"), Some(1_000_000_000));
        assert_eq!(parse_bytes("12"), Some(12));
        assert_eq!(
            (parse_bytes("2EB"), parse_bytes("1 EiB")),
            (Some(2_000_000_000_000_000_000), Some(1 << 60))
        );
        assert_eq!(parse_bytes("20EB"), None);
        assert_eq!((parse_bytes("x"), parse_bytes("5 parsec"), parse_bytes("")), (None, None, None));
        assert_eq!(format_value(1e21), "1000000000000000000000");
        assert_eq!((&*format_value(f64::NAN), &*format_value(f64::INFINITY)), ("NaN", "+Inf"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-+0-9.,_a-zµ ]{0,12}|.{0,8}") {
            let _ = (parse_duration(&text), parse_bytes(&text));
        }
    }
}
