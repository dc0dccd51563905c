//! The children of one supervisor and the moves between their phases. Nothing here waits except [`Siblings::stop_all`].

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ractor::{ActorCell, ActorRef};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::child::{Child, Launched};
use super::exit::{Exit, panic_words};
use super::owned::OwnedTask;
use super::place::Place;
use super::run::Run;
use super::slot::{Next, Phase, Slot};
use super::strategy::{Backoff, Budget, Intensity, Restart, Strategy};
use super::supervisor::{News, SupervisorArgs, SupervisorMsg, What};

type Myself = ActorRef<SupervisorMsg>;

/// So many last errors are told when the budget is spent.
const ERRORS_TOLD: usize = 3;

pub(super) struct Siblings {
    strategy: Strategy,
    budget: Budget,
    backoff: Backoff,
    place: Place,
    slots: Vec<Slot>,
    next_slot: u64,
    shared: Intensity,
    errors: VecDeque<String>,
    booted: Option<oneshot::Sender<()>>,
    spent: Option<String>,
}

impl Siblings {
    pub fn new(args: SupervisorArgs) -> Self {
        let SupervisorArgs { spec, place, booted } = args;
        let mut siblings = Self {
            strategy: spec.strategy,
            budget: spec.budget,
            backoff: spec.backoff,
            place,
            slots: Vec::with_capacity(spec.children.len()),
            next_slot: 0,
            shared: Intensity::new(spec.budget),
            errors: VecDeque::new(),
            booted: Some(booted),
            spent: None,
        };
        spec.children.into_iter().for_each(|child| siblings.add(child));
        siblings
    }

    /// One more child, the last in order.
    pub fn add(&mut self, child: Child) {
        self.slots.retain(|slot| !(slot.child.name == child.name && matches!(slot.phase, Phase::Over)));
        let place = self.place.child(&child.name);
        if self.slots.iter().any(|slot| slot.child.name == child.name) {
            tracing::error!(actor = place.path(), "a child of this name is there already; the new one is not started");
            return;
        }
        self.slots.push(Slot::new(self.next_slot, child, place, self.budget));
        self.next_slot += 1;
    }

    /// Makes each move that can be made now: ends who is condemned, last first, and starts who may start, in order.
    pub fn advance(&mut self, myself: &Myself) {
        if self.spent.is_some() {
            return;
        }
        if let Some(last) = self.slots.iter().rposition(|slot| slot.condemned) {
            self.end(myself, last);
        }
        while let Some(next) = self.next_to_start() {
            self.start(myself, next);
        }
        self.tell_progress();
    }

    /// News of a task. Of an earlier incarnation it is stale.
    pub fn hear(&mut self, myself: &Myself, news: News) {
        let found = self.slots.iter().position(|slot| slot.id == news.slot && slot.starts == news.start);
        let Some(index) = found else { return };
        match (news.what, &self.slots[index].phase) {
            (What::Started(Ok(())), Phase::Starting(..)) => self.is_up(index),
            (What::Started(Err(exit)), Phase::Starting(..)) => self.is_down(myself, index, exit),
            (What::Due, Phase::Resting(_) | Phase::Parked(_)) => self.slots[index].phase = Phase::Waiting,
            (What::Gone, Phase::Ending(..)) => self.is_gone(index),
            _ => {}
        }
    }

    /// A child has ended.
    pub fn ended(&mut self, myself: &Myself, who: &ActorCell, exit: Exit) {
        let found = self.slots.iter().position(|slot| slot.run().is_some_and(|run| run.is(who)));
        let Some(index) = found else { return };
        match self.slots[index].phase {
            // asked to; its task waits until it is gone
            Phase::Ending(..) => self.slots[index].last_exit = exit,
            _ => self.is_down(myself, index, exit),
        }
    }

    /// Stops all children, last first, each within its limit.
    pub async fn stop_all(&mut self) {
        self.place.state("stopping");
        for slot in self.slots.iter_mut().rev() {
            let (limit, asked) = (slot.child.stop_within, slot.child.asked);
            let Some(run) = slot.run() else { continue };
            run.end_within(limit, asked).await;
            slot.phase = Phase::Over;
            slot.place.say("stopped".to_owned());
        }
    }

    /// Why the supervisor gives up, if it does.
    pub fn take_spent(&mut self) -> Option<String> {
        self.spent.take()
    }

    fn next_to_start(&self) -> Option<usize> {
        (0..self.slots.len()).find(|&index| matches!(self.slots[index].phase, Phase::Waiting) && self.may_start(index))
    }

    fn may_start(&self, index: usize) -> bool {
        let before = &self.slots[..index];
        match self.strategy {
            Strategy::OneForOne => before.iter().all(|slot| slot.tried),
            Strategy::RestForOne => !self.is_ending() && before.iter().all(Slot::is_settled),
            Strategy::OneForAll => !self.is_ending() && !self.is_resting() && before.iter().all(Slot::is_settled),
        }
    }

    fn is_ending(&self) -> bool {
        self.slots.iter().any(|slot| slot.condemned || matches!(slot.phase, Phase::Ending(..)))
    }

