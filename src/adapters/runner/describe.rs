//! The short-lived process that loads plugins to describe them: under a shim like every other, with a time limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windlass_actors::ports::runner::{ExitCause, HostEvent, HostExit};

use super::described::Described;
use super::discover::{FaultKind, NotDescribed};
use super::host;
use super::process::ProcessRunner;

impl ProcessRunner {
    /// Runs `windlass.describe` with those arguments.
    pub(super) async fn describe(
        &self,
        python: Option<&str>,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<Described, NotDescribed> {
        let body = Arc::new(Mutex::new(None));
        let (told, ended) = tokio::sync::oneshot::channel();
        let told = Mutex::new(Some(told));
        let plan = self.describing(
            python,
            arguments,
            body.clone(),
            Arc::new(move |event| {
                if let HostEvent::Exited(exit) = event
                    && let Some(told) = told.lock().unwrap_or_else(PoisonError::into_inner).take()
                {
                    let _ = told.send(exit);
                }
            }),
        );
        let host = host::begin(plan, self.spawner());
        let mut ended = ended;
        let in_time = tokio::time::timeout(limit, &mut ended).await;
        drop(host);
        let exit = match in_time {
            Ok(exit) => exit.ok(),
            // Killed; nothing of it is left once it has told its end.
            Err(_) => return Err(hung(ended.await.ok(), limit)),
        };
        let body = body.lock().unwrap_or_else(PoisonError::into_inner).take();
        read(body, exit)
    }
}

fn read(body: Option<tokio_util::bytes::Bytes>, exit: Option<HostExit>) -> Result<Described, NotDescribed> {
    let Some(body) = body else {
        let unlaunched = exit.as_ref().is_some_and(|e| e.cause == ExitCause::NotLaunched);
        let detail = exit.map(|e| e.detail).unwrap_or_default();
        let message = if unlaunched { detail } else { format!("its process died while it was loaded: {detail}") };
        return Err(NotDescribed { kind: FaultKind::Died, message, unlaunched });
    };
    serde_json::from_slice(&body).map_err(|error| NotDescribed {
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
