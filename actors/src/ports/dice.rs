//! Chance: ids and jitter, from outside so that a simulation can repeat itself.

use uuid::Uuid;

pub trait Dice: Send + Sync + 'static {
    /// Uniform in [0, 1).
    fn unit(&self) -> f64;
    /// A fresh token, unique for good.
    fn token(&self) -> Uuid;
}
