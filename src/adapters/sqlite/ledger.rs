//! The port of writes: each call is a verb for the writer.

use std::time::Duration;

use async_trait::async_trait;
use windlass_actors::domain::{LeaseKey, NewTask, Owner, TaskId, Timestamp};
use windlass_actors::ports::Ledger;
use windlass_actors::ports::ledger::{
    Answers, CancelAnswer, Claim, ClaimAnswer, ClaimNext, Created, Finish, FinishAnswer, LedgerError, NextAnswer,
    Pruned, Reap, Record, RecordAnswer, RenewAnswer, Replay, ReplayAnswer, TakeBack, Taken,
};

use super::SqliteStore;
use super::ask::{Cancel, Discard, Replays};
use super::claim::Claims;
use super::claim_next::ClaimNexts;
use super::create::Create;
use super::finish::Finishes;
use super::keep::{Probe, Prune};
use super::record::Records;
use super::renew::Renew;
use super::take::Expire;

#[async_trait]
impl Ledger for SqliteStore {
    async fn create(&self, tasks: Vec<NewTask>) -> Answers<Created> {
        self.write(Create(tasks)).await
    }

    async fn claim(&self, owner: &Owner, claims: Vec<Claim>) -> Answers<ClaimAnswer> {
        self.write(Claims { owner: owner.clone(), claims }).await
    }

    async fn claim_next(&self, owner: &Owner, claims: Vec<ClaimNext>) -> Answers<NextAnswer> {
        self.write(ClaimNexts { owner: owner.clone(), claims }).await
    }

    async fn renew(&self, owner: &Owner, leases: Vec<LeaseKey>) -> Answers<RenewAnswer> {
        self.write(Renew { owner: owner.clone(), leases }).await
    }

    async fn record(&self, owner: &Owner, records: Vec<Record>) -> Answers<RecordAnswer> {
        self.write(Records { owner: owner.clone(), records }).await
    }

    async fn finish(&self, owner: &Owner, finishes: Vec<Finish>) -> Answers<FinishAnswer> {
        self.write(Finishes { owner: owner.clone(), finishes }).await
    }

    async fn cancel(&self, task: TaskId, reason: Option<String>) -> Result<CancelAnswer, LedgerError> {
        self.write(Cancel { task, reason }).await
    }

    async fn replay(&self, replay: Replay) -> Result<ReplayAnswer, LedgerError> {
        self.write(Replays(replay)).await
    }

    async fn discard(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, LedgerError> {
        self.write(Discard(tasks)).await
    }

    async fn reap(&self, reap: Reap) -> Result<Vec<Taken>, LedgerError> {
        self.write(reap).await
    }

    async fn expire(&self, most: u32) -> Result<Vec<TaskId>, LedgerError> {
        self.write(Expire(most)).await
    }

    async fn take_back(&self, take: TakeBack) -> Result<Vec<Taken>, LedgerError> {
        self.write(take).await
    }

    /// In small steps, so that no step holds the write lock for long.
    async fn prune(&self, keep: Duration, most: u32) -> Result<Pruned, LedgerError> {
        let (mut total, mut left) = (Pruned::default(), most);
        loop {
            let step = left.min(Prune::STEP);
            let pruned = self.write(Prune { keep, most: step }).await?;
            total.tasks += pruned.tasks;
            total.nodes += pruned.nodes;
            left -= step;
            if left == 0 || pruned.tasks < u64::from(step) {
                return Ok(total);
            }
        }
    }

    async fn probe(&self) -> Result<Timestamp, LedgerError> {
        self.write(Probe).await
    }
}
