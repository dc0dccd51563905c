//! What a run has said and the ledger has not stored: coalesced, numbered, and taken as one write at a time.
//!
//! It is bounded: while the store is away or slow, logs are dropped and counted, and of stages and progress the latest
//! stay. Outputs and checkpoints are always kept: the run waits for their acknowledgement, and so for us.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;

use crate::decide::output::{ENOUGH, MOST_KEPT, ONE_WRITE, WINDOW, is_enough, patience};
use crate::domain::{EventKind, Json, LeaseKey, NewEvent};
use crate::ports::ledger::Record;
use crate::ports::runner::RunEvent;

/// What a run says, without its end.
enum Pending {
    Stage {
        name: String,
        data: Json,
    },
    Progress {
        fraction: f64,
        data: Json,
    },
    /// Outputs said one after the other become one event: their JSON texts, joined by commas.
    Outputs {
        joined: String,
        acks: Vec<u64>,
    },
    Log(Json),
    Checkpoint {
        reference: u64,
        value: Json,
        data: Json,
    },
}

#[derive(Default)]
pub struct Buffer {
    pending: VecDeque<Pending>,
    bytes: usize,
    /// When the least patient of them is to be written, by the node's clock.
    due: Option<Duration>,
    /// Events handed out before: the attempt's own count.
    sent: u64,
    /// Log lines for which there was no room, since the last write.
    dropped: u64,
}

/// One write, and the references to acknowledge once it is stored.
#[derive(Default)]
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

    fn add(&mut self, pending: Pending) {
        let event = match pending {
            Pending::Stage { name, data } => {
                self.stage = Some(name);
                NewEvent { kind: EventKind::Stage, data }
            }
            Pending::Progress { fraction, data } => {
                self.progress = Some(fraction);
                NewEvent { kind: EventKind::Progress, data }
            }
            Pending::Outputs { joined, acks } => {
                self.acks.extend(acks);
                NewEvent { kind: EventKind::Output, data: Json::trusted(format!("{{\"values\":[{joined}]}}")) }
            }
            Pending::Log(data) => NewEvent { kind: EventKind::Log, data },
            Pending::Checkpoint { reference, value, data } => {
                self.acks.push(reference);
                self.checkpoint = Some(value);
                NewEvent { kind: EventKind::Checkpoint, data }
            }
        };
        self.events.push(event);
    }
}

impl Buffer {
    /// Takes in what a run says; an end is not for the buffer and is given back.
    pub fn add(&mut self, event: RunEvent, now: Duration) -> Option<RunEvent> {
        match event {
            RunEvent::Stage { name } => {
                if self.is_full() {
                    self.forget_last(EventKind::Stage);
                }
                let data = text(&json!({ "name": name }));
                self.push(Pending::Stage { name, data }, now);
            }
            RunEvent::Progress { fraction, message } => self.progress(fraction, message, now),
            RunEvent::Output { reference, value } => self.output(reference, &value, now),
            RunEvent::Log { level, stream, text: line } => {
                let data = text(&json!({ "level": level, "stream": stream, "text": line }));
                self.log(data, now);
            }
            RunEvent::Checkpoint { reference, value } => {
                let data = text(&json!({ "bytes": value.len() }));
                self.push(Pending::Checkpoint { reference, value, data }, now);
            }
            end @ (RunEvent::Done { .. } | RunEvent::Failed { .. }) => return Some(end),
        }
        None
    }

    /// Only the latest of several progress events in a row is kept.
    fn progress(&mut self, fraction: f64, message: Option<String>, now: Duration) {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        if self.is_full() || matches!(self.pending.back(), Some(Pending::Progress { .. })) {
            self.forget_last(EventKind::Progress);
        }
        let data = text(&json!({ "fraction": fraction, "message": message }));
        self.push(Pending::Progress { fraction, data }, now);
    }

    fn output(&mut self, reference: u64, value: &Json, now: Duration) {
        if let Some(Pending::Outputs { joined, acks }) = self.pending.back_mut()
            && joined.len() + value.len() < ENOUGH
        {
            joined.push(',');
            joined.push_str(value.as_str());
            acks.push(reference);
            self.bytes += value.len() + 1;
            return;
        }
        self.push(Pending::Outputs { joined: value.as_str().to_owned(), acks: vec![reference] }, now);
    }

    fn log(&mut self, data: Json, now: Duration) {
        if self.is_full() || self.bytes + data.len() > MOST_KEPT.bytes {
            self.dropped += 1;
        } else {
            self.push(Pending::Log(data), now);
        }
    }

    fn push(&mut self, pending: Pending, now: Duration) {
        self.bytes += pending.bytes();
        let due = now + patience(pending.kind());
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        self.pending.push_back(pending);
    }

    fn is_full(&self) -> bool {
        self.pending.len() >= MOST_KEPT.events || self.bytes >= MOST_KEPT.bytes
    }

    /// Forgets the last stage or progress, unless something else was said after it.
    fn forget_last(&mut self, kind: EventKind) {
        let replaceable = |pending: &&Pending| matches!(pending, Pending::Stage { .. } | Pending::Progress { .. });
        let tail = self.pending.iter().rev().take_while(replaceable);
        let found = tail.take(2).position(|pending| pending.kind() == kind);
        if let Some(forgotten) = found.and_then(|back| self.pending.remove(self.pending.len() - 1 - back)) {
            self.bytes -= forgotten.bytes();
        }
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
        self.pending.iter().any(|pending| matches!(pending, Pending::Checkpoint { .. }))
    }

