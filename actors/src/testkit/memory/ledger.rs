//! The port of writes.

use std::time::Duration;

use async_trait::async_trait;

use super::MemoryStore;
use super::row::With;
use crate::domain::{Command, LeaseKey, NewTask, Owner, Status, TaskId, Timestamp};
use crate::ports::Ledger;
use crate::ports::ledger::{
    Answers, CancelAnswer, Claim, ClaimAnswer, ClaimNext, Created, Finish, FinishAnswer, LedgerError, NextAnswer,
    Pruned, Reap, Record, RecordAnswer, RenewAnswer, Replay, ReplayAnswer, TakeBack, TakeCause, Taken,
};
use crate::ports::signals::Signal;

#[async_trait]
impl Ledger for MemoryStore {
    async fn create(&self, tasks: Vec<NewTask>) -> Answers<Created> {
        self.write(|state| every(tasks.into_iter().map(|task| state.create(task))))
    }

    async fn claim(&self, owner: &Owner, claims: Vec<Claim>) -> Answers<ClaimAnswer> {
        Ok(self.write(|state| claims.iter().map(|claim| state.claim(owner, claim)).collect()))
    }

    async fn claim_next(&self, owner: &Owner, claims: Vec<ClaimNext>) -> Answers<NextAnswer> {
        Ok(self.write(|state| claims.iter().map(|claim| state.claim_next(owner, claim)).collect()))
    }

    async fn renew(&self, owner: &Owner, leases: Vec<LeaseKey>) -> Answers<RenewAnswer> {
        Ok(self.write(|state| leases.iter().map(|key| state.renew(owner, *key)).collect()))
    }

    async fn record(&self, owner: &Owner, records: Vec<Record>) -> Answers<RecordAnswer> {
        self.write(|state| every(records.iter().map(|record| state.record(owner, record))))
    }

    async fn finish(&self, owner: &Owner, finishes: Vec<Finish>) -> Answers<FinishAnswer> {
        self.write(|state| every(finishes.iter().map(|finish| state.finish(owner, finish))))
    }

    async fn cancel(&self, id: TaskId, reason: Option<String>) -> Result<CancelAnswer, LedgerError> {
        self.write(|state| {
            let Some(row) = state.tasks.get(&id) else { return Ok(CancelAnswer::Unknown) };
            let before = row.standing.clone();
            if before.status == Status::Cancelled || (before.status == Status::Running && before.cancel_requested) {
                return Ok(CancelAnswer::Already(state.task(id)?));
            }
            let reason = reason.map(|r| state.sizes.text(&r));
            let with = With { finish_token: None, cancel_reason: reason.clone() };
            let Some(next) = state.apply(id, Command::Cancel { reason }, with) else {
                return Ok(CancelAnswer::Finished(state.task(id)?));
            };
            if next.status == Status::Running {
                state.signals.push(Signal::CancelRequested { task: id, epoch: next.epoch });
            }
            Ok(CancelAnswer::Accepted(state.task(id)?))
        })
    }

    async fn replay(&self, replay: Replay) -> Result<ReplayAnswer, LedgerError> {
        let Replay { task: id, payload, fresh, waiting } = replay;
        self.write(|state| {
            let Some(row) = state.tasks.get(&id) else {
                return Ok(ReplayAnswer::Unknown);
            };
            let left = waiting && !row.standing.dead_lettered;
            if left || state.apply(id, Command::Replay, With::default()).is_none() {
                return Ok(ReplayAnswer::NotFailed(state.task(id)?));
            }
            if let Some(row) = state.tasks.get_mut(&id) {
                (row.started_at, row.stage, row.progress, row.result, row.recorded) = (None, None, None, None, 0);
                row.task.payload = payload.unwrap_or_else(|| row.task.payload.clone());
                row.checkpoint = row.checkpoint.take().filter(|_| !fresh);
            }
            Ok(ReplayAnswer::Queued(state.task(id)?))
        })
    }

    async fn discard(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, LedgerError> {
        let wanted: std::collections::BTreeSet<TaskId> = tasks.into_iter().collect();
        Ok(self.write(|state| {
            let rows = state.tasks.values_mut().filter(|r| r.standing.dead_lettered && wanted.contains(&r.task.id));
            rows.map(|row| {
                row.standing.dead_lettered = false;
                row.task.id
            })
            .collect()
        }))
    }

    async fn reap(&self, reap: Reap) -> Result<Vec<Taken>, LedgerError> {
        Ok(self.write(|state| {
            let over = state.now.minus(reap.grace);
            let mut found: Vec<(Timestamp, TaskId)> = state
                .running()
                .filter_map(|r| Some((r.held.as_ref()?.until, r.task.id)))
                .filter(|f| f.0 <= over)
                .collect();
            found.sort();
            found.truncate(reap.most as usize);
            let mut ids: Vec<TaskId> = found.into_iter().map(|f| f.1).collect();
            ids.sort();
            state.take_all(ids, TakeCause::Lease, &reap.backoff)
        }))
    }

    async fn expire(&self, most: u32) -> Result<Vec<TaskId>, LedgerError> {
        Ok(self.write(|state| {
            let queued = state.tasks.values().filter(|row| row.standing.status == Status::Queued);
            let deadlines = queued.filter_map(|row| Some((row.standing.deadline_at?, row.task.id)));
            let mut found: Vec<(Timestamp, TaskId)> = deadlines.filter(|f| f.0 <= state.now).collect();
            found.sort();
            found.truncate(most as usize);
            let mut ids: Vec<TaskId> = found.into_iter().map(|f| f.1).collect();
            ids.sort();
            ids.retain(|id| state.apply(*id, Command::Expire, With::default()).is_some());
            ids
        }))
    }

    async fn take_back(&self, take: TakeBack) -> Result<Vec<Taken>, LedgerError> {
        Ok(self.write(|state| {
            let by = state.now.minus(take.older_than);
            let ids = state.running().filter(|row| {
                row.held.as_ref().is_some_and(|held| held.incarnation == take.incarnation)
                    && take.task_type.as_ref().is_none_or(|t| *t == row.task.task_type)
                    && row.started_at.is_some_and(|at| at <= by)
                    && !take.except.contains(&row.key())
            });
            let ids = ids.map(|row| row.task.id).collect();
            state.take_all(ids, take.cause, &take.backoff)
        }))
    }

    async fn prune(&self, keep: Duration, most: u32) -> Result<Pruned, LedgerError> {
        Ok(self.write(|state| {
            let before = state.now.minus(keep);
            let ended = state.tasks.values().filter(|row| !row.standing.dead_lettered);
            let mut found: Vec<(Timestamp, TaskId)> =
                ended.filter_map(|r| Some((r.finished_at?, r.task.id))).filter(|f| f.0 < before).collect();
            found.sort();
            found.truncate(most as usize);
            for (_, id) in &found {
                state.tasks.remove(id);
                state.keys.retain(|_, task| task != id);
            }
            let nodes = state.nodes.len();
            state.nodes.retain(|_, node| node.heartbeat_at >= before);
            Pruned { tasks: found.len() as u64, nodes: (nodes - state.nodes.len()) as u64 }
        }))
    }

    async fn probe(&self) -> Result<Timestamp, LedgerError> {
        Ok(self.read().now)
    }
}

/// All items are done; the first refusal is the call's.
fn every<T>(answers: impl Iterator<Item = Result<T, LedgerError>>) -> Answers<T> {
    let answers: Vec<Result<T, LedgerError>> = answers.collect();
    answers.into_iter().collect()
}
