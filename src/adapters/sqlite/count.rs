//! Reads that count: stats, and the facts of the audit.

use sqlx::{FromRow, SqliteConnection};
use windlass_actors::domain::{Epoch, Status, TaskId, Timestamp};
use windlass_actors::ports::records::{Depth, Stats, TaskFacts};

use super::fault::Fault;
use super::row::{span, status, task_id, type_name};
use super::writer::CLOCK;

async fn now(conn: &mut SqliteConnection) -> Result<i64, Fault> {
    Ok(sqlx::query_scalar(CLOCK).fetch_one(conn).await?)
}

pub(super) async fn stats(conn: &mut SqliteConnection) -> Result<Stats, Fault> {
    let now = now(conn).await?;
    let depths: Vec<(String, String, i64, i64)> =
        sqlx::query_as(include_str!("sql/stats.sql")).fetch_all(&mut *conn).await?;
    let dead: Vec<(String, i64)> = sqlx::query_as(
        "SELECT task_type, count(*) FROM task WHERE dead_lettered = 1 GROUP BY task_type ORDER BY task_type",
    )
    .fetch_all(&mut *conn)
    .await?;
    let depth = |(task_type, state, count, since): (String, String, i64, i64)| {
        let (task_type, status) = (type_name(&task_type)?, status(&state)?);
        Ok(Depth { task_type, status, count: count.unsigned_abs(), oldest_age: span(now - since) })
    };
    Ok(Stats {
        depths: depths.into_iter().map(depth).collect::<Result<_, Fault>>()?,
        dead_letters: dead
            .into_iter()
            .map(|(t, n)| Ok((type_name(&t)?, n.unsigned_abs())))
            .collect::<Result<_, Fault>>()?,
    })
}

#[derive(FromRow)]
struct FactsRow {
    id: String,
    status: String,
    epoch: i64,
    attempt: u32,
    max_attempts: u32,
    last_seq: i64,
    event_count: i64,
    first_seq: Option<i64>,
    max_seq: Option<i64>,
    epoch_regressions: i64,
    terminal_events: i64,
    replays: i64,
    last_state: Option<String>,
    charged_attempts: i64,
    attempts: i64,
    open_attempts: i64,
    has_owner: bool,
    lease_until: Option<i64>,
    has_result: bool,
    has_error: bool,
    finished_at: Option<i64>,
}

impl FactsRow {
    fn facts(self, now: i64) -> Result<TaskFacts, Fault> {
        Ok(TaskFacts {
            id: task_id(&self.id)?,
            status: status(&self.status)?,
            epoch: Epoch(self.epoch),
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            last_seq: self.last_seq,
            event_count: self.event_count,
            first_seq: self.first_seq,
            max_seq: self.max_seq,
            epoch_regressions: self.epoch_regressions,
            terminal_events: self.terminal_events,
            replays: self.replays,
            last_state: self.last_state.as_deref().and_then(Status::parse),
            charged_attempts: self.charged_attempts,
            attempts: self.attempts,
            open_attempts: self.open_attempts,
            has_owner: self.has_owner,
            lease_over_for: self.lease_until.filter(|until| *until <= now).map(|until| span(now - until)),
            has_result: self.has_result,
            has_error: self.has_error,
            finished_at: self.finished_at.map(Timestamp),
        })
    }
}

pub(super) async fn facts(
    conn: &mut SqliteConnection,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskFacts>, Fault> {
    let now = now(conn).await?;
    let after = after.map_or(String::new(), |id| id.to_string());
    let rows: Vec<FactsRow> =
        sqlx::query_as(include_str!("sql/facts.sql")).bind(after).bind(limit).fetch_all(&mut *conn).await?;
    rows.into_iter().map(|row| row.facts(now)).collect()
}
