//! Lines to entries, and every leaf compared with what another parser reads.

use super::*;
use duramen::{EntryRef, Value};
use std::collections::BTreeMap;

const NOW: i64 = 1_718_452_800_000_000_000;

fn flatten(line: &str) -> Result<String, JsonError> {
    let mut entry = EntryBuf::default();
    JsonFlattener::new(&ReaderOptions::new(NOW)).flatten(line, 7, &mut entry)?;
    let e = EntryRef::decode(entry.finish().unwrap()).unwrap();
    let fields: Vec<String> = e.fields().map(|(name, value)| format!("{name}={value:?}")).collect();
    Ok(format!("{} {:?} {:?} {}", e.time, e.level, e.message, fields.join(" ")))
}

#[test]
fn lines_become_entries() {
    for (line, expected) in [
        (r#"{}"#, r#"7 Unknown "" "#),
        (
            r#"  {"a":1 , "b":{"c":true,"d":{"e":null}}} "#,
            r#"7 Unknown "" a=Int(1) b.c=Bool(true) b.d.e=Null"#,
        ),
        (
            r#"{"a":[1, {"x":2}],"b":{},"c":{ }}"#,
            r#"7 Unknown "" a=Json("[1, {\"x\":2}]") b=Json("{}") c=Json("{ }")"#,
        ),
        (
            r#"{"a":NaN,"b":-Infinity,"c":[1,NaN],"d":["NaN"]}"#,
            r#"7 Unknown "" a=Str("NaN") b=Str("-Infinity") c=Str("[1,NaN]") d=Json("[\"NaN\"]")"#,
        ),
        (
            r#"{"MESSAGE":[27,91,49,109,104, 228,10],"PRIORITY":"3","_X":[1,2]}"#,
            r#"7 Error "\u{1b}[1mh\\xE4\n" MESSAGE=Str("\u{1b}[1mh\\xE4\n") PRIORITY=Str("3") _X=Json("[1,2]")"#,
        ),
        (
            r#"{"MESSAGE":[256],"a":{"MESSAGE":[65]}}"#,
            r#"7 Unknown "" MESSAGE=Json("[256]") a.MESSAGE=Json("[65]")"#,
        ),
        (
            r#"{"n":1.50,"m":-0,"k":12345678901234567890}"#,
            r#"7 Unknown "" n=Number("1.50") m=Number("-0") k=Number("12345678901234567890")"#,
        ),
        (
            r#"{"msg":"a\"b","level":"warn","ts":1669575482.5}"#,
            r#"1669575482500000000 Warn "a\"b" msg=Str("a\"b") level=Str("warn") ts=Number("1669575482.5")"#,
        ),
        (
            r#"{"_msg":"hello","_time":"2024-06-27T00:00:07Z","msg":"x"}"#,
            r#"1719446407000000000 Unknown "hello" msg=Str("x")"#,
        ),
        (r#"{"_msg":5,"_time":"never"}"#, r#"7 Unknown "5" _time#1=Str("never")"#),
        (r#"{"_msg":"","msg":"x"}"#, r#"7 Unknown "x" msg=Str("x")"#),
        (r#"{"_msg":null,"msg":""}"#, r#"7 Unknown "" msg=Str("")"#),
        (r#"{"a":1,"b":2,"a":3,"a":4}"#, r#"7 Unknown "" a#1=Int(1) b=Int(2) a#2=Int(3) a=Int(4)"#),
        (r#"{"a":{"b":1},"a.b":2}"#, r#"7 Unknown "" a.b#1=Int(1) a.b=Int(2)"#),
        (r#"{"level":30}"#, r#"7 Info "" level=Int(30)"#),
        (r#"{"short_message":"x","level":3}"#, r##"7 Error "x" short_message=Str("x") level#1=Int(3)"##),
        (
            r#"{"message":"x","level":400,"level_name":"ERROR","level":401}"#,
            r##"7 Error "x" message=Str("x") level#1=Int(400) level_name=Str("ERROR") level#2=Int(401)"##,
        ),
        (
            r#"{"level":"custom","level#1":"x","severity":"warn"}"#,
            r##"7 Warn "" level#2=Str("custom") level#1=Str("x") severity=Str("warn")"##,
        ),
        (r#"{"msg":"x","level":3}"#, r#"7 Unknown "x" msg=Str("x") level=Int(3)"#),
        (
            r#"{"@level":"error","@message":"x","@module":"terraform.ui"}"#,
            r#"7 Error "x" @level=Str("error") @message=Str("x") @module=Str("terraform.ui")"#,
        ),
        (
            r#"{"level":"INFO","fields":{"message":"up","port":80},"target":"x"}"#,
            r#"7 Info "up" level=Str("INFO") fields.message=Str("up") fields.port=Int(80) target=Str("x")"#,
        ),
        (
            r#"{"severity":"ERROR","textPayload":"up"}"#,
            r#"7 Error "up" severity=Str("ERROR") textPayload=Str("up")"#,
        ),
        (r#"{"file":"x","line":"12"}"#, r#"7 Unknown "" file=Str("x") line=Str("12")"#),
        (
            r#"{"Level":"Fatal","MessageTemplate":"x {A}","RenderedMessage":"x 1"}"#,
            r#"7 Fatal "x 1" Level=Str("Fatal") MessageTemplate=Str("x {A}") RenderedMessage=Str("x 1")"#,
        ),
        (
            r#"{"instant":{"epochSecond":1717236000,"nanoOfSecond":123000000}}"#,
            r#"1717236000123000000 Unknown "" instant.epochSecond=Int(1717236000) instant.nanoOfSecond=Int(123000000)"#,
        ),
        (
            r#"{"timestamp":{"seconds":1717236000,"nanos":5},"jsonPayload":{"message":"up"}}"#,
            r#"1717236000000000005 Unknown "up" timestamp.seconds=Int(1717236000) timestamp.nanos=Int(5) jsonPayload.message=Str("up")"#,
        ),
        (
            r#"{"timestamp":{"seconds":"1717236000","nanos":5}}"#,
            r#"1717236000000000005 Unknown "" timestamp.seconds=Str("1717236000") timestamp.nanos=Int(5)"#,
        ),
        (
            r#"{"timestampSeconds":1717236000,"timestampNanos":5}"#,
            r#"1717236000000000005 Unknown "" timestampSeconds=Int(1717236000) timestampNanos=Int(5)"#,
        ),
        (
            r##"{"Event":{"System":{"Level":2,"TimeCreated":{"#attributes":{"SystemTime":"2024-06-01T10:00:00.5Z"}}}}}"##,
            r##"1717236000500000000 Error "" Event.System.Level=Int(2) Event.System.TimeCreated.#attributes.SystemTime=Str("2024-06-01T10:00:00.5Z")"##,
        ),
        (
            r#"{"calendarTime":"Sat Jun  1 10:00:00 2024 UTC","unixTime":1717236000}"#,
            r#"1717236000000000000 Unknown "" calendarTime=Str("Sat Jun  1 10:00:00 2024 UTC") unixTime=Int(1717236000)"#,
        ),
        (
            r#"{"log":"17:20:29.299 ERROR o.a.c\n"}"#,
            r#"7 Error "17:20:29.299 ERROR o.a.c\n" log=Str("17:20:29.299 ERROR o.a.c\n")"#,
        ),
        (
            r#"{"level":"info","msg":"record","record":{"error_severity":"FATAL","message":"no"}}"#,
            r#"7 Fatal "no" level=Str("info") msg=Str("record") record.error_severity=Str("FATAL") record.message=Str("no")"#,
        ),
        (
            r#"{"TimeUnixNano":-6795364578871345152,"time":12.5,"Log":{"time":"2023-01-29T09:20:29.5Z"}}"#,
            r#"1674984029500000000 Unknown "" TimeUnixNano=Int(-6795364578871345152) time=Number("12.5") Log.time=Str("2023-01-29T09:20:29.5Z")"#,
        ),
        (r#"{"":"WARN x","message":"y","a":{"":2}}"#, r#"7 Warn "WARN x" message=Str("y") a.=Int(2)"#),
        (r#"{"":"x","_msg":"y"}"#, r##"7 Unknown "x" _msg#1=Str("y")"##),
        (r#"{"_msg":"y","":"x"}"#, r##"7 Unknown "y" #1=Str("x")"##),
        (r#"{"":"","message":"y"}"#, r#"7 Unknown "y" message=Str("y")"#),
        (r#"{"":null,"":1}"#, r##"7 Unknown "1" #1=Null"##),
        (r#"{"":true,"message":"y"}"#, r#"7 Unknown "true" message=Str("y")"#),
        (r#"{"_msg":false}"#, r#"7 Unknown "false" "#),
        (r#"{"message":false}"#, r#"7 Unknown "" message=Bool(false)"#),
        (r#"{"":[1],"a":{}}"#, r#"7 Unknown "[1]" a=Json("{}")"#),
        (r#"{"k\u0041\"":"\ud83d\ude00é"}"#, r#"7 Unknown "" kA"=Str("😀é")"#),
    ] {
        assert_eq!(flatten(line).as_deref(), Ok(expected), "{line}");
    }
}

#[test]
fn rules_of_the_sender_come_first() {
    let rules = FieldRules {
        time_fields: vec!["when".into(), "at".into()],
        message_fields: vec!["what.text".into(), "line".into()],
        ignore_fields: vec!["secret".into(), "debug.*".into()],
        extra_fields: vec![("app".into(), "web".into())],
    };
    let mut flattener = JsonFlattener::with_rules(&ReaderOptions::new(NOW), rules);
    let mut entry = EntryBuf::new(["app"]);
    for (line, expected) in [
        (
            r#"{"_msg":"other","what":{"text":"hello"},"at":"2024-06-27T00:00:07Z","_time":1,"secret":1,"debug":{"a":1}}"#,
            r#"1719446407000000000 "hello" _msg#1=Str("other") _time#1=Int(1) | app=Str("web")"#,
        ),
        (
            r#"{"line":"b","what":{"text":""},"when":"no","at":1719446407,"app":"mine"}"#,
            r#"1719446407000000000 "b" what.text=Str("") when=Str("no") | app=Str("web")"#,
        ),
        (r#"{"message":"m","_time":"0"}"#, r#"7 "m" message=Str("m") | app=Str("web")"#),
    ] {
        flattener.flatten(line, 7, &mut entry).unwrap();
        let e = EntryRef::decode(entry.finish().unwrap()).unwrap();
        let show = |(name, value): (&str, Value<'_>)| format!("{name}={value:?} ");
        let (fields, stream): (String, String) =
            (e.fields().map(show).collect(), e.stream().map(show).collect());
        assert_eq!(format!("{} {:?} {fields}| {}", e.time, e.message, stream.trim_end()), expected, "{line}");
    }
}

#[test]
fn what_is_no_object_is_an_error() {
    for line in [
        "",
        " ",
        "1",
        "[1]",
        "\"a\"",
        "{",
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"a":1"#,
        r#"{"a":1} x"#,
        r#"{"a":01}"#,
        r#"{"a":.5}"#,
        r#"{"a":Nan}"#,
        r#"{"a":-NaN}"#,
        r#"{"a":"\ud800"#,
        r#"{"a":"\x"}"#,
        "{\"a\":\"\u{1}\"}",
        r#"{a:1}"#,
        r#"{"a":1,}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":tru}"#,
        r#"{"a":{"b":1}"#,
    ] {
        assert!(matches!(flatten(line), Err(JsonError::Syntax(_))), "{line}");
    }
}

#[test]
fn limits_are_errors_and_bound_the_work() {
    let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert!(flatten(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(flatten(&nested(MAX_DEPTH + 1)), Err(JsonError::Limit));
    assert_eq!(flatten(&nested(100_000)), Err(JsonError::Limit));
    let many =
        |n: usize| format!("{{{}}}", (0..n).map(|i| format!("\"f{i}\":1")).collect::<Vec<_>>().join(","));
    assert!(flatten(&many(16_384)).is_ok());
    assert_eq!(flatten(&many(16_385)), Err(JsonError::Limit));
    assert_eq!(flatten(&format!("{{\"{}\":1}}", "n".repeat(1_020))), Err(JsonError::Limit));
}

/// What serde_json reads, flattened by the same rules, the last of a repeated name.
pub(crate) fn leaves(prefix: &str, value: &serde_json::Value, out: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&name, value, out);
            }
        }
        value => _ = out.insert(prefix.to_owned(), value.to_string()),
    }
}

fn as_json(value: Value<'_>) -> String {
    match value {
        Value::Str(s) => serde_json::Value::from(s).to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".to_owned(),
        Value::Number(s) | Value::Json(s) => {
            serde_json::from_str::<serde_json::Value>(s).unwrap().to_string()
        }
    }
}

fn json_value() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e300..1e300f64).prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[a-z\"\\\\é]{1,4}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn every_leaf_is_what_another_parser_reads(value in proptest::collection::btree_map("[a-z]{1,3}", json_value(), 0..8)) {
        let value = serde_json::Value::Object(value.into_iter().collect());
        let line = value.to_string();
        // Both sides read numbers from the text, with the same parser's rounding.
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let mut expected = BTreeMap::new();
        if value.as_object().is_some_and(|o| !o.is_empty()) {
            leaves("", &value, &mut expected);
        }
        let (mut parser, mut fields) = (JsonParser::new(), Fields::new());
        parser.parse(&line, &mut fields).unwrap();
        let mut found = BTreeMap::new();
        fields.for_each(&line, |name, value| _ = found.insert(name.to_owned(), as_json(value)));
        proptest::prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\\[\\]\":,a\\\\u0-9. e-]{0,60}") {
        let (mut parser, mut fields) = (JsonParser::new(), Fields::new());
        let ours = parser.parse(&text, &mut fields).is_ok();
        let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|v| v.is_object());
        // A parser that reads numbers as doubles refuses some that are only too large for one.
        if theirs { proptest::prop_assert!(ours, "{}", text); }
    }
}

/// The fields that were read of a line, as they are shown.
fn shown(line: &str, fields: &mut Fields) -> Vec<String> {
    let mut shown = Vec::new();
    fields.for_each(line, |name, value| shown.push(format!("{name}={value:?}")));
    shown
}

/// Values as text, and what only looks like one.
fn json() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let text = r#"([a-z .]{0,40}|[äß☃😀\u{7f}]|\\["\\/bfnrtu]|\\u(00[0-9a-fA-F]{2}|[0-9a-f]{4})){0,4}"#;
    let number = r"-?(0|[1-9][0-9]{0,3}|[0-9]{1,70})(\.[0-9]{0,3})?([eE][+-]?[0-9]{0,2})?";
    let name = prop_oneof![Just("MESSAGE".to_owned()), "[a-c]{0,2}", r#"(\\n|é|[a-z]{30})"#];
    let leaf = prop_oneof![
        text.prop_map(|text| format!("\"{text}\"")),
        number,
        Just("-Infinity".to_owned()),
        "(true|false|null|NaN|\\{ ?\\}|\\[\\]|[tfn-])",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let member = (name.clone(), "[ \t\r\n]?", inner.clone());
        let member =
            member.prop_map(|(name, space, value)| format!("\"{name}\"{space}:{space}{value}{space}"));
        prop_oneof![
            4 => proptest::collection::vec(member, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
            1 => proptest::collection::vec(inner, 0..3).prop_map(|all| format!("[{}]", all.join(", "))),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_read_quickly_is_what_the_library_reads(
        line in json(),
        changed: proptest::sample::Index,
        by in proptest::sample::select(vec!["", "", "", "", "\"", "\\", "{", "}", "[", ",", ":", "\n", "\u{1f}", "\u{b}", "0", " x"]),
    ) {
        let mut line = line;
        let at = changed.index(line.len() + 1);
        if line.is_char_boundary(at) {
            line.insert_str(at, by);
        }
        let mut quick = Fields::new();
        quick.clear();
        if quick::read(&line, &mut String::new(), &mut Vec::new(), &mut quick).is_some() {
            let mut any = Fields::new();
            proptest::prop_assert_eq!(JsonParser::new().parse_any(&line, &mut any), Ok(()), "{:?}", line);
            proptest::prop_assert_eq!(shown(&line, &mut quick), shown(&line, &mut any), "{:?}", line);
        }
    }
}
