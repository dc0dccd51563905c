//! Connections: their number, how long their heads may take, and how they end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app::GatewayParts;
use super::paced::Paced;
use super::router::router;
use super::settings::Settings;

/// After a failed accept (descriptors are used up, say) the next try waits that long.
const BREATH: Duration = Duration::from_millis(100);

/// A peer that vanished without a word is asked for after that long.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Serves connections until `shutdown`; then those under way may end, for `drain_grace` at most.
pub async fn serve(listener: TcpListener, router: Router, settings: &Settings, shutdown: CancellationToken) {
    let places = Arc::new(Semaphore::new(settings.max_connections));
    let connections = TaskTracker::new();
    while let Some(place) = unless(&shutdown, places.clone().acquire_owned()).await {
        let Some(accepted) = unless(&shutdown, listener.accept()).await else { break };
        match accepted {
            Ok((socket, _peer)) => {
                let ended = connection(socket, router.clone(), settings, shutdown.clone());
                connections.spawn(async move {
                    ended.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                unless(&shutdown, sleep(BREATH)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if timeout(settings.drain_grace, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "the gateway stops with connections open");
    }
}

async fn unless<F: Future>(shutdown: &CancellationToken, future: F) -> Option<F::Output> {
    shutdown.run_until_cancelled(future).await
}

/// Serves one connection; its errors are its peer's.
fn connection(
    socket: TcpStream,
    router: Router,
    settings: &Settings,
    shutdown: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    prepare(&socket);
    let io = TokioIo::new(Paced::new(socket, settings.write_timeout));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.read_timeout)
        .serve_connection(io, TowerToHyperService::new(router));
    async move {
        tokio::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

/// Frames go out at once; a dead peer is found out. Neither is worth an error.
fn prepare(socket: &TcpStream) {
    let _ = socket.set_nodelay(true);
    let _ = rustix::net::sockopt::set_socket_keepalive(socket, true);
    let _ = rustix::net::sockopt::set_tcp_keepidle(socket, KEEPALIVE);
    let _ = rustix::net::sockopt::set_tcp_keepintvl(socket, KEEPALIVE / 3);
}

/// A gateway on its own thread.
#[derive(Debug)]
pub struct GatewayHandle {
    address: SocketAddr,
    thread: JoinHandle<()>,
}

impl GatewayHandle {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits, blocking, until it has ended. An error means that its thread panicked.
    pub fn join(self) -> io::Result<()> {
        self.thread.join().map_err(|_| io::Error::other("the gateway's thread panicked"))
    }
}

/// Serves on a thread and a runtime of its own until `parts.shutdown` is cancelled.
///
/// # Errors
/// If the listener cannot be used, or the runtime or the thread cannot be made.
pub fn spawn_on_own_thread(listener: std::net::TcpListener, parts: GatewayParts) -> io::Result<GatewayHandle> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("gateway").enable_all().build()?;
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let run = move || {
        let (settings, shutdown) = (parts.settings.clone(), parts.shutdown.clone());
        runtime.block_on(async move { serve(listener, router(parts), &settings, shutdown).await });
        runtime.shutdown_timeout(Duration::from_secs(1));
    };
    let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(run)?;
    Ok(GatewayHandle { address, thread })
}
