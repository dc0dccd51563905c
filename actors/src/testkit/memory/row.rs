//! A task with all that belongs to it.

use uuid::Uuid;

use crate::domain::{
    Attempt, Command, Epoch, Event, EventKind, Incarnation, Json, LeaseKey, Move, NewEvent, NewTask, NodeId, Owner,
    Standing, StateData, Status, TaskError, Timestamp, apply,
};
use crate::ports::rules;

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub token: Uuid,
    pub until: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Try {
    pub attempt: Attempt,
    pub life: u32,
    /// Counts towards `starts_per_minute`.
    pub rated: bool,
    pub finish_token: Option<Uuid>,
}

/// What goes with a move.
#[derive(Clone, Default)]
pub(super) struct With {
    pub finish_token: Option<Uuid>,
    pub cancel_reason: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub task: NewTask,
    pub standing: Standing,
    pub held: Option<Held>,
    /// Events of the current attempt that it sent and we stored.
    pub recorded: u64,
    pub stage: Option<String>,
    pub progress: Option<f64>,
    pub result: Option<Json>,
    pub checkpoint: Option<Json>,
    pub error: Option<TaskError>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    pub cancel_reason: Option<String>,
    pub events: Vec<Event>,
    pub tries: Vec<Try>,
}

impl Row {
    pub fn new(task: NewTask, now: Timestamp) -> Row {
        let not_before = task.not_before.map_or(now, |at| at.max(now));
        let deadline_at = task.deadline_in.map(|left| now.plus(left));
        let mut row = Row {
            standing: Standing::fresh(task.max_attempts, not_before, deadline_at),
            task,
            held: None,
            recorded: 0,
            stage: None,
            progress: None,
            result: None,
            checkpoint: None,
            error: None,
            created_at: now,
            started_at: None,
            finished_at: None,
            cancel_requested_at: None,
            cancel_reason: None,
            events: Vec::new(),
            tries: Vec::new(),
        };
        row.push_state(Epoch(0), &rules::submitted(not_before.since(now)), now);
        row
    }

    pub fn last_seq(&self) -> i64 {
        self.events.len() as i64
    }

    pub fn key(&self) -> LeaseKey {
        LeaseKey { task: self.task.id, epoch: self.standing.epoch }
    }

    /// Whether this attempt runs under this incarnation: the fence.
    pub fn is_held(&self, key: LeaseKey, by: Incarnation) -> bool {
        self.standing.status == Status::Running
            && self.standing.epoch == key.epoch
            && self.held.as_ref().is_some_and(|held| held.incarnation == by)
    }

    pub fn lease_is_over(&self, now: Timestamp) -> bool {
        self.held.as_ref().is_none_or(|held| held.until <= now)
    }

    pub fn push(&mut self, event: NewEvent, now: Timestamp) {
        let epoch = self.standing.epoch;
        self.events.push(Event { seq: self.last_seq() + 1, epoch, kind: event.kind, at: now, data: event.data });
    }

    fn push_state(&mut self, epoch: Epoch, data: &StateData, now: Timestamp) {
        let data = Json::trusted(serde_json::to_string(data).unwrap_or_default());
        self.events.push(Event { seq: self.last_seq() + 1, epoch, kind: EventKind::State, at: now, data });
    }

    /// Moves by the table, with all that the move writes. None if the table refuses.
    pub fn apply(&mut self, command: Command, with: With, now: Timestamp) -> Option<Move> {
        let moved = apply(&self.standing, command, now).ok()?;
        if let (Some(end), Some(last)) = (&moved.attempt_end, self.tries.last_mut()) {
            last.attempt.ended_at = Some(now);
            last.attempt.outcome = Some(end.outcome);
            last.attempt.charged = Some(end.charged);
            last.attempt.error = end.error.clone();
            last.finish_token = with.finish_token;
        }
        self.standing = moved.next.clone();
        if let Some(data) = &moved.event {
            self.push_state(moved.next.epoch, data, now);
        }
        self.settle_columns(&moved, with, now);
        Some(moved)
    }

    fn settle_columns(&mut self, moved: &Move, with: With, now: Timestamp) {
        let next = &moved.next;
        if next.status != Status::Running {
            self.held = None;
        }
        self.error = moved.error.clone();
        self.result = moved.result.clone().or(self.result.take());
        self.finished_at = next.status.is_terminal().then_some(now);
        if next.cancel_requested {
            self.cancel_requested_at = self.cancel_requested_at.or(Some(now));
            self.cancel_reason = self.cancel_reason.take().or(with.cancel_reason);
        } else {
            (self.cancel_requested_at, self.cancel_reason) = (None, None);
        }
    }

    /// What a claim writes beside the move.
    pub fn begin(&mut self, owner: &Owner, token: Uuid, rated: bool, now: Timestamp) {
        let held =
            Held { node: owner.node.clone(), incarnation: owner.incarnation, token, until: now.plus(owner.lease) };
        self.held = Some(held);
        self.started_at = Some(now);
        (self.recorded, self.stage, self.progress) = (0, None, None);
        let attempt = Attempt {
            epoch: self.standing.epoch,
            node_id: owner.node.clone(),
            started_at: now,
            ended_at: None,
            outcome: None,
            charged: None,
            error: None,
        };
        self.tries.push(Try { attempt, life: self.standing.life, rated, finish_token: None });
    }
}
