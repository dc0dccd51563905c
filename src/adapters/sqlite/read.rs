//! Reads of tasks and events. Each is one snapshot, held no longer than the read.

use futures_util::TryStreamExt;
use sqlx::{QueryBuilder, SqliteConnection};
use windlass_actors::domain::{Status, Task, TaskId};
use windlass_actors::ports::records::{Events, Filter, Page};
use windlass_actors::ports::rules::Sizes;

use super::fault::Fault;
use super::row::{json, status};
use super::view::{AttemptView, EventView, TaskView};

const TASKS: &str = include_str!("sql/select_tasks.sql");

/// A task with its attempts and its partial output. The caller holds the snapshot.
pub(super) async fn task(conn: &mut SqliteConnection, id: TaskId, sizes: &Sizes) -> Result<Option<Task>, Fault> {
    let Some(mut task) = without_partial(conn, id).await? else { return Ok(None) };
    let id = id.to_string();
    let mut partial = sizes.partial();
    let mut outputs = sqlx::query_scalar::<_, String>(include_str!("sql/select_outputs.sql")).bind(&id).fetch(conn);
    while let Some(data) = outputs.try_next().await? {
        if !partial.take(&data) {
            break;
        }
    }
    task.partial = partial.array();
    Ok(Some(task))
}

/// A task with its attempts: its output may be long, and is nothing to read under the write lock.
pub(super) async fn without_partial(conn: &mut SqliteConnection, id: TaskId) -> Result<Option<Task>, Fault> {
    let id = id.to_string();
    let mut query = QueryBuilder::new(TASKS);
    query.push(" WHERE t.id = ").push_bind(&id);
    let view: Option<TaskView> = query.build_query_as().fetch_optional(&mut *conn).await?;
    let Some(view) = view else { return Ok(None) };
    let attempts: Vec<AttemptView> =
        sqlx::query_as(include_str!("sql/select_attempts.sql")).bind(&id).fetch_all(&mut *conn).await?;
    let mut task = view.task()?;
    task.attempts = attempts.into_iter().map(AttemptView::attempt).collect::<Result<_, _>>()?;
    Ok(Some(task))
}

/// Newest first. A status stands in the statement as it is, so that a partial index can serve it.
pub(super) async fn tasks(conn: &mut SqliteConnection, filter: &Filter, page: Page) -> Result<Vec<Task>, Fault> {
    let mut query = QueryBuilder::new(TASKS);
    query.push(" WHERE true");
    if !filter.ids.is_empty() {
        query.push(" AND t.id IN (SELECT value FROM json_each(").push_bind(json(&filter.ids)?).push("))");
    }
    if !filter.status.is_empty() {
        let wanted: Vec<String> = filter.status.iter().map(|s: &Status| format!("'{s}'")).collect();
        query.push(" AND t.status IN (").push(wanted.join(", ")).push(")");
    }
    if let Some(task_type) = &filter.task_type {
        query.push(" AND t.task_type = ").push_bind(task_type.as_str());
    }
    if let Some(owner) = &filter.owner {
        query.push(" AND t.owner = ").push_bind(owner.as_str());
    }
    if filter.dead_lettered {
        query.push(" AND t.dead_lettered = 1");
    }
    if let Some(before) = page.before {
        query.push(" AND t.id < ").push_bind(before.to_string());
    }
    query.push(" ORDER BY t.id DESC LIMIT ").push_bind(page.limit);
    let views: Vec<TaskView> = query.build_query_as().fetch_all(conn).await?;
    views.into_iter().map(TaskView::task).collect()
}

/// Events after a number. The caller holds the snapshot.
pub(super) async fn events(
    conn: &mut SqliteConnection,
    id: TaskId,
    after: i64,
    limit: u32,
) -> Result<Option<Events>, Fault> {
    let id = id.to_string();
    let stands: Option<(String, i64)> =
        sqlx::query_as("SELECT status, last_seq FROM task WHERE id = ?1").bind(&id).fetch_optional(&mut *conn).await?;
    let Some((text, last_seq)) = stands else {
        return Ok(None);
    };
    let views: Vec<EventView> = sqlx::query_as(include_str!("sql/select_events.sql"))
        .bind(&id)
        .bind(after)
        .bind(limit)
        .fetch_all(&mut *conn)
        .await?;
    let events = views.into_iter().map(EventView::event).collect::<Result<_, _>>()?;
    Ok(Some(Events { events, status: status(&text)?, last_seq }))
}
