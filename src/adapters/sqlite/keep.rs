//! Upkeep of the file: prune, probe.

use async_trait::async_trait;
use std::time::Duration;
use windlass_actors::domain::Timestamp;
use windlass_actors::ports::ledger::Pruned;

use super::fault::Fault;
use super::row::json;
use super::verb::{Tx, Verb};

/// One small step of pruning: a hundred tasks hold the write lock for some milliseconds.
pub(super) struct Prune {
    pub keep: Duration,
    pub most: u32,
}

impl Prune {
    pub const STEP: u32 = 100;
}

#[async_trait]
impl Verb for Prune {
    type Answer = Pruned;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Pruned, Fault> {
        let before = tx.now.minus(self.keep).0;
        let find = sqlx::query_scalar::<_, String>(include_str!("sql/find_finished.sql"));
        let ids = find.bind(before).bind(self.most).fetch_all(&mut *tx.conn).await?;
        let list = json(&ids)?;
        for delete in [
            "DELETE FROM task_event WHERE task_id IN (SELECT value FROM json_each(?1))",
            "DELETE FROM task_attempt WHERE task_id IN (SELECT value FROM json_each(?1))",
            "DELETE FROM task_body WHERE id IN (SELECT value FROM json_each(?1))",
            "DELETE FROM task WHERE id IN (SELECT value FROM json_each(?1))",
        ] {
            sqlx::query(delete).bind(&list).execute(&mut *tx.conn).await?;
        }
        let nodes = sqlx::query("DELETE FROM node WHERE heartbeat_at < ?1").bind(before).execute(&mut *tx.conn).await?;
        sqlx::query("DELETE FROM capability WHERE node_id NOT IN (SELECT node_id FROM node)")
            .execute(&mut *tx.conn)
            .await?;
        Ok(Pruned { tasks: ids.len() as u64, nodes: nodes.rows_affected() })
    }
}

/// Writes, and takes some room for it, so that a full or read-only file shows: a change in place fits into a full one.
pub(super) struct Probe;

/// Half of the room that a probe takes, in bytes: some pages.
const ROOM: i64 = 8 << 10;

#[async_trait]
impl Verb for Probe {
    type Answer = Timestamp;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Timestamp, Fault> {
        let write =
            "INSERT INTO setting (key, value) VALUES ('probed_at', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1";
        sqlx::query(write).bind(tx.now.0.to_string()).execute(&mut *tx.conn).await?;
        sqlx::query("INSERT OR REPLACE INTO setting (key, value) VALUES ('probe_room', hex(zeroblob(?1)))")
            .bind(ROOM)
            .execute(&mut *tx.conn)
            .await?;
        sqlx::query("DELETE FROM setting WHERE key = 'probe_room'").execute(&mut *tx.conn).await?;
        Ok(tx.now)
    }
}
