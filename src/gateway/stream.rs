//! A task's events as a `text/event-stream`: what is stored, then what comes, without gap or duplicate.
//!
//! The stream is pulled: only when the reader's socket takes more is another page read from the store, so a slow
//! reader costs one page of memory and holds up nobody. The bell is heard before the store is read; what is committed
//! after that reading rings.
//!
//! A terminal state is the last event only as long as nobody replays the task: the stream ends when the page that it
//! sent was the end of a task at rest.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use metrics::gauge;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};
use windlass_actors::domain::TaskId;
use windlass_actors::ports::records::Events;

use super::app::App;
use super::hub::{Bell, hush, rung};
use super::wire::EventItem;

/// Events that are read at once: with the largest events, 2 MiB that a slow reader holds.
const PAGE: u32 = 32;

/// How often the store is looked at if nothing rings.
const LOOK: Duration = Duration::from_secs(1);

/// How often the store is asked to cancel what a reader left.
const CANCEL_TRIES: u32 = 10;

/// A place among the streams, counted in `windlass_sse_clients`.
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Counts the permit until the place is dropped.
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        gauge!("windlass_sse_clients").increment(1);
        Place { _permit: permit }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        gauge!("windlass_sse_clients").decrement(1);
    }
}

/// A reader of a task's events.
pub struct EventStream {
    app: App,
    task: TaskId,
    /// The number of the last event sent.
    after: i64,
    bell: Option<Bell>,
    heartbeat: Instant,
    ended: bool,
    _place: Place,
    /// Cancels the task unless the stream came to its end.
    on_leave: Option<Leave>,
}

impl EventStream {
    /// Streams what follows the event with the number `after`. With `cancels`, a reader who leaves early cancels the
    /// task.
    pub fn new(app: App, task: TaskId, after: i64, place: Place, cancels: bool) -> Self {
        let heartbeat = Instant::now() + app.settings().heartbeat;
        let on_leave = cancels.then(|| Leave { app: app.clone(), task, armed: true });
        EventStream { app, task, after, bell: None, heartbeat, ended: false, _place: place, on_leave }
    }

    /// The answer that carries the stream.
    pub fn into_response(self) -> Response {
        let chunks = stream::unfold(self, |mut this| async move {
            let chunk = this.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), this))
        });
        let mut response = Response::new(Body::from_stream(chunks));
        for (name, value) in [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The next frames, or a comment when nothing happens for long. None at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.bell.is_none() && !self.ended {
            self.bell = self.app.hub().watch(self.task).await;
        }
        while !self.ended {
            hush(&mut self.bell);
            match self.app.ask(self.app.store().events(self.task, self.after, PAGE)).await {
                Ok(Some(page)) => {
                    let frames = self.take(page);
                    if !frames.is_empty() {
                        self.heartbeat = Instant::now() + self.app.settings().heartbeat;
                        return Some(frames.into());
                    }
                }
                // Pruned meanwhile: nothing will follow.
                Ok(None) => self.end(),
                // The reader keeps its place, and the store is asked again.
                Err(_) => {}
            }
            if !self.ended && self.wait().await == Woken::ByHeartbeat {
                self.heartbeat = Instant::now() + self.app.settings().heartbeat;
                return Some(Bytes::from_static(b": still here\n\n"));
            }
        }
        None
    }

    /// Frames of a page; ends the stream if it is the last of a task at rest.
    fn take(&mut self, page: Events) -> Vec<u8> {
        let mut frames = Vec::new();
        for event in page.events {
            self.after = event.seq;
            EventItem::from(event).write_frame(&mut frames);
        }
        if page.status.is_terminal() && self.after >= page.last_seq {
            self.end();
        }
        frames
    }

    async fn wait(&mut self) -> Woken {
        let shutdown = self.app.shutdown().clone();
        tokio::select! {
            () = rung(&mut self.bell) => Woken::ToLook,
            () = sleep_until(Instant::now() + LOOK) => Woken::ToLook,
            () = sleep_until(self.heartbeat) => Woken::ByHeartbeat,
            () = shutdown.cancelled() => {
                self.end();
                Woken::ToLook
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        if let Some(leave) = self.on_leave.take() {
            leave.disarm();
        }
    }
}

#[derive(PartialEq, Eq)]
enum Woken {
    ToLook,
    ByHeartbeat,
}

/// Cancels the task when dropped while armed.
struct Leave {
    app: App,
    task: TaskId,
    armed: bool,
}

impl Leave {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let app = self.app.clone();
        // A gateway that stops says nothing about the reader.
        if !self.armed || app.shutdown().is_cancelled() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let task = self.task;
        self.app.work().spawn(async move {
            for _ in 0..CANCEL_TRIES {
                if app.ask(app.store().cancel(task, Some("its reader left".to_owned()))).await.is_ok() {
                    return;
                }
                tokio::time::sleep(LOOK).await;
            }
            tracing::warn!(%task, "a task whose reader left could not be cancelled: the store is unavailable");
        });
    }
}
