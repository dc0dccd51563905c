//! claim_next: due tasks of a type, by priority, then age.

use std::time::Duration;

use async_trait::async_trait;
use windlass_actors::domain::{Owner, Suspicion, Timestamp};
use windlass_actors::ports::ledger::{ClaimNext, Claimed, NextAnswer};
use windlass_actors::ports::rules::OVERDUE_AT_ONCE;

use super::claim_rows::{ClaimRow, Start};
use super::fault::Fault;
use super::verb::{Tx, Verb};

pub(super) struct ClaimNexts {
    pub owner: Owner,
    pub claims: Vec<ClaimNext>,
}

#[async_trait]
impl Verb for ClaimNexts {
    type Answer = Vec<NextAnswer>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<NextAnswer>, Fault> {
        let mut answers = Vec::with_capacity(self.claims.len());
        for claim in &self.claims {
            answers.push(tx.claim_next(&self.owner, claim).await?);
        }
        Ok(answers)
    }

    fn split(&self) -> Vec<Self> {
        let one = |claim: &ClaimNext| ClaimNexts { owner: self.owner.clone(), claims: vec![claim.clone()] };
        self.claims.iter().map(one).collect()
    }

    fn join(parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        Some(parts.concat())
    }
}

/// What a claim saw beyond what it took.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Nothing,
    /// Another due task.
    More,
    /// So much that is overdue that it stopped there.
    Overdue,
}

impl Tx<'_> {
    async fn claim_next(&mut self, owner: &Owner, claim: &ClaimNext) -> Result<NextAnswer, Fault> {
        let gate = self.gate(claim.task_type.as_str(), owner, &claim.limits, claim.token).await?;
        if gate.repeated > 0 {
            return Ok(NextAnswer { claimed: self.repeated(owner, claim).await?, ..NextAnswer::default() });
        }
        let (room, retry_after) = gate.room(&claim.limits, self.now);
        let most = claim.most.min(room) as usize;
        let (claimed, seen) = self.claim_due(owner, claim, most).await?;
        if seen == Seen::Overdue {
            return Ok(NextAnswer { claimed, limited: None, next_due: Some(Duration::ZERO) });
        }
        let more = seen == Seen::More;
        let wants_more = claimed.len() < claim.most as usize;
        let limited = (wants_more && more).then_some(retry_after);
        let next_due = if wants_more && !more { self.next_due(claim).await? } else { None };
        Ok(NextAnswer { claimed, limited, next_due })
    }

    /// Claims up to `most`. What is overdue fails, and the next is looked at.
    async fn claim_due(
        &mut self,
        owner: &Owner,
        claim: &ClaimNext,
        most: usize,
    ) -> Result<(Vec<Claimed>, Seen), Fault> {
        let (limits, plugin_sha256) = (&claim.limits, claim.plugin_sha256.as_deref());
        let start = Start { owner, token: claim.token, limits, plugin_sha256 };
        let (mut claimed, mut failed): (Vec<Claimed>, usize) = (Vec::new(), 0);
        loop {
            let left = most - claimed.len();
            let suspects =
                if claimed.iter().any(|c| c.suspect != Suspicion::None) { Suspicion::None } else { claim.suspects };
            let mut rows = self.candidates(claim, suspects, left + 1).await?;
            let more = rows.len() > left;
            rows.truncate(left);
            let asked = rows.len();
            let started = self.start(start, rows).await?;
            let overdue = asked - started.len();
            failed += overdue;
            claimed.extend(started);
            if overdue == 0 {
                return Ok((claimed, if more { Seen::More } else { Seen::Nothing }));
            }
            if failed >= OVERDUE_AT_ONCE {
                return Ok((claimed, Seen::Overdue));
            }
        }
    }

    async fn candidates(
        &mut self,
        claim: &ClaimNext,
        suspects: Suspicion,
        most: usize,
    ) -> Result<Vec<ClaimRow>, Fault> {
        let mut rows: Vec<ClaimRow> = sqlx::query_as(include_str!("sql/claim_candidates.sql"))
            .bind(claim.task_type.as_str())
            .bind(self.now.0)
            .bind(most as i64)
            .fetch_all(&mut *self.conn)
            .await?;
        if suspects != Suspicion::None {
            let suspect: Option<ClaimRow> = sqlx::query_as(include_str!("sql/claim_suspect.sql"))
                .bind(claim.task_type.as_str())
                .bind(self.now.0)
                .bind(suspects.as_int())
                .fetch_optional(&mut *self.conn)
                .await?;
            rows.extend(suspect);
        }
        rows.sort_by(|a, b| a.rank().cmp(&b.rank()));
        rows.truncate(most);
        Ok(rows)
    }

    async fn repeated(&mut self, owner: &Owner, claim: &ClaimNext) -> Result<Vec<Claimed>, Fault> {
        let mut rows: Vec<ClaimRow> = sqlx::query_as(include_str!("sql/claim_repeated.sql"))
            .bind(claim.task_type.as_str())
            .bind(owner.incarnation.to_string())
            .bind(claim.token.to_string())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.sort_by(|a, b| a.rank().cmp(&b.rank()));
        rows.into_iter().map(|row| row.claimed(self.now, false)).collect()
    }

    async fn next_due(&mut self, claim: &ClaimNext) -> Result<Option<Duration>, Fault> {
        let due: Option<i64> = sqlx::query_scalar(include_str!("sql/next_due.sql"))
            .bind(claim.task_type.as_str())
            .bind(self.now.0)
            .bind(claim.suspects.as_int())
            .fetch_one(&mut *self.conn)
            .await?;
        Ok(due.map(|at| Timestamp(at).since(self.now)))
    }
}
