//! Pushes in both forms.

use super::*;
use crate::protobuf::Writer;
use crate::testing::{NOW, show};
use crate::{Error, Limits};

fn json(body: &str) -> Result<String> {
    let mut out = Decoded::default();
    Push::new(&Params::default()).json(body.as_bytes(), NOW, &mut out)?;
    Ok(show(&mut out))
}

/// Labels, and entries of (seconds, nanos, line, metadata).
type Stream<'a> = (&'a str, &'a [(u64, u64, &'a str, &'a [(&'a str, &'a str)])]);

fn protobuf(streams: &[Stream<'_>]) -> Vec<u8> {
    let mut w = Writer::default();
    for (labels, entries) in streams {
        let stream = w.begin(1);
        // Entries before labels are as good.
        for (seconds, nanos, line, metadata) in *entries {
            let entry = w.begin(2);
            let stamp = w.begin(1);
            w.varint(1, *seconds);
            w.varint(2, *nanos);
            w.end(stamp);
            w.bytes(2, line.as_bytes());
            for (name, value) in *metadata {
                let pair = w.begin(3);
                w.bytes(1, name.as_bytes());
                w.bytes(2, value.as_bytes());
                w.end(pair);
            }
            w.end(entry);
        }
        w.bytes(1, labels.as_bytes());
        w.varint(3, 7);
        w.end(stream);
    }
    w.out
}

const EXPECTED: &str = "1718452800000000001 Warn the \"line\" {app=web job=j} trace_id=0af7 detected_level=warn\n\
                        NOW Error {\"level\":\"error\"} {app=web job=j}\n\
                        1718452801000000000 Info level=debug x {level=info}\n";

#[test]
fn json_pushes_become_entries() {
    for body in [
        r#"{"streams":[{"stream":{"app":"web","job":"j"},"values":[["1718452800000000001","the \"line\"",{"trace_id":"0af7","detected_level":"warn"}],["","{\"level\":\"error\"}"]]},{"stream":{"level":"info"},"values":[["1718452801000000000","level=debug x",{}]]}]}"#,
        r#" { "extra": [1], "streams" : [ { "values" : [ [ 1718452800000000001 , "the \"line\"" , {"trace_id":"0af7","detected_level":"warn","n":null} , 1 ] , [ 0 , "{\"level\":\"error\"}", null ] ] , "hash" : 1 , "stream" : {"app":"web","job":"j"} }, {"stream":{"level":"info"},"values":[["1718452801000000000","level=debug x"]]} ] } "#,
    ] {
        assert_eq!(json(body).as_deref(), Ok(EXPECTED), "{body}");
    }
    assert_eq!(json(r#"{"streams":[]}"#).as_deref(), Ok(""));
    assert_eq!(
        json(r#"{"streams":[{"values":[["0","x",{"n":1}]]}]}"#).as_deref(),
        Ok("NOW Unknown x {} n=1\n")
    );
}

#[test]
fn times_that_count_something_else_are_not_of_1970_and_one_that_is_none_costs_its_line() {
    let mut out = Decoded::default();
    let body = r#"{"streams":[{"stream":{},"values":[["1718452800000000001","ns"],["1718452801","s"],[1718452802000,"ms"],
        ["1718452803000001","us"],["1718452804.5","f"],["2024-06-15T12:00:05Z","t"],["7","so said"],["-1","before"],
        ["soon","x",{"a":"b"}],[null,"y"],[{"a":1},"z"],["99999999999999999999","w"],["0","now"]]}]}"#;
    Push::new(&Params::default()).json(body.as_bytes(), NOW, &mut out).unwrap();
    assert_eq!(
        show(&mut out),
        "1718452800000000001 Unknown ns {}\n1718452801000000000 Unknown s {}\n1718452802000000000 Unknown ms {}\n\
         1718452803000001000 Unknown us {}\n1718452804500000000 Unknown f {}\n1718452805000000000 Unknown t {}\n\
         7 Unknown so said {}\n-1 Unknown before {}\nNOW Unknown now {}\n"
    );
    let none = |row: u64| format!("row {row}: its time is none");
    assert_eq!(out.rejected().to_string(), [8, 9, 10, 11].map(none).join("; "));
}

