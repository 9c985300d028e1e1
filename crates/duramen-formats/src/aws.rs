//! Access logs of AWS: application, network and classic load balancers, S3, and VPC flow logs in their default format. Words,
//! some in quotes, in an order of their own; later fields may be missing, and ones that are not known here be added.
//!
//! ```text
//! ALB       https 2024-06-01T10:00:00.123456Z app/name/id 192.0.2.1:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET … HTTP/1.1" …
//! NLB       tls 2.0 2024-06-01T10:00:00 net/name/id listener 192.0.2.1:51341 10.0.0.1:443 5 2 98 246 …
//! classic   2024-06-01T10:00:00.123456Z name 192.0.2.1:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET … HTTP/1.1" …
//! S3        owner bucket [01/Jun/2024:10:00:00 +0000] 192.0.2.1 requester id REST.GET.OBJECT key "GET … HTTP/1.1" 200 - 113 …
//! VPC       2 123456789010 eni-1235b8ca 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1717236000 1717236060 ACCEPT OK
//! ```

use crate::time::StampParser;
use crate::words::{Words, WordsLine};

const ALB: &[&str] = &[
    "type",
    "",
    "elb",
    "client",
    "target",
    "request_processing_time",
    "target_processing_time",
    "response_processing_time",
    "status",
    "target_status_code",
    "received_bytes",
    "bytes",
    "request",
    "agent",
    "ssl_cipher",
    "ssl_protocol",
    "target_group_arn",
    "trace_id",
    "domain_name",
    "chosen_cert_arn",
    "matched_rule_priority",
    "request_creation_time",
    "actions_executed",
    "redirect_url",
    "error_reason",
    "target_list",
    "target_status_code_list",
    "classification",
    "classification_reason",
    "conn_trace_id",
];
const NLB: &[&str] = &[
    "type",
    "version",
    "",
    "elb",
    "listener",
    "client",
    "destination",
    "connection_time",
    "tls_handshake_time",
    "received_bytes",
    "bytes",
    "incoming_tls_alert",
    "chosen_cert_arn",
    "chosen_cert_serial",
    "tls_cipher",
    "tls_protocol_version",
    "tls_named_group",
    "domain_name",
    "alpn_fe_protocol",
    "alpn_be_protocol",
    "alpn_client_preference_list",
    "tls_connection_creation_time",
];
const CLASSIC: &[&str] = &[
    "",
    "elb",
    "client",
    "backend",
    "request_processing_time",
    "backend_processing_time",
    "response_processing_time",
    "status",
    "backend_status_code",
    "received_bytes",
    "bytes",
    "request",
    "agent",
    "ssl_cipher",
    "ssl_protocol",
];
const S3: &[&str] = &[
    "bucket_owner",
    "bucket",
    "",
    "ip",
    "user",
    "request_id",
    "operation",
    "key",
    "request",
    "status",
    "error_code",
    "bytes",
    "object_size",
    "total_time",
    "turn_around_time",
    "referer",
    "agent",
    "version_id",
    "host_id",
    "signature_version",
    "cipher_suite",
    "authentication_type",
    "host_header",
    "tls_version",
    "access_point_arn",
    "acl_required",
];

const VPC: &[&str] = &[
    "version",
    "account_id",
    "interface_id",
    "srcaddr",
    "dstaddr",
    "srcport",
    "dstport",
    "protocol",
    "packets",
    "bytes",
    "start",
    "end",
    "action",
    "log_status",
];

