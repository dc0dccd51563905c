//! The store in memory: executes the table of states, under one lock. The model that the SQL stores are held against.

mod claim;
mod ledger;
mod records;
mod registry;
mod row;
mod state;
mod write;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use super::ManualClock;
use crate::ports::rules::Sizes;
use crate::ports::signals::{Signal, Signals};
use state::State;

/// Signals that a listener may be behind.
const SIGNALS: usize = 4096;

#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    clock: ManualClock,
    signals: broadcast::Sender<Signal>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// Its clock flows with tokio's, and can be moved on top.
    pub fn new() -> Self {
        Self::with(ManualClock::flowing(), Sizes::default())
    }

    pub fn with(clock: ManualClock, sizes: Sizes) -> Self {
        let state = Mutex::new(State::new(sizes));
        MemoryStore { state, clock, signals: broadcast::channel(SIGNALS).0 }
    }

    /// The store's clock: move it to end leases.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn read(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = self.clock.now();
        state
    }

    /// One transaction; what it signals is told after it.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.read();
        let answer = change(&mut state);
        for signal in state.signals.drain(..) {
            let _ = self.signals.send(signal); // nobody listening is no fault
        }
        answer
    }
}

impl Signals for MemoryStore {
    fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }
}
