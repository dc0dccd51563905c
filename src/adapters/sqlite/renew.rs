//! renew: all leases of a node in one statement; a lease that ran out is revived as long as nobody took it.

use std::collections::HashMap;

use async_trait::async_trait;
use windlass_actors::domain::{LeaseKey, Owner};
use windlass_actors::ports::ledger::RenewAnswer;

use super::fault::Fault;
use super::row::{json, millis, task_id};
use super::verb::{Tx, Verb};

pub(super) struct Renew {
    pub owner: Owner,
    pub leases: Vec<LeaseKey>,
}

#[async_trait]
impl Verb for Renew {
    type Answer = Vec<RenewAnswer>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<RenewAnswer>, Fault> {
        let rows: Vec<(String, i64, bool)> = sqlx::query_as(include_str!("sql/renew.sql"))
            .bind(json(&self.leases)?)
            .bind(self.owner.incarnation.to_string())
            .bind(tx.now.0 + millis(self.owner.lease))
            .fetch_all(&mut *tx.conn)
            .await?;
        let mut held = HashMap::with_capacity(rows.len());
        for (id, epoch, cancel_requested) in rows {
            held.insert((task_id(&id)?, epoch), cancel_requested);
        }
        let answer = |lease: &LeaseKey| match held.get(&(lease.task, lease.epoch.0)) {
            Some(&cancel_requested) => RenewAnswer::Held { cancel_requested },
            None => RenewAnswer::Lost,
        };
        Ok(self.leases.iter().map(answer).collect())
    }
}
