//! Our small OTP on ractor, and the only room that knows ractor's quirks: everybody else imports from here.
//!
//! ```text
//! Root ── guardian (not in the roster: hears how the tree ended)
//!          └─ Supervisor        SupervisorSpec: strategy, budget, backoff, children in order
//!              ├─ Child::actor       ─ Supervised<A>, reached by an Address<A::Msg>
//!              ├─ Child::supervisor  ─ a Supervisor again
//!              └─ Child::actor       ─ a parent of its own kind, with a Nursery of temporary children
//! ```
//!
//! What it promises:
//! - children start in order, a nested supervisor's before what comes after it, and stop in reverse, each in its time
//!   or killed and named;
//! - what crashes is restarted by strategy, within a budget, after growing pauses, and only when nothing is left of the
//!   predecessor and what was below it; a spent budget goes up, or parks the child alone;
//! - an [`Address`] survives restarts, and gives a message back while nobody is there; what was queued when an actor
//!   crashed is lost, so who owes an answer asks again;
//! - the [`Roster`] knows each actor by its path as long as its task lives, and no longer.
//!
//! ractor 0.16's quirks, and the test (in `tests/`) that shows each not to come through:
//!
//! | ractor | shown by |
//! |---|---|
//! | any child's end stops its parent by default | `restarts::a_childs_clean_exit_takes_nobody_along`, `nursery::a_childs_end_ends_neither_its_parent_nor_its_siblings` |
//! | there is no restart | `restarts::*`, `strategies::*` |
//! | a restart makes a new ref, old ones are dead | `restarts::an_address_reaches_the_successor_and_gives_back_what_comes_in_between` |
//! | a parent that ends kills its children, in any order, without `post_stop` | `stops::children_stop_in_reverse_order_each_after_the_one_before_has_ended` |
//! | a stop waits for ever, a second one not at all | `stops::a_child_that_does_not_stop_in_time_is_killed_and_named_and_the_others_still_stop`, `stops::a_second_stop_does_not_hang` |
//! | killed descendants are neither waited for nor reported | `restarts::a_restart_waits_until_nothing_is_left_of_the_subtree_before_it` |
//! | a start that fails or hangs gives no event and blocks the parent | `starts::a_start_that_fails_is_tried_again_and_told`, `starts::a_start_that_hangs_is_cut_off_and_holds_up_no_siblings_restart` |
//! | exit reasons are strings; a panic and an `Err` look alike | `exits::*` |
//! | a stop drops the queue | `stops::a_child_that_drains_handles_what_is_queued_before_it_ends` |
//! | the state of an actor that has stopped lives on in its parent's mailbox | `lives::what_a_stopped_child_holds_is_dropped_before_the_next_is_stopped` |
//! | names are global | `stops::two_trees_in_one_process_do_not_collide` |
//! | nobody hears how the top ended | `restarts::a_spent_budget_stops_the_children_in_order_and_fails_upward` |
//! | `send_interval` bursts after a stall, timers outlive their owner | `places::a_tick_does_not_burst_after_a_stall_and_ends_with_its_owner` |
//! | spawned tasks are outside supervision | `places::the_end_of_an_owned_task_is_a_message_and_its_panic_too`, `places::an_owned_task_ends_with_its_owner` |
//!
//! Not to be hidden: code that does not yield cannot be ended; mailboxes have no bound.

mod address;
mod child;
mod exit;
mod life;
pub(crate) mod lock;
mod nursery;
mod owned;
mod place;
mod root;
mod roster;
mod row;
mod run;
mod siblings;
mod slot;
mod strategy;
mod supervised;
mod supervisor;
mod timer;

pub use address::{Address, Unreachable};
pub use child::Child;
pub use exit::Exit;
pub use nursery::{Ended, NotSpawned, Nursery};
pub use owned::{OwnedTask, TaskPanicked};
pub use place::Place;
pub use root::{Root, RootFailed, start_root};
pub use roster::{KillMode, NoSuchActor, Roster};
pub use row::ActorRow;
pub use strategy::{Backoff, Budget, Exhausted, Intensity, Restart, Strategy, Verdict};
pub use supervisor::{SupervisorMsg, SupervisorSpec};
pub use timer::Tick;

pub use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, Message, SupervisionEvent};

#[cfg(test)]
mod tests;
