//! A run of an inline handler: what the handler sees of it, and what the node tells it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use windlass_actors::domain::{EndReason, Json};
use windlass_actors::ports::runner::{HostEvent, HostSink, RunEvent, RunRequest};

use super::inline::InlineError;

/// Outputs that may wait for their acks, as for a worker process.
const CREDIT: usize = 64;

/// What a handler sees of its run.
#[derive(Clone)]
pub struct InlineContext(pub(super) Arc<Run>);

pub(super) struct Run {
    request: RunRequest,
    sink: HostSink,
    reference: AtomicU64,
    credit: Semaphore,
    checkpoints: Mutex<HashMap<u64, oneshot::Sender<bool>>>,
    stopped: CancellationToken,
    reason: OnceLock<EndReason>,
}

impl InlineContext {
    /// The task, the attempt, the payload, the last checkpoint.
    pub fn request(&self) -> &RunRequest {
        &self.0.request
    }

    pub fn payload(&self) -> &Json {
        &self.0.request.payload
    }

    pub fn stage(&self, name: impl Into<String>) {
        self.0.tell(RunEvent::Stage { name: name.into() });
    }

    /// `fraction` is of the whole, 0 to 1.
    pub fn progress(&self, fraction: f64, message: Option<String>) {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        self.0.tell(RunEvent::Progress { fraction, message });
    }

    /// A line of the task's log; `level` as `info`, `warning`, `error`.
    pub fn log(&self, level: &str, text: impl Into<String>) {
        let (level, stream) = (level.to_owned(), "log".to_owned());
        self.0.tell(RunEvent::Log { level, stream, text: text.into() });
    }

    /// An `output` event. Waits while 64 of this run's are not durable yet; fails once the run is to stop.
    pub async fn emit(&self, value: Json) -> Result<(), InlineError> {
        let credit = tokio::select! {
            credit = self.0.credit.acquire() => credit.ok(),
            () = self.0.stopped.cancelled() => None,
        };
        // Given back by the ack.
        credit.ok_or_else(|| self.stop())?.forget();
        let reference = self.0.next_reference();
        self.0.tell(RunEvent::Output { reference, value });
        Ok(())
    }

    /// Saves where the task is. Returns once that is durable; fails if the run is no longer ours or is to stop.
    pub async fn checkpoint(&self, value: Json) -> Result<(), InlineError> {
        let (answer, acked) = oneshot::channel();
        let reference = self.0.next_reference();
        self.0.checkpoints().insert(reference, answer);
        self.0.tell(RunEvent::Checkpoint { reference, value });
        tokio::select! {
            ok = acked => if ok == Ok(true) { Ok(()) } else { Err(self.stop()) },
            () = self.0.stopped.cancelled() => Err(self.stop()),
        }
    }

    /// Resolves when the run is to stop.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.0.stopped
    }

    fn stop(&self) -> InlineError {
        InlineError::cancelled(self.0.reason().unwrap_or(EndReason::Cancel).as_str())
    }
}

impl Run {
    pub(super) fn new(request: RunRequest, sink: HostSink) -> Self {
        Run {
            request,
            sink,
            reference: AtomicU64::new(0),
            credit: Semaphore::const_new(CREDIT),
            checkpoints: Mutex::default(),
            stopped: CancellationToken::new(),
            reason: OnceLock::new(),
        }
    }

    /// Why it was asked to stop, if it was.
    pub(super) fn reason(&self) -> Option<EndReason> {
        self.reason.get().copied()
    }

    pub(super) fn cancel(&self, reason: EndReason) {
        let _ = self.reason.set(reason);
        self.stopped.cancel();
    }

    pub(super) fn acked(&self, reference: u64, fenced: bool) {
        let checkpoint = self.checkpoints().remove(&reference);
        if fenced {
            self.cancel(EndReason::Lost);
        }
        match checkpoint {
            Some(answer) => drop(answer.send(!fenced)),
            None => self.credit.add_permits(1),
        }
    }

    fn checkpoints(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<bool>>> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_reference(&self) -> u64 {
        self.reference.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn tell(&self, event: RunEvent) {
        (self.sink)(HostEvent::Run { run: self.request.run, event });
    }
}
