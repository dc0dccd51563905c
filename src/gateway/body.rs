//! Reading JSON bodies from strangers: bounded in bytes, time and depth, with every fault named.

use std::collections::BTreeMap;
use std::fmt;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use futures_util::StreamExt;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::app::App;
use super::problem::{Code, Problem};

/// A request's body, as bytes within the limit.
#[derive(Debug)]
pub struct Raw(pub Bytes);

/// How much of a body that is too large is read and dropped, so that the caller hears the answer.
const DRAINED: usize = 8 * 1024 * 1024;

impl FromRequest<App> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if let Some(coding) = request.headers().get(header::CONTENT_ENCODING).filter(|c| *c != "identity") {
            let detail = format!("a body with `Content-Encoding: {}` is not read", coding.to_str().unwrap_or("?"));
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
        let (limit, within) = (app.settings().max_body(), app.settings().read_timeout);
        let read = timeout(within, read(request.into_body(), limit)).await;
        read.unwrap_or_else(|_| Err(Problem::new(Code::RequestTimeout, "the body did not arrive in time"))).map(Raw)
    }
}

async fn read(body: Body, limit: usize) -> Result<Bytes, Problem> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut stream = body.into_data_stream();
    let (mut bytes, mut seen) = (Vec::with_capacity(announced.min(limit)), 0usize);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Problem::new(Code::InvalidJson, "the body broke off"))?;
        seen = seen.saturating_add(chunk.len());
        if seen > limit {
            bytes.clear();
            if announced.max(seen) > DRAINED {
                break;
            }
        } else {
            bytes.extend_from_slice(&chunk);
        }
    }
    if seen > limit { Err(too_large(limit)) } else { Ok(bytes.into()) }
}

/// 413, with the limit in bytes.
pub fn too_large(limit: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("the limit is {limit} bytes"))
}

/// The fields of a JSON object, each as its text.
pub type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Reads the body as one JSON object whose keys are unique. What is in the fields is not looked at yet, but for syntax.
pub fn object(bytes: &[u8]) -> Result<Fields<'_>, Problem> {
    let broken = |why: String| Problem::new(Code::InvalidJson, why);
    let text = std::str::from_utf8(bytes).map_err(|e| broken(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    if text.trim_ascii().is_empty() {
        return Err(broken("the body is empty; a JSON object is needed".to_owned()));
    }
    let fields: Unique<'_> = serde_json::from_str(text).map_err(|e| broken(format!("not a JSON object: {e}")))?;
    Ok(fields.0)
}

/// As [`object`], but a body without anything is an object without fields.
pub fn object_or_nothing(bytes: &[u8]) -> Result<Fields<'_>, Problem> {
    if bytes.trim_ascii().is_empty() { Ok(Fields::new()) } else { object(bytes) }
}

/// Reads a small body of a known shape.
pub fn shape<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    object(bytes)?;
    serde_json::from_slice(bytes).map_err(|e| {
        let code = if e.is_data() { Code::InvalidRequest } else { Code::InvalidJson };
        Problem::new(code, e.to_string())
    })
}

struct Unique<'a>(Fields<'a>);

impl<'de> Deserialize<'de> for Unique<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Unique<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique<'de>, A::Error> {
                let mut fields = Fields::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    let shown: String = key.chars().take(80).collect();
                    if fields.insert(key, value).is_some() {
                        return Err(serde::de::Error::custom(format!("`{shown}` is given twice")));
                    }
                }
                Ok(Unique(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        let problem = object(bytes).unwrap_err();
        assert_eq!(problem.code, Code::InvalidJson);
        problem.detail
    }

    #[test]
    fn a_broken_body_is_told_where_it_broke() {
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b"  \n").contains("empty"));
        assert!(refusal(b"{\"a\": 1,\n nope}").contains("line 2 column"));
        assert!(refusal(b"{\"a\":NaN}").contains("line 1"));
        assert!(refusal(b"{\"a\":1").contains("EOF"));
        assert!(refusal(b"{\"a\":1} x").contains("trailing"));
        assert!(refusal(b"{\"a\":\"\xff\"}").contains("byte 6"));
        assert!(refusal(b"{\"a\":1,\"a\":2}").contains("`a` is given twice"));
        assert!(refusal(b"[1]").contains("expected an object"));
        assert!(refusal(b"\"text\"").contains("expected an object"));
    }

    #[test]
    fn a_nesting_of_100_000_does_not_overflow_the_stack() {
        let deep = format!("{{\"payload\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(object(deep.as_bytes()).unwrap().len(), 1);
        assert!(object("[".repeat(100_000).as_bytes()).is_err());
    }
}
