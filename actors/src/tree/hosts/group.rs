//! A group of hosts that serve the same types.
//!
//! It owns its hosts and the line of runs that wait for a seat. It receives asks for seats and its hosts' news, and
//! promises: as many hosts live as the types' `processes` ask for; a host that ends is replaced once nothing of it is
//! left, at once if it had been good, else ever more slowly; after ten failed starts in a row the types are withdrawn
//! until one succeeds; a suspect runs alone in a host of its own; once the node drains, no host is started and nobody seated.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::host::{HostActor, HostArgs, HostMsg};
use super::seat::SeatAsk;
use crate::decide::hosts::{Seats, is_parked, place, restart_delay};
use crate::domain::{LeaseKey, TaskError, TaskType, TypeName};
use crate::ports::observer::Fact;
use crate::ports::runner::HostSpec;
use crate::supervise::{
    Actor, ActorProcessingErr, ActorRef, Ended, Exit, Nursery, OwnedTask, Place, SupervisionEvent, Tick,
};
use crate::tree::pools::PoolMsg;
use crate::tree::wiring::Shared;

/// A host that was ready for that long had been good.
const GOOD: Duration = Duration::from_secs(10);

pub enum GroupMsg {
    Seat(SeatAsk),
    /// Its lease no longer waits for a seat.
    LeaveLine(LeaseKey),
    HostLaunched {
        number: u32,
        gone: CancellationToken,
    },
    HostReady {
        number: u32,
        pid: Option<u32>,
    },
    /// Its resident memory, in bytes.
    HostWeighed {
        number: u32,
        memory: u64,
    },
    /// It takes no more runs: it retires, or is condemned.
    HostClosed {
        number: u32,
    },
    HostEnded(HostReport),
    RunEnded {
        number: u32,
        task_type: TypeName,
    },
    /// Nothing is left of a host whose actor had died.
    HostGone {
        number: u32,
    },
    StartDue,
}

/// How a host ended.
#[derive(Clone, PartialEq, Debug)]
pub struct HostReport {
    pub number: u32,
    /// We wanted it to end.
    pub ordered: bool,
    /// Since it was ready, if it ever was.
    pub lived: Option<Duration>,
    pub served: u64,
    pub error: TaskError,
}

pub struct GroupActor;

pub struct GroupArgs {
    pub shared: Arc<Shared>,
    pub name: String,
    pub place: Place,
}

struct HostRow {
    open: bool,
    closed: bool,
    /// The run it was started for.
    reserved: Option<SeatAsk>,
    solo: bool,
    busy: BTreeMap<TypeName, u32>,
    gone: Option<CancellationToken>,
    memory: u64,
}

pub struct Group {
    args: GroupArgs,
    myself: ActorRef<GroupMsg>,
    types: Vec<Arc<TaskType>>,
    nursery: Nursery<u32>,
    hosts: BTreeMap<u32, HostRow>,
    line: VecDeque<SeatAsk>,
    next: u32,
    failures: u32,
    start_due: Option<Tick>,
    farewells: BTreeMap<u32, OwnedTask>,
}

impl Actor for GroupActor {
    type Msg = GroupMsg;
    type State = Group;
    type Arguments = GroupArgs;

    async fn pre_start(&self, myself: ActorRef<GroupMsg>, args: GroupArgs) -> Result<Group, ActorProcessingErr> {
        myself.cast(GroupMsg::StartDue)?;
        Ok(Group::new(myself, args))
    }

    async fn handle(
        &self,
        _: ActorRef<GroupMsg>,
        message: GroupMsg,
        group: &mut Group,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GroupMsg::Seat(ask) => group.seat(ask).await,
            GroupMsg::LeaveLine(key) => group.leave_line(key),
            GroupMsg::HostLaunched { number, gone } => group.launched(number, gone),
            GroupMsg::HostReady { number, pid } => group.ready(number, pid),
            GroupMsg::HostWeighed { number, memory } => group.weighed(number, memory),
            GroupMsg::HostClosed { number } => group.closed(number).await,
            GroupMsg::HostEnded(report) => group.ended(report).await,
            GroupMsg::RunEnded { number, task_type } => group.run_ended(number, &task_type),
            GroupMsg::HostGone { number } => group.host_gone(number).await,
            GroupMsg::StartDue => group.start_due().await,
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<GroupMsg>,
        event: SupervisionEvent,
        group: &mut Group,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(ended) = group.nursery.on_event(event) {
            group.actor_ended(ended).await;
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<GroupMsg>, group: &mut Group) -> Result<(), ActorProcessingErr> {
        group.line.clear();
        let limit = group.args.shared.settings.cancel_grace + Duration::from_secs(4);
        group.nursery.stop_all(limit).await;
        Ok(())
    }
}

impl Group {
    fn new(myself: ActorRef<GroupMsg>, args: GroupArgs) -> Self {
        Group {
            types: args.shared.types_of(&args.name),
            args,
            myself,
            nursery: Nursery::new(),
            hosts: BTreeMap::new(),
            line: VecDeque::new(),
            next: 1,
            failures: 0,
            start_due: None,
            farewells: BTreeMap::new(),
        }
    }

