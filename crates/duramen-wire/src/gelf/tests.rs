//! Messages, packed and in chunks.

use super::*;
use crate::testing::{NOW, show};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn messages_become_entries() {
    let mut out = Decoded::default();
    let mut messages = Messages::new(&Params::default());
    for message in [
        r#"{"version":"1.1","host":"web-1","short_message":"a \"b\"","full_message":"all","timestamp":1719446407.123,"level":3,"_user":7,"_":1,"_tags":[1],"_ok":true,"_none":null,"facility":"f","_obj":{"a":1}}"#,
        r#"{"short_message":"b","level":"warn","timestamp":"soon"}"#,
        r#"{"short_message":"c","timestamp":0}"#,
        r#"{"short_message":"t","timestamp":"2024-06-27T00:00:07Z"}"#,
        r#"{"host":"x"}"#,
        "[]",
        "{} x",
        "",
    ] {
        messages.message(message.as_bytes(), NOW, &mut out).unwrap();
    }
    messages.document(b"[{\"short_message\":\"d\"}]\n{\"short_message\":\"e\"}", NOW, &mut out).unwrap();
    assert!(messages.document(b"{} x", NOW, &mut out).is_err());
    assert_eq!(out.rejected().count, 5);
    assert!(out.rejected().first[0].reason.contains("no short_message"));
    assert_eq!(
        show(&mut out),
        "1719446407123000000 Error a \"b\" {host=web-1} full_message=all severity=err user=7 _=1 tags=[1] ok=true none=null facility=f obj={\"a\":1}\n\
         NOW Unknown b {} level=warn timestamp=soon\n\
         NOW Unknown c {} timestamp=0\n\
         1719446407000000000 Unknown t {}\n\
         NOW Unknown d {}\n\
         NOW Unknown e {}\n"
    );
}

#[test]
fn additional_fields_hide_nothing() {
    let mut out = Decoded::default();
    let message = r#"{"host":"h","short_message":"cut \ud83d","_host":"other","_severity":"q","level":3,"_a":1,"_a":2}"#;
    Messages::new(&Params::default()).message(message.as_bytes(), NOW, &mut out).unwrap();
    Messages::new(&Params::default()).document(message.as_bytes(), NOW, &mut out).unwrap();
    let line = "NOW Error cut \\ud83d {host=h} severity=err a=1 a#1=2 host#1=other severity#1=q\n";
    assert_eq!(show(&mut out), line.repeat(2));
    // Encoders that sort names put those with an underscore first.
    for (message, expected) in [
        (
            r#"{"_host":"other","_severity":"q","host":"h","level":3,"short_message":"m"}"#,
            "Error m {host=h} severity=err host#1=other severity#1=q",
        ),
        (
            r#"{"severity":"q","_host":"h","host":"h","level":3,"_severity":"err","short_message":"m"}"#,
            "Error m {host=h} severity=err severity#1=q",
        ),
        (
            r#"{"_host":"h","_severity":"q","short_message":"m","level":"x"}"#,
            "Unknown m {} level=x host#1=h severity=q",
        ),
        (r#"{"short_message":"m","host":"h","_a":"1","_host":"h","_a":"1"}"#, "Unknown m {host=h} a=1"),
    ] {
        out.clear();
        Messages::new(&Params::default()).message(message.as_bytes(), NOW, &mut out).unwrap();
        assert_eq!(show(&mut out), format!("NOW {expected}\n"), "{message}");
    }
}

#[test]
fn packed_messages_are_unpacked_within_bounds() {
    let text = b"{\"short_message\":\"x\"}".repeat(10);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&text).unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&text).unwrap();
    for packed in [gzip.finish().unwrap(), zlib.finish().unwrap()] {
        assert_eq!(&*unpack(&packed, text.len()).unwrap(), &text[..]);
        assert!(matches!(unpack(&packed, text.len() - 1), Err(Error::Limit { .. })));
        assert!(matches!(unpack(&packed[..packed.len() - 9], 1 << 20), Err(Error::Malformed { .. })));
    }
    assert_eq!(&*unpack(&text, 1).unwrap(), &text[..], "what is not packed has another limit");
}

fn chunk(id: u8, number: u8, count: u8, piece: &[u8]) -> Vec<u8> {
    [&[0x1e, 0x0f], &[id; 8][..], &[number, count], piece].concat()
}

#[test]
fn chunks_are_put_together_in_any_order() {
    let mut chunks = Chunks::new(1 << 20);
    assert_eq!(chunks.datagram(PEER, b"{}", 0).unwrap().as_ref(), b"{}");
    assert_eq!(chunks.datagram(PEER, &chunk(9, 0, 1, b"one"), 0).unwrap().as_ref(), b"one");
    for (id, number, piece) in [(1, 2, b"c"), (1, 0, b"a"), (2, 1, b"y"), (1, 0, b"a")] {
        assert_eq!(chunks.datagram(PEER, &chunk(id, number, 3, piece), 0), None);
    }
    assert_eq!(chunks.datagram(PEER, &chunk(1, 1, 3, b"b"), 1).unwrap().as_ref(), b"abc");
    // The other is late.
    assert_eq!(chunks.datagram(PEER, &chunk(2, 0, 3, b"x"), 6_000_000_000), None);
    assert_eq!(chunks.datagram(PEER, &chunk(2, 2, 3, b"z"), 6_000_000_000), None);
    assert_eq!(chunks.lost(), 1);
    for bad in [&chunk(3, 3, 3, b"")[..], &chunk(3, 0, 0, b""), &chunk(3, 0, 129, b""), b"\x1e\x0f1234"] {
        assert_eq!(chunks.datagram(PEER, bad, 0), None);
    }
    assert_eq!(chunks.lost(), 5);
    // What waits in vain is counted with whatever comes next.
    assert_eq!(chunks.datagram(PEER, b"{}", 12_000_000_000).unwrap().as_ref(), b"{}");
    assert_eq!(chunks.lost(), 6);
}

#[test]
fn chunks_do_not_take_more_memory_than_they_may() {
    let mut chunks = Chunks::new(10_000);
    for id in 0..=255u8 {
        assert_eq!(chunks.datagram(PEER, &chunk(id, 0, 2, &[0; 1_000]), i64::from(id)), None);
    }
    assert!(chunks.lost() >= 246, "{}", chunks.lost());
    // The newest are still there.
    assert!(chunks.datagram(PEER, &chunk(255, 1, 2, b"end"), 300).is_some());
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(any: Vec<u8>, text in "\\{\"(short_message|level|timestamp|_a)\":[{}\\[\\]\":,a0]{0,20}") {
        let mut out = Decoded::default();
        for bytes in [&any[..], text.as_bytes()] {
            Messages::new(&Params::default()).message(bytes, NOW, &mut out).unwrap();
            let _refused_or_not = unpack(bytes, 1_000);
            let _waits_or_not = Chunks::new(1_000).datagram(PEER, &[b"\x1e\x0f", bytes].concat(), 0);
        }
        show(&mut out);
    }
}

#[test]
fn a_nul_behind_a_message_is_not_its_own() {
    let mut out = Decoded::default();
    let mut messages = Messages::new(&Params::default());
    for message in [&b"{\"short_message\":\"a\",\"level\":3}\0"[..], b"{\"short_message\":\"b\"}\0\0", b"\0"]
    {
        messages.message(message, NOW, &mut out).unwrap();
    }
    assert_eq!((show(&mut out), out.rejected().count), ("NOW Error a {} severity=err\n".to_owned(), 2));
}
