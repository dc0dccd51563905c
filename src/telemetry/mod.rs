//! Telemetry: logs to standard error, metrics rendered on request.

pub mod buckets;
mod logs;
mod metrics;
pub mod names;
pub mod record;

pub use logs::{BadFilter, init as init_logs};
pub use metrics::{Metrics, install as install_metrics};