    async fn start_due(&mut self) {
        self.start_due = None;
        self.fill().await;
    }

    /// Starts hosts until there are as many as the types ask for. Not while a pause before the next start lasts.
    async fn fill(&mut self) {
        let wanted = self.types.iter().map(|t| t.processes).max().unwrap_or(0);
        while self.start_due.is_none() && self.standing() < wanted && !self.is_draining() {
            if !self.start_host(None).await {
                break;
            }
        }
        self.tell_seats();
    }

    /// Hosts that serve, or will.
    fn standing(&self) -> u32 {
        let hosts = self.hosts.values().filter(|h| !h.solo && !h.closed).count();
        u32::try_from(hosts).unwrap_or(u32::MAX)
    }

    async fn start_host(&mut self, reserved: Option<SeatAsk>) -> bool {
        let number = self.next;
        self.next += 1;
        let solo = reserved.is_some();
        let types = self.types.iter().map(|t| (**t).clone()).collect();
        let place = self.args.place.child("host").child(&number.to_string());
        let args = HostArgs {
            shared: Arc::clone(&self.args.shared),
            group: self.myself.clone(),
            number,
            spec: HostSpec { group: self.args.name.clone(), types },
            solo,
            place: place.clone(),
        };
        let spawned = self.nursery.spawn(self.myself.get_cell(), number, place, HostActor, args).await;
        match spawned {
            Ok(_) => {
                let row = HostRow {
                    open: false,
                    closed: false,
                    reserved,
                    solo,
                    busy: BTreeMap::new(),
                    gone: None,
                    memory: 0,
                };
                self.hosts.insert(number, row);
                true
            }
            Err(error) => {
                tracing::error!(actor = self.args.place.path(), %error, "a host's actor did not start");
                self.start_later();
                false
            }
        }
    }

    fn start_later(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.pause();
    }

    fn pause(&mut self) {
        let after = restart_delay(self.failures, self.args.shared.world.dice.unit());
        if !after.is_zero() {
            self.args.place.state(format!("starts a host in {:.1} s", after.as_secs_f64()));
            self.start_due = Some(Tick::after(&self.myself, after, || GroupMsg::StartDue));
        }
    }

    fn is_draining(&self) -> bool {
        self.args.shared.health.is_draining()
    }

    async fn seat(&mut self, ask: SeatAsk) {
        if self.is_draining() {
            return; // dropped, it tells its lease
        }
        if ask.is_solo() {
            self.start_host(Some(ask)).await;
            self.count();
            return;
        }
        if let Some(ask) = self.try_seat(ask) {
            self.line.push_back(ask);
        }
    }

    /// Gives the ask to a host with a free seat, or back.
    fn try_seat(&mut self, ask: SeatAsk) -> Option<SeatAsk> {
        let Some(task_type) = ask.task_type().cloned() else {
            return Some(ask);
        };
        let Some(number) = place(self.seats_for(&task_type)) else {
            return Some(ask);
        };
        let Some(host) = self.nursery.get::<HostMsg>(&number) else {
            return Some(ask);
        };
        if let Some(row) = self.hosts.get_mut(&number) {
            *row.busy.entry(task_type).or_default() += 1;
        }
        // a host that died meanwhile drops the ask, which tells its lease
        let _ = host.cast(HostMsg::Begin(ask));
        None
    }

    fn seats_for(&self, task_type: &TypeName) -> impl Iterator<Item = Seats> {
        let threads = self.threads(task_type);
        self.hosts.iter().map(move |(number, row)| Seats {
            number: *number,
            open: row.open && !row.closed && !row.solo,
            free: threads.saturating_sub(row.busy.get(task_type).copied().unwrap_or(0)),
            busy: row.busy.values().sum(),
        })
    }

    fn threads(&self, task_type: &TypeName) -> u32 {
        self.types.iter().find(|t| t.name == *task_type).map_or(0, |t| t.worker_threads)
    }

    fn leave_line(&mut self, key: LeaseKey) {
        self.line.retain(|ask| ask.key() != Some(key));
        for row in self.hosts.values_mut() {
            if row.reserved.as_ref().and_then(SeatAsk::key) == Some(key) {
                row.reserved = None;
            }
        }
    }

    fn launched(&mut self, number: u32, gone: CancellationToken) {
        if let Some(row) = self.hosts.get_mut(&number) {
            row.gone = Some(gone);
        }
    }

    fn ready(&mut self, number: u32, pid: Option<u32>) {
        let Some(row) = self.hosts.get_mut(&number) else {
            return;
        };
        row.open = true;
        let reserved = row.reserved.take();
        if row.solo {
            self.begin_solo(number, reserved);
            return;
        }
        let names: Vec<&str> = self.types.iter().map(|t| t.name.as_str()).collect();
        tracing::info!(
            actor = self.args.place.path(),
            host = number,
            pid = pid.unwrap_or(0),
            types = names.join(","),
            "a host is ready"
        );
        self.unpark();
        self.args.place.state("serving");
        self.tell_seats();
        self.serve_line();
    }

