//! Messages in each mode, and in pieces.

use super::*;
use crate::Limits;
use crate::testing::{NOW, show};
use flate2::Compression;
use flate2::write::GzEncoder;
use rmp::encode as mp;
use std::io::Write;

fn text(out: &mut Vec<u8>, s: &str) {
    mp::write_str(out, s).unwrap();
}

/// `[time, record]`, the time as seconds or as an EventTime.
fn event(out: &mut Vec<u8>, nanos: Option<u32>, message: &str) {
    mp::write_array_len(out, 2).unwrap();
    time_and_record(out, nanos, message);
}

fn time_and_record(out: &mut Vec<u8>, nanos: Option<u32>, message: &str) {
    match nanos {
        Some(nanos) => {
            mp::write_ext_meta(out, 8, 0).unwrap();
            out.extend_from_slice(&1_719_446_407u32.to_be_bytes());
            out.extend_from_slice(&nanos.to_be_bytes());
        }
        None => mp::write_u32(out, 1_719_446_407).unwrap(),
    }
    mp::write_map_len(out, 3).unwrap();
    text(out, "log");
    text(out, message);
    text(out, "level");
    text(out, "warn");
    text(out, "k8s");
    mp::write_map_len(out, 2).unwrap();
    text(out, "pod");
    mp::write_bin(out, b"p\"1").unwrap();
    text(out, "n");
    mp::write_array_len(out, 2).unwrap();
    mp::write_sint(out, -5).unwrap();
    mp::write_f64(out, 0.5).unwrap();
}

fn option(out: &mut Vec<u8>, pairs: &[(&str, &str)]) {
    mp::write_map_len(out, pairs.len() as u32 + 1).unwrap();
    text(out, "size");
    mp::write_uint(out, 1).unwrap();
    for (name, value) in pairs {
        text(out, name);
        text(out, value);
    }
}

/// One message in each mode.
fn all_modes() -> Vec<u8> {
    let mut out = Vec::new();
    mp::write_array_len(&mut out, 4).unwrap();
    text(&mut out, "app.web");
    time_and_record(&mut out, None, "message mode");
    option(&mut out, &[("chunk", "c1")]);

    mp::write_array_len(&mut out, 3).unwrap();
    text(&mut out, "app.web");
    mp::write_array_len(&mut out, 2).unwrap();
    event(&mut out, Some(5), "forward 1");
    event(&mut out, Some(6), "forward 2");
    option(&mut out, &[("chunk", "c2")]);

    let mut events = Vec::new();
    event(&mut events, Some(7), "packed 1");
    event(&mut events, None, "packed 2");
    mp::write_array_len(&mut out, 2).unwrap();
    text(&mut out, "");
    mp::write_bin(&mut out, &events).unwrap();

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&events).unwrap();
    mp::write_array_len(&mut out, 3).unwrap();
    text(&mut out, "app.web");
    mp::write_bin(&mut out, &gzip.finish().unwrap()).unwrap();
    option(&mut out, &[("compressed", "gzip"), ("chunk", "c3")]);

    // A chunk of several packed events is several frames.
    let zstd = [&events[..], &events].map(|events| zstd::encode_all(events, 1).unwrap()).concat();
    mp::write_array_len(&mut out, 3).unwrap();
    text(&mut out, "zstd");
    mp::write_bin(&mut out, &zstd).unwrap();
    option(&mut out, &[("compressed", "zstd"), ("chunk", "c4")]);
    out
}

