//! Requests in both forms.

use super::*;
use crate::protobuf::{Wire, Writer};
use crate::testing::{NOW, show};
use crate::{Error, Limits};

fn json_with(params: &Params, body: &str) -> Result<String> {
    let mut out = Decoded::default();
    Logs::new(params).json(body.as_bytes(), NOW, &mut out)?;
    Ok(show(&mut out))
}

fn json(body: &str) -> Result<String> {
    json_with(&Params::default(), body)
}

/// A request of one record, in a resource and a scope.
fn one(record: &str) -> String {
    format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{record}]}}]}}]}}"#)
}

/// As the specification has it in its examples, the members in another order.
const EXAMPLE: &str = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[
    {"timeUnixNano":"1544712660300000000","observedTimeUnixNano":"1544712660300000001","severityNumber":10,
     "severityText":"Information","traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174",
     "body":{"stringValue":"Example log record"},"flags":1,"unknown":{"x":[1]},"eventName":"e",
     "droppedAttributesCount":2,
     "attributes":[{"key":"string.attribute","value":{"stringValue":"some string"}},
       {"key":"boolean.attribute","value":{"boolValue":true}},
       {"key":"int.attribute","value":{"intValue":"10"}},
       {"key":"double.attribute","value":{"doubleValue":637.704}},
       {"key":"array.attribute","value":{"arrayValue":{"values":[{"stringValue":"a\"b"},{"intValue":-1},{"doubleValue":1},{},{"arrayValue":{}},{"kvlistValue":{"values":[{"key":"k","value":{"boolValue":false}}]}}]}}},
       {"key":"map.attribute","value":{"kvlistValue":{"values":[{"key":"some","value":{"kvlistValue":{"values":[{"key":"key","value":{"stringValue":"v"}}]}}}, {"key":"none","value":{"kvlistValue":{}}}]}}},
       {"key":"bytes","value":{"bytesValue":"AQID"}}, {"key":"nothing","value":null}]},
    {"observed_time_unix_nano":1544712661000000000,"severityNumber":"SEVERITY_NUMBER_ERROR3","body":{"intValue":5},"traceId":"","spanId":"0000000000000000"},
    {"body":{"stringValue":"WARN: shaky"}}],
   "scope":{"name":"my.library","version":"1.0.0","attributes":[{"key":"my.scope","value":{"stringValue":"s"}}]}}],
  "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"my.service"}}]}}]}"#;

const EXPECTED: &str = concat!(
    "1544712660300000000 Info Example log record {service.name=my.service} ",
    "trace_id=5b8efff798038103d269b633813fc60c span_id=eee19b7ec3c1b174 severity_text=Information ",
    "event_name=e flags=1 dropped_attributes_count=2 scope.name=my.library scope.version=1.0.0 ",
    "scope.my.scope=s string.attribute=some string boolean.attribute=true int.attribute=10 double.attribute=637.704 ",
    "array.attribute=[\"a\\\"b\",-1,1.0,null,[],{\"k\":false}] map.attribute.some.key=v map.attribute.none={} bytes=AQID ",
    "nothing=null\n",
    "1544712661000000000 Error 5 {service.name=my.service} scope.name=my.library scope.version=1.0.0 scope.my.scope=s\n",
    "NOW Warn WARN: shaky {service.name=my.service} scope.name=my.library scope.version=1.0.0 scope.my.scope=s\n",
);

#[test]
fn json_requests_become_entries() {
    assert_eq!(json(EXAMPLE).unwrap(), EXPECTED);
    for empty in ["{}", r#"{"resourceLogs":[]}"#, r#"{"resourceLogs":null,"x":1}"#] {
        assert_eq!(json(empty).as_deref(), Ok(""));
    }
}

