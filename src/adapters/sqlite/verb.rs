//! One call: what it does in a write transaction, and how its caller hears of it.

use async_trait::async_trait;
use sqlx::SqliteConnection;
use tokio::sync::oneshot;
use windlass_actors::domain::{TaskId, Timestamp, TypeName};
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::rules::Sizes;
use windlass_actors::ports::signals::Signal;

use super::fault::Fault;

/// A write transaction under way.
pub(super) struct Tx<'c> {
    pub conn: &'c mut SqliteConnection,
    /// SQLite's clock, read after the write lock was got.
    pub now: Timestamp,
    pub sizes: Sizes,
    /// Told once it is committed.
    pub signals: Vec<Signal>,
}

impl Tx<'_> {
    /// Tells after the commit, once.
    pub fn signal(&mut self, signal: Signal) {
        if !self.signals.contains(&signal) {
            self.signals.push(signal);
        }
    }

    /// Tells that a task of the type is queued, due or not: who looks learns when the next one is due.
    pub fn queued(&mut self, task_type: &TypeName) {
        self.signal(Signal::Queued { task_type: task_type.clone() });
    }

    pub fn recorded(&mut self, task: TaskId, last_seq: i64) {
        self.signals.push(Signal::Recorded { task, last_seq });
    }
}

/// What a call does. It may be run again after a rollback.
#[async_trait]
pub(super) trait Verb: Send + Sync + Sized + 'static {
    type Answer: Send + 'static;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Self::Answer, Fault>;

    /// Its items, each as a call of its own. Nothing: it stands or falls as a whole.
    fn split(&self) -> Vec<Self> {
        Vec::new()
    }

    /// One answer from those of the items.
    fn join(_parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        None
    }
}

/// A call as the writer sees it.
#[async_trait]
pub(super) trait Job: Send {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault>;
    fn split(&self) -> Vec<Box<dyn Job>>;
    /// Takes the answers of the parts.
    fn join(&mut self, parts: Vec<Box<dyn Job>>);
    /// Answers the caller, after the commit.
    fn commit(&mut self);
    fn fail(&mut self, fault: Fault);
    fn answer(&mut self) -> Option<Box<dyn std::any::Any + Send>>;
}

pub(super) struct Pending<V: Verb> {
    verb: V,
    answer: Option<V::Answer>,
    reply: Option<oneshot::Sender<Result<V::Answer, LedgerError>>>,
}

impl<V: Verb> Pending<V> {
    pub fn new(verb: V, reply: oneshot::Sender<Result<V::Answer, LedgerError>>) -> Self {
        Pending { verb, answer: None, reply: Some(reply) }
    }

    fn say(&mut self, answer: Result<V::Answer, LedgerError>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(answer); // a caller who left needs no answer
        }
    }
}

#[async_trait]
impl<V: Verb> Job for Pending<V> {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        self.answer = Some(self.verb.run(tx).await?);
        Ok(())
    }

    fn split(&self) -> Vec<Box<dyn Job>> {
        let part = |verb| Box::new(Pending { verb, answer: None, reply: None }) as Box<dyn Job>;
        self.verb.split().into_iter().map(part).collect()
    }

    fn join(&mut self, parts: Vec<Box<dyn Job>>) {
        let answers = parts.into_iter().filter_map(|mut part| part.answer()?.downcast().ok().map(|a| *a));
        self.answer = V::join(answers.collect());
    }

    fn commit(&mut self) {
        let lost = || LedgerError::Unavailable("its answer was lost".to_owned());
        let answer = self.answer.take().ok_or_else(lost);
        self.say(answer);
    }

    fn fail(&mut self, fault: Fault) {
        self.say(Err(fault.into()));
    }

    fn answer(&mut self) -> Option<Box<dyn std::any::Any + Send>> {
        self.answer.take().map(|a| Box::new(a) as _)
    }
}