#[test]
fn every_mode_is_read_in_any_pieces() {
    let bytes = all_modes();
    let line = |time: &str, message: &str, tag: &str| {
        format!("{time} Warn {message} {{{tag}}} log={message} level=warn k8s.pod=p\"1 k8s.n=[-5,0.5]\n")
    };
    let expected = [
        line("1719446407000000000", "message mode", "tag=app.web"),
        line("1719446407000000005", "forward 1", "tag=app.web"),
        line("1719446407000000006", "forward 2", "tag=app.web"),
        line("1719446407000000007", "packed 1", ""),
        line("1719446407000000000", "packed 2", ""),
        line("1719446407000000007", "packed 1", "tag=app.web"),
        line("1719446407000000000", "packed 2", "tag=app.web"),
        line("1719446407000000007", "packed 1", "tag=zstd"),
        line("1719446407000000000", "packed 2", "tag=zstd"),
        line("1719446407000000007", "packed 1", "tag=zstd"),
        line("1719446407000000000", "packed 2", "tag=zstd"),
    ]
    .concat();
    for piece in [1, 7, 50, 10_000] {
        let (mut out, mut chunks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
        for bytes in bytes.chunks(piece) {
            forward.feed(bytes, NOW, &mut out, &mut chunks).unwrap();
        }
        assert_eq!(forward.buffered_bytes(), 0);
        assert_eq!(chunks, [b"c1", b"c2", b"c3", b"c4"].map(|chunk| ack(chunk)));
        assert_eq!(show(&mut out), expected);
    }
    assert_eq!(ack(b"c1"), b"\x81\xa3ack\xa2c1");
}

#[test]
fn what_is_none_ends_the_connection_and_what_is_too_much_as_well() {
    let feed = |bytes: &[u8], max: usize| {
        let mut forward = Forward::new(&Params::default(), NOW, max);
        forward.feed(bytes, NOW, &mut Decoded::default(), &mut Vec::new())
    };
    for (bytes, detail) in [
        (&[0xc1][..], "an unknown marker"),
        (b"G", "no array of two to four"),
        (&[0x92, 1, 2], "its tag is no text"),
        (&[0x92, 0xa1, b't', 1], "it has no record"),
        (
            &[
                0x93, 0xa1, b't', 0xa1, b'x', 0x81, 0xaa, b'c', b'o', b'm', b'p', b'r', b'e', b's', b's',
                b'e', b'd', 0xa4, b'g', b'z', b'i', b'p',
            ],
            "no gzip",
        ),
        (
            b"\x93\xa1t\xc4\x01x\x81\xaacompressed\xa6snappy",
            "its events are packed with `snappy`, not gzip or zstd",
        ),
        (b"\x93\xa1t\xc4\x01x\x81\xaacompressed\xa4zstd", "its events are no zstd"),
    ] {
        let error = feed(bytes, 1_000).unwrap_err().to_string();
        assert!(error.contains(detail), "{error}");
    }
    let zstd = zstd::encode_all(&vec![0; 1 << 20][..], 1).unwrap();
    let mut bomb = vec![0x93, 0xa1, b't'];
    mp::write_bin(&mut bomb, &zstd).unwrap();
    option(&mut bomb, &[("compressed", "zstd")]);
    assert!(matches!(feed(&bomb, 100_000), Err(Error::Limit { name: "max_message_bytes", .. })));
    assert!(matches!(feed(&[0xdb, 0xff, 0xff, 0xff, 0xff, 0, 0, 0], 7), Err(Error::Limit { .. })));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![0; 1 << 20]).unwrap();
    let mut bomb = vec![0x93, 0xa1, b't'];
    mp::write_bin(&mut bomb, &gzip.finish().unwrap()).unwrap();
    option(&mut bomb, &[("compressed", "gzip")]);
    assert!(matches!(feed(&bomb, 100_000), Err(Error::Limit { name: "max_message_bytes", .. })));
}

