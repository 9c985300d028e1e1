//! Whether a text comes again so far behind that parts of it, compressed each for itself, would not know.
//!
//! A gear hash, of the last 64 bytes, chooses anchors: places that depend on what is around them alone, so that a copy of a text has the
//! anchors of the text. (W. Xia et al.: FastCDC, USENIX ATC 2016.) An anchor that was there before, but not lately, stands
//! for as much text as there is between two.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// One in so many places is an anchor.
const ANCHOR_EVERY: u64 = 512;
/// How far behind a part of a text sees.
const NEAR_BYTES: usize = 64 << 10;
/// How far behind zstd sees at the levels in use.
const FAR_BYTES: usize = 4 << 20;
/// One in so many anchors may come again from afar: about that much of the text would be compressed twice.
const FEW: usize = 64;

/// Whether much of the text comes again from further behind than a part of it sees, but not too far for the whole.
pub(super) fn comes_again_far(text: &[u8]) -> bool {
    let mut hash = 0u64;
    let mut last: HashMap<u64, usize, FixedState> = HashMap::default();
    let (mut anchors, mut again) = (0, 0);
    for (at, &byte) in text.iter().enumerate() {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
        if hash >= u64::MAX / ANCHOR_EVERY {
            continue;
        }
        anchors += 1;
        if let Some(before) = last.insert(hash, at) {
            again += usize::from((NEAR_BYTES..=FAR_BYTES).contains(&(at - before)));
        }
    }
    again * FEW > anchors
}

/// A random number for each byte: those of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
const GEAR: [u64; 256] = {
    let mut gear = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        gear[i] = z ^ (z >> 31);
        i += 1;
    }
    gear
};

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` documents of `bytes` each without repetition, again and again in turns until there are so many bytes.
    fn documents(count: usize, bytes: usize, total: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b"0123456789abcdef"[(state >> 60) as usize]
        };
        let documents: Vec<Vec<u8>> = (0..count).map(|_| (0..bytes).map(|_| byte()).collect()).collect();
        let mut text = Vec::new();
        for document in documents.iter().cycle() {
            text.extend((0..16).map(|_| byte()));
            text.extend(document);
            if text.len() >= total {
                break;
            }
        }
        text
    }

    #[test]
    fn what_comes_again_from_afar_is_found() {
        assert!(!comes_again_far(b""));
        assert!(!comes_again_far(&documents(1, 3 << 20, 3 << 20)), "nothing comes again");
        assert!(comes_again_far(&documents(60, 20_000, 4 << 20)));
        assert!(!comes_again_far(&documents(3, 20_000, 3 << 20)), "a part sees it, too");
        assert!(!comes_again_far(&documents(1, 5 << 20, 10 << 20)), "nobody sees it");
        // A fiftieth of the text is enough.
        let mut text = documents(1, 3 << 20, 3 << 20);
        text.extend_from_within(1_000_000..1_090_000);
        assert!(comes_again_far(&text));
        text.truncate((3 << 20) + 20_000);
        assert!(!comes_again_far(&text));
    }
}
