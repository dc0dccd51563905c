//! Which timeout wins: the task's over the type's, capped by the type's longest.

use std::time::Duration;

use crate::domain::TaskType;

/// A run's time limit; none if nobody set one.
pub fn run_timeout(task: Option<Duration>, task_type: &TaskType) -> Option<Duration> {
    let wanted = task.or(task_type.timeout);
    match (wanted, task_type.max_timeout) {
        (Some(wanted), Some(most)) => Some(wanted.min(most)),
        (wanted, most) => wanted.or(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Kind, TypeName};

    #[test]
    fn the_tasks_timeout_wins_over_the_types_and_is_capped() {
        let secs = Duration::from_secs;
        let mut t = TaskType::new(TypeName::new("t").unwrap(), Kind::Inline);
        assert_eq!(run_timeout(None, &t), None);
        t.timeout = Some(secs(60));
        assert_eq!(run_timeout(None, &t), Some(secs(60)));
        assert_eq!(run_timeout(Some(secs(90)), &t), Some(secs(90)));
        t.max_timeout = Some(secs(30));
        assert_eq!(run_timeout(Some(secs(90)), &t), Some(secs(30)));
        t.timeout = None;
        assert_eq!(run_timeout(None, &t), Some(secs(30)));
    }
}
