//! The ledger: the node's way to write.
//!
//! ```text
//! ledger            permanent, under the node
//! ├─ lane: claims      each takes what waits, commits it in one call, answers, and takes again:
//! ├─ lane: records     an idle node pays no delay, a busy one shares commits
//! ├─ lane: finishes
//! └─ lane: renewals    single ones, of a lease that ran out before its write
//! ```
//!
//! It owns the tasks that serve the lanes, and receives their ends. It promises that a call is answered once, whatever
//! happens to the actor meanwhile: the lanes belong to the node ([`LedgerQueue`]).

mod lane;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use lane::Lane;

use super::wiring::Shared;
use crate::domain::LeaseKey;
use crate::ports::ledger::{
    Answers, ClaimNext, Finish, FinishAnswer, LedgerError, NextAnswer, Record, RecordAnswer, RenewAnswer,
};
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, OwnedTask, Place, TaskPanicked};

/// Calls that share a commit at most.
const BATCH: usize = 256;

/// The calls that wait for the ledger.
#[derive(Default)]
pub struct LedgerQueue {
    pub claims: Arc<Lane<ClaimNext, NextAnswer>>,
    pub records: Arc<Lane<Record, RecordAnswer>>,
    pub finishes: Arc<Lane<Finish, FinishAnswer>>,
    pub renewals: Arc<Lane<LeaseKey, RenewAnswer>>,
}

pub enum LedgerMsg {
    /// A lane's task panicked: the others are given up with it, and all begin anew.
    LaneEnded(&'static str, TaskPanicked),
}

pub struct LedgerActor;

pub struct LedgerArgs {
    pub shared: Arc<Shared>,
    pub place: Place,
}

impl Actor for LedgerActor {
    type Msg = LedgerMsg;
    type State = Vec<OwnedTask>;
    type Arguments = LedgerArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<LedgerMsg>,
        args: LedgerArgs,
    ) -> Result<Self::State, ActorProcessingErr> {
        args.place.state("serving");
        Ok(lanes(&myself, &args.shared))
    }

    async fn handle(
        &self,
        _: ActorRef<LedgerMsg>,
        message: LedgerMsg,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            LedgerMsg::LaneEnded(lane, panic) => Err(format!("lane `{lane}` {panic}").into()),
        }
    }
}

fn lanes(myself: &ActorRef<LedgerMsg>, shared: &Arc<Shared>) -> Vec<OwnedTask> {
    let queue = &shared.queue;
    vec![
        serve(myself, "claims", shared, &queue.claims, |shared, batch| {
            Box::pin(async move { shared.world.store.claim_next(&shared.settings.owner, batch).await })
        }),
        serve(myself, "records", shared, &queue.records, |shared, batch| {
            Box::pin(async move { shared.world.store.record(&shared.settings.owner, batch).await })
        }),
        serve(myself, "finishes", shared, &queue.finishes, |shared, batch| {
            Box::pin(async move { shared.world.store.finish(&shared.settings.owner, batch).await })
        }),
        serve(myself, "renewals", shared, &queue.renewals, |shared, batch| {
            Box::pin(async move { shared.world.store.renew(&shared.settings.owner, batch).await })
        }),
    ]
}

type Write<Q, A> = fn(Arc<Shared>, Vec<Q>) -> BoxFuture<'static, Answers<A>>;

fn serve<Q, A>(
    myself: &ActorRef<LedgerMsg>,
    name: &'static str,
    shared: &Arc<Shared>,
    lane: &Arc<Lane<Q, A>>,
    write: Write<Q, A>,
) -> OwnedTask
where
    Q: Clone + Send + 'static,
    A: Send + 'static,
{
    let (shared, lane) = (Arc::clone(shared), Arc::clone(lane));
    let work = async move {
        loop {
            let batch = lane.take(BATCH).await;
            let answers = ask(&shared, name, write, batch).await;
            lane.answer(answers);
        }
    };
    OwnedTask::spawn(myself, work, move |ended: Result<(), TaskPanicked>| {
        LedgerMsg::LaneEnded(name, ended.err().unwrap_or_else(|| TaskPanicked("ended".to_owned())))
    })
}

/// One call for all. If it is refused for its content, one call for each: tokens make what was stored harmless, and one
/// bad item fails only itself.
async fn ask<Q: Clone, A>(
    shared: &Arc<Shared>,
    lane: &'static str,
    write: Write<Q, A>,
    batch: Vec<Q>,
) -> Vec<Result<A, LedgerError>> {
    let answers = write(Arc::clone(shared), batch.clone()).await;
    note(shared, lane, &answers);
    match answers {
        Err(LedgerError::Refused(_)) if batch.len() > 1 => {
            let mut each = Vec::with_capacity(batch.len());
            for item in batch {
                let answers = write(Arc::clone(shared), vec![item]).await;
                note(shared, lane, &answers);
                each.extend(spread(answers, 1));
            }
            each
        }
        answers => spread(answers, batch.len()),
    }
}

/// An answer for each of so many calls.
fn spread<A>(answers: Answers<A>, calls: usize) -> Vec<Result<A, LedgerError>> {
    let refused = |found: usize| LedgerError::Refused(format!("{found} answers to {calls} calls"));
    match answers {
        Ok(answers) if answers.len() == calls => answers.into_iter().map(Ok).collect(),
        Ok(answers) => (0..calls).map(|_| Err(refused(answers.len()))).collect(),
        Err(error) => (0..calls).map(|_| Err(error.clone())).collect(),
    }
}

fn note<A>(shared: &Shared, lane: &'static str, answers: &Answers<A>) {
    match answers {
        Ok(_) => shared.health.store_answered(lane),
        Err(error @ LedgerError::Unavailable(_)) => shared.store_failed(lane, error),
        Err(LedgerError::Refused(_)) => {}
    }
}
