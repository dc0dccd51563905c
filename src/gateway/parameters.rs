//! Parameters of the address and of headers: every fault is named, and unknown parameters are refused, since a filter
//! with a typo would select everything.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use windlass_actors::domain::{NodeId, Status, TaskId, TypeName};
use windlass_actors::ports::records::{Filter, Page};

use super::access::Caller;
use super::app::App;
use super::problem::{Code, Problem};

/// The longest page of tasks.
pub const LONGEST_PAGE: u32 = 200;
const PAGE: u32 = 50;
/// The longest page of events, and the usual one.
pub const EVENTS_PAGE: u32 = 1000;
const LONGEST_WAIT: f64 = 60.0;

/// The last part of the address that names something.
pub struct Name(String);

impl Name {
    /// A task's id; what is no id names no task.
    pub fn task(&self) -> Result<TaskId, Problem> {
        TaskId::from_str(&self.0).map_err(|_| Problem::no_such_task(&self.0))
    }

    pub fn task_type(&self) -> Result<TypeName, Problem> {
        TypeName::new(&self.0).map_err(|e| Problem::new(Code::TaskTypeNotFound, e.to_string()))
    }

    pub fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl FromRequestParts<App> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, app).await;
        path.map(|Path(name)| Name(name)).map_err(|_| Problem::new(Code::NotFound, "there is nothing at this address"))
    }
}

/// The query of an address, by name; what occurs again adds to it.
pub struct Parameters(BTreeMap<String, Vec<String>>);

impl FromRequestParts<App> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let query = Query::<Vec<(String, String)>>::from_request_parts(parts, app).await;
        let Query(pairs) = query.map_err(|e| invalid(e.body_text()))?;
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in pairs {
            values.entry(name).or_default().push(value);
        }
        Ok(Parameters(values))
    }
}

impl Parameters {
    /// Refuses parameters that are not `known`.
    pub fn only(self, known: &[&str]) -> Result<Self, Problem> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(self),
            Some(name) => {
                let shown: String = name.chars().take(80).collect();
                let known = known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
                Err(invalid(format!("unknown parameter `{shown}`; known are {known}")))
            }
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str).filter(|text| !text.is_empty())
    }

    fn number<T: FromStr>(&self, name: &str, fits: impl Fn(&T) -> bool, range: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(fits);
        number.map(Some).ok_or_else(|| invalid(format!("`{name}` must be {range}")))
    }

    /// `limit`, or `usual` if it is not given.
    pub fn limit(&self, usual: u32, most: u32) -> Result<u32, Problem> {
        let range = format!("a whole number from 1 to {most}");
        Ok(self.number("limit", |n| (1..=most).contains(n), &range)?.unwrap_or(usual))
    }

    /// `limit` and `cursor`.
    pub fn page(&self) -> Result<Page, Problem> {
        let before =
            self.text("cursor").map(|text| TaskId::from_str(text).map_err(|_| invalid("`cursor` is none of ours")));
        Ok(Page { before: before.transpose()?, limit: self.limit(PAGE, LONGEST_PAGE)? })
    }

    /// `after`: the number of an event.
    pub fn after(&self) -> Result<Option<i64>, Problem> {
        self.number("after", |n| *n >= 0, "the number of an event")
    }

    /// `wait`: seconds.
    pub fn wait(&self) -> Result<Duration, Problem> {
        let seconds = self.number("wait", |s| (0.0..=LONGEST_WAIT).contains(s), "a number of seconds from 0 to 60")?;
        Ok(seconds.map_or(Duration::ZERO, Duration::from_secs_f64))
    }

    /// `status`, `task_type` and `owner`, as far as the caller may see.
    pub fn filter(&self, caller: &Caller) -> Result<Filter, Problem> {
        let statuses = self.0.get("status").into_iter().flatten().flat_map(|text| text.split(','));
        let status = statuses.filter(|text| !text.is_empty()).map(status).collect::<Result<_, _>>()?;
        let task_type = self.text("task_type").map(|text| TypeName::new(text).map_err(|e| invalid(e.to_string())));
        Ok(Filter {
            status,
            task_type: task_type.transpose()?,
            owner: caller.listing_of(self.text("owner").map(str::to_owned))?,
            ..Filter::default()
        })
    }
}

/// A status by its name.
pub fn status(text: &str) -> Result<Status, Problem> {
    let shown: String = text.chars().take(80).collect();
    let names = Status::ALL.map(|s| format!("`{s}`")).join(", ");
    Status::parse(text).ok_or_else(|| invalid(format!("`{shown}` is no status; there are {names}")))
}

/// 400, with what is allowed.
pub fn invalid(why: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidParameter, why)
}

/// The number of the last event that a reconnecting reader has seen.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(value) = headers.get("last-event-id").filter(|v| !v.is_empty()) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok()).filter(|n| *n >= 0);
    number.map(Some).ok_or_else(|| invalid("`Last-Event-ID` must be the number of an event"))
}

/// Whether the caller asks for an event stream.
pub fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all("accept").into_iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(','));
    accepted
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .any(|range| range.eq_ignore_ascii_case("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::super::settings::Role;
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> Parameters {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in pairs {
            values.entry((*name).to_owned()).or_default().push((*value).to_owned());
        }
        Parameters(values)
    }

    fn anna() -> Caller {
        Caller { owner: "anna".into(), role: Role::Read, client_role: None }
    }

    #[test]
    fn several_statuses_are_a_list_or_a_repetition() {
        for pairs in [&[("status", "queued,running")][..], &[("status", "queued"), ("status", "running")]] {
            let filter = parameters(pairs).filter(&anna()).unwrap();
            assert_eq!(filter.status, [Status::Queued, Status::Running]);
            assert_eq!(filter.owner.as_deref(), Some("anna"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let caller = anna();
        for (name, bad) in [("status", "done"), ("task_type", "No Name"), ("owner", "berta")] {
            assert!(parameters(&[(name, bad)]).filter(&caller).is_err(), "{name}={bad}");
        }
        for bad in ["0", "201", "-1", "x", "1.5"] {
            assert!(parameters(&[("limit", bad)]).page().is_err(), "{bad}");
        }
        for bad in ["61", "-1", "NaN", "inf", "x"] {
            assert!(parameters(&[("wait", bad)]).wait().is_err(), "{bad}");
        }
        assert!(parameters(&[("cursor", "x")]).page().is_err());
        assert!(parameters(&[("after", "-1")]).after().is_err());
        assert!(parameters(&[("state", "failed")]).only(&["status"]).err().unwrap().detail.contains("`status`"));
    }

    #[test]
    fn a_stream_is_asked_for_by_its_media_type() {
        let accept =
            |value: &str| wants_stream(&HeaderMap::from_iter([("accept".parse().unwrap(), value.parse().unwrap())]));
        assert!(accept("text/event-stream") && accept("application/json, Text/Event-Stream;q=0.9"));
        assert!(!accept("*/*") && !accept("application/json") && !wants_stream(&HeaderMap::new()));
    }
}
