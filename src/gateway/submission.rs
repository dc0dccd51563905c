//! A create request, from its text to what the store is asked for. Pure.

use std::time::Duration;

use serde_json::Value;
use utoipa::ToSchema;
use windlass_actors::domain::{Json, NewTask, TaskId, TaskType, Timestamp};

use super::access::Caller;
use super::body::{Fields, too_large};
use super::fields::Reader;
use super::fingerprint::Fingerprint;
use super::problem::{Code, Problem};

/// What a create request may hold.
const FIELDS: [&str; 13] = [
    "task_type",
    "payload",
    "model_spec",
    "inference_params",
    "credential",
    "priority",
    "max_attempts",
    "timeout_seconds",
    "deadline_seconds",
    "not_before",
    "metadata",
    "idempotency_key",
    "on_disconnect",
];

/// Bytes of an idempotency key.
const LONGEST_KEY: usize = 255;

/// A create request. What is null counts as absent.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape for OpenAPI; `parse` reads the text itself, to name every fault at once")]
pub struct CreateRequest {
    #[schema(example = "hello", pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    task_type: String,
    /// Passed to the plugin as it is given here; checked against the type's `payload_schema`.
    #[schema(required = false, value_type = Object)]
    payload: Value,
    #[schema(required = false, value_type = Object)]
    model_spec: Value,
    #[schema(required = false, value_type = Object)]
    inference_params: Value,
    /// Never returned; dropped if the type takes no credential.
    #[schema(required = false, value_type = Object)]
    credential: Value,
    /// Higher goes first.
    #[schema(required = false, minimum = 0, maximum = 9, default = 0)]
    priority: u32,
    /// The type's own if not given.
    #[schema(required = false, minimum = 1, maximum = 100)]
    max_attempts: u32,
    #[schema(required = false, exclusive_minimum = 0)]
    timeout_seconds: f64,
    /// From now; a task that has not ended by then fails.
    #[schema(required = false, exclusive_minimum = 0)]
    deadline_seconds: f64,
    #[schema(required = false, format = DateTime)]
    not_before: String,
    /// Any JSON that you want back with the task.
    #[schema(required = false)]
    metadata: Value,
    /// As the header `Idempotency-Key`.
    #[schema(required = false, max_length = 255)]
    idempotency_key: String,
    /// `cancel` cancels the task if the reader of this request's own event stream leaves before the end.
    #[schema(required = false, default = "detach", pattern = "^(detach|cancel)$")]
    on_disconnect: String,
}

/// A create request, read and checked by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Submission {
    pub task_type: String,
    /// For the schema.
    pub payload_value: Value,
    pub cancel_on_disconnect: bool,
    payload: Json,
    model_spec: Json,
    inference_params: Json,
    metadata: Json,
    priority: u8,
    max_attempts: Option<u32>,
    timeout: Option<Duration>,
    deadline_in: Option<Duration>,
    not_before: Option<Timestamp>,
    idempotency_key: Option<String>,
    fingerprint: String,
}

