//! What a supervisor knows of a child: how to start it, whether to start it again, and how long its end may take.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, pending};
use ractor::concurrency::JoinHandle;
use ractor::{Actor, ActorCell, ActorRef, ActorRuntime, SpawnErr};
use tokio::sync::oneshot;

use super::address::Address;
use super::exit::Exit;
use super::life::Life;
use super::place::Place;
use super::row::Stay;
use super::run::{Asked, Occupant, Run};
use super::strategy::{Exhausted, Restart};
use super::supervised::Supervised;
use super::supervisor::{Supervisor, SupervisorArgs, SupervisorMsg, SupervisorSpec};

const START_WITHIN: Duration = Duration::from_secs(10);
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// Supervisors take as long as their children, each of which has a limit of its own.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_secs(365 * 24 * 3600);

type Launch = Arc<dyn Fn(Place, ActorCell) -> Launched + Send + Sync>;

/// A child of a supervisor: the recipe, not the actor. Cheap to clone.
#[derive(Clone)]
pub struct Child {
    pub(super) name: Arc<str>,
    pub(super) restart: Restart,
    pub(super) start_within: Duration,
    pub(super) stop_within: Duration,
    pub(super) asked: Asked,
    pub(super) exhausted: Exhausted,
    launch: Launch,
}

/// A child on its way up.
pub(super) struct Launched {
    pub run: Run,
    /// Resolves when the child is up, or with how its start ended.
    pub started: BoxFuture<'static, Result<(), Exit>>,
}

impl Child {
    /// An actor. `make` is called for each start with the place of that incarnation; the address holds whoever is up.
    ///
    /// Limits: 10 s to start, 5 s to stop; a spent budget escalates.
    pub fn actor<A, F>(name: impl Into<Arc<str>>, restart: Restart, address: Address<A::Msg>, make: F) -> Self
    where
        A: Actor,
        F: Fn(Place) -> (A, A::Arguments) + Send + Sync + 'static,
    {
        let stay = stay(restart);
        Self::new(name.into(), restart, move |place, parent| {
            let life = Life::begin(place.clone(), stay);
            let (actor, args) = make(place);
            let (run, linked) = launch(actor, args, life, parent, address.clone());
            Launched { run, started: started(linked).boxed() }
        })
    }

    /// A supervisor with children of its own. Permanent; it counts as started once each of its children was tried.
    pub fn supervisor(name: impl Into<Arc<str>>, spec: SupervisorSpec) -> Self {
        Self::supervisor_at(name, Address::new(), spec)
    }

    /// A supervisor that is sent [`SupervisorMsg::StartChild`] at this address.
    pub fn supervisor_at(name: impl Into<Arc<str>>, address: Address<SupervisorMsg>, spec: SupervisorSpec) -> Self {
        let mut child = Self::new(name.into(), Restart::Permanent, move |place, parent| {
            let life = Life::begin(place.clone(), Stay::WithParent);
            let (booted, when_booted) = oneshot::channel();
            let args = SupervisorArgs { spec: spec.clone(), place, booted };
            let (run, linked) = launch(Supervisor, args, life, parent, address.clone());
            Launched { run, started: booted_after(linked, when_booted).boxed() }
        });
        child.start_within = AS_LONG_AS_IT_TAKES;
        child.stop_within = AS_LONG_AS_IT_TAKES;
        child
    }

    fn new(
        name: Arc<str>,
        restart: Restart,
        launch: impl Fn(Place, ActorCell) -> Launched + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            restart,
            start_within: START_WITHIN,
            stop_within: STOP_WITHIN,
            asked: Asked::Stop,
            exhausted: Exhausted::Escalate,
            launch: Arc::new(launch),
        }
    }

    /// The limit for `pre_start`; one that takes longer is a failed start.
    pub fn start_within(mut self, limit: Duration) -> Self {
        self.start_within = limit;
        self
    }

    /// The limit for its end; then it is killed, and named in the log.
    pub fn stop_within(mut self, limit: Duration) -> Self {
        self.stop_within = limit;
        self
    }

    /// Asked to end, it first handles what is queued. For who owes answers.
    pub fn drains(mut self) -> Self {
        self.asked = Asked::Drain;
        self
    }

    /// With its budget spent it alone rests and is tried again, after `base` at first, in the end after `cap`.
    pub fn parks(mut self, base: Duration, cap: Duration) -> Self {
        self.exhausted = Exhausted::Park { base, cap };
        self
    }

    /// The name, the last part of its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn launch(&self, place: Place, parent: ActorCell) -> Launched {
        (self.launch)(place, parent)
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("name", &self.name).field("restart", &self.restart).finish_non_exhaustive()
    }
}

fn stay(restart: Restart) -> Stay {
    match restart {
        Restart::Temporary => Stay::WithActor,
        Restart::Permanent | Restart::Transient => Stay::WithParent,
    }
}

type Linked = JoinHandle<Result<JoinHandle<()>, SpawnErr>>;

/// Starts the actor without waiting for it: the supervisor knows its id before anything can be heard of it, and can kill
/// it while it hangs in `pre_start`.
fn launch<A: Actor>(
    actor: A,
    args: A::Arguments,
    life: Life,
    parent: ActorCell,
    address: Address<A::Msg>,
) -> (Run, Linked) {
    let (place, gone) = (life.place().clone(), life.gone());
    let spawned = ActorRuntime::spawn_linked_instant(None, Supervised::new(actor, life), args, parent);
    let (actor, linked) = spawned.unwrap_or_else(|_| unreachable!("only an actor with a name can be refused"));
    place.row().set_cell(place.incarnation(), actor.get_cell());
    let plate = Occupant { address, actor: actor.clone() };
    (Run::new(actor.get_cell(), gone, place, Box::new(plate)), linked)
}

async fn started(linked: Linked) -> Result<(), Exit> {
    match linked.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Exit::of_start(&error)),
        Err(_) => Err(Exit::Killed),
    }
}

async fn booted_after(linked: Linked, when_booted: oneshot::Receiver<()>) -> Result<(), Exit> {
    started(linked).await?;
    match when_booted.await {
        Ok(()) => Ok(()),
        // it ended before: it was linked, so its parent hears of that by an event
        Err(_) => pending().await,
    }
}

/// An actor's start, for parents that are actors of their own.
pub(super) async fn spawn<A: Actor>(
    actor: A,
    args: A::Arguments,
    life: Life,
    parent: ActorCell,
) -> Result<ActorRef<A::Msg>, Exit> {
    let place = life.place().clone();
    match Actor::spawn_linked(None, Supervised::new(actor, life), args, parent).await {
        Ok((actor, _)) => {
            place.row().set_cell(place.incarnation(), actor.get_cell());
            Ok(actor)
        }
        Err(error) => Err(Exit::of_start(&error)),
    }
}
