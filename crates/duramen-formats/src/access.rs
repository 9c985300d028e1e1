//! Access logs of web servers: common and combined log format, and what nginx and Apache add after them.
//!
//! ```text
//! [before: ] [vhost] ip ident user [26/Jan/2019:19:45:25 +0330] "GET /a HTTP/1.1" 200 512 "referer" "agent" "forwarded for" …
//! ```

use crate::time::StampParser;
use duramen::{EntryBuf, Value};

/// The parts of an access log line; those that are `-`, or missing, are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLine<'a> {
    /// When the request was received, ns since the epoch.
    pub time_ns: i64,
    /// The virtual host, where the line begins with one.
    pub vhost: Option<&'a str>,
    /// The client's address or host name.
    pub ip: &'a str,
    /// The identity that identd gave.
    pub ident: Option<&'a str>,
    /// The authenticated user.
    pub user: Option<&'a str>,
    /// The request line as it was received.
    pub request: Option<&'a str>,
    /// Its method, path and protocol, if it is a request line of HTTP.
    pub http: Option<HttpRequest<'a>>,
    /// The status code, three digits.
    pub status: Option<&'a str>,
    /// The size of the response, in bytes.
    pub bytes: Option<&'a str>,
    /// The rest of the line: more fields, in quotes or not.
    pub rest: &'a str,
    /// What stands before it: the head of syslog, of a container's log or of the program's own; mostly empty.
    pub before: &'a str,
}

/// A request line of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// `GET`
    pub method: &'a str,
    /// `/a?b=c`
    pub path: &'a str,
    /// `HTTP/1.1`; `None` for a request of HTTP/0.9.
    pub protocol: Option<&'a str>,
}

impl HttpRequest<'_> {
    /// Adds its parts as fields: `method`, `path`, and `protocol` if it has one.
    pub(crate) fn add_to(&self, entry: &mut EntryBuf) {
        entry.field("method", self.method).field("path", self.path);
        if let Some(protocol) = self.protocol {
            entry.field("protocol", protocol);
        }
    }
}

/// Where the bracket is that stands behind a space and before a date with slashes: ` [25/Feb/2019:…`.
pub(crate) fn before_date(line: &str) -> Option<usize> {
    let s = line.as_bytes();
    let head = &s[..s.len().min(512)];
    memchr::memchr_iter(b'[', head).find(|&at| {
        at > 0 && s[at - 1] == b' ' && s.get(at + 3) == Some(&b'/') && s.get(at + 7) == Some(&b'/')
    })
}

/// Reads a line of an access log; `None` if it is none.
pub fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<AccessLine<'a>> {
    let bracket = before_date(line)?;
    let (time_ns, consumed) = stamps.parse(line.get(bracket + 1..)?)?;
    let (before, [vhost, ip, ident, user]) = client(line.get(..bracket - 1)?, stamps)?;
    let vhost = Some(vhost).filter(|vhost| !vhost.is_empty());
    let rest = line.get(bracket + 1 + consumed..)?.strip_prefix("] \"")?;
    let (request, rest) = until_quote(rest)?;
    let (status, rest) = word(rest);
    let (bytes, rest) = word(rest);
    if status != "-" && !(status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let dash = |text: &'a str| (text != "-" && !text.is_empty()).then_some(text);
    Some(AccessLine {
        time_ns,
        vhost,
        ip,
        ident: dash(ident),
        user: dash(user),
        request: dash(request),
        http: http(request),
        status: dash(status),
        bytes: dash(bytes),
        rest: rest.trim_end(),
        before,
    })
}

