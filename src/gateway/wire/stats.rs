//! The cluster's figures on the wire.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_actors::ports::records::Stats;

/// Tasks of a type in a state.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct DepthItem {
    task_type: String,
    /// `queued` or `running`.
    status: &'static str,
    count: u64,
    /// Since the oldest one was due (queued) or started (running).
    oldest_age_seconds: f64,
}

/// Dead letters of a type that wait for somebody to decide.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct DeadLetterCount {
    task_type: String,
    count: u64,
}

/// Figures of the whole cluster.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct StatsBody {
    tasks: Vec<DepthItem>,
    dead_letters: Vec<DeadLetterCount>,
    /// How long the oldest unpublished message waits; null where the task table itself is the queue.
    outbox_lag_seconds: Option<f64>,
}

impl From<Stats> for StatsBody {
    fn from(stats: Stats) -> Self {
        let tasks = stats.depths.into_iter().map(|d| DepthItem {
            task_type: d.task_type.to_string(),
            status: d.status.as_str(),
            count: d.count,
            oldest_age_seconds: d.oldest_age.as_secs_f64(),
        });
        let letters = stats.dead_letters.into_iter();
        let dead_letters = letters.map(|(of, count)| DeadLetterCount { task_type: of.to_string(), count });
        StatsBody { tasks: tasks.collect(), dead_letters: dead_letters.collect(), outbox_lag_seconds: None }
    }
}
