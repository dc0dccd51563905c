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