/// Reads the fields of a create request, or says all that is wrong with them.
pub fn parse(fields: &Fields<'_>, header_key: Option<&str>, max_payload: usize) -> Result<Submission, Problem> {
    let mut reader = Reader::new(fields, &FIELDS);
    let task_type = reader.text("task_type", 1024);
    if task_type.is_none() && fields.get("task_type").is_none_or(|raw| raw.get() == "null") {
        reader.fault("task_type", "is required");
    }
    let (payload, payload_value) = reader.object("payload");
    let (model_spec, model_spec_value) = reader.object("model_spec");
    let (inference_params, inference_params_value) = reader.object("inference_params");
    let (metadata, metadata_value) =
        reader.any("metadata").unwrap_or_else(|| (Json::empty_object(), Value::Object(serde_json::Map::new())));
    let _dropped = reader.object("credential");
    let priority = reader.whole("priority", 0, 9).unwrap_or(0);
    let max_attempts = reader.whole("max_attempts", 1, 100);
    let timeout = reader.seconds("timeout_seconds");
    let deadline_in = reader.seconds("deadline_seconds");
    let not_before = reader.moment("not_before");
    let idempotency_key = idempotency_key(&mut reader, header_key)?;
    let cancel_on_disconnect = on_disconnect(&mut reader);
    reader.finish()?;
    if payload.len() > max_payload {
        return Err(too_large(max_payload));
    }
    let task_type = task_type.unwrap_or_default();
    let times = serde_json::json!([
        priority,
        max_attempts,
        timeout.map(|t| t.as_secs_f64()),
        deadline_in.map(|t| t.as_secs_f64()),
        not_before.map(|t| t.0),
    ]);
    let mut fingerprint = Fingerprint::default();
    fingerprint.text(&task_type);
    for part in [&payload_value, &model_spec_value, &inference_params_value, &metadata_value, &times] {
        fingerprint.value(part);
    }
    Ok(Submission {
        fingerprint: fingerprint.finish(),
        priority: u8::try_from(priority).unwrap_or(9),
        task_type,
        payload_value,
        cancel_on_disconnect,
        payload,
        model_spec,
        inference_params,
        metadata,
        max_attempts,
        timeout,
        deadline_in,
        not_before,
        idempotency_key,
    })
}

