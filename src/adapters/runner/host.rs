//! One host's life: from the launch to the event that says that nothing of it is left.

#![allow(clippy::disallowed_methods, reason = "a host is its own owner: its handle kills it, and `gone` tells its end")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use windlass_actors::domain::TaskError;
use windlass_actors::ports::runner::{ExitCause, Host, HostCommand, HostEvent, HostExit, HostSink, RunEvent};

use super::capture::{Stream, Tail, capture};
use super::frame::{FrameCodec, FrameError};
use super::leftovers::{Clearing, Leftovers};
use super::message::{self, Message};
use super::spawn::{Launch, Spawned, Spawner};
use super::{proc, sweep, write};

/// How long what a worker said is still read once nothing of it is left: somebody else may hold its pipes.
const DRAIN: Duration = Duration::from_secs(1);
/// How long a worker may live on once it has closed its protocol socket.
const LINGER: Duration = Duration::from_secs(5);
const MEMORY_EVERY: Duration = Duration::from_millis(250);
/// Commands that may wait for a worker; more than its credit and its slots can ever need.
const QUEUE: usize = 4096;

/// A host of which we hold the handle.
pub(super) struct ProcessHost {
    state: Arc<State>,
    commands: mpsc::Sender<HostCommand>,
}

/// What a host's handle and its life share.
#[derive(Default)]
pub(super) struct State {
    worker: AtomicU32,
    shim: AtomicU32,
    /// A shutdown was asked for: its exit is in order.
    shut: AtomicBool,
    /// Why we killed it: the first reason holds.
    order: OnceLock<(ExitCause, String)>,
    killed: CancellationToken,
    gone: CancellationToken,
    leftovers: Mutex<Leftovers>,
    /// What the worker said last on standard error, since a run began in it while no other was there.
    tail: Tail,
}

impl State {
    fn leftovers(&self) -> std::sync::MutexGuard<'_, Leftovers> {
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self, cause: ExitCause, why: impl Into<String>) {
        let _ = self.order.set((cause, why.into()));
        self.killed.cancel();
    }

    fn tree(&self) -> Option<Pid> {
        Pid::from_raw(self.shim.load(Ordering::Acquire) as i32)
    }
}

/// What a host is made of.
pub(super) struct Plan {
    pub launch: Launch,
    pub sink: HostSink,
    pub artifacts: Arc<std::path::Path>,
    pub memory_mb: Option<u64>,
    /// `NAME=value` in the environment of every process of this host and of no other.
    pub mark: String,
    /// Where the body goes that a describing process sends.
    pub described: Option<Arc<OnceLock<Bytes>>>,
}

/// Begins a host's life on the current runtime.
pub(super) fn begin(plan: Plan, spawner: Spawner) -> ProcessHost {
    let state = Arc::new(State::default());
    let (commands, queued) = mpsc::channel(QUEUE);
    tokio::spawn(live(plan, spawner, state.clone(), queued));
    ProcessHost { state, commands }
}

impl Host for ProcessHost {
    fn pid(&self) -> Option<u32> {
        Some(self.state.worker.load(Ordering::Acquire)).filter(|pid| *pid != 0)
    }

    fn send(&self, command: HostCommand) {
        if matches!(command, HostCommand::Shutdown) {
            self.state.shut.store(true, Ordering::Release);
        }
        let mut leftovers = self.state.leftovers();
        if matches!(command, HostCommand::Run(_)) && leftovers.is_idle() {
            // what earlier runs said is not for the owner of this one
            self.state.tail.clear();
        }
        leftovers.asked(&command);
        drop(leftovers);
        if let Err(mpsc::error::TrySendError::Full(_)) = self.commands.try_send(command) {
            self.state.kill(ExitCause::ProtocolBroken, format!("it left {QUEUE} messages unread"));
        }
    }

    fn kill(&self) {
        self.state.kill(ExitCause::Killed, "killed by the node");
    }

    fn gone(&self) -> CancellationToken {
        self.state.gone.clone()
    }

    fn memory(&self) -> Option<u64> {
        self.state.tree().map(proc::resident)
    }
}

