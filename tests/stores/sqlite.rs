//! What only SQLite can get wrong: locks of other processes, the -wal, a full disk, restarts, cut transactions.

use std::time::{Duration, Instant};

use sqlx::Executor;
use windlass::adapters::sqlite::{Options, SqliteStore};
use windlass_actors::domain::{Json, NewTask, Status};
use windlass_actors::ports::ledger::{ClaimNext, Created, Ledger, LedgerError};
use windlass_actors::ports::records::{Filter, Page, Records};
use windlass_actors::testkit::conformance::{Harness, Scene, assert_invariants};
use windlass_actors::testkit::tasks::{self, new_task};

use crate::file::OnFile;

fn heavy() -> NewTask {
    NewTask { payload: Json::trusted(format!("\"{}\"", "x".repeat(200_000))), ..new_task("hello") }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_process_is_waited_for() {
    let file = OnFile::open(Options::default()).await;
    let mut other = file.second_hand().await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let store = file.store.clone();
        callers.spawn(async move { store.create(vec![new_task("hello")]).await });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    other.execute("COMMIT").await.unwrap();
    for answer in callers.join_all().await {
        assert!(matches!(answer.unwrap()[..], [Created::Created { .. }]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_stays_is_an_outage_and_ends_with_it() {
    let file = OnFile::open(Options { busy_for: Duration::from_millis(700), ..Options::default() }).await;
    let mut other = file.second_hand().await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let LedgerError::Unavailable(why) = file.store.probe().await.unwrap_err() else { panic!("not an outage") };
    assert_eq!(why, "another process holds its write lock");
    let page = Page { before: None, limit: 1 };
    assert_eq!(file.store.tasks(&Filter::default(), page).await.unwrap(), [], "readers go on");
    other.execute("ROLLBACK").await.unwrap();
    file.store.probe().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_on_one_file_contend_without_an_error() {
    let file = OnFile::open(Options::default()).await;
    let second = SqliteStore::open(file.path(), Options::default()).await.unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..40 {
        let store = if n % 2 == 0 { file.store.clone() } else { second.clone() };
        callers.spawn(async move {
            for _ in 0..5 {
                store.create(vec![new_task("hello")]).await.unwrap();
                store.claim_next(&tasks::owner(n), vec![tasks::claim_next("hello", 1)]).await.unwrap();
                store.stats().await.unwrap();
            }
        });
    }
    callers.join_all().await;
    assert_invariants(&file.store()).await;
    let stats = file.store.stats().await.unwrap();
    assert_eq!(stats.depths.iter().map(|d| (d.status, d.count)).collect::<Vec<_>>(), [(Status::Running, 200)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wal_is_small_again_after_a_long_reader() {
    let file = OnFile::open(Options::default()).await;
    let mut reader = file.second_hand().await;
    reader.execute("BEGIN; SELECT count(*) FROM task").await.unwrap();
    for _ in 0..10 {
        file.store.create((0..5).map(|_| heavy()).collect()).await.unwrap();
    }
    assert!(file.wal_bytes() > 8 << 20, "the reader is in the way: {}", file.wal_bytes());
    reader.execute("COMMIT").await.unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while file.wal_bytes() > 1 << 20 {
        assert!(Instant::now() < until, "still {} bytes", file.wal_bytes());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_is_an_outage_and_ends_with_it() {
    let file = OnFile::open(Options { max_pages: Some(400), ..Options::default() }).await;
    let first = file.store.create(vec![heavy()]).await.unwrap();
    let why = loop {
        match file.store.create(vec![heavy()]).await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(why, LedgerError::Unavailable("the disk or the database is full".to_owned()));
    let all = file.store.tasks(&Filter::default(), Page { before: None, limit: 100 }).await.unwrap();
    let [Created::Created { id }] = first[..] else { panic!("not created") };
    assert_eq!(all.last().map(|t| t.id), Some(id));
    let mut other = file.second_hand().await;
    other.execute("DELETE FROM task_body; DELETE FROM task; DELETE FROM task_event").await.unwrap();
    file.store.create(vec![heavy()]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_is_told_and_ends_with_its_cause() {
    let file = OnFile::open(Options::default()).await;
    file.store.create(vec![new_task("hello")]).await.unwrap();
    let mut other = file.second_hand().await;
    let guard = "CREATE TRIGGER guard BEFORE INSERT ON task BEGIN SELECT RAISE(ABORT, 'no'); END";
    other.execute(guard).await.unwrap();
    let refused = file.store.create(vec![new_task("hello")]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Refused(_)), "{refused:?}");
    other.execute("DROP TRIGGER guard").await.unwrap();
    file.store.create(vec![new_task("hello")]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_call_fails_only_itself() {
    let file = OnFile::open(Options::default()).await;
    let taken = new_task("hello");
    file.store.create(vec![taken.clone()]).await.unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..30 {
        let (store, taken) = (file.store.clone(), taken.clone());
        callers.spawn(async move {
            let bad = n % 10 == 0;
            let batch = if bad { vec![new_task("hello"), taken, new_task("hello")] } else { vec![new_task("hello")] };
            (bad, store.create(batch).await)
        });
    }
    for (bad, answer) in callers.join_all().await {
        assert_eq!(bad, matches!(answer, Err(LedgerError::Refused(_))), "{answer:?}");
    }
    let all = file.store.tasks(&Filter::default(), Page { before: None, limit: 100 }).await.unwrap();
    assert_eq!(all.len(), 1 + 27 + 3 * 2, "the good items of a bad call are stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_everything() {
    let file = OnFile::open(Options::default()).await;
    let file = std::sync::Arc::new(file);
    let scene = Scene::new(file.clone());
    let key = scene.running().await;
    scene.record(1, tasks::record(key, 0, vec![tasks::output("[1]")])).await;
    let before = scene.task(key.task).await;
    let again = SqliteStore::open(file.path(), Options::default()).await.unwrap();
    assert_eq!(again.task(key.task).await.unwrap(), Some(before));
    let finish = vec![tasks::finish(key, tasks::complete())];
    again.finish(&tasks::owner(1), finish).await.unwrap();
    assert_eq!(scene.status(key.task).await, Status::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_cut_in_mid_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let acknowledged = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, at) = (acknowledged.clone(), path.clone());
    let cut = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(at, Options::default()).await.unwrap();
            for _ in 0..8 {
                let (store, seen) = (store.clone(), seen.clone());
                tokio::spawn(async move {
                    loop {
                        let task = new_task("hello");
                        let id = task.id;
                        store.create(vec![task]).await.unwrap();
                        seen.lock().unwrap().push(id);
                    }
                });
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        });
        runtime.shutdown_background(); // the writer is dropped wherever it is
    });
    cut.join().unwrap();
    let store: windlass_actors::ports::SharedStore = SqliteStore::open(path, Options::default()).await.unwrap();
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert!(!acknowledged.is_empty());
    for id in acknowledged {
        assert!(store.task(id).await.unwrap().is_some(), "{id} is lost");
    }
    assert_invariants(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_keeps_the_hash_of_its_plugin() {
    let file = OnFile::open(Options::default()).await;
    file.store.create(vec![new_task("hello")]).await.unwrap();
    let claim = ClaimNext { plugin_sha256: Some("abc".to_owned()), ..tasks::claim_next("hello", 1) };
    assert_eq!(file.store.claim_next(&tasks::owner(1), vec![claim]).await.unwrap()[0].claimed.len(), 1);
    let mut conn = file.second_hand().await;
    let hash: Option<String> =
        sqlx::query_scalar("SELECT plugin_sha256 FROM task_attempt").fetch_one(&mut conn).await.unwrap();
    assert_eq!(hash.as_deref(), Some("abc"));
}
