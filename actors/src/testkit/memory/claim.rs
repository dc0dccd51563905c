//! Claims: of known tasks, and of the next due ones.

use std::time::Duration;

use uuid::Uuid;

use super::row::{Row, With};
use super::state::State;
use crate::domain::{Command, Owner, Status, Suspicion, TaskId, Timestamp, TypeName};
use crate::ports::ledger::{Claim, ClaimAnswer, ClaimNext, Claimed, Limits, NextAnswer};
use crate::ports::rules::{Gate, LIMITED_FOR, OVERDUE_AT_ONCE, START_WINDOW};

impl Row {
    /// The order of claims: by priority, then age.
    fn rank(&self) -> (u8, Timestamp, TaskId) {
        (9 - self.task.priority.min(9), self.standing.not_before, self.task.id)
    }

    fn claimed(&self, now: Timestamp) -> Claimed {
        Claimed {
            key: self.key(),
            task_type: self.task.task_type.clone(),
            owner: self.task.owner.clone(),
            attempt: self.standing.attempt,
            max_attempts: self.standing.max_attempts,
            suspect: self.standing.suspect,
            payload: self.task.payload.clone(),
            model_spec: self.task.model_spec.clone(),
            inference_params: self.task.inference_params.clone(),
            checkpoint: self.checkpoint.clone(),
            client_role: self.task.client_role.clone(),
            timeout: self.task.timeout,
            deadline_in: self.standing.deadline_at.map(|at| at.since(now)),
            waited: self.started_at.unwrap_or(now).since(self.standing.not_before),
        }
    }
}

impl State {
    fn of_type(&self, task_type: &TypeName, status: Status) -> impl Iterator<Item = &Row> {
        self.tasks.values().filter(move |row| row.standing.status == status && row.task.task_type == *task_type)
    }

    fn room(&self, task_type: &TypeName, limits: &Limits) -> (u32, Duration) {
        let since = self.now.minus(START_WINDOW);
        let of_type = self.tasks.values().filter(|row| row.task.task_type == *task_type);
        let starts = of_type.flat_map(|row| &row.tries).filter(|t| t.rated && t.attempt.started_at > since);
        let starts: Vec<Timestamp> = starts.map(|t| t.attempt.started_at).collect();
        let gate = Gate {
            paused: self.types.get(task_type).is_some_and(|known| known.paused),
            running: self.of_type(task_type, Status::Running).count() as u32,
            starts: starts.len() as u32,
            oldest_start: starts.into_iter().min(),
        };
        gate.room(limits, self.now)
    }

    pub fn claim(&mut self, owner: &Owner, claim: &Claim) -> ClaimAnswer {
        let now = self.now;
        let Some(row) = self.tasks.get(&claim.task).filter(|row| row.task.task_type == claim.task_type) else {
            return ClaimAnswer::Unknown;
        };
        let standing = &row.standing;
        match (standing.status, &row.held) {
            (Status::Queued, _) => {}
            (Status::Running, Some(held)) if held.incarnation == owner.incarnation && held.token == claim.token => {
                return ClaimAnswer::Claimed(Box::new(row.claimed(now)));
            }
            (Status::Running, Some(held)) => {
                return ClaimAnswer::HeldBy { owner: held.node.clone(), lease_left: held.until.since(now) };
            }
            (status, _) => return ClaimAnswer::Finished { status },
        }
        if standing.deadline_at.is_none_or(|at| at > now) {
            if standing.not_before > now {
                return ClaimAnswer::NotDue { due_in: standing.not_before.since(now) };
            }
            if standing.suspect > claim.suspects {
                return ClaimAnswer::Limited { retry_after: LIMITED_FOR };
            }
            if let (0, retry_after) = self.room(&claim.task_type, &claim.limits) {
                return ClaimAnswer::Limited { retry_after };
            }
        }
        let claimed = self.start(claim.task, owner, claim.token, &claim.limits);
        claimed.map_or(ClaimAnswer::Finished { status: Status::Failed }, |c| ClaimAnswer::Claimed(Box::new(c)))
    }

