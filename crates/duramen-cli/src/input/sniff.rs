//! What the first bytes of an input tell.

use crate::input::utf16::ByteOrder;

/// How an input is compressed, told by its first bytes and never by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or many.
    Gzip,
    /// Zstandard, one frame or many.
    Zstd,
    /// Something we do not read; a command that does.
    Foreign {
        /// Its name.
        name: &'static str,
        /// The command that writes it, decompressed, to stdout.
        decompress: &'static str,
    },
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Zstandard's skippable frames: any of 0x184D2A50 to 0x184D2A5F, little-endian. Only the first byte varies.
const ZSTD_SKIPPABLE_TAIL: &[u8] = &[0x2a, 0x4d, 0x18];
const FOREIGN: [(&[u8], &str, &str); 5] = [
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so"),
];
/// The longest of all these.
pub(crate) const MAGIC_BYTES: usize = 6;

/// Tells the compression from the first bytes.
pub(crate) fn compression(head: &[u8]) -> Compression {
    if head.starts_with(GZIP) {
        return Compression::Gzip;
    }
    if head.starts_with(ZSTD) || is_skippable(head) {
        return Compression::Zstd;
    }
    // `BZh` alone could begin a text line; bzip2 says its block size, a digit, next.
    let foreign = FOREIGN.iter().find(|(magic, name, _)| {
        head.starts_with(magic) && (*name != "bzip2" || head.get(3).is_some_and(u8::is_ascii_digit))
    });
    match foreign {
        Some(&(_, name, decompress)) => Compression::Foreign { name, decompress },
        None => Compression::None,
    }
}

fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, rest @ ..] if rest.starts_with(ZSTD_SKIPPABLE_TAIL))
}

/// Whether more bytes could turn these into the beginning of a known format.
pub(crate) fn undecided(head: &[u8]) -> bool {
    let magics = FOREIGN.iter().map(|(magic, ..)| *magic).chain([GZIP, ZSTD]);
    let mut begins = magics.map(|magic| magic.len() > head.len() && magic.starts_with(head));
    let skippable = match head {
        [] => true,
        [0x50..=0x5f, rest @ ..] => rest.len() < 3 && ZSTD_SKIPPABLE_TAIL.starts_with(rest),
        _ => false,
    };
    begins.any(|b| b) || skippable || head == b"BZh"
}

/// Whether these first bytes say that the text is UTF-16, and how it is written.
pub(crate) fn utf16(head: &[u8]) -> Option<ByteOrder> {
    match head {
        [0xff, 0xfe, ..] => Some(ByteOrder::LittleEndian),
        [0xfe, 0xff, ..] => Some(ByteOrder::BigEndian),
        _ => None,
    }
}

/// Whether these first bytes are not a log's text: it has NUL bytes. A few are what a loss of power leaves in a log.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    memchr::memchr(0, head).is_some() && duramen_formats::is_binary(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_told_by_content() {
        assert_eq!(compression(b"\x1f\x8b\x08"), Compression::Gzip);
        assert_eq!(compression(b"\x28\xb5\x2f\xfd\x00"), Compression::Zstd);
        assert_eq!(compression(b"\x5a\x2a\x4d\x18"), Compression::Zstd);
        assert!(matches!(compression(b"\xfd7zXZ\0.."), Compression::Foreign { name: "xz", .. }));
        assert!(matches!(compression(b"BZh9"), Compression::Foreign { name: "bzip2", .. }));
        for text in [&b""[..], b"BZhello", b"P log", b"(x)", b"\x1f", b"2026-01-01"] {
            assert_eq!(compression(text), Compression::None, "{text:?}");
        }
    }

    #[test]
    fn waiting_for_more_ends_as_soon_as_it_can() {
        for head in [&b""[..], b"\x1f", b"\x28\xb5", b"B", b"BZh", b"P", b"\x50\x2a", b"\xfd7z"] {
            assert!(undecided(head), "{head:?}");
        }
        for head in [&b"\n"[..], b"\x1f\x8b", b"Px", b"BZhe", b"\x50\x2a\x4d\x18", b"2026", b"<34>1"] {
            assert!(!undecided(head), "{head:?}");
        }
    }

    #[test]
    fn binary_is_told_from_text() {
        assert!(is_binary(b"ab\0c"));
        assert!(!is_binary("häß\x1b[1m\n".as_bytes()));
        assert!(!is_binary(b"latin \xe4\n"));
        assert_eq!(utf16(b"\xff\xfea\0"), Some(ByteOrder::LittleEndian));
        assert_eq!(utf16(b"\xfe\xff\0a"), Some(ByteOrder::BigEndian));
        assert_eq!(utf16(b"\xff"), None);
    }
}
