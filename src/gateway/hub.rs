//! Fans the store's signals out to those who watch a task, so that a thousand readers do not each read every signal.
//!
//! A watcher is told that there may be news, never what: it looks into the store. Signals can get lost, so it looks
//! there from time to time anyway.

use std::collections::HashMap;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use windlass_actors::domain::TaskId;
use windlass_actors::ports::signals::Signal;

/// Rings when a task may have news.
pub type Bell = watch::Receiver<()>;

/// Waits until the bell rings; for ever if there is none, or the hub is gone.
pub async fn rung(bell: &mut Option<Bell>) {
    if let Some(bell) = bell
        && bell.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Forgets past rings: what they told of is read from the store next.
pub fn hush(bell: &mut Option<Bell>) {
    if let Some(bell) = bell {
        bell.borrow_and_update();
    }
}

struct Watch {
    task: TaskId,
    reply: oneshot::Sender<Bell>,
}

/// The way to the hub.
#[derive(Clone, Debug)]
pub struct Hub(mpsc::Sender<Watch>);

impl Hub {
    /// The handle and the hub's own work, which lasts as long as there are handles.
    pub fn new(signals: broadcast::Receiver<Signal>) -> (Hub, impl Future<Output = ()> + Send) {
        let (sender, receiver) = mpsc::channel(64);
        (Hub(sender), run(signals, receiver))
    }

    /// From the answer on, what is committed about the task rings. None once the hub is gone.
    pub async fn watch(&self, task: TaskId) -> Option<Bell> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Watch { task, reply }).await.ok()?;
        answer.await.ok()
    }
}

async fn run(mut signals: broadcast::Receiver<Signal>, mut watches: mpsc::Receiver<Watch>) {
    let mut bells: HashMap<TaskId, watch::Sender<()>> = HashMap::new();
    let mut prune_at = 1024;
    let mut signals_end = false;
    loop {
        tokio::select! {
            biased;
            watch = watches.recv() => {
                let Some(Watch { task, reply }) = watch else { return };
                if bells.len() >= prune_at {
                    bells.retain(|_, bell| !bell.is_closed());
                    prune_at = (bells.len() * 2).max(1024);
                }
                let bell = bells.entry(task).or_default().subscribe();
                // Who asked may have left already.
                let _ = reply.send(bell);
            }
            signal = signals.recv(), if !signals_end => match signal {
                Ok(Signal::Recorded { task, .. }) => ring(&mut bells, task),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => bells.values().for_each(|bell| { bell.send_replace(()); }),
                Err(RecvError::Closed) => signals_end = true,
            },
        }
    }
}

fn ring(bells: &mut HashMap<TaskId, watch::Sender<()>>, task: TaskId) {
    if let Some(bell) = bells.get(&task)
        && bell.send(()).is_err()
    {
        bells.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::JoinSet;

    fn task() -> TaskId {
        TaskId(uuid::Uuid::now_v7())
    }

    #[tokio::test]
    async fn a_bell_rings_for_its_task_alone() {
        let (signals, receiver) = broadcast::channel(16);
        let (hub, work) = Hub::new(receiver);
        let mut tasks = JoinSet::new();
        tasks.spawn(work);
        let (mine, other) = (task(), task());
        let (mut bell, deaf) = (hub.watch(mine).await.unwrap(), hub.watch(other).await.unwrap());
        signals.send(Signal::Recorded { task: mine, last_seq: 1 }).unwrap();
        bell.changed().await.unwrap();
        assert!(!deaf.has_changed().unwrap());
    }

    #[tokio::test]
    async fn lost_signals_ring_every_bell_and_the_hub_ends_with_its_handles() {
        let (signals, receiver) = broadcast::channel(2);
        let (hub, work) = Hub::new(receiver);
        let watched = task();
        for _ in 0..5 {
            signals.send(Signal::Recorded { task: task(), last_seq: 1 }).unwrap();
        }
        let mut tasks = JoinSet::new();
        let asked = hub.clone();
        tasks.spawn(async move { asked.watch(watched).await.unwrap().changed().await.unwrap() });
        tasks.spawn(work);
        tasks.join_next().await.unwrap().unwrap();
        drop(hub);
        tasks.join_next().await.unwrap().unwrap();
    }
}
