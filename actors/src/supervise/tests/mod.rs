//! Each quirk of ractor that this room hides, shown not to come through. Time is tokio's paused clock.

mod exits;
mod lives;
mod nursery;
mod places;
mod restarts;
mod soak;
mod starts;
mod stops;
mod strategies;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use super::lock::lock;
use super::*;

pub const S: Duration = Duration::from_secs(1);

/// What the probes did, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, words: String) {
        lock(&self.0).push(words);
    }

    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// What a probe is told to do.
pub enum Do {
    Panic,
    Fail,
    Finish,
    Hang,
    Work(Duration),
    Answer(oneshot::Sender<u32>),
}

/// How a probe's start goes, by the number of the start.
pub type OnStart = fn(u32) -> Go;

pub enum Go {
    Well,
    Err,
    Panic,
    Hang,
}

/// An actor that does as it is told and logs its starts and stops.
#[derive(Clone)]
pub struct Probe {
    pub name: &'static str,
    pub log: Log,
    pub starts: Arc<AtomicU32>,
    pub on_start: OnStart,
    pub stop_takes: Duration,
}

impl Probe {
    pub fn new(name: &'static str, log: &Log) -> Self {
        Self { name, log: log.clone(), starts: Arc::default(), on_start: |_| Go::Well, stop_takes: Duration::ZERO }
    }

    pub fn child(&self, restart: Restart, address: &Address<Do>) -> Child {
        let probe = self.clone();
        Child::actor(self.name, restart, address.clone(), move |_| (probe.clone(), ()))
    }
}

/// A permanent child that logs to nowhere.
pub fn plain(name: &'static str, address: &Address<Do>) -> Child {
    Probe::new(name, &Log::default()).child(Restart::Permanent, address)
}

impl Actor for Probe {
    type Msg = Do;
    type State = u32;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Do>, (): ()) -> Result<u32, ActorProcessingErr> {
        let start = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        match (self.on_start)(start) {
            Go::Well => self.log.add(format!("{} started", self.name)),
            Go::Err => return Err("no luck".into()),
            Go::Panic => panic!("no luck at all"),
            Go::Hang => std::future::pending().await,
        }
        Ok(start)
    }

    async fn handle(&self, myself: ActorRef<Do>, message: Do, start: &mut u32) -> Result<(), ActorProcessingErr> {
        match message {
            Do::Panic => panic!("boom"),
            Do::Fail => return Err("bad".into()),
            Do::Finish => myself.stop(None),
            Do::Hang => std::future::pending().await,
            Do::Work(time) => tokio::time::sleep(time).await,
            Do::Answer(reply) => drop(reply.send(*start)),
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Do>, _: &mut u32) -> Result<(), ActorProcessingErr> {
        tokio::time::sleep(self.stop_takes).await;
        self.log.add(format!("{} stopped", self.name));
        Ok(())
    }
}

/// Waits, on the paused clock, until it is so.
pub async fn until(it_is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if it_is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it did not come to be so within a second");
}

/// Lets all that can happen now happen.
pub async fn settle() {
    tokio::time::sleep(Duration::from_micros(1)).await;
}

/// Asks the probe which start it is from.
pub async fn ask(address: &Address<Do>) -> Option<u32> {
    let (reply, answer) = oneshot::channel();
    address.cast(Do::Answer(reply)).ok()?;
    answer.await.ok()
}

pub async fn tree(spec: SupervisorSpec) -> Root {
    start_root("node", Roster::new(), spec).await.expect("the tree starts")
}

pub async fn one_for_one(children: Vec<Child>) -> Root {
    tree(SupervisorSpec::new(Strategy::OneForOne, children)).await
}

pub fn state_of(root: &Root, path: &str) -> String {
    root.roster().row(path).map_or("no row".to_owned(), |row| row.state)
}

pub fn paths(root: &Root) -> Vec<String> {
    root.roster().snapshot().into_iter().map(|row| row.path).collect()
}
