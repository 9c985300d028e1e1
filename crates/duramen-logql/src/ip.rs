//! `ip("10.0.0.0/8")`: addresses of a network or range, as labels' values and in lines.

use crate::ast::IpSet;
use duramen_query::filter::ip::IpRange;
use std::net::IpAddr;

impl IpSet {
    /// Reads an address, a range `10.0.0.1-10.0.0.9`, or a network `10.0.0.0/8`, of either version.
    pub fn parse(source: &str) -> Result<Self, String> {
        let wrong = || "such as 10.0.0.1, 10.0.0.1-10.0.0.9 or 10.0.0.0/8".to_string();
        let (from, to) = match source.split_once('-') {
            Some((from, to)) => {
                let ip = |text: &str| text.trim().parse::<IpAddr>().map_err(|_| wrong());
                (ip(from)?, ip(to)?)
            }
            None => {
                match IpRange::parse_v4(source).or_else(|| IpRange::parse_v6(source)).ok_or_else(wrong)? {
                    IpRange::V4(from, to) => (from.into(), to.into()),
                    IpRange::V6(from, to) => (from.into(), to.into()),
                }
            }
        };
        if from.is_ipv4() != to.is_ipv4() {
            return Err("its ends are of two versions".into());
        }
        // It would hold nothing, and `!=` everything, without a word.
        if from > to {
            return Err("its end is before its start".into());
        }
        Ok(Self { source: source.into(), from, to })
    }

    fn holds(&self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.from.is_ipv4() && self.from <= ip && ip <= self.to
    }

    /// Whether a text is an address of the set.
    pub fn matches(&self, text: &str) -> bool {
        text.parse().is_ok_and(|ip| self.holds(ip))
    }

    /// Whether an address of the set stands in a line.
    pub fn is_in(&self, line: &str) -> bool {
        let belongs = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
        let has_separator = |word: &&str| word.contains(['.', ':']);
        line.split(|c| !belongs(c)).filter(has_separator).any(|word| {
            // A full stop or colon may end the sentence, and a port may follow.
            let bare = word.trim_matches('.').trim_end_matches(':');
            let host = bare.split_once(':').filter(|(_, port)| !port.contains(':')).map(|(host, _)| host);
            self.matches(word) || self.matches(bare) || host.is_some_and(|host| self.matches(host))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_lines() {
        let net = IpSet::parse("10.0.0.0/8").unwrap();
        assert!(
            net.is_in("from 10.1.2.3:80.") && net.is_in("(10.1.2.3)") && !net.is_in("from 11.1.2.3, v10.1")
        );
        let v6 = IpSet::parse("2001:db8::/32").unwrap();
        assert!(v6.is_in("peer [2001:db8::1]:443 gone") && !v6.is_in("at 12:30:01"));
        let range = IpSet::parse("192.168.0.1-192.168.0.9").unwrap();
        assert!(range.matches("192.168.0.9") && !range.matches("192.168.0.10"));
        for bad in ["", "x", "10.0.0.0/40", "10.0.0.1-::1", "10.0.0.9-10.0.0.1"] {
            assert!(IpSet::parse(bad).is_err(), "{bad}");
        }
    }
}
