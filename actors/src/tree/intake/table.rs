//! The task table as the queue: a delivery is a signal of the store. There is nothing to settle, and a signal that is
//! lost costs one `idle_claim` of the consumer.

use async_trait::async_trait;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::domain::TypeName;
use crate::ports::SharedStore;
use crate::ports::intake::{Delivery, Intake, IntakeError, Settlement, Subscription};
use crate::ports::signals::Signal;

pub struct TableQueue {
    store: SharedStore,
}

impl TableQueue {
    pub fn new(store: SharedStore) -> Self {
        TableQueue { store }
    }
}

struct Listener {
    task_type: TypeName,
    signals: Receiver<Signal>,
}

#[async_trait]
impl Intake for TableQueue {
    async fn open(&self, task_type: &TypeName, _prefetch: u32) -> Result<Box<dyn Subscription>, IntakeError> {
        Ok(Box::new(Listener { task_type: task_type.clone(), signals: self.store.subscribe() }))
    }
}

#[async_trait]
impl Subscription for Listener {
    async fn next(&mut self) -> Result<Delivery, IntakeError> {
        let wake = Delivery { task: None, receipt: None };
        loop {
            match self.signals.recv().await {
                Ok(Signal::Queued { task_type } | Signal::TypeChanged { task_type }) if task_type == self.task_type => {
                    return Ok(wake);
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return Ok(wake),
                Err(RecvError::Closed) => {
                    return Err(IntakeError("the store is closed".to_owned()));
                }
            }
        }
    }

    async fn settle(&mut self, _: u64, _: Settlement) -> Result<(), IntakeError> {
        Ok(())
    }
}
