//! Logs: always to standard error, so that standard output stays data; text for people, JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// A filter that is no list of directives, or a second call of [`init`].
#[derive(Debug, thiserror::Error)]
pub enum BadFilter {
    #[error("`log.filter` (WINDLASS_LOG): `{filter}` is not a level or a list of `target=level`: {reason}")]
    NotDirectives { filter: String, reason: String },
    #[error("logs are already being written")]
    Twice,
}

/// Starts writing logs as the configuration says. Call it once, before anything logs.
///
/// # Errors
/// The filter cannot be read (bad configuration), or logs are being written already.
pub fn init(log: &Log) -> Result<(), BadFilter> {
    let filter = filter(&log.filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let is_terminal = std::io::stderr().is_terminal();
    let started = if is_json(log.format, is_terminal) {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
    } else {
        builder.with_ansi(is_terminal).with_target(false).try_init()
    };
    started.map_err(|_| BadFilter::Twice)
}

fn filter(text: &str) -> Result<EnvFilter, BadFilter> {
    EnvFilter::builder()
        .parse(text)
        .map_err(|error| BadFilter::NotDirectives { filter: text.into(), reason: error.to_string() })
}

fn is_json(format: LogFormat, is_terminal: bool) -> bool {
    match format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Json => true,
        LogFormat::Text => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_json_and_people_get_text_unless_told_otherwise() {
        assert!(is_json(LogFormat::Auto, false) && !is_json(LogFormat::Auto, true));
        assert!(is_json(LogFormat::Json, true) && !is_json(LogFormat::Text, false));
    }

    #[test]
    fn a_filter_that_is_no_directive_is_refused_by_name() {
        assert!(filter("info,windlass=debug,sqlx=warn").is_ok());
        assert!(filter("windlass=loud").unwrap_err().to_string().contains("WINDLASS_LOG"));
    }
}
