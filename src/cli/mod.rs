//! The command line: reads it, loads the configuration, runs the command, and turns its end into an exit code.

pub mod args;
mod audit;
mod client;
mod cluster;
mod config_show;
mod demo;
mod dlq;
mod doctor;
mod event;
pub mod exit;
mod follow;
mod json_input;
mod local;
mod migrate;
pub mod output;
mod plugins_check;
mod problem;
mod progress;
mod sse;
mod submit;
mod task;
pub mod task_args;
mod tree;
mod up;
mod view;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, ClientCommand, Command, ConfigCommand, DataArg, LocalCommand};
pub use client::Client;
pub use event::{Ending, Event};
use exit::{CliError, Exit};
pub use follow::{follow, wait};
use output::{Output, tell};
pub use progress::Bar;

use crate::config::{self, Config, Override};

/// Reads the command line and runs it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let result = match Cli::try_parse_from(arguments) {
        Ok(cli) => dispatch(cli),
        Err(error) => return said_by_clap(&error).into(),
    };
    result
        .unwrap_or_else(|error| {
            if let Some(message) = error.message() {
                tell(&format!("windlass: {message}"));
            }
            error.exit()
        })
        .into()
}

/// Help and version are answers; everything else that clap says is wrong usage.
fn said_by_clap(error: &clap::Error) -> Exit {
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    }
}

fn dispatch(cli: Cli) -> Result<Exit, CliError> {
    let config = config::load(cli.config.as_deref(), &overrides(&cli.command))?;
    let mut out = Output::standard();
    match cli.command {
        Command::Local(command) => local::run(command, config, &mut out),
        Command::Client(command) => run_client(&command, &config, &mut out),
        Command::Config(ConfigCommand::Show(args)) => config_show::run(&config, args.json.json, &mut out),
    }
}

/// The flags that override keys of the configuration.
fn overrides(command: &Command) -> Vec<Override> {
    let mut flags = Vec::new();
    match command {
        Command::Local(LocalCommand::Up(args)) => {
            flags.extend(data(&args.data));
            if !args.plugins.is_empty() {
                let folders = args.plugins.iter().map(|it| toml::Value::from(it.to_string_lossy().into_owned()));
                flags.push(Override {
                    key: "node.plugins",
                    flag: "--plugins",
                    value: folders.collect::<Vec<_>>().into(),
                });
            }
            flags.extend(args.listen.clone().map(|it| Override {
                key: "gateway.listen",
                flag: "--listen",
                value: it.into(),
            }));
        }
        Command::Local(LocalCommand::Migrate(args)) => flags.extend(data(&args.data)),
        Command::Local(LocalCommand::Audit(args) | LocalCommand::Doctor(args)) => flags.extend(data(&args.data)),
        Command::Config(ConfigCommand::Show(args)) => flags.extend(data(&args.data)),
        Command::Local(LocalCommand::Demo(_) | LocalCommand::Plugins(_)) | Command::Client(_) => {}
    }
    flags
}

fn data(arg: &DataArg) -> Option<Override> {
    let folder = arg.data.as_ref()?.to_string_lossy().into_owned();
    Some(Override { key: "node.data", flag: "--data", value: folder.into() })
}

/// Runs a command of the client on a runtime of its own.
fn run_client(command: &ClientCommand, config: &Config, out: &mut Output) -> Result<Exit, CliError> {
    let client = Client::new(&config.client)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            ClientCommand::Submit(args) => submit::run(args, &client, out).await,
            ClientCommand::Task(command) => task::run(command, &client, out).await,
            ClientCommand::Dlq(command) => dlq::run(command, &client, out).await,
            ClientCommand::Type(command) => cluster::type_command(command, &client, out).await,
            ClientCommand::Types(args) => cluster::types(*args, &client, out).await,
            ClientCommand::Nodes(args) => cluster::nodes(*args, &client, out).await,
            ClientCommand::Tree(args) => tree::run(*args, &client, out).await,
        }
    })
}
