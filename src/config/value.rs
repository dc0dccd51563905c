//! Kinds of value a key may have: what is allowed, in words, and how it is read from a file, a variable or a flag.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::secret::{MASK, Secret, mask_url, mask_urls};

/// What a key's value must be. Ranges are part of the kind, so no key can be read without its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// A name for people and logs: a letter or digit, then letters, digits, `.`, `_`, `-`; 64 at most.
    Name,
    /// A secret text; shown masked.
    Secret,
    /// A url; its password is masked when shown.
    Url,
    Path,
    /// A list of paths; in a variable, separated by `:`.
    Paths,
    /// A duration between the two texts, both allowed.
    Duration(&'static str, &'static str),
    /// A size in bytes between the two, both allowed.
    Size(u64, u64),
    /// A whole number between the two, both allowed.
    Count(u64, u64),
    Choice(&'static [&'static str]),
    /// `IP:PORT`.
    Listen,
    /// Known to the contract; this build can't serve it, and says so: any value is a fault with this reason.
    Unsupported(&'static str),
}

/// A value read as its [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Url(String),
    Secret(Secret),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    Duration(Duration),
    Size(u64),
    Count(u64),
    Listen(SocketAddr),
}

impl Kind {
    /// The allowed values in words, as the end of "allowed: …".
    pub fn allowed(&self) -> String {
        match self {
            Kind::Text => "a text that is not empty".into(),
            Kind::Name => "1 to 64 of `A-Z a-z 0-9 . _ -`, the first a letter or digit".into(),
            Kind::Secret => "a text that is not empty (shown masked)".into(),
            Kind::Url => "a url".into(),
            Kind::Path => "a path".into(),
            Kind::Paths => "a list of paths".into(),
            Kind::Duration(least, most) => {
                format!("a duration from `{least}` to `{most}`, as a text such as `\"30s\"`")
            }
            Kind::Size(least, most) => {
                format!(
                    "a size from `{}` to `{}`, in bytes or as a text such as `\"1MiB\"`",
                    size_text(*least),
                    size_text(*most)
                )
            }
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
            Kind::Listen => "an address such as `127.0.0.1:7420` (an IP and a port)".into(),
            Kind::Unsupported(reason) => (*reason).into(),
        }
    }

    /// `found` read as this kind; `None` where it is not allowed.
    pub fn read(&self, found: &toml::Value) -> Option<Value> {
        match self {
            Kind::Text => text(found).map(Value::Text),
            Kind::Name => text(found).filter(|name| is_name(name)).map(Value::Text),
            Kind::Url => text(found).filter(|url| !url.contains(char::is_whitespace)).map(Value::Url),
            Kind::Secret => text(found).map(|secret| Value::Secret(Secret::new(secret))),
            Kind::Path => text(found).map(|path| Value::Path(path.into())),
            Kind::Paths => list(found).map(|paths| Value::Paths(paths.into_iter().map(PathBuf::from).collect())),
            Kind::Duration(least, most) => text(found)
                .and_then(|text| duration(&text))
                .filter(|it| in_range(*it, least, most))
                .map(Value::Duration),
            Kind::Size(least, most) => size(found).filter(|size| (least..=most).contains(&size)).map(Value::Size),
            Kind::Count(least, most) => count(found).filter(|count| (least..=most).contains(&count)).map(Value::Count),
            Kind::Choice(words) => text(found).filter(|word| words.contains(&word.as_str())).map(Value::Text),
            Kind::Listen => text(found).and_then(|text| text.parse().ok()).map(Value::Listen),
            Kind::Unsupported(_) => None,
        }
    }

    /// How a value of this kind may be quoted in a message: secrets masked, urls without password.
    pub fn quote(&self, found: &toml::Value) -> String {
        match (self, found) {
            (Kind::Secret, _) => MASK.into(),
            (_, toml::Value::Table(_)) => "a table".into(),
            (Kind::Unsupported(_), toml::Value::String(text)) if !text.contains("://") => "a value".into(),
            (Kind::Url | Kind::Unsupported(_), toml::Value::String(url)) => format!("\"{}\"", shorten(&mask_url(url))),
            (_, toml::Value::String(text)) => format!("\"{}\"", shorten(&mask_urls(text))),
            (_, other) => shorten(&mask_urls(&other.to_string())),
        }
    }
}

