//! CBOR, as entries are encoded in the WAL, beside JSON.

use super::ours::encode;
use super::peers::JsonEntry;
use crate::Result;
use crate::case::Case;
use crate::sample::Entries;
use duramen::{EntryBuf, EntryRef};
use shared::case::Figures;
use shared::middle::median;
use std::hint::black_box;
use std::time::Instant;

/// Times that all entries are encoded and decoded.
const PASSES: usize = 5;

pub(crate) fn encoding(case: &Case) -> Result<Figures> {
    let entries = Entries::new(case.message_bytes);
    let cbor = case.system == "cbor";
    let mut encoded: Vec<Vec<u8>> = vec![Vec::new(); case.lines as usize];
    let mut buf = EntryBuf::new(["service"]);
    let (mut encode_ns, mut decode_ns) = (Vec::new(), Vec::new());
    for _ in 0..PASSES {
        let begin = Instant::now();
        for (i, out) in encoded.iter_mut().enumerate() {
            let entry = entries.get(i as u64);
            out.clear();
            if cbor {
                out.extend_from_slice(encode(&mut buf, &entry)?);
            } else {
                serde_json::to_writer(&mut *out, &JsonEntry::from(&entry))?;
            }
        }
        encode_ns.push(begin.elapsed().as_nanos() as f64 / case.lines as f64);
        let begin = Instant::now();
        for bytes in &encoded {
            if cbor {
                let entry = EntryRef::decode(bytes)?;
                entry.stream().chain(entry.fields()).for_each(|field| {
                    black_box(field);
                });
            } else {
                black_box(serde_json::from_slice::<JsonEntry<'_>>(bytes)?);
            }
        }
        decode_ns.push(begin.elapsed().as_nanos() as f64 / case.lines as f64);
    }
    let bytes: usize = encoded.iter().map(Vec::len).sum();
    let mut figures = Figures::new();
    figures.insert("encode_ns".into(), median(encode_ns).unwrap_or_default());
    figures.insert("decode_ns".into(), median(decode_ns).unwrap_or_default());
    figures.insert("bytes_per_entry".into(), bytes as f64 / case.lines as f64);
    Ok(figures)
}
