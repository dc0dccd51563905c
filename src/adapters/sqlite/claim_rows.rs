//! Claimable rows with all that a run needs, and how a batch of them is claimed.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_actors::domain::{Command, Epoch, Json, LeaseKey, Owner, Suspicion, Timestamp, apply};
use windlass_actors::ports::ledger::{Claimed, Limits};
use windlass_actors::ports::rules::{Gate, START_WINDOW};

use super::change::{EventRow, With};
use super::fault::Fault;
use super::row::{TaskRow, json, millis, span};
use super::verb::Tx;

/// What is the same for all that a claim starts.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub owner: &'a Owner,
    pub token: Uuid,
    pub limits: &'a Limits,
    pub plugin_sha256: Option<&'a str>,
}

/// A task with its body. The `claim_*.sql` files select it.
#[derive(FromRow)]
pub(super) struct ClaimRow {
    #[sqlx(flatten)]
    pub task: TaskRow,
    pub owner: String,
    pub priority: u8,
    timeout_ms: Option<i64>,
    client_role: Option<String>,
    started_at: Option<i64>,
    payload: String,
    model_spec: String,
    inference_params: String,
    checkpoint: Option<String>,
}

impl ClaimRow {
    /// The order of claims: by priority, then age.
    pub fn rank(&self) -> (u8, i64, &str) {
        (9 - self.priority.min(9), self.task.not_before, &self.task.id)
    }

    /// What its owner is told; the row is as it was before the claim (`fresh`) or after it.
    pub fn claimed(self, now: Timestamp, fresh: bool) -> Result<Claimed, Fault> {
        let key = self.task.key()?;
        let start = if fresh { Some(now.0) } else { self.started_at };
        Ok(Claimed {
            key: LeaseKey { epoch: Epoch(key.epoch.0 + i64::from(fresh)), ..key },
            task_type: self.task.task_type()?,
            attempt: self.task.attempt + u32::from(fresh),
            max_attempts: self.task.max_attempts,
            suspect: Suspicion::from_int(self.task.suspect),
            payload: Json::trusted(self.payload),
            model_spec: Json::trusted(self.model_spec),
            inference_params: Json::trusted(self.inference_params),
            checkpoint: self.checkpoint.map(Json::trusted),
            owner: self.owner,
            client_role: self.client_role,
            timeout: self.timeout_ms.map(span),
            deadline_in: self.task.deadline_at.map(|at| span(at - now.0)),
            waited: span(start.unwrap_or(now.0) - self.task.not_before),
        })
    }
}

#[derive(FromRow)]
pub(super) struct GateRow {
    pub paused: bool,
    pub running: u32,
    pub starts: u32,
    pub oldest_start: Option<i64>,
    /// Tasks that this token claimed already.
    pub repeated: u32,
}

impl GateRow {
    pub fn room(&self, limits: &Limits, now: Timestamp) -> (u32, std::time::Duration) {
        let oldest_start = self.oldest_start.map(Timestamp);
        Gate { paused: self.paused, running: self.running, starts: self.starts, oldest_start }.room(limits, now)
    }
}

impl Tx<'_> {
    pub async fn gate(
        &mut self,
        task_type: &str,
        owner: &Owner,
        limits: &Limits,
        token: Uuid,
    ) -> Result<GateRow, Fault> {
        Ok(sqlx::query_as(include_str!("sql/gate.sql"))
            .bind(task_type)
            .bind(owner.incarnation.to_string())
            .bind(token.to_string())
            .bind(limits.max_running.is_some())
            .bind(limits.starts_per_minute.is_some())
            .bind(self.now.minus(START_WINDOW).0)
            .fetch_one(&mut *self.conn)
            .await?)
    }

    /// Starts an attempt of each; `rows` are queued and due. Those past their deadline fail on the way and are left out.
    pub async fn start(&mut self, start: Start<'_>, rows: Vec<ClaimRow>) -> Result<Vec<Claimed>, Fault> {
        let (mut claimed, mut ids, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let command = Command::Claim { node: start.owner.node.clone() };
            let Ok(moved) = apply(&row.task.standing()?, command.clone(), self.now) else {
                continue;
            };
            if moved.next.status.is_terminal() {
                self.apply(&row.task, command, With::default()).await?;
                continue;
            }
            let (id, seq) = (row.task.id()?, row.task.last_seq + 1);
            if let Some(data) = &moved.event {
                events.push(EventRow::state(id, seq, moved.next.epoch, data)?);
            }
            ids.push(id);
            self.recorded(id, seq);
            claimed.push(row.claimed(self.now, true)?);
        }
        if !ids.is_empty() {
            let ids = json(&ids)?;
            self.take_ownership(&ids, start.owner, start.token, claimed.len()).await?;
            self.insert_attempts(&ids, start).await?;
            self.insert_events(&events).await?;
        }
        Ok(claimed)
    }

    async fn take_ownership(&mut self, ids: &str, owner: &Owner, token: Uuid, count: usize) -> Result<(), Fault> {
        let done = sqlx::query(include_str!("sql/claim.sql"))
            .bind(ids)
            .bind(&owner.node.0)
            .bind(owner.incarnation.to_string())
            .bind(token.to_string())
            .bind(self.now.0)
            .bind(millis(owner.lease))
            .execute(&mut *self.conn)
            .await?;
        if done.rows_affected() == count as u64 {
            Ok(())
        } else {
            Err(Fault::Bad("a claimed task moved meanwhile".to_owned()))
        }
    }

    async fn insert_attempts(&mut self, ids: &str, start: Start<'_>) -> Result<(), Fault> {
        sqlx::query(include_str!("sql/insert_attempts.sql"))
            .bind(ids)
            .bind(start.limits.starts_per_minute.is_some())
            .bind(start.plugin_sha256)
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }
}
