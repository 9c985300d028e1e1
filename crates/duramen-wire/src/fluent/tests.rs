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
    ]
    .concat();
    for piece in [1, 7, 50, 10_000] {
        let (mut out, mut chunks) = (Decoded::default(), Vec::new());
        let mut forward = Forward::new(&Params::default(), NOW, 1 << 20);
        for bytes in bytes.chunks(piece) {
            forward.feed(bytes, NOW, &mut out, &mut chunks).unwrap();
        }
        assert_eq!(forward.buffered_bytes(), 0);
        assert_eq!(chunks, [b"c1", b"c2", b"c3"]);
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
        (&[0x92, 0xa1, b't', 0x91, 1], "an event is no pair"),
        (&[0x93, 0xa1, b't', 0xa1, b'x', 0x80], "an event is no pair"),
        (&[0x93, 0xa1, b't', 0x80, 0x80], "its time is none"),
        (
            &[
                0x93, 0xa1, b't', 0xa1, b'x', 0x81, 0xaa, b'c', b'o', b'm', b'p', b'r', b'e', b's', b's',
                b'e', b'd', 0xa4, b'g', b'z', b'i', b'p',
            ],
            "no gzip",
        ),
    ] {
        let error = feed(bytes, 1_000).unwrap_err().to_string();
        assert!(error.contains(detail), "{error}");
    }
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
