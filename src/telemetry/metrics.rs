//! The recorder of metrics, and the handle that renders them as Prometheus text.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::{buckets, names};

static INSTALLED: OnceLock<Metrics> = OnceLock::new();

/// The metrics of this process.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
}

impl Metrics {
    /// Prometheus text, version 0.0.4.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Folds what was observed into the histograms. Call it every few seconds: else their memory grows until somebody
    /// reads `/metrics`.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

/// Starts recording, once a process; a second call answers the same handle.
///
/// # Errors
/// Another recorder was installed in this process.
pub fn install() -> Result<Metrics, BuildError> {
    if let Some(metrics) = INSTALLED.get() {
        return Ok(metrics.clone());
    }
    let handle = builder()?.install_recorder()?;
    describe();
    Ok(INSTALLED.get_or_init(|| Metrics { handle }).clone())
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(names::TASK_DURATION.into()), buckets::TASK)?
        .set_buckets_for_metric(Matcher::Full(names::STAGE_DURATION.into()), buckets::TASK)?
        .set_buckets_for_metric(Matcher::Full(names::TASK_WAIT.into()), buckets::WAIT)
}

/// Gauges and counters without labels are there from the start: a missing series and a zero are different things.
fn describe() {
    names::describe();
    metrics::gauge!(names::BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    for name in [names::LEASES, names::OUTBOX_LAG, names::OUTBOX_PENDING, names::SSE_CLIENTS] {
        metrics::gauge!(name).set(0.0);
    }
    for name in [names::LEASES_EXPIRED, names::LEASE_RENEW_FAILURES, names::TERMINAL_WRITE_FAILURES] {
        metrics::counter!(name).absolute(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::telemetry::record;

    /// A recorder of its own for the closure, so tests do not see each other's numbers.
    fn rendered(record: impl FnOnce()) -> String {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            describe();
            record();
        });
        recorder.handle().render()
    }

    #[test]
    fn the_build_and_the_zeroes_are_there_before_anything_happens() {
        let text = rendered(|| {});
        assert!(text.contains("windlass_build_info{version="), "{text}");
        assert!(text.contains("windlass_leases_expired_total 0"), "{text}");
        assert!(text.contains("# HELP windlass_sse_clients"), "{text}");
    }

    #[test]
    fn what_is_recorded_is_rendered_with_its_labels() {
        let text = rendered(|| {
            record::task_created("hello");
            record::attempt_ended("hello", "crashed");
            record::task_finished("hello", "failed", Some(Duration::from_secs(2)));
            record::pool_slots("hello", 3, 1);
        });
        assert!(text.contains(r#"windlass_tasks_created_total{task_type="hello"} 1"#), "{text}");
        assert!(text.contains(r#"windlass_attempts_total{task_type="hello",outcome="crashed"} 1"#), "{text}");
        assert!(
            text.contains(r#"windlass_task_duration_seconds_bucket{task_type="hello",status="failed",le="2.5"} 1"#),
            "{text}"
        );
        assert!(text.contains(r#"windlass_pool_slots{task_type="hello",state="busy"} 1"#), "{text}");
    }

    #[test]
    fn a_plugin_that_invents_stages_cannot_fill_the_memory() {
        let text = rendered(|| {
            for n in 0..1000 {
                record::stage_ended("inventive", &format!("stage-{n}"), Duration::from_millis(1));
            }
        });
        let series = text.lines().filter(|line| line.starts_with("windlass_stage_duration_seconds_count")).count();
        assert_eq!(series, record::MAX_STAGES + 1);
        assert!(text.contains(r#"stage="other""#), "{text}");
    }
}
