//! What every store does in the same way: what it keeps of data that it can't keep as it is, how long a limited claim
//! waits, what an owner's loss means. Pure, so that four adapters share it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ledger::{Backoff, Limits, TakeCause};
use crate::domain::{
    Command, ErrorKind, EventKind, Json, NewEvent, Outcome, ReleaseReason, RetryPolicy, StateData, Status, TaskError,
    Timestamp, Verdict,
};

/// How long a claim of a paused type waits.
pub const PAUSED_FOR: Duration = Duration::from_secs(5);
/// How long a claim waits for a running one to end, or for a suspect to be asked for.
pub const LIMITED_FOR: Duration = Duration::from_secs(1);
/// After so many overdue tasks that failed on its way, a claim answers and leaves the others to the next look.
pub const OVERDUE_AT_ONCE: usize = 50;
/// The window of `starts_per_minute`.
pub const START_WINDOW: Duration = Duration::from_secs(60);

/// How large things may be, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    pub event: usize,
    /// Of a result, a checkpoint, a task's partial output.
    pub result: usize,
    /// Of an error's detail and other texts for people.
    pub text: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { event: 64 << 10, result: 4 << 20, text: 16 << 10 }
    }
}

impl Sizes {
    /// The event, or in its place how large it was and how it began.
    pub fn event(&self, event: &NewEvent) -> NewEvent {
        let data = sound(&event.data);
        NewEvent { kind: event.kind, data: if data.len() > self.event { cut(&data, self.event / 8) } else { data } }
    }

    /// The verdict with its texts cleaned. A result that is too large fails the task for good: another run would only
    /// make it again.
    pub fn verdict(&self, verdict: &Verdict) -> Verdict {
        match verdict.clone() {
            Verdict::Complete { result } if result.len() > self.result => Verdict::Fail {
                outcome: Outcome::Failed,
                error: TaskError::new(
                    "RESULT_TOO_LARGE",
                    format!(
                        "the result has {} bytes, the limit is {}: larger data belongs in files",
                        result.len(),
                        self.result
                    ),
                ),
                kind: ErrorKind::Permanent,
            },
            Verdict::Complete { result } => Verdict::Complete { result: sound(&result) },
            Verdict::Cancel => Verdict::Cancel,
            Verdict::Fail { outcome, error, kind } => Verdict::Fail { outcome, error: self.error(error), kind },
            Verdict::DeadLetter { outcome, error, kind } => {
                Verdict::DeadLetter { outcome, error: self.error(error), kind }
            }
            Verdict::RetryIn { outcome, error, delay } => Verdict::RetryIn { outcome, error: self.error(error), delay },
            Verdict::Release { reason, delay, detail } => {
                Verdict::Release { reason, delay, detail: self.text(&detail) }
            }
        }
    }

    fn error(&self, error: TaskError) -> TaskError {
        TaskError { code: self.text(&error.code), detail: self.text(&error.detail), kind: error.kind }
    }

    /// A text for people without NUL, cut where it is too long; both show.
    pub fn text(&self, text: &str) -> String {
        let clean = text.replace('\0', "\u{fffd}");
        if clean.len() <= self.text {
            return clean;
        }
        format!("{}… (cut: it had {} bytes)", &clean[..clean.floor_char_boundary(self.text)], text.len())
    }

    /// The checkpoint, or the event that says it was too large to be kept (the one before it stays).
    pub fn checkpoint(&self, checkpoint: &Json) -> Result<Json, NewEvent> {
        if checkpoint.len() <= self.result {
            return Ok(sound(checkpoint));
        }
        let text = format!("a checkpoint of {} bytes was not kept: the limit is {}", checkpoint.len(), self.result);
        let data = serde_json::json!({"level": "warning", "stream": "windlass", "text": text});
        Err(NewEvent { kind: EventKind::Log, data: Json::trusted(data.to_string()) })
    }

    /// The values of output events as one array. What goes beyond the limit is left out, and the last element says so.
    pub fn partial(&self) -> Partial {
        Partial { array: String::new(), total: 0, limit: self.result }
    }
}

/// A task's partial output as it is read: nothing is asked for beyond the limit.
#[derive(Debug)]
pub struct Partial {
    array: String,
    /// Bytes seen: of what is in it, and of the first value that is not.
    total: usize,
    limit: usize,
}

impl Partial {
    /// Takes the values of one output event. Whether there is room for more.
    pub fn take(&mut self, data: &str) -> bool {
        for value in values(data) {
            if self.total <= self.limit {
                self.total += value.len();
                if self.total <= self.limit {
                    self.open();
                    self.array.push_str(value);
                }
            }
        }
        self.total <= self.limit
    }

    fn open(&mut self) {
        self.array.push(if self.array.is_empty() { '[' } else { ',' });
    }