/// `[before: ] [vhost] ip ident user`, the first of which may be empty; a user's name may have spaces.
fn client<'a>(text: &'a str, stamps: &StampParser) -> Option<(&'a str, [&'a str; 4])> {
    let (first, rest) = text.split_once(' ')?;
    let (second, rest) = rest.split_once(' ')?;
    if first.is_empty() {
        return None;
    }
    if let Some((third, user)) = rest.split_once(' ')
        && looks_like_address(second)
        && is_name(first)
        && stamps.parse(first).is_none()
    {
        return Some(("", [first, second, third, user]));
    }
    if looks_like_address(first) {
        return Some(("", ["", first, second, rest]));
    }
    if let Some(behind) = behind(text) {
        return Some(behind);
    }
    // The client may have a name, or be `unix:`; what begins with a time or holds ` - ` is no list of words.
    let may_be_one = !first.starts_with('<') && (!first.ends_with(':') || first == "unix:");
    let are_three = !rest.contains(' ') && may_be_one;
    let is_other = (rest.contains(" - ") || !is_name(first)) && !are_three;
    (!is_other && stamps.parse(text).is_none()).then_some(("", ["", first, second, rest]))
}

/// The last address behind which two words stand, and what stands before it. Flask's log joins it to its own name:
/// `INFO:werkzeug:192.0.2.1 - -`.
fn behind(text: &str) -> Option<(&str, [&str; 4])> {
    let mut end = text.len();
    for _ in 0..MAX_WORDS_BEHIND {
        let at = text.get(..end)?.rfind(' ').map_or(0, |space| space + 1);
        let word = text.get(at..end)?;
        let joined = word.rsplit_once(':').filter(|(_, ip)| ip.contains('.')).map(|(_, ip)| ip);
        let found =
            Some(word).filter(|word| looks_like_address(word)).or(joined.filter(|ip| looks_like_address(ip)));
        if let Some(ip) = found
            && let Some((ident, user)) = text.get(end..)?.trim_start().split_once(' ')
        {
            return Some((text.get(..end - ip.len())?.trim_end(), ["", ip, ident, user]));
        }
        end = at.checked_sub(1)?;
    }
    None
}

/// How far before the time the client's address is looked for, in words: a user's name may have spaces.
const MAX_WORDS_BEHIND: usize = 6;

/// Whether a host may be called so.
fn is_name(text: &str) -> bool {
    text.bytes().all(|b| {
        b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']' | b'*') || b >= 0x80
    }) && !text.ends_with(':')
}

/// An address of IP: `192.0.2.1`, `192.0.2.1:51234`, `2001:db8::1`. `10:00:00` is a time of day, and `1.2.3` a version.
fn looks_like_address(text: &str) -> bool {
    let (mut dots, mut colons, mut doubled, mut last) = (0, 0, false, 0);
    for &b in text.as_bytes() {
        match b {
            b'0'..=b'9' => {}
            b'.' => dots += 1,
            b':' => {
                colons += 1;
                doubled |= last == b':';
            }
            b'a'..=b'f' | b'A'..=b'F' if colons > 0 || dots == 0 => {}
            _ => return false,
        }
        last = b;
    }
    match colons {
        0 => dots == 3 && is_digits_and_dots(text),
        1 => {
            dots == 3
                && text
                    .rsplit_once(':')
                    .is_some_and(|(ip, port)| is_digits_and_dots(ip) && is_digits_and_dots(port))
        }
        _ => doubled || colons == 7 || (colons >= 5 && dots == 3),
    }
}

fn is_digits_and_dots(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

pub(crate) fn http(request: &str) -> Option<HttpRequest<'_>> {
    let (method, rest) = request.split_once(' ')?;
    if method.is_empty() || method.len() > 20 || !method.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
    {
        return None;
    }
    Some(match rest.rsplit_once(' ') {
        Some((path, protocol)) if protocol.starts_with("HTTP/") => {
            HttpRequest { method, path, protocol: Some(protocol) }
        }
        _ => HttpRequest { method, path: rest, protocol: None },
    })
}

/// The text up to the closing quote, and what follows it. Quotes inside are escaped by a backslash.
pub(crate) fn until_quote(text: &str) -> Option<(&str, &str)> {
    let s = text.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', s.get(at..)?)?;
        if s[at] == b'"' {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        at += 2;
    }
}

