//! Compares what two stores say, but for their clocks: spans and moments may differ by the time between two calls.

use std::fmt::Debug;

use crate::domain::Timestamp;

/// How far spans may differ.
const SLACK: f64 = 0.75;

/// A value's debug text with its spans and moments taken out.
#[derive(Debug)]
pub(super) struct Said {
    text: String,
    /// In seconds; a moment is how far it lies from `now`.
    spans: Vec<f64>,
}

impl Said {
    pub fn of(value: &impl Debug, now: Timestamp) -> Said {
        let whole = format!("{value:?}");
        let (mut text, mut spans, mut rest) = (String::new(), Vec::new(), whole.as_str());
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, from) = rest.split_at(at);
            let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
            let (number, after) = from.split_at(end);
            text.push_str(before);
            let free = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '"');
            match (number.parse::<f64>(), unit(after)) {
                (Ok(n), _) if before.ends_with("Timestamp(") => {
                    spans.push((n - now.0 as f64) / 1000.0);
                    text.push('@');
                    rest = after;
                }
                (Ok(ms), _) if before.ends_with(r#"delay_ms\":"#) => {
                    spans.push(ms / 1000.0);
                    text.push('~');
                    rest = after;
                }
                (Ok(n), Some((length, seconds))) if free => {
                    spans.push(n * seconds);
                    text.push('~');
                    rest = &after[length..];
                }
                _ => {
                    text.push_str(number);
                    rest = after;
                }
            }
        }
        text.push_str(rest);
        Said { text, spans }
    }

    /// None if both say the same.
    pub fn differs(&self, other: &Said) -> Option<String> {
        let same = self.text == other.text
            && self.spans.len() == other.spans.len()
            && self.spans.iter().zip(&other.spans).all(|(a, b)| (a - b).abs() < SLACK);
        (!same).then(|| format!("the model: {self:#?}\nthe store: {other:#?}"))
    }
}

/// The unit of a span: its length in the text, and in seconds.
fn unit(after: &str) -> Option<(usize, f64)> {
    let units = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)];
    let found = units.into_iter().find(|(unit, _)| {
        after.strip_prefix(unit).is_some_and(|rest| rest.starts_with([',', ')', ' ', '}', ']']) || rest.is_empty())
    });
    found.map(|(unit, seconds)| (unit.len(), seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn clocks_may_differ_a_little_and_nothing_else() {
        let said = |ms, n, at| Said::of(&(Duration::from_millis(ms), n, Timestamp(at)), Timestamp(1000));
        assert_eq!(said(5, 7, 2000).differs(&said(9, 7, 2100)), None);
        for other in [said(1005, 7, 2000), said(5, 8, 2000), said(5, 7, 4000)] {
            assert!(said(5, 7, 2000).differs(&other).is_some());
        }
    }
}
