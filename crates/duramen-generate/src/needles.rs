//! Needles: what is planted in a run to be found again, in numbers that are known beforehand.

use crate::event::Needle;
use crate::rng::{Rng, mix};
use crate::text;
use std::collections::BTreeMap;

/// Shorter runs have none.
pub(crate) const LINES_MIN: u64 = 10_000;
/// Words of which at least the first and last occur nowhere else.
pub(crate) const PHRASE: &str = "periwinkle sextant mislaid near the observatory";
const PHRASE_LINES: u64 = 37;
const TRACE_LINES: u64 = 23;

/// Where which needle lies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needles {
    /// By the event's number.
    places: BTreeMap<u64, Needle>,
    pub(crate) uuid: String,
    pub(crate) trace: [u64; 2],
}

impl Needles {
    pub(crate) fn plan(seed: u64, lines: u64) -> Self {
        let mut rng = Rng::new(mix(seed ^ 0x6e65_6564_6c65));
        let mut uuid = Vec::new();
        text::uuid(&mut uuid, rng.next(), rng.next());
        let mut needles = Self {
            places: BTreeMap::new(),
            uuid: String::from_utf8_lossy(&uuid).into_owned(),
            trace: [rng.next(), rng.next()],
        };
        if lines < LINES_MIN {
            return needles;
        }
        // The phrase is spread over the whole run, the trace is over in a moment.
        for i in 0..PHRASE_LINES {
            let place = (i * lines + rng.below(lines)) / PHRASE_LINES;
            needles.place(place, Needle::Phrase, lines);
        }
        let start = rng.below(lines - 1000);
        for i in 0..TRACE_LINES {
            needles.place(start + i * 3, Needle::Trace, lines);
        }
        needles.place(rng.below(lines), Needle::Uuid, lines);
        needles
    }

    /// Takes the next free place.
    fn place(&mut self, mut place: u64, needle: Needle, lines: u64) {
        while self.places.contains_key(&place) {
            place = (place + 1) % lines;
        }
        self.places.insert(place, needle);
    }

    /// The needle that is the event with this number.
    pub(crate) fn at(&self, number: u64) -> Option<Needle> {
        self.places.get(&number).copied()
    }

    /// What can be searched for, and how many lines have it.
    pub(crate) fn planted(&self) -> Vec<(String, u64)> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let mut trace = Vec::new();
        text::hex(&mut trace, self.trace[0], 16);
        text::hex(&mut trace, self.trace[1], 16);
        vec![
            (self.uuid.clone(), 1),
            (PHRASE.to_owned(), PHRASE_LINES),
            (String::from_utf8_lossy(&trace).into_owned(), TRACE_LINES),
        ]
    }
}
