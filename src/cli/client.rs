//! The HTTP client of the commands: one gateway, its key, and its answers as JSON or as errors with a remedy.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::exit::CliError;
use super::problem;
use crate::config;

const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);
/// The server says something each 15 s on a stream; twice that and a little is silence.
const SILENCE: Duration = Duration::from_secs(35);

/// A gateway to ask.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<config::Secret>,
}

impl Client {
    pub fn new(config: &config::Client) -> Result<Client, CliError> {
        // Fails only where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
        let builder = if is_local(&config.url) { builder.no_proxy() } else { builder };
        let http = builder.build().map_err(|error| CliError::Failed(format!("cannot make a client: {error}")))?;
        Ok(Client { http, base: config.url.clone(), key: config.api_key.clone() })
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T, CliError> {
        self.json(self.request(Method::GET, path, query).timeout(ANSWER)).await
    }

    /// A `GET` that the server may take `wait` to answer.
    pub async fn get_waiting<T: DeserializeOwned>(&self, path: &str, wait: Duration) -> Result<T, CliError> {
        let query = [("wait", wait.as_secs().to_string())];
        self.json(self.request(Method::GET, path, &query).timeout(wait + ANSWER)).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CliError> {
        self.json(self.request(Method::POST, path, &[]).timeout(ANSWER).json(body)).await
    }

    pub async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        let request = self.request(Method::POST, path, &[]).timeout(ANSWER).json(body);
        self.json(match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        })
        .await
    }

    /// An event stream after `last`; `None` when the task's last event was before it (204).
    pub async fn stream(&self, path: &str, last: u64) -> Result<Option<Response>, CliError> {
        let request = self.request(Method::GET, path, &[]).header(header::ACCEPT, "text/event-stream");
        let request = if last > 0 { request.header("last-event-id", last.to_string()) } else { request };
        let answer = tokio::time::timeout(ANSWER, request.send()).await;
        let response = answer.map_err(|_| self.unreachable("no answer in time"))?.map_err(|error| self.lost(&error))?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(None),
            _ => self.checked(response).await.map(Some),
        }
    }

    /// The next piece of a stream; `None` at its end.
    pub async fn next_piece(&self, response: &mut Response) -> Result<Option<Vec<u8>>, CliError> {
        match tokio::time::timeout(SILENCE, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(|bytes| bytes.to_vec())),
            Ok(Err(error)) => Err(self.lost(&error)),
            Err(_) => Err(self.unreachable("the event stream went silent")),
        }
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> RequestBuilder {
        let mut url = format!("{}{path}", self.base);
        for (position, (name, value)) in query.iter().enumerate() {
            url.push(if position == 0 { '?' } else { '&' });
            url.push_str(&format!("{name}={}", encoded(value)));
        }
        let request = self.http.request(method, url);
        match &self.key {
            Some(key) => request.header("x-api-key", key.reveal()),
            None => request,
        }
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CliError> {
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let bytes = self.checked(response).await?.bytes().await.map_err(|error| self.lost(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            CliError::Failed(format!(
                "`{}` answered with something else than expected ({error}); is it a windlass gateway?",
                self.base
            ))
        })
    }

    async fn checked(&self, response: Response) -> Result<Response, CliError> {
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let wait = response.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.unwrap_or_default();
        Err(problem::error(status, wait.as_deref(), &body))
    }

    fn lost(&self, error: &reqwest::Error) -> CliError {
        if error.is_builder() {
            return CliError::Usage(format!("`{}` cannot be asked: {}", self.base, innermost(error)));
        }
        self.unreachable(&innermost(error))
    }

    fn unreachable(&self, reason: &str) -> CliError {
        CliError::Unreachable {
            what: format!("the gateway at `{}`", self.base),
            reason: reason.into(),
            remedy: "start one with `windlass up`, or name it in WINDLASS_URL".into(),
        }
    }
}

/// The cause that says something; the outer ones repeat the url.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().to_lowercase()
}

fn is_local(url: &str) -> bool {
    let place = url.split("://").nth(1).unwrap_or(url);
    ["127.", "localhost", "[::1]"].iter().any(|local| place.starts_with(local))
}

/// Percent-encodes for a path's segment or a query's value.
pub fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_cannot_leave_its_place() {
        assert_eq!(encoded("../a b?c#d&é"), "..%2Fa%20b%3Fc%23d%26%C3%A9");
    }

    #[test]
    fn a_proxy_is_not_asked_for_this_machine() {
        assert!(is_local("http://127.0.0.1:7420") && is_local("http://localhost:1") && is_local("http://[::1]:1"));
        assert!(!is_local("https://gateway.example"));
    }
}
