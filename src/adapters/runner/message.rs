//! Messages of the worker protocol, both ways.
//!
//! Payloads, results and outputs pass through as texts: they are checked to be one JSON value and not built up.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use windlass_actors::domain::{Json, MOST_NESTED, TaskError};
use windlass_actors::ports::runner::{HostCommand, HostEvent, RunEvent, RunFailure, RunRef, RunRequest};

use super::frame::Frame;

/// The version of the protocol that this node speaks.
pub const PROTOCOL: u32 = 1;

/// Longest line of log in bytes; longer ones are cut.
pub const MAX_TEXT: usize = 8 << 10;
/// Longest detail of a failure in bytes, the mark of a cut included.
const MAX_DETAIL: usize = 16 << 10;
const MAX_NAME: usize = 256;

/// A header from a worker.
#[derive(Deserialize, Debug)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Told<'a> {
    Ready {
        protocol: u32,
        pid: Option<u32>,
    },
    Stage {
        run: RunRef,
        #[serde(borrow)]
        name: Cow<'a, str>,
    },
    Progress {
        run: RunRef,
        fraction: f64,
        #[serde(borrow)]
        message: Option<Cow<'a, str>>,
    },
    Output {
        run: RunRef,
        r#ref: u64,
    },
    Log {
        run: Option<RunRef>,
        #[serde(borrow)]
        level: Cow<'a, str>,
        #[serde(borrow)]
        stream: Cow<'a, str>,
    },
    Checkpoint {
        run: RunRef,
        r#ref: u64,
    },
    Done {
        run: RunRef,
    },
    Failed {
        run: Option<RunRef>,
        kind: FailedAs,
        #[serde(borrow)]
        code: Cow<'a, str>,
        #[serde(borrow)]
        detail: Cow<'a, str>,
        retry_after: Option<f64>,
    },
    Pong {
        n: u64,
    },
    Described,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
enum FailedAs {
    Retryable,
    Permanent,
    Cancelled,
}

/// What a frame says.
#[derive(PartialEq, Debug)]
pub enum Message {
    Event(HostEvent),
    /// The body describes plugins; of a process that was started for that.
    Described,
    /// A type of message that this version does not know: to be ignored.
    Unknown,
}

/// Reads a worker's frame; the error says for people what is wrong with it.
pub fn read(frame: &Frame) -> Result<Message, String> {
    let told: Told<'_> =
        serde_json::from_slice(&frame.header).map_err(|e| format!("a header that can't be read: {e}"))?;
    let event = match told {
        Told::Ready { protocol, .. } if protocol != PROTOCOL => {
            return Err(format!("it speaks protocol {protocol}, this node speaks {PROTOCOL}"));
        }
        Told::Ready { pid, .. } => HostEvent::Ready { pid },
        Told::Stage { run, name } => of_run(run, RunEvent::Stage { name: cut(&name, MAX_NAME).to_owned() }),
        Told::Progress { run, fraction, message } => of_run(run, progress(fraction, message)),
        Told::Output { run, r#ref } => {
            of_run(run, RunEvent::Output { reference: r#ref, value: json(frame, "output")? })
        }
        Told::Checkpoint { run, r#ref } => {
            of_run(run, RunEvent::Checkpoint { reference: r#ref, value: json(frame, "checkpoint")? })
        }
        Told::Log { run, level, stream } => log(run, &level, &stream, &frame.body),
        Told::Done { run } => of_run(run, done(frame)),
        Told::Failed { run, kind, code, detail, retry_after } => failed(run, kind, &code, &detail, retry_after),
        Told::Pong { n } => HostEvent::Pong { number: n },
        Told::Described => return Ok(Message::Described),
        Told::Unknown => return Ok(Message::Unknown),
    };
    Ok(Message::Event(event))
}

fn of_run(run: RunRef, event: RunEvent) -> HostEvent {
    HostEvent::Run { run, event }
}

fn progress(fraction: f64, message: Option<Cow<'_, str>>) -> RunEvent {
    RunEvent::Progress { fraction: fraction.clamp(0.0, 1.0), message: message.map(|m| cut(&m, MAX_TEXT).to_owned()) }
}

fn log(run: Option<RunRef>, level: &str, stream: &str, body: &[u8]) -> HostEvent {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_TEXT)]).into_owned();
    let (level, stream) = (cut(level, MAX_NAME).to_owned(), cut(stream, MAX_NAME).to_owned());
    match run {
        Some(run) => of_run(run, RunEvent::Log { level, stream, text }),
        None => HostEvent::Log { level, stream, text },
    }
}

/// A result that is not JSON costs its run, not its host.
fn done(frame: &Frame) -> RunEvent {
    match json(frame, "result") {
        Ok(result) => RunEvent::Done { result },
        Err(why) => RunEvent::Failed {
            failure: RunFailure::Permanent,
            error: TaskError::new("RESULT_NOT_JSON", why),
            retry_after: None,
        },
    }
}

fn failed(run: Option<RunRef>, kind: FailedAs, code: &str, detail: &str, retry_after: Option<f64>) -> HostEvent {
    let error = TaskError::new(cut(code, MAX_NAME), cut_and_say(detail, MAX_DETAIL));
    let Some(run) = run else {
        return HostEvent::StartFailed { error };
    };
    let failure = match kind {
        FailedAs::Retryable => RunFailure::Retryable,
        FailedAs::Permanent => RunFailure::Permanent,
        FailedAs::Cancelled => RunFailure::Cancelled,
    };
    let retry_after = retry_after.and_then(|s| Duration::try_from_secs_f64(s.clamp(0.0, LONGEST_RETRY)).ok());
    of_run(run, RunEvent::Failed { failure, error, retry_after })
}

/// Seconds that a plugin may ask to wait before a retry: 30 days.
const LONGEST_RETRY: f64 = 30.0 * 24.0 * 3600.0;

/// The body as a JSON text.
fn json(frame: &Frame, what: &str) -> Result<Json, String> {
    let text = std::str::from_utf8(&frame.body).map_err(|e| format!("the {what} is not UTF-8: {e}"))?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|e| format!("the {what} is not one JSON value: {e}"))?;
    if Json::depth_of(text) > MOST_NESTED {
        return Err(format!("the {what} is nested deeper than {MOST_NESTED} levels"));
    }
    Ok(Json::trusted(text))
}

