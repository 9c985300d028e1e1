//! Envoy's access log in its default format, and in those of Istio, that have a few words between.
//!
//! ```text
//! Envoy     [2024-06-01T10:00:00.310Z] "GET /a HTTP/2" 200 - 154 512 226 100 "forwarded for" "agent" "request id" "authority" "upstream"
//! Istio     [2024-06-01T10:00:00.310Z] "GET /a HTTP/2" 200 - via_upstream - "-" 154 512 226 100 … "upstream" cluster local local client …
//! to 1.8    [2024-06-01T10:00:00.310Z] "GET /a HTTP/2" 200 - "-" "-" 154 512 226 100 … "upstream" cluster local local client …
//! ```

use crate::logfmt::is_plain_number;
use crate::time::StampParser;
use crate::words::{Words, WordsLine};

const FIRST: &[&str] = &["", "request", "status", "response_flags"];
const ISTIO: &[&str] =
    &["response_code_details", "connection_termination_details", "upstream_transport_failure_reason"];
const FORMER_ISTIO: &[&str] = &["mixer_status", "upstream_transport_failure_reason"];
const LAST: &[&str] = &[
    "bytes_received",
    "bytes",
    "duration",
    "upstream_service_time",
    "x_forwarded_for",
    "agent",
    "request_id",
    "authority",
    "upstream_host",
    "upstream_cluster",
    "upstream_local_address",
    "downstream_local_address",
    "client",
    "requested_server_name",
    "route_name",
];

/// Reads a line; `None` if it is none of Envoy's. Its time is when the request began.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<WordsLine<'a>> {
    let quote = memchr::memchr(b'"', line.as_bytes())?;
    let start = line.get(..quote)?.strip_suffix("] ")?.rfind('[')?;
    let (before, text) = line.split_at_checked(start)?;
    let (time_ns, consumed) = stamps.parse(text.get(1..)?)?;
    if !text.get(1 + consumed..)?.starts_with("] \"") || !matches!(before.bytes().last(), None | Some(b' ')) {
        return None;
    }
    let parsed =
        |between| WordsLine { time_ns, before: before.trim_end(), text, names: [FIRST, between, LAST] };
    [&[], FORMER_ISTIO, ISTIO].into_iter().map(parsed).find(is_one)
}

/// Whether numbers are where they have to be: the status, what was received and sent, and how long it took.
fn is_one(line: &WordsLine<'_>) -> bool {
    let mut words = Words(line.text);
    let is_flag = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b',' | b'_' | b'-');
    words.nth(2).is_some_and(is_plain_number)
        && words.next().is_some_and(|flags| flags.bytes().all(is_flag))
        && words.skip(line.names[1].len()).take(3).filter(|word| is_plain_number(word)).count() == 3
        && line.word("upstream_host").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;
    use duramen::EntryBuf;

    fn read(line: &str) -> Option<String> {
        let parsed = parse(line, &StampParser::new(jiff::tz::TimeZone::UTC, 0, None))?;
        let mut entry = EntryBuf::default();
        parsed.add_to(entry.start(parsed.time_ns));
        Some(format!("{}|{}", parsed.before, shown(&mut entry)))
    }

    #[test]
    fn lines_are_taken_apart() {
        let default = r#"[2024-06-01T10:00:00.310Z] "POST /a?b HTTP/2" 204 UF,URX 154 0 226 100 "10.0.35.28" "curl \"8\"" "cc21d9b0" "locations" "tcp://10.0.2.1:80""#;
        let fields = r#"1717236000310 method=Str("POST") path=Str("/a?b") protocol=Str("HTTP/2") status=Int(204) response_flags=Str("UF,URX") bytes_received=Int(154) bytes=Int(0) duration=Int(226) upstream_service_time=Int(100) x_forwarded_for=Str("10.0.35.28") agent=Str("curl \\\"8\\\"") request_id=Str("cc21d9b0") authority=Str("locations") upstream_host=Str("tcp://10.0.2.1:80")"#;
        assert_eq!(read(default), Some(format!("|{fields}")));
        assert_eq!(read(&format!("ACCESS {default}")), Some(format!("ACCESS|{fields}")));
        let istio = r#"[2024-06-01T10:00:00.409Z] "GET /418 HTTP/1.1" 418 - via_upstream - "-" 0 135 3 - "-" "curl/7" "84961386-6d84" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000 default 7"#;
        let fields = r#"|1717236000409 method=Str("GET") path=Str("/418") protocol=Str("HTTP/1.1") status=Int(418) response_code_details=Str("via_upstream") bytes_received=Int(0) bytes=Int(135) duration=Int(3) agent=Str("curl/7") request_id=Str("84961386-6d84") authority=Str("httpbin:8000") upstream_host=Str("127.0.0.1:80") upstream_cluster=Str("inbound|8000||") upstream_local_address=Str("127.0.0.1:41854") downstream_local_address=Str("10.44.1.27:80") ip=Str("10.44.1.23") client_port=Int(37652) requested_server_name=Str("outbound_.8000") route_name=Str("default") extra.1=Int(7)"#;
        assert_eq!(read(istio).as_deref(), Some(fields));
        let former = istio.replacen("via_upstream - \"-\"", "\"-\" \"-\"", 1);
        assert_eq!(
            read(&former),
            Some(fields.replacen(r#" response_code_details=Str("via_upstream")"#, "", 1))
        );
        let tcp = r#"[2024-06-01T10:00:00.409Z] "- - -" 0 UF - - "-" 7 0 3 - "-" "-" "-" "-" "10.0.0.1:3306" outbound|3306||db - 10.0.0.1:3306 10.0.0.2:5 - -"#;
        let fields = r#"|1717236000409 status=Int(0) response_flags=Str("UF") bytes_received=Int(7) bytes=Int(0) duration=Int(3) upstream_host=Str("10.0.0.1:3306") upstream_cluster=Str("outbound|3306||db") downstream_local_address=Str("10.0.0.1:3306") ip=Str("10.0.0.2") client_port=Int(5)"#;
        assert_eq!(read(tcp).as_deref(), Some(fields));
        for other in [
            r#"[2024-06-01T10:00:00Z] "GET / HTTP/1.1" 200 - 1 2 3"#,
            r#"[2024-06-01T10:00:00Z] "GET / HTTP/1.1" 200 5 "-" "curl/8""#,
            r#"x[2024-06-01T10:00:00Z] "GET / HTTP/1.1" 204 - 154 0 226 100 "-" "-" "-" "-" "-""#,
            r#"[x] "GET / HTTP/1.1" 204 - 154 0 226 100 "-" "-" "-" "-" "-""#,
            r#"[2024-06-01T10:00:00Z x] "GET / HTTP/1.1" 204 - 154 0 226 100 "-" "-" "-" "-" "-""#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "\\[2024-06-01T10:00:00Z\\] \"[ -]{0,3}\" 0 -( [0\"é:/\\[\\]-]{1,3}){0,16}") {
            read(&line);
        }
    }
}
