//! Every metric that this build records: its name and what it says. Task and node ids are never labels.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

macro_rules! metrics {
    ($($kind:ident $constant:ident $name:literal $unit:ident $says:literal)*) => {
        $(#[doc = $says] pub const $constant: &str = $name;)*

        /// All names, for the test that holds them against `/metrics` and for the documentation.
        pub const ALL: &[&str] = &[$($name),*];

        /// Tells the recorder what each metric says.
        pub(super) fn describe() {
            $(metrics!(@$kind $name, $unit, $says);)*
        }
    };
    (@counter $name:literal, $unit:ident, $says:literal) => { describe_counter!($name, Unit::$unit, $says) };
    (@gauge $name:literal, $unit:ident, $says:literal) => { describe_gauge!($name, Unit::$unit, $says) };
    (@histogram $name:literal, $unit:ident, $says:literal) => { describe_histogram!($name, Unit::$unit, $says) };
}

metrics! {
    counter TASKS_CREATED "windlass_tasks_created_total" Count "Tasks accepted, by task_type."
    counter ATTEMPTS "windlass_attempts_total" Count "Attempts ended, by task_type and outcome."
    counter TASKS_FINISHED "windlass_tasks_finished_total" Count "Tasks that reached a terminal status, by task_type and status."
    gauge DEAD_LETTERS "windlass_dead_letters" Count "Tasks in the waiting room, by task_type."
    histogram TASK_DURATION "windlass_task_duration_seconds" Seconds "From the first start of a task to its end, by task_type and status."
    histogram TASK_WAIT "windlass_task_wait_seconds" Seconds "From when a task was due to its start, by task_type."
    histogram STAGE_DURATION "windlass_stage_duration_seconds" Seconds "Time in a stage, by task_type and stage."
    gauge TASKS "windlass_tasks" Count "Tasks that are not finished, by task_type and status (queued, running)."
    gauge OLDEST_TASK_AGE "windlass_oldest_task_age_seconds" Seconds "Age of the oldest unfinished task, by task_type and status."
    gauge QUEUE_DEPTH "windlass_queue_depth" Count "Waiting in a queue, by task_type and queue."
    gauge LEASES "windlass_leases" Count "Leases that this node holds."
    counter LEASES_EXPIRED "windlass_leases_expired_total" Count "Leases that ran out and were taken by the reaper."
    counter TASKS_TAKEN_BACK "windlass_tasks_taken_back_total" Count "Tasks taken from an owner that is gone, by reason (lease, pulse, predecessor)."
    counter LEASE_RENEW_FAILURES "windlass_lease_renew_failures_total" Count "Renewals that failed or were refused."
    counter FENCE_REJECTED "windlass_fence_rejected_total" Count "Writes refused because the lease was another's, by write."
    counter TERMINAL_WRITE_FAILURES "windlass_terminal_write_failures_total" Count "Ends of attempts that could not be committed at once."
    gauge OUTBOX_LAG "windlass_outbox_lag_seconds" Seconds "Age of the oldest notification that was not sent."
    gauge OUTBOX_PENDING "windlass_outbox_pending" Count "Notifications that were not sent."
    gauge POOL_SLOTS "windlass_pool_slots" Count "Slots of a type on this node, by task_type and state (free, busy)."
    counter ACTOR_RESTARTS "windlass_actor_restarts_total" Count "Restarts by a supervisor, by actor (its path without ids)."
    gauge WORKER_PROCESSES "windlass_worker_processes" Count "Living worker processes, by task_type."
    gauge WORKER_RSS "windlass_worker_rss_bytes" Bytes "Resident memory of the worker processes, by task_type."
    counter WORKER_EXITS "windlass_worker_exits_total" Count "Worker processes that ended, by task_type and reason."
    gauge SSE_CLIENTS "windlass_sse_clients" Count "Event streams that are open."
    gauge BUILD_INFO "windlass_build_info" Count "Always 1; the version is a label."
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn names_are_unique_and_follow_the_conventions() {
        let mut sorted = ALL.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), ALL.len());
        assert!(ALL.iter().all(|name| name.starts_with("windlass_") && !name.contains("__")));
    }
}
