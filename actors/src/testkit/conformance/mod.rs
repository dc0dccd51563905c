//! What every store must do, as named tests over a [`Harness`]. An adapter runs all of them by
//! `store_conformance!(harness)`, where `harness` is an async function that makes a fresh one. After each test the
//! invariants must hold for all that is stored.

mod asks;
mod bounds;
mod claims;
mod ends;
mod events;
mod fences;
mod limits;
mod scene;
mod takes;
mod upkeep;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use asks::*;
pub use bounds::*;
pub use claims::*;
pub use ends::*;
pub use events::*;
pub use fences::*;
pub use limits::*;
pub use scene::Scene;
pub use takes::*;
pub use upkeep::*;

use crate::domain::Owner;
use crate::invariants::{CATALOGUE, Context};
use crate::ports::SharedStore;

/// A store under test.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    fn store(&self) -> SharedStore;

    fn owner(&self, n: u32) -> Owner {
        super::tasks::owner(n)
    }

    /// Lets time pass by the store's clock.
    async fn advance(&self, by: Duration);
}

/// Runs one test, then checks the invariants.
pub async fn run<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F, harness: Arc<dyn Harness>) {
    let scene = Scene::new(harness);
    test(scene.clone()).await;
    assert_invariants(&scene.store).await;
}

/// Panics with every violation of the catalogue. A test advances time at will, so leases may be over for long.
pub async fn assert_invariants(store: &SharedStore) {
    let context = Context { recovery: Duration::MAX };
    let (mut after, mut violations) = (None, Vec::new());
    loop {
        let page = store.facts(after, 100).await.expect("facts");
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for (facts, invariant) in page.iter().flat_map(|f| CATALOGUE.iter().map(move |i| (f, i))) {
            violations
                .extend((invariant.violated)(facts, &context).map(|v| format!("{} {}: {v}", invariant.id, facts.id)));
        }
    }
    assert!(violations.is_empty(), "invariants broken: {violations:#?}");
}

/// One `#[tokio::test]` for each test of the suite.
#[macro_export]
macro_rules! store_conformance {
    ($harness:path) => {
        $crate::store_conformance!(@each $harness:
            claims_go_by_priority_then_age
            no_task_is_claimed_twice_by_many_claimers
            a_repeated_claim_answers_the_same
            a_claim_of_a_known_task_says_why_not
            a_claim_is_refused_before_it_is_due
            overdue_tasks_fail_on_the_way
            a_claim_leaves_what_is_overdue_beyond_a_bound_to_the_next_look
            a_claim_brings_all_that_a_run_needs
            suspects_are_claimed_only_if_asked_for
            claims_of_other_types_are_not_in_the_way
            max_running_holds_over_owners
            starts_a_minute_are_limited
            a_paused_type_is_not_claimed
            old_epochs_write_nothing
            a_taken_lease_writes_nothing
            a_finished_task_takes_no_writes
            other_owners_write_nothing
            a_lease_that_ran_out_can_be_revived
            a_release_needs_no_live_lease
            records_are_not_stored_twice
            events_are_gapless_under_many_recorders
            a_record_beyond_what_is_stored_is_refused
            checkpoints_reach_the_next_attempt
            partial_output_is_that_of_the_latest_epoch
            events_are_read_in_pages
            listeners_hear_what_is_committed
            every_verdict_leads_where_the_table_says
            a_finish_is_done_once
            a_retry_waits_until_it_is_due
            spent_attempts_end_in_the_dead_letters
            a_deadline_ends_the_retries
            the_tenth_uncharged_end_is_charged
            a_cancel_asked_for_wins
            success_before_the_stop_stays
            a_queued_task_is_cancelled_at_once
            a_cancel_of_what_ended_is_told
            replay_starts_a_new_life
            only_failed_tasks_are_replayed
            discarded_dead_letters_stay_failed
            many_parallel_creates_with_one_key_are_one_task
            keys_belong_to_their_owner
            large_and_broken_data_is_kept_in_a_form_that_says_so
            a_result_that_is_too_large_fails_for_good
            a_large_checkpoint_is_not_kept
            owners_are_lost_only_after_the_grace
            reap_meets_renew
            losses_lead_to_suspicion_then_poison
            a_cancel_asked_for_is_written_by_who_takes_the_task
            take_back_takes_what_no_actor_owns
            overdue_tasks_expire
            ended_tasks_are_pruned_but_dead_letters_stay
            stats_count_what_waits_and_runs
            lists_are_filtered_and_paged
            nodes_and_capabilities_are_known
            the_first_setting_stays
        );
    };
    (@each $harness:path: $($test:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            $crate::testkit::conformance::run($crate::testkit::conformance::$test, $harness().await).await;
        })*
    };
}

#[cfg(test)]
mod memory {
    use super::*;
    use crate::ports::rules::Sizes;
    use crate::testkit::{ManualClock, MemoryStore};

    struct InMemory(Arc<MemoryStore>);

    #[async_trait]
    impl Harness for InMemory {
        fn store(&self) -> SharedStore {
            self.0.clone()
        }

        async fn advance(&self, by: Duration) {
            self.0.clock().advance(by);
        }
    }

    async fn harness() -> Arc<dyn Harness> {
        Arc::new(InMemory(Arc::new(MemoryStore::with(ManualClock::still(), Sizes::default()))))
    }

    store_conformance!(harness);
}
