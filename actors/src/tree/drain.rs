//! The orderly end (design, section 12): no attempt starts any more; what runs goes on for `drain_grace`, is then asked
//! to stop and keeps its checkpoint, and is killed after the cancel's grace. Leases are renewed and cancels heard until
//! the last attempt has ended.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::pools::PoolMsg;
use super::upkeep::report;
use super::wiring::Shared;
use crate::domain::{EndReason, LeaseKey, Outcome};
use crate::ports::ledger::LedgerError;

/// How often what is still held is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How long ends may be written after the last run was killed.
const WRITING: Duration = Duration::from_secs(5);

/// What a drain did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DrainReport {
    /// Attempts under way when it began.
    pub held: usize,
    /// Attempts that were cut short: released, not charged, their last checkpoint kept.
    pub cut: Vec<LeaseKey>,
    /// Attempts whose end could not be written; the next start takes them back.
    pub left: Vec<LeaseKey>,
}

pub(super) async fn drain(shared: &Arc<Shared>, hurry: CancellationToken) -> DrainReport {
    let held = shared.holdings.len();
    tracing::info!(held, "draining");
    shared.health.drain();
    tell_pools(shared, || PoolMsg::Drain);
    let grace = async {
        tokio::select! {
            () = all_ended(shared) => {}
            () = tokio::time::sleep(shared.settings.drain_grace) => {}
            () = hurry.cancelled() => {}
        }
    };
    tokio::join!(withdraw_types(shared), grace);
    let held_on = shared.holdings.keys();
    tell_pools(shared, || PoolMsg::StopAll(EndReason::Drain));
    let settings = &shared.settings;
    let killing = settings.cancel_grace + settings.neighbour_grace;
    let limit = if held_on.is_empty() { WRITING } else { killing + WRITING };
    // whoever is left then is killed with the tree, and taken back by the next start
    let _ = tokio::time::timeout(limit, all_written(shared)).await;
    // read before they are told: who gives up leaves, and its end is still not written
    let left = shared.holdings.keys();
    shared.give_up.cancel();
    tell_pools(shared, || PoolMsg::GiveUp);
    let settled: Vec<LeaseKey> = held_on.into_iter().filter(|key| !left.contains(key)).collect();
    DrainReport { held, cut: released(shared, settled).await, left }
}

/// Those that were given back: an end may have been a success, or somebody else's, by then. The record knows; what it
/// does not answer in time is left out.
async fn released(shared: &Shared, settled: Vec<LeaseKey>) -> Vec<LeaseKey> {
    let mut released = Vec::new();
    let look = async {
        for key in settled {
            let task = shared.world.store.task(key.task).await?;
            let mut attempts = task.into_iter().flat_map(|task| task.attempts);
            if attempts.any(|attempt| attempt.epoch == key.epoch && attempt.outcome == Some(Outcome::Released)) {
                released.push(key);
            }
        }
        Ok(())
    };
    if let Err(error) = in_time(look).await {
        tracing::warn!(%error, "what the drain released could not be read");
    }
    released
}

fn tell_pools(shared: &Shared, message: impl Fn() -> PoolMsg) {
    for pool in shared.pools.values() {
        // a pool that is down starts draining: it reads the health
        let _ = pool.cast(message());
    }
}

async fn withdraw_types(shared: &Shared) {
    let post = shared.world.store.post(report(shared, Vec::new()));
    if let Err(error) = in_time(post).await {
        tracing::warn!(%error, "the drain was not posted");
    }
}

/// An answer that a start or an end of a node does not wait longer for.
pub(super) async fn in_time<T>(call: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
    let late = |_| Err(LedgerError::Unavailable("no answer in time".to_owned()));
    tokio::time::timeout(WRITING, call).await.unwrap_or_else(late)
}

/// Nothing runs any more.
async fn all_ended(shared: &Shared) {
    while !shared.holdings.is_empty() || !shared.queue.claims.is_empty() || !shared.queue.finishes.is_empty() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Besides, nothing is left to write, nor between two tries: a claim without its answer, the end of a dead lease.
async fn all_written(shared: &Shared) {
    all_ended(shared).await;
    while !shared.health.is_idle() || !shared.queue.finishes.is_empty() {
        tokio::time::sleep(LOOK).await;
    }
}
