//! `windlass audit`: checks on the database that what must always hold does hold. Reads a page of tasks at a time.

use serde_json::{Value, json};
use windlass_actors::domain::TaskId;
use windlass_actors::invariants::{CATALOGUE, Context, Invariant};
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::records::TaskFacts;

use super::args::Json;
use super::exit::{CliError, Exit};
use super::migrate;
use super::output::Output;
use crate::adapters::sqlite::{Schema, SqliteStore, schema};
use crate::boot::{BootError, settings};
use crate::config::Config;

/// Tasks read at once.
const PAGE: u32 = 1000;

/// Offending tasks that are named, of each invariant.
const NAMED: usize = 20;

/// What was found of one invariant.
struct Finding {
    invariant: &'static Invariant,
    count: u64,
    named: Vec<(TaskId, String)>,
}

pub async fn run(json: Json, config: &Config, out: &mut Output) -> Result<Exit, CliError> {
    let path = &config.database.path;
    match schema(path).await.map_err(BootError::from)? {
        Schema::Current => {}
        Schema::Absent => {
            return Err(CliError::Unreachable {
                what: format!("the database `{}`", path.display()),
                reason: "there is none".into(),
                remedy: "name its folder with `--data DIR`".into(),
            });
        }
        // opening it would migrate it under a node of the other build
        other => {
            let (_, says) = migrate::describe(&other);
            return Err(CliError::Failed(format!("cannot audit {}: {says}", path.display())));
        }
    }
    let store: SharedStore = SqliteStore::open(path, settings::store(config)).await.map_err(BootError::from)?;
    let (tasks, findings) = examine(&store, config).await?;
    if json.json {
        out.json(&findings.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        findings.iter().try_for_each(|finding| show(finding, out))?;
        out.line(&format!("{tasks} tasks examined"))?;
    }
    Ok(if findings.iter().all(|finding| finding.count == 0) { Exit::Done } else { Exit::Failed })
}

async fn examine(store: &SharedStore, config: &Config) -> Result<(u64, Vec<Finding>), CliError> {
    let nodes = store.nodes().await.map_err(BootError::from)?;
    let lease = nodes.iter().map(|node| node.lease).max().unwrap_or_default().max(config.node.lease);
    // a reaper's own start costs it one more lease of watching
    let context = Context { recovery: lease * 2 + config.node.reap_grace + config.node.reap };
    let finding = |invariant| Finding { invariant, count: 0, named: Vec::new() };
    let (mut tasks, mut after) = (0, None);
    let mut findings: Vec<Finding> = CATALOGUE.iter().map(finding).collect();
    loop {
        let page = store.facts(after, PAGE).await.map_err(BootError::from)?;
        let Some(last) = page.last() else { return Ok((tasks, findings)) };
        after = Some(last.id);
        tasks += page.len() as u64;
        for facts in &page {
            findings.iter_mut().for_each(|finding| finding.look(facts, &context));
        }
    }
}

impl Finding {
    fn look(&mut self, facts: &TaskFacts, context: &Context) {
        if let Some(found) = (self.invariant.violated)(facts, context) {
            self.count += 1;
            if self.named.len() < NAMED {
                self.named.push((facts.id, found));
            }
        }
    }
}

fn show(finding: &Finding, out: &mut Output) -> Result<(), CliError> {
    let id = finding.invariant.id;
    if finding.count == 0 {
        return out.line(&format!("{id} ok"));
    }
    out.line(&format!("{id} violated by {} tasks: {}", finding.count, finding.invariant.sentence))?;
    finding
        .named
        .iter()
        .try_for_each(|(task, found)| out.line(&format!("    {task} {found}; look at `windlass task show {task}`")))
}

fn as_json(finding: &Finding) -> Value {
    let named = finding.named.iter().map(|(task, found)| json!({ "task_id": task, "found": found }));
    json!({
        "id": finding.invariant.id,
        "sentence": finding.invariant.sentence,
        "ok": finding.count == 0,
        "count": finding.count,
        "violations": named.collect::<Vec<_>>(),
    })
}
