//! Dice that fall the same way for the same seed.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use crate::ports::Dice;

/// Splitmix64 over a counter: as good as a test needs, and repeatable.
#[derive(Debug)]
pub struct SeededDice {
    state: AtomicU64,
}

impl SeededDice {
    pub fn new(seed: u64) -> Self {
        SeededDice { state: AtomicU64::new(seed) }
    }

    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Dice for SeededDice {
    fn unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn token(&self) -> Uuid {
        Uuid::from_u64_pair(self.next(), self.next())
    }
}
