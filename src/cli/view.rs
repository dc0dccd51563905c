//! Small pieces of what people are shown: a field as text, an age, a task as a table's row.

use std::time::Duration;

use serde_json::Value;

use super::output::harmless;

/// A list in an answer; empty where there is none.
pub fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field as text: texts without quotes, null and absent as `-`.
pub fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => "-".into(),
        Some(Value::String(text)) => harmless(text),
        Some(other) => harmless(&other.to_string()),
    }
}

/// Seconds as people say it, in the two largest units.
pub fn age(seconds: f64) -> String {
    let whole = Duration::from_secs(seconds.max(0.0) as u64);
    humantime::format_duration(whole).to_string().split(' ').take(2).collect::<Vec<_>>().join(" ")
}

pub const TASK_HEADINGS: &[&str] = &["id", "type", "status", "stage", "progress", "attempt", "created", "error"];

/// A task as a row of `task list` and `dlq list`.
pub fn task_row(task: &Value) -> Vec<String> {
    let progress = task.get("progress").and_then(Value::as_f64).map_or("-".into(), |it| format!("{:.0}%", it * 100.0));
    let error = task.get("error").filter(|it| it.is_object()).map_or(String::new(), |it| text(it, "code"));
    let attempt = format!("{}/{}", text(task, "attempt"), text(task, "max_attempts"));
    let field = |name| text(task, name);
    vec![
        field("task_id"),
        field("task_type"),
        field("status"),
        field("stage"),
        progress,
        attempt,
        field("created_at"),
        error,
    ]
}

/// A task as lines `name: value`, what is absent left out; attempts as a table.
pub fn task_lines(task: &Value) -> String {
    let Some(fields) = task.as_object() else { return String::new() };
    let shown = fields.iter().filter(|(name, value)| *name != "attempts" && !is_nothing(value));
    let mut lines: String =
        shown.map(|(name, _)| format!("{:<20} {}\n", format!("{name}:"), text(task, name))).collect();
    let attempts = list(task, "attempts");
    if !attempts.is_empty() {
        let columns = ["epoch", "node_id", "started_at", "ended_at", "outcome", "charged"];
        let rows: Vec<Vec<String>> =
            attempts.iter().map(|it| columns.iter().map(|name| text(it, name)).collect()).collect();
        lines.push('\n');
        lines.push_str(&super::output::table(&columns, &rows));
    }
    lines
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_two_units() {
        assert_eq!((age(0.4).as_str(), age(61.9).as_str(), age(90_061.0).as_str()), ("0s", "1m 1s", "1day 1h"));
    }

    #[test]
    fn a_task_is_shown_without_what_is_absent() {
        let task = serde_json::json!({"task_id": "x", "stage": null, "result": {"n": 1}, "metadata": {},
            "attempts": [{"epoch": 1, "outcome": "succeeded", "charged": true}]});
        let shown = task_lines(&task);
        assert!(shown.contains("task_id:             x\n") && shown.contains("{\"n\":1}"), "{shown}");
        assert!(!shown.contains("stage") && !shown.contains("metadata"), "{shown}");
        assert!(shown.contains("EPOCH"), "{shown}");
    }
}
