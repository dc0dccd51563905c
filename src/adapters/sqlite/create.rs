//! create: task, body and first event; one task for an owner's idempotency key.

use std::collections::HashMap;

use async_trait::async_trait;
use serde::Serialize;
use windlass_actors::domain::{Epoch, Json, NewTask, Status, TaskId, Timestamp, TypeName};
use windlass_actors::ports::ledger::Created;
use windlass_actors::ports::rules;

use super::change::EventRow;
use super::fault::Fault;
use super::row::{json, millis, status, task_id};
use super::verb::{Tx, Verb};

pub(super) struct Create(pub Vec<NewTask>);

#[async_trait]
impl Verb for Create {
    type Answer = Vec<Created>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<Created>, Fault> {
        let mut known = tx.known_keys(&self.0).await?;
        let (mut answers, mut rows) = (Vec::new(), Rows::default());
        for task in &self.0 {
            let key = task.idempotency_key.as_ref().map(|key| (task.owner.clone(), key.clone()));
            if let Some(first) = key.as_ref().and_then(|key| known.get(key)) {
                answers.push(first.answer(&task.fingerprint));
                continue;
            }
            rows.add(task, tx.now)?;
            tx.queued(&task.task_type);
            tx.recorded(task.id, 1);
            known.extend(key.map(|key| (key, First::of(task))));
            answers.push(Created::Created { id: task.id });
        }
        rows.insert(tx).await?;
        Ok(answers)
    }

    fn split(&self) -> Vec<Self> {
        self.0.iter().cloned().map(|task| Create(vec![task])).collect()
    }

    fn join(parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        Some(parts.concat())
    }
}

/// The task that came first under a key.
struct First {
    id: TaskId,
    status: Status,
    fingerprint: String,
}

impl First {
    fn of(task: &NewTask) -> First {
        First { id: task.id, status: Status::Queued, fingerprint: task.fingerprint.clone() }
    }

    fn answer(&self, fingerprint: &str) -> Created {
        match self.fingerprint == fingerprint {
            true => Created::Same { id: self.id, status: self.status },
            false => Created::Conflict { id: self.id },
        }
    }
}

#[derive(sqlx::FromRow)]
struct KeyRow {
    owner: String,
    idempotency_key: String,
    id: String,
    status: String,
    fingerprint: String,
}

impl Tx<'_> {
    async fn known_keys(&mut self, tasks: &[NewTask]) -> Result<HashMap<(String, String), First>, Fault> {
        let pair = |task: &NewTask| Some((task.owner.clone(), task.idempotency_key.clone()?));
        let keys: Vec<(String, String)> = tasks.iter().filter_map(pair).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let rows: Vec<KeyRow> =
            sqlx::query_as(include_str!("sql/known_keys.sql")).bind(json(&keys)?).fetch_all(&mut *self.conn).await?;
        let first = |row: KeyRow| {
            let first = First { id: task_id(&row.id)?, status: status(&row.status)?, fingerprint: row.fingerprint };
            Ok(((row.owner, row.idempotency_key), first))
        };
        rows.into_iter().map(first).collect()
    }
}

#[derive(Serialize)]
struct TaskColumns<'a> {
    id: TaskId,
    task_type: &'a TypeName,
    owner: &'a str,
    priority: u8,
    max_attempts: u32,
    not_before: Timestamp,
    deadline_at: Option<Timestamp>,
    timeout_ms: Option<i64>,
    client_role: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    fingerprint: &'a str,
}

/// A body: id, payload, model_spec, inference_params, metadata.
#[derive(Serialize)]
struct BodyRow<'a>(TaskId, &'a Json, &'a Json, &'a Json, &'a Json);

#[derive(Default)]
struct Rows<'a> {
    tasks: Vec<TaskColumns<'a>>,
    bodies: Vec<BodyRow<'a>>,
    events: Vec<EventRow>,
}

impl<'a> Rows<'a> {
    fn add(&mut self, task: &'a NewTask, now: Timestamp) -> Result<(), Fault> {
        let not_before = task.not_before.map_or(now, |at| at.max(now));
        self.tasks.push(TaskColumns {
            id: task.id,
            task_type: &task.task_type,
            owner: &task.owner,
            priority: task.priority,
            max_attempts: task.max_attempts,
            not_before,
            deadline_at: task.deadline_in.map(|left| now.plus(left)),
            timeout_ms: task.timeout.map(millis),
            client_role: task.client_role.as_deref(),
            idempotency_key: task.idempotency_key.as_deref(),
            fingerprint: &task.fingerprint,
        });
        let spec = (&task.payload, &task.model_spec, &task.inference_params, &task.metadata);
        self.bodies.push(BodyRow(task.id, spec.0, spec.1, spec.2, spec.3));
        self.events.push(EventRow::state(task.id, 1, Epoch(0), &rules::submitted(not_before.since(now)))?);
        Ok(())
    }

    async fn insert(self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        if self.tasks.is_empty() {
            return Ok(());
        }
        let insert = sqlx::query(include_str!("sql/insert_tasks.sql")).bind(json(&self.tasks)?).bind(tx.now.0);
        insert.execute(&mut *tx.conn).await?;
        let insert = sqlx::query(include_str!("sql/insert_bodies.sql")).bind(json(&self.bodies)?);
        insert.execute(&mut *tx.conn).await?;
        tx.insert_events(&self.events).await
    }
}
