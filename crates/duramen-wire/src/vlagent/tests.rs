#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use super::*;
use crate::Limits;
use crate::testing::show;

fn text(out: &mut Vec<u8>, text: &[u8]) {
    let mut len = text.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(text);
}

fn pairs(out: &mut Vec<u8>, pairs: &[(&[u8], &[u8])]) {
    assert!(pairs.len() < 0x80);
    out.push(pairs.len() as u8);
    for (name, value) in pairs {
        text(out, name);
        text(out, value);
    }
}

/// A row as it is sent, of the first so many fields' stream.
fn row(time_ns: i64, fields: &[(&[u8], &[u8])], of_stream: usize) -> Vec<u8> {
    let mut row = [0u32.to_be_bytes(), 7u32.to_be_bytes()].concat();
    let mut stream = Vec::new();
    pairs(&mut stream, &fields[..of_stream]);
    text(&mut row, &stream);
    row.extend_from_slice(&time_ns.to_be_bytes());
    pairs(&mut row, fields);
    row
}

fn read(params: &Params, body: &[u8]) -> Result<(String, Vec<String>)> {
    let mut out = Decoded::new(Limits { max_line_bytes: 200, max_entries_bytes: 1 << 20 });
    Rows::new(params).read(body, &mut out)?;
    let rejected = out.rejected().first.iter().map(|row| format!("{}: {}", row.index, row.reason)).collect();
    Ok((show(&mut out), rejected))
}

#[test]
fn rows_become_entries() {
    let web: &[(&[u8], &[u8])] =
        &[(b"app", b"web"), (b"", b"WARN: slow"), (b"a", b"1"), (b"a", b"2"), (b"_msg", b"again")];
    let shop: &[(&[u8], &[u8])] =
        &[(b"app", b"shop"), (b"host", b"h"), (b"level", b"error"), (b"_msg", b"x\xff")];
    // No stream at all is one without fields.
    let mut bare = row(8, &[], 0);
    assert_eq!(bare[8..10], [1, 0]);
    bare.splice(8..10, [0]);
    let body = [row(5, web, 1), row(6, web, 1), row(-7, shop, 2), bare].concat();
    let (entries, rejected) = read(&Params::default(), &body).unwrap();
    assert_eq!(
        entries,
        "5 Warn WARN: slow {app=web} a=1 a#1=2 _msg#1=again\n6 Warn WARN: slow {app=web} a=1 a#1=2 _msg#1=again\n\
         -7 Error x\\xFF {app=shop host=h} level=error\n8 Unknown  {}\n"
    );
    assert_eq!(rejected, [""; 0]);
}

#[test]
fn parameters_count() {
    let mut params = Params::default();
    params.set("ignore_fields", "a*").unwrap();
    params.set("extra_fields", "dc=1,app=all").unwrap();
    let fields: &[(&[u8], &[u8])] = &[(b"app", b"web"), (b"host", b"h"), (b"", b"m"), (b"a", b"1")];
    let body = row(5, fields, 2);
    assert_eq!(read(&params, &body).unwrap().0, "5 Unknown m {host=h dc=1 app=all}\n");
    params.set("_stream_fields", "host").unwrap();
    assert_eq!(read(&params, &body).unwrap().0, "5 Unknown m {host=h} dc=1 app=all\n");
}

#[test]
fn extra_fields_are_of_the_stream_before_any_other_was_sent() {
    let mut params = Params::default();
    params.set("extra_fields", "dc=1").unwrap();
    let mut bare = row(5, &[(b"", b"m"), (b"app", b"web")], 0);
    bare.splice(8..10, [0]);
    let of_web = row(6, &[(b"app", b"web"), (b"", b"m")], 1);
    let entries = read(&params, &[&bare[..], &of_web, &bare].concat()).unwrap().0;
    let (bare_row, web_row) = ("5 Unknown m {dc=1} app=web\n", "6 Unknown m {app=web dc=1}\n");
    assert_eq!(entries, [bare_row, web_row, bare_row].concat());
    // Nor does a stream that cannot be read leave those of the one before to the next.
    let mut wrong = of_web.clone();
    wrong[9] = 9;
    let mut rows = Rows::new(&params);
    let mut out = Decoded::default();
    rows.read(&of_web, &mut out).unwrap();
    rows.read(&wrong, &mut out).unwrap_err();
    out.clear();
    rows.read(&bare, &mut out).unwrap();
    assert_eq!(show(&mut out), bare_row);
}

#[test]
fn a_row_over_a_limit_costs_itself() {
    let long = [b'x'; 200];
    let body = [row(5, &[(b"", &long)], 0), row(6, &[(b"", b"m")], 0)].concat();
    let (entries, rejected) = read(&Params::default(), &body).unwrap();
    assert_eq!(entries, "6 Unknown m {}\n");
    assert_eq!(rejected, ["0: it has 222 bytes; max_line_bytes is 200"]);
}

#[test]
fn errors_say_where() {
    let good = row(5, &[(b"app", b"web"), (b"", b"m")], 1);
    let at = |body: &[u8]| read(&Params::default(), body).unwrap_err().to_string();
    for len in 1..good.len() {
        assert!(at(&good[..len]).starts_with("not rows of VictoriaLogs: "), "{len}");
    }
    assert_eq!(at(&good[..3]), "not rows of VictoriaLogs: it ends too soon, at byte 0");
    let second = [&good[..], &good[..good.len() - 1]].concat();
    let place = second.len() - 1;
    assert_eq!(
        at(&second),
        format!("not rows of VictoriaLogs: a text is longer than the body, at byte {place}")
    );
    let mut more = good.clone();
    more[8..10].copy_from_slice(&[9, 0]);
    assert_eq!(at(&more), "not rows of VictoriaLogs: a stream has more bytes than fields, at byte 10");
    let mut endless = good;
    endless[8..].fill(0xff);
    assert!(at(&endless).contains("a number that does not end, at byte 8"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _refused_or_not = read(&Params::default(), &bytes);
        let _refused_or_not = read(&Params::default(), &[row(5, &[(b"", b"m")], 0), bytes].concat());
    }
}