#[test]
fn a_record_over_a_limit_is_rejected_beside_others() {
    let mut bytes = vec![0x92, 0xa1, b't', 0x93];
    for record in [
        [&[0x81, 0xa1, b'a'][..], &[0x91; 70], &[1]].concat(),
        vec![0x81, 0xa1, b'a', 0xd9, 100],
        vec![0x81, 0xa1, b'a', 1],
    ] {
        bytes.extend([0x92, 0]);
        let long = record.len() == 5;
        bytes.extend(record);
        bytes.extend(vec![b'x'; if long { 100 } else { 0 }]);
    }
    let mut out = Decoded::new(Limits { max_line_bytes: 99, ..Limits::default() });
    Forward::new(&Params::default(), NOW, 1_000).feed(&bytes, NOW, &mut out, &mut Vec::new()).unwrap();
    assert_eq!(
        out.rejected().to_string(),
        "row 0: its record is nested over 64 deep; row 1: it has 105 bytes; max_line_bytes is 99"
    );
    assert_eq!(show(&mut out), "NOW Unknown  {tag=t} a=1\n");
}

#[test]
fn a_connection_that_has_sent_much_gives_its_buffers_back() {
    let mut forward = Forward::new(&Params::default(), NOW, 64 << 20);
    let mut events = Vec::new();
    for _ in 0..1_000 {
        event(&mut events, Some(7), &"x".repeat(10_000));
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&events).unwrap();
    let mut packed = Vec::new();
    mp::write_array_len(&mut packed, 3).unwrap();
    text(&mut packed, "app.web");
    mp::write_bin(&mut packed, &gzip.finish().unwrap()).unwrap();
    option(&mut packed, &[("compressed", "gzip")]);
    let mut plain = Vec::new();
    mp::write_array_len(&mut plain, 2).unwrap();
    text(&mut plain, "app.web");
    mp::write_bin(&mut plain, &events).unwrap();
    for message in [plain, packed] {
        let (mut out, mut chunks) = (Decoded::default(), Vec::new());
        forward.feed(&message, NOW, &mut out, &mut chunks).unwrap();
        assert_eq!(out.accepted(), 1_000);
        let kept = [&forward.buffer, &forward.unpacked, &forward.json].map(Vec::capacity);
        assert!(kept.iter().all(|kept| *kept <= KEPT_BYTES), "{kept:?}");
    }
}

/// What a message makes, what of it is rejected, and the chunk that is acknowledged.
fn fed(message: &[u8]) -> (String, String, Vec<Vec<u8>>) {
    let (mut out, mut chunks) = (Decoded::default(), Vec::new());
    Forward::new(&Params::default(), NOW, 1 << 20).feed(message, NOW, &mut out, &mut chunks).unwrap();
    (show(&mut out), out.rejected().to_string(), chunks)
}

fn packed(events: &[u8]) -> Vec<u8> {
    let mut message = b"\x93\xa1t".to_vec();
    mp::write_bin(&mut message, events).unwrap();
    message.extend(b"\x81\xa5chunk\xa1c");
    message
}

#[test]
fn an_event_that_is_none_costs_itself_and_its_chunk_is_acknowledged() {
    let good = b"\x92\x01\x81\xa1a\x01";
    let entry = "1000000000 Unknown  {tag=t} a=1\n";
    for (bad, reason) in [
        (&b"\x92\xa1x\x81\xa1a\x02"[..], NO_TIME),
        (b"\x92\xfd\x81\xa1a\x02", NO_TIME),
        (b"\x92\xd7\0\xff\xff\xff\xf0\0\0\0\0\x81\xa1a\x02", NO_TIME),
        (b"\x92\xcf\0\0\x01\x90\0\0\0\0\x81\xa1a\x02", NO_TIME),
        (b"\x93\x01\x81\xa1a\x02\xc0", "an event that is no pair"),
        (b"\x92\x01\x02", "not a JSON object"),
        (b"\x92\x92\x01\x02\x81\xa1a\x02", "an event whose metadata is none"),
    ] {
        let array = [b"\x93\xa1t\x93", &good[..], bad, good, b"\x81\xa5chunk\xa1c"].concat();
        for message in [array, packed(&[&good[..], bad, good].concat())] {
            let (entries, rejected, chunks) = fed(&message);
            assert_eq!((entries, chunks), (entry.repeat(2), vec![ack(b"c")]), "{bad:?}");
            assert!(
                rejected.starts_with(&format!("row 1: {reason}")) && !rejected.contains(';'),
                "{rejected}"
            );
        }
    }
    // Where an event ends is not known, what is behind it is not, either.
    for bad in [&b"\x92\x01"[..], b"\x01\x02\x03", b"\xc1"] {
        let (entries, rejected, chunks) = fed(&packed(&[&good[..], bad].concat()));
        assert_eq!((&*entries, chunks), (entry, vec![ack(b"c")]), "{bad:?}");
        assert_eq!(rejected, "row 1: no event, nor are there any behind it in its chunk");
    }
    let (entries, rejected, chunks) = fed(b"\x94\xa1t\xff\x81\xa1a\x02\x81\xa5chunk\xa1c");
    assert_eq!((&*entries, chunks), ("", vec![ack(b"c")]));
    assert_eq!(rejected, format!("row 0: {NO_TIME}"));
}