#[test]
fn protobuf_pushes_become_entries() {
    let body = protobuf(&[
        (
            r#"{app="web", job="j"}"#,
            &[
                (1_718_452_800, 1, "the \"line\"", &[("trace_id", "0af7"), ("detected_level", "warn")]),
                (0, 0, "{\"level\":\"error\"}", &[]),
            ],
        ),
        (r#"{level="info"}"#, &[(1_718_452_801, 0, "level=debug x", &[])]),
        ("", &[]),
    ]);
    let mut out = Decoded::default();
    Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), EXPECTED);
}

#[test]
fn parameters_count() {
    let mut params = Params::default();
    params.set("_stream_fields", "app").unwrap();
    params.set("ignore_fields", "job,secret").unwrap();
    params.set("extra_fields", "dc=b").unwrap();
    let mut out = Decoded::default();
    let body =
        r#"{"streams":[{"stream":{"app":"web","job":"j","dc":"a"},"values":[["0","x",{"secret":"s"}]]}]}"#;
    Push::new(&params).json(body.as_bytes(), NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), "NOW Unknown x {app=web} dc=b\n");
}

#[test]
fn over_long_lines_and_labels_are_rejected_beside_others() {
    let mut out = Decoded::new(Limits { max_line_bytes: 20, ..Limits::default() });
    let body = format!(
        r#"{{"streams":[{{"stream":{{}},"values":[["0","{}",{{"a":"b"}}],["0","short"]]}},{{"stream":{{"a":"{0}"}},"values":[["0","x"]]}}]}}"#,
        "y".repeat(21)
    );
    Push::new(&Params::default()).json(body.as_bytes(), NOW, &mut out).unwrap();
    assert_eq!(
        out.rejected().to_string(),
        "row 0: it has 21 bytes; max_line_bytes is 20; row 2: its labels: it has 29 bytes; max_line_bytes is 20"
    );
    assert_eq!(show(&mut out), "NOW Unknown short {}\n");
}