    fn begin_solo(&mut self, number: u32, reserved: Option<SeatAsk>) {
        let reserved = reserved.filter(|_| !self.is_draining());
        match (reserved, self.nursery.get::<HostMsg>(&number)) {
            (Some(ask), Some(host)) => {
                // as above
                let _ = host.cast(HostMsg::Begin(ask));
            }
            // its run no longer waits
            _ => drop(self.nursery.stop(&number)),
        }
    }

    fn serve_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.is_draining() {
            return; // as for one that comes now
        }
        for ask in line {
            if let Some(ask) = self.try_seat(ask) {
                self.line.push_back(ask);
            }
        }
    }

    async fn closed(&mut self, number: u32) {
        if let Some(row) = self.hosts.get_mut(&number) {
            row.closed = true;
        }
        self.fill().await;
    }

    fn run_ended(&mut self, number: u32, task_type: &TypeName) {
        if let Some(busy) = self.hosts.get_mut(&number).and_then(|row| row.busy.get_mut(task_type)) {
            *busy = busy.saturating_sub(1);
        }
        if !self.line.is_empty() {
            self.serve_line();
        }
    }

    async fn ended(&mut self, report: HostReport) {
        let Some(row) = self.hosts.remove(&report.number) else {
            return;
        };
        let good = report.lived.is_some_and(|lived| report.served > 0 || lived >= GOOD);
        if report.ordered || good {
            self.failures = 0;
        } else if !row.solo {
            self.start_failed(&report.error);
        }
        self.fill().await;
    }

    fn start_failed(&mut self, error: &TaskError) {
        self.failures = self.failures.saturating_add(1);
        let failures = self.failures;
        tracing::warn!(actor = self.args.place.path(), failures, %error, "a host did not start");
        let parked = is_parked(failures);
        if parked {
            self.args.place.state("parked: its hosts cannot start");
            self.line.clear();
        }
        for t in &self.types {
            self.args.shared.health.of_type(&t.name, |health| {
                health.last_start_error = Some(error.to_string());
                health.parked = parked.then(|| error.to_string());
            });
        }
        self.pause();
    }

    fn unpark(&self) {
        for t in &self.types {
            self.args.shared.health.of_type(&t.name, |health| {
                (health.parked, health.last_start_error) = (None, None);
            });
        }
    }

    /// A host's actor died: its handle is dropped, which kills the process. The next one starts once that is gone.
    async fn actor_ended(&mut self, ended: Ended<u32>) {
        if ended.exit == Exit::Done {
            return; // it has sent its report
        }
        let number = ended.key;
        let Some(row) = self.hosts.get_mut(&number) else {
            return;
        };
        (row.closed, row.reserved) = (true, None);
        let gone = row.gone.clone().unwrap_or_default();
        if row.gone.is_none() {
            gone.cancel();
        }
        let wait = async move { gone.cancelled().await };
        let farewell = OwnedTask::spawn(&self.myself, wait, move |_| GroupMsg::HostGone { number });
        self.farewells.insert(number, farewell);
        self.tell_seats();
    }

    async fn host_gone(&mut self, number: u32) {
        self.farewells.remove(&number);
        self.hosts.remove(&number);
        self.fill().await;
    }

    fn weighed(&mut self, number: u32, memory: u64) {
        if let Some(row) = self.hosts.get_mut(&number) {
            row.memory = memory;
        }
        self.count();
    }

    /// Tells metrics what is alive.
    fn count(&self) {
        let memory = self.hosts.values().map(|row| row.memory).sum();
        let (group, ready, alive) = (self.args.name.clone(), self.open(), self.hosts.len());
        self.args.shared.saw(Fact::Hosts { group, ready, alive, memory });
    }

    fn open(&self) -> u32 {
        let open = self.hosts.values().filter(|row| row.open && !row.closed && !row.solo).count();
        u32::try_from(open).unwrap_or(u32::MAX)
    }

    /// Pools claim no more than there are seats for.
    fn tell_seats(&self) {
        let open = self.open();
        self.count();
        for t in &self.types {
            tell_pool(&self.args.shared, t, open.saturating_mul(t.worker_threads));
        }
    }
}

/// A group that dies takes its hosts along: nobody claims for them until the next one has some.
impl Drop for Group {
    fn drop(&mut self) {
        let group = self.args.name.clone();
        self.args.shared.saw(Fact::Hosts { group, ready: 0, alive: 0, memory: 0 });
        for t in &self.types {
            tell_pool(&self.args.shared, t, 0);
        }
    }
}

fn tell_pool(shared: &Shared, task_type: &TaskType, seats: u32) {
    shared.health.of_type(&task_type.name, |health| health.seats = seats);
    if let Some(pool) = shared.pools.get(&task_type.name) {
        // a pool that is down asks for nothing; each claim reads the health
        let _ = pool.cast(PoolMsg::Seats);
    }
}
