//! The top of a tree: starts it, stops it, and tells how it ended.
//!
//! ractor tells an actor's end to its parent only, and the top has none: a guardian above it listens, and is no part of
//! the roster.

use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::address::Unreachable;
use super::child::{self, Child};
use super::exit::Exit;
use super::life::Life;
use super::place::Place;
use super::roster::Roster;
use super::row::Stay;
use super::run::{Asked, KILL_WITHIN, ask};
use super::supervisor::{Supervisor, SupervisorArgs, SupervisorMsg, SupervisorSpec};

/// A running tree. Dropped, it is killed; call [`Root::stop`] before.
#[derive(Debug)]
pub struct Root {
    guardian: Guarded,
    supervisor: ActorRef<SupervisorMsg>,
    gone: CancellationToken,
    exit: watch::Receiver<Option<Exit>>,
    roster: Roster,
}

/// The tree ended while it started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the supervision tree did not start: {0}")]
pub struct RootFailed(pub Exit);

/// Starts a tree, children in order. Answers when each child has been tried once, nested ones included; those that failed
/// are being restarted by then.
pub async fn start_root(name: &str, roster: Roster, spec: SupervisorSpec) -> Result<Root, RootFailed> {
    let (told, mut exit) = watch::channel(None);
    let guardian = Actor::spawn(None, Guardian, told).await;
    let (guardian, _) = guardian.map_err(|error| RootFailed(Exit::of_start(&error)))?;
    let guardian = Guarded(guardian.get_cell());
    let place = Place::root(&roster, name);
    let life = Life::begin(place.clone(), Stay::WithActor);
    let gone = life.gone();
    let (booted, when_booted) = oneshot::channel();
    let args = SupervisorArgs { spec, place, booted };
    let supervisor = child::spawn(Supervisor, args, life, guardian.0.clone()).await.map_err(RootFailed)?;
    tokio::select! {
        Ok(()) = when_booted => {}
        exit = end_of(&mut exit) => return Err(RootFailed(exit)),
    }
    Ok(Root { guardian, supervisor, gone, exit, roster })
}

impl Root {
    /// Stops the tree, last child first, and waits until all of it is gone. Each child has its own limit; what is left
    /// after `limit` is killed. Answers with the paths that did not end in time. Called again, it waits no longer.
    pub async fn stop(&self, limit: Duration) -> Vec<String> {
        ask(&self.supervisor, Asked::Stop);
        if timeout(limit, self.gone.cancelled()).await.is_err() {
            self.kill_what_is_left(limit).await;
        }
        self.roster.take_overdue()
    }

    /// Resolves when the tree has ended, with how: [`Exit::Failed`] when its budget is spent.
    pub async fn ended(&self) -> Exit {
        end_of(&mut self.exit.clone()).await
    }

    /// Starts one more child below the root.
    pub fn start_child(&self, child: Child) -> Result<(), Unreachable<Child>> {
        match self.supervisor.cast(SupervisorMsg::StartChild(child)) {
            Err(ractor::MessagingErr::SendErr(SupervisorMsg::StartChild(child))) => Err(Unreachable(child)),
            _ => Ok(()),
        }
    }

    /// Who lives in this tree.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    async fn kill_what_is_left(&self, limit: Duration) {
        for row in self.roster.snapshot() {
            self.roster.note_overdue(&row.path);
        }
        tracing::error!(?limit, "the supervision tree did not stop in time and is killed");
        self.guardian.0.kill();
        if timeout(KILL_WITHIN, self.gone.cancelled()).await.is_err() {
            tracing::error!("the supervision tree is killed, but something of it does not yield and still runs");
        }
    }
}

/// The guardian of a tree. Dropped, also half way through the start, it is killed and the tree with it.
#[derive(Debug)]
struct Guarded(ActorCell);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.kill();
    }
}

async fn end_of(exit: &mut watch::Receiver<Option<Exit>>) -> Exit {
    match exit.wait_for(Option::is_some).await {
        Ok(exit) => exit.clone().unwrap_or(Exit::Killed),
        // the guardian is gone without a word: it was killed, and all with it
        Err(_) => Exit::Killed,
    }
}

struct Guardian;

impl Actor for Guardian {
    type Msg = ();
    type State = watch::Sender<Option<Exit>>;
    type Arguments = watch::Sender<Option<Exit>>;

    async fn pre_start(&self, _: ActorRef<()>, told: Self::Arguments) -> Result<Self::State, ActorProcessingErr> {
        Ok(told)
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<()>,
        event: SupervisionEvent,
        told: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if let Some((_, exit)) = Exit::of(event) {
            told.send_replace(Some(exit));
            myself.stop(None);
        }
        Ok(())
    }
}
