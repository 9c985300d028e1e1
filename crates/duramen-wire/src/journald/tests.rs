//! Exports in pieces, and entries that are too long.

use super::*;
use crate::Limits;
use crate::testing::{NOW, show};

fn bytes_field(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b"\n", &(value.len() as u64).to_le_bytes(), value, b"\n"].concat()
}

fn export() -> Vec<u8> {
    [
        &b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1719446407123456\n_HOSTNAME=web-1\nPRIORITY=3\nMESSAGE=a=b\n_PID=7\n\n"[..],
        b"\n_SYSTEMD_UNIT=x.service\n",
        &bytes_field("MESSAGE", b"two\nlines=\n\n"),
        b"PRIORITY=6\n\nMESSAGE=last\n",
    ]
    .concat()
}

fn read(bytes: &[u8], piece: usize, limits: Limits) -> Result<(String, String)> {
    let mut out = Decoded::new(limits);
    let mut export = Export::new(&Params::default());
    for bytes in bytes.chunks(piece) {
        export.feed(bytes, NOW, &mut out)?;
        assert!(
            export.buffer.len() <= bytes.len() + 3 * limits.max_line_bytes,
            "it keeps {}",
            export.buffer.len()
        );
    }
    export.finish(NOW, &mut out)?;
    Ok((show(&mut out), out.rejected().to_string()))
}

#[test]
fn exports_are_read_in_any_pieces() {
    for piece in [1, 2, 7, 1_000] {
        let (entries, rejected) = read(&export(), piece, Limits::default()).unwrap();
        assert_eq!(
            entries,
            "1719446407123456000 Error a=b {_HOSTNAME=web-1} PRIORITY=3 _PID=7\n\
             NOW Info two\nlines=\n\n {_SYSTEMD_UNIT=x.service} PRIORITY=6\n\
             NOW Unknown last {}\n"
        );
        assert_eq!(rejected, "");
    }
}

#[test]
fn fields_said_again_and_bytes_that_are_no_text_are_kept() {
    let bytes = [
        &b"MESSAGE=a\nMESSAGE=b\nMESSAGE=a\nF=1\nF=2\nF=1\nF=3\nF=2\n"[..],
        &bytes_field("L", b"h\xe4ss"),
        b"\n",
    ]
    .concat();
    let (entries, _) = read(&bytes, 1_000, Limits::default()).unwrap();
    assert_eq!(entries, "NOW Unknown a {} MESSAGE#1=b F=1 F#1=2 F#2=3 L=h\\xE4ss\n");
}

#[test]
fn entries_over_the_limit_are_rejected_beside_others_and_not_kept() {
    let limits = Limits { max_line_bytes: 64, ..Limits::default() };
    let bytes = [
        b"MESSAGE=first\n\nA=1\n".to_vec(),
        bytes_field("COREDUMP", &[b'\n'; 10_000]),
        b"MESSAGE=x\n\n".to_vec(),
        [b"B=".as_slice(), &[b'y'; 80], b"\n\n"].concat(),
        b"MESSAGE=second\n\n".to_vec(),
    ]
    .concat();
    for piece in [1, 9, 64, 100_000] {
        let (entries, rejected) = read(&bytes, piece, limits).unwrap();
        assert_eq!(entries, "NOW Unknown first {}\nNOW Unknown second {}\n");
        assert_eq!(
            rejected,
            "row 1: it has 10032 bytes; max_line_bytes is 64; row 2: it has 83 bytes; max_line_bytes is 64"
        );
    }
}

#[test]
fn a_text_of_any_length_costs_its_entry_alone() {
    let limits = Limits { max_line_bytes: 64, ..Limits::default() };
    let text = [b"MESSAGE=".as_slice(), &[b'a'; 3_000], b"\n"].concat();
    let bytes = [b"MESSAGE=first\n\nA=1\n", &*text, b"B=2\n", &text, b"\nMESSAGE=second\n\n", &text].concat();
    for piece in [1, 9, 64, 1_000, 100_000] {
        let (entries, rejected) = read(&bytes, piece, limits).unwrap();
        assert_eq!(entries, "NOW Unknown first {}\nNOW Unknown second {}\n");
        assert_eq!(
            rejected,
            "row 1: it has 6026 bytes; max_line_bytes is 64; row 3: it has 3009 bytes; max_line_bytes is 64",
            "{piece}"
        );
    }
    let (_, rejected) = read(&text[..2_000], 64, limits).unwrap();
    assert_eq!(rejected, "row 0: it has 2001 bytes; max_line_bytes is 64", "it ends without a line feed");
}

#[test]
fn what_is_none_is_an_error() {
    for (bytes, detail) in [
        (&b"MESSAGE=a\nB\n\x01\0\0\0\0\0\0\0xy"[..], "does not end with a line feed, at byte 10"),
        (b"B\n\xff\xff\xff\xff\xff\xff\xff\xff", "a field of over a terabyte, at byte 0"),
        (b"A=1\n\nB\n\x05\0\0\0\0\0\0\0ab", "it ends amid a field"),
        (b"A", "it ends amid a field"),
    ] {
        let error = read(bytes, 3, Limits::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("not systemd's journal export format: ") && error.contains(detail),
            "{error}"
        );
    }
    let endless = read(&[b'x'; 1_000], 10, Limits { max_line_bytes: 64, ..Limits::default() }).unwrap_err();
    assert!(endless.to_string().contains("a line that does not end"), "{endless}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic_and_pieces_do_not_matter(any: Vec<u8>, at: usize, byte: u8, piece in 1usize..30) {
        let mut bytes = export();
        let at = at % bytes.len();
        bytes[at] = byte;
        let limits = Limits { max_line_bytes: 1 << 20, ..Limits::default() };
        for bytes in [&any, &bytes] {
            let (whole, pieces) = (read(bytes, 1 << 20, limits), read(bytes, piece, limits));
            proptest::prop_assert_eq!(whole.is_ok(), pieces.is_ok());
            if whole.is_ok() {
                proptest::prop_assert_eq!(whole, pieces);
            }
        }
    }
}
