//! Real dice.

use uuid::Uuid;
use windlass_actors::ports::Dice;

#[derive(Clone, Copy, Debug)]
pub struct Chance;

impl Dice for Chance {
    fn unit(&self) -> f64 {
        rand::random()
    }

    fn token(&self) -> Uuid {
        Uuid::now_v7()
    }
}
