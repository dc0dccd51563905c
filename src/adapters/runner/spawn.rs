//! The thread that starts shims and reaps them.
//!
//! Starting a process blocks until it has begun; doing that on one thread keeps it off the runtime's, and a burst of
//! starts from overwhelming the machine. The shims' ends are awaited here as well, so that no handle leaves a zombie.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use tokio::sync::oneshot;

use super::environment::Environment;

const REAP_EVERY: Duration = Duration::from_millis(10);
const RESOLVE_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// A worker to be started.
pub(super) struct Launch {
    /// A Python interpreter, or a wrapper of one.
    pub python: OsString,
    pub arguments: Vec<OsString>,
    pub environment: Environment,
}

/// A worker under its shim, and our ends of what joins us to it.
pub(super) struct Spawned {
    pub shim: Shim,
    pub control: UnixStream,
    pub protocol: UnixStream,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A shim's process; reaped by the spawner when this is dropped, which is after its control socket is.
pub(super) struct Shim {
    child: Option<Child>,
    spawner: Sender<Order>,
}

impl Shim {
    pub(super) fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            let _ = self.spawner.send(Order::Reap(child));
        }
    }
}

enum Order {
    Spawn(Launch, oneshot::Sender<io::Result<Spawned>>),
    Reap(Child),
}

/// Asks the thread. It ends when no spawner and no shim is left.
#[derive(Clone)]
pub(super) struct Spawner(Sender<Order>);

impl Spawner {
    /// Starts the thread; `shim` is the program that is run with the subcommand of a shim.
    pub(super) fn start(shim: PathBuf) -> io::Result<Self> {
        let (sender, orders) = mpsc::channel();
        // The thread holds no sender of its own between orders, or it would wait for itself.
        let thread = Thread { program: shim, known: HashMap::new(), unreaped: Vec::new() };
        std::thread::Builder::new().name("windlass-spawner".into()).spawn(move || thread.run(&orders))?;
        Ok(Spawner(sender))
    }

    pub(super) async fn spawn(&self, launch: Launch) -> io::Result<Spawned> {
        let (reply, answer) = oneshot::channel();
        let lost = || io::Error::other("the thread that starts processes has ended");
        self.0.send(Order::Spawn(launch, reply)).map_err(|_| lost())?;
        let mut spawned = answer.await.map_err(|_| lost())??;
        spawned.shim.spawner = self.0.clone();
        Ok(spawned)
    }
}

struct Thread {
    program: PathBuf,
    /// Interpreters by what they were called.
    known: HashMap<OsString, OsString>,
    unreaped: Vec<Child>,
}

impl Thread {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            match self.next(orders) {
                Ok(Order::Spawn(launch, reply)) => self.answer(launch, reply),
                Ok(Order::Reap(child)) => self.unreaped.push(child),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.unreaped.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        }
        for mut child in self.unreaped {
            let _ = child.wait();
        }
    }

    fn next(&self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        if self.unreaped.is_empty() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(REAP_EVERY)
        }
    }

    fn answer(&mut self, launch: Launch, reply: oneshot::Sender<io::Result<Spawned>>) {
        // Who asked may be gone: then all of it is dropped, which ends the shim.
        if let Err(Ok(Spawned { mut shim, .. })) = reply.send(self.spawn(launch)) {
            self.unreaped.extend(shim.child.take());
        }
    }

    fn spawn(&mut self, launch: Launch) -> io::Result<Spawned> {
        let python = self.resolve(launch.python, &launch.environment);
        let (control, shims_control) = UnixStream::pair()?;
        let (protocol, workers_protocol) = UnixStream::pair()?;
        attach(&control, &workers_protocol)?;
        drop(workers_protocol);
        let mut child = Command::new(&self.program)
            .arg0("windlass")
            .args([super::shim::SUBCOMMAND.as_ref(), "--".as_ref(), python.as_os_str()])
            .args(launch.arguments)
            .env_clear()
            .envs(launch.environment)
            .stdin(OwnedFd::from(shims_control))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("a process without its pipes"));
        };
        let shim = Shim { child: Some(child), spawner: mpsc::channel().0 };
        Ok(Spawned { shim, control, protocol, stdout: stdout.into(), stderr: stderr.into() })
    }

    /// What a name such as `python3` runs in the end: a wrapper (pyenv's is a shell script) would cost every start.
    fn resolve(&mut self, python: OsString, environment: &Environment) -> OsString {
        if let Some(known) = self.known.get(&python) {
            return known.clone();
        }
        match executable(&python, environment) {
            Some(resolved) if Path::new(&resolved).is_absolute() => {
                self.known.insert(python, resolved.clone());
                resolved
            }
            _ => python,
        }
    }
}

/// Sends the worker's end of the protocol socket ahead; it waits in the control socket for the shim.
fn attach(control: &UnixStream, protocol: &UnixStream) -> io::Result<()> {
    let rights = [protocol.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&rights));
    rustix::net::sendmsg(control, &[IoSlice::new(b"p")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

fn executable(python: &OsString, environment: &Environment) -> Option<OsString> {
    let mut child = Command::new(python)
        .args(["-I", "-S", "-c", "import sys; sys.stdout.write(sys.executable)"])
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let answer = child.stdout.take().and_then(first_words);
    let _ = child.kill();
    let _ = child.wait();
    answer.filter(|a| !a.is_empty()).map(OsString::from)
}

/// A short answer, or nothing if it takes too long.
fn first_words(mut pipe: std::process::ChildStdout) -> Option<String> {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let ready = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&RESOLVE_LIMIT)).ok()?;
        let length = if ready == 0 { return None } else { pipe.read(&mut chunk).ok()? };
        if length == 0 || text.len() > chunk.len() {
            return String::from_utf8(text).ok();
        }
        text.extend_from_slice(&chunk[..length]);
    }
}
