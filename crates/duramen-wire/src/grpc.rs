//! gRPC's unary calls, as far as they are bytes: the frame around a message, and the status that ends a call.
//!
//! ```text
//! ┌────────────────┬──────────────────┬─────────┐
//! │ compressed: u8 │ length: u32 (BE) │ message │   a call's body, and its answer's: one such frame
//! └────────────────┴──────────────────┴─────────┘
//! ```
//!
//! `compressed` is 0, or 1 if the message is compressed as the header `grpc-encoding` says. The answer ends with the
//! trailers `grpc-status`, a [`Code`], and `grpc-message`, text whose bytes outside of printable ASCII are `%XX`.

use crate::error::{Error, Result};
use std::fmt::Write;
use std::ops::Range;

/// Bytes before a message.
const HEAD_BYTES: usize = 5;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum Code {
    /// It was done.
    Ok = 0,
    /// What was sent makes no sense: sending it again is no use.
    InvalidArgument = 3,
    /// It took too long.
    DeadlineExceeded = 4,
    /// The token may not do this.
    PermissionDenied = 7,
    /// Too much at once: to be sent again later.
    ResourceExhausted = 8,
    /// The service, the method or the compression is not known.
    Unimplemented = 12,
    /// The server's mistake.
    Internal = 13,
    /// Not now: to be sent again later.
    Unavailable = 14,
    /// A token is needed, and this is none.
    Unauthenticated = 16,
}

impl Code {
    /// What an HTTP status is as a code. 413, too large, is [`Code::InvalidArgument`], because some clients send again
    /// whatever is refused with [`Code::ResourceExhausted`].
    pub fn of_http(status: u16) -> Self {
        match status {
            200..=299 => Self::Ok,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 | 405 | 415 => Self::Unimplemented,
            408 => Self::DeadlineExceeded,
            429 => Self::ResourceExhausted,
            500 => Self::Internal,
            501.. => Self::Unavailable,
            _ => Self::InvalidArgument,
        }
    }
}

/// A frame taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether the message is compressed.
    pub is_compressed: bool,
    /// Where in the body it is.
    pub message: Range<usize>,
}

/// Takes the body of a unary call apart.
///
/// # Errors
/// [`Error::Malformed`] if it is not exactly one frame.
pub fn frame(body: &[u8]) -> Result<Frame> {
    let malformed = |detail: String, at| Error::malformed("a message of gRPC", detail, at);
    let Some((&[flag, a, b, c, d], message)) = body.split_first_chunk::<HEAD_BYTES>() else {
        return Err(malformed("it ends before its length".into(), body.len()));
    };
    let is_compressed = match flag {
        0 => false,
        1 => true,
        other => return Err(malformed(format!("the flag is {other}, not 0 or 1"), 0)),
    };
    let len = u32::from_be_bytes([a, b, c, d]);
    if usize::try_from(len) != Ok(message.len()) {
        let detail = format!("it should have {len} bytes and has {}", message.len());
        return Err(malformed(detail, 1));
    }
    Ok(Frame { is_compressed, message: HEAD_BYTES..body.len() })
}

/// A message, not compressed, in its frame. `None` if it has 4 GiB or more.
pub fn framed(message: &[u8]) -> Option<Vec<u8>> {
    let len = u32::try_from(message.len()).ok()?;
    let mut out = Vec::with_capacity(HEAD_BYTES + message.len());
    out.push(0);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(message);
    Some(out)
}

/// Text for `grpc-message`.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_is_written() {
        let body = framed(b"hi").unwrap();
        assert_eq!(body, b"\0\0\0\0\x02hi");
        assert_eq!(frame(&body), Ok(Frame { is_compressed: false, message: 5..7 }));
        assert!(frame(b"\x01\0\0\0\x02hi").unwrap().is_compressed);
        assert_eq!(frame(b"\0\0\0\0\0").unwrap().message, 5..5);
    }

    #[test]
    fn what_is_not_one_frame_is_refused() {
        for (body, detail) in [
            (&b""[..], "before its length, at byte 0"),
            (b"\0\0\0\0", "before its length, at byte 4"),
            (b"\x02\0\0\0\0", "the flag is 2"),
            (b"\0\0\0\0\x02h", "should have 2 bytes and has 1"),
            (b"\0\0\0\0\x01hi", "should have 1 bytes and has 2"),
            (b"\0\xff\xff\xff\xffhi", "should have 4294967295 bytes"),
        ] {
            let error = frame(body).unwrap_err().to_string();
            assert!(error.starts_with("not a message of gRPC: ") && error.contains(detail), "{error}");
        }
    }

    #[test]
    fn text_is_printable_ascii() {
        assert_eq!(escaped("100 % — \n"), "100 %25 %E2%80%94 %0A");
    }

    #[test]
    fn codes_tell_what_to_do() {
        use Code::{InvalidArgument, ResourceExhausted, Unauthenticated, Unavailable};
        let codes = [400, 401, 413, 429, 503, 507].map(Code::of_http);
        let wanted =
            [InvalidArgument, Unauthenticated, InvalidArgument, ResourceExhausted, Unavailable, Unavailable];
        assert_eq!(codes, wanted);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(flag in 0u8..3, len in 0u32..9, rest in proptest::collection::vec(0u8.., 0..9)) {
            let body = [&[flag][..], &len.to_be_bytes(), &rest].concat();
            match frame(&body) {
                Ok(found) => assert_eq!(body[found.message], rest),
                Err(_) => assert!(flag > 1 || len as usize != rest.len()),
            }
            assert!(frame(&rest).is_err() || rest.len() >= HEAD_BYTES);
        }
    }
}
