//! HAProxy's logs of HTTP requests and TCP connections, mostly behind a head of syslog's.
//!
//! ```text
//! [before: ] ip:port [25/Feb/2019:16:19:48.143] frontend backend/server 0/0/7/1457/1487 200 11394 - - ---- 2/1/0/0/0 0/0 {…} "GET /a HTTP/1.1"
//! [before: ] ip:port [25/Feb/2019:16:19:48.143] frontend backend/server 0/7/1487 11394 -- 2/1/0/0/0 0/0
//! ```

use crate::access::{HttpRequest, before_date, http, until_quote};
use crate::logfmt::is_plain_number;
use crate::time::StampParser;
use duramen::{EntryBuf, Value};

/// HAProxy's names of its timers, in ms: those of a request, and of a connection.
const HTTP_TIMERS: [&str; 5] = ["TR", "Tw", "Tc", "Tr", "Ta"];
const TCP_TIMERS: [&str; 3] = ["Tw", "Tc", "Tt"];

/// The parts of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProxyLine<'a> {
    /// When the request or the connection was received, ns since the epoch.
    pub time_ns: i64,
    /// What stands before it: the head of syslog or nothing.
    pub before: &'a str,
    client: (&'a str, &'a str),
    frontend: &'a str,
    backend: &'a str,
    server: &'a str,
    timers: &'a str,
    status: Option<&'a str>,
    bytes: &'a str,
    /// How the session ended, a letter for each side, and what became of cookies: `----`.
    termination: &'a str,
    request: Option<HttpRequest<'a>>,
}

/// Reads a line; `None` if it is none of HAProxy's.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<ProxyLine<'a>> {
    let bracket = before_date(line)?;
    let (time_ns, consumed) = stamps.parse(line.get(bracket + 1..)?)?;
    let rest = line.get(bracket + 1 + consumed..)?.strip_prefix("] ")?;
    let client = line.get(..bracket - 1)?;
    let (before, client) = client.rsplit_once(' ').unwrap_or(("", client));
    let client = client.rsplit_once(':').filter(|(_, port)| is_plain_number(port))?;
    let mut words = rest.splitn(11, ' ');
    let (frontend, (backend, server), timers) =
        (words.next()?, words.next()?.split_once('/')?, words.next()?);
    let is_http = match timers.split('/').count() {
        5 => true,
        3 => false,
        _ => return None,
    };
    let is_number = |text: &str| is_plain_number(without_plus(text));
    let status = if is_http { Some(words.next()?) } else { None };
    let bytes = words.next()?;
    if !timers.split('/').all(is_number) || !is_number(bytes) || !status.is_none_or(is_number) {
        return None;
    }
    let termination = if is_http { words.nth(2)? } else { words.next()? };
    let _connections_and_queues = (words.next()?, words.next()?);
    let request = words.next().filter(|_| is_http).and_then(|rest| {
        let request = rest.get(rest.find('"')? + 1..)?;
        // One that was too long has no end.
        http(until_quote(request).map_or(request, |(request, _)| request))
    });
    Some(ProxyLine {
        time_ns,
        before,
        client,
        frontend,
        backend,
        server,
        timers,
        status,
        bytes,
        termination,
        request,
    })
}

/// `+` says that the log was written before the end.
fn without_plus(number: &str) -> &str {
    number.strip_prefix('+').unwrap_or(number)
}

impl ProxyLine<'_> {
    /// Adds the parts as fields, those that access logs have, too, under the names that they have there.
    pub fn add_to(&self, entry: &mut EntryBuf) {
        entry.field("ip", self.client.0.trim_matches(['[', ']']));
        entry.field("client_port", Value::Number(self.client.1));
        entry.field("frontend", self.frontend.trim_end_matches('~'));
        entry.field("backend", self.backend).field("server", self.server);
        let names = if self.status.is_some() { &HTTP_TIMERS[..] } else { &TCP_TIMERS[..] };
        for (name, timer) in names.iter().zip(self.timers.split('/')) {
            entry.field(name, Value::Number(without_plus(timer)));
        }
        if let Some(status) = self.status {
            entry.field("status", Value::Number(without_plus(status)));
        }
        entry.field("bytes", Value::Number(without_plus(self.bytes)));
        entry.field("termination_state", self.termination);
        if let Some(request) = self.request {
            request.add_to(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;

    fn read(line: &str) -> Option<String> {
        let parsed = parse(line, &StampParser::new(jiff::tz::TimeZone::UTC, 0, None))?;
        let mut entry = EntryBuf::default();
        parsed.add_to(entry.start(parsed.time_ns));
        Some(format!("{}|{}", parsed.before, shown(&mut entry)))
    }

    #[test]
    fn requests_and_connections_are_read() {
        let http = r#"haproxy[7]: 192.0.2.1:53332 [01/Jun/2024:10:00:00.143] in~ bk/srv 0/0/7/-1/+1487 200 +11394 - - ---- 2/1/0/0/0 0/0 {a b|} {} "GET /a?b HTTP/1.1""#;
        let fields = r#"haproxy[7]:|1717236000143 ip=Str("192.0.2.1") client_port=Int(53332) frontend=Str("in") backend=Str("bk") server=Str("srv") TR=Int(0) Tw=Int(0) Tc=Int(7) Tr=Int(-1) Ta=Int(1487) status=Int(200) bytes=Int(11394) termination_state=Str("----") method=Str("GET") path=Str("/a?b") protocol=Str("HTTP/1.1")"#;
        assert_eq!(read(http).as_deref(), Some(fields));
        let cut = http.replace(" HTTP/1.1\"", "");
        assert_eq!(read(&cut).as_deref(), Some(fields.replace(r#" protocol=Str("HTTP/1.1")"#, "").as_str()));
        let tcp = "2001:db8::1:5 [01/Jun/2024:10:00:00.143] in bk/<NOSRV> -1/-1/50 0 SC 2/1/0/0/0 0/0";
        let fields = r#"|1717236000143 ip=Str("2001:db8::1") client_port=Int(5) frontend=Str("in") backend=Str("bk") server=Str("<NOSRV>") Tw=Int(-1) Tc=Int(-1) Tt=Int(50) bytes=Int(0) termination_state=Str("SC")"#;
        assert_eq!(read(tcp).as_deref(), Some(fields));
        for line in [
            "192.0.2.1:5 [01/Jun/2024:10:00:00.143] in/1: SSL handshake failure",
            "192.0.2.1 - - [01/Jun/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5",
            "192.0.2.1:5 [01/Jun/2024:10:00:00.143] in bk/srv 0/0/x 0 SC 2/1/0/0/0 0/0",
            "x [",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "a:5 \\[01/Jun/2024:10:00:00\\] [a/0-9+{}\" é-]{0,60}") {
            read(&line);
        }
    }
}
