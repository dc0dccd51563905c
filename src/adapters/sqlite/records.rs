//! The ports of reads, and of the registry.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Sqlite, Transaction};
use windlass_actors::domain::{Incarnation, NodeId, Task, TaskId, TypeName};
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::records::{Events, Filter, Page, Stats, TaskFacts};
use windlass_actors::ports::registry::{Capability, NodeReport, NodeRow};
use windlass_actors::ports::{Records, Registry};

use super::fault::Fault;
use super::registry::{Post, SetPaused, Setting, Withdraw};
use super::{SqliteStore, count, read, registry};

impl SqliteStore {
    /// One snapshot; it ends when dropped.
    async fn snapshot(&self) -> Result<Transaction<'static, Sqlite>, Fault> {
        Ok(self.readers.begin().await?)
    }
}

#[async_trait]
impl Records for SqliteStore {
    async fn task(&self, id: TaskId) -> Result<Option<Task>, LedgerError> {
        Ok(read::task(&mut *self.snapshot().await?, id, &self.sizes).await?)
    }

    async fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<Task>, LedgerError> {
        Ok(read::tasks(&mut *self.snapshot().await?, filter, page).await?)
    }

    async fn events(&self, id: TaskId, after: i64, limit: u32) -> Result<Option<Events>, LedgerError> {
        Ok(read::events(&mut *self.snapshot().await?, id, after, limit).await?)
    }

    async fn stats(&self) -> Result<Stats, LedgerError> {
        Ok(count::stats(&mut *self.snapshot().await?).await?)
    }

    async fn facts(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskFacts>, LedgerError> {
        Ok(count::facts(&mut *self.snapshot().await?, after, limit).await?)
    }
}

#[async_trait]
impl Registry for SqliteStore {
    async fn post(&self, report: NodeReport) -> Result<(), LedgerError> {
        self.write(Post(report)).await
    }

    async fn withdraw(&self, node: &NodeId, incarnation: Incarnation) -> Result<(), LedgerError> {
        self.write(Withdraw(node.clone(), incarnation)).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>, LedgerError> {
        Ok(registry::nodes(&mut *self.snapshot().await?).await?)
    }

    async fn capabilities(&self, believed: Duration) -> Result<Vec<Capability>, LedgerError> {
        Ok(registry::capabilities(&mut *self.snapshot().await?, believed).await?)
    }

    async fn set_paused(&self, task_type: &TypeName, paused: bool) -> Result<bool, LedgerError> {
        self.write(SetPaused(task_type.clone(), paused)).await
    }

    async fn setting(&self, key: &str, first: &str) -> Result<String, LedgerError> {
        self.write(Setting { key: key.to_owned(), first: first.to_owned() }).await
    }
}