#[test]
fn metrics_and_traces_are_rejected_and_acknowledged() {
    let (entries, rejected, chunks) =
        fed(b"\x93\xa1t\xc4\x03\x01\x02\x03\x82\xa5chunk\xa1c\xadfluent_signal\x01");
    assert_eq!((&*entries, chunks), ("", vec![ack(b"c")]));
    assert_eq!(rejected, "row 0: its events are no logs (fluent_signal 1)");
    let (entries, _, _) = fed(b"\x93\xa1t\xc4\x06\x92\x01\x81\xa1a\x01\x81\xadfluent_signal\0");
    assert_eq!(entries, "1000000000 Unknown  {tag=t} a=1\n");
}

/// As Fluent Bit's input `opentelemetry` packs them.
#[test]
fn groups_and_metadata_of_fluent_bit_are_fields_of_their_records() {
    let group = b"\x92\x92\xd7\0\xff\xff\xff\xff\0\0\0\0\x81\xa6schema\xa4otlp\x82\
        \xa8resource\x82\xaaattributes\x81\xacservice.name\xa4shop\xaaschema_url\xa1u\
        \xa5scope\x82\xa4name\xa3lib\xaaattributes\x81\xa1k\x01";
    let end = b"\x92\x92\xd7\0\xff\xff\xff\xfe\0\0\0\0\x80\x80";
    let record = b"\x92\x92\xd7\0\0\0\0\x01\0\0\0\x02\x82\xa4otlp\x86\
        \xa9timestamp\x01\xafseverity_number\x11\xadseverity_text\xa4Info\
        \xa7span_id\xc4\x08\x01\x02\x03\x04\x05\x06\x07\xff\xabtrace_flags\x01\xaaattributes\x82\
        \xa1a\x01\xacservice.name\xa1x\xa1m\xa1n\x81\xa3log\xa2hi";
    let plain = b"\x92\x01\x81\xa3log\xa2ho";
    let (entries, rejected, chunks) =
        fed(&packed(&[&group[..], record, plain, end, plain, group, plain].concat()));
    let of_group = "service.name=shop resource.schema_url=u scope.name=lib scope.k=1";
    assert_eq!(
        entries,
        format!(
            "1000000002 Error hi {{tag=t}} log=hi {of_group} severity_text=Info span_id=01020304050607ff flags=1 a=1 service.name#1=x m=n\n\
             1000000000 Unknown ho {{tag=t}} log=ho {of_group}\n\
             1000000000 Unknown ho {{tag=t}} log=ho\n\
             1000000000 Unknown ho {{tag=t}} log=ho {of_group}\n"
        )
    );
    assert_eq!((&*rejected, chunks), ("", vec![ack(b"c")]));
    // A header that cannot be read costs itself: the records behind it are as good as without.
    let torn = b"\x92\x92\xd7\0\xff\xff\xff\xff\0\0\0\0\x80\x81\xa8resource\x81\xa1k\x81\x90\x01";
    let (entries, rejected, chunks) = fed(&packed(&[&torn[..], plain].concat()));
    assert_eq!((&*entries, chunks), ("1000000000 Unknown ho {tag=t} log=ho\n", vec![ack(b"c")]));
    assert!(rejected.starts_with("row 0: a group") && !rejected.contains(';'), "{rejected}");
    let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
    let mut out = Decoded::default();
    for message in [packed(group), packed(plain)] {
        forward.feed(&message, NOW, &mut out, &mut Vec::new()).unwrap();
    }
    assert_eq!(show(&mut out), "1000000000 Unknown ho {tag=t} log=ho\n", "a group ends with its chunk");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(any: Vec<u8>, changes in proptest::collection::vec((0usize..4096, 0u8..), 1..4)) {
        let mut bytes = all_modes();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        for bytes in [&any, &bytes] {
            let mut out = Decoded::default();
            let mut forward = Forward::new(&Params::default(), NOW, 1 << 16);
            let _refused_or_not = forward.feed(bytes, NOW, &mut out, &mut Vec::new());
            show(&mut out);
        }
    }
}

