//! The pruner: removes tasks that ended longer ago than they are kept, in small steps.

use std::time::Duration;

use super::UpkeepArgs;
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Tick};

/// Tasks removed in one step.
const STEP: u32 = 200;

/// Between two sweeps.
const PERIOD: Duration = Duration::from_secs(60);

/// Between two steps of one sweep, so that others write in between.
const BREATH: Duration = Duration::from_millis(50);

pub enum PrunerMsg {
    Due,
}

pub struct PrunerActor;

pub struct Pruner {
    args: UpkeepArgs,
    tick: Option<Tick>,
}

impl Actor for PrunerActor {
    type Msg = PrunerMsg;
    type State = Pruner;
    type Arguments = UpkeepArgs;

    async fn pre_start(&self, myself: ActorRef<PrunerMsg>, args: UpkeepArgs) -> Result<Pruner, ActorProcessingErr> {
        args.place.state("idle");
        let tick = Some(Tick::after(&myself, PERIOD, || PrunerMsg::Due));
        Ok(Pruner { args, tick })
    }

    async fn handle(
        &self,
        myself: ActorRef<PrunerMsg>,
        _: PrunerMsg,
        pruner: &mut Pruner,
    ) -> Result<(), ActorProcessingErr> {
        let shared = &pruner.args.shared;
        let after = match shared.world.store.prune(shared.settings.keep, STEP).await {
            Ok(pruned) if pruned.tasks >= u64::from(STEP) => BREATH,
            Ok(_) => PERIOD,
            Err(error) => {
                tracing::warn!(actor = pruner.args.place.path(), %error, "ended tasks were not pruned");
                PERIOD
            }
        };
        pruner.tick = Some(Tick::after(&myself, after, || PrunerMsg::Due));
        Ok(())
    }
}