/// The next word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(' ');
    text.split_at(memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len()))
}

impl<'a> AccessLine<'a> {
    /// The fields after the response's size, in their order: names are `referer`, `agent` and
    /// `x_forwarded_for` for the first three in quotes, and `extra.1`, `extra.2`… for all others.
    pub fn extra(&self) -> impl Iterator<Item = (&'static str, usize, &'a str)> {
        let mut rest = self.rest;
        let (mut quoted, mut others) = (0, 0);
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(' ');
            if rest.is_empty() {
                return None;
            }
            let (value, is_quoted);
            (value, rest, is_quoted) = match rest.strip_prefix('"').and_then(until_quote) {
                Some((value, after)) => (value, after, true),
                None => {
                    let (value, after) = word(rest);
                    (value, after, false)
                }
            };
            const NAMES: [&str; 3] = ["referer", "agent", "x_forwarded_for"];
            if is_quoted && let Some(name) = NAMES.get(quoted) {
                quoted += 1;
                return Some((*name, 0, value));
            }
            others += 1;
            Some(("extra", others, value))
        })
    }

    /// Adds the parts as fields: `vhost`, `ip`, `ident`, `user`, `method`, `path`, `protocol` (or `request`
    /// if it is none of HTTP), `status` and `bytes` as numbers, `referer`, `agent`, `x_forwarded_for`, `extra.N`.
    pub fn add_to(&self, entry: &mut EntryBuf) {
        let request = self.request.filter(|_| self.http.is_none());
        for (name, value) in [
            ("vhost", self.vhost),
            ("ip", Some(self.ip)),
            ("ident", self.ident),
            ("user", self.user),
            ("request", request),
        ] {
            if let Some(value) = value {
                entry.field(name, value);
            }
        }
        if let Some(http) = self.http {
            http.add_to(entry);
        }
        for (name, value) in [("status", self.status), ("bytes", self.bytes)] {
            if let Some(value) = value {
                entry.field(name, typed(value));
            }
        }
        let mut numbered = String::new();
        for (name, number, value) in self.extra().take(64) {
            if value == "-" || value.is_empty() {
                continue;
            }
            if number == 0 {
                entry.field(name, value);
            } else {
                numbered.clear();
                numbered.push_str(name);
                numbered.push('.');
                numbered.push_str(&number.to_string());
                entry.field(&numbered, typed(value));
            }
        }
    }
}

