//! Arguments of the commands that hand in tasks and act on them.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::args::Json;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints the task's id at once, on a line of its own. With --json, standard output is JSON only and the id stands in it.

Examples:
  windlass submit hello --payload '{\"name\":\"Ann\"}'
  windlass submit ingest --payload @document.json --follow
  jq -n '{n:1}' | windlass submit hello --payload - --wait --json | jq .result

Exit with --wait or --follow: 0 succeeded, 1 failed, 2 cancelled.")]
pub struct SubmitArgs {
    #[arg(value_name = "TYPE")]
    pub task_type: String,
    /// JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// JSON object or @FILE
    #[arg(long, value_name = "JSON")]
    pub model_spec: Option<String>,
    /// Inference parameters: JSON object or @FILE
    #[arg(long, value_name = "JSON")]
    pub params: Option<String>,
    /// The same key with the same body gives the same task
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// 0 to 9; the higher goes first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub priority: Option<u8>,
    /// Wait for the end and print the task as JSON
    #[arg(long)]
    pub wait: bool,
    /// Print events as they come
    #[arg(long)]
    pub follow: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Print a task
    #[command(after_help = "Examples:\n  windlass task show 0197…\n  windlass task show 0197… --json | jq .result")]
    Show(TaskId),
    /// List tasks, the newest first
    #[command(
        after_help = "Examples:\n  windlass task list --status running\n  windlass task list --type ingest --limit 10 --json"
    )]
    List(ListArgs),
    /// Print a task's events
    #[command(after_help = "Examples:\n  windlass task events 0197…\n  windlass task events 0197… --follow --after 12")]
    Events(EventsArgs),
    /// Cancel tasks, by id or by filter
    #[command(
        after_help = "Examples:\n  windlass task cancel 0197… --reason 'wrong input'\n  windlass task cancel --type ingest --status queued --dry-run"
    )]
    Cancel(CancelArgs),
    /// Queue a failed task again, its attempts counted from zero
    #[command(
        after_help = "Examples:\n  windlass task replay 0197…\n  windlass task replay 0197… --payload @fixed.json --fresh"
    )]
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
pub struct TaskId {
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Status {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// Which tasks are meant.
#[derive(Debug, Default, Args)]
pub struct Filter {
    #[arg(long, value_enum)]
    pub status: Option<Status>,
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<String>,
    #[arg(long)]
    pub owner: Option<String>,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub filter: Filter,
    /// How many at most; all pages are read until then
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct EventsArgs {
    #[arg(value_name = "ID")]
    pub id: String,
    /// Only events after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
    /// Go on until the task ends
    #[arg(long)]
    pub follow: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["ids", "status", "task_type", "owner"]).required(true).multiple(true))]
pub struct CancelArgs {
    #[arg(value_name = "ID", conflicts_with_all = ["status", "task_type", "owner", "dry_run"])]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub filter: Filter,
    /// Say which tasks are meant, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Kept with each task that is named by its id
    #[arg(long, requires = "ids")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[arg(value_name = "ID")]
    pub id: String,
    /// A new payload: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// Drop the checkpoint and the recorded effects
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum DlqCommand {
    /// List the waiting room
    #[command(after_help = "Examples:\n  windlass dlq list\n  windlass dlq list --type ingest --json")]
    List(DlqListArgs),
    /// Print one of its tasks
    #[command(after_help = "Example:\n  windlass dlq show 0197…")]
    Show(TaskId),
    /// Queue tasks again
    #[command(
        after_help = "Examples:\n  windlass dlq replay 0197…\n  windlass dlq replay --type ingest --dry-run\n  windlass dlq replay --all"
    )]
    Replay(DlqActArgs),
    /// Leave tasks failed, and take them out of the waiting room
    #[command(after_help = "Examples:\n  windlass dlq discard 0197…\n  windlass dlq discard --type ingest --dry-run")]
    Discard(DlqActArgs),
}

#[derive(Debug, Args)]
pub struct DlqListArgs {
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<String>,
    #[arg(long)]
    pub owner: Option<String>,
    /// How many at most; all pages are read until then
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["ids", "task_type", "owner", "all"]).required(true).multiple(true))]
pub struct DlqActArgs {
    #[arg(value_name = "ID", conflicts_with_all = ["task_type", "owner", "all"])]
    pub ids: Vec<String>,
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<String>,
    #[arg(long)]
    pub owner: Option<String>,
    /// Everything in the waiting room
    #[arg(long, conflicts_with_all = ["task_type", "owner"])]
    pub all: bool,
    /// Say which tasks are meant, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub json: Json,
}
