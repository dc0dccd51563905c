//! claim: known tasks, one by one (a broker's deliveries).

use async_trait::async_trait;
use windlass_actors::domain::{Owner, Status, Suspicion, Timestamp};
use windlass_actors::ports::ledger::{Claim, ClaimAnswer};
use windlass_actors::ports::rules::LIMITED_FOR;

use super::claim_rows::{ClaimRow, Start};
use super::fault::Fault;
use super::row::{json, span};
use super::verb::{Tx, Verb};

pub(super) struct Claims {
    pub owner: Owner,
    pub claims: Vec<Claim>,
}

#[async_trait]
impl Verb for Claims {
    type Answer = Vec<ClaimAnswer>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<ClaimAnswer>, Fault> {
        let mut answers = Vec::with_capacity(self.claims.len());
        for claim in &self.claims {
            answers.push(tx.claim(&self.owner, claim).await?);
        }
        Ok(answers)
    }

    fn split(&self) -> Vec<Self> {
        let one = |claim: &Claim| Claims { owner: self.owner.clone(), claims: vec![claim.clone()] };
        self.claims.iter().map(one).collect()
    }

    fn join(parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        Some(parts.concat())
    }
}

impl Tx<'_> {
    async fn claim(&mut self, owner: &Owner, claim: &Claim) -> Result<ClaimAnswer, Fault> {
        let load = sqlx::query_as(include_str!("sql/claim_load.sql")).bind(json(&[claim.task])?);
        let row: Option<ClaimRow> = load.fetch_optional(&mut *self.conn).await?;
        let Some(row) = row.filter(|row| row.task.task_type == claim.task_type.as_str()) else {
            return Ok(ClaimAnswer::Unknown);
        };
        match row.task.status()? {
            Status::Queued => self.claim_queued(owner, claim, row).await,
            Status::Running => self.claim_held(owner, claim, row),
            status => Ok(ClaimAnswer::Finished { status }),
        }
    }

    fn claim_held(&self, owner: &Owner, claim: &Claim, row: ClaimRow) -> Result<ClaimAnswer, Fault> {
        let ours = row.task.is_held(row.task.key()?, owner.incarnation);
        if ours && row.task.claim_token.as_deref() == Some(claim.token.to_string().as_str()) {
            return Ok(ClaimAnswer::Claimed(Box::new(row.claimed(self.now, false)?)));
        }
        let lease_left = span(row.task.lease_until.unwrap_or(0) - self.now.0);
        Ok(ClaimAnswer::HeldBy { owner: row.task.node(), lease_left })
    }

    async fn claim_queued(&mut self, owner: &Owner, claim: &Claim, row: ClaimRow) -> Result<ClaimAnswer, Fault> {
        let (due, overdue) = (row.task.not_before, row.task.deadline_at.is_some_and(|at| at <= self.now.0));
        if !overdue {
            if due > self.now.0 {
                return Ok(ClaimAnswer::NotDue { due_in: Timestamp(due).since(self.now) });
            }
            if Suspicion::from_int(row.task.suspect) > claim.suspects {
                return Ok(ClaimAnswer::Limited { retry_after: LIMITED_FOR });
            }
            let gate = self.gate(claim.task_type.as_str(), owner, &claim.limits, claim.token).await?;
            let (room, retry_after) = gate.room(&claim.limits, self.now);
            if room == 0 {
                return Ok(ClaimAnswer::Limited { retry_after });
            }
        }
        let (limits, plugin_sha256) = (&claim.limits, claim.plugin_sha256.as_deref());
        let start = Start { owner, token: claim.token, limits, plugin_sha256 };
        let claimed = self.start(start, vec![row]).await?.pop();
        Ok(claimed.map_or(ClaimAnswer::Finished { status: Status::Failed }, |c| ClaimAnswer::Claimed(Box::new(c))))
    }
}
