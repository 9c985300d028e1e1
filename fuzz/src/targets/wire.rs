//! What log shippers send, to entries.
//!
//! ```text
//! input   which form, or the length of a piece, u8 | the body
//! ```

use super::Seed;
use duramen::EntryRef;
use duramen_wire::framing::Framer;
use duramen_wire::{
    Decoded, Limits, Params, datadog, elastic::Bulk, fluent::Forward, gelf, journald::Export,
    jsonline::JsonLines, loki::Push, otlp, splunk, syslog, vlagent,
};

const NOW: i64 = 1_718_452_800_000_000_000;

fn decoded() -> Decoded {
    Decoded::new(Limits { max_line_bytes: 4 << 10, max_entries_bytes: 1 << 20 })
}

/// Every entry can be read, and there are as many as are said to be.
fn check(out: &mut Decoded) -> Vec<Vec<u8>> {
    let accepted = out.accepted();
    let mut entries = Vec::new();
    for batch in out.batches() {
        for entry in batch.entries() {
            let e = EntryRef::decode(entry).unwrap();
            e.stream().chain(e.fields()).for_each(drop);
            entries.push(entry.to_vec());
        }
    }
    assert_eq!(entries.len() as u64, accepted);
    entries
}

/// Loki's push.
pub fn loki(input: &[u8]) {
    let [form, body @ ..] = input else { return };
    let mut out = decoded();
    let mut push = Push::new(&Params::default());
    let _refused_or_not =
        if form % 2 == 0 { push.protobuf(body, NOW, &mut out) } else { push.json(body, NOW, &mut out) };
    check(&mut out);
}

/// OpenTelemetry's logs.
pub fn otlp(input: &[u8]) {
    let [form, body @ ..] = input else { return };
    let mut out = decoded();
    let mut logs = otlp::Logs::new(&Params::default());
    let _refused_or_not =
        if form % 2 == 0 { logs.protobuf(body, NOW, &mut out) } else { logs.json(body, NOW, &mut out) };
    check(&mut out);
    otlp::reply_json(out.rejected());
    otlp::reply_protobuf(out.rejected());
}

