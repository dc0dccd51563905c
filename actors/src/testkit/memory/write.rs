//! Writes of owners, and ends that no owner decides.

use super::row::{Row, With};
use super::state::State;
use crate::domain::{Command, LeaseKey, NewEvent, NewTask, Owner, Status, TaskId, Verdict};
use crate::ports::ledger::{
    Backoff, Created, Finish, FinishAnswer, LedgerError, Record, RecordAnswer, RenewAnswer, TakeCause, Taken,
};
use crate::ports::rules::share;
use crate::ports::signals::Signal;

impl State {
    pub fn create(&mut self, task: NewTask) -> Result<Created, LedgerError> {
        let key = task.idempotency_key.clone().map(|key| (task.owner.clone(), key));
        if let Some(first) = key.as_ref().and_then(|key| self.tasks.get(self.keys.get(key)?)) {
            let (id, status) = (first.task.id, first.standing.status);
            let same = first.task.fingerprint == task.fingerprint;
            return Ok(if same { Created::Same { id, status } } else { Created::Conflict { id } });
        }
        let (id, task_type) = (task.id, task.task_type.clone());
        if self.tasks.contains_key(&id) {
            return Err(LedgerError::Refused(format!("there is a task {id}")));
        }
        let row = Row::new(task, self.now);
        self.queued(task_type);
        self.signals.push(Signal::Recorded { task: id, last_seq: 1 });
        self.keys.extend(key.map(|key| (key, id)));
        self.tasks.insert(id, row);
        Ok(Created::Created { id })
    }

    pub fn renew(&mut self, owner: &Owner, key: LeaseKey) -> RenewAnswer {
        let until = self.now.plus(owner.lease);
        let row = self.tasks.get_mut(&key.task).filter(|row| row.is_held(key, owner.incarnation));
        let Some((cancel_requested, held)) =
            row.and_then(|row| Some((row.standing.cancel_requested, row.held.as_mut()?)))
        else {
            return RenewAnswer::Lost;
        };
        held.until = until;
        RenewAnswer::Held { cancel_requested }
    }

    pub fn record(&mut self, owner: &Owner, record: &Record) -> Result<RecordAnswer, LedgerError> {
        let (now, sizes) = (self.now, self.sizes);
        let held = |row: &&mut Row| row.is_held(record.key, owner.incarnation);
        let Some(row) = self.tasks.get_mut(&record.key.task).filter(held) else { return Ok(RecordAnswer::Fenced) };
        if row.lease_is_over(now) {
            return Ok(RecordAnswer::Expired);
        }
        let events: Vec<NewEvent> = record.events.iter().map(|e| sizes.event(e)).collect();
        row.append(record.from, events, now)?;
        match record.checkpoint.as_ref().map(|c| sizes.checkpoint(c)) {
            Some(Ok(kept)) => row.checkpoint = Some(kept),
            Some(Err(event)) => row.push(event, now),
            None => {}
        }
        row.report(record.stage.as_ref().map(|s| sizes.text(s)), record.progress);
        let last_seq = row.last_seq();
        self.signals.push(Signal::Recorded { task: record.key.task, last_seq });
        Ok(RecordAnswer::Recorded { last_seq })
    }

    pub fn finish(&mut self, owner: &Owner, finish: &Finish) -> Result<FinishAnswer, LedgerError> {
        let (now, sizes, key) = (self.now, self.sizes, finish.key);
        let Some(row) = self.tasks.get_mut(&key.task) else { return Ok(FinishAnswer::Fenced) };
        if !row.is_held(key, owner.incarnation) {
            let same = row.tries.iter().any(|t| t.attempt.epoch == key.epoch && t.finish_token == Some(finish.token));
            let already = FinishAnswer::Already { status: row.standing.status };
            return Ok(if same { already } else { FinishAnswer::Fenced });
        }
        if row.lease_is_over(now) && !matches!(finish.verdict, Verdict::Release { .. }) {
            return Ok(FinishAnswer::Expired);
        }
        row.append(finish.from, finish.events.iter().map(|e| sizes.event(e)).collect(), now)?;
        row.report(finish.stage.as_ref().map(|s| sizes.text(s)), finish.progress);
        let with = With { finish_token: Some(finish.token), cancel_reason: None };
        let next = self.apply(key.task, Command::Settle(sizes.verdict(&finish.verdict)), with);
        Ok(next.map_or(FinishAnswer::Fenced, |next| FinishAnswer::Done { status: next.status }))
    }

    /// Takes running tasks from their owner, by ascending id.
    pub fn take_all(&mut self, ids: Vec<TaskId>, cause: TakeCause, backoff: &Backoff) -> Vec<Taken> {
        ids.into_iter().filter_map(|id| self.take(id, cause, backoff)).collect()
    }

    fn take(&mut self, id: TaskId, cause: TakeCause, backoff: &Backoff) -> Option<Taken> {
        let row = self.tasks.get(&id)?;
        let (key, task_type, owner) = (row.key(), row.task.task_type.clone(), row.held.as_ref()?.node.clone());
        let command = cause.command(backoff, row.standing.losses);
        let next = self.apply(id, command, With::default())?;
        Some(Taken { key, task_type, owner, status: next.status })
    }

    pub fn running(&self) -> impl Iterator<Item = &Row> {
        self.tasks.values().filter(|row| row.standing.status == Status::Running)
    }
}

impl Row {
    /// Stores the events that are not stored yet.
    fn append(&mut self, from: u64, events: Vec<NewEvent>, now: crate::domain::Timestamp) -> Result<(), LedgerError> {
        let Some(known) = self.recorded.checked_sub(from) else {
            let text = format!("events of {} from {from} on, but {} are stored", self.task.id, self.recorded);
            return Err(LedgerError::Refused(text));
        };
        for event in events.into_iter().skip(known as usize) {
            self.push(event, now);
            self.recorded += 1;
        }
        Ok(())
    }

    fn report(&mut self, stage: Option<String>, progress: Option<f64>) {
        self.stage = stage.or(self.stage.take());
        self.progress = share(progress).or(self.progress);
    }
}
