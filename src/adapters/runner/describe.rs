//! The short-lived process that loads plugins to describe them: under a shim like every other, with a time limit.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;
use windlass_actors::ports::runner::{ExitCause, HostEvent, HostExit, HostSink};

use super::described::Described;
use super::discover::{FaultKind, NotDescribed};
use super::process::ProcessRunner;

impl ProcessRunner {
    /// Runs `windlass.describe` with those arguments.
    pub(super) async fn describe(
        &self,
        python: Option<&str>,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<Described, NotDescribed> {
        let slot = Arc::new(OnceLock::new());
        let (told, mut ends) = mpsc::unbounded_channel();
        let sink: HostSink = Arc::new(move |event| {
            if let HostEvent::Exited(exit) = event {
                let _ = told.send(exit);
            }
        });
        let host = self.begin_describing(python, arguments, sink, slot.clone());
        let in_time = tokio::time::timeout(limit, ends.recv()).await;
        drop(host);
        match in_time {
            Ok(exit) => read(slot.get(), exit),
            // Killed; nothing of it is left once it has told its end.
            Err(_) => Err(hung(ends.recv().await, limit)),
        }
    }
}

fn read(body: Option<&Bytes>, exit: Option<HostExit>) -> Result<Described, NotDescribed> {
    let Some(body) = body else {
        let unlaunched = exit.as_ref().is_some_and(|e| e.cause == ExitCause::NotLaunched);
        let detail = exit.map(|e| e.detail).unwrap_or_default();
        let message = if unlaunched { detail } else { format!("its process died while it was loaded: {detail}") };
        return Err(NotDescribed { kind: FaultKind::Died, message, unlaunched });
    };
    serde_json::from_slice(body).map_err(|error| NotDescribed {
        kind: FaultKind::Died,
        message: format!("what `windlass.describe` said can't be read: {error}"),
        unlaunched: false,
    })
}

fn hung(exit: Option<HostExit>, limit: Duration) -> NotDescribed {
    let detail = exit.map(|e| e.detail).unwrap_or_default();
    NotDescribed {
        kind: FaultKind::Hung,
        message: format!("loading it took more than {} s: {detail}", limit.as_secs_f64()),
        unlaunched: false,
    }
}
