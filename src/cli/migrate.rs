//! `windlass migrate`: applies the schema, or says whether it is this build's.

use super::args::MigrateArgs;
use super::exit::{CliError, Exit};
use super::output::{Output, tell};
use crate::adapters::sqlite::{Schema, SqliteStore, schema};
use crate::boot::{BootError, settings};
use crate::config::Config;

pub async fn run(args: &MigrateArgs, config: &Config, out: &mut Output) -> Result<Exit, CliError> {
    let path = &config.database.path;
    if !args.check {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        SqliteStore::open(path, settings::store(config)).await.map_err(BootError::from)?;
        out.line(&format!("{}: the schema is up to date", path.display()))?;
        return Ok(Exit::Done);
    }
    let found = schema(path).await.map_err(BootError::from)?;
    let (ok, says) = describe(&found);
    if ok {
        out.line(&format!("{}: {says}", path.display()))?;
        return Ok(Exit::Done);
    }
    tell(&format!("windlass: {}: {says}", path.display()));
    Ok(Exit::Failed)
}

/// Whether it fits, and in words.
pub fn describe(found: &Schema) -> (bool, String) {
    match found {
        Schema::Current => (true, "the schema is up to date".to_owned()),
        Schema::Absent => (false, "there is no schema yet; `windlass migrate` or `windlass up` makes it".to_owned()),
        Schema::Behind(missing) => (false, format!("not applied yet: {}; run `windlass migrate`", missing.join(", "))),
        Schema::Ahead(unknown) => {
            (false, format!("a newer build was here (versions {unknown:?}); use that build or a copy from before"))
        }
    }
}
