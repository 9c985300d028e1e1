//! Bodies as clients send them, and bytes as nobody should.

use super::*;
use crate::testing::{NOW, show};
use crate::{Error, Limits};

fn document(body: &str) -> Result<String> {
    document_with(&Params::default(), body)
}

fn document_with(params: &Params, body: &str) -> Result<String> {
    let mut out = Decoded::default();
    JsonLines::new(params, NOW).document(body.as_bytes(), NOW, &mut out)?;
    Ok(show(&mut out))
}

#[test]
fn the_shapes_of_a_body_mean_the_same() {
    let expected = "NOW Warn a {} msg=a level=warn\nNOW Unknown b {} msg=b\n";
    for body in [
        "{\"msg\":\"a\",\"level\":\"warn\"}\n{\"msg\":\"b\"}",
        "\r\n{\"msg\":\"a\",\"level\":\"warn\"}\r\n\n {\"msg\":\"b\"} \n",
        "[{\"msg\":\"a\",\"level\":\"warn\"},{\"msg\":\"b\"}]",
        " [\n{\"msg\":\"a\",\n\"level\":\"warn\"}\n,{\"msg\":\"b\"}\n] ",
        "{\n\"msg\":\"a\",\"level\":\n\"warn\"\n}\n{\"msg\":\"b\"}",
        "{\n\"msg\":\"a\",\"level\":\"warn\"}{\"msg\":\"b\"}",
    ] {
        assert_eq!(document(body).as_deref(), Ok(expected), "{body}");
    }
    for body in [
        "\u{feff}{\"msg\":\"a\",\"level\":\"warn\"}\n{\"msg\":\"b\"}",
        "\u{feff}[{\"msg\":\"a\",\"level\":\"warn\"},{\"msg\":\"b\"}]",
        "\u{feff}{\n\"msg\":\"a\",\"level\":\"warn\"}{\"msg\":\"b\"}",
    ] {
        assert_eq!(document(body).as_deref(), Ok(expected), "{body}");
    }
    let cut = document(r#"[{"msg":"cut \ud83d"},{"msg":"b"}]"#);
    assert_eq!(cut.as_deref(), Ok("NOW Unknown cut \\ud83d {} msg=cut \\ud83d\nNOW Unknown b {} msg=b\n"));
    for body in ["", "\n", "[]", " [ ] "] {
        assert_eq!(document(body).as_deref(), Ok(""), "{body}");
    }
}

#[test]
fn times_are_of_any_unit_and_now_where_there_is_none() {
    for (value, time) in [
        ("\"2024-06-27T00:00:07Z\"", "1719446407000000000"),
        ("\"2024-06-27T02:00:07.000000001+02:00\"", "1719446407000000001"),
        ("1719446407", "1719446407000000000"),
        ("1719446407123", "1719446407123000000"),
        ("1719446407123456", "1719446407123456000"),
        ("\"1719446407123456789\"", "1719446407123456789"),
        ("\"0\"", "NOW"),
        ("0", "NOW"),
        ("\"\"", "NOW"),
        ("null", "NOW"),
    ] {
        let got = document(&format!("{{\"_time\":{value},\"_msg\":\"m\"}}"));
        assert_eq!(got, Ok(format!("{time} Unknown m {{}}\n")), "{value}");
    }
    let got = document("{\"_time\":\"yesterday\",\"_msg\":\"m\"}").unwrap();
    assert_eq!(got, "NOW Unknown m {} _time#1=yesterday\n", "no line is lost for its time");
}

#[test]
fn parameters_say_what_fields_mean() {
    let mut params = Params::default();
    for (name, value) in [
        ("_msg_field", "text,line"),
        ("_time_field", "at"),
        ("_stream_fields", "app,host"),
        ("ignore_fields", "x,tmp.*"),
        ("extra_fields", "host=h1"),
    ] {
        params.set(name, value).unwrap();
    }
    let body =
        r#"{"line":"l","text":"","at":1719446407,"app":"web","host":"h0","x":1,"tmp":{"a":1},"n":1.50}"#;
    assert_eq!(
        document_with(&params, body).unwrap(),
        "1719446407000000000 Unknown l {app=web host=h1} text= n=1.50\n"
    );
}

#[test]
fn a_bad_row_costs_itself() {
    let mut out = Decoded::new(Limits { max_line_bytes: 40, ..Limits::default() });
    let long = format!("{{\"_msg\":\"{}\"}}\n", "x".repeat(40));
    let body = [
        &b"{\"_msg\":\"a\"}\n{\"_msg\":\n[1]\n"[..],
        long.as_bytes(),
        b"{\"_msg\":\"\xff\"}\nx {}\n{\"_msg\":\"b\"}\n",
    ]
    .concat();
    JsonLines::new(&Params::default(), NOW).lines(&body, NOW, &mut out).unwrap();
    let reasons: Vec<_> = out.rejected().first.iter().map(|r| format!("{} {}", r.index, r.reason)).collect();
    assert_eq!(out.rejected().count, 5);
    assert!(reasons[0].starts_with("1 not a JSON object: EOF"), "{reasons:?}");
    assert!(reasons[1].starts_with("2 not a JSON object"), "{reasons:?}");
    assert_eq!(reasons[2], "3 it has 51 bytes; max_line_bytes is 40");
    assert_eq!(reasons[3], "4 not UTF-8 at its byte 9");
    assert!(reasons[4].starts_with("5 not a JSON object"), "{reasons:?}");
    assert_eq!(show(&mut out), "NOW Unknown a {}\nNOW Unknown b {}\n");
}

/// What came of a body of lines: the rows, and which were rejected.
fn lines_of(
    take: fn(&mut JsonLines, &[u8], &mut Decoded) -> Result<()>,
    body: &[u8],
) -> (String, Vec<String>) {
    let mut out = Decoded::new(Limits { max_line_bytes: 60, ..Limits::default() });
    take(&mut JsonLines::new(&Params::default(), NOW), body, &mut out).unwrap();
    let rejected = out.rejected().first.iter().map(|r| format!("{} {}", r.index, r.reason)).collect();
    (show(&mut out).replace("NOW Unknown ", "").replace(" {}", ""), rejected)
}

fn lines(body: &[u8]) -> (String, Vec<String>) {
    lines_of(|rows, body, out| rows.lines(body, NOW, out), body)
}

fn whole(body: &[u8]) -> (String, Vec<String>) {
    lines_of(|rows, body, out| rows.whole(body, NOW, out), body)
}

#[test]
fn objects_stand_one_after_another_or_in_arrays() {
    for body in [
        r#"{"_msg":"a"}{"_msg":"b]},{[","l":[{}]}{"_msg":"c\\"}"#,
        "\u{feff}{\"_msg\":\"a\"} {\"_msg\":\"b]},{[\",\"l\":[{}]}\t{\"_msg\":\"c\\\\\"}\r\n",
        r#"[{"_msg":"a"},{"_msg":"b]},{[","l":[{}]},{"_msg":"c\\"}]"#,
        "[\n{\"_msg\":\"a\"},\n{\"_msg\":\"b]},{[\",\"l\":[{}]},\n{\"_msg\":\"c\\\\\"}\n]\n",
        "[{\"_msg\":\"a\"}]\n\n[]\n[{\"_msg\":\"b]},{[\",\"l\":[{}]}\n,{\"_msg\":\"c\\\\\"}]",
    ] {
        let expected = ("a\nb]},{[ l=[{}]\nc\\\n".to_owned(), vec![]);
        assert_eq!(lines(body.as_bytes()), expected, "{body}");
        assert_eq!(whole(body.as_bytes()), expected, "{body}");
    }
    // Their line may be longer than each of them may be.
    let many = format!("[{}]", vec![r#"{"_msg":"m"}"#; 1_000].join(","));
    assert_eq!(lines(many.as_bytes()), ("m\n".repeat(1_000), vec![]));
    assert_eq!(
        document(r#"{"msg":"a"}{"msg":"b"}"#).unwrap(),
        "NOW Unknown a {} msg=a\nNOW Unknown b {} msg=b\n"
    );
}

#[test]
fn what_is_no_object_among_others_costs_itself() {
    let long = format!(r#"[{{"_msg":"a"}},{{"_msg":"{}"}},{{"_msg":"b"}}]"#, "x".repeat(60));
    let cut = r#"[{"_msg":"a"},{"_msg":"b"},{"_msg":"#;
    for (body, reason) in [
        (r#"[{"_msg":"a"},{"_msg":!},{"_msg":"b"}]"#, "1 not a JSON object: "),
        (&long, "1 it has 71 bytes; max_line_bytes is 60"),
        (cut, "2 not a JSON object: EOF"),
        ("{\"_msg\":\"a\"} no {\"_msg\":\"x\"}\n{\"_msg\":\"b\"}", "1 not a JSON object: "),
        ("[{\"_msg\":\"a\"},7]\n{\"_msg\":\"b\"}", "1 not a JSON object: "),
        ("[2024-06-27] {\"_msg\":\"x\"}\n{\"_msg\":\"a\"}{\"_msg\":\"b\"}", "0 not a JSON object: "),
    ] {
        let (rows, rejected) = whole(body.as_bytes());
        assert_eq!((&*rows, rejected.len()), ("a\nb\n", 1), "{body}: {rejected:?}");
        assert!(rejected[0].starts_with(reason), "{body}: {rejected:?}");
        assert_eq!(lines(body.as_bytes()), (rows, rejected), "{body}");
    }
    let (rows, rejected) = whole(b"{\"_msg\":\"a\"}{\"_msg\":\"\xff\"}{\"_msg\":\"b\"}");
    assert_eq!((&*rows, &*rejected), ("a\nb\n", &["1 not UTF-8 at its byte 9".to_owned()][..]));
}

#[test]
fn an_object_may_go_over_several_lines_of_a_whole_body() {
    let body = b"[\n  {\n    \"_msg\": \"a\"\n  },\n  {\n    \"_msg\": \"b\"\n  }\n]\n{\"_msg\":\"c\"}";
    assert_eq!(whole(body), ("a\nb\nc\n".to_owned(), vec![]));
    // A line that was cut takes no other with it.
    for cut in ["{\"_msg\":\"x", "{\"_msg\":", "[{\"_msg\":\"x\",", "{\"x\":[", "{"] {
        for lost in 1..3 {
            let body = format!("{}\n{{\"_msg\":\"a\"}}\n{{\"_msg\":\"b\"}}\n", vec![cut; lost].join("\n"));
            let (rows, rejected) = whole(body.as_bytes());
            assert_eq!((&*rows, rejected.len()), ("a\nb\n", lost), "{body}: {rejected:?}");
        }
    }
}

#[test]
fn an_array_that_is_no_json_is_an_error_as_a_whole() {
    for body in ["[{\"a\":1}", "[{\"a\":1},]", "[{\"a\":1}{}]", "{\n\"a\":1", "{\n\"a\":1,}", "{\n}]"] {
        assert!(matches!(document(body), Err(Error::Malformed { .. })), "{body}");
    }
    let error = document("[{\"a\":1},!]").unwrap_err();
    assert_eq!(error.to_string(), "not JSON: expected value, at byte 9");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(body: Vec<u8>, text in "[{}\\[\\]\":,a_mstie\\\\0-9. \n]{0,60}") {
        for body in [&body[..], text.as_bytes()] {
            let mut out = Decoded::default();
            let mut rows = JsonLines::new(&Params::default(), NOW);
            let _refused_or_not = rows.document(body, NOW, &mut out);
            rows.lines(body, NOW, &mut out).unwrap();
            rows.whole(body, NOW, &mut out).unwrap();
            show(&mut out);
        }
    }
}

#[test]
fn a_row_nested_too_deep_costs_itself() {
    let deep = format!("{{\"msg\":\"d\",\"a\":{}\"\\\"]}}\"{}}}", "[".repeat(300), "]".repeat(300));
    for body in [
        format!("[{{\"msg\":\"a\"}},{deep} , {{\"msg\":\"b\"}}]"),
        format!("{{\n\"msg\":\"a\"}}{deep}{{\"msg\":\"b\"}}"),
        format!("{{\n\"msg\":\"a\"}} [{{\"msg\":\"b\"}},{deep}]"),
    ] {
        let mut out = Decoded::default();
        JsonLines::new(&Params::default(), NOW).document(body.as_bytes(), NOW, &mut out).unwrap();
        assert_eq!(out.rejected().count, 1, "{body}");
        assert_eq!(show(&mut out), "NOW Unknown a {} msg=a\nNOW Unknown b {} msg=b\n", "{body}");
    }
    for body in ["[", "[{\"msg\":\"a\"},"] {
        let error = document(&format!("{body}{}", "[".repeat(300))).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
}
