//! Reading items one after the other. No bytes make it panic; what is not as expected is an error.

use super::ascii;
use crate::entry::EMBEDDED_JSON;
use crate::value::Value;

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;
/// What an initial byte of [`SIMPLE`] says in its lower five bits.
const FALSE: u8 = 20;
const TRUE: u8 = 21;
const NULL: u8 = 22;
const UNDEFINED: u8 = 23;
const FLOAT64: u8 = 27;

/// What is wrong with the bytes.
pub(crate) type Wrong = &'static str;

const ENDS: Wrong = "it ends too soon";

/// Reads bytes from the start on. After an error it stands anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The first byte or bytes of an item.
struct Head {
    major: u8,
    /// The lower bits of the initial byte.
    info: u8,
    /// The number or length; a float's bits.
    n: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    fn take(&mut self, len: u64) -> Result<&'a [u8], Wrong> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len)).ok_or(ENDS)?;
        let taken = self.bytes.get(self.at..end).ok_or(ENDS)?;
        self.at = end;
        Ok(taken)
    }

    #[inline]
    fn head(&mut self) -> Result<Head, Wrong> {
        let first = *self.bytes.get(self.at).ok_or(ENDS)?;
        self.at += 1;
        let (major, info) = (first >> 5, first & 31);
        let n = if info < 24 { u64::from(info) } else { self.long(info)? };
        Ok(Head { major, info, n })
    }

    fn long(&mut self, info: u8) -> Result<u64, Wrong> {
        if info > 27 {
            return Err("an item of unknown length");
        }
        let bytes = self.take(1 << (info - 24))?;
        Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    #[inline]
    fn expect(&mut self, major: u8, wrong: Wrong) -> Result<u64, Wrong> {
        let head = self.head()?;
        if head.major == major { Ok(head.n) } else { Err(wrong) }
    }

    /// How many items an array has.
    pub(crate) fn array(&mut self) -> Result<u64, Wrong> {
        self.expect(ARRAY, "not an array")
    }

    /// How many pairs a map has.
    #[inline]
    pub(crate) fn map(&mut self) -> Result<u64, Wrong> {
        self.expect(MAP, "not a map")
    }

    /// A number from 0 on.
    pub(crate) fn unsigned(&mut self) -> Result<u64, Wrong> {
        self.expect(UNSIGNED, "not a number from 0 on")
    }

    /// An integer.
    #[inline]
    pub(crate) fn int(&mut self) -> Result<i64, Wrong> {
        let head = self.head()?;
        int(&head)
    }

    /// A text.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, Wrong> {
        let len = self.expect(TEXT, "not a text")?;
        text(self.take(len)?)
    }

    /// A field's value; `undefined` is `message`.
    #[inline]
    pub(crate) fn value(&mut self, message: &'a str) -> Result<Value<'a>, Wrong> {
        let head = self.head()?;
        Ok(match (head.major, head.info) {
            (TEXT, _) => Value::Str(text(self.take(head.n)?)?),
            (SIMPLE, FALSE) => Value::Bool(false),
            (SIMPLE, TRUE) => Value::Bool(true),
            (SIMPLE, NULL) => Value::Null,
            (SIMPLE, UNDEFINED) => Value::Str(message),
            (SIMPLE, FLOAT64) => Value::Float(f64::from_bits(head.n)),
            (TAG, _) if head.n == EMBEDDED_JSON => {
                let len = self.expect(BYTES, "embedded JSON is not in bytes")?;
                let text = text(self.take(len)?)?;
                if text.starts_with(['[', '{']) { Value::Json(text) } else { Value::Number(text) }
            }
            (TAG, _) => return Err("a tag that entries do not have"),
            _ => Value::Int(int(&head)?),
        })
    }
}

#[inline]
fn text(bytes: &[u8]) -> Result<&str, Wrong> {
    ascii::text(bytes).map_err(|_| "a text is not UTF-8")
}

#[inline]
fn int(head: &Head) -> Result<i64, Wrong> {
    let n = i64::try_from(head.n).map_err(|_| "an integer of more than 64 bits")?;
    match head.major {
        UNSIGNED => Ok(n),
        NEGATIVE => Ok(!n),
        _ => Err("not an integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minicbor::Decoder;
    use minicbor::data::Type;

    /// The same by a library: what is read of it and where it ends.
    fn by_library(bytes: &[u8]) -> Option<(Value<'_>, usize)> {
        let mut d = Decoder::new(bytes);
        let value = match d.datatype().ok()? {
            Type::String => Value::Str(d.str().ok()?),
            Type::Bool => Value::Bool(d.bool().ok()?),
            Type::Null => d.null().map(|()| Value::Null).ok()?,
            Type::Undefined => d.undefined().map(|()| Value::Str("message")).ok()?,
            Type::F64 => Value::Float(d.f64().ok()?),
            Type::Tag => {
                (d.tag().ok()?.as_u64() == EMBEDDED_JSON).then_some(())?;
                let text = std::str::from_utf8(d.bytes().ok()?).ok()?;
                if text.starts_with(['[', '{']) { Value::Json(text) } else { Value::Number(text) }
            }
            _ => Value::Int(d.i64().ok()?),
        };
        Some((value, d.position()))
    }

    proptest::proptest! {
        #[test]
        fn it_reads_what_a_library_reads(
            first in proptest::sample::select(vec![
                0x00u8, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x20, 0x37, 0x38, 0x3b, 0x44, 0x5b, 0x60, 0x63, 0x78, 0x7b,
                0x7f, 0x84, 0x9f, 0xa1, 0xbf, 0xc0, 0xd9, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xff,
            ]),
            mut rest in proptest::collection::vec(proptest::num::u8::ANY, 0..24),
            tagged: bool,
        ) {
            if tagged {
                rest.splice(0..0, [0xd9, 0x01, 0x06, 0x43]);
            } else {
                rest.insert(0, first);
            }
            let mut reader = Reader::new(&rest);
            let read = reader.value("message").ok().map(|value| (value, reader.position()));
            let shown = |read: &Option<(Value<'_>, usize)>| format!("{read:?}"); // NaN equals itself
            proptest::prop_assert_eq!(shown(&read), shown(&by_library(&rest)), "{:x?}", rest);
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        for bytes in [&[0x7b, 255, 255, 255, 255, 255, 255, 255, 255, b'x'][..], &[0x78], &[0x61], &[]] {
            assert_eq!(Reader::new(bytes).text(), Err(ENDS));
        }
        assert_eq!(Reader::new(&[0x5f]).value(""), Err("an item of unknown length"));
        assert_eq!(Reader::new(&[0xa1]).array(), Err("not an array"));
    }
}
