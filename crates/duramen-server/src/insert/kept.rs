//! Decoders, kept from one request to the next: most have the same parameters as the one before, and a decoder that has
//! its buffers costs nothing to begin with.

use duramen_wire::Params;
use std::cell::RefCell;
use std::thread::LocalKey;

/// A decoder that has read a larger body is not kept.
const MAX_KEPT_BODY_BYTES: usize = 4 << 20;
const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Where a thread keeps its last decoder of one protocol.
pub(super) type Keeper<D> = LocalKey<RefCell<Option<Kept<D>>>>;

/// A decoder, and what it was made for.
#[derive(Debug)]
pub(super) struct Kept<D> {
    params: Params,
    /// Since 1970: it tells the year of time stamps that have none.
    day: i64,
    pub decoder: D,
}

impl<D> Kept<D> {
    /// This thread's, if it has one for these parameters and the day of `now_ns`; else a new one.
    pub fn take(
        keeper: &'static Keeper<D>,
        params: Params,
        now_ns: i64,
        make: impl FnOnce(&Params, i64) -> D,
    ) -> Self {
        let day = now_ns.div_euclid(DAY_NS);
        match keeper.take() {
            Some(kept) if kept.params == params && kept.day == day => kept,
            _ => Self { decoder: make(&params, now_ns), params, day },
        }
    }

    /// Decodes a body of so many bytes with this thread's, or with a new one that it has from now on.
    pub fn decode<T>(
        keeper: &'static Keeper<D>,
        (params, now_ns): (Params, i64),
        body_bytes: usize,
        make: impl FnOnce(&Params, i64) -> D,
        decode: impl FnOnce(&mut D) -> T,
    ) -> T {
        let mut kept = Self::take(keeper, params, now_ns, make);
        let outcome = decode(&mut kept.decoder);
        kept.give_back(keeper, body_bytes);
        outcome
    }

    /// Leaves it to this thread's next request, unless this one's body was large: a decoder's buffers stay as they have
    /// grown.
    pub fn give_back(self, keeper: &'static Keeper<D>, body_bytes: usize) {
        if body_bytes <= MAX_KEPT_BODY_BYTES {
            keeper.set(Some(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static KEPT: RefCell<Option<Kept<u32>>> = const { RefCell::new(None) };
    }

    #[test]
    fn one_of_the_same_parameters_and_day_is_used_again() {
        let (usual, mut other) = (Params::default(), Params::default());
        other.set("_stream_fields", "app").unwrap();
        let mut made = 0;
        for (params, now_ns, number) in
            [(&usual, 0, 1), (&usual, DAY_NS - 1, 1), (&other, 0, 2), (&other, 0, 2), (&other, DAY_NS, 3)]
        {
            let kept = Kept::take(&KEPT, params.clone(), now_ns, |_, _| {
                made += 1;
                made
            });
            assert_eq!(kept.decoder, number);
            kept.give_back(&KEPT, MAX_KEPT_BODY_BYTES);
        }
        let kept = Kept::take(&KEPT, other.clone(), DAY_NS, |_, _| 4);
        assert_eq!(Kept::take(&KEPT, other, DAY_NS, |_, _| 5).decoder, 5, "the kept one is in use");
        assert_eq!(kept.decoder, 3);
        kept.give_back(&KEPT, MAX_KEPT_BODY_BYTES + 1);
        assert!(KEPT.take().is_none(), "it may have grown");
    }
}