#[test]
fn protobuf_requests_become_entries() {
    let mut w = Writer::default();
    json::transcode(EXAMPLE.as_bytes(), &mut w).unwrap();
    let mut out = Decoded::default();
    Logs::new(&Params::default()).protobuf(&w.out, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), EXPECTED);

    // Bytes as the reference implementation writes them: one record with a body "hi", severity 17, time 1 s.
    let mut bytes = vec![
        0x0a, 0x29, // resource_logs
        0x0a, 0x0d, 0x0a, 0x0b, 0x0a, 0x03, b'a', b'p', b'p', 0x12, 0x04, 0x0a, 0x02, b'w',
        b'1', // resource
        0x12, 0x18, // scope_logs
        0x12, 0x16, // log_records
        0x09, 0x00, 0xca, 0x9a, 0x3b, 0x00, 0x00, 0x00, 0x00, // time_unix_nano
        0x10, 0x11, // severity_number
        0x2a, 0x04, 0x0a, 0x02, b'h', b'i', // body
        0x45, 0x01, 0x00, 0x00, 0x00, // flags
    ];
    out.clear();
    Logs::new(&Params::default()).protobuf(&bytes, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), "1000000000 Error hi {app=w1} flags=1\n");
    bytes.push(0x98);
    let error = Logs::new(&Params::default()).protobuf(&bytes, NOW, &mut out).unwrap_err().to_string();
    assert_eq!(error, "not an OTLP logs request in protobuf: a number that does not end, at byte 43");
}

#[test]
fn bodies_that_are_maps_become_fields() {
    for (body, expected) in [
        (
            r#"{"kvlistValue":{"values":[{"key":"msg","value":{"stringValue":"second"}},{"key":"message","value":{"stringValue":"hello"}},{"key":"level","value":{"stringValue":"error"}},{"key":"n","value":{"intValue":1}}]}}"#,
            "NOW Error hello {} msg=second message=hello level=error n=1\n",
        ),
        (
            r#"{"kvlistValue":{"values":[{"key":"_msg","value":{"stringValue":"m"}},{"key":"a","value":{"kvlistValue":{"values":[{"key":"message","value":{"stringValue":"inner"}}]}}}]}}"#,
            "NOW Unknown m {} a.message=inner\n",
        ),
        (
            r#"{"kvlistValue":{"values":[{"key":"x","value":{"doubleValue":0.5}}]}}"#,
            "NOW Unknown  {} x=0.5\n",
        ),
        (r#"{"arrayValue":{"values":[{"intValue":1}]}}"#, "NOW Unknown [1] {}\n"),
        (r#"{"boolValue":true}"#, "NOW Unknown true {}\n"),
        (r#"{"bytesValue":"aGk="}"#, "NOW Unknown aGk= {}\n"),
        (r#"{"doubleValue":"NaN"}"#, "NOW Unknown NaN {}\n"),
        ("null", "NOW Unknown  {}\n"),
    ] {
        assert_eq!(json(&one(&format!("{{\"body\":{body}}}"))).as_deref(), Ok(expected), "{body}");
    }
}

#[test]
fn attributes_hide_nothing() {
    let text = |name: &str, value: &str| format!(r#"{{"key":"{name}","value":{{"stringValue":"{value}"}}}}"#);
    let attributes =
        [("service.name", "b"), ("a", "1"), ("a", "2"), ("trace_id", "x")].map(|(n, v)| text(n, v)).join(",");
    let body = [("a", "3"), ("message", "m"), ("message", "n")].map(|(n, v)| text(n, v)).join(",");
    let request = format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":[{}]}},"scopeLogs":[{{"logRecords":[
            {{"traceId":"0a","attributes":[{attributes}],"body":{{"kvlistValue":{{"values":[{body}]}}}}}},{{}}]}}]}}]}}"#,
        text("service.name", "r")
    );
    assert_eq!(
        json(&request).as_deref(),
        Ok(
            "NOW Unknown m {service.name=r} trace_id=0a service.name#1=b a=1 a#1=2 trace_id#1=x a#2=3 message=m message#1=n\n\
            NOW Unknown  {service.name=r}\n"
        )
    );
}

