//! The port of reads.

use async_trait::async_trait;

use super::MemoryStore;
use super::row::Row;
use super::state::State;
use crate::domain::{Event, EventKind, Json, Status, Task, TaskId, TypeName};
use crate::ports::Records;
use crate::ports::ledger::LedgerError;
use crate::ports::records::{Depth, Events, Filter, Page, Stats, TaskFacts};

impl State {
    /// A task with its attempts, without its partial output.
    pub fn task(&self, id: TaskId) -> Result<Box<Task>, LedgerError> {
        let row = self.tasks.get(&id).ok_or_else(|| LedgerError::Refused(format!("no task {id}")))?;
        let attempts = row.tries.iter().map(|t| t.attempt.clone()).collect();
        Ok(Box::new(Task { attempts, ..row.view() }))
    }

    fn partial(&self, id: TaskId) -> Option<Json> {
        let outputs =
            || self.tasks.get(&id).into_iter().flat_map(|row| &row.events).filter(|e| e.kind == EventKind::Output);
        let latest = outputs().map(|e| e.epoch).max();
        let mut partial = self.sizes.partial();
        for event in outputs().filter(|e| Some(e.epoch) == latest) {
            if !partial.take(event.data.as_str()) {
                break;
            }
        }
        partial.array()
    }

    fn facts(&self, row: &Row) -> TaskFacts {
        let told: Vec<Told> = row.events.iter().filter_map(Told::of).collect();
        let count = |wanted: fn(&Told) -> bool| told.iter().filter(|s| wanted(s)).count() as i64;
        let regressions = row.events.windows(2).filter(|pair| pair[1].epoch < pair[0].epoch);
        let this_life = row.tries.iter().filter(|t| t.life == row.standing.life);
        let charged = this_life.filter(|t| t.attempt.charged == Some(true) || t.attempt.ended_at.is_none());
        let over = row.held.as_ref().map(|held| held.until).filter(|until| *until <= self.now);
        TaskFacts {
            id: row.task.id,
            status: row.standing.status,
            epoch: row.standing.epoch,
            attempt: row.standing.attempt,
            max_attempts: row.standing.max_attempts,
            last_seq: row.last_seq(),
            event_count: row.events.len() as i64,
            first_seq: row.events.first().map(|e| e.seq),
            max_seq: row.events.iter().map(|e| e.seq).max(),
            epoch_regressions: regressions.count() as i64,
            terminal_events: count(|s| s.status.is_terminal()),
            replays: count(|s| s.reason.as_deref() == Some("replay")),
            last_state: told.last().map(|s| s.status),
            charged_attempts: charged.count() as i64,
            attempts: row.tries.len() as i64,
            open_attempts: row.tries.iter().filter(|t| t.attempt.ended_at.is_none()).count() as i64,
            has_owner: row.held.is_some(),
            lease_over_for: over.map(|until| self.now.since(until)),
            has_result: row.result.is_some(),
            has_error: row.error.is_some(),
            finished_at: row.finished_at,
        }
    }

    fn depth(&self, task_type: &TypeName, status: Status) -> Option<Depth> {
        let of_it = |row: &&Row| row.task.task_type == *task_type && row.standing.status == status;
        let since = |row: &Row| match status {
            Status::Running => row.started_at.unwrap_or(self.now),
            _ => row.standing.not_before,
        };
        let since: Vec<_> = self.tasks.values().filter(of_it).map(since).collect();
        let oldest_age = self.now.since(*since.iter().min()?);
        Some(Depth { task_type: task_type.clone(), status, count: since.len() as u64, oldest_age })
    }
}

/// What the facts ask of a state event.
#[derive(serde::Deserialize)]
struct Told {
    status: Status,
    reason: Option<String>,
}

impl Told {
    fn of(event: &Event) -> Option<Told> {
        (event.kind == EventKind::State).then(|| serde_json::from_str(event.data.as_str()).ok()).flatten()
    }
}

impl Row {
    /// The task, without attempts and partial output.
    fn view(&self) -> Task {
        let (task, standing) = (self.task.clone(), &self.standing);
        Task {
            id: task.id,
            task_type: task.task_type,
            owner: task.owner,
            status: standing.status,
            stage: self.stage.clone(),
            progress: self.progress,
            priority: task.priority,
            attempt: standing.attempt,
            max_attempts: standing.max_attempts,
            epoch: standing.epoch,
            node_id: self.held.as_ref().map(|held| held.node.clone()),
            lease_until: self.held.as_ref().map(|held| held.until),
            result: self.result.clone(),
            partial: None,
            error: self.error.clone(),
            created_at: self.created_at,
            not_before: (standing.not_before > self.created_at).then_some(standing.not_before),
            started_at: self.started_at,
            finished_at: self.finished_at,
            deadline_at: standing.deadline_at,
            timeout: task.timeout,
            cancel_requested_at: self.cancel_requested_at,
            cancel_reason: self.cancel_reason.clone(),
            dead_lettered: standing.dead_lettered,
            last_seq: self.last_seq(),
            metadata: task.metadata,
            payload: task.payload,
            model_spec: task.model_spec,
            inference_params: task.inference_params,
            attempts: Vec::new(),
        }
    }

    fn fits(&self, filter: &Filter) -> bool {
        (filter.ids.is_empty() || filter.ids.contains(&self.task.id))
            && (filter.status.is_empty() || filter.status.contains(&self.standing.status))
            && filter.task_type.as_ref().is_none_or(|t| *t == self.task.task_type)
            && filter.owner.as_ref().is_none_or(|o| *o == self.task.owner)
            && (!filter.dead_lettered || self.standing.dead_lettered)
    }
}

#[async_trait]
impl Records for MemoryStore {
    async fn task(&self, id: TaskId) -> Result<Option<Task>, LedgerError> {
        let state = self.read();
        Ok(state.task(id).ok().map(|task| Task { partial: state.partial(id), ..*task }))
    }

    async fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<Task>, LedgerError> {
        let state = self.read();
        let rows = state.tasks.values().rev().filter(|row| page.before.is_none_or(|before| row.task.id < before));
        Ok(rows.filter(|row| row.fits(filter)).take(page.limit as usize).map(Row::view).collect())
    }

    async fn events(&self, id: TaskId, after: i64, limit: u32) -> Result<Option<Events>, LedgerError> {
        let state = self.read();
        let events = |row: &Row| Events {
            events: row.events.iter().filter(|e| e.seq > after).take(limit as usize).cloned().collect(),
            status: row.standing.status,
            last_seq: row.last_seq(),
        };
        Ok(state.tasks.get(&id).map(events))
    }

    async fn stats(&self) -> Result<Stats, LedgerError> {
        let state = self.read();
        let types: std::collections::BTreeSet<&TypeName> =
            state.tasks.values().map(|row| &row.task.task_type).collect();
        let mut stats = Stats::default();
        for task_type in types {
            stats
                .depths
                .extend([Status::Queued, Status::Running].into_iter().filter_map(|s| state.depth(task_type, s)));
            let dead = |row: &&Row| row.task.task_type == *task_type && row.standing.dead_lettered;
            let dead = state.tasks.values().filter(dead).count() as u64;
            stats.dead_letters.extend((dead > 0).then(|| (task_type.clone(), dead)));
        }
        Ok(stats)
    }

    async fn facts(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskFacts>, LedgerError> {
        let state = self.read();
        let rows = state.tasks.values().filter(|row| after.is_none_or(|after| row.task.id > after));
        Ok(rows.take(limit as usize).map(|row| state.facts(row)).collect())
    }
}
