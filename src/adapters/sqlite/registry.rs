//! Nodes, capabilities, paused types, settings.

use async_trait::async_trait;
use serde::Serialize;
use sqlx::{FromRow, SqliteConnection};
use std::time::Duration;
use windlass_actors::domain::{Incarnation, Json, NodeId, TaskType, TypeName};
use windlass_actors::ports::registry::{Capability, NodeReport, NodeRow, NodeState};
use windlass_actors::ports::signals::Signal;

use super::fault::Fault;
use super::row::{json, millis, span, type_name, uuid};
use super::verb::{Tx, Verb};
use super::writer::CLOCK;

pub(super) struct Post(pub NodeReport);

/// A type as posted: name, version, metadata.
#[derive(Serialize)]
struct Posted<'a>(&'a TypeName, i64, String);

impl<'a> Posted<'a> {
    fn of(task_type: &'a TaskType) -> Result<Self, Fault> {
        Ok(Posted(&task_type.name, task_type.metadata_version, json(task_type)?))
    }
}

#[async_trait]
impl Verb for Post {
    type Answer = ();

    async fn run(&self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        let NodeReport { node, incarnation, data_uuid, lease, state, types, slots, tree } = &self.0;
        sqlx::query(include_str!("sql/post_node.sql"))
            .bind(&node.0)
            .bind(incarnation.to_string())
            .bind(data_uuid.to_string())
            .bind(millis(*lease))
            .bind(state.as_str())
            .bind(slots.as_str())
            .bind(tree.as_str())
            .bind(tx.now.0)
            .execute(&mut *tx.conn)
            .await?;
        let posted = types.iter().map(Posted::of).collect::<Result<Vec<_>, Fault>>()?;
        let posted = json(&posted)?;
        sqlx::query("DELETE FROM capability WHERE node_id = ?1").bind(&node.0).execute(&mut *tx.conn).await?;
        sqlx::query("INSERT OR IGNORE INTO capability (node_id, task_type) SELECT ?1, value ->> 0 FROM json_each(?2)")
            .bind(&node.0)
            .bind(&posted)
            .execute(&mut *tx.conn)
            .await?;
        sqlx::query(include_str!("sql/post_types.sql")).bind(&posted).execute(&mut *tx.conn).await?;
        Ok(())
    }
}

pub(super) struct Withdraw(pub NodeId, pub Incarnation);

#[async_trait]
impl Verb for Withdraw {
    type Answer = ();

    async fn run(&self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        let gone = sqlx::query("UPDATE node SET state = 'gone' WHERE node_id = ?1 AND incarnation = ?2")
            .bind(&self.0.0)
            .bind(self.1.to_string())
            .execute(&mut *tx.conn)
            .await?;
        if gone.rows_affected() > 0 {
            sqlx::query("DELETE FROM capability WHERE node_id = ?1").bind(&self.0.0).execute(&mut *tx.conn).await?;
        }
        Ok(())
    }
}

pub(super) struct SetPaused(pub TypeName, pub bool);

#[async_trait]
impl Verb for SetPaused {
    type Answer = bool;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<bool, Fault> {
        let set = sqlx::query("UPDATE task_type SET paused = ?2 WHERE task_type = ?1");
        let known = set.bind(self.0.as_str()).bind(self.1).execute(&mut *tx.conn).await?.rows_affected() > 0;
        if known {
            tx.signal(Signal::TypeChanged { task_type: self.0.clone() });
        }
        if known && !self.1 {
            tx.signal(Signal::Queued { task_type: self.0.clone() });
        }
        Ok(known)
    }
}

pub(super) struct Setting {
    pub key: String,
    pub first: String,
}

#[async_trait]
impl Verb for Setting {
    type Answer = String;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<String, Fault> {
        let insert = sqlx::query("INSERT OR IGNORE INTO setting (key, value) VALUES (?1, ?2)");
        insert.bind(&self.key).bind(&self.first).execute(&mut *tx.conn).await?;
        let select = sqlx::query_scalar("SELECT value FROM setting WHERE key = ?1");
        Ok(select.bind(&self.key).fetch_one(&mut *tx.conn).await?)
    }
}

#[derive(FromRow)]
struct NodeView {
    node_id: String,
    incarnation: String,
    data_uuid: String,
    lease_ms: i64,
    state: String,
    slots: String,
    tree: String,
    heartbeat_at: i64,
    started_at: i64,
    /// JSON array of names.
    types: String,
}

impl NodeView {
    fn row(self, now: i64) -> Result<NodeRow, Fault> {
        let state = [NodeState::Serving, NodeState::Draining, NodeState::Gone];
        Ok(NodeRow {
            incarnation: Incarnation(uuid(&self.incarnation)?),
            data_uuid: uuid(&self.data_uuid)?,
            lease: span(self.lease_ms),
            state: state
                .into_iter()
                .find(|s| s.as_str() == self.state)
                .ok_or_else(|| Fault::damaged("a node's state"))?,
            types: serde_json::from_str(&self.types).map_err(|_| Fault::damaged("a node's types"))?,
            node: NodeId(self.node_id),
            slots: Json::trusted(self.slots),
            tree: Json::trusted(self.tree),
            heartbeat_age: span(now - self.heartbeat_at),
            started_age: span(now - self.started_at),
        })
    }
}

pub(super) async fn nodes(conn: &mut SqliteConnection) -> Result<Vec<NodeRow>, Fault> {
    let now: i64 = sqlx::query_scalar(CLOCK).fetch_one(&mut *conn).await?;
    let views: Vec<NodeView> = sqlx::query_as(include_str!("sql/select_nodes.sql")).fetch_all(&mut *conn).await?;
    views.into_iter().map(|view| view.row(now)).collect()
}

pub(super) async fn capabilities(conn: &mut SqliteConnection, believed: Duration) -> Result<Vec<Capability>, Fault> {
    let now: i64 = sqlx::query_scalar(CLOCK).fetch_one(&mut *conn).await?;
    let rows: Vec<(String, String, bool, u32)> = sqlx::query_as(include_str!("sql/select_capabilities.sql"))
        .bind(now.saturating_sub(millis(believed)))
        .fetch_all(&mut *conn)
        .await?;
    let capability = |(name, metadata, paused, instances): (String, String, bool, u32)| {
        let mut task_type: TaskType =
            serde_json::from_str(&metadata).map_err(|_| Fault::damaged("a type's metadata"))?;
        task_type.name = type_name(&name)?;
        Ok(Capability { task_type, instances, paused })
    };
    rows.into_iter().map(capability).collect()
}
