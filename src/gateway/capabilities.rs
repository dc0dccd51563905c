//! What types the cluster knows, as of a moment ago: creating a task asks the database for the task alone.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use windlass_actors::domain::TypeName;
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::registry::Capability;

use super::problem::Fault;

/// How old an answer may be.
const FRESH: Duration = Duration::from_secs(1);

/// Faults of a payload that are told.
const MOST_FAULTS: usize = 50;

/// A type, with the validator of its payloads.
#[derive(Debug)]
pub struct Known {
    pub capability: Capability,
    /// Built at first use. None if the type has no schema, or one that is none.
    validator: Arc<OnceLock<Option<jsonschema::Validator>>>,
}

/// All types at one moment.
#[derive(Clone, Default)]
struct Table {
    types: HashMap<TypeName, Arc<Known>>,
    taken: Option<Instant>,
    failure: Option<LedgerError>,
}

/// The cached types. Calls of the store are one at a time, and shared by those who wait for them.
pub struct Capabilities {
    store: SharedStore,
    believed: Duration,
    store_timeout: Duration,
    table: watch::Sender<Arc<Table>>,
    turn: Mutex<()>,
}

impl Capabilities {
    pub fn new(store: SharedStore, believed: Duration, store_timeout: Duration) -> Self {
        Capabilities { store, believed, store_timeout, table: watch::Sender::default(), turn: Mutex::default() }
    }

    /// A type by its name. One that is unknown, or that nobody seems to serve, is looked up anew before it is said.
    pub async fn find(&self, name: &TypeName) -> Result<Option<Arc<Known>>, LedgerError> {
        let asked = Instant::now();
        let table = self.taken_after(asked.checked_sub(FRESH)).await?;
        match table.types.get(name) {
            Some(known) if known.capability.instances > 0 => Ok(Some(known.clone())),
            _ => Ok(self.taken_after(Some(asked)).await?.types.get(name).cloned()),
        }
    }

    /// All types by name, as of now.
    pub async fn all(&self) -> Result<Vec<Arc<Known>>, LedgerError> {
        let table = self.taken_after(Some(Instant::now())).await?;
        let mut all: Vec<_> = table.types.values().cloned().collect();
        all.sort_by(|a, b| a.capability.task_type.name.cmp(&b.capability.task_type.name));
        Ok(all)
    }

    /// Why the store could not be asked the last time, if so. Never waits.
    pub fn failure(&self) -> Option<String> {
        self.table.borrow().failure.as_ref().map(ToString::to_string)
    }

    /// Keeps the table fresh until dropped.
    pub async fn keep_fresh(self: Arc<Self>) {
        loop {
            let _ = self.taken_after(Some(Instant::now())).await;
            tokio::time::sleep(FRESH).await;
        }
    }

    async fn taken_after(&self, moment: Option<Instant>) -> Result<Arc<Table>, LedgerError> {
        let suffices = |table: &Table| table.taken.is_some() && table.taken >= moment;
        let table = self.table.borrow().clone();
        if suffices(&table) {
            return Ok(table);
        }
        let _turn = self.turn.lock().await;
        let table = self.table.borrow().clone();
        if suffices(&table) { Ok(table) } else { self.refresh(&table).await }
    }

    async fn refresh(&self, before: &Table) -> Result<Arc<Table>, LedgerError> {
        let taken = Some(Instant::now());
        let asked = tokio::time::timeout(self.store_timeout, self.store.capabilities(self.believed)).await;
        let answer = asked.unwrap_or_else(|_| Err(LedgerError::Unavailable("it did not answer in time".to_owned())));
        match answer {
            Ok(found) => {
                let types = found.into_iter().map(|c| (c.task_type.name.clone(), Known::new(c, &before.types)));
                let table = Arc::new(Table { types: types.collect(), taken, failure: None });
                self.table.send_replace(table.clone());
                Ok(table)
            }
            Err(failure) => {
                self.table.send_replace(Arc::new(Table { failure: Some(failure.clone()), ..before.clone() }));
                Err(failure)
            }
        }
    }
}

impl Known {
    fn new(capability: Capability, before: &HashMap<TypeName, Arc<Known>>) -> Arc<Known> {
        let (new, old) = (&capability.task_type, before.get(&capability.task_type.name));
        let same = old.filter(|old| {
            let old = &old.capability.task_type;
            old.metadata_version == new.metadata_version && old.payload_schema == new.payload_schema
        });
        let validator = same.map(|known| known.validator.clone()).unwrap_or_default();
        Arc::new(Known { capability, validator })
    }

    /// What the type's schema has against a payload. Values are not repeated: they may be long, or secret.
    pub fn faults(&self, payload: &Value) -> Vec<Fault> {
        let Some(validator) = self.validator.get_or_init(|| self.build()) else { return Vec::new() };
        let faults = validator.iter_errors(payload).take(MOST_FAULTS);
        faults.map(|fault| Fault::new(fault.instance_path().to_string(), fault.masked().to_string())).collect()
    }

    /// A schema that is none does not take the type down: its plugin sees the payloads all the same.
    fn build(&self) -> Option<jsonschema::Validator> {
        let of = &self.capability.task_type;
        let schema: Value = match serde_json::from_str(of.payload_schema.as_ref()?.as_str()) {
            Ok(schema) => schema,
            Err(error) => {
                tracing::warn!(task_type = %of.name, %error, "the payload schema is not JSON, payloads are not checked");
                return None;
            }
        };
        match jsonschema::validator_for(&schema) {
            Ok(validator) => Some(validator),
            Err(error) => {
                tracing::warn!(task_type = %of.name, %error, "the payload schema is broken, payloads are not checked");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_actors::domain::{Json, Kind, TaskType};

    fn known(schema: &str) -> Arc<Known> {
        let mut task_type = TaskType::new(TypeName::new("a").unwrap(), Kind::Python);
        task_type.payload_schema = Some(Json::trusted(schema));
        Known::new(Capability { task_type, instances: 1, paused: false }, &HashMap::new())
    }

    #[test]
    fn a_fault_has_a_pointer_and_repeats_no_value() {
        let known = known(r#"{"type":"object","required":["b"],"properties":{"a/b":{"type":"integer"}}}"#);
        let faults = known.faults(&serde_json::json!({"a/b": "hunter2"}));
        let pointers: Vec<_> = faults.iter().map(|f| f.pointer.as_str()).collect();
        assert_eq!(pointers.len(), 2, "{faults:?}");
        assert!(pointers.contains(&"/a~1b") && pointers.contains(&""), "{faults:?}");
        assert!(!format!("{faults:?}").contains("hunter2"));
    }

    #[test]
    fn a_schema_that_is_none_takes_nothing_down() {
        for broken in [r#"{"type":"nonsense"}"#, "[", "17", r#"{"$ref":"https://example.invalid/schema"}"#] {
            assert_eq!(known(broken).faults(&serde_json::json!({})), [], "{broken}");
        }
    }

    #[test]
    fn the_validator_is_kept_while_version_and_schema_are() {
        let first = known(r#"{"type":"object"}"#);
        let before = HashMap::from([(TypeName::new("a").unwrap(), first.clone())]);
        let second = Known::new(first.capability.clone(), &before);
        assert!(Arc::ptr_eq(&first.validator, &second.validator));
        let mut changed = first.capability.clone();
        changed.task_type.metadata_version = 2;
        assert!(!Arc::ptr_eq(&first.validator, &Known::new(changed, &before).validator));
    }
}
