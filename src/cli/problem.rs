//! What the gateway refuses (RFC 9457), as an error with its code, its detail and what to do about it.

use serde::Deserialize;
use serde_json::Value;

use super::exit::CliError;
use super::output::harmless;

#[derive(Default, Deserialize)]
struct Problem {
    code: Option<String>,
    title: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    #[serde(default)]
    errors: Vec<Value>,
}

/// The error for an answer that is no success. A body that is no problem document gives what the status says.
pub fn error(status: u16, retry_after: Option<&str>, body: &[u8]) -> CliError {
    let problem: Problem = serde_json::from_slice(body).unwrap_or_default();
    let code = problem.code.clone().unwrap_or_else(|| format!("HTTP_{status}"));
    let hint = problem.hint.clone().or_else(|| hint(status, &code, retry_after));
    CliError::Refused {
        detail: harmless(&detail(status, &problem)),
        code: harmless(&code),
        hint: hint.map(|it| harmless(&it)),
    }
}

fn detail(status: u16, problem: &Problem) -> String {
    let plain = problem.detail.clone().or_else(|| problem.title.clone());
    let mut detail = plain.unwrap_or_else(|| format!("the gateway answered {status}"));
    for fault in &problem.errors {
        let part = |name| fault.get(name).and_then(Value::as_str);
        let place = part("pointer").unwrap_or_default();
        let says = part("detail").or(part("message")).or(fault.as_str()).unwrap_or_default();
        detail.push_str(&format!("; `{place}` {says}"));
    }
    detail
}

fn hint(status: u16, code: &str, retry_after: Option<&str>) -> Option<String> {
    let hint = match (status, code) {
        (401, _) => "give a key in WINDLASS_API_KEY",
        (403, _) => "the key in WINDLASS_API_KEY has not the role for this; ask who runs the gateway for another",
        (_, "UNSUPPORTED_TASK_TYPE") => {
            "`windlass types` lists what is served; `windlass plugins check` says why a plugin is not"
        }
        (_, "TASK_TYPE_OFFLINE") => "no node serves the type now: see `windlass nodes` and `windlass tree`",
        (_, "CREDENTIAL_REQUIRED") => "the type works only with a credential of the caller",
        (_, "IDEMPOTENCY_CONFLICT") => "the key was used with another body; take another key",
        (_, "TASK_NOT_FOUND") => "`windlass task list` shows the newest tasks; a key sees those of its owner",
        (_, "TASK_TYPE_NOT_FOUND") => "`windlass types` lists the known types",
        (_, "NOT_FAILED") => "only failed tasks can be replayed; `windlass task show` says where it stands",
        (_, "ALREADY_FINISHED") => "`windlass task show` says how it ended",
        (429 | 503, _) => return Some(format!("try again in {} s", retry_after.unwrap_or("a few"))),
        (413, _) => "put large data into files or object storage, and its address into the payload",
        _ => return None,
    };
    Some(hint.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_with_code_detail_faults_and_hint() {
        let body = br#"{"code":"PAYLOAD_INVALID","detail":"the payload does not fit","errors":[{"pointer":"/name","detail":"is missing"}]}"#;
        assert_eq!(error(422, None, body).to_string(), "PAYLOAD_INVALID: the payload does not fit; `/name` is missing");
        let body = br#"{"code":"UNSUPPORTED_TASK_TYPE","title":"never heard of it"}"#;
        assert!(error(422, None, body).to_string().contains("hint: `windlass types`"));
    }

    #[test]
    fn an_answer_of_a_proxy_is_told_by_its_status() {
        assert_eq!(error(502, None, b"<html>").to_string(), "HTTP_502: the gateway answered 502");
        assert!(error(503, Some("7"), b"").to_string().ends_with("hint: try again in 7 s"));
    }
}
