//! A runner whose runs do what their payload says, and that keeps a book of what was really executed: the judge of how
//! often something ran, and beside what.
//!
//! A payload is `{"do": [STEP, …]}`; without steps, or after the last one, the run is done with `{"epoch": n}`. Steps:
//! `{"stage": "x"}`, `{"progress": 0.5}`, `{"output": any}`, `{"checkpoint": any}` (waits for its ack), `{"sleep_ms": n}`
//! (stops when asked to), `{"gate": true}` (waits until the test opens the gate, or it is asked to stop), `{"stubborn_ms": n}` (sleeps and ignores what it is asked), `{"fail": {"permanent": bool,
//! "code": "X"}}`, `{"die": true}` (the host dies by signal 9), `{"until_attempt": n, "then": STEP}` (only on attempts up
//! to n).

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::domain::{EndReason, Json, LeaseKey, TaskError};
use crate::ports::runner::{
    ExitCause, Host, HostCommand, HostEvent, HostExit, HostSink, HostSpec, RunEvent, RunFailure, RunRef, RunRequest,
    Runner,
};
use crate::supervise::lock::lock;

/// What really happened, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Executed {
    Started {
        key: LeaseKey,
        host: u32,
    },
    /// Its code, whatever it did, is over: by itself, asked, or with its host.
    Ended {
        key: LeaseKey,
        host: u32,
    },
    HostStarted {
        host: u32,
    },
    HostGone {
        host: u32,
    },
}

#[derive(Default)]
struct Book {
    lines: Mutex<Vec<Executed>>,
    hosts: AtomicU32,
    failing_starts: AtomicU32,
    held: watch::Sender<bool>,
    gate: watch::Sender<bool>,
}

/// Launches scripted hosts. Clones share one book.
#[derive(Clone, Default)]
pub struct ScriptedRunner(Arc<Book>);

impl ScriptedRunner {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next `n` hosts do not start.
    pub fn fail_starts(&self, n: u32) {
        self.0.failing_starts.store(n, Ordering::SeqCst);
    }

    /// While held, hosts that start do not become ready.
    pub fn hold_starts(&self, held: bool) {
        self.0.held.send_replace(held);
    }

    /// Lets runs through that wait at the gate, or holds the next ones.
    pub fn open_gate(&self, open: bool) {
        self.0.gate.send_replace(open);
    }

    pub fn executed(&self) -> Vec<Executed> {
        lock(&self.0.lines).clone()
    }

    /// How often the task's code was really started.
    pub fn starts(&self, key: impl Fn(LeaseKey) -> bool) -> usize {
        self.executed().iter().filter(|line| matches!(line, Executed::Started { key: k, .. } if key(*k))).count()
    }

    /// Runs that started and have not ended.
    pub fn alive(&self) -> Vec<LeaseKey> {
        let mut alive = Vec::new();
        for line in self.executed() {
            match line {
                Executed::Started { key, .. } => alive.push(key),
                Executed::Ended { key, .. } => alive.retain(|k| *k != key),
                Executed::HostStarted { .. } | Executed::HostGone { .. } => {}
            }
        }
        alive
    }

    /// Whether two attempts of one task ever ran at the same time.
    pub fn overlapped(&self) -> bool {
        let mut alive: Vec<LeaseKey> = Vec::new();
        self.executed().into_iter().any(|line| match line {
            Executed::Started { key, .. } => {
                let overlap = alive.iter().any(|k| k.task == key.task);
                alive.push(key);
                overlap
            }
            Executed::Ended { key, .. } => {
                alive.retain(|k| *k != key);
                false
            }
            Executed::HostStarted { .. } | Executed::HostGone { .. } => false,
        })
    }
}

impl Book {
    fn write(&self, line: Executed) {
        lock(&self.lines).push(line);
    }
}

enum Order {
    Do(HostCommand),
    Kill,
}

struct ScriptedHost {
    orders: mpsc::UnboundedSender<Order>,
    gone: CancellationToken,
}

