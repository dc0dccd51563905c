//! `windlass config show`

use super::exit::{CliError, Exit};
use super::output::{Output, table};
use crate::config::{self, Config};

pub fn run(config: &Config, json: bool, out: &mut Output) -> Result<Exit, CliError> {
    let entries = config::entries(config);
    if json {
        out.json(&entries)?;
        return Ok(Exit::Done);
    }
    let row = |entry: &config::Entry| {
        vec![entry.key.clone(), entry.value.clone().unwrap_or("-".into()), entry.source.clone()]
    };
    out.text(&table(&["key", "value", "source"], &entries.iter().map(row).collect::<Vec<_>>()))?;
    Ok(Exit::Done)
}