/// Reads a line; `None` if it is of none of these logs. Its time is when the request was answered, of S3 received, or the flow first
/// seen. A load balancer's times are UTC.
pub(crate) fn parse<'a>(line: &'a str, stamps: &StampParser) -> Option<WordsLine<'a>> {
    let mut words = Words(line);
    let (first, second, third) = (words.next()?, words.next()?, words.next()?);
    if first == "2" && third.starts_with("eni-") {
        return flow(line);
    }
    let is_type = matches!(first, "http" | "https" | "h2" | "grpcs" | "ws" | "wss");
    let (names, stamp, least) = if is_type && third.starts_with("app/") {
        (ALB, second, 12)
    } else if first == "tls" && words.next().is_some_and(|elb| elb.starts_with("net/")) {
        (NLB, third, 11)
    } else if line.starts_with(|c: char| c.is_ascii_digit()) && has_port(third) && first.contains('T') {
        (CLASSIC, first, 12)
    } else if third.starts_with('[') && (first == "-" || is_owner(first)) {
        (S3, third.trim_matches(['[', ']']), 10)
    } else {
        return None;
    };
    let is_utc = stamp.ends_with('Z') || names.len() == S3.len();
    let time_ns = match is_utc {
        true => stamps.parse_value(stamp)?,
        false => stamps.parse_value(&format!("{stamp}Z"))?,
    };
    let parsed = WordsLine { time_ns, before: "", text: line, names: [names, &[], &[]] };
    let has_status = parsed.word("status").is_none_or(is_status);
    (has_status && Words(line).take(least).count() == least).then_some(parsed)
}

/// Reads a line of a VPC flow log: its time is that of the first packet, in seconds.
fn flow(line: &str) -> Option<WordsLine<'_>> {
    let parsed = WordsLine { time_ns: 0, before: "", text: line, names: [VPC, &[], &[]] };
    let seconds = |name: &str| {
        let word =
            parsed.word(name).filter(|word| word.len() == 10 && word.bytes().all(|b| b.is_ascii_digit()))?;
        word.parse::<i64>().ok()?.checked_mul(1_000_000_000)
    };
    let (time_ns, _) = (seconds("start")?, seconds("end")?);
    let is_status = matches!(parsed.word("log_status")?, "OK" | "NODATA" | "SKIPDATA");
    is_status.then_some(WordsLine { time_ns, ..parsed })
}

fn has_port(text: &str) -> bool {
    let Some((address, port)) = text.rsplit_once(':') else { return false };
    let is_address = address.contains(['.', ':'])
        && address.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':' | b'[' | b']'));
    is_address && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
}

