//! Who calls, and what they may do.
//!
//! A key stands in `X-API-Key` or `Authorization: Bearer`. Without configured keys the gateway serves whoever reaches
//! its loopback address; then pages of other sites, which a browser on this machine may show, are kept out by the
//! request's `Host` and `Origin`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::app::App;
use super::problem::{Code, Problem};
use super::settings::{ApiKey, Role, Settings};

/// The caller of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub owner: String,
    pub role: Role,
    pub client_role: Option<String>,
}

impl Caller {
    /// Refuses with 403 unless the caller has the role, or one that includes it.
    pub fn needs(&self, role: Role, what: &str) -> Result<(), Problem> {
        if self.role >= role {
            return Ok(());
        }
        let detail = format!("a key with the role `{}` may not {what}", self.role.as_str());
        Err(Problem::new(Code::Forbidden, detail))
    }

    /// Whether the caller may see what belongs to `owner`.
    pub fn sees(&self, owner: &str) -> bool {
        self.role == Role::Operate || self.owner == owner
    }

    /// The owner that a listing is bound to: what was asked for, or the caller's own.
    pub fn listing_of(&self, asked: Option<String>) -> Result<Option<String>, Problem> {
        match asked {
            Some(owner) if !self.sees(&owner) => {
                Err(Problem::new(Code::Forbidden, "only a key with the role `operate` sees tasks of other owners"))
            }
            None if self.role != Role::Operate => Ok(Some(self.owner.clone())),
            asked => Ok(asked),
        }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        identify(app.settings(), &parts.headers)
    }
}

/// Finds the caller by the headers of a request.
pub fn identify(settings: &Settings, headers: &HeaderMap) -> Result<Caller, Problem> {
    if settings.keys.is_empty() {
        trust_local(headers)?;
        return Ok(Caller { owner: settings.default_owner.clone(), role: Role::Operate, client_role: None });
    }
    let secret = presented(headers)
        .ok_or_else(|| Problem::new(Code::Unauthorized, "a key is needed: `X-API-Key` or `Authorization: Bearer`"))?;
    let key = find(&settings.keys, secret).ok_or_else(|| Problem::new(Code::Unauthorized, "the key is not known"))?;
    Ok(Caller { owner: key.owner.clone(), role: key.role, client_role: key.client_role.clone() })
}

fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(key) = headers.get("x-api-key") {
        return Some(key.as_bytes());
    }
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii())
}

/// Hashes are compared, each in full and all of them, so that time tells nothing about a secret.
fn find<'a>(keys: &'a [ApiKey], secret: &[u8]) -> Option<&'a ApiKey> {
    let hash: [u8; 32] = Sha256::digest(secret).into();
    let mut found = None;
    for key in keys {
        let difference = key.secret_sha256.iter().zip(&hash).fold(0u8, |sum, (a, b)| sum | (a ^ b));
        if std::hint::black_box(difference) == 0 && found.is_none() {
            found = Some(key);
        }
    }
    found
}

/// A page of another site that a browser here shows has a foreign `Origin`, or (with a rebound name) a `Host` that is
/// a name with a dot. Neither is how anybody reaches a loopback address.
fn trust_local(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    if !is_local_name(host) {
        let detail = "without configured keys the gateway answers only under an address or `localhost`; configure a \
                      key to reach it by another name";
        return Err(Problem::new(Code::UntrustedOrigin, detail));
    }
    match headers.get(header::ORIGIN) {
        Some(origin) if !is_same_site(origin.as_bytes(), host) => {
            Err(Problem::new(Code::UntrustedOrigin, "the `Origin` is another site's; configure keys to allow that"))
        }
        _ => Ok(()),
    }
}

fn is_same_site(origin: &[u8], host: &str) -> bool {
    let rest = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
    rest.is_some_and(|site| site.eq_ignore_ascii_case(host.as_bytes()))
}

fn is_local_name(host: &str) -> bool {
    if host.is_empty() || host.starts_with('[') {
        return true;
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_end_matches('.').to_ascii_lowercase();
    !name.contains('.') || name.ends_with(".localhost") || name.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect()
    }

    fn with_keys() -> Settings {
        let keys = vec![
            ApiKey::new("a", "secret-a", "anna", Role::Submit),
            ApiKey::new("b", "secret-b", "berta", Role::Operate),
        ];
        Settings { keys, ..Settings::default() }
    }

    #[test]
    fn a_key_is_found_in_either_header() {
        for pair in
            [("x-api-key", "secret-a"), ("authorization", "Bearer secret-a"), ("authorization", "bearer  secret-a")]
        {
            assert_eq!(identify(&with_keys(), &headers(&[pair])).unwrap().owner, "anna");
        }
    }

    #[test]
    fn no_key_a_wrong_key_and_another_scheme_are_401() {
        for pairs in
            [&[][..], &[("x-api-key", "nope")], &[("authorization", "Basic secret-a")], &[("authorization", "B")]]
        {
            assert_eq!(identify(&with_keys(), &headers(pairs)).unwrap_err().code, Code::Unauthorized);
        }
    }

    #[test]
    fn without_keys_foreign_pages_are_kept_out() {
        let open = Settings::default();
        let ok = |pairs: &[(&'static str, &str)]| identify(&open, &headers(pairs)).is_ok();
        assert!(ok(&[]));
        assert!(ok(&[("host", "127.0.0.1:7420")]));
        assert!(ok(&[("host", "localhost:7420"), ("origin", "http://localhost:7420")]));
        assert!(ok(&[("host", "[::1]:7420")]));
        assert!(ok(&[("host", "windlass:7420")]));
        assert!(!ok(&[("host", "rebound.example.com:7420"), ("origin", "http://rebound.example.com:7420")]));
        assert!(!ok(&[("host", "127.0.0.1:7420"), ("origin", "https://example.com")]));
        assert!(!ok(&[("host", "127.0.0.1:7420"), ("origin", "null")]));
    }

    #[test]
    fn a_listing_is_bound_to_the_callers_owner_unless_it_operates() {
        let caller = |role| Caller { owner: "anna".into(), role, client_role: None };
        assert_eq!(caller(Role::Read).listing_of(None).unwrap(), Some("anna".into()));
        assert_eq!(caller(Role::Operate).listing_of(None).unwrap(), None);
        assert!(caller(Role::Submit).listing_of(Some("berta".into())).is_err());
        assert!(caller(Role::Operate).listing_of(Some("berta".into())).is_ok());
    }
}
