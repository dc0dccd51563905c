//! What must never be printed: a text that hides itself, and urls without their passwords.

use std::fmt;

use serde::{Serialize, Serializer};

/// What is shown in place of a secret, whatever its length.
pub const MASK: &str = "********";

/// A text that never prints. [`Secret::reveal`] is the one way in, so that each use can be found.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for a comparison or a header, never for a message.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// `text` with the password of each url in it masked, and every query cut (drivers take `?password=` too).
///
/// Works on comma-separated failover lists and on passwords that should have been encoded but hold `@`, `/`, `#` or
/// `?`: the user information of a url is taken to end at the last `@` before white space or the next url. Scheme,
/// user, host and path are kept, because they are what an operator needs.
pub fn mask_urls(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let end = end_of_url(after);
        mask_authority(&after[..end], &mut masked);
        rest = &after[end..];
    }
    masked.push_str(rest);
    masked
}

/// A text that is meant as one url, even where its form is wrong: what stands before the last `@` is not shown.
pub fn mask_url(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, place)) if !text.contains("://") => format!("{MASK}@{place}"),
        _ => mask_urls(text),
    }
}

/// A url ends at white space, a quote, or where the scheme of the next one begins.
fn end_of_url(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || "\"'`<>".contains(c)).unwrap_or(text.len());
    match text[..end].find("://") {
        Some(next) => {
            let scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            text[..next].trim_end_matches(scheme).len()
        }
        None => end,
    }
}

fn mask_authority(url: &str, masked: &mut String) {
    let place = match url.rfind('@') {
        Some(at) => {
            mask_user_information(&url[..at], masked);
            masked.push('@');
            &url[at + 1..]
        }
        None => url,
    };
    match place.find(['?', '#']) {
        Some(at) => {
            masked.push_str(&place[..at]);
            masked.push('?');
            masked.push_str(MASK);
            if place.ends_with(',') {
                masked.push(',');
            }
        }
        None => masked.push_str(place),
    }
}

/// `user:password`, or several hosts of a failover list that each have their own (`u:p@a,u:p@b`).
fn mask_user_information(text: &str, masked: &mut String) {
    match text.find(':') {
        Some(colon) => {
            masked.push_str(&text[..colon + 1]);
            masked.push_str(MASK);
        }
        None => masked.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_a_mask_in_every_way() {
        let secret = Secret::new("marker-7f3");
        let shown = format!("{secret} {secret:?} {}", serde_json::to_string(&secret).unwrap());
        assert!(!shown.contains("marker-7f3"), "{shown}");
        assert_eq!(secret.reveal(), "marker-7f3");
    }

    #[test]
    fn the_password_of_a_url_is_masked_and_user_and_host_are_kept() {
        assert_eq!(mask_urls("postgres://ann:pw@db:5432/x"), "postgres://ann:********@db:5432/x");
        assert_eq!(mask_urls("sqlite://./a.db"), "sqlite://./a.db");
    }

    #[test]
    fn passwords_with_special_characters_do_not_slip_through() {
        for password in ["p#w", "p$w", "p@w", "p/w", "p%w", "p?w", "p:w"] {
            let shown = mask_urls(&format!("cannot reach amqp://ann:{password}@mq/v"));
            assert_eq!(shown, "cannot reach amqp://ann:********@mq/v");
        }
    }

    #[test]
    fn failover_lists_and_queries_are_masked_as_well() {
        let shown = mask_urls("amqp://a:m1@h1,amqp://b:m2@h2 and postgres://h/x?password=m3");
        assert!(!shown.contains("m1") && !shown.contains("m2") && !shown.contains("m3"), "{shown}");
        assert!(shown.contains("a:********@h1,amqp://b:********@h2"), "{shown}");
    }
}
