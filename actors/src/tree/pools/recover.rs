//! What a pool does first: take back what the one before it held.
//!
//! A pool that dies takes its lease actors along; their seats are given up, so that hosts stop the runs, and kill those
//! that will not stop. The new pool waits until those runs are over, then takes back in the ledger what this incarnation
//! holds for its type and no actor owns. Claims answered meanwhile are kept aside: what was taken back is dropped, the
//! rest begins.

use std::collections::HashSet;

use super::pool::{Pool, PoolMsg};
use crate::domain::LeaseKey;
use crate::ports::ledger::{Claimed, LedgerError, TakeBack, TakeCause, Taken};
use crate::ports::observer::Fact;
use crate::supervise::{OwnedTask, Tick};
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Recovery {
    /// Waits for the old runs, or for the ledger.
    _task: OwnedTask,
    kept: Vec<Claimed>,
}

impl Recovery {
    /// A claim that was answered while the pool recovers.
    pub fn keep(&mut self, claimed: Vec<Claimed>) {
        self.kept.extend(claimed);
    }
}

impl Pool {
    pub(super) fn recover(&mut self) {
        self.place.state("waiting until the old runs are over");
        self.shared.health.of_type(&self.task_type.name, |health| health.pool_serves = false);
        let old = self.shared.holdings.of_type(&self.task_type.name);
        let wait = async move {
            for (_, holding) in old {
                holding.over.cancelled().await;
            }
        };
        let task = OwnedTask::spawn(&self.myself, wait, |_| PoolMsg::RunsOver);
        self.recovery = Some(Recovery { _task: task, kept: Vec::new() });
    }

    pub(super) fn runs_over(&mut self) {
        for (key, _) in self.shared.holdings.of_type(&self.task_type.name) {
            self.shared.holdings.remove(key);
        }
        self.take_back();
    }

    pub(super) fn take_back(&mut self) {
        self.place.state("taking back what was held before");
        let shared = Arc::clone(&self.shared);
        let request = TakeBack {
            incarnation: shared.settings.owner.incarnation,
            task_type: Some(self.task_type.name.clone()),
            except: Vec::new(),
            older_than: Duration::ZERO,
            cause: TakeCause::NoActor,
            backoff: shared.backoff(),
        };
        let ask = async move { shared.world.store.take_back(request).await };
        let task = OwnedTask::spawn(&self.myself, ask, |ended| {
            PoolMsg::TakenBack(ended.unwrap_or_else(|panic| Err(LedgerError::Unavailable(panic.to_string()))))
        });
        let kept = self.recovery.take().map(|recovery| recovery.kept).unwrap_or_default();
        self.recovery = Some(Recovery { _task: task, kept });
    }

    pub(super) async fn taken_back(&mut self, answer: Result<Vec<Taken>, LedgerError>) {
        match answer {
            Err(error) => {
                tracing::warn!(actor = self.place.path(), %error, "what was held before could not be taken back; trying again");
                self.shared.health.store(Some(error.to_string()));
                self.timers = vec![Tick::after(&self.myself, Duration::from_secs(1), || PoolMsg::TakeBackAgain)];
            }
            Ok(taken) => self.serve(&taken).await,
        }
    }

    async fn serve(&mut self, taken: &[Taken]) {
        self.shared.health.store(None);
        for one in taken {
            let (task_type, key, status) = (one.task_type.clone(), one.key, one.status);
            self.shared.saw(Fact::TakenBack { task_type, key, cause: TakeCause::NoActor, status });
        }
        let gone: HashSet<LeaseKey> = taken.iter().map(|one| one.key).collect();
        let kept = self.recovery.take().map(|recovery| recovery.kept).unwrap_or_default();
        for claimed in kept.into_iter().filter(|claimed| !gone.contains(&claimed.key)) {
            self.start_lease(claimed, None).await;
        }
        self.place.state("serving");
        self.shared.health.of_type(&self.task_type.name, |health| health.pool_serves = true);
        self.look();
    }
}