impl Drop for ProcessHost {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a worker's tree ended, as its shim reported.
#[derive(Debug)]
enum End {
    Status(i32),
    Signal(i32),
    Unlaunched(String),
    /// The shim was killed; what it left was swept.
    ShimLost,
}

async fn live(plan: Plan, spawner: Spawner, state: Arc<State>, commands: mpsc::Receiver<HostCommand>) {
    // Should this task panic, its descriptors close, which ends the tree: nobody may wait for ever then.
    let gone = state.gone.clone().drop_guard();
    let Plan { launch, sink, artifacts, memory_mb, mark, described } = plan;
    let python = launch.python.to_string_lossy().into_owned();
    let end = match spawner.spawn(launch).await.and_then(Joined::new) {
        Ok(joined) => {
            let memory = memory_mb.map(|mb| mb << 20);
            let life = Life { sink: &sink, state: &state, mark: &mark, described: described.as_deref() };
            joined.live(&life, commands, &artifacts, memory).await
        }
        Err(why) => End::Unlaunched(why.to_string()),
    };
    drop(gone);
    let exit = exit(&end, &state, &python, &state.tail.text());
    if exit.cause == ExitCause::NotLaunched {
        sink(HostEvent::StartFailed { error: TaskError::new(exit.cause.code(), exit.detail.clone()) });
    }
    sink(HostEvent::Exited(exit));
}

#[derive(Clone, Copy)]
struct Life<'a> {
    sink: &'a HostSink,
    state: &'a State,
    mark: &'a str,
    described: Option<&'a OnceLock<Bytes>>,
}

/// Our ends, registered with the runtime.
struct Joined {
    control: UnixStream,
    protocol: UnixStream,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    shim: super::spawn::Shim,
}

impl Joined {
    fn new(spawned: Spawned) -> std::io::Result<Self> {
        let Spawned { shim, control, protocol, stdout, stderr } = spawned;
        control.set_nonblocking(true)?;
        protocol.set_nonblocking(true)?;
        Ok(Joined {
            control: UnixStream::from_std(control)?,
            protocol: UnixStream::from_std(protocol)?,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            shim,
        })
    }

    async fn live(
        self,
        life: &Life<'_>,
        commands: mpsc::Receiver<HostCommand>,
        artifacts: &std::path::Path,
        memory: Option<u64>,
    ) -> End {
        let Joined { control, protocol, stdout, stderr, shim } = self;
        life.state.shim.store(shim.pid(), Ordering::Release);
        let (from, to) = protocol.into_split();
        let over = life.state.gone.clone();
        let out = Stream { name: "stdout", level: "info", sink: life.sink, tail: None };
        let err = Stream { name: "stderr", level: "error", sink: life.sink, tail: Some(&life.state.tail) };
        let ended = async {
            let end = until_gone(control, life).await;
            life.state.shim.store(0, Ordering::Release);
            drop(shim);
            over.cancel();
            end
        };
        let (end, ..) = tokio::join!(
            ended,
            until(&over, DRAIN, read(FramedRead::new(from, FrameCodec), life)),
            until(&over, DRAIN, capture(stdout, out)),
            until(&over, DRAIN, capture(stderr, err)),
            until(&over, Duration::ZERO, write::commands(to, commands, artifacts)),
            until(&over, Duration::ZERO, watch_memory(life.state, memory)),
        );
        end
    }
}

/// Does that until it is done, or for that long after the host is over.
async fn until(over: &CancellationToken, then: Duration, work: impl Future<Output = ()>) {
    let late = async {
        over.cancelled().await;
        tokio::time::sleep(then).await;
    };
    tokio::select! { biased; () = work => {} () = late => {} }
}

/// How long a shim may take to kill all that is below it.
const OBEYED_WITHIN: Duration = Duration::from_secs(5);

/// Follows the shim until nothing of the tree is left; passes the order to kill on to it.
async fn until_gone(mut control: UnixStream, life: &Life<'_>) -> End {
    let (from, mut to) = control.split();
    let mut lines = BufReader::new(from).lines();
    let (mut ordered, overdue) = (false, tokio::time::sleep(OBEYED_WITHIN));
    tokio::pin!(overdue);
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => if let Some(end) = heard(&line, life.state) { return end },
                _ => return shim_lost(life).await,
            },
            () = life.state.killed.cancelled(), if !ordered => {
                ordered = true;
                overdue.as_mut().reset(tokio::time::Instant::now() + OBEYED_WITHIN);
                let _ = to.write_all(b"k").await;
            }
            // a shim that was stopped, or hangs: it goes with the rest, and the mark finds what it leaves
            () = &mut overdue, if ordered => {
                tracing::warn!(mark = life.mark, "a shim did not obey its order to kill, and is killed");
                if let Some(shim) = life.state.tree() {
                    let _ = rustix::process::kill_process(shim, rustix::process::Signal::KILL);
                }
                return shim_lost(life).await;
            }
        }
    }
}

fn heard(line: &str, state: &State) -> Option<End> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "pid" => {
            state.worker.store(rest.parse().ok()?, Ordering::Release);
            None
        }
        "exit" => Some(End::Status(rest.parse().ok()?)),
        "signal" => Some(End::Signal(rest.parse().ok()?)),
        _ => Some(End::Unlaunched(rest.to_owned())),
    }
}

/// The worker died with its shim; what it had started may live, and bears the host's mark.
async fn shim_lost(life: &Life<'_>) -> End {
    let mark = life.mark.to_owned();
    let swept = tokio::task::spawn_blocking(move || sweep::sweep_variable(&mark)).await;
    if let Ok(left) = swept.map(|swept| swept.left)
        && !left.is_empty()
    {
        tracing::error!(?left, "processes of a host whose shim was killed live on: they can't be killed");
    }
    End::ShimLost
}

