//! `windlass tree`: the flat list of actors drawn as the tree that their paths are.

use serde_json::Value;

use super::args::Json;
use super::client::Client;
use super::exit::{CliError, Exit};
use super::output::{Output, harmless};
use super::view::{age, list, text};

pub async fn run(args: Json, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let answer: Value = client.get("/api/v1/tree", &[]).await?;
    if args.json {
        out.json(&answer)?;
    } else {
        out.text(&draw(list(&answer, "actors")))?;
    }
    Ok(Exit::Done)
}

/// A node of the drawing; one without an actor is only a part of paths.
#[derive(Default)]
struct Branch<'a> {
    name: &'a str,
    actor: Option<&'a Value>,
    below: Vec<Branch<'a>>,
}

impl<'a> Branch<'a> {
    fn put(&mut self, path: &'a str, actor: &'a Value) {
        let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let place = self.below.iter().position(|it| it.name == name).unwrap_or_else(|| {
            self.below.push(Branch { name, ..Branch::default() });
            self.below.len() - 1
        });
        match rest {
            Some(rest) => self.below[place].put(rest, actor),
            None => self.below[place].actor = Some(actor),
        }
    }

    /// The root's own actor is `node`, and the paths of the others leave it out.
    fn gather_below_node(&mut self) {
        if let Some(at) = self.below.iter().position(|branch| branch.name == "node") {
            let mut node = self.below.remove(at);
            node.below.append(&mut self.below);
            self.below.push(node);
        }
    }

    fn draw(&self, indent: &str, lines: &mut Vec<(String, Option<&'a Value>)>) {
        let last = self.below.len().saturating_sub(1);
        for (position, branch) in self.below.iter().enumerate() {
            let (joint, below) = if position == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let is_root = lines.is_empty() && self.below.len() == 1 && indent.is_empty();
            let (joint, below) = if is_root { ("", "") } else { (joint, below) };
            lines.push((format!("{indent}{joint}{}", harmless(branch.name)), branch.actor));
            branch.draw(&format!("{indent}{below}"), lines);
        }
    }
}

/// The tree in start order: name, state, age, restarts and last error where there are any.
fn draw(actors: &[Value]) -> String {
    let mut root = Branch::default();
    for actor in actors {
        if let Some(path) = actor.get("path").and_then(Value::as_str) {
            root.put(path, actor);
        }
    }
    root.gather_below_node();
    let mut lines = Vec::new();
    root.draw("", &mut lines);
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines
        .into_iter()
        .map(|(name, actor)| {
            format!("{name:width$}  {}", actor.map(says).unwrap_or_default()).trim_end().to_owned() + "\n"
        })
        .collect()
}

fn says(actor: &Value) -> String {
    let mut parts = vec![format!("{:<10}", text(actor, "state"))];
    parts.extend(actor.get("age_seconds").and_then(Value::as_f64).map(age));
    let restarts = actor.get("restarts").and_then(Value::as_u64).unwrap_or(0);
    if restarts > 0 {
        parts.push(format!("{restarts} restart{}", if restarts == 1 { "" } else { "s" }));
    }
    if let Some(error) = actor.get("last_error").and_then(Value::as_str) {
        parts.push(format!("last error: {}", harmless(error)));
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_a_drawing_in_start_order() {
        let actors = serde_json::json!([
            {"path": "node", "state": "running", "age_seconds": 61.0},
            {"path": "ledger", "state": "running", "age_seconds": 61.0, "restarts": 0, "last_error": null},
            {"path": "pools", "state": "running", "age_seconds": 60.2},
            {"path": "pools/pool/hello", "state": "idle", "age_seconds": 5, "restarts": 2, "last_error": "boom\n"},
            {"path": "intake", "state": "running", "age_seconds": 1},
        ]);
        let expected = "\
node            running     1m 1s
├─ ledger       running     1m 1s
├─ pools        running     1m
│  └─ pool
│     └─ hello  idle        5s  2 restarts  last error: boom↵
└─ intake       running     1s
";
        assert_eq!(draw(actors.as_array().unwrap()), expected);
    }
}
