//! Ends that no owner decides: reap, take_back, expire. What is found is tested again in its update, by state and epoch,
//! and nothing comes between: the write lock is held from the look to the commit.

use async_trait::async_trait;
use windlass_actors::domain::{Command, TaskId};
use windlass_actors::ports::ledger::{Backoff, Reap, TakeBack, TakeCause, Taken};

use super::change::With;
use super::fault::Fault;
use super::row::{TaskRow, json, millis, task_id};
use super::verb::{Tx, Verb};

#[async_trait]
impl Verb for Reap {
    type Answer = Vec<Taken>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<Taken>, Fault> {
        let find = sqlx::query_scalar(include_str!("sql/find_over.sql"));
        let over = find.bind(tx.now.minus(self.grace).0).bind(self.most).fetch_all(&mut *tx.conn).await?;
        tx.take_all(over, TakeCause::Lease, &self.backoff).await
    }
}

#[async_trait]
impl Verb for TakeBack {
    type Answer = Vec<Taken>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<Taken>, Fault> {
        let held = sqlx::query_scalar(include_str!("sql/find_held.sql"))
            .bind(self.incarnation.to_string())
            .bind(self.task_type.as_ref().map(|t| t.as_str()))
            .bind(tx.now.0.saturating_sub(millis(self.older_than)))
            .bind(json(&self.except)?)
            .fetch_all(&mut *tx.conn)
            .await?;
        tx.take_all(held, self.cause, &self.backoff).await
    }
}

impl Tx<'_> {
    async fn take_all(&mut self, ids: Vec<String>, cause: TakeCause, backoff: &Backoff) -> Result<Vec<Taken>, Fault> {
        let ids = ids.iter().map(|id| task_id(id)).collect::<Result<Vec<_>, _>>()?;
        let mut rows = self.load(ids).await?;
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        let mut taken = Vec::with_capacity(rows.len());
        for row in &rows {
            taken.extend(self.take(row, cause, backoff).await?);
        }
        Ok(taken)
    }

    async fn take(&mut self, row: &TaskRow, cause: TakeCause, backoff: &Backoff) -> Result<Option<Taken>, Fault> {
        let next = self.apply(row, cause.command(backoff, row.losses), With::default()).await?;
        next.map(|next| {
            Ok(Taken { key: row.key()?, task_type: row.task_type()?, owner: row.node(), status: next.status })
        })
        .transpose()
    }
}

pub(super) struct Expire(pub u32);

#[async_trait]
impl Verb for Expire {
    type Answer = Vec<TaskId>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<TaskId>, Fault> {
        let find = sqlx::query_scalar::<_, String>(include_str!("sql/find_overdue.sql"));
        let overdue = find.bind(tx.now.0).bind(self.0).fetch_all(&mut *tx.conn).await?;
        let ids = overdue.iter().map(|id| task_id(id)).collect::<Result<Vec<_>, _>>()?;
        let mut expired = Vec::with_capacity(ids.len());
        for row in tx.load(ids).await? {
            if tx.apply(&row, Command::Expire, With::default()).await?.is_some() {
                expired.push(row.id()?);
            }
        }
        expired.sort();
        Ok(expired)
    }
}