/// A number if it is one.
fn typed(text: &str) -> Value<'_> {
    if crate::logfmt::is_number(text) { Value::Number(text) } else { Value::Str(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fields_of;
    use duramen::EntryRef;

    fn read(line: &str) -> Option<String> {
        let stamps = StampParser::new(jiff::tz::TimeZone::UTC, 0, None);
        let parsed = parse(line, &stamps)?;
        let mut entry = EntryBuf::default();
        parsed.add_to(entry.start(parsed.time_ns));
        let e = EntryRef::decode(entry.finish().unwrap()).unwrap();
        let before = if parsed.before.is_empty() { String::new() } else { format!("({}) ", parsed.before) };
        Some(format!("{before}{} {}", e.time / 1_000_000_000, fields_of(&e)))
    }

    #[test]
    fn lines_are_taken_apart() {
        for (line, expected) in [
            (
                r#"192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] "GET /a?b=c HTTP/1.1" 200 512"#,
                r#"1548519325 ip=Str("192.0.2.1") method=Str("GET") path=Str("/a?b=c") protocol=Str("HTTP/1.1") status=Int(200) bytes=Int(512)"#,
            ),
            (
                r#"2001:db8::1 - ann smith [26/Jan/2019:19:45:25 +0330] "-" 408 - "-" "-" "-""#,
                r#"1548519325 ip=Str("2001:db8::1") user=Str("ann smith") status=Int(408)"#,
            ),
            (
                r#"example.org:443 192.0.2.1 - ann [26/Jan/2019:19:45:25 +0330] "GET /x y HTTP/1.0" 304 0 "https://r/" "A \"b\" c" "203.0.113.9" 0.005 "q""#,
                r#"1548519325 vhost=Str("example.org:443") ip=Str("192.0.2.1") user=Str("ann") method=Str("GET") path=Str("/x y") protocol=Str("HTTP/1.0") status=Int(304) bytes=Int(0) referer=Str("https://r/") agent=Str("A \\\"b\\\" c") x_forwarded_for=Str("203.0.113.9") extra.1=Number("0.005") extra.2=Str("q")"#,
            ),
            (
                r#"192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] "\x16\x03\x01" 400 157"#,
                r#"1548519325 ip=Str("192.0.2.1") request=Str("\\x16\\x03\\x01") status=Int(400) bytes=Int(157)"#,
            ),
            (
                r#"web-1.example.org - - [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"1548519325 ip=Str("web-1.example.org") status=Int(408)"#,
            ),
            (
                r#"203.0.113.5 10.0.0.1:7 - - [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"1548519325 vhost=Str("203.0.113.5") ip=Str("10.0.0.1:7") status=Int(408)"#,
            ),
            (
                r#"unix: - - [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"1548519325 ip=Str("unix:") status=Int(408)"#,
            ),
            (
                r#"*.example.org ::ffff:192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"1548519325 vhost=Str("*.example.org") ip=Str("::ffff:192.0.2.1") status=Int(408)"#,
            ),
            (
                r#"<190>Jan 26 19:45:25 web-1 nginx: 192.0.2.1 - ann [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"(<190>Jan 26 19:45:25 web-1 nginx:) 1548519325 ip=Str("192.0.2.1") user=Str("ann") status=Int(408)"#,
            ),
            (
                r#"2019-01-26T19:45:25Z 2001:db8::1 - - [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"(2019-01-26T19:45:25Z) 1548519325 ip=Str("2001:db8::1") status=Int(408)"#,
            ),
            (
                r#"web_1  | 192.0.2.1 - ann smith [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"(web_1  |) 1548519325 ip=Str("192.0.2.1") user=Str("ann smith") status=Int(408)"#,
            ),
            (
                r#"a b c d e f 192.0.2.1 - a b c d [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
                r#"(a b c d e f) 1548519325 ip=Str("192.0.2.1") user=Str("a b c d") status=Int(408)"#,
            ),
            (
                r#"INFO:werkzeug:192.0.2.1 - - [26/Jan/2019 19:45:25] "-" 408 -"#,
                r#"(INFO:werkzeug:) 1548531925 ip=Str("192.0.2.1") status=Int(408)"#,
            ),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "[26/Jan/2019:19:45:25 +0330]",
            r#"192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] "GET"#,
            r#"2019-01-26T19:45:25Z 192.0.2.1 - a b c d e [26/Jan/2019:19:45:25 +0330] "-" 408 -"#,
            r#"ERROR: x y [26/Jan/2019:19:45:25 +0330] "GET / HTTP/1.1" 200 1"#,
            r#"<13>Jan 26 10:00:00 web-1 - - [26/Jan/2019:19:45:25 +0330] "GET / HTTP/1.1" 200 1"#,
            r#"Jan 26 10:00:00 web-1 app: a - b [26/Jan/2019:19:45:25 +0330] "GET / HTTP/1.1" 200 1"#,
            r#"192.0.2.1 - - [26/Foo/2019:19:45:25 +0330] "GET / HTTP/1.1" 200 1"#,
            r#"192.0.2.1 - - [26/Jan/2019:19:45:25 +0330] "GET / HTTP/1.1" ok 1"#,
            r#"192.0.2.1 [26/Jan/2019:19:45:25 +0330] "GET / HTTP/1.1" 200 1"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "[a1.: -]{0,9} \\[26/Jan/2019:19:45:25 \\+0330\\] \"[aé\\\\\" -]{0,20}\"[0-9 \"é-]{0,12}") {
            read(&line);
        }
    }
}
