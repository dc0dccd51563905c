//! Figures of the whole cluster as metrics: gateways alone have them.

use std::collections::HashSet;
use std::time::Duration;

use metrics::gauge;
use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::ledger::LedgerError;

/// How old the figures of a scrape may be.
const FRESH: Duration = Duration::from_secs(1);

/// Sets the gauges, and back to 0 those whose tasks are gone.
#[derive(Debug, Default)]
pub struct Gauges(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    taken: Option<Instant>,
    depths: HashSet<(String, &'static str)>,
    dead_letters: HashSet<String>,
}

impl Gauges {
    /// Sets `windlass_tasks`, `windlass_oldest_task_age_seconds` and `windlass_dead_letters` from the store, unless
    /// that was done within the last second.
    pub async fn refresh(&self, store: &SharedStore) -> Result<(), LedgerError> {
        let mut shown = self.0.lock().await;
        if shown.taken.is_some_and(|taken| taken.elapsed() < FRESH) {
            return Ok(());
        }
        let stats = store.stats().await?;
        let mut vanished = std::mem::take(&mut shown.depths);
        for depth in &stats.depths {
            let series = (depth.task_type.to_string(), depth.status.as_str());
            set_depth(&series, depth.count as f64, depth.oldest_age.as_secs_f64());
            vanished.remove(&series);
            shown.depths.insert(series);
        }
        vanished.iter().for_each(|series| set_depth(series, 0.0, 0.0));
        let mut vanished = std::mem::take(&mut shown.dead_letters);
        for (task_type, count) in &stats.dead_letters {
            set_dead_letters(task_type.as_str(), *count as f64);
            vanished.remove(task_type.as_str());
            shown.dead_letters.insert(task_type.to_string());
        }
        vanished.iter().for_each(|task_type| set_dead_letters(task_type, 0.0));
        shown.taken = Some(Instant::now());
        Ok(())
    }
}

fn set_depth((task_type, status): &(String, &'static str), count: f64, age: f64) {
    gauge!("windlass_tasks", "task_type" => task_type.clone(), "status" => *status).set(count);
    gauge!("windlass_oldest_task_age_seconds", "task_type" => task_type.clone(), "status" => *status).set(age);
}

fn set_dead_letters(task_type: &str, count: f64) {
    gauge!("windlass_dead_letters", "task_type" => task_type.to_owned()).set(count);
}
