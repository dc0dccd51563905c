//! A type's consumer: turns deliveries and time into looks of its pool.
//!
//! It owns the subscription. It receives deliveries and what the pool found, and promises that the pool looks when
//! something came, when the next task is due, when a limit is over, and at least once in `idle_claim`: a lost wake-up
//! costs seconds.

use std::sync::Arc;
use std::time::Duration;

use crate::decide::retry::{RetryPolicy, pause};
use crate::domain::TaskType;
use crate::ports::intake::IntakeError;
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, OwnedTask, Place, Tick};
use crate::tree::pools::PoolMsg;
use crate::tree::wiring::Shared;

/// What a pool found when it looked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Looked {
    pub found: usize,
    pub limited: Option<Duration>,
    pub next_due: Option<Duration>,
}

pub enum ConsumerMsg {
    Opened,
    /// A delivery came. A table queue has nothing to say beyond that.
    Woken,
    /// The subscription ended; it is opened again.
    Lost(IntakeError),
    OpenAgain,
    Looked(Looked),
    TimeToLook,
}

pub struct ConsumerActor;

pub struct ConsumerArgs {
    pub shared: Arc<Shared>,
    pub task_type: Arc<TaskType>,
    pub place: Place,
}

pub struct Consumer {
    args: ConsumerArgs,
    myself: ActorRef<ConsumerMsg>,
    subscription: Option<OwnedTask>,
    failures: u32,
    look: Option<Tick>,
    reopen: Option<Tick>,
}

impl Actor for ConsumerActor {
    type Msg = ConsumerMsg;
    type State = Consumer;
    type Arguments = ConsumerArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<ConsumerMsg>,
        args: ConsumerArgs,
    ) -> Result<Consumer, ActorProcessingErr> {
        let mut consumer = Consumer { args, myself, subscription: None, failures: 0, look: None, reopen: None };
        consumer.open();
        Ok(consumer)
    }

    async fn handle(
        &self,
        _: ActorRef<ConsumerMsg>,
        message: ConsumerMsg,
        consumer: &mut Consumer,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ConsumerMsg::Opened => consumer.opened(),
            ConsumerMsg::Woken => consumer.tell_pool(),
            ConsumerMsg::TimeToLook => consumer.look_now(),
            ConsumerMsg::Lost(error) => consumer.lost(&error),
            ConsumerMsg::OpenAgain => consumer.open(),
            ConsumerMsg::Looked(looked) => consumer.looked(looked),
        }
        Ok(())
    }
}

impl Consumer {
    fn open(&mut self) {
        self.args.place.state("opening its queue");
        let (shared, task_type, myself) =
            (Arc::clone(&self.args.shared), Arc::clone(&self.args.task_type), self.myself.clone());
        let listen = async move { listen(&shared, &task_type, &myself).await };
        self.subscription = Some(OwnedTask::spawn(&self.myself, listen, |ended| {
            ConsumerMsg::Lost(ended.unwrap_or_else(|panic| IntakeError(panic.to_string())))
        }));
    }

    fn opened(&mut self) {
        self.failures = 0;
        self.args.place.state("listening");
        self.args.shared.health.of_type(&self.args.task_type.name, |health| health.consumer_open = true);
        self.look_now();
    }

    fn lost(&mut self, error: &IntakeError) {
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(actor = self.args.place.path(), %error, "the queue is away; opening it again");
        self.args.place.state("its queue is away");
        self.close();
        let policy = RetryPolicy { base: Duration::from_millis(500), cap: Duration::from_secs(30) };
        let after = pause(policy, self.failures, self.args.shared.world.dice.unit());
        self.reopen = Some(Tick::after(&self.myself, after, || ConsumerMsg::OpenAgain));
    }

    fn close(&self) {
        self.args.shared.health.of_type(&self.args.task_type.name, |health| health.consumer_open = false);
    }

    fn look_now(&mut self) {
        self.tell_pool();
        self.look_after(self.args.shared.settings.idle_claim);
    }

    fn tell_pool(&self) {
        if let Some(pool) = self.args.shared.pools.get(&self.args.task_type.name) {
            // a pool that is down looks by itself when it starts
            let _ = pool.cast(PoolMsg::Look);
        }
    }

    fn looked(&mut self, looked: Looked) {
        let idle = self.args.shared.settings.idle_claim;
        let next = [looked.limited, looked.next_due].into_iter().flatten().min().unwrap_or(idle);
        self.look_after(next.clamp(Duration::from_millis(1), idle));
    }

    fn look_after(&mut self, after: Duration) {
        self.look = Some(Tick::after(&self.myself, after, || ConsumerMsg::TimeToLook));
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Passes deliveries on until the subscription fails.
async fn listen(shared: &Shared, task_type: &TaskType, myself: &ActorRef<ConsumerMsg>) -> IntakeError {
    let mut subscription = match shared.world.intake.open(&task_type.name, task_type.slots()).await {
        Ok(subscription) => subscription,
        Err(error) => return error,
    };
    // the task ends with the actor, so it is there
    let _ = myself.cast(ConsumerMsg::Opened);
    loop {
        match subscription.next().await {
            Ok(_) => drop(myself.cast(ConsumerMsg::Woken)),
            Err(error) => return error,
        }
    }
}
