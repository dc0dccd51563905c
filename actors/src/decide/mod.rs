//! Decisions, pure: what to do, from what is known. Time and dice are arguments.

pub mod admission;
pub mod ending;
pub mod hosts;
pub mod output;
pub mod retry;
pub mod timeout;
pub mod trust;
pub mod verdict;
