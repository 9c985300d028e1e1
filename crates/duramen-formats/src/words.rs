//! Access logs whose lines are words, some of them in quotes, in an order that the log has: AWS's, Envoy's and Squid's.

use crate::access::{http, until_quote};
use crate::time::StampParser;
use crate::{aws, envoy, squid};
use duramen::{EntryBuf, Value};

/// A line of which is known what its words are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordsLine<'a> {
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
    /// What stands before the words: a head of syslog's or another, mostly nothing.
    pub before: &'a str,
    pub text: &'a str,
    /// What the words are called, one list behind the other: as whoever writes the log calls them, but for what access logs of others have,
    /// too (ip, user, method, path, protocol, status, bytes, referer, agent). `""` is a word that the entry has otherwise, or that has no
    /// meaning; `client` may have a port, `request` is a line of HTTP, and `a/b` are two.
    pub names: [&'static [&'static str]; 3],
}

/// Reads a line; `None` if it is of none of these logs.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<WordsLine<'a>> {
    aws::parse(line, stamps).or_else(|| envoy::parse(line, stamps)).or_else(|| squid::parse(line, stamps))
}

impl WordsLine<'_> {
    /// Adds the words as fields, but for those that are `-`.
    pub fn add_to(&self, entry: &mut EntryBuf) {
        let mut names = self.names.iter().copied().flatten();
        let (mut extra, mut number) = (String::new(), 0);
        for word in Words(self.text).take(96) {
            let name = names.next();
            number += usize::from(name.is_none());
            if matches!(word, "-" | "") {
                continue;
            }
            match name.copied() {
                Some("") => {}
                Some("client") => {
                    let (ip, port) = word.rsplit_once(':').unwrap_or((word, ""));
                    entry.field("ip", ip.trim_matches(['[', ']']));
                    if !port.is_empty() {
                        entry.field("client_port", typed(port));
                    }
                }
                Some("request") if word.trim_matches(['-', ' ']).is_empty() => {}
                Some("request") => match http(word) {
                    Some(request) => request.add_to(entry),
                    None => _ = entry.field("request", word),
                },
                Some(name) => match name.split_once('/').zip(word.split_once('/')) {
                    Some((names, words)) => {
                        for (name, word) in [(names.0, words.0), (names.1, words.1)] {
                            if word != "-" {
                                entry.field(name, typed(word));
                            }
                        }
                    }
                    None => _ = entry.field(name, typed(word)),
                },
                None => {
                    extra.clear();
                    extra.push_str("extra.");
                    extra.push_str(&number.to_string());
                    entry.field(&extra, typed(word));
                }
            }
        }
    }

    pub fn word(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().copied().flatten().position(|known| *known == name)?;
        Words(self.text).nth(at)
    }
}

/// The words of a line: up to a space, or between quotes or brackets.
pub(crate) struct Words<'a>(pub &'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches(' ');
        if text.is_empty() {
            return None;
        }
        // `"h2","http/1.1"` is one word.
        let quoted = text.strip_prefix('"').and_then(until_quote);
        let quoted = quoted.filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        // `[2001:db8::1]:443` is no such word.
        let bracketed = text.starts_with('[').then(|| text.find(']')).flatten();
        let bracketed = bracketed.map(|end| text.split_at(end + 1));
        let bracketed = bracketed.filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        let bare = || text.split_at(text.find(' ').unwrap_or(text.len()));
        let (word, rest) = quoted.or(bracketed).unwrap_or_else(bare);
        self.0 = rest;
        Some(word)
    }
}

/// A number if it is one of digits.
pub(crate) fn typed(text: &str) -> Value<'_> {
    if crate::logfmt::is_plain_number(text) { Value::Number(text) } else { Value::Str(text) }
}
