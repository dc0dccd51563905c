//! Async Rust handlers as task types: a host is a set of tasks of this process.
//!
//! A handler must not block its thread: a kill aborts it at its next `await`, and the host is gone only then.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use windlass_actors::domain::{EndReason, Json, TaskError, TypeName};
use windlass_actors::ports::runner::{
    ExitCause, Host, HostCommand, HostEvent, HostExit, HostSink, HostSpec, RunEvent, RunFailure, RunRef, RunRequest,
    Runner,
};

pub use super::inline_run::InlineContext;
use super::inline_run::Run;

type Handler = Arc<dyn Fn(InlineContext) -> BoxFuture<'static, Result<Json, InlineError>> + Send + Sync>;

/// How a handler fails.
#[derive(Clone, PartialEq, Debug)]
pub struct InlineError {
    pub failure: RunFailure,
    pub error: TaskError,
    pub retry_after: Option<Duration>,
}

impl InlineError {
    /// May work next time.
    pub fn retryable(code: &str, detail: impl Into<String>) -> Self {
        InlineError { failure: RunFailure::Retryable, error: TaskError::new(code, detail), retry_after: None }
    }

    /// Will never work.
    pub fn permanent(code: &str, detail: impl Into<String>) -> Self {
        InlineError { failure: RunFailure::Permanent, error: TaskError::new(code, detail), retry_after: None }
    }

    /// Stopped because it was asked to.
    pub fn cancelled(detail: impl Into<String>) -> Self {
        InlineError { failure: RunFailure::Cancelled, error: TaskError::new("CANCELLED", detail), retry_after: None }
    }

    /// Not to be tried again before that.
    pub fn after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }
}

/// Runs registered handlers. To be used within a Tokio runtime.
#[derive(Clone, Default)]
pub struct InlineRunner(HashMap<TypeName, Handler>);

impl InlineRunner {
    pub fn new() -> Self {
        InlineRunner::default()
    }

    /// Serves a type; registering it again replaces its handler.
    pub fn register<F, R>(&mut self, name: TypeName, handler: F) -> &mut Self
    where
        F: Fn(InlineContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Json, InlineError>> + Send + 'static,
    {
        self.0.insert(name, Arc::new(move |context| handler(context).boxed()));
        self
    }
}

impl Runner for InlineRunner {
    fn launch(&self, spec: &HostSpec, sink: HostSink) -> Box<dyn Host> {
        let served = |name: &TypeName| Some((name.clone(), self.0.get(name)?.clone()));
        let handlers: HashMap<_, _> = spec.types.iter().filter_map(|t| served(&t.name)).collect();
        let missing = spec.types.iter().find(|t| !handlers.contains_key(&t.name));
        let failed =
            missing.map(|t| TaskError::new("NO_HANDLER", format!("no handler is registered for `{}`", t.name)));
        let live = Arc::new(Live {
            sink,
            handlers,
            book: Mutex::default(),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
            gone: CancellationToken::new(),
        });
        tokio::spawn(live.clone().until_gone(failed));
        Box::new(InlineHost(live))
    }
}

/// A host of which we hold the handle.
struct InlineHost(Arc<Live>);

struct Live {
    sink: HostSink,
    handlers: HashMap<TypeName, Handler>,
    book: Mutex<Book>,
    tasks: TaskTracker,
    /// No more runs: a shutdown or a kill.
    ending: CancellationToken,
    gone: CancellationToken,
}

#[derive(Default)]
struct Book {
    runs: HashMap<RunRef, (Arc<Run>, AbortHandle)>,
    closed: bool,
    killed: bool,
}

impl Live {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until_gone(self: Arc<Self>, failed: Option<TaskError>) {
        let refused = failed.is_some();
        match failed {
            Some(error) => {
                self.close(false);
                (self.sink)(HostEvent::StartFailed { error });
            }
            None => (self.sink)(HostEvent::Ready { pid: None }),
        }
        self.ending.cancelled().await;
        self.tasks.wait().await;
        let cause = match (refused, self.book().killed) {
            (true, _) => ExitCause::NotLaunched,
            (_, true) => ExitCause::Killed,
            _ => ExitCause::Ordered,
        };
        self.gone.cancel();
        (self.sink)(HostEvent::Exited(HostExit { cause, detail: format!("inline, {}", cause.as_str()) }));
    }

