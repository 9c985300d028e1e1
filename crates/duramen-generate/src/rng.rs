//! Randomness that is the same on every machine, for every version: xoshiro256++ seeded by splitmix64.

/// Spreads the bits of `x` (splitmix64's finaliser): near inputs give unrelated outputs.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// An integer in `0..n` from 64 random bits; 0 if `n` is 0.
pub(crate) fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// A number in `[0, 1)` from 64 random bits.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub(crate) struct Rng([u64; 4]);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let a = mix(seed);
        let b = mix(a);
        let c = mix(b);
        Self([a, b, c, mix(c)])
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// An integer in `0..n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        below(self.next(), n)
    }

    /// An integer in `0..n`, to index a table with.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// A number in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.next())
    }

    /// True with probability `p`.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// An exponentially distributed number with mean 1: the gaps of a Poisson process.
    pub(crate) fn exponential(&mut self) -> f64 {
        -crate::math::ln(1.0 - self.unit())
    }

    /// A heavy-tailed number of at least 1: Pareto with exponent 2, cut off at 400.
    pub(crate) fn pareto(&mut self) -> f64 {
        (1.0 / (1.0 - self.unit()).sqrt()).min(400.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_right() {
        let mut rng = Rng::new(7);
        let n = 200_000;
        let unit = (0..n).map(|_| rng.unit()).sum::<f64>() / f64::from(n);
        let exponential = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        let pareto = (0..n).map(|_| rng.pareto()).sum::<f64>() / f64::from(n);
        let tens = (0..n).map(|_| rng.below(11)).sum::<u64>() as f64 / f64::from(n);
        assert!((unit - 0.5).abs() < 0.005, "{unit}");
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
        assert!((pareto - 2.0).abs() < 0.1, "{pareto}");
        assert!((tens - 5.0).abs() < 0.05, "{tens}");
        assert_eq!(below(u64::MAX, 0), 0);
        assert_eq!(below(u64::MAX, 3), 2);
    }
}
