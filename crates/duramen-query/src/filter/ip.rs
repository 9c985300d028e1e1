//! `ipv4_range(10.0.0.0, 10.0.0.255)`, `ipv4_range("10.0.0.0/8")`, `ipv6_range("2001:db8::/32")`: the value is an
//! address between two others. `ip:>10.0.0.1` is the same with one end.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses from the first to the last, both included. None where the first is after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpRange {
    /// Of version 4.
    V4(Ipv4Addr, Ipv4Addr),
    /// Of version 6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl IpRange {
    /// Whether `text` is an address of the range, and nothing else.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::V4(from, to) => parse_v4(text).is_some_and(|ip| *from <= ip && ip <= *to),
            Self::V6(from, to) => text.parse().is_ok_and(|ip: Ipv6Addr| *from <= ip && ip <= *to),
        }
    }

    /// Reads an address of version 4, alone or with the length of its network's prefix.
    pub fn parse_v4(text: &str) -> Option<Self> {
        let (address, bits) = prefix(text, 32)?;
        let address = u32::from(parse_v4(address)?);
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        Some(Self::V4((address & mask).into(), (address | !mask).into()))
    }

    /// Reads an address of version 6, alone or with the length of its network's prefix.
    pub fn parse_v6(text: &str) -> Option<Self> {
        let (address, bits) = prefix(text, 128)?;
        let address = u128::from(address.parse::<Ipv6Addr>().ok()?);
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        Some(Self::V6((address & mask).into(), (address | !mask).into()))
    }

    /// The addresses above or below one, with it or without.
    pub fn beyond(address: Ipv4Addr, above: bool, with_it: bool) -> Self {
        let step = u32::from(!with_it);
        let (address, first, last) = (u32::from(address), Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
        let range = if above {
            address.checked_add(step).map(|from| Self::V4(from.into(), last))
        } else {
            address.checked_sub(step).map(|to| Self::V4(first, to.into()))
        };
        range.unwrap_or(Self::V4(last, first))
    }

    /// The addresses of both ranges; `None` if they are of two versions.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::V4(from, to), Self::V4(other_from, other_to)) => {
                Some(Self::V4(from.max(other_from), to.min(other_to)))
            }
            (Self::V6(from, to), Self::V6(other_from, other_to)) => {
                Some(Self::V6(from.max(other_from), to.min(other_to)))
            }
            _ => None,
        }
    }

    /// From the first address of one range to the last of another; `None` if they are of two versions.
    pub fn to(self, last: Self) -> Option<Self> {
        match (self, last) {
            (Self::V4(from, _), Self::V4(_, to)) => Some(Self::V4(from, to)),
            (Self::V6(from, _), Self::V6(_, to)) => Some(Self::V6(from, to)),
            _ => None,
        }
    }
}

/// Reads `1.2.3.4` and nothing else.
pub fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    // Most values are told by their first byte to be none.
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) { text.parse().ok() } else { None }
}

fn prefix(text: &str, max_bits: u32) -> Option<(&str, u32)> {
    match text.split_once('/') {
        None => Some((text, max_bits)),
        Some((address, bits)) => {
            let bits = bits.parse().ok().filter(|&n| n <= max_bits && !bits.starts_with('+'))?;
            Some((address, bits))
        }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(from, to) => write!(f, "ipv4_range({from}, {to})"),
            Self::V6(from, to) => write!(f, "ipv6_range(\"{from}\", \"{to}\")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_a_first_and_a_last_address() {
        let net = IpRange::parse_v4("10.1.2.3/8").unwrap();
        assert!(net.matches("10.255.0.1") && !net.matches("11.0.0.0") && !net.matches("10.0.0.1:80"));
        assert!(IpRange::parse_v4("1.2.3.4/0").unwrap().matches("255.255.255.255"));
        let net = IpRange::parse_v6("2001:db8::/32").unwrap();
        assert!(net.matches("2001:db8:1::5") && !net.matches("2001:db9::") && !net.matches("10.0.0.1"));
        for text in ["10.0.0.0/33", "10.0.0", "x", "10.0.0.0/+8", "10.0.0.0/"] {
            assert_eq!(IpRange::parse_v4(text), None, "{text}");
        }
    }

    #[test]
    fn both_ends_of_a_range_count_at_the_ends_of_all_addresses() {
        let (first, last) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
        let between = |from, with_from, to, with_to| {
            IpRange::beyond(from, true, with_from).and(IpRange::beyond(to, false, with_to)).unwrap()
        };
        let matches = |range: IpRange| (range.matches("0.0.0.0"), range.matches("255.255.255.255"));
        assert_eq!(matches(between(last, false, last, true)), (false, false), "(last, last]");
        assert_eq!(matches(between(first, true, first, false)), (false, false), "[first, first)");
        assert_eq!(matches(between(first, true, last, true)), (true, true));
        assert_eq!(matches(between(first, false, last, true)), (false, true));
    }
}
