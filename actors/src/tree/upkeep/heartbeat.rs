//! The heartbeat: posts what this node serves, how full it is, and its supervision tree in a bounded form.

use serde_json::json;

use super::UpkeepArgs;
use crate::domain::{Json, TaskType};
use crate::ports::registry::{NodeReport, NodeState};
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Tick};
use crate::tree::wiring::Shared;
use std::time::Duration;

/// Actors that a post shows at most.
const SHOWN: usize = 500;

/// How soon a change of what is served is posted.
const WATCH: Duration = Duration::from_millis(500);

pub enum HeartbeatMsg {
    Due,
}

pub struct HeartbeatActor;

pub struct Heartbeat {
    args: UpkeepArgs,
    /// What the last post said, and when it was.
    posted: Option<(Vec<TaskType>, Duration)>,
    tick: Option<Tick>,
}

impl Actor for HeartbeatActor {
    type Msg = HeartbeatMsg;
    type State = Heartbeat;
    type Arguments = UpkeepArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<HeartbeatMsg>,
        args: UpkeepArgs,
    ) -> Result<Heartbeat, ActorProcessingErr> {
        args.place.state("posting");
        myself.cast(HeartbeatMsg::Due)?;
        Ok(Heartbeat { args, posted: None, tick: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<HeartbeatMsg>,
        _: HeartbeatMsg,
        beat: &mut Heartbeat,
    ) -> Result<(), ActorProcessingErr> {
        beat.post_if_due().await;
        let after = WATCH.min(beat.args.shared.settings.heartbeat);
        beat.tick = Some(Tick::after(&myself, after, || HeartbeatMsg::Due));
        Ok(())
    }
}

impl Heartbeat {
    async fn post_if_due(&mut self) {
        let shared = &self.args.shared;
        let (now, served) = (shared.world.clock.now(), served(shared));
        let due = self
            .posted
            .as_ref()
            .is_none_or(|(before, at)| *before != served || now.saturating_sub(*at) >= shared.settings.heartbeat);
        if !due {
            return;
        }
        match shared.world.store.post(report(shared, served.clone())).await {
            Ok(()) => self.posted = Some((served, now)),
            Err(error) => {
                tracing::warn!(actor = self.args.place.path(), %error, "the heartbeat was not posted");
            }
        }
    }
}

/// Types whose hosts can live. One that drains serves none.
fn served(shared: &Shared) -> Vec<TaskType> {
    if shared.health.is_draining() {
        return Vec::new();
    }
    let health = shared.health.types();
    let parked = |t: &TaskType| health.get(&t.name).is_some_and(|h| h.parked.is_some());
    shared.types.iter().filter(|t| !parked(t)).map(|t| (**t).clone()).collect()
}

/// A node's post. Also made once before the tree starts, so that its types are known from the first moment.
pub fn report(shared: &Shared, types: Vec<TaskType>) -> NodeReport {
    let health = shared.health.types();
    let slots: serde_json::Map<String, serde_json::Value> = shared
        .types
        .iter()
        .map(|t| {
            let busy = health.get(&t.name).map_or(0, |h| h.busy);
            (t.name.to_string(), json!({ "slots": t.slots(), "busy": busy }))
        })
        .collect();
    let mut actors = shared.roster.snapshot();
    actors.truncate(SHOWN);
    let tree = serde_json::to_string(&actors).unwrap_or_else(|_| "[]".to_owned());
    let owner = &shared.settings.owner;
    NodeReport {
        node: owner.node.clone(),
        incarnation: owner.incarnation,
        data_uuid: shared.settings.data_uuid,
        lease: owner.lease,
        state: if shared.health.is_draining() { NodeState::Draining } else { NodeState::Serving },
        types,
        slots: Json::trusted(serde_json::Value::Object(slots).to_string()),
        tree: Json::trusted(tree),
    }
}