    /// Starts an attempt. None if its deadline has passed: it fails on the way.
    fn start(&mut self, id: TaskId, owner: &Owner, token: Uuid, limits: &Limits) -> Option<Claimed> {
        let next = self.apply(id, Command::Claim { node: owner.node.clone() }, With::default())?;
        let row = self.tasks.get_mut(&id).filter(|_| next.status == Status::Running)?;
        row.begin(owner, token, limits.starts_per_minute.is_some(), self.now);
        Some(row.claimed(self.now))
    }

    pub fn claim_next(&mut self, owner: &Owner, claim: &ClaimNext) -> NextAnswer {
        let repeated = self.repeated(owner, claim);
        if !repeated.is_empty() {
            return NextAnswer { claimed: repeated, ..NextAnswer::default() };
        }
        let (room, retry_after) = self.room(&claim.task_type, &claim.limits);
        let most = claim.most.min(room) as usize;
        let (mut claimed, mut more, mut failed): (Vec<Claimed>, bool, usize) = (Vec::new(), false, 0);
        while let Some(asked) = most.checked_sub(claimed.len()) {
            let has_suspect = claimed.iter().any(|c| c.suspect != Suspicion::None);
            let suspects = if has_suspect { Suspicion::None } else { claim.suspects };
            let ids = self.candidates(&claim.task_type, suspects, asked + 1);
            more = ids.len() > asked;
            let before = claimed.len();
            let started = ids.iter().take(asked).filter_map(|id| self.start(*id, owner, claim.token, &claim.limits));
            claimed.extend(started.collect::<Vec<_>>());
            let overdue = ids.len().min(asked) - (claimed.len() - before);
            failed += overdue;
            if overdue == 0 {
                break;
            }
            if failed >= OVERDUE_AT_ONCE {
                return NextAnswer { claimed, limited: None, next_due: Some(Duration::ZERO) };
            }
        }
        let wants_more = claimed.len() < claim.most as usize;
        let next_due = (wants_more && !more).then(|| self.next_due(claim)).flatten();
        NextAnswer { claimed, limited: (wants_more && more).then_some(retry_after), next_due }
    }

    fn repeated(&self, owner: &Owner, claim: &ClaimNext) -> Vec<Claimed> {
        let ours = |row: &&Row| {
            row.held.as_ref().is_some_and(|h| h.incarnation == owner.incarnation && h.token == claim.token)
        };
        let mut rows: Vec<&Row> = self.of_type(&claim.task_type, Status::Running).filter(ours).collect();
        rows.sort_by_key(|row| row.rank());
        rows.into_iter().map(|row| row.claimed(self.now)).collect()
    }

    /// Due tasks in the order of claims, at most one suspect among them.
    fn candidates(&self, task_type: &TypeName, suspects: Suspicion, most: usize) -> Vec<TaskId> {
        let due = |row: &&Row| row.standing.not_before <= self.now && row.standing.suspect <= suspects;
        let mut rows: Vec<&Row> = self.of_type(task_type, Status::Queued).filter(due).collect();
        rows.sort_by_key(|row| row.rank());
        let mut suspects = 0;
        rows.retain(|row| {
            suspects += usize::from(row.standing.suspect != Suspicion::None);
            row.standing.suspect == Suspicion::None || suspects == 1
        });
        rows.into_iter().take(most).map(|row| row.task.id).collect()
    }

    fn next_due(&self, claim: &ClaimNext) -> Option<Duration> {
        let later = |row: &&Row| row.standing.not_before > self.now && row.standing.suspect <= claim.suspects;
        let rows = self.of_type(&claim.task_type, Status::Queued).filter(later);
        rows.map(|row| row.standing.not_before.since(self.now)).min()
    }
}