#[test]
fn a_resource_keeps_its_names_and_what_is_said_twice_is_there_once() {
    let text = |name: &str, value: &str| format!(r#"{{"key":"{name}","value":{{"stringValue":"{value}"}}}}"#);
    let known = [
        ("event_name", "r"),
        ("severity_text", "r"),
        ("trace_id", "r"),
        ("scope.name", "r"),
        ("level", "warn"),
    ];
    let request = |resource: &str, record: &str| {
        format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[{resource}]}},"scopeLogs":[{{"scope":{{"name":"s"}},"logRecords":[{record},{{}}]}}]}}]}}"#
        )
    };
    let record = r#"{"traceId":"0a","severityText":"t","eventName":"e","flags":1}"#;
    assert_eq!(
        json(&request(&known.map(|(n, v)| text(n, v)).join(","), record)).as_deref(),
        Ok(
            "NOW Warn  {event_name=r severity_text=r trace_id=r scope.name=r level=warn} trace_id#1=0a severity_text#1=t event_name#1=e flags=1 scope.name#1=s\n\
             NOW Warn  {event_name=r severity_text=r trace_id=r scope.name=r level=warn} scope.name#1=s\n"
        )
    );
    let again =
        [("a", "1"), ("trace_id", "0a"), ("span_id", "0b"), ("b", "2"), ("b", "2")].map(|(n, v)| text(n, v));
    let record = format!(
        r#"{{"traceId":"0a","spanId":"0b","attributes":[{}],"body":{{"kvlistValue":{{"values":[{},{}]}}}}}}"#,
        again.join(","),
        text("message", "m"),
        text("b", "2")
    );
    assert_eq!(
        json(&request(&format!("{},{0}", text("a", "1")), &record)).as_deref(),
        Ok(
            "NOW Unknown m {a=1} trace_id=0a span_id=0b scope.name=s b=2 message=m\nNOW Unknown  {a=1} scope.name=s\n"
        )
    );
}

#[test]
fn a_value_that_is_odd_does_not_cost_the_request() {
    let list = r#"{"attributes":[{"key":"k","value":{"arrayValue":{"values":[null,{"intValue":1}]}}}],"severityNumber":"SEVERITY_NUMBER_UNSPECIFIED"}"#;
    assert_eq!(json(&one(list)).as_deref(), Ok("NOW Unknown  {} k=[null,1]\n"));
    let cut = r#"{"body":{"stringValue":"cut \ud83d"}}"#;
    assert_eq!(json(&one(cut)).as_deref(), Ok("NOW Unknown cut \\ud83d {}\n"));
}

