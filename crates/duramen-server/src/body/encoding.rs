//! How a body is compressed, and what it takes to decompress it.

use crate::error::{ApiError, ApiResult};
use axum::http::{HeaderMap, StatusCode, header};
use zstd::zstd_safe::find_frame_compressed_size;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
    /// Snappy: one block, or a stream of frames. Both are sent by this name, and told apart by how the stream begins.
    Snappy,
}

impl Encoding {
    pub(crate) fn of(headers: &HeaderMap) -> ApiResult<Self> {
        let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(Self::Identity) };
        match value.to_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            // VictoriaLogs' clients may say `none`.
            "" | "identity" | "none" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            // OpenTelemetry's Collector calls HTTP's deflate by the name of its format.
            // graypy says both, and means zlib's.
            "deflate" | "zlib" | "gzip,deflate" | "gzip, deflate" => Ok(Self::Deflate),
            "zstd" => Ok(Self::Zstd),
            "snappy" | "x-snappy-framed" => Ok(Self::Snappy),
            other => Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("Content-Encoding `{other}` is none of: identity, gzip, deflate, zstd, snappy"),
            )),
        }
    }
}

/// How much of what was decompressed last is kept beside it, to decompress what follows: the largest window of the frames of a
/// body of Zstandard, which a few bytes may ask for.
///
/// ```text
/// 28 b5 2f fd │ descriptor │ window, unless of a single segment │ dictionary, 0 to 4 bytes │ content's size │ blocks …
/// ```
pub(super) fn window_of_zstd(body: &[u8]) -> usize {
    let (mut rest, mut most) = (body, 0);
    while let Some(window) = window_of_frame(rest) {
        most = most.max(window);
        // One that is damaged is not decompressed to its end, nor is what follows.
        let len = find_frame_compressed_size(rest).unwrap_or(rest.len());
        rest = rest.get(len.max(1)..).unwrap_or_default();
    }
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// `None` for what is no frame; nothing for one to be skipped.
fn window_of_frame(frame: &[u8]) -> Option<u64> {
    match frame.first_chunk::<4>()? {
        [0x28, 0xb5, 0x2f, 0xfd] => {}
        [0x50..=0x5f, 0x2a, 0x4d, 0x18] => return Some(0),
        _ => return None,
    }
    let descriptor = *frame.get(4)?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = *frame.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // It is as large as what is in it.
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = frame.get(5 + dictionary_bytes..)?;
    Some(match descriptor >> 6 {
        0 => u64::from(*size.first()?),
        1 => u64::from(u16::from_le_bytes(*size.first_chunk()?)) + 256,
        2 => u64::from(u32::from_le_bytes(*size.first_chunk()?)),
        _ => u64::from_le_bytes(*size.first_chunk()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(bytes: usize, window_log: u32, tells_size: bool) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        if tells_size {
            encoder.set_pledged_src_size(Some(bytes as u64)).unwrap();
        }
        encoder.write_all(&vec![b'x'; bytes]).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn windows_are_those_of_the_largest_frame() {
        assert_eq!(window_of_zstd(&packed(10, 27, false)), 1 << 27);
        assert_eq!(window_of_zstd(&packed(1_000_000, 14, true)), 1 << 14);
        for bytes in [0, 10, 255, 256, 1_000, 65_791, 65_792, 1_000_000] {
            assert_eq!(window_of_zstd(&packed(bytes, 24, true)), bytes, "a single segment");
        }
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let frames = [&packed(10, 10, false)[..], skipped, &packed(10, 20, false), &packed(10, 12, false)];
        assert_eq!(window_of_zstd(&frames.concat()), 1 << 20);
        let whole = packed(1_000, 24, true);
        assert!((0..whole.len()).all(|len| window_of_zstd(&whole[..len]) <= 1_000));
        for other in [&b""[..], b"x", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\xff\xff\xff"] {
            assert_eq!(window_of_zstd(other), 0);
        }
    }

    #[test]
    fn encodings_go_by_many_names() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, text.parse().unwrap());
            Encoding::of(&headers)
        };
        for name in ["", "identity", "none", " None "] {
            assert_eq!(of(name).unwrap(), Encoding::Identity, "{name}");
        }
        assert_eq!(of("GZIP").unwrap(), Encoding::Gzip);
        assert_eq!(of("br").unwrap_err().status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
}