    fn is_resting(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.phase, Phase::Resting(_) | Phase::Parked(_)))
    }

    fn start(&mut self, myself: &Myself, index: usize) {
        let slot = &mut self.slots[index];
        slot.starts += 1;
        if slot.starts > 1 {
            slot.place = slot.place.renewed();
            slot.place.roster().note_restart(slot.place.row(), &slot.last_exit);
        }
        let (child, place) = (&slot.child, slot.place.clone());
        match catch_unwind(AssertUnwindSafe(|| child.launch(place, myself.get_cell()))) {
            Ok(Launched { run, started }) => {
                let start = start_within(child.start_within, started);
                let task =
                    slot.task(myself, start, |told| What::Started(told.unwrap_or_else(|panic| Err(panic.into()))));
                slot.phase = Phase::Starting(run, task);
            }
            Err(panic) => self.is_down(myself, index, Exit::Panicked(panic_words(panic))),
        }
    }

    fn is_up(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.tried = true;
        slot.up_since = Some(Instant::now());
        if let Phase::Starting(run, _) = std::mem::replace(&mut slot.phase, Phase::Waiting) {
            run.up();
            slot.phase = Phase::Up(run);
        }
    }

    /// A child has ended or could not start: what comes next is up to its restart, the budget and the strategy.
    fn is_down(&mut self, myself: &Myself, index: usize, exit: Exit) {
        self.note_exit(index, exit);
        if self.slots[index].condemned {
            return self.end(myself, index);
        }
        let slot = &mut self.slots[index];
        let next = slot.judge(Instant::now(), self.budget, self.backoff, &mut self.shared);
        if next != Next::Over {
            remember(&mut self.errors, slot);
        }
        match next {
            Next::Rest(pause) => {
                slot.place.say(restarting(pause));
                self.rest(myself, index, pause, Phase::Resting);
            }
            Next::Park(pause) => {
                let path = slot.place.path();
                tracing::error!(actor = path, ?pause, "restart budget spent, actor is parked");
                slot.place.say(format!("parked (restart budget spent; tried again in {})", in_words(pause)));
                self.rest(myself, index, pause, Phase::Parked);
            }
            Next::Escalate => self.give_up(myself),
            Next::Over => self.retire(index),
        }
    }

    fn note_exit(&mut self, index: usize, exit: Exit) {
        let slot = &mut self.slots[index];
        slot.tried = true;
        slot.last_exit = exit;
        if !slot.last_exit.is_crash() {
            return;
        }
        let (path, words) = (slot.place.path(), slot.last_exit.to_string());
        tracing::warn!(actor = path, exit = %words, "actor ended");
        slot.place.row().set_last_error(words);
    }

    /// Down for a pause, and until nothing of it is left. Siblings that hang on it go down too.
    fn rest(&mut self, myself: &Myself, index: usize, pause: Duration, phase: fn(OwnedTask) -> Phase) {
        let slot = &mut self.slots[index];
        let gone = slot.run().map(Run::gone);
        let rest = async move {
            sleep(pause).await;
            if let Some(gone) = gone {
                gone.await;
            }
        };
        slot.phase = phase(slot.task(myself, rest, |_| What::Due));
        self.condemn_siblings(index);
    }

    fn condemn_siblings(&mut self, culprit: usize) {
        let hang_on_it = match self.strategy {
            Strategy::OneForOne => return,
            Strategy::RestForOne => culprit + 1..self.slots.len(),
            Strategy::OneForAll => 0..self.slots.len(),
        };
        for slot in &mut self.slots[hang_on_it] {
            slot.condemned |= matches!(slot.phase, Phase::Starting(..) | Phase::Up(_));
        }
    }

    /// Asks a condemned child to end, unless that has been done.
    fn end(&mut self, myself: &Myself, index: usize) {
        let slot = &mut self.slots[index];
        match std::mem::replace(&mut slot.phase, Phase::Waiting) {
            Phase::Starting(run, _) | Phase::Up(run) => {
                let end = run.end_within(slot.child.stop_within, slot.child.asked);
                slot.phase = Phase::Ending(run, slot.task(myself, end, |_| What::Gone));
            }
            other => {
                slot.condemned &= matches!(other, Phase::Ending(..));
                slot.phase = other;
            }
        }
    }

    fn is_gone(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        (slot.condemned, slot.tried, slot.up_since) = (false, true, None);
        slot.phase = Phase::Waiting;
        slot.place.say("waiting for a sibling to restart".to_owned());
        if slot.child.restart == Restart::Temporary {
            self.slots.remove(index);
        }
    }

    fn retire(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.phase = Phase::Over;
        slot.place.roster().forget(slot.place.row());
        if slot.child.restart == Restart::Temporary {
            self.slots.remove(index);
        }
    }

    fn give_up(&mut self, myself: &Myself) {
        let Budget { restarts, within } = self.budget;
        let errors = Vec::from(std::mem::take(&mut self.errors)).join("; ");
        let words = format!("restart budget spent: more than {restarts} in {}: {errors}", in_words(within));
        tracing::error!(actor = self.place.path(), "{words}");
        self.spent = Some(words);
        myself.stop(None);
    }

    fn tell_progress(&mut self) {
        let up = self.slots.iter().filter(|slot| slot.is_settled()).count();
        match self.slots.len() {
            all if all == up => self.place.state("running"),
            all => self.place.state(format!("{up} of {all} children up")),
        }
        if !self.is_ending() && !self.slots.iter().any(|slot| matches!(slot.phase, Phase::Starting(..))) {
            // nobody may wait for it any more
            self.booted.take().map(|booted| booted.send(()));
        }
    }
}

async fn start_within(limit: Duration, started: impl Future<Output = Result<(), Exit>>) -> Result<(), Exit> {
    match timeout(limit, started).await {
        Ok(result) => result,
        Err(_) => Err(Exit::Failed(format!("did not start within {}", in_words(limit)))),
    }
}

fn remember(errors: &mut VecDeque<String>, slot: &Slot) {
    if errors.len() == ERRORS_TOLD {
        errors.pop_front();
    }
    errors.push_back(format!("`{}` {}", slot.place.path(), slot.last_exit));
}

fn restarting(pause: Duration) -> String {
    match pause {
        Duration::ZERO => "restarting".to_owned(),
        pause => format!("restarting in {}", in_words(pause)),
    }
}

fn in_words(time: Duration) -> String {
    match time.as_millis() {
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}
