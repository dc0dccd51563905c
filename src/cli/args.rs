//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::task_args::{DlqCommand, SubmitArgs, TaskCommand};

/// An executor node for long tasks of AI products.
///
/// Data goes to standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// Configuration file [default: windlass.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Start here:
  windlass demo                           the whole path of a task, in one command
  windlass up --plugins ./plugins         gateway and node on http://127.0.0.1:7420
  windlass submit hello --payload '{\"name\":\"Ann\"}' --follow

Exit codes: 0 done, 1 the thing asked failed, 2 the task was cancelled, 64 wrong usage,
69 a service is unreachable, 78 bad configuration.

Client commands talk to WINDLASS_URL (http://127.0.0.1:7420) with WINDLASS_API_KEY.";

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Local(LocalCommand),
    #[command(flatten)]
    Client(ClientCommand),
    /// Show the effective configuration
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// Commands that work on this machine, without a gateway to ask.
#[derive(Debug, Subcommand)]
pub enum LocalCommand {
    /// Run the `ingest` example on documents and show each step
    #[command(after_help = "Examples:\n  windlass demo\n  windlass demo paper.md notes.txt\n  windlass demo --keep")]
    Demo(DemoArgs),
    /// Run gateway and node in one process, with SQLite
    #[command(after_help = "Examples:\n  windlass up\n  windlass up --plugins ./plugins --data /var/lib/windlass\n  \
                            windlass up --listen 127.0.0.1:8080")]
    Up(UpArgs),
    /// Try plugins as the node would load them
    #[command(subcommand)]
    Plugins(PluginsCommand),
    /// Apply the database's schema, or verify it
    #[command(after_help = "Examples:\n  windlass migrate\n  windlass migrate --check")]
    Migrate(MigrateArgs),
    /// Check on the database that what must always hold does hold
    #[command(after_help = "Examples:\n  windlass audit\n  windlass audit --json | jq '.[] | select(.ok == false)'")]
    Audit(InspectArgs),
    /// Check the deployment and say what to mend
    #[command(after_help = "Examples:\n  windlass doctor\n  windlass doctor --json")]
    Doctor(InspectArgs),
}

/// Commands that ask the gateway.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Hand in a task
    Submit(SubmitArgs),
    /// Look at tasks and act on them
    #[command(subcommand)]
    Task(TaskCommand),
    /// The waiting room of tasks that ran out of attempts
    #[command(subcommand)]
    Dlq(DlqCommand),
    /// Pause and resume a type in the whole cluster
    #[command(subcommand)]
    Type(TypeCommand),
    /// List the types that are served now
    #[command(
        after_help = "Examples:\n  windlass types\n  windlass types --json | jq '.task_types[] | select(.available)'"
    )]
    Types(Json),
    /// List the nodes that are alive
    #[command(after_help = "Examples:\n  windlass nodes\n  windlass nodes --json")]
    Nodes(Json),
    /// Draw the live supervision tree
    #[command(after_help = "Examples:\n  windlass tree\n  watch -n1 windlass tree\n  \
                            windlass tree --json | jq '.actors[] | select(.restarts > 0)'")]
    Tree(Json),
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Documents [default: the project's README]
    pub files: Vec<PathBuf>,
    /// Keep running afterwards, and tell the address
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub data: DataArg,
    /// Folder of plugins; may be given again and again
    #[arg(long, value_name = "DIR")]
    pub plugins: Vec<PathBuf>,
    /// Address of the API
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Let actors be killed over the API, for tests of your deployment
    #[arg(long)]
    pub chaos: bool,
}

#[derive(Debug, Args)]
pub struct DataArg {
    /// Folder of the database, the lock and scratch files [default: ./.windlass]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// Load each plugin, print its types, metadata and errors; exit 1 if one is broken
    #[command(after_help = "Examples:\n  windlass plugins check\n  windlass plugins check ./plugins --json")]
    Check(PluginsCheckArgs),
}

#[derive(Debug, Args)]
pub struct PluginsCheckArgs {
    /// Folder of plugins [default: the configured ones]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Change nothing; exit 1 if the schema is not the one of this build
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub data: DataArg,
}

#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub data: DataArg,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum TypeCommand {
    /// Claim no more tasks of the type; what runs goes on
    #[command(after_help = "Example:\n  windlass type pause thumbnail")]
    Pause(TypeArg),
    /// Claim tasks of the type again
    #[command(after_help = "Example:\n  windlass type resume thumbnail")]
    Resume(TypeArg),
}

#[derive(Debug, Args)]
pub struct TypeArg {
    #[arg(value_name = "TYPE")]
    pub task_type: String,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print each key with its value and where it came from; secrets masked
    #[command(after_help = "Examples:\n  windlass config show\n  windlass config show --json --config prod.toml")]
    Show(InspectArgs),
}
