//! Which tasks a bulk call is about, and doing it to them a bounded page at a time.

use futures_util::StreamExt;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;
use windlass_actors::domain::{Status, TaskId, TypeName};
use windlass_actors::ports::ledger::{CancelAnswer, Replay, ReplayAnswer};
use windlass_actors::ports::records::{Filter, Page};

use super::access::Caller;
use super::app::App;
use super::parameters::{LONGEST_PAGE, status};
use super::problem::{Code, Problem};
use super::wire::Selected;

/// Ids that an answer lists.
const MOST_IDS: usize = 10_000;

/// Calls of the store at once.
const AT_ONCE: usize = 8;

/// Bytes of a cancel's reason.
pub const LONGEST_REASON: usize = 1000;

/// Which tasks, and whether only to say so.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SelectionRequest {
    /// These tasks. Those that there are not are no error.
    ids: Option<Vec<Uuid>>,
    filter: Option<FilterRequest>,
    /// Changes nothing.
    dry_run: bool,
    /// Why, for a cancel.
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

/// What tasks must have; all that is given counts.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilterRequest {
    status: Option<OneOrMany>,
    task_type: Option<String>,
    owner: Option<String>,
    ids: Option<Vec<Uuid>>,
}

/// A status, or several.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// What is done to tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Cancels what has not ended.
    Cancel,
    /// Queues dead letters again.
    Replay,
    /// Takes dead letters out of the waiting room.
    Discard,
}

/// A checked selection.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection {
    filter: Filter,
    dry_run: bool,
    reason: Option<String>,
    /// Nothing can match.
    empty: bool,
}

impl SelectionRequest {
    /// Checks it against what the caller may, and narrows it to what can be done. A cancel of simply everything is
    /// refused: whoever means it says `"status": ["queued", "running"]`.
    pub fn check(self, act: Act, caller: &Caller) -> Result<Selection, Problem> {
        let unsaid = self.ids.is_none() && self.filter.is_none();
        let filter = self.filter.unwrap_or_default();
        let FilterRequest { status: asked, task_type, owner, ids } = filter;
        let open = [asked.is_some(), task_type.is_some(), owner.is_some(), ids.is_some(), self.ids.is_some()];
        if unsaid || (act == Act::Cancel && !open.contains(&true)) {
            let detail = "say which tasks: `ids`, or a `filter` with `status`, `task_type`, `owner` or `ids`";
            return Err(Problem::new(Code::InvalidRequest, detail));
        }
        if self.reason.as_ref().is_some_and(|r| r.len() > LONGEST_REASON || r.contains('\0')) {
            let detail = format!("`reason` must be a text of at most {LONGEST_REASON} bytes without NUL");
            return Err(Problem::new(Code::InvalidRequest, detail));
        }
        let ids = [self.ids, ids].into_iter().flatten().collect::<Vec<_>>();
        let some_ids = !ids.is_empty();
        let mut ids: Vec<TaskId> = ids.into_iter().flatten().map(TaskId).collect();
        ids.sort_unstable();
        ids.dedup();
        let task_type = task_type.map(|t| TypeName::new(&t)).transpose();
        let (status, fits) = narrow(asked, act)?;
        Ok(Selection {
            empty: !fits || (some_ids && ids.is_empty()),
            dry_run: self.dry_run,
            reason: self.reason,
            filter: Filter {
                ids,
                status,
                task_type: task_type.map_err(|e| Problem::new(Code::InvalidRequest, e.to_string()))?,
                owner: caller.listing_of(owner)?,
                dead_lettered: act != Act::Cancel,
            },
        })
    }
}

/// The statuses that an act can change, of those asked for; and whether there are any.
fn narrow(asked: Option<OneOrMany>, act: Act) -> Result<(Vec<Status>, bool), Problem> {
    let possible: &[Status] = if act == Act::Cancel { &[Status::Queued, Status::Running] } else { &[Status::Failed] };
    let texts = match asked {
        None => return Ok((possible.to_vec(), true)),
        Some(OneOrMany::One(text)) => vec![text],
        Some(OneOrMany::Many(texts)) => texts,
    };
    let asked = texts.iter().map(|text| status(text)).collect::<Result<Vec<_>, _>>()?;
    let left: Vec<_> = possible.iter().copied().filter(|s| asked.contains(s)).collect();
    let fits = !left.is_empty();
    Ok((left, fits))
}

