//! The ceiling: what the database gives to a loop that does nothing else.

use std::process::Command;
use std::time::Instant;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Executor, Row, SqliteConnection};
use uuid::Uuid;
use windlass_actors::domain::{Json, LeaseKey, Owner, Suspicion, Verdict};
use windlass_actors::ports::Ledger;
use windlass_actors::ports::ledger::{ClaimNext, Finish, Limits};

use crate::rig::{Filled, SLOTS, filled, noop, owner, payload, percentiles, task};

/// What the runs of the other side answer.
const RESULT: &str = r#"{"epoch":1}"#;

fn claim(most: u32) -> ClaimNext {
    let (suspects, limits) = (Suspicion::Node, Limits::default());
    ClaimNext { task_type: noop(), most, suspects, limits, plugin_sha256: None, token: Uuid::now_v7() }
}

fn finish(key: LeaseKey) -> Finish {
    let verdict = Verdict::Complete { result: Json::trusted(RESULT) };
    Finish { key, verdict, from: 0, events: Vec::new(), stage: None, progress: None, token: Uuid::now_v7() }
}

/// Claims and finishes one batch; the number of tasks in it.
async fn step(store: &dyn Ledger, owner: &Owner, most: u32) -> u32 {
    let found = store.claim_next(owner, vec![claim(most)]).await.expect("claims are answered");
    let finishes: Vec<Finish> = found[0].claimed.iter().map(|claimed| finish(claimed.key)).collect();
    let count = finishes.len();
    store.finish(owner, finishes).await.expect("finishes are answered");
    u32::try_from(count).expect("a batch is small")
}

/// Batch after batch through the store's own calls: tasks a second.
pub async fn store(count: u32) -> f64 {
    let Filled { store, folder } = filled(noop(), count).await;
    let (owner, start, mut done) = (owner(), Instant::now(), 0);
    while done < count {
        done += step(&*store, &owner, SLOTS).await;
    }
    let rate = f64::from(count) / start.elapsed().as_secs_f64();
    drop(folder);
    rate
}

/// One task after the other, from create to end: p50 and p99.
pub async fn latencies(count: u32) -> (f64, f64) {
    let Filled { store, folder } = filled(noop(), 0).await;
    let (owner, mut spans) = (owner(), Vec::new());
    for _ in 0..count {
        let start = Instant::now();
        store.create(vec![task(noop(), payload())]).await.expect("a task is created");
        assert_eq!(step(&*store, &owner, SLOTS).await, 1);
        spans.push(start.elapsed());
    }
    drop(folder);
    percentiles(spans)
}

/// Round trips a second of one Python process that answers the same frames and does nothing else.
pub fn echo() -> f64 {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/bench_worker.py");
    let told = Command::new("python3").args([script, "--echo", "--seconds", "2"]).output().expect("Python runs");
    String::from_utf8_lossy(&told.stdout).trim().parse().expect("a number")
}

/// The same rows by plain SQL on one connection: tasks a second.
pub async fn plain_sql(count: u32) -> f64 {
    let Filled { store, folder } = filled(noop(), count).await;
    drop(store);
    let options = SqliteConnectOptions::new().filename(folder.path().join("windlass.db"));
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut conn = options.disable_statement_logging().connect().await.expect("it opens");
    let (start, mut done) = (Instant::now(), 0);
    while done < count {
        let ids = claim_rows(&mut conn).await;
        finish_rows(&mut conn, &ids).await;
        done += u32::try_from(ids.len()).expect("a batch is small");
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

async fn claim_rows(conn: &mut SqliteConnection) -> Vec<String> {
    conn.execute("BEGIN IMMEDIATE").await.expect("a transaction begins");
    let candidates = include_str!("../../src/adapters/sqlite/sql/claim_candidates.sql");
    let rows = sqlx::query(candidates).bind("noop").bind(i64::MAX).bind(SLOTS).fetch_all(&mut *conn).await;
    let ids: Vec<String> = rows.expect("candidates").iter().map(|row| row.get("id")).collect();
    let list = serde_json::to_string(&ids).expect("texts are JSON");
    let claim = include_str!("../../src/adapters/sqlite/sql/claim.sql");
    run(conn, claim, &[&list, "n", "i", "t", "1", "9999999999999"]).await;
    run(conn, include_str!("../../src/adapters/sqlite/sql/insert_attempts.sql"), &[&list, "0"]).await;
    let data = r#"{"status":"running","attempt":1,"node_id":"n"}"#;
    insert_events(conn, &ids, 2, data).await;
    conn.execute("COMMIT").await.expect("it commits");
    ids
}

async fn finish_rows(conn: &mut SqliteConnection, ids: &[String]) {
    conn.execute("BEGIN IMMEDIATE").await.expect("a transaction begins");
    let ends: Vec<_> =
        ids.iter().map(|id| (id, 1, 3, None::<&str>, None::<f64>, Json::trusted(RESULT), Uuid::now_v7())).collect();
    let ends = serde_json::to_string(&ends).expect("texts are JSON");
    run(conn, include_str!("../../src/adapters/sqlite/sql/succeed_tasks.sql"), &[&ends, "4"]).await;
    run(conn, include_str!("../../src/adapters/sqlite/sql/succeed_attempts.sql"), &[&ends, "4"]).await;
    run(conn, include_str!("../../src/adapters/sqlite/sql/succeed_bodies.sql"), &[&ends]).await;
    insert_events(conn, ids, 3, r#"{"status":"succeeded"}"#).await;
    conn.execute("COMMIT").await.expect("it commits");
}

async fn insert_events(conn: &mut SqliteConnection, ids: &[String], seq: i64, data: &str) {
    let events: Vec<_> = ids.iter().map(|id| (id, seq, 1, "state", data)).collect();
    let events = serde_json::to_string(&events).expect("texts are JSON");
    run(conn, include_str!("../../src/adapters/sqlite/sql/insert_events.sql"), &[&events, "3"]).await;
}

async fn run(conn: &mut SqliteConnection, sql: &'static str, arguments: &[&str]) {
    let query = arguments.iter().fold(sqlx::query(sql), |query, argument| query.bind((*argument).to_owned()));
    query.execute(conn).await.expect("the statement runs");
}