#[test]
fn messages_in_json_are_taken_between_others_whatever_pieces_they_come_in() {
    let mut bytes =
        br#"["app.web",1719446407,{"log":"one","level":"warn","a":{"b":"]}\\\""}},{"chunk":"c\"1"}]"#
            .to_vec();
    bytes.extend(b"\x93\xa1t\xce\x66\x6d\x82\x40\x81\xa3log\xa3two");
    bytes.extend(b" \n[\"t\",[[1719446407.5,{\"\":\"three\"}],[-1,{}],[1],7,[0,{\"log\":\"four\"}],[1719446407,5]],{\"chunk\":\"c2\"}]\n");
    bytes.extend(br#"["",null,{"log":"five \ud83d"}]["t",1719446407,{"log":"six"},{}]"#);
    for piece in [1, 2, 7, 1_000] {
        let (mut out, mut acks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 10);
        for bytes in bytes.chunks(piece) {
            forward.feed(bytes, NOW, &mut out, &mut acks).unwrap();
        }
        assert_eq!(forward.buffered_bytes(), 0);
        assert_eq!(
            out.rejected().to_string(),
            "row 3: an event whose time is none, or before 1970; row 4: an event that is no pair; row 5: an event that is no pair; \
             row 7: not a JSON object: it begins with something else"
        );
        assert_eq!(
            show(&mut out),
            "1719446407000000000 Warn one {tag=app.web} log=one level=warn a.b=]}\\\"\n\
             NOW Unknown two {tag=t} log=two\n\
             1719446407500000000 Unknown three {tag=t}\n\
             NOW Unknown four {tag=t} log=four\n\
             NOW Unknown five \\ud83d {} log=five \\ud83d\n\
             1719446407000000000 Unknown six {tag=t} log=six\n"
        );
        assert_eq!(acks, [&br#"{"ack":"c\"1"}"#[..], br#"{"ack":"c2"}"#]);
    }
    for bad in [
        &b"[]"[..],
        b"[1,2,{}]",
        b"[\"t\"]",
        b"[\"t\",1]",
        b"[\"t\",1,{]}",
        b"[\"t\xff\",1,{\"a\":1}]",
        b"[\"t\",[1}]",
        b"{\"a\":1}",
    ] {
        let (mut out, mut acks) = (Decoded::default(), Vec::new());
        let fed = Forward::new(&Params::default(), NOW, 1 << 10).feed(bad, NOW, &mut out, &mut acks);
        assert!(fed.is_err() && acks.is_empty() && out.accepted() == 0, "{}", String::from_utf8_lossy(bad));
    }
    let mut forward = Forward::new(&Params::default(), NOW, 1 << 10);
    let endless = format!("[\"t\",1,{{\"log\":\"{}", "x".repeat(2_000));
    assert!(forward.feed(endless.as_bytes(), NOW, &mut Decoded::default(), &mut Vec::new()).is_err());
}

#[test]
fn a_record_in_json_that_is_nested_too_deep_costs_itself_and_its_chunk_is_acknowledged() {
    for depth in [150, 1_000] {
        let deep = format!("{{\"a\":{}1{}}}", "{\"b\":[".repeat(depth), "]}".repeat(depth));
        let list =
            format!("[\"t\",[[0,{{\"log\":\"a\"}}],[0,{deep}],[0,{{\"log\":\"b\"}}]],{{\"chunk\":\"c\"}}]");
        let one = format!("[\"t\",0,{deep},{{\"chunk\":\"c\"}}]");
        let (mut out, mut acks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
        forward.feed([list, one].concat().as_bytes(), NOW, &mut out, &mut acks).unwrap();
        assert_eq!((out.rejected().count, acks.len()), (2, 2), "{}", out.rejected());
        assert_eq!(show(&mut out), "NOW Unknown a {tag=t} log=a\nNOW Unknown b {tag=t} log=b\n");
    }
}

#[test]
fn a_record_in_json_that_is_wrong_within_costs_itself_and_its_chunk_is_acknowledged() {
    for (record, reason) in [
        (&b"{\"log\":\"\xff\"}"[..], "not UTF-8 at its byte 8"),
        (b"{\"\xc3\":1}", "not UTF-8 at its byte 2"),
        (b"{\"log\":\"\x01\"}", "not a JSON object"),
        (b"{\"log\":\"\\q]\"}", "not a JSON object"),
        (b"{\"log\":True}", "not a JSON object"),
        (b"{'log':'x'}", "not a JSON object"),
        (b"{\"a\":1,}", "not a JSON object"),
        (b"[\xff]", "not "),
    ] {
        let chunk = &b",{\"chunk\":\"c\"}]"[..];
        let list = [b"[\"t\",[[0,{\"log\":\"a\"}],[0,", record, b"],[0,{\"log\":\"b\"}]]", chunk].concat();
        let one = [b"[\"t\",0,", record, chunk].concat();
        let more = b"[\"t\",0,{\"log\":\"c\",\"x\":NaN,\"y\":-Infinity}]";
        let (mut out, mut acks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
        forward.feed(&[&list[..], &one, more].concat(), NOW, &mut out, &mut acks).unwrap();
        let told = out.rejected().to_string();
        assert_eq!((out.rejected().count, acks.len()), (2, 2), "{told}");
        assert!(told.starts_with(&format!("row 1: {reason}")), "{told}");
        assert_eq!(
            show(&mut out),
            "NOW Unknown a {tag=t} log=a\nNOW Unknown b {tag=t} log=b\n\
             NOW Unknown c {tag=t} log=c x=NaN y=-Infinity\n"
        );
    }
}

#[test]
fn events_before_what_is_none_in_json_are_taken_and_acknowledged() {
    for bad in ["[0,{}] x", "NULL", "[0,{}];[0,{}]"] {
        let list = format!("[\"t\",[[0,{{\"log\":\"a\"}}],{bad},[0,{{\"log\":\"b\"}}]],{{\"chunk\":\"c\"}}]");
        let more = "[\"t\",0,{\"log\":\"c\"}]";
        let (mut out, mut acks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
        let fed = forward.feed([&list, more].concat().as_bytes(), NOW, &mut out, &mut acks);
        let (told, shown) = (out.rejected().to_string(), show(&mut out));
        assert!(shown.starts_with("NOW Unknown a {tag=t} log=a\n"), "{bad} {shown} {told}");
        assert_eq!((fed.is_ok(), acks.len()), (true, 1), "{bad} {told}");
        assert!(told.ends_with(NO_MORE) && shown.ends_with("log=c\n"), "{bad} {shown} {told}");
    }
}