    /// Whether the next write takes all there is.
    pub fn fits_one_write(&mut self) -> bool {
        self.own_up();
        self.one_write() == self.pending.len()
    }

    /// The oldest of it, as much as one write carries.
    pub fn take(&mut self) -> Batch {
        self.own_up();
        let mut batch = Batch { from: self.sent, ..Batch::default() };
        for pending in self.pending.drain(..self.one_write()) {
            self.bytes -= pending.bytes();
            batch.add(pending);
        }
        self.sent += batch.events.len() as u64;
        if self.pending.is_empty() {
            self.due = None;
        }
        batch
    }

    /// How many of the pending events one write carries: at least one, however large.
    fn one_write(&self) -> usize {
        let mut bytes = 0;
        let fitting = self.pending.iter().take(ONE_WRITE.events).take_while(|pending| {
            bytes += pending.bytes();
            bytes <= ONE_WRITE.bytes
        });
        fitting.count().max(1).min(self.pending.len())
    }

    /// Says how many lines are missing, after what was said before them.
    fn own_up(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let said = format!("{dropped} lines were dropped: the store did not keep up");
            let data = text(&json!({ "level": "warning", "stream": "windlass", "text": said }));
            self.bytes += data.len();
            self.pending.push_back(Pending::Log(data));
        }
    }
}

impl Pending {
    fn kind(&self) -> EventKind {
        match self {
            Pending::Stage { .. } => EventKind::Stage,
            Pending::Progress { .. } => EventKind::Progress,
            Pending::Outputs { .. } => EventKind::Output,
            Pending::Log(_) => EventKind::Log,
            Pending::Checkpoint { .. } => EventKind::Checkpoint,
        }
    }

    /// Of its event: what a checkpoint keeps beside it is the run's own measure.
    fn bytes(&self) -> usize {
        match self {
            Pending::Stage { data, .. }
            | Pending::Progress { data, .. }
            | Pending::Checkpoint { data, .. }
            | Pending::Log(data) => data.len(),
            Pending::Outputs { joined, .. } => joined.len(),
        }
    }
}

fn text(data: &serde_json::Value) -> Json {
    Json::trusted(data.to_string())
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

    fn log(n: u32) -> RunEvent {
        RunEvent::Log { level: "info".into(), stream: "stdout".into(), text: format!("line {n}") }
    }

    #[test]
    fn what_a_run_says_while_the_store_is_away_is_bounded_and_what_is_dropped_is_counted() {
        let mut buffer = Buffer::default();
        for n in 0..5000 {
            buffer.add(log(n), Duration::ZERO);
        }
        for n in 0..5000 {
            buffer.add(RunEvent::Stage { name: format!("stage {n}") }, Duration::ZERO);
            buffer.add(RunEvent::Progress { fraction: 0.5, message: None }, Duration::ZERO);
        }
        buffer.add(output(1, "1"), Duration::ZERO);
        assert!(buffer.pending.len() <= MOST_KEPT.events + 3, "{} are kept", buffer.pending.len());
        let (mut from, mut stage, mut events, mut acks) = (0, None, Vec::new(), Vec::new());
        while !buffer.is_empty() {
            let batch = buffer.take();
            assert_eq!(batch.from, from);
            assert!(batch.events.len() <= ONE_WRITE.events);
            from += batch.events.len() as u64;
            stage = batch.stage.or(stage);
            events.extend(batch.events);
            acks.extend(batch.acks);
        }
        assert_eq!((stage.as_deref(), acks, buffer.bytes), (Some("stage 4999"), vec![1], 0));
        let last = events.last().unwrap().data.as_str();
        assert!(last.contains("3000 lines were dropped"), "{last}");
    }

    #[test]
    fn few_large_lines_are_bounded_too() {
        let mut buffer = Buffer::default();
        for _ in 0..100 {
            let text = "x".repeat(50_000);
            buffer.add(RunEvent::Log { level: "info".into(), stream: "stdout".into(), text }, Duration::ZERO);
        }
        assert!(buffer.bytes <= MOST_KEPT.bytes);
        assert!(!buffer.fits_one_write());
        let bytes = |batch: &Batch| batch.events.iter().map(|event| event.data.len()).sum::<usize>();
        assert!(bytes(&buffer.take()) <= ONE_WRITE.bytes);
    }

    #[test]
    fn a_checkpoint_is_acknowledged_with_the_write_that_has_it() {
        let mut buffer = Buffer::default();
        for n in 0..ONE_WRITE.events {
            buffer.add(log(u32::try_from(n).unwrap()), Duration::ZERO);
        }
        buffer.add(RunEvent::Checkpoint { reference: 7, value: Json::null() }, Duration::ZERO);
        let first = buffer.take();
        assert_eq!((first.acks, first.checkpoint), (vec![], None));
        assert!(buffer.has_checkpoint() && buffer.due_in(Duration::ZERO).is_zero());
        let second = buffer.take();
        assert_eq!((second.from, second.acks), (ONE_WRITE.events as u64, vec![7]));
        assert!(second.checkpoint.is_some());
    }
}
