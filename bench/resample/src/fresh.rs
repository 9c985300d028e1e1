//! New values of the same shape.

use crate::token::Kind;
use fastrand::Rng;

/// A value like this one: as long, its letters and digits where they were.
pub(crate) fn fresh(kind: Kind, value: &str, rng: &mut Rng) -> String {
    match kind {
        Kind::Ip => {
            // A network stays the same network.
            let mut parts = value.split('.');
            let first = parts.next().unwrap_or_default();
            parts.fold(first.to_owned(), |ip, _| format!("{ip}.{}", rng.u8(1..=254)))
        }
        Kind::Uuid | Kind::Hex => {
            let (prefix, digits) = value.split_at(if value.starts_with("0x") { 2 } else { 0 });
            let is_upper = digits.bytes().any(|b| b.is_ascii_uppercase());
            let redraw = |b| hex_digit(b, is_upper, rng);
            prefix.chars().chain(digits.bytes().map(redraw)).collect()
        }
        Kind::Id => value.bytes().map(|b| of_class(b, rng)).collect(),
        Kind::Stamp | Kind::Dotted | Kind::Number | Kind::Mixed => digits(value, rng),
    }
}

fn hex_digit(b: u8, is_upper: bool, rng: &mut Rng) -> char {
    match b {
        b'-' => '-',
        // Addresses begin with zeros, and identities end with them.
        b'0' if rng.bool() => '0',
        _ => {
            let digit = char::from_digit(rng.u32(0..16), 16).unwrap_or('0');
            if is_upper { digit.to_ascii_uppercase() } else { digit }
        }
    }
}

fn of_class(b: u8, rng: &mut Rng) -> char {
    match b {
        b'0'..=b'9' => rng.digit(10),
        b'a'..=b'z' => rng.lowercase(),
        b'A'..=b'Z' => rng.uppercase(),
        _ => char::from(b),
    }
}

/// Other digits, but for zeros in front of a number: 0.0012 stays that small, and 7 does not become 07.
fn digits(value: &str, rng: &mut Rng) -> String {
    let mut in_front = true;
    let redraw = |c: char| {
        if !c.is_ascii_digit() {
            in_front = true;
            return c;
        }
        if in_front && c == '0' {
            return c;
        }
        let least = u8::from(in_front);
        in_front = false;
        char::from(b'0' + rng.u8(least..10))
    };
    value.chars().map(redraw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Tokens;

    #[test]
    fn shapes_are_kept() {
        let tokens = Tokens::new().unwrap();
        let mut rng = Rng::with_seed(7);
        for value in [
            "10.251.65.237",
            "d1d5fa67-1b91-44e6-9547-fced39e30b0f",
            "D1D5FA671B9144E6",
            "CuRbE21APSQo2qd6rk",
            "51350",
            "300.123.4",
            "x86b231",
        ] {
            for _ in 0..100 {
                let kind = tokens.of(value).next().unwrap().kind;
                let new = fresh(kind, value, &mut rng);
                let found: Vec<_> = tokens.of(&new).collect();
                assert_eq!(found.len(), 1, "{value} became {new}");
                assert!(kind == Kind::Ip || new.len() == value.len(), "{value} became {new}");
                assert_eq!(new.contains('.'), value.contains('.'));
            }
        }
        assert_ne!(fresh(Kind::Number, "51350789", &mut rng), "51350789");
        assert!(fresh(Kind::Dotted, "0.0006470", &mut rng).starts_with("0.000"));
        assert!(fresh(Kind::Hex, "0x7f3bdaea48f0", &mut rng).starts_with("0x"));
        assert_eq!(fresh(Kind::Number, "0", &mut rng), "0");
    }
}