impl Host for ScriptedHost {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn send(&self, command: HostCommand) {
        // a host that has gone ignores it
        let _ = self.orders.send(Order::Do(command));
    }

    fn kill(&self) {
        // as above
        let _ = self.orders.send(Order::Kill);
    }

    fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }
}

impl Drop for ScriptedHost {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Runner for ScriptedRunner {
    fn launch(&self, _: &HostSpec, sink: HostSink) -> Box<dyn Host> {
        let (orders, inbox) = mpsc::unbounded_channel();
        let gone = CancellationToken::new();
        let number = self.0.hosts.fetch_add(1, Ordering::SeqCst) + 1;
        let failing =
            self.0.failing_starts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        let life = Life {
            book: Arc::clone(&self.0),
            sink,
            gone: gone.clone(),
            number,
            runs: HashMap::new(),
            tasks: JoinSet::new(),
        };
        #[expect(clippy::disallowed_methods, reason = "a process stands for itself: it ends with its orders")]
        drop(tokio::spawn(life.live(inbox, failing)));
        Box::new(ScriptedHost { orders, gone })
    }
}

struct Life {
    book: Arc<Book>,
    sink: HostSink,
    gone: CancellationToken,
    number: u32,
    runs: HashMap<RunRef, RunControl>,
    tasks: JoinSet<(RunRef, RunEnd)>,
}

struct RunControl {
    key: LeaseKey,
    stop: CancellationToken,
    acks: mpsc::UnboundedSender<bool>,
}

enum RunEnd {
    Said(RunEvent),
    Died,
}

impl Life {
    async fn live(mut self, mut inbox: mpsc::UnboundedReceiver<Order>, failing: bool) {
        self.book.write(Executed::HostStarted { host: self.number });
        if failing {
            (self.sink)(HostEvent::StartFailed { error: TaskError::new("SETUP_FAILED", "scripted") });
            return self.exit(ExitCause::Status(1));
        }
        let mut held = self.book.held.subscribe();
        let mut ready = false;
        loop {
            let cause = tokio::select! {
                _ = held.wait_for(|held| !held), if !ready => {
                    ready = true;
                    (self.sink)(HostEvent::Ready { pid: None });
                    None
                }
                order = inbox.recv() => match order {
                    None | Some(Order::Kill) => Some(ExitCause::Killed),
                    Some(Order::Do(command)) => self.obey(command),
                },
                Some(ended) = self.tasks.join_next() => self.ended(ended),
            };
            if let Some(cause) = cause {
                return self.exit(cause);
            }
        }
    }

    fn obey(&mut self, command: HostCommand) -> Option<ExitCause> {
        match command {
            HostCommand::Run(request) => self.run(*request),
            HostCommand::Cancel { run, reason } => self.cancel(run, reason),
            HostCommand::Ack { run, fenced, .. } => {
                if let Some(control) = self.runs.get(&run) {
                    // a run that has ended waits for none
                    let _ = control.acks.send(fenced);
                }
            }
            HostCommand::Shutdown => return Some(ExitCause::Ordered),
            HostCommand::Ping { number } => (self.sink)(HostEvent::Pong { number }),
        }
        None
    }

    fn run(&mut self, request: RunRequest) {
        let (stop, (acks, waiting)) = (CancellationToken::new(), mpsc::unbounded_channel());
        self.book.write(Executed::Started { key: request.key, host: self.number });
        self.runs.insert(request.run, RunControl { key: request.key, stop: stop.clone(), acks });
        let (sink, gate) = (Arc::clone(&self.sink), self.book.gate.subscribe());
        self.tasks.spawn(async move { (request.run, perform(&request, &sink, &stop, waiting, gate).await) });
    }

    fn cancel(&self, run: RunRef, _: EndReason) {
        if let Some(control) = self.runs.get(&run) {
            control.stop.cancel();
        }
    }