/// The text, or its beginning and how much is missing.
fn cut_and_say(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let kept = cut(text, bytes - 48);
    format!("{kept} … [{} bytes cut]", text.len() - kept.len())
}

/// The longest beginning of the text that fits.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A header for a worker.
#[derive(Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Tell<'a> {
    Run(TellRun<'a>),
    Cancel {
        run: RunRef,
        reason: &'static str,
    },
    Ack {
        run: RunRef,
        r#ref: u64,
        #[serde(flatten)]
        answer: Answer,
    },
    Shutdown,
    Ping {
        n: u64,
    },
}

#[derive(Serialize)]
struct TellRun<'a> {
    run: RunRef,
    task_id: String,
    task_type: &'a str,
    attempt: u32,
    max_attempts: u32,
    epoch: i64,
    timeout_seconds: Option<f64>,
    artifact_dir: String,
    client_role: Option<&'a str>,
    parts: Vec<(&'static str, usize)>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ok(bool),
    Fenced(bool),
}

/// A command as it goes onto the wire: a header, and the body in pieces that are not copied.
#[derive(Debug)]
pub struct Written {
    pub header: Vec<u8>,
    pub body: Vec<Json>,
}

impl Written {
    /// The body's length in bytes.
    pub fn body_len(&self) -> usize {
        self.body.iter().map(Json::len).sum()
    }
}