#[test]
fn severities_are_bands_of_four() {
    let level = |record: &str| json(&one(record)).unwrap().split(' ').nth(1).unwrap().to_owned();
    for (n, expected) in [
        (0, "Unknown"),
        (1, "Trace"),
        (4, "Trace"),
        (5, "Debug"),
        (9, "Info"),
        (16, "Warn"),
        (17, "Error"),
        (24, "Fatal"),
        (25, "Unknown"),
    ] {
        assert_eq!(level(&format!("{{\"severityNumber\":{n}}}")), expected, "{n}");
    }
    assert_eq!(level(r#"{"severityText":"ERR"}"#), "Error");
    assert_eq!(level(r#"{"severityText":"50"}"#), "Error", "as a line of JSON with it has");
    assert_eq!(level(r#"{"attributes":[{"key":"level","value":{"stringValue":"warn"}}]}"#), "Warn");
    assert_eq!(level(r#"{"severityNumber":"SEVERITY_NUMBER_WARN2","severityText":"ERR"}"#), "Warn");
}

#[test]
fn parameters_count() {
    let mut params = Params::default();
    params.set("_stream_fields", "host").unwrap();
    params.set("ignore_fields", "scope.*,string.attribute,array.*,map.*,flags").unwrap();
    params.set("extra_fields", "host=h").unwrap();
    let got = json_with(&params, EXAMPLE).unwrap();
    assert!(
        got.starts_with(
            "1544712660300000000 Info Example log record {host=h} service.name=my.service trace_id=5b8efff7"
        ),
        "{got}"
    );
    assert!(!got.contains("scope.") && !got.contains("flags"), "{got}");
}

#[test]
fn records_over_limits_are_rejected_beside_others() {
    let nested = |depth: usize| {
        let inner = r#"{"kvlistValue":{"values":[{"key":"a","value":"#.repeat(depth);
        format!(r#"{{"attributes":[{{"key":"k","value":{inner}{{"intValue":1}}{}}}]}}"#, "}]}}".repeat(depth))
    };
    let records = [
        nested(63),
        nested(64),
        format!(r#"{{"attributes":[{{"key":"{}","value":{{"intValue":1}}}}]}}"#, "n".repeat(1025)),
        format!(r#"{{"body":{{"stringValue":"{}"}}}}"#, "x".repeat(3_000)),
        r#"{"timeUnixNano":"18446744073709551615"}"#.to_owned(),
        "{}".to_owned(),
    ];
    let mut out = Decoded::new(Limits { max_line_bytes: 3_000, ..Limits::default() });
    Logs::new(&Params::default()).json(one(&records.join(",")).as_bytes(), NOW, &mut out).unwrap();
    let told = out.rejected().to_string();
    assert_eq!(
        told,
        "row 1: its attributes are nested over 64 deep; row 2: an attribute's name is over 1024 bytes; \
         row 3: it has 3009 bytes; max_line_bytes is 3000; row 4: its time is after the year 2261"
    );
    assert_eq!(out.accepted(), 2);

    let reply = reply_protobuf(out.rejected());
    let partial = Message::body("a reply", &reply).message(1).unwrap();
    assert_eq!(partial.fields().next(), Some(Ok((1, Wire::Varint(4)))));
    assert_eq!(partial.message(2).unwrap().text().unwrap(), told);
    let reply: serde_json::Value = serde_json::from_str(&reply_json(out.rejected())).unwrap();
    assert_eq!(reply["partialSuccess"]["rejectedLogRecords"], "4");
    assert_eq!(reply["partialSuccess"]["errorMessage"], told);
    let status = status_protobuf(3, "no", Some(7));
    let status = Message::body("a status", &status);
    assert_eq!(status.message(2).unwrap().text(), Ok("no"));
    let any = status.message(3).unwrap();
    assert_eq!(any.message(1).unwrap().text(), Ok("type.googleapis.com/google.rpc.RetryInfo"));
    let delay = any.message(2).unwrap().message(1).unwrap();
    assert_eq!(delay.fields().next(), Some(Ok((1, Wire::Varint(7)))));
    assert_eq!(status_json(3, "a\"b"), r#"{"code":3,"message":"a\"b"}"#);
    out.clear();
    assert_eq!((reply_protobuf(out.rejected()), reply_json(out.rejected())), (vec![], "{}".to_owned()));
}

#[test]
fn numbers_and_bytes_are_read_in_each_way_that_json_may_write_them() {
    let entry =
        |time: &str, body: &str| json(&one(&format!(r#"{{"timeUnixNano":{time},"body":{{{body}}}}}"#)));
    for (time, body, shown) in [
        ("1.7184528e18", r#""intValue":5.0"#, "NOW Unknown 5 {}"),
        ("\"171845280000000000100e-2\"", r#""intValue":"-12e1""#, "1718452800000000001 Unknown -120 {}"),
        ("1.718452800000000001E+18", r#""intValue":0.0e-5"#, "1718452800000000001 Unknown 0 {}"),
        ("\"\"", r#""bytesValue":"aGVsbG8""#, "NOW Unknown aGVsbG8= {}"),
        ("0", r#""bytesValue":"_-8""#, "NOW Unknown /+8= {}"),
    ] {
        assert_eq!(entry(time, body), Ok(format!("{shown}\n")), "{time} {body}");
    }
    for wrong in ["5.5", "5e-1", "1e19", "1e99999999999", "e5", "\"-\"", "\".\"", "1e2147483647"] {
        assert!(entry("1", &format!(r#""intValue":{wrong}"#)).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_no_request_is_an_error() {
    for (body, detail) in [
        ("", "at byte 0"),
        ("[]", "at byte 0"),
        (r#"{"resourceLogs":{}}"#, "at byte 16"),
        (r#"{"resourceLogs":[]} x"#, "at byte 20"),
        // A record that is none is not one without anything in it.
        (r#"{"resourceLogs":[null]}"#, "at byte 17"),
        (r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[null]}]}]}"#, "at byte 46"),
        (r#"{"resourceLogs":[{"resource":{"attributes":[null]}}]}"#, "at byte 44"),
    ] {
        let error = json(body).unwrap_err().to_string();
        assert!(error.starts_with("not an OTLP logs request in JSON: ") && error.contains(detail), "{error}");
    }
    for (record, detail) in [
        (r#"{"traceId":"xy"}"#, "traceId is not hexadecimal digits"),
        (r#"{"traceId":"abc"}"#, "traceId is not hexadecimal digits"),
        (r#"{"timeUnixNano":"-1"}"#, "timeUnixNano is not a 64-bit number"),
        (r#"{"severityNumber":"SEVERITY_NUMBER_WARN9"}"#, "severityNumber is not a severity"),
        (r#"{"flags":4294967296}"#, "flags is not a 32-bit number"),
        (r#"{"body":{"bytesValue":"!"}}"#, "bytesValue is not base64"),
        (r#"{"body":{"intValue":1.5}}"#, "intValue is not a 64-bit number"),
        (r#"{"body":"text"}"#, "at byte"),
    ] {
        let error = json(&one(record)).unwrap_err().to_string();
        assert!(error.contains(detail), "{error}");
    }
    let deep = r#"{"arrayValue":{"values":["#.repeat(200);
    assert!(json(&one(&format!("{{\"body\":{deep}"))).is_err(), "it does not end");
}

#[test]
fn a_record_nested_too_deep_costs_itself() {
    let nested = |depth: usize| {
        let inner = r#"{"kvlistValue":{"values":[{"key":"a","value":"#.repeat(depth);
        format!(r#"{{"attributes":[{{"key":"k","value":{inner}{{"intValue":1}}{}}}]}}"#, "}]}}".repeat(depth))
    };
    let unknown =
        format!(r#"{{"body":{{"stringValue":"b"}},"x":{}{}}}"#, "[".repeat(1_000), "]".repeat(1_000));
    let first = r#"{"body":{"stringValue":"a"}}"#;
    let records = [first, &nested(80), &nested(1_000), &unknown].join(",");
    let mut out = Decoded::default();
    Logs::new(&Params::default()).json(one(&records).as_bytes(), NOW, &mut out).unwrap();
    let deep = "its attributes are nested over 64 deep";
    assert_eq!(out.rejected().to_string(), format!("row 1: {deep}; row 2: {deep}"));
    assert_eq!(out.accepted(), 2);
}

#[test]
fn a_small_body_does_not_mean_a_lot() {
    let resource = format!(
        r#""resource":{{"attributes":[{{"key":"a","value":{{"stringValue":"{}"}}}}]}}"#,
        "x".repeat(100_000)
    );
    let body = format!(
        r#"{{"resourceLogs":[{{{resource},"scopeLogs":[{{"logRecords":[{}{{}}]}}]}}]}}"#,
        "{},".repeat(999)
    );
    let mut out = Decoded::new(Limits { max_entries_bytes: 1 << 20, ..Limits::default() });
    let error = Logs::new(&Params::default()).json(body.as_bytes(), NOW, &mut out).unwrap_err();
    assert!(matches!(error, Error::Limit { name: "max_entries_bytes", .. }), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(any: Vec<u8>, changes in proptest::collection::vec((0usize..4096, 0u8..), 1..4)) {
        let mut w = Writer::default();
        json::transcode(EXAMPLE.as_bytes(), &mut w).unwrap();
        let mut body = EXAMPLE.as_bytes().to_vec();
        for (at, byte) in changes {
            for bytes in [&mut w.out, &mut body] {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
        }
        let mut logs = Logs::new(&Params::default());
        for body in [&any, &body, &w.out] {
            let mut out = Decoded::default();
            let _refused_or_not = logs.protobuf(body, NOW, &mut out);
            let _refused_or_not = logs.json(body, NOW, &mut out);
            show(&mut out);
        }
    }
}
