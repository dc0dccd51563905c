//! An event of a task, as the gateway sends it, and as a line for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::output::harmless;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    #[serde(default)]
    pub epoch: u64,
    pub kind: String,
    #[serde(default)]
    pub at: Value,
    #[serde(default)]
    pub data: Value,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Succeeded,
    Failed,
    Cancelled,
}

impl Ending {
    pub fn of_status(status: &str) -> Option<Ending> {
        match status {
            "succeeded" => Some(Ending::Succeeded),
            "failed" => Some(Ending::Failed),
            "cancelled" => Some(Ending::Cancelled),
            _ => None,
        }
    }
}

impl Event {
    /// The terminal status that this event tells of.
    pub fn ending(&self) -> Option<Ending> {
        let status = self.data.get("status").and_then(Value::as_str);
        status.filter(|_| self.kind == "state").and_then(Ending::of_status)
    }

    /// The fraction of a progress event, 0 to 1.
    pub fn progress(&self) -> Option<f64> {
        let fraction = self.data.get("fraction")?.as_f64()?;
        (self.kind == "progress").then_some(fraction.clamp(0.0, 1.0))
    }

    /// One line: number, kind, and what it says; cut to a length that a person reads.
    pub fn line(&self) -> String {
        format!("{:>4}  {:<10}  {}", self.seq, harmless(&self.kind), self.says()).trim_end().to_owned()
    }

    /// What it says, without number and kind.
    pub fn says(&self) -> String {
        let text = |name: &str| self.data.get(name).and_then(Value::as_str);
        let says = match self.kind.as_str() {
            "state" => state(&self.data),
            "stage" => text("name").map(str::to_owned),
            "progress" => {
                self.progress().map(|it| format!("{:.0}% {}", it * 100.0, text("message").unwrap_or_default()))
            }
            "log" => text("text").map(str::to_owned),
            "output" => self.data.get("values").and_then(Value::as_array).map(|values| output(values)),
            "checkpoint" => self.data.get("bytes").map(|bytes| format!("{bytes} bytes")),
            _ => None,
        };
        shorten(&harmless(says.unwrap_or_else(|| plain(&self.data)).trim_end()))
    }
}

/// `running  attempt 1 on gpu-7`, `failed  PLUGIN_ERROR: Inference failed: …`, `queued  retry`
fn state(data: &Value) -> Option<String> {
    let status = data.get("status")?.as_str()?;
    let text = |of: &Value, name| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let more = match data.get("error").filter(|it| it.is_object()) {
        Some(error) => {
            Some([text(error, "code"), text(error, "detail")].into_iter().flatten().collect::<Vec<_>>().join(": "))
        }
        None if status == "running" => data
            .get("attempt")
            .map(|attempt| format!("attempt {attempt} on {}", text(data, "node_id").unwrap_or_default())),
        None => text(data, "reason"),
    };
    Some(more.map_or_else(|| status.to_owned(), |more| format!("{status}  {more}")))
}

/// What was emitted within one window: texts follow each other, as the tokens of an answer do.
fn output(values: &[Value]) -> String {
    let between = if values.iter().all(Value::is_string) { "" } else { " " };
    values.iter().map(plain).collect::<Vec<_>>().join(between)
}

fn plain(data: &Value) -> String {
    match data {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        data => data.to_string(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: Value) -> Event {
        Event { seq: 7, epoch: 1, kind: kind.into(), at: Value::Null, data }
    }

    #[test]
    fn each_kind_is_one_clean_line() {
        use serde_json::json;
        assert_eq!(event("stage", json!({"name": "parse"})).line(), "   7  stage       parse");
        assert_eq!(event("progress", json!({"fraction": 0.5, "message": "half"})).line(), "   7  progress    50% half");
        assert_eq!(event("log", json!({"text": "a\u{1b}[0m\nb"})).line(), "   7  log         a\u{fffd}[0m↵b");
        assert_eq!(event("output", json!({"values": ["He", "llo"]})).line(), "   7  output      Hello");
        assert_eq!(event("output", json!({"values": [{"n": 1}, 2]})).line(), "   7  output      {\"n\":1} 2");
        assert_eq!(event("checkpoint", json!({"bytes": 12})).line(), "   7  checkpoint  12 bytes");
        let running = json!({"status": "running", "attempt": 2, "node_id": "n-1"});
        assert_eq!(event("state", running).line(), "   7  state       running  attempt 2 on n-1");
        assert_eq!(event("state", json!({"status": "queued", "reason": "retry"})).says(), "queued  retry");
        let failed = json!({"status": "failed", "error": {"code": "X", "detail": "no"}});
        assert_eq!(event("state", failed).line(), "   7  state       failed  X: no");
    }

    #[test]
    fn only_a_state_event_ends_a_task() {
        let data = serde_json::json!({"status": "cancelled"});
        assert_eq!(event("state", data.clone()).ending(), Some(Ending::Cancelled));
        assert_eq!(event("output", data).ending(), None);
        assert_eq!(event("state", serde_json::json!({"status": "running"})).ending(), None);
    }
}