    fn close(&self, kill: bool) {
        let mut book = self.book();
        book.closed = true;
        if kill {
            book.killed |= !self.gone.is_cancelled();
            book.runs.values().for_each(|(_, task)| task.abort());
        }
        drop(book);
        self.tasks.close();
        self.ending.cancel();
    }

    fn start(self: &Arc<Self>, request: RunRequest) {
        let number = request.run;
        // The book is locked until the run is in it, since the run takes itself out.
        let mut book = self.book();
        let handler = self.handlers.get(&request.task_type).filter(|_| !book.closed);
        let Some(handler) = handler.cloned() else {
            drop(book);
            let error = TaskError::new("HOST_STOPPING", "this host takes no more runs of that type");
            return self.tell(number, RunEvent::Failed { failure: RunFailure::Retryable, error, retry_after: None });
        };
        let run = Arc::new(Run::new(request, self.sink.clone()));
        let context = InlineContext(run.clone());
        let task = self.tasks.spawn(self.clone().work(number, handler, context));
        book.runs.insert(number, (run, task.abort_handle()));
    }

    async fn work(self: Arc<Self>, number: RunRef, handler: Handler, context: InlineContext) {
        let run = context.0.clone();
        // The call itself may panic as well as what it returns.
        let result = AssertUnwindSafe(async move { handler(context).await }).catch_unwind().await;
        self.book().runs.remove(&number);
        self.tell(number, ended(result, run.reason()));
    }

    fn tell(&self, run: RunRef, event: RunEvent) {
        (self.sink)(HostEvent::Run { run, event });
    }

    fn with(&self, run: RunRef, act: impl FnOnce(&Run)) {
        let run = self.book().runs.get(&run).map(|(run, _)| run.clone());
        if let Some(run) = run {
            act(&run);
        }
    }
}

/// After a cancel, whatever is not a result is the end that was asked for.
fn ended(result: Result<Result<Json, InlineError>, Box<dyn Any + Send>>, stopped: Option<EndReason>) -> RunEvent {
    let error = match result {
        Ok(Ok(result)) => return RunEvent::Done { result },
        Ok(Err(error)) => error,
        Err(panic) => InlineError::retryable("PANIC", format!("the handler panicked: {}", text_of(&*panic))),
    };
    match stopped {
        None => RunEvent::Failed { failure: error.failure, error: error.error, retry_after: error.retry_after },
        Some(reason) => {
            let detail = format!("cancelled: {}; while stopping: {}", reason.as_str(), error.error.detail);
            let error = TaskError::new("CANCELLED", detail);
            RunEvent::Failed { failure: RunFailure::Cancelled, error, retry_after: None }
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

impl Host for InlineHost {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn send(&self, command: HostCommand) {
        match command {
            HostCommand::Run(request) => self.0.start(*request),
            HostCommand::Cancel { run, reason } => self.0.with(run, |run| run.cancel(reason)),
            HostCommand::Ack { run, reference, fenced } => self.0.with(run, |run| run.acked(reference, fenced)),
            HostCommand::Shutdown => self.0.close(false),
            HostCommand::Ping { number } => (self.0.sink)(HostEvent::Pong { number }),
        }
    }

    fn kill(&self) {
        self.0.close(true);
    }

    fn gone(&self) -> CancellationToken {
        self.0.gone.clone()
    }
}

impl Drop for InlineHost {
    fn drop(&mut self) {
        self.kill();
    }
}