/// Fluent's forward protocol: the same whatever pieces it comes in.
pub fn fluent(input: &[u8]) {
    let [piece, bytes @ ..] = input else { return };
    let read = |piece: usize| {
        let (mut out, mut chunks) = (decoded(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 16);
        let outcome =
            bytes.chunks(piece).try_for_each(|bytes| forward.feed(bytes, NOW, &mut out, &mut chunks));
        (outcome.is_ok(), check(&mut out), chunks)
    };
    assert_eq!(read(usize::from(*piece) + 1), read(1 << 16));
}

/// systemd's journal export format: the same whatever pieces it comes in.
pub fn journald(input: &[u8]) {
    let [piece, bytes @ ..] = input else { return };
    let read = |piece: usize| {
        let mut out = decoded();
        let mut export = Export::new(&Params::default());
        let outcome = bytes.chunks(piece).try_for_each(|bytes| export.feed(bytes, NOW, &mut out));
        let outcome = outcome.and_then(|()| export.finish(NOW, &mut out));
        (outcome.is_ok(), check(&mut out))
    };
    let (whole, pieces) = (read(1 << 20), read(usize::from(*piece) + 1));
    // A field too long to keep is given up sooner if it comes in pieces; then it need not be whole.
    if whole.0 && pieces.0 {
        assert_eq!(whole.1, pieces.1);
    }
}

/// The protocols of JSON and of text, and rows of VictoriaLogs.
pub fn text(input: &[u8]) {
    let [form, body @ ..] = input else { return };
    let (mut out, params) = (decoded(), Params::default());
    let _refused_or_not = match form % 8 {
        0 => JsonLines::new(&params, NOW).document(body, NOW, &mut out),
        1 => {
            let mut bulk = Bulk::new(&params, NOW);
            bulk.read(body, Some("i"), NOW, &mut out).map(|()| bulk.write_reply(1, &mut String::new()))
        }
        2 => datadog::Logs::new(&params, NOW).read(body, NOW, &mut out),
        3 => splunk::Events::new(&params, NOW).events(body, NOW, &mut out),
        4 => splunk::Events::new(&params, NOW).raw(body, splunk::Source::default(), NOW, &mut out),
        5 => gelf::unpack(body, 4 << 10)
            .and_then(|message| gelf::Messages::new(&params).message(&message, NOW, &mut out)),
        7 => vlagent::Rows::new(&params).read(body, &mut out),
        _ => {
            let mut framer = Framer::syslog(1 << 10);
            let mut messages = syslog::Messages::new(&params, jiff::tz::TimeZone::UTC, NOW);
            framer.feed(body, |frame| messages.message(frame, None, NOW, &mut out).unwrap());
            Ok(())
        }
    };
    check(&mut out);
}

fn seed(name: &str, first: u8, body: &[u8]) -> Seed {
    (name.to_owned(), [&[first], body].concat())
}

/// A push in each form.
pub fn loki_seeds() -> Vec<Seed> {
    let push = b"\x0a\x3a\x0a\x09{a=\"b\\n\"}\x12\x2d\x0a\x08\x08\xc0\x84\xb6\xb3\x06\x10\x05\x12\x06WARN x\x1a\x0a\x0a\x01k\x12\x05v\xc3\xa9ry\x1a\x0d\x0a\x05level\x12\x04warn";
    vec![
        seed("protobuf", 0, push),
        seed("json", 1, br#"{"streams":[{"values":[["1718452800000000001","the \"line\"",{"k":"v"}],[5,"{\"level\":3}",null]],"stream":{"app":"web"}}]}"#),
    ]
}

/// A request in each form.
pub fn otlp_seeds() -> Vec<Seed> {
    let request = b"\x0a\x29\x0a\x0d\x0a\x0b\x0a\x03app\x12\x04\x0a\x02w1\x12\x18\x12\x16\x09\x00\xca\x9a\x3b\x00\x00\x00\x00\x10\x11\x2a\x04\x0a\x02hi\x45\x01\x00\x00\x00";
    vec![
        seed("protobuf", 0, request),
        seed("json", 1, br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1544712660300000000","severityNumber":10,"traceId":"5B8E","body":{"kvlistValue":{"values":[{"key":"msg","value":{"stringValue":"x"}},{"key":"l","value":{"arrayValue":{"values":[{"intValue":"1"},{"doubleValue":0.5},{"bytesValue":"AQID"}]}}}]}}}],"scope":{"name":"s"}}],"resource":{"attributes":[{"key":"a","value":{"boolValue":true}}]}}]}"#),
    ]
}

/// A message in each mode.
pub fn fluent_seeds() -> Vec<Seed> {
    vec![
        seed("message", 3, b"\x94\xa3app\xce\x66\x7c\xd6\x07\x82\xa3log\xa5hello\xa1n\x92\x01\xcb\x3f\xe0\0\0\0\0\0\0\x81\xa5chunk\xa2c1"),
        seed("forward", 9, b"\x93\xa3app\x91\x92\xd7\x00\x66\x7c\xd6\x07\0\0\0\x05\x81\xa3log\xa1x\x81\xa5chunk\xa2c2"),
        seed("packed", 1, b"\x92\xa3app\xc4\x0c\x92\x00\x81\xa3log\xa1y\xc0\xc0\xc0"),
    ]
}

/// An export with a text, a field of bytes, and no empty line at its end.
pub fn journald_seeds() -> Vec<Seed> {
    vec![seed("export", 5, b"__CURSOR=s\n__REALTIME_TIMESTAMP=1719446407123456\n_HOSTNAME=h\nPRIORITY=3\nMESSAGE=a=b\n\nMESSAGE\n\x04\0\0\0\0\0\0\0a\n\nb\nA=1\n")]
}

/// A body of each protocol.
pub fn text_seeds() -> Vec<Seed> {
    vec![
        seed("jsonline", 0, b"{\"_time\":\"2024-06-27T00:00:07Z\",\"_msg\":\"x\",\"a\":{\"b\":[1]}}\n[{\"a\":1}]\n"),
        seed("elastic", 1, b"{\"create\":{\"_index\":\"i\",\"_id\":\"1\"}}\n{\"@timestamp\":1719446407,\"message\":\"x\"}\n{\"delete\":{}}\n"),
        seed("datadog", 2, br#"[{"ddsource":"s","ddtags":"a:b,c","hostname":"h","message":"m","status":"warn","timestamp":1719446407123}]"#),
        seed("splunk", 3, br#"{"time":1719446407.5,"host":"h","event":{"message":"m"},"fields":{"a":"b"}}{"event":"x"}"#),
        seed("splunk-raw", 4, b"2024-06-27 00:00:07 WARN a\r\nplain"),
        seed("gelf", 5, br#"{"version":"1.1","host":"h","short_message":"m","timestamp":1719446407.1,"level":3,"_a":1}"#),
        seed("vlagent", 7, b"\0\0\0\0\0\0\0\0\x0a\x01\x03app\x04shop\x17\xd9\x2b\xb7\x83\x46\x80\0\x02\x03app\x04shop\0\x06WARN x"),
        seed("syslog", 6, b"28 <34>1 - h a 1 - - hello wor<13>Jun 14 15:16:01 h a[1]: x\n"),
    ]
}
