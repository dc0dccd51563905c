//! What a pool does first: take back what the one before it held.
//!
//! A pool that dies takes its lease actors along; their seats are given up, so that hosts stop the runs, and kill those
//! that will not stop. The new pool waits until those runs are over and the ledger has answered what its predecessor
//! asked (claims, and the ends of its leases). Then no write of the predecessor is under way any more, and what this
//! incarnation holds for the type is what no actor owns: all of it is taken back in the ledger. So the answers to its
//! claims needn't be kept: a task that one of them names has been taken back by the time the pool serves.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::pool::{Pool, PoolMsg};
use crate::domain::LeaseKey;
use crate::ports::ledger::{LedgerError, TakeBack, TakeCause, Taken};
use crate::ports::observer::Fact;
use crate::supervise::{OwnedTask, Tick};

pub(super) struct Recovery {
    /// Waits for the old runs, or for the ledger.
    _task: Option<OwnedTask>,
    /// The next try.
    _again: Option<Tick>,
}

impl Recovery {
    fn waits_for(task: OwnedTask) -> Option<Recovery> {
        Some(Recovery { _task: Some(task), _again: None })
    }
}

impl Pool {
    pub(super) fn recover(&mut self) {
        self.place.state("waiting until the old runs are over");
        self.shared.health.of_type(&self.task_type.name, |health| health.pool_serves = false);
        let old = self.shared.holdings.of_type(&self.task_type.name);
        let queue = &self.shared.queue;
        let (claims, finishes, name) =
            (Arc::clone(&queue.claims), Arc::clone(&queue.finishes), self.task_type.name.clone());
        let wait = async move {
            for (_, holding) in &old {
                holding.over.cancelled().await;
            }
            claims.until_none(|claim| claim.task_type == name).await;
            let keys: HashSet<LeaseKey> = old.into_iter().map(|(key, _)| key).collect();
            finishes.until_none(|finish| keys.contains(&finish.key)).await;
        };
        self.recovery = Recovery::waits_for(OwnedTask::spawn(&self.myself, wait, |_| PoolMsg::RunsOver));
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
        self.recovery = Recovery::waits_for(task);
    }

    pub(super) fn taken_back(&mut self, answer: Result<Vec<Taken>, LedgerError>) {
        match answer {
            Err(error) => {
                tracing::warn!(actor = self.place.path(), %error, "what was held before could not be taken back; trying again");
                self.shared.store_failed("take back", &error);
                let again = Tick::after(&self.myself, Duration::from_secs(1), || PoolMsg::TakeBackAgain);
                self.recovery = Some(Recovery { _task: None, _again: Some(again) });
            }
            Ok(taken) => self.serve(&taken),
        }
    }

    fn serve(&mut self, taken: &[Taken]) {
        self.shared.health.store_answered("take back");
        for one in taken {
            let (task_type, key, status) = (one.task_type.clone(), one.key, one.status);
            self.shared.saw(Fact::TakenBack { task_type, key, cause: TakeCause::NoActor, status });
        }
        self.recovery = None;
        self.place.state("serving");
        self.shared.health.of_type(&self.task_type.name, |health| health.pool_serves = true);
        self.count();
        self.look();
    }
}