fn idempotency_key(reader: &mut Reader<'_>, header: Option<&str>) -> Result<Option<String>, Problem> {
    let field = reader.text("idempotency_key", LONGEST_KEY);
    let key = match (header, field) {
        (Some(header), Some(field)) if header != field => {
            let detail = "the header `Idempotency-Key` and the field `idempotency_key` differ";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        (Some(header), _) => Some(header.to_owned()),
        (None, field) => field,
    };
    match &key {
        Some(key) if key.is_empty() || key.len() > LONGEST_KEY || key.chars().any(char::is_control) => {
            let detail = format!("an idempotency key has 1 to {LONGEST_KEY} bytes and no control characters");
            Err(Problem::new(Code::InvalidParameter, detail))
        }
        _ => Ok(key),
    }
}

fn on_disconnect(reader: &mut Reader<'_>) -> bool {
    match reader.text("on_disconnect", 32).as_deref() {
        Some("cancel") => true,
        None | Some("detach") => false,
        Some(_) => {
            reader.fault("on_disconnect", "must be `detach` or `cancel`");
            false
        }
    }
}

impl Submission {
    /// Fills in what the type and the caller decide.
    pub fn into_task(self, id: TaskId, of: &TaskType, caller: &Caller) -> NewTask {
        NewTask {
            id,
            task_type: of.name.clone(),
            owner: caller.owner.clone(),
            payload: self.payload,
            model_spec: self.model_spec,
            inference_params: self.inference_params,
            metadata: self.metadata,
            priority: self.priority,
            max_attempts: self.max_attempts.unwrap_or(of.max_attempts),
            timeout: self.timeout,
            deadline_in: self.deadline_in,
            not_before: self.not_before,
            client_role: caller.client_role.clone(),
            idempotency_key: self.idempotency_key,
            fingerprint: self.fingerprint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::object;
    use super::*;

    fn read(json: &str) -> Result<Submission, Problem> {
        parse(&object(json.as_bytes())?, None, 1024)
    }

    fn pointers(json: &str) -> Vec<String> {
        let problem = read(json).unwrap_err();
        assert_eq!(problem.code, Code::InvalidRequest, "{json}: {problem:?}");
        problem.errors.into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let json = r#"{"task_typ":"x","priority":10,"max_attempts":0,"timeout_seconds":-1,"deadline_seconds":"x",
            "not_before":"tomorrow","payload":[],"on_disconnect":"explode","metadata":{"any":1}}"#;
        let mut found = pointers(json);
        found.sort();
        assert_eq!(
            found,
            [
                "/deadline_seconds",
                "/max_attempts",
                "/not_before",
                "/on_disconnect",
                "/payload",
                "/priority",
                "/task_typ",
                "/task_type",
                "/timeout_seconds"
            ]
        );
    }

    #[test]
    fn numbers_out_of_range_are_faults() {
        for (field, bad) in [
            ("priority", "-1"),
            ("priority", "1.5"),
            ("priority", "\"1\""),
            ("max_attempts", "101"),
            ("max_attempts", "4294967297"),
            ("timeout_seconds", "0"),
            ("timeout_seconds", "1e300"),
            ("deadline_seconds", "0.0"),
            ("deadline_seconds", "true"),
            ("not_before", "5"),
            ("credential", "\"secret\""),
        ] {
            assert_eq!(pointers(&format!("{{\"task_type\":\"a\",\"{field}\":{bad}}}")), [format!("/{field}")], "{bad}");
        }
    }

    #[test]
    fn what_no_json_reader_takes_is_400() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for bad in [deep.as_str(), "{\"a\":1e999}", "{\"a\":\"\\ud800\"}"] {
            for field in ["payload", "metadata", "model_spec"] {
                let json = format!("{{\"task_type\":\"a\",\"{field}\":{bad}}}");
                assert_eq!(read(&json).unwrap_err().code, Code::InvalidJson);
            }
        }
    }

    #[test]
    fn a_payload_passes_as_it_was_written() {
        let text = "{ \"z\":1.50, \"a\":\"\\u0000\", \"n\":12345678901234567890123 }";
        let read = read(&format!("{{\"task_type\":\"a\",\"payload\":{text}}}")).unwrap();
        assert_eq!(read.payload.as_str(), text);
    }

    #[test]
    fn the_fingerprint_is_of_the_meaning_without_credential_and_delivery() {
        let of = |json: &str| read(json).unwrap().fingerprint;
        let base = of(r#"{"task_type":"a","payload":{"x":1,"y":2}}"#);
        assert_eq!(
            base,
            of(r#"{"payload":{"y":2, "x":1},"task_type":"a","on_disconnect":"cancel","credential":{"k":"s"}}"#)
        );
        assert_eq!(base, of(r#"{"task_type":"a","payload":{"x":1,"y":2},"priority":0,"model_spec":null}"#));
        for other in [
            r#"{"task_type":"b","payload":{"x":1,"y":2}}"#,
            r#"{"task_type":"a","payload":{"x":1,"y":3}}"#,
            r#"{"task_type":"a","payload":{"x":1,"y":2},"priority":1}"#,
            r#"{"task_type":"a","payload":{"x":1,"y":2},"metadata":1}"#,
            r#"{"task_type":"a","model_spec":{"x":1,"y":2}}"#,
        ] {
            assert_ne!(base, of(other), "{other}");
        }
    }

    #[test]
    fn an_idempotency_key_is_bounded_and_given_once() {
        let fields = object(br#"{"task_type":"a","idempotency_key":"k"}"#).unwrap();
        assert_eq!(parse(&fields, Some("k"), 9).unwrap().idempotency_key.as_deref(), Some("k"));
        assert_eq!(parse(&fields, Some("other"), 9).unwrap_err().code, Code::InvalidParameter);
        let fields = object(br#"{"task_type":"a"}"#).unwrap();
        for bad in ["", "a\nb", &"x".repeat(256)] {
            assert_eq!(parse(&fields, Some(bad), 9).unwrap_err().code, Code::InvalidParameter);
        }
    }

    #[test]
    fn a_payload_above_its_limit_is_413() {
        let json = format!("{{\"task_type\":\"a\",\"payload\":{{\"x\":\"{}\"}}}}", "x".repeat(1024));
        assert_eq!(read(&json).unwrap_err().code, Code::TooLarge);
    }

    #[test]
    fn openapi_shows_the_fields_that_are_read() {
        use utoipa::PartialSchema;
        let schema = serde_json::to_value(CreateRequest::schema()).unwrap();
        let mut shown: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        let mut known = FIELDS.map(str::to_owned).to_vec();
        shown.sort();
        known.sort();
        assert_eq!(shown, known);
        assert_eq!(schema["required"], serde_json::json!(["task_type"]));
    }
}
