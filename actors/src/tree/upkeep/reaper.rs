//! The reaper: takes back what an owner stopped renewing, and fails what is queued past its deadline.
//!
//! It judges others only while it trusts its own sight of the database (`decide::trust`). What it takes, the ledger
//! tests again in the update itself.

use super::UpkeepArgs;
use crate::decide::trust::Trust;
use crate::ports::ledger::{LedgerError, Reap, TakeCause};
use crate::ports::observer::Fact;
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Tick};

/// Rows a look takes at most; a full look is followed by the next one at once.
const MOST: u32 = 200;

pub enum ReaperMsg {
    Due,
}

pub struct ReaperActor;

pub struct Reaper {
    args: UpkeepArgs,
    trust: Trust,
    tick: Option<Tick>,
}

impl Actor for ReaperActor {
    type Msg = ReaperMsg;
    type State = Reaper;
    type Arguments = UpkeepArgs;

    async fn pre_start(&self, myself: ActorRef<ReaperMsg>, args: UpkeepArgs) -> Result<Reaper, ActorProcessingErr> {
        args.place.state("watching, without trust yet");
        myself.cast(ReaperMsg::Due)?;
        Ok(Reaper { args, trust: Trust::default(), tick: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<ReaperMsg>,
        _: ReaperMsg,
        reaper: &mut Reaper,
    ) -> Result<(), ActorProcessingErr> {
        let more = match reaper.look().await {
            Ok(more) => more,
            Err(error) => reaper.failed(&error),
        };
        if more {
            myself.cast(ReaperMsg::Due)?;
        } else {
            let after = reaper.args.shared.settings.reap;
            reaper.tick = Some(Tick::after(&myself, after, || ReaperMsg::Due));
        }
        Ok(())
    }
}

impl Reaper {
    /// True if more may be left to do.
    async fn look(&mut self) -> Result<bool, LedgerError> {
        let shared = &self.args.shared;
        let store = &shared.world.store;
        let database = store.probe().await?;
        let own = shared.world.clock.now();
        self.trust = self.trust.saw(own, database, shared.settings.reap);
        let expired = store.expire(MOST).await?;
        shared.health.store_answered("reaper");
        // who was refused tries again within a lease
        shared.health.store_writable(own.saturating_sub(shared.settings.owner.lease));
        if !self.trust.is_enough(own, self.longest_lease().await?) {
            return Ok(expired.len() >= MOST as usize);
        }
        self.args.place.state("watching");
        let reap = Reap { grace: shared.settings.reap_grace, most: MOST, backoff: shared.backoff() };
        let taken = store.reap(reap).await?;
        for one in &taken {
            tracing::warn!(task = %one.key.task, epoch = one.key.epoch.0, owner = %one.owner, status = %one.status, "took a task back: its owner stopped renewing");
            let (task_type, key, status) = (one.task_type.clone(), one.key, one.status);
            shared.saw(Fact::TakenBack { task_type, key, cause: TakeCause::Lease, status });
        }
        Ok(taken.len().max(expired.len()) >= MOST as usize)
    }

    async fn longest_lease(&self) -> Result<std::time::Duration, LedgerError> {
        let shared = &self.args.shared;
        let nodes = shared.world.store.nodes().await?;
        Ok(nodes.iter().map(|node| node.lease).max().unwrap_or_default().max(shared.settings.owner.lease))
    }

    fn failed(&mut self, error: &LedgerError) -> bool {
        tracing::warn!(actor = self.args.place.path(), %error, "the reaper can't see the store; its trust begins anew");
        self.args.place.state("the store is away");
        self.args.shared.store_failed("reaper", error);
        self.trust = self.trust.failed();
        false
    }
}
