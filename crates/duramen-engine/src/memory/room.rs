//! Which parts of a region are free: stretches of units, none next to another.

use std::collections::BTreeMap;

/// The free stretches.
#[derive(Debug)]
pub(super) struct Room {
    /// Where each starts, and how long it is.
    free: BTreeMap<u32, u32>,
    /// None is longer: most rooms that have too little are passed over without a search.
    longest: u32,
}

impl Room {
    /// All of so many units.
    pub(super) fn new(units: u32) -> Self {
        Self { free: BTreeMap::from([(0, units)]), longest: units }
    }

    /// Takes so many units, at least one, from the first stretch that has them; says where they start.
    pub(super) fn take(&mut self, units: u32) -> Option<u32> {
        if units > self.longest {
            return None;
        }
        let Some((&at, &len)) = self.free.iter().find(|(_, len)| **len >= units) else {
            self.longest = units.saturating_sub(1);
            return None;
        };
        self.free.remove(&at);
        if len > units {
            self.free.insert(at + units, len - units);
        }
        Some(at)
    }

    /// Gives back what was taken.
    pub(super) fn give(&mut self, at: u32, units: u32) {
        let (mut start, mut len) = (at, units);
        if let Some((&before, &before_len)) = self.free.range(..at).next_back()
            && before + before_len == at
        {
            start = before;
            len += before_len;
        }
        if let Some(behind) = self.free.remove(&(at + units)) {
            len += behind;
        }
        self.free.insert(start, len);
        self.longest = self.longest.max(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_is_nobody_elses(steps in prop::collection::vec((1u32..20, any::<bool>(), any::<prop::sample::Index>()), 1..200)) {
            let mut room = Room::new(100);
            let mut taken: Vec<(u32, u32)> = Vec::new();
            for (units, take, which) in steps {
                if take {
                    let mut used = [false; 100];
                    for &(at, units) in &taken {
                        (at..at + units).for_each(|unit| used[unit as usize] = true);
                    }
                    let fits = used.windows(units as usize).any(|window| window.iter().all(|used| !used));
                    let at = room.take(units);
                    prop_assert_eq!(at.is_some(), fits);
                    if let Some(at) = at {
                        prop_assert!((at..at + units).all(|unit| !used[unit as usize]));
                        taken.push((at, units));
                    }
                } else if !taken.is_empty() {
                    let (at, units) = taken.swap_remove(which.index(taken.len()));
                    room.give(at, units);
                }
            }
            for (at, units) in taken {
                room.give(at, units);
            }
            prop_assert_eq!(room.take(100), Some(0));
        }
    }
}
