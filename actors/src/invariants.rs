//! What must always hold, as code: id, sentence, predicate. The model tests, the simulation, chaos and `audit` call it.

use std::time::Duration;

use crate::domain::Status;
use crate::ports::records::TaskFacts;

/// How an invariant looks at a task's facts.
pub struct Invariant {
    pub id: &'static str,
    pub sentence: &'static str,
    /// None if it holds; else what was found.
    pub violated: fn(&TaskFacts, &Context) -> Option<String>,
}

/// What the predicates need besides the facts.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Lease + grace + one reaper period: how long a lease may be over before somebody must have taken it.
    pub recovery: Duration,
}

/// Those that a task's record can show. The others (I05, I09, I10, I12, I13, I14, I15) are shown by tests.
pub const CATALOGUE: &[Invariant] = &[
    Invariant {
        id: "I01",
        sentence: "a task moves only along the table of states, and its record agrees with its last state event",
        violated: states_agree,
    },
    Invariant {
        id: "I02",
        sentence: "only the latest epoch writes: no open attempt but the running one",
        violated: one_open_attempt,
    },
    Invariant {
        id: "I03",
        sentence: "events are numbered 1..n without a gap and epochs never go down along them",
        violated: events_gapless,
    },
    Invariant {
        id: "I04",
        sentence: "each terminal transition has exactly one terminal event",
        violated: one_terminal_event,
    },
    Invariant {
        id: "I07",
        sentence: "a running task has an owner that renews, or is taken back in time",
        violated: running_is_owned,
    },
    Invariant {
        id: "I08",
        sentence: "attempts stay within their limit, and each start is one row",
        violated: attempts_bounded,
    },
];

fn states_agree(facts: &TaskFacts, _: &Context) -> Option<String> {
    let shown = facts.last_state?;
    (shown != facts.status).then(|| format!("is {} but its last state event says {shown}", facts.status))
}

fn one_open_attempt(facts: &TaskFacts, _: &Context) -> Option<String> {
    let expected = i64::from(facts.status == Status::Running);
    (facts.open_attempts != expected).then(|| format!("is {} with {} open attempts", facts.status, facts.open_attempts))
}

fn events_gapless(facts: &TaskFacts, _: &Context) -> Option<String> {
    let whole = facts.event_count == facts.last_seq
        && facts.max_seq.unwrap_or(0) == facts.last_seq
        && facts.first_seq.unwrap_or(1) == 1;
    if !whole {
        let (first, max) = (facts.first_seq, facts.max_seq);
        return Some(format!("{} events from {first:?} to {max:?}, last_seq {}", facts.event_count, facts.last_seq));
    }
    (facts.epoch_regressions > 0).then(|| format!("epochs go down {} times", facts.epoch_regressions))
}

fn one_terminal_event(facts: &TaskFacts, _: &Context) -> Option<String> {
    let expected = facts.replays + i64::from(facts.status.is_terminal());
    (facts.terminal_events != expected)
        .then(|| format!("{} terminal events, expected {expected}", facts.terminal_events))
}

fn running_is_owned(facts: &TaskFacts, context: &Context) -> Option<String> {
    if facts.status != Status::Running {
        return facts.has_owner.then(|| format!("is {} but has an owner", facts.status));
    }
    if !facts.has_owner {
        return Some("runs without an owner".to_owned());
    }
    facts
        .lease_over_for
        .filter(|over| *over > context.recovery)
        .map(|over| format!("its lease has been over for {} s", over.as_secs()))
}

fn attempts_bounded(facts: &TaskFacts, _: &Context) -> Option<String> {
    if facts.attempt > facts.max_attempts {
        return Some(format!("attempt {} of {}", facts.attempt, facts.max_attempts));
    }
    if facts.charged_attempts != i64::from(facts.attempt) {
        return Some(format!("attempt {} but {} charged rows", facts.attempt, facts.charged_attempts));
    }
    (facts.attempts != facts.epoch.0).then(|| format!("epoch {} but {} attempt rows", facts.epoch, facts.attempts))
}