    pub fn array(mut self) -> Option<Json> {
        if self.total > self.limit {
            self.open();
            self.array.push_str(&format!(r#"{{"truncated":true,"bytes":{}}}"#, self.total));
        }
        (!self.array.is_empty()).then(|| Json::trusted(self.array + "]"))
    }
}

/// The values of one output event; an event that was cut stands for itself.
fn values(data: &str) -> Vec<&str> {
    #[derive(Deserialize)]
    struct Output<'a> {
        #[serde(borrow)]
        values: Vec<&'a RawValue>,
    }
    match serde_json::from_str::<Output<'_>>(data) {
        Ok(output) => output.values.into_iter().map(RawValue::get).collect(),
        Err(_) => vec![data],
    }
}

/// A JSON text without a bare NUL, which no JSON has and a database may not store.
fn sound(json: &Json) -> Json {
    if json.as_str().contains('\0') { Json::trusted(json.as_str().replace('\0', "\\u0000")) } else { json.clone() }
}

fn cut(data: &Json, keep: usize) -> Json {
    let text = data.as_str();
    let kept = &text[..text.floor_char_boundary(keep)];
    let quoted = serde_json::Value::from(kept);
    Json::trusted(format!(r#"{{"truncated":true,"bytes":{},"text":{quoted}}}"#, text.len()))
}

/// A share of 1 that a database can store and compare.
pub fn share(progress: Option<f64>) -> Option<f64> {
    progress.filter(|p| !p.is_nan()).map(|p| p.clamp(0.0, 1.0))
}

/// Data of a task's first event.
pub fn submitted(delay: Duration) -> StateData {
    StateData {
        status: Status::Queued,
        attempt: None,
        node_id: None,
        reason: None,
        delay_ms: (!delay.is_zero()).then(|| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        error: None,
        dead_lettered: None,
    }
}

/// What holds claims of a type back, as it stands now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gate {
    pub paused: bool,
    /// Running of the type, over the cluster.
    pub running: u32,
    /// Starts within [`START_WINDOW`].
    pub starts: u32,
    pub oldest_start: Option<Timestamp>,
}

impl Gate {
    /// How many may be claimed now, and when to ask again for more.
    pub fn room(&self, limits: &Limits, now: Timestamp) -> (u32, Duration) {
        if self.paused {
            return (0, PAUSED_FOR);
        }
        let free = |limit: Option<u32>, used: u32| limit.map_or(u32::MAX, |limit| limit.saturating_sub(used));
        let by_running = free(limits.max_running, self.running);
        let by_starts = free(limits.starts_per_minute, self.starts);
        if by_starts >= by_running {
            return (by_running, LIMITED_FOR);
        }
        (by_starts, self.oldest_start.map_or(START_WINDOW, |at| at.plus(START_WINDOW).since(now)))
    }
}

impl Backoff {
    /// The pause after the `n`th loss in a row, jittered.
    pub fn delay(&self, n: u32) -> Duration {
        RetryPolicy { base: self.base, cap: self.cap }.jittered(n, self.dice)
    }
}

impl TakeCause {
    /// What taking a task from its owner means for the task. `losses` is how many it had.
    pub fn command(self, backoff: &Backoff, losses: u32) -> Command {
        match self {
            TakeCause::Lease | TakeCause::Predecessor => Command::Lose { backoff: backoff.delay(losses + 1) },
            TakeCause::NoActor => Command::Settle(Verdict::Release {
                reason: ReleaseReason::ActorDied,
                delay: Duration::ZERO,
                detail: "no actor held it".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { event: 64, result: 16, text: 8 };

    #[test]
    fn a_large_event_says_how_large_it_was_and_how_it_began() {
        let event = NewEvent { kind: EventKind::Log, data: Json::trusted(format!("\"{}\"", "é".repeat(40))) };
        assert_eq!(SIZES.event(&event).data.as_str(), r#"{"truncated":true,"bytes":82,"text":"\"ééé"}"#);
    }

    #[test]
    fn texts_lose_their_nul_and_their_tail_and_say_so() {
        assert_eq!(SIZES.text("a\0b"), "a\u{fffd}b");
        assert_eq!(SIZES.text("ééééééé"), "éééé… (cut: it had 14 bytes)");
    }

    #[test]
    fn partial_output_is_one_bounded_array() {
        assert_eq!(SIZES.partial().array(), None);
        let mut partial = SIZES.partial();
        for data in [r#"{"values":[1,"a"]}"#, r#"{"values":[]}"#, r#"{"values":[{"b":2}]}"#] {
            assert!(partial.take(data));
        }
        assert_eq!(partial.array().unwrap().as_str(), r#"[1,"a",{"b":2}]"#);
        let mut partial = SIZES.partial();
        assert!(!partial.take(r#"{"values":["0123456789","0123456789",1]}"#), "it is full");
        assert_eq!(partial.array().unwrap().as_str(), r#"["0123456789",{"truncated":true,"bytes":24}]"#);
    }

    #[test]
    fn backoff_grows_to_its_cap() {
        let backoff = Backoff { base: Duration::from_secs(2), cap: Duration::from_secs(300), dice: 0.5 };
        assert_eq!(backoff.delay(1), Duration::from_secs(1));
        assert_eq!(backoff.delay(40), Duration::from_secs(150));
    }
}