impl Selection {
    /// Does it to all that match, page by page until none is left.
    pub async fn run(self, app: &App, act: Act) -> Result<Selected, Problem> {
        let mut selected = Selected { dry_run: self.dry_run, ..Selected::default() };
        if self.empty {
            return Ok(selected);
        }
        for filter in self.pieces() {
            let mut page = Page { before: None, limit: LONGEST_PAGE };
            loop {
                let tasks = app.ask(app.store().tasks(&filter, page)).await?;
                let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
                page.before = ids.last().copied();
                let last = ids.len() < page.limit as usize;
                let done = if self.dry_run { ids } else { self.apply(app, act, ids).await? };
                selected.matched += done.len() as u64;
                let room = MOST_IDS.saturating_sub(selected.ids.len());
                selected.ids.extend(done.iter().take(room).map(ToString::to_string));
                if last {
                    break;
                }
            }
        }
        Ok(selected)
    }

    /// The filter, with no more ids in it than a page has.
    fn pieces(&self) -> Vec<Filter> {
        if self.filter.ids.is_empty() {
            return vec![self.filter.clone()];
        }
        let chunks = self.filter.ids.chunks(LONGEST_PAGE as usize);
        chunks.map(|ids| Filter { ids: ids.to_vec(), ..self.filter.clone() }).collect()
    }

    /// Answers those to which it was done: a task may have ended, or have been replayed, since it was read.
    async fn apply(&self, app: &App, act: Act, ids: Vec<TaskId>) -> Result<Vec<TaskId>, Problem> {
        if act == Act::Discard {
            return app.ask(app.store().discard(ids)).await;
        }
        let mut answers = stream::iter(ids).map(|id| self.apply_to(app, act, id)).buffered(AT_ONCE);
        let mut done = Vec::new();
        while let Some(answer) = answers.next().await {
            done.extend(answer?);
        }
        Ok(done)
    }

    async fn apply_to(&self, app: &App, act: Act, id: TaskId) -> Result<Option<TaskId>, Problem> {
        let done = match act {
            Act::Cancel => {
                let answer = app.ask(app.store().cancel(id, self.reason.clone())).await?;
                matches!(answer, CancelAnswer::Accepted(_) | CancelAnswer::Already(_))
            }
            Act::Replay => {
                let replay = Replay { task: id, payload: None, fresh: false, waiting: true };
                matches!(app.ask(app.store().replay(replay)).await?, ReplayAnswer::Queued(_))
            }
            Act::Discard => app.ask(app.store().discard(vec![id])).await?.contains(&id),
        };
        Ok(done.then_some(id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Role;
    use super::*;

    fn check(json: &str, act: Act, role: Role) -> Result<Selection, Problem> {
        let request: SelectionRequest = serde_json::from_str(json).unwrap();
        request.check(act, &Caller { owner: "anna".into(), role, client_role: None })
    }

    #[test]
    fn a_cancel_of_everything_must_be_said() {
        for vague in ["{}", "{\"filter\":{}}", "{\"dry_run\":true}"] {
            assert!(check(vague, Act::Cancel, Role::Operate).is_err(), "{vague}");
        }
        let all = check(r#"{"filter":{"status":["queued","running"]}}"#, Act::Cancel, Role::Operate).unwrap();
        assert_eq!(all.filter.status, [Status::Queued, Status::Running]);
        assert!(check("{\"filter\":{}}", Act::Replay, Role::Operate).is_ok());
        assert!(check("{}", Act::Replay, Role::Operate).is_err());
    }

    #[test]
    fn an_empty_list_of_ids_is_no_wildcard() {
        for json in [r#"{"ids":[]}"#, r#"{"filter":{"ids":[],"task_type":"a"}}"#, r#"{"filter":{"status":[]}}"#] {
            for act in [Act::Cancel, Act::Replay, Act::Discard] {
                assert!(check(json, act, Role::Operate).unwrap().empty, "{json} {act:?}");
            }
        }
    }

    #[test]
    fn what_has_ended_is_not_cancelled_and_others_tasks_are_not_touched() {
        assert!(check(r#"{"filter":{"status":"succeeded"}}"#, Act::Cancel, Role::Operate).unwrap().empty);
        let own = check(r#"{"filter":{"task_type":"a"}}"#, Act::Cancel, Role::Submit).unwrap();
        assert_eq!(own.filter.owner.as_deref(), Some("anna"));
        assert!(check(r#"{"filter":{"owner":"berta"}}"#, Act::Cancel, Role::Submit).is_err());
    }

    #[test]
    fn many_ids_are_asked_for_in_pieces() {
        let ids: Vec<_> = (0..450).map(|_| Uuid::now_v7()).collect();
        let json = serde_json::json!({ "ids": ids }).to_string();
        let pieces = check(&json, Act::Cancel, Role::Operate).unwrap().pieces();
        assert_eq!(pieces.iter().map(|f| f.ids.len()).collect::<Vec<_>>(), [200, 200, 50]);
    }
}
