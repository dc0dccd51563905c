//! The bond between an attempt and its run, from both sides. Whichever side dies, the other one hears of it, because
//! each end tells so when it is dropped.

use tokio_util::sync::CancellationToken;

use super::{GroupMsg, HostMsg};
use crate::decide::ending::RunOver;
use crate::domain::{EndReason, LeaseKey, TypeName};
use crate::ports::runner::{RunEvent, RunRef, RunRequest};
use crate::supervise::{ActorRef, Address};
use crate::tree::holdings::Begun;
use crate::tree::pools::LeaseMsg;

/// How long a task is put off that no host could take.
const NO_HOST_DELAY: std::time::Duration = std::time::Duration::from_secs(1);

struct Ask {
    lease: ActorRef<LeaseMsg>,
    over: CancellationToken,
    begun: Begun,
    request: RunRequest,
    solo: bool,
}

/// A run that asks for a host. Dropped on its way, it tells its lease that no host took it.
pub struct SeatAsk(Option<Ask>);

impl SeatAsk {
    pub fn new(
        lease: ActorRef<LeaseMsg>,
        over: CancellationToken,
        begun: Begun,
        request: RunRequest,
        solo: bool,
    ) -> Self {
        SeatAsk(Some(Ask { lease, over, begun, request, solo }))
    }

    pub fn send(self, group: Option<&Address<GroupMsg>>) {
        if let Some(group) = group {
            // comes back if the group is down, is dropped, and so tells the lease
            let _ = group.cast(GroupMsg::Seat(self));
        }
    }

    /// Whether it must be alone in a fresh host.
    pub fn is_solo(&self) -> bool {
        self.0.as_ref().is_some_and(|ask| ask.solo)
    }

    pub fn task_type(&self) -> Option<&TypeName> {
        self.0.as_ref().map(|ask| &ask.request.task_type)
    }

    pub fn key(&self) -> Option<LeaseKey> {
        self.0.as_ref().map(|ask| ask.request.key)
    }

    /// Seats it in a host: the lease gets the seat, the host the run. None if the lease has gone; then the run is over
    /// before it began.
    pub(super) fn seat(
        mut self,
        host: &ActorRef<HostMsg>,
        run: RunRef,
        gone: CancellationToken,
    ) -> Option<(Running, RunRequest)> {
        let Ask { lease, over, begun, mut request, .. } = self.0.take()?;
        request.run = run;
        let seat = Seat { host: host.clone(), run, over: false };
        let running = Running { lease, over, gone, task_type: request.task_type.clone(), ended: false };
        if running.lease.cast(LeaseMsg::Seated(seat)).is_err() {
            running.end(None);
            return None;
        }
        begun.set();
        Some((running, request))
    }
}

impl Drop for SeatAsk {
    fn drop(&mut self) {
        if let Some(Ask { lease, over, .. }) = self.0.take() {
            // a lease that has gone needs no news
            let _ = lease.cast(LeaseMsg::RunOver(RunOver::NotSeated { retry_after: Some(NO_HOST_DELAY) }));
            over.cancel();
        }
    }
}

/// The lease's side: dropped before the run is over, it gives the run up, and the host stops it.
pub struct Seat {
    host: ActorRef<HostMsg>,
    run: RunRef,
    over: bool,
}

impl Seat {
    pub fn cancel(&self, reason: EndReason) {
        self.tell(HostMsg::Cancel { run: self.run, reason });
    }

    pub fn kill(&self) {
        self.tell(HostMsg::Kill { run: self.run });
    }

    pub fn ack(&self, references: Vec<u64>, fenced: bool) {
        self.tell(HostMsg::Ack { run: self.run, references, fenced });
    }

    /// The run is over; there is nothing to give up.
    pub fn is_over(&mut self) {
        self.over = true;
    }

    fn tell(&self, message: HostMsg) {
        // a host that has gone has said, or will say, that the run is over
        let _ = self.host.cast(message);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.over {
            self.tell(HostMsg::Abandon { run: self.run });
        }
    }
}

/// The host's side: dropped before the run is over (the host's actor died), it says so once the process is gone.
pub struct Running {
    lease: ActorRef<LeaseMsg>,
    over: CancellationToken,
    gone: CancellationToken,
    pub task_type: TypeName,
    ended: bool,
}

impl Running {
    pub fn said(&self, event: RunEvent) {
        // a lease that died has given the run up
        let _ = self.lease.cast(LeaseMsg::Ran(event));
    }

    /// The run is over, and nothing of it is left. `how` is for runs that did not say so themselves.
    pub fn end(mut self, how: Option<RunOver>) {
        self.ended = true;
        if let Some(how) = how {
            // as above
            let _ = self.lease.cast(LeaseMsg::RunOver(how));
        }
        self.over.cancel();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (lease, over, gone) = (self.lease.clone(), self.over.clone(), self.gone.clone());
        let farewell = async move {
            gone.cancelled().await;
            // as above
            let _ = lease.cast(LeaseMsg::RunOver(RunOver::HostActorDied));
            over.cancel();
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // its owner is dead, so nobody can own this; it ends with the process it waits for
            drop(runtime.spawn(farewell));
        }
    }
}
