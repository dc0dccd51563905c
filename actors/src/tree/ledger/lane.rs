//! A queue of calls of one kind. It belongs to the node, so a ledger actor that dies loses none: what was under way
//! stays open and is repeated, with its tokens, by the next one.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::Notify;

use crate::ports::ledger::LedgerError;
use crate::supervise::lock::lock;

/// Told once, with the answer.
pub type Reply<A> = Box<dyn FnOnce(Result<A, LedgerError>) + Send>;

struct Call<Q, A> {
    request: Q,
    reply: Reply<A>,
}

struct Inner<Q, A> {
    waiting: VecDeque<Call<Q, A>>,
    open: Vec<Call<Q, A>>,
}

pub struct Lane<Q, A> {
    inner: Mutex<Inner<Q, A>>,
    bell: Notify,
    answered: Notify,
}

impl<Q, A> Default for Lane<Q, A> {
    fn default() -> Self {
        let inner = Inner { waiting: VecDeque::new(), open: Vec::new() };
        Lane { inner: Mutex::new(inner), bell: Notify::new(), answered: Notify::new() }
    }
}

impl<Q: Clone, A> Lane<Q, A> {
    /// Queues a call. `reply` is called from the ledger's own task and must not block.
    pub fn ask(&self, request: Q, reply: impl FnOnce(Result<A, LedgerError>) + Send + 'static) {
        lock(&self.inner).waiting.push_back(Call { request, reply: Box::new(reply) });
        self.bell.notify_one();
    }

    /// What waits, up to `most`; what a predecessor left open comes first.
    pub(super) async fn take(&self, most: usize) -> Vec<Q> {
        loop {
            let batch = self.open_some(most);
            if !batch.is_empty() {
                return batch;
            }
            self.bell.notified().await;
        }
    }

    fn open_some(&self, most: usize) -> Vec<Q> {
        let mut inner = lock(&self.inner);
        if inner.open.is_empty() {
            let count = most.min(inner.waiting.len());
            let Inner { waiting, open } = &mut *inner;
            open.extend(waiting.drain(..count));
        }
        inner.open.iter().map(|call| call.request.clone()).collect()
    }

    /// Answers the open calls, in order.
    pub(super) fn answer(&self, answers: Vec<Result<A, LedgerError>>) {
        let open = std::mem::take(&mut lock(&self.inner).open);
        open.into_iter().zip(answers).for_each(|(call, answer)| (call.reply)(answer));
        self.answered.notify_waiters();
    }

    /// Resolves once no such call waits or is under way.
    pub async fn until_none(&self, such: impl Fn(&Q) -> bool) {
        loop {
            let next = self.answered.notified();
            if !self.has(&such) {
                return;
            }
            next.await;
        }
    }

    fn has(&self, such: impl Fn(&Q) -> bool) -> bool {
        let inner = lock(&self.inner);
        inner.waiting.iter().chain(&inner.open).any(|call| such(&call.request))
    }

    /// Calls that wait or are under way.
    pub fn len(&self) -> usize {
        let inner = lock(&self.inner);
        inner.waiting.len() + inner.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[tokio::test]
    async fn what_was_under_way_when_its_server_died_is_taken_again_first() {
        let lane: Lane<u32, u32> = Lane::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        for n in 1..=3 {
            let heard = Arc::clone(&heard);
            lane.ask(n, move |answer| lock(&heard).push(answer.unwrap()));
        }
        assert_eq!(lane.take(2).await, [1, 2]);
        assert_eq!(lane.take(9).await, [1, 2], "repeated, not extended");
        lane.answer(vec![Ok(10), Ok(20)]);
        assert_eq!(lane.take(9).await, [3]);
        lane.answer(vec![Ok(30)]);
        assert_eq!(*lock(&heard), [10, 20, 30]);
        assert!(lane.is_empty());
    }
}
