//! Short texts from bytes.
#![allow(unsafe_code)] // Checking names and values of a few bytes was a tenth of what a flush costs.

use std::str::{Utf8Error, from_utf8, from_utf8_unchecked};

/// As [`from_utf8`], quicker for short texts in ASCII.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        Ok(unsafe { from_utf8_unchecked(bytes) })
    } else {
        from_utf8(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn it_takes_what_is_utf_8(bytes: Vec<u8>, chars in "\\PC{0,40}", ascii in "[ -~]{0,40}") {
            for bytes in [&bytes[..], chars.as_bytes(), ascii.as_bytes()] {
                proptest::prop_assert_eq!(text(bytes), from_utf8(bytes));
            }
        }
    }
}
