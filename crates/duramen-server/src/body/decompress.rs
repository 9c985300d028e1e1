//! A body decompressed: within the limit of one, and each byte counted before it is kept.

use super::encoding::{Encoding, window_of_zstd};
use super::{Received, over_limit};
use crate::error::{ApiError, ApiResult};
use bytes::Bytes;
use std::io::{BufRead, BufReader, Read};

/// What a stream of snappy's frames begins with.
const SNAPPY_STREAM: &[u8] = b"\xff\x06\x00\x00sNaPpY";

impl Received {
    /// Its bytes, decompressed.
    ///
    /// # Errors
    /// 413 if they are more than a body may have, 429 if more than there is memory for, 400 if they do not decompress.
    pub fn decompressed(&mut self) -> ApiResult<Bytes> {
        let bytes = self.bytes.clone();
        let from = BufReader::with_capacity(64 << 10, &*bytes);
        // No deflate begins so.
        if self.encoding == Encoding::Deflate && bytes.starts_with(&[0x1f, 0x8b]) {
            self.encoding = Encoding::Gzip;
        }
        let name = match self.encoding {
            Encoding::Identity => return Ok(bytes),
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
            Encoding::Zstd => "zstd",
            Encoding::Snappy => "snappy",
        };
        match self.encoding {
            Encoding::Identity => Ok(bytes.clone()),
            Encoding::Gzip => self.read_all(name, 0, flate2::bufread::MultiGzDecoder::new(from)),
            // What HTTP calls deflate is zlib's format; some send the bare one.
            Encoding::Deflate if bytes.first().is_some_and(|b| b & 0x0f == 8) => {
                let mut decoder = flate2::bufread::ZlibDecoder::new(from);
                let all = self.read_all(name, 0, &mut decoder)?;
                nothing_behind(decoder.into_inner(), all)
            }
            Encoding::Deflate => {
                let mut decoder = flate2::bufread::DeflateDecoder::new(from);
                let all = self.read_all(name, 0, &mut decoder)?;
                nothing_behind(decoder.into_inner(), all)
            }
            Encoding::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(from)
                    .and_then(|mut decoder| decoder.window_log_max(27).map(|()| decoder));
                let decoder = decoder.map_err(|e| ApiError::unavailable(format!("zstd: {e}")))?;
                self.read_all(name, window_of_zstd(&bytes), decoder)
            }
            Encoding::Snappy if bytes.starts_with(SNAPPY_STREAM) => {
                self.read_all(name, 0, snap::read::FrameDecoder::new(from))
            }
            Encoding::Snappy => self.decompressed_raw_snappy(),
        }
    }

    /// Decompresses snappy's raw format, which tells its length first.
    ///
    /// # Errors
    /// As [`Self::decompressed`].
    pub fn decompressed_raw_snappy(&mut self) -> ApiResult<Bytes> {
        let malformed = |e: snap::Error| ApiError::bad_request(format!("the body is not snappy: {e}"));
        let len = snap::raw::decompress_len(&self.bytes).map_err(malformed)?;
        if len > self.limit_bytes {
            return Err(over_limit(self.limit_bytes));
        }
        self.share.grow(len)?;
        Ok(snap::raw::Decoder::new().decompress_vec(&self.bytes).map_err(malformed)?.into())
    }

    /// Reads it to its end. The decoder keeps up to `window_bytes` of it for itself meanwhile, which are counted, too.
    fn read_all(&mut self, name: &str, window_bytes: usize, mut from: impl Read) -> ApiResult<Bytes> {
        let before = self.share.bytes();
        let mut all = self.share.rooms.take(self.bytes.len().saturating_mul(4).min(1 << 20));
        let mut piece = vec![0; 64 << 10];
        loop {
            let n = from
                .read(&mut piece)
                .map_err(|e| ApiError::bad_request(format!("the body is not {name}: {e}")))?;
            if n == 0 {
                self.share.resize(before + all.len())?;
                return Ok(all.into_bytes());
            }
            if all.len() + n > self.limit_bytes {
                return Err(over_limit(self.limit_bytes));
            }
            let kept = window_bytes.min(all.len() + n) - window_bytes.min(all.len());
            self.share.grow(n + kept)?;
            all.extend_from_slice(&piece[..n]);
        }
    }
}

/// The body, if it is all that there is: deflate is one stream, and what follows it would be dropped.
fn nothing_behind(mut rest: impl BufRead, all: Bytes) -> ApiResult<Bytes> {
    match rest.fill_buf() {
        Ok([]) => Ok(all),
        _ => Err(ApiError::bad_request("the body is not deflate: something follows its end")),
    }
}
