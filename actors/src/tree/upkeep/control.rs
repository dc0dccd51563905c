//! The cancel listener: stops a run as soon as its cancel is committed. What it misses, the next renewal says.

use tokio::sync::broadcast::error::RecvError;

use super::UpkeepArgs;
use crate::domain::{EndReason, LeaseKey};
use crate::ports::signals::Signal;
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, OwnedTask, TaskPanicked};
use crate::tree::pools::LeaseMsg;
use crate::tree::wiring::Shared;
use std::sync::Arc;

pub enum ControlMsg {
    Ended(Result<(), TaskPanicked>),
}

pub struct ControlActor;

impl Actor for ControlActor {
    type Msg = ControlMsg;
    type State = OwnedTask;
    type Arguments = UpkeepArgs;

    async fn pre_start(&self, myself: ActorRef<ControlMsg>, args: UpkeepArgs) -> Result<OwnedTask, ActorProcessingErr> {
        args.place.state("listening");
        Ok(OwnedTask::spawn(&myself, listen(Arc::clone(&args.shared)), ControlMsg::Ended))
    }

    async fn handle(
        &self,
        _: ActorRef<ControlMsg>,
        message: ControlMsg,
        _: &mut OwnedTask,
    ) -> Result<(), ActorProcessingErr> {
        let ControlMsg::Ended(how) = message;
        Err(how.err().map_or_else(|| "the store's signals ended".into(), |panic| panic.to_string().into()))
    }
}

async fn listen(shared: Arc<Shared>) {
    let mut signals = shared.world.store.subscribe();
    loop {
        match signals.recv().await {
            Ok(Signal::CancelRequested { task, epoch }) => {
                shared.holdings.tell(LeaseKey { task, epoch }, LeaseMsg::Stop(EndReason::Cancel));
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
