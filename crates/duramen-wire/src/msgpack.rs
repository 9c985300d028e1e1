//! MessagePack, read in place.

use rmp::Marker;

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A text or bytes: which, senders do not agree on.
    Bytes(&'a [u8]),
    Ext(i8, &'a [u8]),
    /// So many items follow.
    Array(u32),
    /// So many pairs of items follow.
    Map(u32),
}

/// Why there is no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More bytes are needed.
    TooShort,
    /// There is no such marker.
    Malformed,
}

/// A place in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// The next item.
    pub fn next(&mut self) -> Result<Item<'a>, Stop> {
        let marker = Marker::from_u8(self.take::<1>()?[0]);
        Ok(match marker {
            Marker::Null => Item::Nil,
            Marker::True => Item::Bool(true),
            Marker::False => Item::Bool(false),
            Marker::FixPos(n) => Item::Uint(u64::from(n)),
            Marker::FixNeg(n) => Item::Int(i64::from(n)),
            Marker::U8 => Item::Uint(u64::from(u8::from_be_bytes(self.take()?))),
            Marker::U16 => Item::Uint(u64::from(u16::from_be_bytes(self.take()?))),
            Marker::U32 => Item::Uint(u64::from(u32::from_be_bytes(self.take()?))),
            Marker::U64 => Item::Uint(u64::from_be_bytes(self.take()?)),
            Marker::I8 => Item::Int(i64::from(i8::from_be_bytes(self.take()?))),
            Marker::I16 => Item::Int(i64::from(i16::from_be_bytes(self.take()?))),
            Marker::I32 => Item::Int(i64::from(i32::from_be_bytes(self.take()?))),
            Marker::I64 => Item::Int(i64::from_be_bytes(self.take()?)),
            Marker::F32 => Item::Float(f64::from(f32::from_be_bytes(self.take()?))),
            Marker::F64 => Item::Float(f64::from_be_bytes(self.take()?)),
            Marker::FixStr(len) => Item::Bytes(self.bytes(u32::from(len))?),
            Marker::Str8 | Marker::Bin8 => {
                let len = u8::from_be_bytes(self.take()?);
                Item::Bytes(self.bytes(u32::from(len))?)
            }
            Marker::Str16 | Marker::Bin16 => {
                let len = u16::from_be_bytes(self.take()?);
                Item::Bytes(self.bytes(u32::from(len))?)
            }
            Marker::Str32 | Marker::Bin32 => {
                let len = u32::from_be_bytes(self.take()?);
                Item::Bytes(self.bytes(len)?)
            }
            Marker::FixArray(n) => Item::Array(u32::from(n)),
            Marker::Array16 => Item::Array(u32::from(u16::from_be_bytes(self.take()?))),
            Marker::Array32 => Item::Array(u32::from_be_bytes(self.take()?)),
            Marker::FixMap(n) => Item::Map(u32::from(n)),
            Marker::Map16 => Item::Map(u32::from(u16::from_be_bytes(self.take()?))),
            Marker::Map32 => Item::Map(u32::from_be_bytes(self.take()?)),
            Marker::FixExt1 => self.ext(1)?,
            Marker::FixExt2 => self.ext(2)?,
            Marker::FixExt4 => self.ext(4)?,
            Marker::FixExt8 => self.ext(8)?,
            Marker::FixExt16 => self.ext(16)?,
            Marker::Ext8 => {
                let len = u8::from_be_bytes(self.take()?);
                self.ext(u32::from(len))?
            }
            Marker::Ext16 => {
                let len = u16::from_be_bytes(self.take()?);
                self.ext(u32::from(len))?
            }
            Marker::Ext32 => {
                let len = u32::from_be_bytes(self.take()?);
                self.ext(len)?
            }
            Marker::Reserved => return Err(Stop::Malformed),
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Stop::TooShort)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn bytes(&mut self, len: u32) -> Result<&'a [u8], Stop> {
        let (bytes, rest) = self.rest.split_at_checked(len as usize).ok_or(Stop::TooShort)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn ext(&mut self, len: u32) -> Result<Item<'a>, Stop> {
        let kind = i8::from_be_bytes(self.take()?);
        Ok(Item::Ext(kind, self.bytes(len)?))
    }

    /// Passes over a value with all it holds, and gives its bytes.
    pub fn skip(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.rest;
        let mut scan = Scan::default();
        scan.go_on(self)?;
        Ok(&start[..start.len() - self.rest.len()])
    }
}

/// Finds the end of a value in bytes that come in pieces, without looking at any item twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    /// How many items are to come yet.
    open: u64,
}

impl Default for Scan {
    fn default() -> Self {
        Self { open: 1 }
    }
}

impl Scan {
    /// Goes on from the cursor, which stands where the last call left it. Ends behind the value.
    pub fn go_on(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        while self.open > 0 {
            let mut ahead = *cursor;
            let items = match ahead.next()? {
                Item::Array(n) => u64::from(n),
                Item::Map(n) => 2 * u64::from(n),
                _ => 0,
            };
            // Each container has taken a byte of the message for its marker: far below 2^64.
            self.open = self.open - 1 + items;
            *cursor = ahead;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_and_values_skipped_in_pieces() {
        let bytes =
            [0x82, 0xa1, b'a', 0x93, 0x01, 0xff, 0xc0, 0xa1, b'b', 0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x07];
        let mut cursor = Cursor { rest: &bytes };
        assert_eq!(cursor.skip().unwrap().len(), bytes.len() - 1);
        assert_eq!(cursor.next(), Ok(Item::Uint(7)));
        assert_eq!(cursor.next(), Err(Stop::TooShort));
        let (mut scan, mut done) = (Scan::default(), 0);
        for len in 0..bytes.len() {
            let mut cursor = Cursor { rest: &bytes[done..len] };
            let outcome = scan.go_on(&mut cursor);
            assert_eq!(outcome.is_ok(), len == bytes.len() - 1);
            done = len - cursor.rest.len();
        }
        assert_eq!(Cursor { rest: &[0xc1] }.next(), Err(Stop::Malformed));
        assert_eq!(
            Cursor { rest: &[0xd7, 0, 1, 2, 3, 4, 5, 6, 7, 8] }.next(),
            Ok(Item::Ext(0, &[1, 2, 3, 4, 5, 6, 7, 8]))
        );
    }
}
