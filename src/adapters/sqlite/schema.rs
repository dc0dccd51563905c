//! Whether a file's schema is the one of this build, without changing it.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection, Row};
use windlass_actors::ports::ledger::LedgerError;

use super::MIGRATIONS;

/// How a file's schema compares with this build's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schema {
    /// There is no file, or nothing in it.
    Absent,
    Current,
    /// Migrations that this build has and the file has not.
    Behind(Vec<String>),
    /// Versions that the file has and this build does not know: a newer build was here.
    Ahead(Vec<i64>),
}

/// Reads a file's schema.
pub async fn schema(path: &Path) -> Result<Schema, LedgerError> {
    if !path.exists() {
        return Ok(Schema::Absent);
    }
    let applied = applied(path).await.map_err(|error| LedgerError::Unavailable(error.to_string()))?;
    Ok(compare(&applied))
}

async fn applied(path: &Path) -> Result<Option<Vec<i64>>, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut conn = SqliteConnection::connect_with(&options).await?;
    let tables = sqlx::query("select 1 from sqlite_master where name = '_sqlx_migrations'").fetch_optional(&mut conn);
    if tables.await?.is_none() {
        return Ok(None);
    }
    let rows = sqlx::query("select version from _sqlx_migrations where success order by version").fetch_all(&mut conn);
    rows.await?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map(Some)
}

fn compare(applied: &Option<Vec<i64>>) -> Schema {
    let Some(applied) = applied else { return Schema::Absent };
    let unknown: Vec<i64> =
        applied.iter().copied().filter(|version| !MIGRATIONS.iter().any(|known| known.version == *version)).collect();
    if !unknown.is_empty() {
        return Schema::Ahead(unknown);
    }
    let missing = MIGRATIONS.iter().filter(|known| !applied.contains(&known.version));
    let missing: Vec<String> = missing.map(|known| format!("{:04} {}", known.version, known.description)).collect();
    if missing.is_empty() { Schema::Current } else { Schema::Behind(missing) }
}