    fn ended(&mut self, ended: Result<(RunRef, RunEnd), tokio::task::JoinError>) -> Option<ExitCause> {
        let (run, end) = ended.ok()?;
        match end {
            RunEnd::Died => Some(ExitCause::Signal(9)),
            RunEnd::Said(event) => {
                let control = self.runs.remove(&run)?;
                self.book.write(Executed::Ended { key: control.key, host: self.number });
                (self.sink)(HostEvent::Run { run, event });
                None
            }
        }
    }

    fn exit(mut self, cause: ExitCause) {
        self.tasks.abort_all();
        for control in self.runs.values() {
            self.book.write(Executed::Ended { key: control.key, host: self.number });
        }
        self.book.write(Executed::HostGone { host: self.number });
        self.gone.cancel();
        (self.sink)(HostEvent::Exited(HostExit { cause, detail: format!("scripted: {}", cause.as_str()) }));
    }
}

async fn perform(
    request: &RunRequest,
    sink: &HostSink,
    stop: &CancellationToken,
    mut acks: mpsc::UnboundedReceiver<bool>,
    mut gate: watch::Receiver<bool>,
) -> RunEnd {
    let payload: Value = serde_json::from_str(request.payload.as_str()).unwrap_or(Value::Null);
    let mut steps: VecDeque<Value> = payload["do"].as_array().cloned().unwrap_or_default().into();
    let mut reference = 0;
    let say = |event| sink(HostEvent::Run { run: request.run, event });
    while let Some(step) = steps.pop_front() {
        let name = step.as_object().and_then(|o| o.keys().next().cloned()).unwrap_or_default();
        let value = &step[&name];
        match name.as_str() {
            "stage" => say(RunEvent::Stage { name: value.as_str().unwrap_or_default().to_owned() }),
            "progress" => say(RunEvent::Progress { fraction: value.as_f64().unwrap_or(0.0), message: None }),
            "output" => {
                reference += 1;
                say(RunEvent::Output { reference, value: Json::trusted(value.to_string()) });
            }
            "checkpoint" => {
                reference += 1;
                say(RunEvent::Checkpoint { reference, value: Json::trusted(value.to_string()) });
                tokio::select! {
                    Some(false) = acks.recv() => {}
                    () = stop.cancelled() => return RunEnd::Said(stopped()),
                }
            }
            "sleep_ms" => tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(value.as_u64().unwrap_or(0))) => {}
                () = stop.cancelled() => return RunEnd::Said(stopped()),
            },
            "gate" => tokio::select! {
                _ = gate.wait_for(|open| *open) => {}
                () = stop.cancelled() => return RunEnd::Said(stopped()),
            },
            "stubborn_ms" => tokio::time::sleep(Duration::from_millis(value.as_u64().unwrap_or(0))).await,
            "fail" => return RunEnd::Said(failed(value)),
            "die" => return RunEnd::Died,
            "then" | "until_attempt" => {
                if u64::from(request.attempt) <= step["until_attempt"].as_u64().unwrap_or(0) {
                    steps.push_front(step["then"].clone());
                }
            }
            other => {
                return RunEnd::Said(failed(&json!({ "permanent": true, "code": format!("NO_SUCH_STEP_{other}") })));
            }
        }
    }
    RunEnd::Said(RunEvent::Done { result: Json::trusted(json!({ "epoch": request.key.epoch.0 }).to_string()) })
}

fn stopped() -> RunEvent {
    let error = TaskError::new("CANCELLED", "it was asked to stop");
    RunEvent::Failed { failure: RunFailure::Cancelled, error, retry_after: None }
}

fn failed(value: &Value) -> RunEvent {
    let permanent = value["permanent"].as_bool().unwrap_or(false);
    let failure = if permanent { RunFailure::Permanent } else { RunFailure::Retryable };
    let code = value["code"].as_str().unwrap_or("SCRIPTED");
    let retry_after = value["retry_after_ms"].as_u64().map(Duration::from_millis);
    RunEvent::Failed { failure, error: TaskError::new(code, "as the script says"), retry_after }
}
