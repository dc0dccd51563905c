//! The renewal: every `renew`, all leases of the node in one call of its own, which does not wait behind the ledger's
//! lanes; the store's writer takes it in its turn.
//!
//! It owns nothing; what is held it reads from the holdings. It tells each lease that is lost, or whose cancel was asked
//! for.

use crate::domain::{EndReason, LeaseKey};
use crate::ports::ledger::{LedgerError, RenewAnswer};
use crate::ports::observer::Fact;
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Tick};
use crate::tree::pools::LeaseMsg;

use super::UpkeepArgs;

pub enum RenewalMsg {
    Due,
}

pub struct RenewalActor;

pub struct Renewal {
    args: UpkeepArgs,
    tick: Option<Tick>,
}

impl Actor for RenewalActor {
    type Msg = RenewalMsg;
    type State = Renewal;
    type Arguments = UpkeepArgs;

    async fn pre_start(&self, myself: ActorRef<RenewalMsg>, args: UpkeepArgs) -> Result<Renewal, ActorProcessingErr> {
        args.place.state("idle");
        // at once: a predecessor may have died just before it would have renewed
        myself.cast(RenewalMsg::Due)?;
        Ok(Renewal { args, tick: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<RenewalMsg>,
        _: RenewalMsg,
        renewal: &mut Renewal,
    ) -> Result<(), ActorProcessingErr> {
        let ok = renewal.renew().await;
        let settings = &renewal.args.shared.settings;
        let after = if ok { settings.renew } else { settings.renew.min(settings.owner.lease / 10) };
        renewal.tick = Some(Tick::after(&myself, after, || RenewalMsg::Due));
        Ok(())
    }
}

impl Renewal {
    async fn renew(&self) -> bool {
        let shared = &self.args.shared;
        let keys = shared.holdings.keys();
        if keys.is_empty() {
            shared.health.renewed(shared.world.clock.now());
            self.args.place.state("idle");
            return true;
        }
        let answers = shared.world.store.renew(&shared.settings.owner, keys.clone()).await;
        match answers {
            Ok(answers) => {
                shared.health.store_answered("all renewals");
                shared.health.renewed(shared.world.clock.now());
                self.args.place.state(format!("renewed {} leases", keys.len()));
                let busy = answers.contains(&RenewAnswer::Busy);
                keys.into_iter().zip(answers).for_each(|(key, answer)| self.tell(key, &answer));
                !busy
            }
            Err(error) => self.failed(&error),
        }
    }

    fn tell(&self, key: LeaseKey, answer: &RenewAnswer) {
        let shared = &self.args.shared;
        match answer {
            RenewAnswer::Held { cancel_requested: true } => {
                shared.holdings.tell(key, LeaseMsg::Stop(EndReason::Cancel));
            }
            // it knows whether that is news: its end may have been committed while we asked
            RenewAnswer::Lost => drop(shared.holdings.tell(key, LeaseMsg::Lost)),
            RenewAnswer::Held { .. } | RenewAnswer::Busy => {}
        }
    }

    fn failed(&self, error: &LedgerError) -> bool {
        tracing::warn!(actor = self.args.place.path(), %error, "leases were not renewed");
        self.args.place.state("the store is away");
        self.args.shared.store_failed("all renewals", error);
        self.args.shared.saw(Fact::RenewFailed);
        false
    }
}
