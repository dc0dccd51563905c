//! `windlass plugins check`: loads each plugin as the node would.

use serde_json::{Value, json};
use windlass_actors::domain::TaskType;

use super::args::PluginsCheckArgs;
use super::exit::{CliError, Exit};
use super::output::{Output, table};
use crate::adapters::runner::{Discovery, PluginFault};
use crate::boot::Plugins;
use crate::config::Config;

pub async fn run(args: &PluginsCheckArgs, mut config: Config, out: &mut Output) -> Result<Exit, CliError> {
    if let Some(folder) = &args.dir {
        config.node.plugins = vec![folder.clone()];
        config.node.plugins_by_default = false;
        // what is configured for other folders' types is no fault of this one
        config.types.clear();
    }
    let scratch = tempfile::tempdir()?;
    let mark = uuid::Uuid::new_v4().to_string();
    let plugins = Plugins::find(&config, scratch.path(), mark).await?;
    if args.json.json {
        out.json(&as_json(&plugins.found))?;
    } else {
        show(&plugins.found, out)?;
    }
    Ok(if plugins.found.faults.is_empty() { Exit::Done } else { Exit::Failed })
}

fn show(found: &Discovery, out: &mut Output) -> Result<(), CliError> {
    if let Some((path, version)) = &found.python {
        out.line(&format!("python {version} ({path})"))?;
    }
    if !found.types.is_empty() {
        let rows: Vec<Vec<String>> = found.types.iter().map(row).collect();
        out.text(&table(&["type", "slots", "timeout", "attempts", "group", "plugin", "description"], &rows))?;
    }
    for fault in &found.faults {
        out.line(&format!("broken: {fault}"))?;
        for line in fault.traceback.iter().flat_map(|text| text.lines()) {
            out.line(&format!("    {line}"))?;
        }
    }
    if found.types.is_empty() && found.faults.is_empty() {
        out.line("no plugins found")?;
    }
    Ok(())
}

fn row(t: &TaskType) -> Vec<String> {
    let timeout = t.timeout.map_or_else(|| "none".to_owned(), |limit| humantime::format_duration(limit).to_string());
    vec![
        t.name.to_string(),
        format!("{}x{}", t.processes, t.worker_threads),
        timeout,
        t.max_attempts.to_string(),
        t.host_group.clone(),
        t.plugin.clone().unwrap_or_default(),
        t.description.clone().unwrap_or_default(),
    ]
}

fn as_json(found: &Discovery) -> Value {
    let fault = |fault: &PluginFault| {
        json!({
            "file": fault.file,
            "message": fault.message,
            "traceback": fault.traceback,
        })
    };
    json!({
        "python": found.python.as_ref().map(|(path, version)| json!({ "executable": path, "version": version })),
        "types": found.types,
        "faults": found.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}