async fn read(mut frames: FramedRead<tokio::net::unix::OwnedReadHalf, FrameCodec>, life: &Life<'_>) {
    let mut warned = false;
    while let Some(frame) = frames.next().await {
        let frame = match frame {
            Ok(frame) => frame,
            // A worker that dies may stop within a message: its end is the news then.
            Err(FrameError::Truncated | FrameError::Io(_)) => break,
            Err(why) => return broken(why.to_string(), life),
        };
        match (message::read(&frame), life.described) {
            (Ok(Message::Event(event)), _) => tell(event, life),
            (Ok(Message::Described), Some(slot)) => {
                let _ = slot.set(frame.body);
            }
            (Ok(Message::Described | Message::Unknown), _) if warned => {}
            (Ok(Message::Described | Message::Unknown), _) => {
                warned = true;
                tracing::warn!(mark = life.mark, "a worker sends messages that this version does not know; ignored");
            }
            (Err(why), _) => return broken(why, life),
        }
    }
    if tokio::time::timeout(LINGER, life.state.gone.cancelled()).await.is_err() {
        broken("it closed its protocol socket and lives on".to_owned(), life);
    }
}

fn tell(event: HostEvent, life: &Life<'_>) {
    if let HostEvent::Log { stream, text, .. } | HostEvent::Run { event: RunEvent::Log { stream, text, .. }, .. } =
        &event
        && stream == "stderr"
    {
        life.state.tail.push(text);
    }
    let processes = || life.state.tree().map(proc::living_descendants).unwrap_or_default();
    let clearing = life.state.leftovers().at(&event, processes);
    if clearing != Clearing::Instead {
        (life.sink)(event);
    }
    if clearing != Clearing::Nothing {
        life.state.kill(ExitCause::Killed, "a run that was stopped left processes behind");
    }
}

fn broken(why: String, life: &Life<'_>) {
    life.state.kill(ExitCause::ProtocolBroken, why.clone());
    (life.sink)(HostEvent::ProtocolBroken { detail: why });
}

async fn watch_memory(state: &State, limit: Option<u64>) {
    let Some(limit) = limit else { return };
    loop {
        tokio::time::sleep(MEMORY_EVERY).await;
        let Some(tree) = state.tree() else { return };
        // Off the runtime: `/proc` may wait for a process that faults.
        let held = tokio::task::spawn_blocking(move || held_beyond(tree, limit)).await;
        if let Ok(Some(held)) = held {
            let (held, limit) = (held >> 20, limit >> 20);
            state.kill(ExitCause::OutOfMemory, format!("its processes held {held} MiB, more than their {limit} MiB"));
            return;
        }
    }
}

/// The memory of a tree if it is more than that. The cheap count, which is never too low, comes first.
fn held_beyond(tree: Pid, limit: u64) -> Option<u64> {
    if proc::resident(tree) <= limit {
        return None;
    }
    Some(proc::proportional(tree)).filter(|held| *held > limit)
}

/// What the end is called. What the worker did by itself is never taken for our kill, nor the other way round.
fn exit(end: &End, state: &State, python: &str, tail: &str) -> HostExit {
    let order = state.order.get();
    let by_order = |own: ExitCause, text: String| match order {
        Some((cause, why)) => (*cause, why.clone()),
        None => (own, text),
    };
    let (cause, text) = match end {
        End::Unlaunched(why) => (ExitCause::NotLaunched, not_launched(python, why)),
        End::ShimLost => by_order(ExitCause::Signal(9), "signal 9 (SIGKILL), with its shim".to_owned()),
        End::Signal(9) => by_order(ExitCause::Signal(9), format!("signal 9 ({})", signal_name(9))),
        _ if matches!(order, Some((ExitCause::ProtocolBroken, _))) => {
            by_order(ExitCause::ProtocolBroken, String::new())
        }
        End::Signal(number) => (ExitCause::Signal(*number), format!("signal {number} ({})", signal_name(*number))),
        End::Status(0) if state.shut.load(Ordering::Acquire) => (ExitCause::Ordered, "exit status 0".to_owned()),
        End::Status(status) => (ExitCause::Status(*status), format!("exit status {status}")),
    };
    let detail = if tail.is_empty() { text } else { format!("{text}\nits last lines on standard error:\n{tail}") };
    HostExit { cause, detail }
}

fn not_launched(python: &str, why: &str) -> String {
    format!("can't start `{python}`: {why}; set `python` to an interpreter of Python 3.9 or newer")
}

fn signal_name(number: i32) -> &'static str {
    match number {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        _ => "see `kill -l`",
    }
}
