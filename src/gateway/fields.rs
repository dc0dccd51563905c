//! Reads the fields of an object one by one and collects every fault, so that a caller hears of all at once.

use std::time::Duration;

use chrono::DateTime;
use serde_json::Value;
use windlass_actors::domain::{Json, MOST_NESTED, Timestamp};

use super::body::Fields;
use super::problem::{Code, Fault, Problem};

/// The longest span that a request may ask for.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The fields of an object, being read.
pub struct Reader<'a> {
    fields: &'a Fields<'a>,
    faults: Vec<Fault>,
    /// Not JSON within our bounds (a nesting too deep, a number beyond a double): the whole request is refused.
    broken: Option<Problem>,
}

impl<'a> Reader<'a> {
    /// Complains of fields that are not `known`.
    pub fn new(fields: &'a Fields<'a>, known: &[&str]) -> Self {
        let strangers = fields.keys().filter(|key| !known.contains(&key.as_str())).take(20);
        let faults = strangers.map(|key| {
            let shown: String = key.chars().take(80).collect();
            let message = format!("unknown field; known are {}", list(known));
            Fault::new(format!("/{}", shown.replace('~', "~0").replace('/', "~1")), message)
        });
        Reader { fields, faults: faults.collect(), broken: None }
    }

    pub fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.faults.push(Fault::new(format!("/{field}"), message));
    }

    /// All faults as one problem, if there are any.
    pub fn finish(self) -> Result<(), Problem> {
        match (self.broken, self.faults.as_slice()) {
            (Some(problem), _) => Err(problem),
            (None, []) => Ok(()),
            (None, [first, ..]) => {
                let detail = format!("`{}`: {}", first.pointer, first.message);
                Err(Problem::new(Code::InvalidRequest, detail).with_errors(self.faults))
            }
        }
    }

    /// The text of a field as it was given, and its value; null counts as absent.
    pub fn any(&mut self, field: &str) -> Option<(Json, Value)> {
        let raw = self.fields.get(field)?.get();
        if Json::depth_of(raw) > MOST_NESTED {
            let problem =
                Problem::new(Code::InvalidJson, format!("`{field}` is nested deeper than {MOST_NESTED} levels"));
            self.broken.get_or_insert(problem);
            return None;
        }
        match serde_json::from_str(raw) {
            Ok(Value::Null) => None,
            Ok(value) => Some((Json::trusted(raw), value)),
            Err(error) => {
                let problem = Problem::new(Code::InvalidJson, format!("`{field}` is not JSON that we read: {error}"));
                self.broken.get_or_insert(problem);
                None
            }
        }
    }

    /// A field that must be an object; an empty one if it is absent.
    pub fn object(&mut self, field: &str) -> (Json, Value) {
        match self.any(field) {
            Some((json, value @ Value::Object(_))) => (json, value),
            None => (Json::empty_object(), Value::Object(serde_json::Map::new())),
            Some(_) => {
                self.fault(field, "must be an object");
                (Json::empty_object(), Value::Null)
            }
        }
    }

    /// A text of `most` bytes at most, without control characters.
    pub fn text(&mut self, field: &str, most: usize) -> Option<String> {
        match self.any(field)?.1 {
            Value::String(text) if text.len() <= most && !text.contains('\0') => Some(text),
            _ => {
                self.fault(field, format!("must be a text of at most {most} bytes without NUL"));
                None
            }
        }
    }

    pub fn flag(&mut self, field: &str) -> bool {
        match self.any(field).map(|(_, value)| value) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(_) => {
                self.fault(field, "must be true or false");
                false
            }
        }
    }

    pub fn whole(&mut self, field: &str, from: u32, to: u32) -> Option<u32> {
        let value = self.any(field)?.1;
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (from..=to).contains(n));
        if number.is_none() {
            self.fault(field, format!("must be a whole number from {from} to {to}"));
        }
        number
    }

    /// Seconds, more than none and at most a year.
    pub fn seconds(&mut self, field: &str) -> Option<Duration> {
        let value = self.any(field)?.1;
        let span = value.as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok());
        let span = span.filter(|s| !s.is_zero() && *s <= LONGEST);
        if span.is_none() {
            self.fault(field, format!("must be a number of seconds above 0, at most {}", LONGEST.as_secs()));
        }
        span
    }

    pub fn moment(&mut self, field: &str) -> Option<Timestamp> {
        let value = self.any(field)?.1;
        let at = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        if at.is_none() {
            self.fault(field, "must be an RFC 3339 time such as `2030-01-31T12:00:00Z`");
        }
        at.map(|at| Timestamp(at.timestamp_millis()))
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