/// Writes a command; `artifacts` is the folder that holds a folder for each attempt.
pub fn write(command: HostCommand, artifacts: &std::path::Path) -> Written {
    let mut body = Vec::new();
    let header = match &command {
        HostCommand::Run(request) => {
            let parts = parts(request);
            body.extend(parts.iter().map(|(_, json)| (*json).clone()));
            header(&Tell::Run(tell_run(request, artifacts, &parts)))
        }
        HostCommand::Cancel { run, reason } => header(&Tell::Cancel { run: *run, reason: reason.as_str() }),
        HostCommand::Ack { run, reference, fenced } => {
            let answer = if *fenced { Answer::Fenced(true) } else { Answer::Ok(true) };
            header(&Tell::Ack { run: *run, r#ref: *reference, answer })
        }
        HostCommand::Shutdown => header(&Tell::Shutdown),
        HostCommand::Ping { number } => header(&Tell::Ping { n: *number }),
    };
    Written { header, body }
}

fn header(tell: &Tell<'_>) -> Vec<u8> {
    // Only maps with other keys than strings and failing writers make it fail.
    serde_json::to_vec(tell).unwrap_or_default()
}

fn parts(request: &RunRequest) -> Vec<(&'static str, &Json)> {
    let mut parts = vec![
        ("payload", &request.payload),
        ("model_spec", &request.model_spec),
        ("inference_params", &request.inference_params),
    ];
    parts.extend(request.checkpoint.as_ref().map(|checkpoint| ("checkpoint", checkpoint)));
    parts
}

fn tell_run<'a>(request: &'a RunRequest, artifacts: &std::path::Path, parts: &[(&'static str, &Json)]) -> TellRun<'a> {
    let folder = artifacts.join(request.key.task.to_string()).join(request.key.epoch.to_string());
    TellRun {
        run: request.run,
        task_id: request.key.task.to_string(),
        task_type: request.task_type.as_str(),
        attempt: request.attempt,
        max_attempts: request.max_attempts,
        epoch: request.key.epoch.0,
        timeout_seconds: request.timeout.map(|t| t.as_secs_f64()),
        artifact_dir: folder.to_string_lossy().into_owned(),
        client_role: request.client_role.as_deref(),
        parts: parts.iter().map(|(name, json)| (*name, json.len())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;
    use windlass_actors::domain::{EndReason, Epoch, LeaseKey, TaskId, TypeName};

    fn told(header: &str, body: &str) -> Result<Message, String> {
        read(&Frame { header: header.to_owned().into(), body: body.to_owned().into() })
    }

    fn command(command: HostCommand) -> String {
        String::from_utf8(write(command, "/data/artifacts".as_ref()).header).unwrap()
    }

    #[test]
    fn commands_are_written_as_the_protocol_says() {
        assert_eq!(command(HostCommand::Shutdown), r#"{"t":"shutdown"}"#);
        assert_eq!(command(HostCommand::Ping { number: 1 }), r#"{"t":"ping","n":1}"#);
        let cancel = HostCommand::Cancel { run: 7, reason: EndReason::Deadline };
        assert_eq!(command(cancel), r#"{"t":"cancel","run":7,"reason":"timeout"}"#);
        let ack = |fenced| command(HostCommand::Ack { run: 7, reference: 4, fenced });
        assert_eq!(ack(false), r#"{"t":"ack","run":7,"ref":4,"ok":true}"#);
        assert_eq!(ack(true), r#"{"t":"ack","run":7,"ref":4,"fenced":true}"#);
    }

    #[test]
    fn a_run_carries_its_texts_in_the_body_and_their_lengths_in_the_header() {
        let request = RunRequest {
            run: 7,
            key: LeaseKey { task: TaskId(Uuid::nil()), epoch: Epoch(3) },
            task_type: TypeName::new("hello").unwrap(),
            attempt: 1,
            max_attempts: 3,
            timeout: Some(Duration::from_millis(1500)),
            client_role: None,
            payload: Json::trusted("[1,2]"),
            model_spec: Json::empty_object(),
            inference_params: Json::null(),
            checkpoint: Some(Json::trusted("9")),
        };
        let written = write(HostCommand::Run(Box::new(request)), "/data/artifacts".as_ref());
        let header: serde_json::Value = serde_json::from_slice(&written.header).unwrap();
        let parts = serde_json::json!([["payload", 5], ["model_spec", 2], ["inference_params", 4], ["checkpoint", 1]]);
        assert_eq!(header["parts"], parts);
        assert_eq!(header["timeout_seconds"], 1.5);
        assert_eq!(header["artifact_dir"], "/data/artifacts/00000000-0000-0000-0000-000000000000/3");
        let body: String = written.body.iter().map(Json::as_str).collect();
        assert_eq!((body.as_str(), written.body_len()), ("[1,2]{}null9", 12));
    }

    #[test]
    fn a_header_of_another_shape_is_refused_and_an_unknown_type_is_not() {
        for bad in ["", "7", "{}", r#"{"t":"stage"}"#, r#"{"t":"stage","run":-1,"name":"x"}"#, r#"{"t":"done"}"#] {
            assert!(told(bad, "1").is_err(), "{bad}");
        }
        assert_eq!(told(r#"{"t":"effect_begin","run":1,"ref":[]}"#, ""), Ok(Message::Unknown));
        assert!(told(r#"{"t":"ready","protocol":2}"#, "").unwrap_err().contains("protocol 2"));
    }

    #[test]
    fn a_failure_without_a_run_is_a_failed_start() {
        let header = r#"{"t":"failed","run":null,"kind":"permanent","code":"SETUP_FAILED","detail":"no \u00e9"}"#;
        let error = TaskError::new("SETUP_FAILED", "no é");
        assert_eq!(told(header, ""), Ok(Message::Event(HostEvent::StartFailed { error })));
    }

    #[test]
    fn a_long_detail_is_cut_and_says_so() {
        let detail = |length: usize| {
            let header = format!(
                r#"{{"t":"failed","run":1,"kind":"retryable","code":"X","detail":"{}"}}"#,
                "é".repeat(length / 2)
            );
            match told(&header, "") {
                Ok(Message::Event(HostEvent::Run { event: RunEvent::Failed { error, .. }, .. })) => error.detail,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(detail(MAX_DETAIL).len(), MAX_DETAIL);
        let long = detail(100_000);
        assert!(long.len() <= MAX_DETAIL && long.ends_with(&format!("[{} bytes cut]", 100_000 - (MAX_DETAIL - 48))));
    }

    #[test]
    fn texts_and_fractions_are_brought_within_their_bounds() {
        let long = format!(r#"{{"t":"stage","run":1,"name":"{}"}}"#, "é".repeat(1000));
        match told(&long, "") {
            Ok(Message::Event(HostEvent::Run { event: RunEvent::Stage { name }, .. })) => assert_eq!(name.len(), 256),
            other => panic!("{other:?}"),
        }
        match told(r#"{"t":"progress","run":1,"fraction":7e9,"message":null}"#, "") {
            Ok(Message::Event(HostEvent::Run { event: RunEvent::Progress { fraction, .. }, .. })) => {
                assert_eq!(fraction, 1.0);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_must_be_one_json_value_in_utf8() {
        for bad in ["", "{", "1 2", "nope"] {
            assert!(told(r#"{"t":"output","run":1,"ref":1}"#, bad).is_err(), "{bad}");
        }
        let frame = Frame { header: r#"{"t":"output","run":1,"ref":1}"#.into(), body: vec![b'"', 0xff, b'"'].into() };
        assert!(read(&frame).unwrap_err().contains("UTF-8"));
    }
}