impl Value {
    /// As it would be written; secrets masked.
    pub fn show(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Url(url) => mask_url(url),
            Value::Secret(secret) => secret.to_string(),
            Value::Path(path) => path.display().to_string(),
            Value::Paths(paths) => format!("{paths:?}"),
            Value::Duration(it) => humantime::format_duration(*it).to_string(),
            Value::Size(size) => size_text(*size),
            Value::Count(count) => count.to_string(),
            Value::Listen(address) => address.to_string(),
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

fn text(found: &toml::Value) -> Option<String> {
    found.as_str().filter(|text| !text.trim().is_empty() && !text.contains('\0')).map(str::to_owned)
}

fn list(found: &toml::Value) -> Option<Vec<String>> {
    match found {
        toml::Value::Array(items) => items.iter().map(text).collect(),
        toml::Value::String(text) => {
            Some(text.split(':').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text.trim()).ok()
}

fn in_range(found: Duration, least: &str, most: &str) -> bool {
    duration(least).is_some_and(|least| found >= least) && duration(most).is_some_and(|most| found <= most)
}

fn count(found: &toml::Value) -> Option<u64> {
    match found {
        toml::Value::Integer(number) => u64::try_from(*number).ok(),
        toml::Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn size(found: &toml::Value) -> Option<u64> {
    count(found).or_else(|| {
        let text = found.as_str()?.trim();
        let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        number.trim().parse::<u64>().ok()?.checked_mul(*unit)
    })
}

fn size_text(size: u64) -> String {
    match UNITS.iter().find(|(_, unit)| size >= *unit && size.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", size / unit),
        None => size.to_string(),
    }
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Option<Value> {
        kind.read(&toml::Value::String(text.into()))
    }

    #[test]
    fn durations_are_texts_within_their_range() {
        let kind = Kind::Duration("1s", "1h");
        assert_eq!(read(kind, "90s"), Some(Value::Duration(Duration::from_secs(90))));
        assert_eq!(read(kind, "500ms"), None);
        assert_eq!(read(kind, "2h"), None);
        assert_eq!(kind.read(&toml::Value::Integer(30)), None);
    }

    #[test]
    fn counts_refuse_zero_negatives_words_and_the_absurd() {
        let kind = Kind::Count(1, 256);
        for bad in ["0", "-1", "ten", "1e9", "1000000000", ""] {
            assert_eq!(read(kind, bad), None, "{bad}");
        }
        assert_eq!(kind.read(&toml::Value::Integer(-1)), None);
        assert_eq!(kind.read(&toml::Value::Float(2.0)), None);
        assert_eq!(read(kind, "256"), Some(Value::Count(256)));
    }

    #[test]
    fn sizes_are_bytes_or_texts_with_a_unit() {
        let kind = Kind::Size(1, 1 << 30);
        assert_eq!(read(kind, "1MiB"), Some(Value::Size(1 << 20)));
        assert_eq!(read(kind, "64 KiB"), Some(Value::Size(64 << 10)));
        assert_eq!(kind.read(&toml::Value::Integer(1000)), Some(Value::Size(1000)));
        assert_eq!(read(kind, "1MB"), None);
        assert_eq!(read(kind, "99999999999999999999GiB"), None);
    }

    #[test]
    fn an_address_needs_an_ip_and_a_port() {
        assert!(read(Kind::Listen, "[::1]:7420").is_some());
        for bad in ["7420", "localhost:7420", "127.0.0.1", "127.0.0.1:99999"] {
            assert_eq!(read(Kind::Listen, bad), None, "{bad}");
        }
    }

    #[test]
    fn a_quoted_url_has_no_password_and_a_quoted_secret_no_text() {
        let url = toml::Value::String("amqp://u:marker@h".into());
        assert_eq!(Kind::Url.quote(&url), "\"amqp://u:********@h\"");
        let bare = toml::Value::String("postgres:u:marker@h".into());
        assert_eq!(Kind::Url.quote(&bare), "\"********@h\"");
        let long = toml::Value::String(format!("amqp://u:marker{}@h", "x".repeat(200)));
        assert_eq!(Kind::Unsupported("").quote(&long), "\"amqp://u:********@h\"");
        assert_eq!(Kind::Unsupported("").quote(&toml::Value::String("marker".into())), "a value");
        assert_eq!(Kind::Secret.quote(&toml::Value::String("marker".into())), "********");
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for (kind, text) in
            [(Kind::Size(1, u64::MAX), "1MiB"), (Kind::Duration("1s", "9days"), "7days"), (Kind::Count(0, 9), "3")]
        {
            assert_eq!(read(kind, text).unwrap().show(), text);
        }
    }
}
