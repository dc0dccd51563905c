//! What may be asked of a store. Numbers are picks: of a task, or of an attempt, among those there are.

use std::time::Duration;

use proptest::prelude::*;

use crate::domain::{Outcome, ReleaseReason, Suspicion, Verdict};
use crate::ports::ledger::{Limits, TakeCause};
use crate::testkit::tasks;

#[derive(Clone, Debug)]
pub(super) enum Command {
    Create {
        task_type: u8,
        priority: u8,
        max_attempts: u32,
        deadline: bool,
        later: bool,
        key: Option<u8>,
        fingerprint: u8,
    },
    Claim {
        owner: u32,
        task: usize,
        suspects: Suspicion,
        limits: Limits,
    },
    ClaimNext {
        owner: u32,
        task_type: u8,
        most: u32,
        suspects: Suspicion,
        limits: Limits,
    },
    RepeatClaim {
        pick: usize,
    },
    Renew {
        lease: usize,
        stranger: bool,
    },
    Record {
        lease: usize,
        stranger: bool,
        from: u64,
        events: usize,
        checkpoint: bool,
    },
    Finish {
        lease: usize,
        stranger: bool,
        from: u64,
        events: usize,
        verdict: Verdict,
    },
    RepeatFinish {
        pick: usize,
    },
    Cancel {
        task: usize,
    },
    Replay {
        task: usize,
        fresh: bool,
    },
    Discard {
        task: usize,
    },
    Reap,
    Expire,
    TakeBack {
        owner: u32,
        except: usize,
        cause: TakeCause,
    },
    Prune,
    Pause {
        task_type: u8,
        paused: bool,
    },
    /// Spans whose sums never meet a lease, a delay or a deadline exactly.
    Advance {
        seconds: u64,
    },
}

fn suspects() -> impl Strategy<Value = Suspicion> {
    prop_oneof![Just(Suspicion::None), Just(Suspicion::Host), Just(Suspicion::Node)]
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        4 => Just(Limits::default()),
        1 => (1_u32..3).prop_map(|n| Limits { max_running: Some(n), starts_per_minute: None }),
        1 => (1_u32..3).prop_map(|n| Limits { max_running: None, starts_per_minute: Some(n) }),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let later = Duration::from_secs(100);
    let releases = [ReleaseReason::HostDied, ReleaseReason::ActorDied, ReleaseReason::Drain, ReleaseReason::NoHost];
    prop_oneof![
        4 => Just(tasks::complete()),
        1 => Just(tasks::fail()),
        1 => Just(Verdict::Cancel),
        1 => Just(tasks::dead_letter()),
        3 => prop::sample::select(vec![Outcome::Failed, Outcome::TimedOut, Outcome::Crashed])
            .prop_flat_map(move |o| prop_oneof![Just(tasks::retry(o, Duration::ZERO)), Just(tasks::retry(o, later))]),
        4 => prop::sample::select(releases.to_vec()).prop_map(|r| tasks::release(r, Duration::ZERO)),
    ]
}

fn cause() -> impl Strategy<Value = TakeCause> {
    prop_oneof![Just(TakeCause::Predecessor), Just(TakeCause::NoActor)]
}

fn create() -> impl Strategy<Value = Command> {
    let key = prop::option::weighted(0.3, 0_u8..2);
    (0_u8..2, 4_u8..7, 1_u32..4, prop::bool::weighted(0.2), prop::bool::weighted(0.2), key, 0_u8..2).prop_map(
        |(task_type, priority, max_attempts, deadline, later, key, fingerprint)| Command::Create {
            task_type,
            priority,
            max_attempts,
            deadline,
            later,
            key,
            fingerprint,
        },
    )
}

fn of_owners() -> impl Strategy<Value = Command> {
    let stranger = || prop::bool::weighted(0.1);
    prop_oneof![
        2 => (1_u32..3, any::<usize>(), suspects(), limits())
            .prop_map(|(owner, task, suspects, limits)| Command::Claim { owner, task, suspects, limits }),
        5 => (1_u32..3, 0_u8..2, 1_u32..4, suspects(), limits())
            .prop_map(|(owner, task_type, most, suspects, limits)| Command::ClaimNext { owner, task_type, most, suspects, limits }),
        1 => any::<usize>().prop_map(|pick| Command::RepeatClaim { pick }),
        2 => (any::<usize>(), stranger()).prop_map(|(lease, stranger)| Command::Renew { lease, stranger }),
        3 => (any::<usize>(), stranger(), 0_u64..3, 0_usize..3, any::<bool>())
            .prop_map(|(lease, stranger, from, events, checkpoint)| Command::Record { lease, stranger, from, events, checkpoint }),
        5 => (any::<usize>(), stranger(), 0_u64..2, 0_usize..2, verdict())
            .prop_map(|(lease, stranger, from, events, verdict)| Command::Finish { lease, stranger, from, events, verdict }),
        1 => any::<usize>().prop_map(|pick| Command::RepeatFinish { pick }),
    ]
}

fn of_others() -> impl Strategy<Value = Command> {
    prop_oneof![
        2 => any::<usize>().prop_map(|task| Command::Cancel { task }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(task, fresh)| Command::Replay { task, fresh }),
        1 => any::<usize>().prop_map(|task| Command::Discard { task }),
        2 => Just(Command::Reap),
        1 => Just(Command::Expire),
        1 => (1_u32..3, any::<usize>(), cause()).prop_map(|(owner, except, cause)| Command::TakeBack { owner, except, cause }),
        1 => Just(Command::Prune),
        1 => (0_u8..2, prop::bool::weighted(0.3)).prop_map(|(task_type, paused)| Command::Pause { task_type, paused }),
        4 => prop_oneof![Just(11_u64), Just(47)].prop_map(|seconds| Command::Advance { seconds }),
    ]
}

pub(super) fn command() -> impl Strategy<Value = Command> {
    prop_oneof![3 => create(), 6 => of_owners(), 3 => of_others()]
}