#[test]
fn more_labels_than_a_line_may_have_are_not_collected() {
    for (more, told) in [(0, ""), (1, "row 0: its labels are more than 16384")] {
        let labels: Vec<_> = (0..MAX_FIELDS + more).map(|i| format!(r#""a":"{i}""#)).collect();
        let labels = labels.join(",");
        let body = format!(r#"{{"streams":[{{"stream":{{{labels}}},"values":[["0","x"]]}}]}}"#);
        let mut push = Push::new(&Params::default());
        let mut out = Decoded::default();
        push.json(body.as_bytes(), NOW, &mut out).unwrap();
        assert_eq!((out.rejected().to_string(), push.labels.len()), (told.to_owned(), MAX_FIELDS + more));
    }
}

#[test]
fn a_small_body_does_not_mean_a_lot() {
    let labels = format!("{{a=\"{}\"}}", "x".repeat(100_000));
    let entries = vec![(0, 0, "", &[][..]); 1_000];
    let body = protobuf(&[(&labels, &entries)]);
    let mut out = Decoded::new(Limits { max_entries_bytes: 1 << 20, ..Limits::default() });
    let error = Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap_err();
    assert!(matches!(error, Error::Limit { name: "max_entries_bytes", .. }), "{error}");
    assert!(out.entries_bytes() < 2 << 20);
}

#[test]
fn metadata_change_no_label() {
    let expected = "NOW Error x {level=info pod=p} level#1=error pod#1=q t=1 t#1=2\n\
                    NOW Info y {level=info pod=p}\n";
    let body = r#"{"streams":[{"stream":{"level":"info","pod":"p"},"values":[
        ["1718452800000000000","x",{"level":"error","pod":"q","t":"1","t":"2"}],["1718452800000000000","y"]]}]}"#;
    assert_eq!(json(body).as_deref(), Ok(expected));
    let twice = r#"{"streams":[{"stream":{"a":"1","a":"2"},"values":[["0","x",{"a":"3"}]]}]}"#;
    assert_eq!(json(twice).as_deref(), Ok("NOW Unknown x {a=1 a#1=2} a#2=3\n"));
    // What is said again means nothing new, and makes no other stream.
    let alike = r#"{"streams":[{"stream":{"a":"1","a":"1"},"values":[["0","x",{"a":"1","t":"1","t":"1"}],["0","y",{"t":"2"}]]}]}"#;
    assert_eq!(json(alike).as_deref(), Ok("NOW Unknown x {a=1} t=1\nNOW Unknown y {a=1} t=2\n"));
    let metadata = [("app", "x"), ("t", "1"), ("t", "1")];
    let body = protobuf(&[(r#"{app="x",app="x"}"#, &[(0, 0, "l", &metadata)])]);
    let mut out = Decoded::default();
    Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), "NOW Unknown l {app=x} t=1\n");
    let metadata = [("level", "error"), ("pod", "q"), ("t", "1"), ("t", "2")];
    let lines = [(1_718_452_800, 0, "x", &metadata[..]), (1_718_452_800, 0, "y", &[])];
    let body = protobuf(&[(r#"{level="info", pod="p"}"#, &lines)]);
    let mut out = Decoded::default();
    Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), expected);
}

#[test]
fn text_that_is_cut_or_no_utf8_is_kept_as_it_can_be() {
    let body = r#"{"streams":[{"stream":{"a":"b"},"values":[["0","cut \ud83d"],["0","\ud83d\ude00"]]}]}"#;
    assert_eq!(json(body).as_deref(), Ok("NOW Unknown cut \\ud83d {a=b}\nNOW Unknown \u{1f600} {a=b}\n"));
    let mut body = protobuf(&[(r#"{a="?"}"#, &[(0, 0, "h?ss", &[("k", "?")])])]);
    for byte in body.iter_mut().filter(|byte| **byte == b'?') {
        *byte = 0xe4;
    }
    let mut out = Decoded::default();
    Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap();
    assert_eq!(show(&mut out), "NOW Unknown h\\xE4ss {a=\\xE4} k=\\xE4\n");
}

#[test]
fn what_is_no_push_is_an_error() {
    for (body, detail) in [
        ("{\"_msg\":\"x\"}", "it has no `streams`, at byte 0"),
        (
            "{\"streams\":[{\"labels\":\"{a=\\\"b\\\"}\",\"entries\":[{\"ts\":\"2024-01-01T00:00:00Z\",\"line\":\"x\"}]}]}",
            "a stream has no `values`, at byte 12",
        ),
        ("{\"streams\":[{\"values\":[[\"1\",\"x\"]],\"values\":[]}]}", "`values` is there twice"),
        ("{\"streams\":[{\"stream\":{},\"stream\":{},\"values\":[]}]}", "`stream` is there twice"),
        ("", "at byte 0"),
        ("[]", "at byte 0"),
        ("{\"streams\":[{\"stream\":{\"a\":\"b\"},\"values\":[[]]}]}", "a value has neither time nor line"),
        ("{\"streams\":[{\"stream\":{\"a\":\"b\"},\"values\":[[\"1\"]]}]}", "a value has no line, at byte"),
        ("{\"streams\":[{\"stream\":{\"a\":\"b\"},\"values\":[[\"1\",2]]}]}", "at byte"),
        ("{\"streams\":[{\"stream\":{\"a\":\"b\"},\"values\":[[\"1\",\"x\",1]]}]}", "at byte"),
        ("{\"streams\":[]} x", "at byte 15"),
    ] {
        let error = json(body).unwrap_err().to_string();
        assert!(error.starts_with("not a Loki push in JSON: ") && error.contains(detail), "{error}");
    }
    let body = protobuf(&[("{app=web}", &[])]);
    let error = Push::new(&Params::default()).protobuf(&body, NOW, &mut Decoded::default()).unwrap_err();
    assert_eq!(error.to_string(), "not a Loki push in protobuf: labels lack a \", at byte 13");
    let body = protobuf(&[("{}", &[(u64::MAX / 4, 0, "far", &[])])]);
    let mut out = Decoded::default();
    Push::new(&Params::default()).protobuf(&body, NOW, &mut out).unwrap();
    assert!(out.rejected().to_string().contains("1678 to 2261"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(any: Vec<u8>, at: usize, byte: u8, text in "\\{\"streams\":\\[[{}\\[\\]\":,a0]{0,40}") {
        let mut body = protobuf(&[("{a=\"b\"}", &[(1, 2, "x", &[("k", "v")])])]);
        let at = at % body.len();
        body[at] = byte;
        let mut push = Push::new(&Params::default());
        for body in [&any[..], &body, text.as_bytes()] {
            let mut out = Decoded::default();
            let _refused_or_not = push.protobuf(body, NOW, &mut out);
            let _refused_or_not = push.json(body, NOW, &mut out);
            show(&mut out);
        }
    }
}
