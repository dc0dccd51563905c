//! A row of `task` as writes look at it, and as text and numbers become nouns.

use std::time::Duration;

use sqlx::FromRow;
use uuid::Uuid;
use windlass_actors::domain::{
    Epoch, Incarnation, LeaseKey, NodeId, Outcome, Standing, Status, Suspicion, TaskError, TaskId, Timestamp, TypeName,
};

use super::fault::Fault;
use super::verb::Tx;

/// A task's standing and its owner. `sql/load_tasks.sql` selects it.
#[derive(FromRow)]
pub(super) struct TaskRow {
    pub id: String,
    pub task_type: String,
    pub status: String,
    pub epoch: i64,
    pub attempt: u32,
    pub max_attempts: u32,
    pub uncharged: u32,
    pub losses: u32,
    pub suspect: i64,
    pub cancel_requested: bool,
    pub life: u32,
    pub not_before: i64,
    pub deadline_at: Option<i64>,
    pub dead_lettered: bool,
    pub last_seq: i64,
    pub recorded: i64,
    pub node_id: Option<String>,
    pub incarnation: Option<String>,
    pub claim_token: Option<String>,
    pub lease_until: Option<i64>,
}

impl TaskRow {
    pub fn id(&self) -> Result<TaskId, Fault> {
        task_id(&self.id)
    }

    pub fn task_type(&self) -> Result<TypeName, Fault> {
        type_name(&self.task_type)
    }

    pub fn status(&self) -> Result<Status, Fault> {
        status(&self.status)
    }

    pub fn key(&self) -> Result<LeaseKey, Fault> {
        Ok(LeaseKey { task: self.id()?, epoch: Epoch(self.epoch) })
    }

    pub fn standing(&self) -> Result<Standing, Fault> {
        Ok(Standing {
            status: self.status()?,
            epoch: Epoch(self.epoch),
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            uncharged: self.uncharged,
            losses: self.losses,
            suspect: Suspicion::from_int(self.suspect),
            cancel_requested: self.cancel_requested,
            life: self.life,
            not_before: Timestamp(self.not_before),
            deadline_at: self.deadline_at.map(Timestamp),
            dead_lettered: self.dead_lettered,
        })
    }

    /// Whether this attempt runs under this incarnation: the fence.
    pub fn is_held(&self, key: LeaseKey, by: Incarnation) -> bool {
        self.status == Status::Running.as_str()
            && self.epoch == key.epoch.0
            && self.incarnation.as_deref() == Some(by.to_string().as_str())
    }

    pub fn lease_is_over(&self, now: Timestamp) -> bool {
        self.lease_until.is_none_or(|until| until <= now.0)
    }

    pub fn node(&self) -> NodeId {
        NodeId(self.node_id.clone().unwrap_or_default())
    }
}

impl Tx<'_> {
    /// The tasks with these ids, in no order; unknown ones are left out.
    pub async fn load(&mut self, ids: impl IntoIterator<Item = TaskId>) -> Result<Vec<TaskRow>, Fault> {
        let ids: Vec<TaskId> = ids.into_iter().collect();
        Ok(sqlx::query_as(include_str!("sql/load_tasks.sql")).bind(json(&ids)?).fetch_all(&mut *self.conn).await?)
    }

    pub async fn load_one(&mut self, id: TaskId) -> Result<Option<TaskRow>, Fault> {
        Ok(self.load([id]).await?.pop())
    }
}

/// A list as the argument of `json_each`.
pub(super) fn json(list: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(list).map_err(|error| Fault::Bad(error.to_string()))
}

pub(super) fn task_id(text: &str) -> Result<TaskId, Fault> {
    text.parse().map_err(|_| Fault::damaged("a task's id"))
}

pub(super) fn type_name(text: &str) -> Result<TypeName, Fault> {
    TypeName::new(text).map_err(|_| Fault::damaged("a type's name"))
}

pub(super) fn status(text: &str) -> Result<Status, Fault> {
    Status::parse(text).ok_or_else(|| Fault::damaged("a status"))
}

pub(super) fn outcome(text: &str) -> Result<Outcome, Fault> {
    Outcome::parse(text).ok_or_else(|| Fault::damaged("an outcome"))
}

pub(super) fn uuid(text: &str) -> Result<Uuid, Fault> {
    Uuid::parse_str(text).map_err(|_| Fault::damaged("a uuid"))
}

pub(super) fn error(text: &str) -> Result<TaskError, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::damaged("an error"))
}

pub(super) fn span(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
