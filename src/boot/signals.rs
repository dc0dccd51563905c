//! SIGTERM and SIGINT: the first asks for a drain, the second for hurry.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Listens from now on.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Cancels `stop` at the first signal and `hurry` at the second; never ends by itself.
    pub async fn pass_on(mut self, stop: CancellationToken, hurry: CancellationToken) {
        self.next().await;
        tracing::info!("asked to stop: draining; a second signal skips the grace");
        stop.cancel();
        self.next().await;
        tracing::warn!("asked again: cutting the drain short");
        hurry.cancel();
        std::future::pending::<()>().await;
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
