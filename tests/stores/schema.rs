//! The schema that the migrations make stands beside them, so that a migration is reviewed as a diff.

use sqlx::Row;
use windlass::adapters::sqlite::Options;

use crate::file::OnFile;

#[tokio::test]
async fn the_dumped_schema_is_what_the_migrations_make() {
    let file = OnFile::open(Options::default()).await;
    let mut conn = file.second_hand().await;
    let select =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE '\\_sqlx%' ESCAPE '\\' ORDER BY name";
    let rows = sqlx::query(select).fetch_all(&mut conn).await.unwrap();
    let dump: String = rows.iter().map(|row| format!("{};\n\n", row.get::<String, _>("sql"))).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite/schema.sql");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &dump).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), dump, "run this test with UPDATE_SCHEMA=1");
}

/// Statements of hot paths: none may read a table from end to end, however deep the queue is.
const HOT: &[(&str, &str)] = &[
    ("gate", include_str!("../../src/adapters/sqlite/sql/gate.sql")),
    ("claim_candidates", include_str!("../../src/adapters/sqlite/sql/claim_candidates.sql")),
    ("claim_suspect", include_str!("../../src/adapters/sqlite/sql/claim_suspect.sql")),
    ("claim_repeated", include_str!("../../src/adapters/sqlite/sql/claim_repeated.sql")),
    ("claim_load", include_str!("../../src/adapters/sqlite/sql/claim_load.sql")),
    ("claim", include_str!("../../src/adapters/sqlite/sql/claim.sql")),
    ("insert_attempts", include_str!("../../src/adapters/sqlite/sql/insert_attempts.sql")),
    ("next_due", include_str!("../../src/adapters/sqlite/sql/next_due.sql")),
    ("known_keys", include_str!("../../src/adapters/sqlite/sql/known_keys.sql")),
    ("load_tasks", include_str!("../../src/adapters/sqlite/sql/load_tasks.sql")),
    ("renew", include_str!("../../src/adapters/sqlite/sql/renew.sql")),
    ("report", include_str!("../../src/adapters/sqlite/sql/report.sql")),
    ("succeed_tasks", include_str!("../../src/adapters/sqlite/sql/succeed_tasks.sql")),
    ("succeed_attempts", include_str!("../../src/adapters/sqlite/sql/succeed_attempts.sql")),
    ("succeed_bodies", include_str!("../../src/adapters/sqlite/sql/succeed_bodies.sql")),
    ("find_overdue", include_str!("../../src/adapters/sqlite/sql/find_overdue.sql")),
    ("find_finished", include_str!("../../src/adapters/sqlite/sql/find_finished.sql")),
    ("select_events", include_str!("../../src/adapters/sqlite/sql/select_events.sql")),
];

#[tokio::test]
async fn no_hot_statement_reads_a_table_from_end_to_end() {
    let file = OnFile::open(Options::default()).await;
    let mut conn = file.second_hand().await;
    for (name, sql) in HOT {
        let explain = format!("EXPLAIN QUERY PLAN {sql}");
        let plan = sqlx::query(sqlx::AssertSqlSafe(explain)).fetch_all(&mut conn).await.unwrap();
        for step in plan.iter().map(|row| row.get::<String, _>("detail")) {
            let table = ["SCAN task", "SCAN t ", "SCAN b", "TEMP B-TREE"].iter().any(|bad| step.starts_with(bad));
            assert!(!table && step != "SCAN t", "{name}: {step}");
        }
    }
}
