//! How many tasks a second go through the SQLite store, beside a bare loop that writes the same rows.
//! `cargo test --release --test stores -- --ignored --nocapture speed`

#![expect(clippy::disallowed_macros, reason = "it prints what it measured")]

use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Executor, Row, SqliteConnection};
use uuid::Uuid;
use windlass::adapters::sqlite::{Options, SqliteStore};
use windlass_actors::domain::{Incarnation, Json, NewTask, NodeId, Owner, Suspicion, TaskId, TypeName, Verdict};
use windlass_actors::ports::ledger::{ClaimNext, Finish, FinishAnswer, Ledger, Limits};

const BATCH: u32 = 50;

fn tasks() -> u32 {
    std::env::var("SPEED_TASKS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

fn new_task() -> NewTask {
    NewTask {
        id: TaskId(Uuid::now_v7()),
        task_type: TypeName::new("noop").unwrap(),
        owner: "alice".to_owned(),
        payload: Json::trusted(format!(r#"{{"text":"{}"}}"#, "x".repeat(180))),
        model_spec: Json::empty_object(),
        inference_params: Json::empty_object(),
        metadata: Json::empty_object(),
        priority: 5,
        max_attempts: 3,
        timeout: None,
        deadline_in: None,
        not_before: None,
        client_role: None,
        idempotency_key: None,
        fingerprint: "f".to_owned(),
    }
}

fn result() -> Json {
    Json::trusted(format!(r#"{{"answer":"{}"}}"#, "y".repeat(80)))
}

async fn fill(store: &SqliteStore, count: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..count / 500 {
        store.create((0..500).map(|_| new_task()).collect()).await.unwrap();
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn speed_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db"), Options::default()).await.unwrap();
    let count = tasks();
    let filled = fill(&store, count).await;
    let owner =
        Owner { node: NodeId("n".into()), incarnation: Incarnation(Uuid::new_v4()), lease: Duration::from_secs(30) };
    let start = Instant::now();
    let mut done = 0;
    let mut worst = Duration::ZERO;
    while done < count {
        let began = Instant::now();
        let claim = ClaimNext {
            task_type: TypeName::new("noop").unwrap(),
            most: BATCH,
            suspects: Suspicion::Node,
            limits: Limits::default(),
            plugin_sha256: None,
            token: Uuid::new_v4(),
        };
        let claimed = store.claim_next(&owner, vec![claim]).await.unwrap().remove(0).claimed;
        worst = worst.max(began.elapsed());
        let finish = |key| Finish {
            key,
            verdict: Verdict::Complete { result: result() },
            from: 0,
            events: vec![],
            stage: None,
            progress: None,
            token: Uuid::new_v4(),
        };
        let finishes = claimed.iter().map(|c| finish(c.key)).collect();
        for answer in store.finish(&owner, finishes).await.unwrap() {
            assert!(matches!(answer, FinishAnswer::Done { .. }));
            done += 1;
        }
    }
    let rate = |span: Duration| f64::from(count) / span.as_secs_f64();
    println!("store: create {:.0}/s, claim+finish {:.0}/s, worst claim {worst:?}", rate(filled), rate(start.elapsed()));
}

async fn bare(path: &std::path::Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).journal_mode(SqliteJournalMode::Wal);
    options.synchronous(SqliteSynchronous::Full).disable_statement_logging().connect().await.unwrap()
}

async fn run(conn: &mut SqliteConnection, sql: &'static str, args: &[&str]) {
    let query = args.iter().fold(sqlx::query(sql), |query, arg| query.bind((*arg).to_owned()));
    query.execute(conn).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn speed_of_a_bare_loop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let count = tasks();
    fill(SqliteStore::open(&path, Options::default()).await.unwrap().as_ref(), count).await;
    let mut conn = bare(&path).await;
    let start = Instant::now();
    for _ in 0..count / BATCH {
        conn.execute("BEGIN IMMEDIATE").await.unwrap();
        let rows = sqlx::query(include_str!("../../src/adapters/sqlite/sql/claim_candidates.sql"))
            .bind("noop")
            .bind(i64::MAX)
            .bind(BATCH)
            .fetch_all(&mut conn)
            .await
            .unwrap();
        let ids: Vec<String> = rows.iter().map(|row| row.get("id")).collect();
        let list = serde_json::to_string(&ids).unwrap();
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/claim.sql"), &[&list, "n", "i", "t", "1", "2"])
            .await;
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/insert_attempts.sql"), &[&list, "0"]).await;
        let running: Vec<_> =
            ids.iter().map(|id| (id, 2, 1, "state", r#"{"status":"running","attempt":1,"node_id":"n"}"#)).collect();
        let events = serde_json::to_string(&running).unwrap();
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/insert_events.sql"), &[&events, "3"]).await;
        conn.execute("COMMIT").await.unwrap();
        conn.execute("BEGIN IMMEDIATE").await.unwrap();
        let ends: Vec<_> =
            ids.iter().map(|id| (id, 1, 3, None::<&str>, None::<f64>, result(), Uuid::new_v4())).collect();
        let ends = serde_json::to_string(&ends).unwrap();
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/succeed_tasks.sql"), &[&ends, "4"]).await;
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/succeed_attempts.sql"), &[&ends, "4"]).await;
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/succeed_bodies.sql"), &[&ends]).await;
        let ended: Vec<_> = ids.iter().map(|id| (id, 3, 1, "state", r#"{"status":"succeeded"}"#)).collect();
        let events = serde_json::to_string(&ended).unwrap();
        run(&mut conn, include_str!("../../src/adapters/sqlite/sql/insert_events.sql"), &[&events, "4"]).await;
        conn.execute("COMMIT").await.unwrap();
    }
    println!("bare loop: claim+finish {:.0}/s", f64::from(count) / start.elapsed().as_secs_f64());
}
