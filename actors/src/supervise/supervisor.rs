//! The supervisor: starts children in order, restarts them by strategy and budget, stops them in reverse.
//!
//! It owns its children's slots; it receives [`SupervisorMsg`] and the ends of children. It promises that
//! - its handlers neither fail nor wait: what takes time (a start, an end, a pause) runs in a task that it owns;
//! - a restart waits until nothing of the predecessor is left, descendants included;
//! - each child ends within its limit or is killed and named;
//! - with the budget spent it stops its children in order, then ends as [`Exit::Failed`].

use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

use super::child::Child;
use super::exit::{Exit, Failure};
use super::place::Place;
use super::siblings::Siblings;
use super::strategy::{Backoff, Budget, Strategy};

/// A supervisor's children and how they are kept up.
#[derive(Debug, Clone)]
pub struct SupervisorSpec {
    /// Who is restarted with whom.
    pub strategy: Strategy,
    /// How many restarts are borne, over all children that do not park.
    pub budget: Budget,
    /// The pauses before restarts.
    pub backoff: Backoff,
    /// In the order of their start.
    pub children: Vec<Child>,
}

impl SupervisorSpec {
    /// With the default budget (5 in 30 s) and backoff (at once, then 100 ms up to 10 s).
    pub fn new(strategy: Strategy, children: Vec<Child>) -> Self {
        Self { strategy, budget: Budget::default(), backoff: Backoff::default(), children }
    }

    /// So many restarts within that time.
    pub fn budget(mut self, restarts: u32, within: Duration) -> Self {
        self.budget = Budget { restarts, within };
        self
    }

    /// Pauses from `base`, doubled up to `cap`.
    pub fn backoff(mut self, base: Duration, cap: Duration) -> Self {
        self.backoff = Backoff { base, cap };
        self
    }
}

/// What a supervisor is told.
pub enum SupervisorMsg {
    /// Start one more child, after those that are there. It is forgotten when the supervisor itself is restarted.
    StartChild(Child),
    /// News from a task of its own.
    #[doc(hidden)]
    News(News),
}

/// News of one incarnation of one child.
#[derive(Debug)]
pub struct News {
    pub(super) slot: u64,
    pub(super) start: u64,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Its start is over.
    Started(Result<(), Exit>),
    /// Its pause is over, and nothing of it is left.
    Due,
    /// It was asked to end, and has.
    Gone,
}

/// The actor. It has no fields: all is in its state.
pub(super) struct Supervisor;

pub(super) struct SupervisorArgs {
    pub spec: SupervisorSpec,
    pub place: Place,
    /// Told once each child was tried.
    pub booted: oneshot::Sender<()>,
}

impl Actor for Supervisor {
    type Msg = SupervisorMsg;
    type State = Siblings;
    type Arguments = SupervisorArgs;

    async fn pre_start(
        &self,
        _: ActorRef<SupervisorMsg>,
        args: SupervisorArgs,
    ) -> Result<Siblings, ActorProcessingErr> {
        Ok(Siblings::new(args))
    }

    async fn post_start(
        &self,
        myself: ActorRef<SupervisorMsg>,
        siblings: &mut Siblings,
    ) -> Result<(), ActorProcessingErr> {
        siblings.advance(&myself);
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMsg>,
        message: SupervisorMsg,
        siblings: &mut Siblings,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMsg::StartChild(child) => siblings.add(child),
            SupervisorMsg::News(news) => siblings.hear(&myself, news),
        }
        siblings.advance(&myself);
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMsg>,
        event: SupervisionEvent,
        siblings: &mut Siblings,
    ) -> Result<(), ActorProcessingErr> {
        if let Some((who, exit)) = Exit::of(event) {
            siblings.ended(&myself, &who, exit);
            siblings.advance(&myself);
        }
        Ok(())
    }

    /// The one place where ractor lets a supervisor end with its children ended before it: it kills those that are left.
    async fn post_stop(&self, _: ActorRef<SupervisorMsg>, siblings: &mut Siblings) -> Result<(), ActorProcessingErr> {
        siblings.stop_all().await;
        match siblings.take_spent() {
            Some(words) => Err(Failure::boxed(words)),
            None => Ok(()),
        }
    }
}
