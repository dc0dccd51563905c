//! What a run has said and the ledger has not stored: coalesced, numbered, and taken as one write at a time.

use std::time::Duration;

use serde_json::json;

use crate::decide::output::{ENOUGH, WINDOW, is_enough, patience};
use crate::domain::{EventKind, Json, LeaseKey, NewEvent};
use crate::ports::ledger::Record;
use crate::ports::runner::RunEvent;

/// What a run says, without its end.
enum Pending {
    /// Outputs said one after the other become one event: their JSON texts, joined by commas.
    Outputs(String),
    Other(NewEvent),
}

#[derive(Default)]
pub struct Buffer {
    pending: Vec<Pending>,
    bytes: usize,
    /// When the least patient of them is to be written, by the node's clock.
    due: Option<Duration>,
    /// Events handed out before: the attempt's own count.
    sent: u64,
    stage: Option<String>,
    progress: Option<f64>,
    checkpoint: Option<Json>,
    acks: Vec<u64>,
}

/// One write, and the references to acknowledge once it is stored.
pub struct Batch {
    pub from: u64,
    pub events: Vec<NewEvent>,
    pub stage: Option<String>,
    pub progress: Option<f64>,
    pub checkpoint: Option<Json>,
    pub acks: Vec<u64>,
}

impl Batch {
    pub fn into_record(self, key: LeaseKey) -> (Record, Vec<u64>) {
        let Batch { from, events, stage, progress, checkpoint, acks } = self;
        (Record { key, from, events, stage, progress, checkpoint }, acks)
    }
}

impl Buffer {
    /// Takes in what a run says; an end is not for the buffer and is given back.
    pub fn add(&mut self, event: RunEvent, now: Duration) -> Option<RunEvent> {
        match event {
            RunEvent::Stage { name } => {
                self.push(EventKind::Stage, json!({ "name": name }), now);
                self.stage = Some(name);
            }
            RunEvent::Progress { fraction, message } => self.progress(fraction, message, now),
            RunEvent::Output { reference, value } => self.output(reference, &value, now),
            RunEvent::Log { level, stream, text } => {
                self.push(EventKind::Log, json!({ "level": level, "stream": stream, "text": text }), now);
            }
            RunEvent::Checkpoint { reference, value } => {
                self.push(EventKind::Checkpoint, json!({ "bytes": value.len() }), now);
                self.checkpoint = Some(value);
                self.acks.push(reference);
            }
            end @ (RunEvent::Done { .. } | RunEvent::Failed { .. }) => return Some(end),
        }
        None
    }

    /// Only the latest of several progress events in a row is kept.
    fn progress(&mut self, fraction: f64, message: Option<String>, now: Duration) {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        self.progress = Some(fraction);
        if matches!(self.pending.last(), Some(Pending::Other(event)) if event.kind == EventKind::Progress) {
            self.pending.pop();
        }
        self.push(EventKind::Progress, json!({ "fraction": fraction, "message": message }), now);
    }

    fn output(&mut self, reference: u64, value: &Json, now: Duration) {
        self.acks.push(reference);
        self.bytes += value.len();
        self.due_by(EventKind::Output, now);
        match self.pending.last_mut() {
            Some(Pending::Outputs(joined)) if joined.len() + value.len() < ENOUGH => {
                joined.push(',');
                joined.push_str(value.as_str());
            }
            _ => self.pending.push(Pending::Outputs(value.as_str().to_owned())),
        }
    }

    fn push(&mut self, kind: EventKind, data: serde_json::Value, now: Duration) {
        let data = Json::trusted(data.to_string());
        self.bytes += data.len();
        self.due_by(kind, now);
        self.pending.push(Pending::Other(NewEvent { kind, data }));
    }

    fn due_by(&mut self, kind: EventKind, now: Duration) {
        let due = now + patience(kind);
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// How long what waits may wait on: nothing if it is to be written now.
    pub fn due_in(&self, now: Duration) -> Duration {
        if is_enough(self.bytes, self.pending.len()) {
            return Duration::ZERO;
        }
        self.due.map_or(WINDOW, |due| due.saturating_sub(now))
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// All of it, as one write.
    pub fn take(&mut self) -> Batch {
        let events: Vec<NewEvent> = self.pending.drain(..).map(Pending::into_event).collect();
        let from = self.sent;
        self.sent += events.len() as u64;
        (self.bytes, self.due) = (0, None);
        Batch {
            from,
            events,
            stage: self.stage.take(),
            progress: self.progress.take(),
            checkpoint: self.checkpoint.take(),
            acks: std::mem::take(&mut self.acks),
        }
    }
}

impl Pending {
    fn into_event(self) -> NewEvent {
        match self {
            Pending::Outputs(joined) => {
                NewEvent { kind: EventKind::Output, data: Json::trusted(format!("{{\"values\":[{joined}]}}")) }
            }
            Pending::Other(event) => event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::output::BREATH;

    fn output(reference: u64, value: &str) -> RunEvent {
        RunEvent::Output { reference, value: Json::trusted(value) }
    }

    #[test]
    fn outputs_in_a_row_are_one_event_and_each_is_acknowledged() {
        let mut buffer = Buffer::default();
        for (n, value) in [(1, "\"a\""), (2, "{\"b\":1}")] {
            buffer.add(output(n, value), Duration::ZERO);
        }
        let batch = buffer.take();
        assert_eq!(batch.events[0].data.as_str(), r#"{"values":["a",{"b":1}]}"#);
        assert_eq!((batch.from, batch.events.len(), batch.acks), (0, 1, vec![1, 2]));
    }

    #[test]
    fn events_are_numbered_over_the_whole_attempt() {
        let mut buffer = Buffer::default();
        buffer.add(RunEvent::Stage { name: "parse".into() }, Duration::ZERO);
        assert_eq!(buffer.take().from, 0);
        buffer.add(RunEvent::Stage { name: "embed".into() }, Duration::ZERO);
        assert_eq!(buffer.take().from, 1);
    }

    #[test]
    fn only_the_latest_of_several_progresses_is_written() {
        let mut buffer = Buffer::default();
        for fraction in [0.1, 0.2, f64::NAN, 7.0] {
            buffer.add(RunEvent::Progress { fraction, message: None }, Duration::ZERO);
        }
        let batch = buffer.take();
        assert_eq!((batch.events.len(), batch.progress), (1, Some(1.0)));
    }

    #[test]
    fn an_output_waits_for_company_a_stage_for_a_breath_and_a_checkpoint_does_not() {
        let (mut buffer, begin) = (Buffer::default(), Duration::from_secs(1));
        buffer.add(output(1, "1"), begin);
        assert_eq!(buffer.due_in(begin), WINDOW);
        assert!(buffer.due_in(begin + WINDOW).is_zero());
        buffer.add(RunEvent::Stage { name: "parse".into() }, begin);
        assert_eq!(buffer.due_in(begin), BREATH);
        buffer.add(RunEvent::Checkpoint { reference: 2, value: Json::null() }, begin);
        assert!(buffer.due_in(begin).is_zero());
    }
}