fn is_owner(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_status(text: &str) -> bool {
    text == "-" || (text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit())) || text == "0"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;
    use duramen::EntryBuf;

    fn read(line: &str) -> Option<String> {
        // Its times are UTC whatever the zone.
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let parsed = parse(line, &StampParser::new(zone, 0, None))?;
        let mut entry = EntryBuf::default();
        parsed.add_to(entry.start(parsed.time_ns));
        Some(shown(&mut entry))
    }

    #[test]
    fn lines_are_taken_apart() {
        let owner = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be";
        for (line, expected) in [
            (
                r#"https 2024-06-01T10:00:00.123456Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://example.org:443/a?b=c HTTP/1.1" "curl/7.46.0" - - arn:aws:x "Root=1-5" "-" "-" 1 2024-06-01T09:59:59.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1 "new" 7"#.to_owned(),
                r#"1717236000123 type=Str("https") elb=Str("app/lb/50dc") ip=Str("192.0.2.1") client_port=Int(2817) target=Str("10.0.0.1:80") request_processing_time=Number("0.086") target_processing_time=Number("0.048") response_processing_time=Number("0.037") status=Int(200) target_status_code=Int(200) received_bytes=Int(0) bytes=Int(57) method=Str("GET") path=Str("https://example.org:443/a?b=c") protocol=Str("HTTP/1.1") agent=Str("curl/7.46.0") target_group_arn=Str("arn:aws:x") trace_id=Str("Root=1-5") matched_rule_priority=Int(1) request_creation_time=Str("2024-06-01T09:59:59.364000Z") actions_executed=Str("forward") target_list=Str("10.0.0.1:80") target_status_code_list=Int(200) conn_trace_id=Str("TID_1") extra.1=Str("new") extra.2=Int(7)"#,
            ),
            (
                "tls 2.0 2024-06-01T10:00:00 net/lb/c6 g3d 192.0.2.1:51341 10.0.0.1:443 5 2 98 246 -".to_owned(),
                r#"1717236000000 type=Str("tls") version=Number("2.0") elb=Str("net/lb/c6") listener=Str("g3d") ip=Str("192.0.2.1") client_port=Int(51341) destination=Str("10.0.0.1:443") connection_time=Int(5) tls_handshake_time=Int(2) received_bytes=Int(98) bytes=Int(246)"#,
            ),
            (
                r#"tls 2.0 2024-06-01T10:00:00 net/lb/c6 g3d 192.0.2.1:51341 10.0.0.1:443 5 2 98 246 - arn - c tlsv12 - example.org h2 h2 "h2","http/1.1" 2024-06-01T09:59:59"#.to_owned(),
                r#"1717236000000 type=Str("tls") version=Number("2.0") elb=Str("net/lb/c6") listener=Str("g3d") ip=Str("192.0.2.1") client_port=Int(51341) destination=Str("10.0.0.1:443") connection_time=Int(5) tls_handshake_time=Int(2) received_bytes=Int(98) bytes=Int(246) chosen_cert_arn=Str("arn") tls_cipher=Str("c") tls_protocol_version=Str("tlsv12") domain_name=Str("example.org") alpn_fe_protocol=Str("h2") alpn_be_protocol=Str("h2") alpn_client_preference_list=Str("\"h2\",\"http/1.1\"") tls_connection_creation_time=Str("2024-06-01T09:59:59")"#,
            ),
            (
                r#"2024-06-01T10:00:00.123456Z lb [2001:db8::1]:2817 - -1 -1 -1 503 0 0 0 "- - - " "-" - -"#.to_owned(),
                r#"1717236000123 elb=Str("lb") ip=Str("2001:db8::1") client_port=Int(2817) request_processing_time=Int(-1) backend_processing_time=Int(-1) response_processing_time=Int(-1) status=Int(503) backend_status_code=Int(0) received_bytes=Int(0) bytes=Int(0)"#,
            ),
            (
                format!(r#"{owner} bucket [01/Jun/2024:12:00:00 +0200] 192.0.2.3 - 3E57 REST.GET.OBJECT a/b.txt "GET /a/b.txt HTTP/1.1" 404 NoSuchKey 113 - 7 - "-" "S3Console/0.4" -"#),
                r#"1717236000000 bucket_owner=Str("79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be") bucket=Str("bucket") ip=Str("192.0.2.3") request_id=Str("3E57") operation=Str("REST.GET.OBJECT") key=Str("a/b.txt") method=Str("GET") path=Str("/a/b.txt") protocol=Str("HTTP/1.1") status=Int(404) error_code=Str("NoSuchKey") bytes=Int(113) total_time=Int(7) agent=Str("S3Console/0.4")"#,
            ),
            (
                "2 123456789010 eni-1235b8ca 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1717236000 1717236060 REJECT OK".to_owned(),
                r#"1717236000000 version=Int(2) account_id=Int(123456789010) interface_id=Str("eni-1235b8ca") srcaddr=Str("172.31.16.139") dstaddr=Str("172.31.16.21") srcport=Int(20641) dstport=Int(22) protocol=Int(6) packets=Int(20) bytes=Int(4249) start=Int(1717236000) end=Int(1717236060) action=Str("REJECT") log_status=Str("OK")"#,
            ),
            (
                "2 123456789010 eni-1 - - - - - - - 1717236000 1717236060 - NODATA".to_owned(),
                r#"1717236000000 version=Int(2) account_id=Int(123456789010) interface_id=Str("eni-1") start=Int(1717236000) end=Int(1717236060) log_status=Str("NODATA")"#,
            ),
        ] {
            assert_eq!(read(&line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "https 2024-06-01T10:00:00Z x",
            "https 2024-06-01T10:00:00Z app/a 192.0.2.1:5 x",
            "2024-06-01T10:00:00Z web-1 app[7]: a b c d e f g h i j k",
            "2024-06-01T10:00:00Z web-1 192.0.2.1:5 a b c d e f g h i j k",
            "- - [01/Jun/2024:12:00:00 +0200] a",
            "2 123456789010 eni-1 - - - - - - - 1717236000 1717236060 -",
            "2 123456789010 eni-1 - - - - - - - 1717236000 9 - NODATA",
            "192.0.2.1 - [01/Jun/2024:12:00:00 +0200] a b c d e f g h i j",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "(https 2024-06-01T10:00:00Z app/|2 1 eni-1|2024-06-01T10:00:00Z a 1.1:5|- - \\[01/Jun/2024:10:00:00 \\+0000\\])( [a\"é:\\[\\]-]{0,4}){0,16}") {
            read(&line);
        }
    }
}
